#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include "kube/timestamp.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

// A server with one Lease: optimistic locking as the API server does it, and a switch for failures.
class LeaseServer final : public Transport {
 public:
  [[nodiscard]] Result<ApiResponse> send(const ApiRequest& request) override {
    if (fail) return *fail;
    const bool exists = lease.is_map();
    if (request.method == "GET") return exists ? reply(200, lease) : status(404, "NotFound");
    Value body = read_reply_json(request.body).value_or(Value());
    if (request.method == "POST" && exists) return status(409, "AlreadyExists");
    if (request.method == "PUT" && oob::raw_text(body, {"metadata", "resourceVersion"}) != std::to_string(version)) {
      return status(409, "Conflict");
    }
    ++version;
    body["metadata"].set("uid", Value("u")).set("resourceVersion", Value(std::to_string(version)));
    lease = body;
    if (lose_reply) return *lose_reply;
    return reply(request.method == "POST" ? 201 : 200, lease);
  }
  [[nodiscard]] Result<std::unique_ptr<ResponseStream>> open(const ApiRequest& /*request*/) override {
    return Error{ErrorCode::internal, "no watch here", {}};
  }

  Value lease;
  int version = 0;
  std::optional<Error> fail;
  std::optional<Error> lose_reply;

 private:
  static ApiResponse reply(int code, const Value& body) { return {code, {}, write_json_line(body)}; }
  static ApiResponse status(int code, const char* reason) {
    return reply(code, Value::map({{"kind", Value("Status")}, {"code", Value(code)}, {"reason", Value(reason)}}));
  }
};

class KubeElection : public ::testing::Test {
 protected:
  oob::ManualClock clock_;
  LeaseServer server_;
  Client client_{server_, clock_, RandomStream(1), options()};
  LeaderElection one_{client_, election("one")};
  LeaderElection two_{client_, election("two")};

  static ClientOptions options() {
    ClientOptions options;
    options.max_tries = 1;
    options.requests_per_second = 1000;
    options.burst = 1000;
    return options;
  }
  static ElectionOptions election(const char* identity) { return {{"kube-system", "weft"}, identity}; }
  void pass(std::int64_t ms) { (void)clock_.sleep(milliseconds(ms)); }
  // Both processes run for a while; never two leaders.
  void run(std::int64_t seconds, bool first, bool second) {
    for (std::int64_t i = 0; i < seconds * 4; ++i) {
      if (first) one_.step();
      if (second) two_.step();
      ASSERT_FALSE(one_.is_leader() && two_.is_leader());
      pass(250);
    }
  }
};

TEST_F(KubeElection, OneOfTwoLeadsAndStays) {
  run(120, true, true);
  EXPECT_TRUE(one_.is_leader());
  EXPECT_EQ(two_.holder(), "one");
  EXPECT_EQ(one_.transitions(), 1);
  EXPECT_EQ(two_.without_leader().count(), 0);
}

