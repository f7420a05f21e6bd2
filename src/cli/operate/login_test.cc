// weft login and the commands that use it, against a server over TLS.
#include <gmock/gmock.h>

#include "base/file.h"
#include "cli/operate/login_store.h"
#include "cli/operate/test_server.h"

namespace weft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kDevice =
    R"({"user_code": "WDJB-MJHT", "verification_uri": "https://id.example.org/device", "interval": 1, "handle": "h1"})";
constexpr const char* kSession = R"({"schema_version": 1, "kind": "session", "session": {"user": "ada"}})";

std::string tokens(int number) {
  return R"({"access_token": "weft_a_)" + std::to_string(number) + R"(", "refresh_token": "weft_r_)" +
         std::to_string(number) + R"(", "expires_in": 900, "user": "ada"})";
}

class LoginTest : public ServerCommandTest {
 protected:
  void answer_device_login() {
    server_.set("POST /login/device", 200, kDevice);
    server_.set("POST /login/device/token", 200, tokens(1));
  }
  [[nodiscard]] std::vector<std::string> login_words() const {
    return {"login", server_.url(), "--context", "prod", "--fingerprint", server_.fingerprint()};
  }
  [[nodiscard]] LoginStore store() const { return LoginStore(folder_.file("state/weft/credentials.json")); }
  // As after `weft login`, without its wait.
  void sign_in(bool has_expired = false) {
    ASSERT_TRUE(write_file(folder_.file("config.yaml"),
                           "weft_config: 1\ncurrent: prod\ncontexts:\n  prod: {server: " + server_.url() +
                               ", fingerprint: '" + server_.fingerprint() + "'}\n")
                    .ok());
    Login login;
    login.server = server_.url();
    login.user = "ada";
    login.access_token = oob::Secret("weft_a_1");
    login.refresh_token = oob::Secret("weft_r_1");
    login.expires_ms = has_expired ? 1 : 0;
    ASSERT_TRUE(store().put("prod", login).ok());
  }
  [[nodiscard]] std::string config() const { return read_file(folder_.file("config.yaml")).value_or(""); }
};

