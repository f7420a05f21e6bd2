// Commands against a server: which one they talk to, and how they show what it answers.
#include "cli/operate/server_client.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "cli/operate/test_server.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ServerClientTest : public ServerCommandTest {
 protected:
  ServerClientTest() { weft_.variables["WEFT_SOCKET"] = server_.socket(); }
};

TEST_F(ServerClientTest, OptionsComeBeforeTheEnvironmentAndThatBeforeTheConfiguration) {
  server_.set("GET /api/v1/jobs", 200, "ok\n");
  ASSERT_TRUE(write_file(folder_.file("config.yaml"),
                         "weft_config: 1\ncurrent: gone\ncontexts:\n"
                         "  gone: {socket: /nonexistent/gone.sock}\n"
                         "  here: {socket: " +
                             server_.socket() + "}\n")
                  .ok());
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::ok) << weft_.err;  // WEFT_SOCKET
  weft_.variables.erase("WEFT_SOCKET");
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::unavailable);
  EXPECT_THAT(weft_.err, HasSubstr("/nonexistent/gone.sock"));
  weft_.variables["WEFT_CONTEXT"] = "here";
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.run({"job", "list", "--context", "gone"}), Exit::unavailable);
  EXPECT_EQ(weft_.run({"job", "list", "--server", "gone"}), Exit::unavailable);
  weft_.variables["WEFT_SERVER"] = "gone";
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::unavailable);
  EXPECT_EQ(weft_.run({"job", "list", "--socket", server_.socket()}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.run({"job", "list", "--server", "heer"}), Exit::usage);
  EXPECT_THAT(weft_.err, HasSubstr("did you mean `here`?"));
  EXPECT_EQ(weft_.run({"job", "list", "--server", "here", "--context", "here"}), Exit::usage);
  EXPECT_EQ(weft_.run({"job", "list", "--server", "http://h"}), Exit::usage);
  EXPECT_THAT(server_.take_requests(), SizeIs(3));
}

TEST_F(ServerClientTest, AnInvalidConfigurationIsShownWithItsPlace) {
  weft_.variables.erase("WEFT_SOCKET");
  ASSERT_TRUE(write_file(folder_.file("config.yaml"), "weft_config: 1\ncurent: a\n").ok());
  EXPECT_EQ(weft_.run({"job", "list"}), Exit::usage);
  EXPECT_THAT(weft_.err, HasSubstr("config.yaml:2:1: error: unknown key `curent`"));
  EXPECT_EQ(weft_.run({"job", "list", "--socket", "/nonexistent/s"}), Exit::unavailable);
}

