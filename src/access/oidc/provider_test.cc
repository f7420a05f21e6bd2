#include "access/oidc/provider.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "access/oidc/fake_provider.h"
#include "base/base64.h"
#include "base/text.h"

namespace weft::access {
namespace {

using test::FakeProvider;
using Kind = BearerAnswer::Kind;

constexpr std::int64_t kNow = 1'760'000'000;
const std::string kIssuer = FakeProvider::kIssuer;
const std::string kCallback = "https://weft.example.org:8443/login/callback";

OidcSettings settings() {
  OidcSettings settings;
  settings.issuer = kIssuer;
  settings.client_id = "weft";
  return settings;
}

// Different bytes at each call, the same in each run.
RandomBytes counted_bytes() {
  return [next = '\0'](std::size_t count) mutable { return std::string(count, ++next); };
}

std::string bearer(const std::string& kid = "rsa", std::int64_t issued = kNow, const std::string& more = {}) {
  return test::make_token(test::rsa_key(), Algorithm::rs256, fmt::format(R"({{"alg": "RS256", "kid": "{}"}})", kid),
                          fmt::format(R"({{"iss": "{}", "sub": "ada", "aud": "weft", "iat": {}, "exp": {}{}}})",
                                      kIssuer, issued, issued + 300, more));
}

struct Fixture {
  FakeProvider fake;
  OidcProvider provider{settings(), fake, counted_bytes()};
};

TEST(OidcProvider, VerifiesBearersAfterARefresh) {
  Fixture f;
  EXPECT_TRUE(f.provider.needs_refresh(kNow));
  EXPECT_EQ(f.provider.verify(bearer(), kNow).kind, Kind::needs_keys);
  EXPECT_EQ(f.fake.asked().size(), 0U);
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  EXPECT_FALSE(f.provider.needs_refresh(kNow));
  const BearerAnswer answer = f.provider.verify(bearer(), kNow);
  EXPECT_EQ(answer.kind, Kind::verified);
  EXPECT_EQ(answer.claims.user, "ada");
  EXPECT_EQ(f.provider.verify(bearer("rsa", kNow - 1000), kNow).kind, Kind::refused);
  EXPECT_EQ(f.provider.verify("weft_t_abc", kNow).kind, Kind::refused);
  EXPECT_EQ(f.fake.asked().size(), 2U);
}

TEST(OidcProvider, AudienceOfBearersIsSetApart) {
  FakeProvider fake;
  OidcSettings own = settings();
  own.audience = "weft-api";
  own.authorized_parties = {"ci"};
  OidcProvider provider(own, fake, counted_bytes());
  ASSERT_TRUE(provider.refresh(kNow).ok());
  EXPECT_EQ(provider.verify(bearer(), kNow).error.message, "the audience is `weft`, not `weft-api`");
  const auto from = [&](const std::string& party) {
    const std::string claims =
        fmt::format(R"({{"iss": "{}", "sub": "ada", "aud": ["account", "weft-api"], "azp": "{}", "exp": {}}})", kIssuer,
                    party, kNow + 9);
    return provider.verify(test::make_token(test::rsa_key(), Algorithm::rs256, R"({"alg": "RS256"})", claims), kNow)
        .kind;
  };
  EXPECT_EQ(from("ci"), Kind::verified);
  EXPECT_EQ(from("weft"), Kind::verified);
  EXPECT_EQ(from("weft-api"), Kind::verified);
  EXPECT_EQ(from("other"), Kind::refused);
}

TEST(OidcProvider, KeysRotate) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  f.fake.put(kIssuer + "/keys", test::key_set({test::rsa_key().jwk("new")}));
  std::int64_t now = kNow + OidcProvider::kRefreshInterval;
  EXPECT_EQ(f.provider.verify(bearer("new", now), now).kind, Kind::needs_keys);
  ASSERT_TRUE(f.provider.refresh(now).ok());
  EXPECT_EQ(f.provider.verify(bearer("new", now), now).kind, Kind::verified);
  // The old key is gone.
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::refused);
  now += OidcProvider::kRefreshInterval;
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::needs_keys);
}