TEST_F(KubeElection, ADeadLeaderIsReplacedAfterItsLease) {
  run(10, true, true);
  const Duration died = clock_.now();
  while (!two_.is_leader() && clock_.now() - died < milliseconds(60'000)) {
    two_.step();
    pass(250);
  }
  EXPECT_GE(clock_.now() - died, milliseconds(13'000));  // 15 s after its last renewal, which was up to 2 s ago
  EXPECT_LE(clock_.now() - died, milliseconds(20'000));
  EXPECT_FALSE(one_.is_leader());
  EXPECT_EQ(two_.transitions(), 2);
}

TEST_F(KubeElection, ALeaderWithoutServerStopsAtTheRenewDeadline) {
  run(4, true, true);
  ASSERT_TRUE(one_.is_leader());
  server_.fail = Error{ErrorCode::unavailable, "down", {}};
  const Duration lost = clock_.now();
  while (one_.is_leader()) {
    one_.step();
    two_.step();
    pass(250);
  }
  EXPECT_LE(clock_.now() - lost, milliseconds(10'250));
  EXPECT_FALSE(two_.is_leader());
  server_.fail.reset();
  run(60, true, true);
  EXPECT_NE(one_.is_leader(), two_.is_leader());
}

TEST_F(KubeElection, LeadershipEndsWithoutAnyCall) {
  one_.step();
  ASSERT_TRUE(one_.is_leader());
  pass(10'000);
  EXPECT_FALSE(one_.is_leader());
}

TEST_F(KubeElection, ClocksOfOthersDoNotMatter) {
  one_.step();
  ASSERT_TRUE(one_.is_leader());
  // Its holder's clock is a year behind: by its timestamps the lease would have expired.
  server_.lease["spec"].set("renewTime", Value(format_timestamp(clock_.wall_ms() - 31'536'000'000)));
  for (int i = 0; i < 7; ++i) {
    two_.step();
    pass(2'000);
    EXPECT_FALSE(two_.is_leader());
  }
}

TEST_F(KubeElection, ALostReplyIsNotALeadership) {
  server_.lose_reply = Error{ErrorCode::timeout, "no response", {}};
  one_.step();  // created, but the reply was lost
  EXPECT_FALSE(one_.is_leader());
  server_.lose_reply.reset();
  run(4, true, true);
  EXPECT_TRUE(one_.is_leader());  // it reads that it is the holder
}

TEST_F(KubeElection, TakenOverByForceIsNoticed) {
  one_.step();
  server_.lease["spec"].set("holderIdentity", Value("intruder"));
  server_.lease["metadata"].set("resourceVersion", Value(std::to_string(++server_.version)));
  pass(2'000);
  one_.step();
  EXPECT_FALSE(one_.is_leader());
  EXPECT_EQ(one_.holder(), "intruder");
}

TEST_F(KubeElection, ReleaseLetsTheOtherLeadAtOnce) {
  run(4, true, true);
  ASSERT_TRUE(one_.release().ok());
  EXPECT_FALSE(one_.is_leader());
  run(3, false, true);
  EXPECT_TRUE(two_.is_leader());
  EXPECT_EQ(two_.transitions(), 2);
}

TEST_F(KubeElection, ZeroLeadersAreSeen) {
  run(4, true, false);
  ASSERT_TRUE(one_.release().ok());
  server_.fail = Error{ErrorCode::unavailable, "down", {}};
  run(100, false, true);
  EXPECT_GE(two_.without_leader(), milliseconds(90'000));
}

TEST_F(KubeElection, HostileLeasesAreBounded) {
  for (const char* spec : {"null", "[]", R"({"holderIdentity":5,"leaseDurationSeconds":"x"})",
                           R"({"holderIdentity":"x","leaseDurationSeconds":1e300,"leaseTransitions":1e300})",
                           R"({"holderIdentity":"x","leaseDurationSeconds":-5,"leaseTransitions":-5})"}) {
    Value lease =
        read_reply_json(R"({"metadata":{"name":"weft","namespace":"kube-system","uid":"u"}})").value_or(Value());
    lease["metadata"].set("resourceVersion", Value(std::to_string(++server_.version)));
    lease.set("spec", read_reply_json(spec).value_or(Value()));
    server_.lease = lease;
    LeaderElection election(client_, KubeElection::election("one"));
    for (int i = 0; i < 2'000 && !election.is_leader(); ++i) {
      election.step();
      pass(2'000);
      election.step();
    }
    EXPECT_TRUE(election.is_leader()) << spec;  // within an hour of its clock, whatever the lease promises
  }
}

TEST(KubeElectionOptions, TimesMustFit) {
  ElectionOptions options{{"a", "b"}, "me"};
  EXPECT_EQ(problem_of(options), "");
  options.renew_deadline = options.lease_duration;
  EXPECT_NE(problem_of(options), "");
  options = {{"a", "b"}, ""};
  EXPECT_NE(problem_of(options), "");
  options = {{"a", "b/c"}, "me"};
  EXPECT_NE(problem_of(options), "");
  options = {{"a", "b"}, "me"};
  options.retry_period = milliseconds(9'000);
  EXPECT_NE(problem_of(options), "");
}

TEST(KubeTimestamp, ReadsAndWritesRfc3339) {
  EXPECT_EQ(format_timestamp(oob::ManualClock::kStartMs), "2025-10-09T08:53:20.000000Z");
  EXPECT_EQ(parse_timestamp("2025-10-09T08:53:20Z"), oob::ManualClock::kStartMs);
  EXPECT_EQ(parse_timestamp("2025-10-09T08:53:20.123456Z"), oob::ManualClock::kStartMs + 123);
  EXPECT_EQ(parse_timestamp("2025-10-09T10:53:20.5+02:00"), oob::ManualClock::kStartMs + 500);
  EXPECT_EQ(parse_timestamp("1985-04-12T23:20:50.52Z"), 482196050520);    // RFC 3339, section 5.8
  EXPECT_EQ(parse_timestamp("1996-12-19T16:39:57-08:00"), 851042397000);  // the same
  for (const char* wrong :
       {"", "2025", "2025-02-30T00:00:00Z", "2025-13-01T00:00:00Z", "2025-10-09T08:53:20", "2025-10-09T24:00:00Z",
        "2025-10-09T08:53:20.Z", "2025-10-09T08:53:20Zx", "0000-01-01T00:00:00Z"}) {
    EXPECT_EQ(parse_timestamp(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace weft::kube
