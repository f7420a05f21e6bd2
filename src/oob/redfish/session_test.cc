#include "oob/redfish/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "oob/redfish/test_service.h"

namespace weft::oob {
namespace {

using test::ServerAnswer;
using test::ServerRequest;
using test::TestService;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSessions = "/redfish/v1/SessionService/Sessions";
constexpr const char* kSystem = "/redfish/v1/Systems/1";

Result<std::unique_ptr<RedfishSession>> open(const TestService& service, Clock& clock,
                                             const std::string& password = TestService::kPassword) {
  return RedfishSession::open(service.endpoint(), TestService::kUser, Secret(password), clock);
}

TEST(RedfishSession, LogsInOnceAndOut) {
  TestService service;
  SystemClock clock;
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_EQ(service.open_sessions(), 1U);
    EXPECT_THAT(service.session_contexts(), ElementsAre("weft"));
    EXPECT_TRUE((*session)->get(kSystem).ok());
    EXPECT_TRUE((*session)->get(kSystem).ok());
    EXPECT_EQ(service.server().count("POST", kSessions), 1);
  }
  EXPECT_EQ(service.open_sessions(), 0U);
  EXPECT_EQ(service.server().count("DELETE", kSessions), 1);
}

TEST(RedfishSession, LogsOutAfterAnError) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == kSystem) return ServerAnswer{.raw = "rubbish"};
    return std::nullopt;
  });
  SystemClock clock;
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok());
    EXPECT_FALSE((*session)->get(kSystem).ok());
  }
  EXPECT_EQ(service.open_sessions(), 0U);
}

TEST(RedfishSessionConcurrent, LogsOutWhenStoppedInTheMiddle) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == kSystem) return ServerAnswer{.body = "{}", .delay_ms = 5'000};
    return std::nullopt;
  });
  SystemClock clock;
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok());
    std::thread stopper([&] {
      while (service.server().count("GET", kSystem) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      clock.stop();
    });
    const Result<RedfishReply> reply = (*session)->get(kSystem);
    stopper.join();
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().message, "stopped");
    EXPECT_FALSE((*session)->get("/redfish/v1/Managers").ok());
  }
  EXPECT_EQ(service.open_sessions(), 0U);
}

TEST(RedfishSession, WrongPasswordIsRefusedAndNotRetried) {
  TestService service;
  SystemClock clock;
  const auto session = open(service, clock, "wrong");
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::refused);
  EXPECT_EQ(session.error().where, "node1");
  EXPECT_THAT(session.error().message, Not(HasSubstr("wrong")));
  EXPECT_EQ(service.server().count("POST"), 1);
}

TEST(RedfishSession, ExpiredSessionIsRenewedOnce) {
  TestService service;
  SystemClock clock;
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok());
    service.forget_sessions();
    EXPECT_TRUE((*session)->get(kSystem).ok());
    EXPECT_EQ(service.server().count("POST", kSessions), 2);
    service.forget_sessions();
    const std::vector<Result<Value>> many = (*session)->get_many({kSystem, "/redfish/v1/Managers", kSystem});
    for (const Result<Value>& one : many) EXPECT_TRUE(one.ok());
    EXPECT_EQ(service.server().count("POST", kSessions), 3);
  }
  EXPECT_EQ(service.open_sessions(), 0U);
}

TEST(RedfishSession, BmcThatAlwaysReturns401LeavesNoSessionBehind) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == kSystem) return ServerAnswer{.status = 401};
    return std::nullopt;
  });
  SystemClock clock;
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok());
    const Result<RedfishReply> reply = (*session)->get(kSystem);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::refused);
    EXPECT_EQ(service.server().count("GET", kSystem), 2);
  }
  EXPECT_EQ(service.open_sessions(), 0U);
}

TEST(RedfishSession, AtTheLimitOurOldestSessionIsDeleted) {
  TestService service;
  SystemClock clock;
  service.leave_session("admin", "nagios", "2020-01-01T00:00:00Z");
  service.leave_session("admin", "weft", "2026-02-01T00:00:00Z");
  service.leave_session("admin", "weft", "2026-01-01T00:00:00Z");
  service.leave_session("other", "weft", "2019-01-01T00:00:00Z");
  service.limit_sessions(4);
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_TRUE((*session)->get(kSystem).ok());
    EXPECT_EQ(service.open_sessions(), 4U);
    EXPECT_EQ(service.server().count("DELETE", std::string(kSessions) + "/3"), 1);
    EXPECT_EQ(service.server().count("DELETE"), 1);
  }
  EXPECT_EQ(service.open_sessions(), 3U);
}

TEST(RedfishSession, AtTheLimitWithoutOwnSessionsBasicIsUsed) {
  TestService service;
  SystemClock clock;
  service.leave_session("admin", "nagios", "2020-01-01T00:00:00Z");
  service.limit_sessions(1);
  {
    const auto session = open(service, clock);
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_TRUE((*session)->get(kSystem).ok());
    EXPECT_EQ(service.server().requests().back().headers.count("authorization"), 1U);
  }
  EXPECT_EQ(service.open_sessions(), 1U);
  EXPECT_EQ(service.server().count("DELETE"), 0);
}

TEST(RedfishSession, WithoutSessionsBasicIsUsedAndVerified) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method == "POST") return ServerAnswer{.status = 405};
    return std::nullopt;
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE((*session)->get(kSystem).ok());
  const auto wrong = open(service, clock, "wrong");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::refused);
}

