// Our client against tests/oidc_issuer.py, over TLS: everything that the unit tests do without a network, and every
// forgery that the issuer knows.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access/oidc/provider.h"
#include "access/oidc/test_issuer.h"
#include "base/test_prerequisites.h"
#include "base/text.h"

namespace weft::access {
namespace {

using test::IssuerOptions;
using test::TestIssuer;
using Kind = BearerAnswer::Kind;

const std::string kCallback = "https://127.0.0.1:8443/login/callback";

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class OidcIssuer : public ::testing::Test {
 protected:
  void SetUp() override {
    WEFT_NEEDS(!python().empty(), "python ssl");
    WEFT_NEEDS_PROGRAM("openssl");
    start({});
  }

  static const std::string& python() {
    static const std::string found = python_with("ssl");
    return found;
  }

  void start(IssuerOptions options) {
    provider_.reset();
    issuer_.reset();
    const std::string client = options.client;
    options.python = python();
    issuer_ = std::make_unique<TestIssuer>(options);
    OidcSettings settings;
    settings.issuer = issuer_->url();
    settings.client_id = client.substr(0, client.find('='));
    if (contains(client, "=")) settings.client_secret = oob::Secret(client.substr(client.find('=') + 1));
    settings.ca_file = issuer_->ca_file();
    provider_ = std::make_unique<OidcProvider>(
        settings, fetch_, [this](std::size_t count) { return std::string(count, static_cast<char>(++bytes_)); });
  }

  // What a browser does: opens the address, enters name and password, and is sent back with these parameters.
  LoginResponse sign_in(const PendingLogin& login, const std::string& user, const std::string& password) {
    const std::string form = form_encode(FormFields{{"user", user}, {"password", password}});
    if (issuer_->request("POST", login.url, form).status != 302) return {};
    const nlohmann::json answer = issuer_->control("response", {{"state", login.state}});
    const auto text = [&](const char* name) { return answer.value(name, std::string()); };
    return {.code = text("code"), .state = text("state"), .issuer = text("iss"), .error = text("error")};
  }

  std::string problem_of_login(const std::string& user = "ada", const std::string& password = "lovelace-1") {
    const Result<PendingLogin> login = provider_->make_login(kCallback, "/", now());
    if (!login.ok()) return login.error().text();
    const Result<Claims> claims = provider_->finish_login(*login, sign_in(*login, user, password), now());
    return claims.ok() ? "" : claims.error().message;
  }

  CurlFetch fetch_;
  std::unique_ptr<TestIssuer> issuer_;
  std::unique_ptr<OidcProvider> provider_;
  unsigned char bytes_ = 0;
};

TEST_F(OidcIssuer, EveryForgeryIsRefused) {
  ASSERT_TRUE(provider_->refresh(now()).ok());
  for (const char* algorithm : {"RS256", "ES256"}) {
    EXPECT_EQ(provider_->verify(issuer_->token({{"alg", algorithm}}), now()).kind, Kind::verified) << algorithm;
    for (const auto& [forgery, problem] : std::vector<std::pair<std::string, std::string>>{
             {"none", "the algorithm `none` is never accepted"},
             {"stripped", "the token is not signed"},
             {"hs256", "the algorithm `HS256` is never accepted"},
             {"wrong_key", "the signature does not match"},
             {"payload", "the signature does not match"},
             {"unknown_kid", "the provider has no key"},
             {"traversing_kid", "the provider has no key `../../../../../../dev/null`"},
             {"wrong_iss", "the issuer is `https://evil.example`"},
             {"wrong_aud", "the audience is `another-client`"},
             {"expired", "the token expired"},
             {"not_yet", "the token is not valid for another"},
             {"future", "the token was issued"}}) {
      const BearerAnswer answer = provider_->verify(issuer_->token({{"alg", algorithm}, {"forge", forgery}}), now());
      EXPECT_EQ(answer.kind, Kind::refused) << forgery;
      EXPECT_TRUE(answer.error.message.starts_with(problem)) << forgery << ": " << answer.error.message;
    }
  }
}

TEST_F(OidcIssuer, LoginByCode) {
  const Result<PendingLogin> login = provider_->make_login(kCallback, "/jobs", now());
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_TRUE(contains(issuer_->request("GET", login->url).body, "id=\"password\""));
  const LoginResponse response = sign_in(*login, "ada", "lovelace-1");
  ASSERT_NE(response.code, "");
  EXPECT_EQ(response.issuer, issuer_->url());
  const Result<Claims> claims = provider_->finish_login(*login, response, now());
  ASSERT_TRUE(claims.ok()) << claims.error().text();
  EXPECT_EQ(claims->user, "ada");
  EXPECT_EQ(claims->groups, (std::vector<std::string>{"sre", "research"}));
  // The code is used up.
  EXPECT_TRUE(contains(provider_->finish_login(*login, response, now()).error().message, "invalid_grant"));
}

TEST_F(OidcIssuer, LoginsThatFail) {
  EXPECT_EQ(problem_of_login("ada", "wrong"), "the state of the response is not that of this login");
  // A code that was stolen is of no use without the verifier, and then is used up.
  PendingLogin login = provider_->make_login(kCallback, "/", now()).value();
  const LoginResponse response = sign_in(login, "bob", "builder-22");
  PendingLogin thief = login;
  thief.verifier = oob::Secret(std::string(43, 'x'));
  EXPECT_TRUE(contains(provider_->finish_login(thief, response, now()).error().message, "wrong code verifier"));
  EXPECT_TRUE(contains(provider_->finish_login(login, response, now()).error().message, "invalid_grant"));
  issuer_->control("mode", {{"wrong_response_issuer", true}});
  EXPECT_EQ(problem_of_login(), "the response is of the issuer `https://evil.example`");
  issuer_->control("mode", {{"wrong_response_issuer", false}, {"forge", "wrong_nonce"}});
  EXPECT_EQ(problem_of_login(), "the nonce is not that of this login");
  issuer_->control("mode", {{"forge", "none"}});
  EXPECT_EQ(problem_of_login(), "the algorithm `none` is never accepted");
  issuer_->control("mode", {{"forge", ""}, {"id_token", false}});
  EXPECT_EQ(problem_of_login(), "`id_token` is missing");
  issuer_->control("mode", {{"id_token", true}});
  EXPECT_EQ(problem_of_login(), "");
}

TEST_F(OidcIssuer, KeysRotate) {
  std::int64_t moment = now();
  ASSERT_TRUE(provider_->refresh(moment).ok());
  const std::string old = issuer_->token({{"claims", {{"exp", moment + 3600}}}});
  issuer_->control("rotate");
  const std::string fresh = issuer_->token();
  EXPECT_EQ(provider_->verify(fresh, moment).kind, Kind::refused);
  EXPECT_EQ(problem_of_login(), "");  // which fetches the new keys
  EXPECT_EQ(provider_->verify(fresh, moment).kind, Kind::verified);
  EXPECT_EQ(provider_->verify(old, now()).kind, Kind::refused);
  issuer_->control("rotate", {{"keep", true}});
  moment = now() + OidcProvider::kRefreshInterval;
  EXPECT_EQ(provider_->verify(issuer_->token(), moment).kind, Kind::needs_keys);
  ASSERT_TRUE(provider_->refresh(moment).ok());
  EXPECT_EQ(provider_->verify(fresh, moment).kind, Kind::verified);
}

TEST_F(OidcIssuer, LoginByDevice) {
  start({.client = "weft=p:s w%"});
  const Result<DeviceLogin> login = provider_->start_device_login(now());
  ASSERT_TRUE(login.ok()) << login.error().text();
  const auto poll = [&] { return provider_->poll_device_login(login->device_code, now()); };
  ASSERT_TRUE(poll().ok()) << poll().error().text();
  EXPECT_EQ(poll()->kind, ProviderPoll::Kind::pending);
  issuer_->control("mode", {{"device", "slow_down"}});
  EXPECT_EQ(poll()->kind, ProviderPoll::Kind::slow_down);
  issuer_->control("mode", {{"device", ""}});
  EXPECT_TRUE(contains(issuer_->request("GET", login->verification_uri_complete).body, login->user_code));
  const std::string form =
      form_encode(FormFields{{"user_code", login->user_code}, {"user", "bob"}, {"password", "builder-22"}});
  EXPECT_EQ(issuer_->request("POST", "/device", form).status, 200);
  const Result<ProviderPoll> done = poll();
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->kind, ProviderPoll::Kind::done);
  EXPECT_EQ(done->claims.user, "bob");
  EXPECT_FALSE(poll().ok());  // used