TEST_F(ServerClientTest, AnUntrustedServerIsAnErrorWithTheFix) {
  EXPECT_EQ(weft_.run({"job", "list", "--server", server_.url()}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("weft login " + server_.url() + " --fingerprint " + server_.fingerprint()));
  EXPECT_THAT(server_.take_requests(), IsEmpty());
}

TEST_F(ServerClientTest, WithoutALoginTheFixIsToSignIn) {
  weft_.variables["WEFT_CA"] = server_.certificate();
  server_.set("GET /api/v1/jobs", 401, "{\"detail\": \"x\"}");
  EXPECT_EQ(weft_.run({"job", "list", "--server", server_.url()}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("not signed in: run `weft login " + server_.url() + "`"));
}

TEST_F(ServerClientTest, ErrorsHaveTheirPlaces) {
  server_.set("POST /api/v1/jobs", 422,
              R"({"detail": "invalid job file", "errors": [
                   {"source": "job.yaml", "line": 3, "column": 5, "detail": "unknown key `gpu`"},
                   {"pointer": "/tenant", "detail": "there is no such tenant"},
                   {"parameter": "limit", "detail": "is not a number"}, 7]})");
  ASSERT_TRUE(write_file(folder_.file("job.yaml"), "x\n").ok());
  EXPECT_EQ(weft_.run({"job", "submit", folder_.file("job.yaml")}), Exit::usage);
  EXPECT_EQ(weft_.err,
            "weft: invalid job file\n  job.yaml:3:5: unknown key `gpu`\n  tenant: there is no such tenant\n"
            "  limit: is not a number\n");
  // A detail that repeats the entries is not shown beside them.
  server_.set(
      "POST /api/v1/jobs/4/cancel", 400,
      R"({"detail": "a reason is needed", "errors": [{"pointer": "/reason", "detail": "a reason is needed"}]})");
  EXPECT_EQ(weft_.run({"job", "cancel", "4"}), Exit::usage);
  EXPECT_EQ(weft_.err, "weft: job 4: reason: a reason is needed\n");
  server_.set("POST /api/v1/jobs/5/cancel", 400,
              R"({"detail": "is empty; is missing", "errors": [{"pointer": "/a~1b", "detail": "is empty"},
                   {"pointer": "/reason", "detail": "is missing"}]})");
  EXPECT_EQ(weft_.run({"job", "cancel", "5"}), Exit::usage);
  EXPECT_EQ(weft_.err, "weft: job 5: invalid request\n  a/b: is empty\n  reason: is missing\n");
  server_.set("POST /api/v1/jobs/6/cancel", 422,
              R"({"detail": "job.yaml:3:5: error: unknown key `gpu`", "errors": [
                   {"source": "job.yaml", "line": 3, "column": 5, "detail": "unknown key `gpu`"}]})");
  EXPECT_EQ(weft_.run({"job", "cancel", "6"}), Exit::usage);
  EXPECT_EQ(weft_.err, "weft: job 6: job.yaml:3:5: error: unknown key `gpu`\n");
  server_.set("POST /api/v1/jobs/7/cancel", 412, "{\"detail\": \"job 7 is at version 3\"}");
  EXPECT_EQ(weft_.run({"job", "cancel", "7"}), Exit::refused);
  EXPECT_THAT(weft_.err, HasSubstr("job 7: job 7 is at version 3; it has changed since it was read"));
  server_.set("POST /api/v1/jobs/8/cancel", 403, "{\"detail\": \"bad \\u001b[2J\"}");
  EXPECT_EQ(weft_.run({"job", "cancel", "8"}), Exit::refused);
  EXPECT_EQ(weft_.err, "weft: job 8: bad ?[2J\n");
}

TEST_F(ServerClientTest, AReadWaitsOnceWhenThereAreTooManyRequests) {
  serve::HttpResponse busy = serve::problem(429, "too many requests");
  busy.headers.emplace_back("Retry-After", "1");
  server_.set("GET /api/v1/nodes", busy);
  server_.set("GET /api/v1/nodes", 200, "nodes\n");
  EXPECT_EQ(weft_.run({"node", "list"}), Exit::ok) << weft_.err;
  EXPECT_THAT(weft_.err, HasSubstr("waiting for 1 s"));
  server_.set("GET /api/v1/queue", busy);
  EXPECT_EQ(weft_.run({"queue"}), Exit::unavailable);
  EXPECT_THAT(weft_.err, HasSubstr("retry in 1 s"));
  EXPECT_THAT(server_.take_requests(), SizeIs(4));
}