TEST_F(LoginTest, SignsInWithADeviceCode) {
  answer_device_login();
  ASSERT_EQ(weft_.run(login_words()), Exit::ok) << weft_.err;
  EXPECT_THAT(weft_.err, HasSubstr("WDJB-MJHT"));
  EXPECT_THAT(weft_.err, HasSubstr("https://id.example.org/device"));
  EXPECT_EQ(weft_.out, "signed in to prod (" + server_.url() + ") as ada\n");
  EXPECT_THAT(config(), HasSubstr("current: prod"));
  EXPECT_THAT(config(), Not(HasSubstr("weft_a_")));
  (void)server_.take_requests();
  server_.set("GET /api/v1/session", 200, kSession);
  EXPECT_EQ(weft_.run({"whoami", "-o", "json"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, kSession);
  EXPECT_THAT(server_.take_requests(), ElementsAre("GET /api/v1/session Bearer weft_a_1"));
}

TEST_F(LoginTest, AnUntrustedCertificateIsNeverTrustedSilently) {
  EXPECT_EQ(weft_.run({"login", server_.url()}), Exit::refused);
  EXPECT_THAT(weft_.err,
              HasSubstr("weft login " + server_.url() + " --context localhost --fingerprint " + server_.fingerprint()));
  EXPECT_THAT(config(), IsEmpty());
  weft_.is_terminal = true;
  weft_.input = "y";
  EXPECT_EQ(weft_.run({"login", server_.url()}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr(server_.fingerprint()));
  EXPECT_THAT(config(), IsEmpty());
  EXPECT_THAT(server_.take_requests(), IsEmpty());
  weft_.input = "yes";
  answer_device_login();
  EXPECT_EQ(weft_.run({"login", server_.url()}), Exit::ok) << weft_.err;
  EXPECT_THAT(config(), HasSubstr("fingerprint: " + server_.fingerprint()));
}

TEST_F(LoginTest, AChangedCertificateIsNotAQuestion) {
  weft_.is_terminal = true;
  weft_.input = "yes";
  const std::string other = "sha256:" + std::string(64, '0');
  EXPECT_EQ(weft_.run({"login", server_.url(), "--fingerprint", other}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("not the one that you trusted (" + other + ")"));
  EXPECT_THAT(weft_.err, HasSubstr("--fingerprint " + server_.fingerprint()));
  EXPECT_THAT(config(), IsEmpty());
}

TEST_F(LoginTest, ACaOfTheCommandLineIsEnough) {
  server_.set("GET /api/v1/session", 200, kSession);
  weft_.input = "weft_t_k3v9x2m4q7w1_secret";
  ASSERT_EQ(weft_.run({"login", server_.url(), "--ca", server_.certificate(), "--token-stdin"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "signed in to localhost (" + server_.url() + ") as ada\n");
  EXPECT_THAT(weft_.err, IsEmpty());
  EXPECT_THAT(config(), HasSubstr("ca: " + server_.certificate()));
  EXPECT_THAT(server_.take_requests(), ElementsAre("GET /api/v1/session Bearer weft_t_k3v9x2m4q7w1_secret"));
}

TEST_F(LoginTest, ARejectedTokenIsNotKept) {
  server_.set("GET /api/v1/session", 401, "{\"detail\": \"x\"}");
  for (const char* input : {"weft_t_k3v9x2m4q7w1_secret", "", "two words"}) {
    weft_.input = input;
    EXPECT_NE(weft_.run({"login", server_.url(), "--ca", server_.certificate(), "--token-stdin"}), Exit::ok);
    EXPECT_THAT(weft_.err, Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(store().find("localhost", server_.url())->has_value());
  EXPECT_THAT(config(), IsEmpty());
}

TEST_F(LoginTest, AFailedLoginChangesNothing) {
  sign_in();
  const std::string before = config();
  server_.set("POST /login/device", 503, "{\"detail\": \"no provider\"}");
  EXPECT_NE(weft_.run({"login", server_.url(), "--context", "other", "--ca", server_.certificate()}), Exit::ok);
  EXPECT_NE(weft_.run({"login", "--context", "prod", "--ca", server_.certificate()}), Exit::ok);
  EXPECT_EQ(config(), before);
  EXPECT_TRUE(store().find("prod", server_.url())->has_value());
}

TEST_F(LoginTest, AnExpiredTokenIsRefreshed) {
  sign_in(true);
  server_.set("POST /login/refresh", 200, tokens(2));
  server_.set("GET /api/v1/jobs", 200, "jobs\n");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "jobs\n");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::ok) << weft_.err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("POST /login/refresh {\"refresh_token\": \"weft_r_1\"}", "GET /api/v1/jobs Bearer weft_a_2",
                          "GET /api/v1/jobs Bearer weft_a_2"));
}

TEST_F(LoginTest, ARevokedTokenIsRefreshedOnce) {
  sign_in();
  server_.set("POST /login/refresh", 200, tokens(2));
  server_.set("GET /api/v1/jobs", 401, "{\"detail\": \"x\"}");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("not signed in: run `weft login --context prod`"));
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /api/v1/jobs Bearer weft_a_1", "POST /login/refresh {\"refresh_token\": \"weft_r_1\"}",
                          "GET /api/v1/jobs Bearer weft_a_2"));
}

TEST_F(LoginTest, AnEndedLoginSaysSo) {
  sign_in(true);
  server_.set("POST /login/refresh", 400, "{\"error\": \"invalid_grant\"}");
  server_.set("GET /api/v1/jobs", 401, "{\"detail\": \"x\"}");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("not signed in: run `weft login --context prod`"));
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::refused);
  EXPECT_THAT(server_.take_requests(), ElementsAre("POST /login/refresh {\"refresh_token\": \"weft_r_1\"}",
                                                   "GET /api/v1/jobs", "GET /api/v1/jobs"));
}

TEST_F(LoginTest, LogoutEndsItHereAndThere) {
  sign_in();
  server_.set("POST /api/v1/session/logout", 200, "{}");
  EXPECT_EQ(weft_.run({"logout"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "signed out of prod\n");
  EXPECT_THAT(server_.take_requests(), ElementsAre("POST /api/v1/session/logout Bearer weft_a_1 {}"));
  EXPECT_EQ(weft_.run({"logout"}), Exit::ok);
  EXPECT_THAT(weft_.err, HasSubstr("not signed in to prod"));
  EXPECT_THAT(server_.take_requests(), IsEmpty());
}

TEST_F(LoginTest, LogoutWithoutTheServerRemovesTheTokens) {
  sign_in();
  server_.set("POST /api/v1/session/logout", 500, "{\"detail\": \"broken\"}");
  EXPECT_EQ(weft_.run({"logout"}), Exit::partial);
  EXPECT_FALSE(store().find("prod", server_.url())->has_value());
}

TEST_F(LoginTest, ATokenOfTheEnvironmentIsSentAndNotRefreshed) {
  weft_.variables["WEFT_SERVER"] = server_.url();
  weft_.variables["WEFT_CA"] = server_.certificate();
  weft_.variables["WEFT_TOKEN"] = "weft_t_id_secret";
  server_.set("GET /api/v1/jobs", 401, "{\"detail\": \"x\"}");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("the server does not accept the token in WEFT_TOKEN"));
  EXPECT_THAT(weft_.err, Not(HasSubstr("secret")));
  EXPECT_THAT(server_.take_requests(), ElementsAre("GET /api/v1/jobs Bearer weft_t_id_secret"));
  weft_.variables["WEFT_TOKEN"] = "two\nlines";
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::usage);
}

}  // namespace
}  // namespace weft::cli