TEST(OidcProvider, ForgedKeyNamesDoNotFloodTheProvider) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  for (std::int64_t now = kNow; now < kNow + 300; ++now) {
    if (f.provider.verify(bearer(fmt::format("forged-{}", now), now), now).kind == Kind::needs_keys) {
      ASSERT_TRUE(f.provider.refresh(now).ok());
    }
    ASSERT_TRUE(f.provider.refresh(now).ok());  // no client can make it ask more often
  }
  EXPECT_EQ(f.fake.count("/keys"), 10);
  // A token that is refused for another reason never causes a refresh.
  EXPECT_EQ(f.provider.verify(bearer("forged", kNow), kNow + 1000).kind, Kind::refused);
}

TEST(OidcProvider, OldKeysAreRefreshedAndVeryOldOnesUnused) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  f.fake.fail(true);
  std::int64_t now = kNow + 15 * 60 - 1;
  EXPECT_FALSE(f.provider.needs_refresh(now));
  ++now;
  EXPECT_TRUE(f.provider.needs_refresh(now));
  const int asked = f.fake.count("/openid-configuration") + f.fake.count("/keys");
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::verified) << "no request waits for the refresh";
  EXPECT_FALSE(f.provider.refresh(now).ok());
  EXPECT_EQ(f.fake.count("/openid-configuration") + f.fake.count("/keys"), asked + 1);
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::verified) << "the provider may be back soon";
  EXPECT_FALSE(f.provider.needs_refresh(now + OidcProvider::kRefreshInterval - 1));
  EXPECT_TRUE(f.provider.needs_refresh(now + OidcProvider::kRefreshInterval));
  now = kNow + 60 * 60;
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::verified);
  ++now;
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::needs_keys);
  EXPECT_FALSE(f.provider.refresh(now).ok());
  const BearerAnswer answer = f.provider.verify(bearer("rsa", now), now);
  EXPECT_EQ(answer.kind, Kind::refused);
  EXPECT_EQ(answer.error.code, ErrorCode::unavailable);
  EXPECT_TRUE(contains(answer.error.message, "no connection"));
  f.fake.fail(false);
  now += OidcProvider::kRefreshInterval;
  ASSERT_TRUE(f.provider.refresh(now).ok());
  EXPECT_EQ(f.provider.verify(bearer("rsa", now), now).kind, Kind::verified);
}

// Gate::tick() refreshes them while the old ones serve.
TEST(OidcProvider, ARemovedKeyIsNotUsedAfterTheNextRefresh) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  f.fake.put(kIssuer + "/keys", test::key_set({test::rsa_key().jwk("new")}));
  const std::int64_t now = kNow + OidcProvider::kRefreshAge;
  ASSERT_TRUE(f.provider.needs_refresh(now));
  ASSERT_TRUE(f.provider.refresh(now).ok());
  EXPECT_EQ(f.fake.count("/openid-configuration"), 1) << "the addresses are those of the day";
  EXPECT_FALSE(f.provider.needs_refresh(now + OidcProvider::kRefreshAge - 1));
  EXPECT_NE(f.provider.verify(bearer("rsa", now), now + 1).kind, Kind::verified);
  EXPECT_EQ(f.provider.verify(bearer("new", now), now + 1).kind, Kind::verified);
}

TEST(OidcProvider, ALoginDoesNotUseVeryOldKeys) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  const std::int64_t now = kNow + OidcProvider::kMaxKeyAge + 1;
  const PendingLogin login = f.provider.make_login(kCallback, "/", now).value();
  f.fake.put(kIssuer + "/keys", test::key_set({test::rsa_key().jwk("new")}));
  f.fake.put(kIssuer + "/token", fmt::format(R"({{"id_token": "{}"}})",
                                             bearer("rsa", now, fmt::format(R"(, "nonce": "{}")", login.nonce))));
  EXPECT_FALSE(f.provider.finish_login(login, {.code = "c", .state = login.state}, now).ok());
  EXPECT_EQ(f.fake.count("/keys"), 2);
}

TEST(OidcProvider, AClockThatIsSetBackDoesNotStopRefreshes) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  EXPECT_TRUE(f.provider.needs_refresh(kNow - 5000));
  EXPECT_EQ(f.provider.verify(bearer("rsa", kNow - 5000), kNow - 5000).kind, Kind::needs_keys);
  ASSERT_TRUE(f.provider.refresh(kNow - 5000).ok());
  EXPECT_EQ(f.fake.count("/keys"), 2);
}