TEST(RedfishSession, OldServicesAreSentNoContext) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method != "POST" || request.body.find("Context") == std::string::npos) return std::nullopt;
    return ServerAnswer{.status = 400,
                        .body = R"({"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.0.PropertyUnknown"}]}})"};
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_THAT(service.session_contexts(), ElementsAre(""));
}

TEST(RedfishSession, HttpStatusesMapToErrorCodes) {
  int status = 0;
  TestService service([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path != kSystem) return std::nullopt;
    return ServerAnswer{.status = status,
                        .body = R"({"error": {"@Message.ExtendedInfo": [{"Message": "no\u0007w\u001b[2J"}]}})"};
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok());
  const std::vector<std::pair<int, ErrorCode>> cases = {
      {400, ErrorCode::refused},     {403, ErrorCode::refused},  {404, ErrorCode::not_found},
      {405, ErrorCode::not_found},   {409, ErrorCode::conflict}, {429, ErrorCode::conflict},
      {500, ErrorCode::unavailable}, {503, ErrorCode::conflict}, {504, ErrorCode::unavailable}};
  for (const auto& [sent, code] : cases) {
    status = sent;
    const Result<RedfishReply> reply = (*session)->get(kSystem);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, code) << sent;
    EXPECT_EQ(reply.error().message, fmt::format("HTTP {}: no?w?[2J", sent));
  }
}

TEST(RedfishSession, MessagesHoldNoSecrets) {
  std::string token;
  TestService service([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path != kSystem) return std::nullopt;
    const std::string text = "value " + std::string(TestService::kPassword) + " and " +
                             request.headers.at("x-auth-token") + " and fresh-0-password " + std::string(5000, 'z');
    return ServerAnswer{.status = 400,
                        .body = R"({"error": {"@Message.ExtendedInfo": [{"Message": ")" + text + R"("}]}})"};
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok());
  (*session)->keep_out_of_messages(Secret("fresh-0-password"));
  const Result<RedfishReply> reply = (*session)->get(kSystem);
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.error().message, HasSubstr("value *** and *** and *** zzz"));
  EXPECT_LT(reply.error().message.size(), 250U);
}

TEST(RedfishSession, InvalidJsonIsReported) {
  std::string body;
  TestService service([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == kSystem) return ServerAnswer{.body = body};
    return std::nullopt;
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"a": )", "invalid JSON at byte"},
      {"", "not a JSON object"},
      {"[1, 2]", "not a JSON object"},
      {"<html>", "invalid JSON at byte 1"},
      {std::string(100'000, '['), "levels"},
      {"[" + std::string(400'000, '1') + "]", "invalid JSON"},
      {"[0" +
           [] {
             std::string many;
             for (int i = 0; i < 300'000; ++i) many += ",0";
             return many;
           }() +
           "]",
       "values"}};
  for (const auto& [sent, says] : cases) {
    body = sent;
    const Result<RedfishReply> reply = (*session)->get(kSystem);
    ASSERT_FALSE(reply.ok()) << says;
    EXPECT_EQ(reply.error().code, ErrorCode::invalid_input);
    EXPECT_THAT(reply.error().message, HasSubstr(says));
  }
}

TEST(RedfishSession, LoginWorksIfTheServiceRootRequiresIt) {
  TestService service([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == "/redfish/v1/") return ServerAnswer{.status = 401};
    return std::nullopt;
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_EQ((*session)->root().systems, "/redfish/v1/Systems");
}

TEST(RedfishSession, SessionLocationIsReducedToATrustedPath) {
  // The path must be below /redfish/; a host in it is ignored.
  std::string location;
  TestService service([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method != "POST") return std::nullopt;
    return ServerAnswer{.status = 201, .body = "{}", .headers = {{"X-Auth-Token", "x"}, {"Location", location}}};
  });
  SystemClock clock;
  location = "https://bmc.example/redfish/v1/SessionService/Sessions/77";
  ASSERT_TRUE(open(service, clock).ok());
  EXPECT_EQ(service.server().count("DELETE", std::string(kSessions) + "/77"), 1);
  for (const char* bad : {"/etc/passwd", "/redfish/../admin", "gopher://x/redfish/v1"}) {
    location = bad;
    ASSERT_TRUE(open(service, clock).ok());
  }
  EXPECT_EQ(service.server().count("DELETE"), 1);
}

TEST(RedfishSession, ContradictedEtagsAreOmitted) {
  int wants = 0;
  TestService service([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method == "GET" && request.path == kSystem)
      return ServerAnswer{.body = "{}", .headers = {{"ETag", "\"a\""}}};
    if (request.method != "PATCH") return std::nullopt;
    const bool given = request.headers.contains("if-match");
    if (wants == 428 && !given) return ServerAnswer{.status = 428};
    if (wants == 412 && given) return ServerAnswer{.status = 412};
    return ServerAnswer{.status = 204};
  });
  SystemClock clock;
  const auto session = open(service, clock);
  ASSERT_TRUE(session.ok());
  wants = 428;
  EXPECT_TRUE((*session)->patch(kSystem, "{}", "").ok());
  wants = 412;
  EXPECT_TRUE((*session)->patch(kSystem, "{}", "\"a\"").ok());
  EXPECT_EQ(service.server().count("PATCH"), 4);
}

}  // namespace
}  // namespace weft::oob
