#include "cli/operate/login_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace weft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCode =
    R"({"user_code": "WDJB-MJHT", "verification_uri": "https://id.example.org/device", "interval": 2,
        "expires_in": 60, "handle": "h1", "verification_uri_complete": "https://id.example.org/device?code=WDJB"})";
constexpr const char* kTokens =
    R"({"access_token": "weft_a_1", "refresh_token": "weft_r_1", "expires_in": 900, "user": "ada"})";

// Answers requests from a list, and keeps what was asked and when.
struct FakeServer {
  oob::ManualClock clock;
  std::deque<Result<serve::HttpResponse>> answers;
  std::vector<std::string> requests;
  std::vector<std::int64_t> seconds;

  void answer(int status, const std::string& body) {
    serve::HttpResponse response;
    response.status = status;
    response.body = body;
    answers.emplace_back(std::move(response));
  }
  void fail(ErrorCode code) { answers.emplace_back(Error{code, "no connection", {}}); }
  SendFunction send() {
    return [this](const serve::ClientRequest& request) -> Result<serve::HttpResponse> {
      requests.push_back(request.method + " " + request.target + " " + request.body);
      seconds.push_back(clock.now().count() / 1'000'000'000);
      if (answers.empty()) return Error{ErrorCode::internal, "no more answers", {}};
      Result<serve::HttpResponse> next = std::move(answers.front());
      answers.pop_front();
      return next;
    };
  }
};

std::string error_body(const std::string& code) { return "{\"error\": \"" + code + "\"}"; }

TEST(LoginProtocolTest, WaitsUntilTheUserHasSignedIn) {
  FakeServer server;
  server.answer(200, kCode);
  const Result<DeviceCode> code = start_device_login(server.send());
  ASSERT_TRUE(code.ok()) << code.error().text();
  EXPECT_EQ(code->user_code, "WDJB-MJHT");
  EXPECT_EQ(code->complete_uri, "https://id.example.org/device?code=WDJB");
  server.answer(400, error_body("authorization_pending"));
  server.answer(400, error_body("slow_down"));
  server.fail(ErrorCode::unavailable);
  server.answer(200, kTokens);
  const Result<Login> login = wait_for_device_login(server.send(), *code, server.clock);
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_EQ(login->user, "ada");
  EXPECT_EQ(login->access_token.reveal(), "weft_a_1");
  EXPECT_EQ(login->refresh_token.reveal(), "weft_r_1");
  EXPECT_EQ(login->expires_ms, server.clock.wall_ms() + 900'000);
  EXPECT_EQ(server.requests.front(), "POST /login/device {}");
  EXPECT_EQ(server.requests.back(), "POST /login/device/token {\"handle\": \"h1\"}");
  // Every 2 s; 5 s more after slow_down; twice that after a lost connection.
  EXPECT_THAT(server.seconds, ElementsAre(0, 2, 4, 11, 25));
}

TEST(LoginProtocolTest, EndsWithTheReason) {
  const auto outcome = [](const std::string& body, int status = 400) {
    FakeServer server;
    server.answer(status, body);
    DeviceCode code;
    code.handle = oob::Secret("h");
    return wait_for_device_login(server.send(), code, server.clock).error();
  };
  EXPECT_EQ(outcome(error_body("access_denied")).code, ErrorCode::refused);
  EXPECT_EQ(outcome(error_body("expired_token")).code, ErrorCode::timeout);
  EXPECT_EQ(outcome(error_body("other")).code, ErrorCode::invalid_input);
  EXPECT_EQ(outcome("", 500).code, ErrorCode::internal);
  EXPECT_THAT(outcome("{\"access_token\": \"s3cret\"}", 200).message, HasSubstr("no valid refresh_token"));
}

TEST(LoginProtocolTest, StopsWhenTheCodeHasExpired) {
  FakeServer server;
  for (int i = 0; i < 100; ++i) server.answer(400, error_body("authorization_pending"));
  DeviceCode code;
  code.handle = oob::Secret("h");
  code.expires_s = 60;
  const Result<Login> login = wait_for_device_login(server.send(), code, server.clock);
  EXPECT_EQ(login.error().code, ErrorCode::timeout);
  EXPECT_EQ(server.requests.size(), 11U);
}

TEST(LoginProtocolTest, StopsWithCtrlC) {
  FakeServer server;
  server.clock.stop();
  const Result<Login> login = wait_for_device_login(server.send(), {}, server.clock);
  EXPECT_EQ(login.error().code, ErrorCode::conflict);
  EXPECT_TRUE(server.requests.empty());
}

TEST(LoginProtocolTest, RefusesAnswersThatATerminalOrAHeaderWouldMisread) {
  EXPECT_FALSE(read_device_answer("").ok());
  EXPECT_FALSE(
      read_device_answer(R"({"user_code": "A\u001b[2J", "verification_uri": "https://x", "handle": "h"})").ok());
  EXPECT_FALSE(read_device_answer(R"({"user_code": "A", "verification_uri": "javascript:x", "handle": "h"})").ok());
  EXPECT_FALSE(read_device_answer(R"({"user_code": "A", "verification_uri": "https://x"})").ok());
  EXPECT_TRUE(read_device_answer(R"({"user_code": "A", "verification_uri": "https://x", "handle": "h"})").ok());
  EXPECT_EQ(read_device_answer(R"({"user_code": "A", "verification_uri": "https://x", "handle": "h", "interval": 0})")
                ->interval_s,
            1);
  EXPECT_FALSE(read_token_answer(R"({"access_token": "a\r\nb", "refresh_token": "r", "expires_in": 1})", 0).ok());
  EXPECT_FALSE(read_token_answer(R"({"access_token": "a", "refresh_token": "r"})", 0).ok());
  EXPECT_FALSE(read_token_answer(R"({"access_token": "", "refresh_token": "r", "expires_in": 1})", 0).ok());
}

TEST(LoginProtocolTest, RefreshSaysWhetherTheTokenIsRefused) {
  const auto refresh = [](int status, const std::string& body) {
    FakeServer server;
    server.answer(status, body);
    return refresh_login(server.send(), oob::Secret("weft_r_0"), 0);
  };
  EXPECT_EQ(refresh(200, kTokens)->access_token.reveal(), "weft_a_1");
  EXPECT_EQ(refresh(400, "{}").error().code, ErrorCode::refused);
  EXPECT_EQ(refresh(401, "{}").error().code, ErrorCode::refused);
  EXPECT_EQ(refresh(429, "{}").error().code, ErrorCode::unavailable);
  EXPECT_EQ(refresh(500, "{}").error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace weft::cli