TEST(OidcProvider, RefusesDocumentsOfOthers) {
  Fixture f;
  f.fake.put(kIssuer + "/.well-known/openid-configuration", R"({"issuer": "https://evil.example"})");
  const Status refreshed = f.provider.refresh(kNow);
  ASSERT_FALSE(refreshed.ok());
  EXPECT_TRUE(contains(refreshed.error().message, "https://evil.example"));
  EXPECT_EQ(f.provider.refresh(kNow + 1).error().message, refreshed.error().message);  // without asking again
  EXPECT_EQ(f.fake.asked().size(), 1U);
  EXPECT_FALSE(f.provider.make_login(kCallback, "/", kNow + 2).ok());
  EXPECT_EQ(f.fake.asked().size(), 1U);
}

TEST(OidcProvider, NoKeysAreAnError) {
  Fixture f;
  f.fake.put(kIssuer + "/keys", test::key_set({test::rsa_key().jwk("a", R"("use": "enc")")}));
  EXPECT_EQ(f.provider.refresh(kNow).error().message, "the key set has no key that can be used");
  f.fake.put(kIssuer + "/keys",
             test::key_set({test::rsa_key().jwk("a", R"("use": "enc")"), test::p256_key().jwk("b")}));
  ASSERT_TRUE(f.provider.refresh(kNow + 60).ok());
  EXPECT_EQ(f.provider.unusable_keys(), (std::vector<std::string>{"`a`: its use is `enc`, not sig"}));
}

std::string field(const std::string& url, const std::string& name) {
  const std::size_t at = url.find(name + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 1;
  return url.substr(begin, url.find('&', begin) - begin);
}

TEST(OidcProvider, LoginByCode) {
  Fixture f;
  const Result<PendingLogin> login = f.provider.make_login(kCallback, "/jobs?state=running", kNow);
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_TRUE(login->url.starts_with(kIssuer + "/auth?response_type=code&client_id=weft&"));
  EXPECT_EQ(field(login->url, "redirect_uri"), "https%3A%2F%2Fweft.example.org%3A8443%2Flogin%2Fcallback");
  EXPECT_EQ(field(login->url, "scope"), "openid%20profile%20groups");
  EXPECT_EQ(field(login->url, "state"), login->state);
  EXPECT_EQ(field(login->url, "nonce"), login->nonce);
  EXPECT_EQ(field(login->url, "code_challenge_method"), "S256");
  EXPECT_EQ(login->state.size(), 43U);
  EXPECT_NE(login->state, login->nonce);
  EXPECT_FALSE(contains(login->url, login->verifier.reveal()));
  EXPECT_EQ(login->return_path, "/jobs?state=running");

  f.fake.put(kIssuer + "/token", fmt::format(R"({{"access_token": "x", "id_token": "{}"}})",
                                             bearer("rsa", kNow, fmt::format(R"(, "nonce": "{}")", login->nonce))));
  const Result<Claims> claims = f.provider.finish_login(*login, {.code = "c0de", .state = login->state}, kNow);
  ASSERT_TRUE(claims.ok()) << claims.error().text();
  EXPECT_EQ(claims->user, "ada");
  const FakeProvider::Asked sent = f.fake.asked().back();
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(field(sent.form, "grant_type"), "authorization_code");
  EXPECT_EQ(field(sent.form, "code"), "c0de");
  EXPECT_EQ(field(sent.form, "code_verifier"), login->verifier.reveal());
  EXPECT_EQ(field(sent.form, "client_id"), "weft");
  EXPECT_EQ(sent.authorization, "");

  // The same answer for another login has the wrong nonce.
  const Result<PendingLogin> other = f.provider.make_login(kCallback, "/", kNow);
  EXPECT_EQ(f.provider.finish_login(*other, {.code = "c", .state = other->state}, kNow).error().message,
            "the nonce is not that of this login");
}

// RFC 7636, appendix B.
TEST(OidcProvider, ChallengeOfRfc7636) {
  FakeProvider fake;
  const std::string bytes = decode_base64url("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk").value();
  OidcProvider provider(settings(), fake, [&](std::size_t) { return bytes; });
  const Result<PendingLogin> login = provider.make_login(kCallback, "/", kNow);
  ASSERT_TRUE(login.ok());
  EXPECT_EQ(field(login->url, "code_challenge"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST(OidcProvider, ResponsesThatAreNotOfThisLogin) {
  Fixture f;
  const PendingLogin login = f.provider.make_login(kCallback, "/", kNow).value();
  const std::size_t before = f.fake.asked().size();
  const auto problem = [&](const LoginResponse& response) {
    const Result<Claims> claims = f.provider.finish_login(login, response, kNow);
    return claims.ok() ? "" : claims.error().message;
  };
  EXPECT_EQ(problem({.code = "c"}), "the state of the response is not that of this login");
  EXPECT_EQ(problem({.code = "c", .state = login.nonce}), "the state of the response is not that of this login");
  EXPECT_EQ(problem({.code = "c", .state = login.state, .issuer = "https://evil.example"}),
            "the response is of the issuer `https://evil.example`");
  EXPECT_EQ(problem({.state = login.state, .error = "access_denied"}),
            "the provider refused the login: `access_denied`");
  EXPECT_EQ(problem({.state = login.state}), "the response has no code");
  EXPECT_EQ(problem({.code = std::string(5000, 'c'), .state = login.state}), "the response has no code");
  EXPECT_EQ(f.fake.asked().size(), before);  // the code was never sent
  f.fake.put(kIssuer + "/token", R"({"error": "invalid_grant", "error_description": "used\u001b[2J"})", 400);
  EXPECT_EQ(problem({.code = "c", .state = login.state, .issuer = kIssuer}),
            "the provider refused the code: invalid_grant used?[2J");
  f.fake.put(kIssuer + "/token", "<html>", 502);
  EXPECT_EQ(problem({.code = "c", .state = login.state}), "the provider answered with status 502");
  f.fake.put(kIssuer + "/token", R"({"access_token": "x"})");
  EXPECT_EQ(problem({.code = "c", .state = login.state}), "`id_token` is missing");
}

TEST(OidcProvider, TheIssuerMustBeNamedIfTheProviderSaysSo) {
  FakeProvider fake;
  fake.put(kIssuer + "/.well-known/openid-configuration",
           fmt::format(R"({{"issuer": "{0}", "authorization_endpoint": "{0}/auth?x=1", "token_endpoint": "{0}/token",
                           "jwks_uri": "{0}/keys", "authorization_response_iss_parameter_supported": true}})",
                       kIssuer));
  OidcProvider provider(settings(), fake, counted_bytes());
  const PendingLogin login = provider.make_login(kCallback, "/", kNow).value();
  EXPECT_TRUE(login.url.starts_with(kIssuer + "/auth?x=1&response_type=code"));
  EXPECT_EQ(provider.finish_login(login, {.code = "c", .state = login.state}, kNow).error().message,
            "the response is of the issuer ``");
  EXPECT_EQ(provider.start_device_login(kNow).error().code, ErrorCode::not_found);
}

TEST(OidcProvider, ClientSecretIsEncodedAndNotInTheForm) {
  FakeProvider fake;
  OidcSettings own = settings();
  own.client_secret = oob::Secret("a:b c%+\xC3\xA9");
  OidcProvider provider(own, fake, counted_bytes());
  const PendingLogin login = provider.make_login(kCallback, "/", kNow).value();
  (void)provider.finish_login(login, {.code = "c", .state = login.state}, kNow);
  const FakeProvider::Asked sent = fake.asked().back();
  EXPECT_EQ(sent.authorization, "Basic " + encode_base64("weft:a%3Ab%20c%25%2B%C3%A9"));
  EXPECT_EQ(field(sent.form, "client_id"), "");
  EXPECT_FALSE(contains(sent.form, "%C3%A9"));
}

TEST(OidcProvider, ALoginMayHaveANewerKeyThanTheLastRefresh) {
  Fixture f;
  const PendingLogin login = f.provider.make_login(kCallback, "/", kNow).value();
  f.fake.put(kIssuer + "/keys", test::key_set({test::rsa_key().jwk("new")}));
  f.fake.put(kIssuer + "/token", fmt::format(R"({{"id_token": "{}"}})",
                                             bearer("new", kNow, fmt::format(R"(, "nonce": "{}")", login.nonce))));
  EXPECT_TRUE(f.provider.finish_login(login, {.code = "c", .state = login.state}, kNow).ok());
  EXPECT_EQ(f.fake.count("/keys"), 2);
}

TEST(OidcProvider, LoginByDevice) {
  Fixture f;
  f.fake.put(kIssuer + "/device", R"({"device_code": "dev", "user_code": "ABCD-EFGH", "expires_in": 900,
      "verification_uri": "https://id.example.org/device", "verification_uri_complete": "https://id.example.org/device?c=A"})");
  const Result<DeviceLogin> login = f.provider.start_device_login(kNow);
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_EQ(login->user_code, "ABCD-EFGH");
  EXPECT_EQ(login->interval_s, 5);
  EXPECT_EQ(login->expires_in_s, 900);
  EXPECT_EQ(field(f.fake.asked().back().form, "client_id"), "weft");
  const auto poll = [&](const std::string& body, int status) {
    f.fake.put(kIssuer + "/token", body, status);
    return f.provider.poll_device_login(login->device_code, kNow);
  };
  EXPECT_EQ(poll(R"({"error": "authorization_pending"})", 400)->kind, ProviderPoll::Kind::pending);
  EXPECT_EQ(poll(R"({"error": "slow_down"})", 400)->kind, ProviderPoll::Kind::slow_down);
  EXPECT_EQ(poll(R"({"error": "expired_token"})", 400)->kind, ProviderPoll::Kind::expired);
  EXPECT_EQ(poll(R"({"error": "access_denied"})", 400)->kind, ProviderPoll::Kind::denied);
  EXPECT_FALSE(poll(R"({"error": "invalid_client"})", 401).ok());
  // A provider that restarts has not refused anything.
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    for (const char* body : {"", "<html>", R"({"error": "server_error"})", R"({"error": "access_denied"})"}) {
      const Result<ProviderPoll> failed = poll(body, status);
      ASSERT_FALSE(failed.ok()) << status << body;
      EXPECT_EQ(failed.error().code, ErrorCode::unavailable) << status << body;
    }
  }
  for (const char* error : {"server_error", "temporarily_unavailable"}) {
    const Result<ProviderPoll> failed = poll(fmt::format(R"({{"error": "{}"}})", error), 400);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::unavailable) << error;
  }
  EXPECT_NE(poll("<html>", 400).error().code, ErrorCode::unavailable);
  EXPECT_NE(poll(R"({"error": "invalid_client"})", 401).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(poll(R"({"id_token": "a.b.c"})", 200).ok());
  const Result<ProviderPoll> done = poll(fmt::format(R"({{"id_token": "{}"}})", bearer()), 200);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->kind, ProviderPoll::Kind::done);
  EXPECT_EQ(done->claims.user, "ada");
  EXPECT_EQ(field(f.fake.asked().back().form, "device_code"), "dev");
}

TEST(OidcProvider, ReturnPathsStayOnThisServer) {
  for (const char* path : {"/", "/jobs/17", "/jobs?state=running&limit=5", "/a//b", "/%2F%2Fevil.example"}) {
    EXPECT_EQ(safe_return_path(path), path);
  }
  for (const char* path : {"", "jobs", "//evil.example", "/\\evil.example", "\\/evil.example", "https://evil.example",
                           "/\t/evil.example", "/a b", "/a\r\nSet-Cookie: x", "javascript:alert(1)", "/caf\xC3\xA9"}) {
    EXPECT_EQ(safe_return_path(path), "/") << path;
  }
}

TEST(OidcProviderConcurrent, ThreadsVerifyWhileKeysAreRefreshed) {
  Fixture f;
  ASSERT_TRUE(f.provider.refresh(kNow).ok());
  const std::string token = bearer();
  std::atomic<int> verified{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        if (i == 0) (void)f.provider.refresh(kNow + n * OidcProvider::kRefreshInterval);
        if (f.provider.verify(token, kNow).kind == Kind::verified) ++verified;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(verified.load(), 60);
}

}  // namespace
}  // namespace weft::access