  const DeviceLogin second = provider_->start_device_login(now()).value();
  issuer_->control("device", {{"user_code", second.user_code}, {"user", nullptr}});
  EXPECT_EQ(provider_->poll_device_login(second.device_code, now())->kind, ProviderPoll::Kind::denied);
}

TEST_F(OidcIssuer, FetchTrustsOnlyTheGivenAuthority) {
  FetchRequest request;
  request.url = issuer_->url() + "/jwks";
  EXPECT_EQ(fetch_.fetch(request).error().code, ErrorCode::refused);
  request.ca_file = "/nonexistent/ca.pem";
  EXPECT_EQ(fetch_.fetch(request).error().code, ErrorCode::refused);
  request.ca_file = issuer_->ca_file();
  EXPECT_EQ(fetch_.fetch(request)->status, 200);
  request.max_bytes = 100;
  EXPECT_EQ(fetch_.fetch(request).error().code, ErrorCode::invalid_input);
  request.url = replace_all(request.url, "https://", "http://");
  EXPECT_EQ(fetch_.fetch(request).error().code, ErrorCode::refused);
  request.url = "https://127.0.0.1:1/";
  EXPECT_EQ(fetch_.fetch(request).error().code, ErrorCode::unavailable);
}

TEST_F(OidcIssuer, FetchDoesNotFollowRedirectsAndCanBeStopped) {
  oob::ManualClock clock;
  CurlFetch stoppable(&clock);
  clock.stop();
  FetchRequest request;
  request.url = issuer_->url() + "/jwks";
  request.ca_file = issuer_->ca_file();
  EXPECT_EQ(stoppable.fetch(request).error().message, "stopped");
  issuer_->control("mode", {{"hints", true}});
  const PendingLogin login = provider_->make_login(kCallback, "/", now()).value();
  EXPECT_EQ(issuer_->request("GET", login.url + "&login_hint=ada").status, 302);
}

}  // namespace
}  // namespace weft::access