TEST_F(ServerClientTest, AChangeThatNeedsASecondPerson) {
  server_.set("POST /api/v1/nodes/n1/confirm-off", 202, R"({"approval": 12})");
  EXPECT_EQ(weft_.run({"node", "confirm-off", "n1", "--reason", "feed is off"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "node n1: waiting for approval 12 by another person: weft approval approve 12\n");
  server_.set("POST /api/v1/approvals/12/approve", 200, R"({"answer": {"message": "carried out"}})");
  EXPECT_EQ(weft_.run({"approval", "approve", "12"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "approval 12: carried out\n");
  EXPECT_EQ(weft_.run({"approval", "reject", "../jobs"}), Exit::usage);
}

TEST_F(ServerClientTest, ASubmissionShowsTheExpectedStart) {
  ASSERT_TRUE(write_file(folder_.file("job.yaml"), "x\n").ok());
  server_.set("POST /api/v1/jobs", 201,
              R"({"answer": {"job": 7, "message": "submitted", "expected_start": "2026-11-18T20:00:00Z"}})");
  server_.set("POST /api/v1/jobs", 201, R"({"answer": {"job": 8, "message": "submitted", "expected_start": null}})");
  EXPECT_EQ(weft_.run({"job", "submit", folder_.file("job.yaml")}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "job 7: submitted, expected to start at 2026-11-18T20:00:00Z\n");
  EXPECT_EQ(weft_.run({"job", "submit", folder_.file("job.yaml")}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "job 8: submitted\n");
  server_.set("POST /api/v1/jobs/check", 200, R"({"job_check": {"expected_start": "2026-11-18T21:00:00Z"}})");
  EXPECT_EQ(weft_.run({"job", "submit", "--check", folder_.file("job.yaml")}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, folder_.file("job.yaml") + ": valid, expected to start at 2026-11-18T21:00:00Z\n");
  EXPECT_EQ(weft_.run({"job", "submit", "--check", "--key", "k", folder_.file("job.yaml")}), Exit::usage);
}

TEST_F(ServerClientTest, ANewTokenIsTheOnlyThingOnStandardOutput) {
  server_.set("POST /api/v1/tokens", 201,
              R"({"schema_version": 1, "new_token": {"id": "k3v9x2m4q7w1", "prefix": "weft_t_k3v9x2m4q7w1",
                  "token": "weft_t_k3v9x2m4q7w1_c2VjcmV0"}})");
  EXPECT_EQ(weft_.run({"token", "create", "ci", "--role", "user", "--tenant", "research"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.out, "weft_t_k3v9x2m4q7w1_c2VjcmV0\n");
  EXPECT_THAT(server_.take_requests().front(), HasSubstr(R"("role": "user", "tenant": "research")"));
  server_.set("POST /api/v1/tokens/k3v9x2m4q7w1/revoke", 200, R"({"answer": {"message": "revoked"}})");
  for (const char* name : {"k3v9x2m4q7w1", "weft_t_k3v9x2m4q7w1", "weft_t_k3v9x2m4q7w1_c2VjcmV0"}) {
    EXPECT_EQ(weft_.run({"token", "revoke", name}), Exit::ok) << weft_.err;
    EXPECT_EQ(weft_.out, "token k3v9x2m4q7w1: revoked\n");
  }
}

TEST_F(ServerClientTest, ContextsAreListedUsedAndRemoved) {
  ASSERT_TRUE(write_file(folder_.file("config.yaml"),
                         "weft_config: 1\ncurrent: a\ncontexts:\n"
                         "  a: {socket: /a.sock}\n  b: {server: https://b, ca: /b.pem}\n")
                  .ok());
  EXPECT_EQ(weft_.run({"context"}), Exit::ok) << weft_.err;
  EXPECT_THAT(weft_.out, HasSubstr("https://b:8443"));
  EXPECT_EQ(weft_.run({"context", "use", "b"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.run({"context", "show", "-o", "json"}), Exit::ok) << weft_.err;
  EXPECT_THAT(weft_.out, HasSubstr("\"ca\": \"/b.pem\""));
  EXPECT_EQ(weft_.run({"context", "use", "c"}), Exit::usage);
  EXPECT_EQ(weft_.run({"context", "remove", "b"}), Exit::ok) << weft_.err;
  EXPECT_EQ(weft_.run({"context", "remove", "b"}), Exit::usage);
  EXPECT_EQ(weft_.run({"context", "show"}), Exit::usage);
}

TEST(PendingApprovalTest, OnlyOfAnswersThatSayIt) {
  serve::HttpResponse response;
  response.status = 202;
  response.body = R"({"answer": {"approval": "a1"}})";
  EXPECT_EQ(pending_approval(response), "a1");
  response.body = "{}";
  EXPECT_EQ(pending_approval(response), std::nullopt);
  response.body = R"({"approval": 1})";
  response.status = 200;
  EXPECT_EQ(pending_approval(response), std::nullopt);
}

}  // namespace
}  // namespace weft::cli
