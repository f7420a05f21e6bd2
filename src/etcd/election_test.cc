#include "etcd/election.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"
#include "etcd/test_support.h"

namespace weft::etcd {
namespace {

ElectionOptions options_of(const std::string& identity) { return {"/weft/leader", identity, "unix:/" + identity}; }

struct Candidate {
  Candidate(FakeCluster& cluster, const std::string& name)
      : client(cluster.connect()), election(*client, options_of(name)) {}
  std::unique_ptr<Client> client;
  Election election;
};

TEST(EtcdElection, OneLeadsAndTheOthersKnowWho) {
  FakeCluster cluster;
  Candidate a(cluster, "a");
  Candidate b(cluster, "b");
  a.election.step();
  b.election.step();
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_FALSE(b.election.is_leader());
  EXPECT_EQ(b.election.leader(), "a");
  EXPECT_EQ(b.election.leader_address(), "unix:/a");
  EXPECT_EQ(a.election.fence().create_revision, cluster.etcd.create_revision("/weft/leader"));
}

TEST(EtcdElection, ResigningLetsTheNextOneLeadAtOnce) {
  FakeCluster cluster;
  Candidate a(cluster, "a");
  Candidate b(cluster, "b");
  a.election.step();
  b.election.step();
  a.election.resign();
  EXPECT_FALSE(a.election.is_leader());
  cluster.time += milliseconds(500);
  b.election.step();
  EXPECT_TRUE(b.election.is_leader());
  EXPECT_GT(b.election.fence().create_revision, a.election.fence().create_revision);
}

TEST(EtcdElection, StopsBeforeTheLeaseCanGoToAnother) {
  FakeCluster cluster;
  Candidate a(cluster, "a");
  Candidate b(cluster, "b");
  a.election.step();
  // Cut off: without a step, and with steps that reach nothing.
  cluster.time += milliseconds(5'900);
  EXPECT_TRUE(a.election.is_leader());
  cluster.time += milliseconds(200);
  EXPECT_FALSE(a.election.is_leader());
  b.election.step();
  EXPECT_FALSE(b.election.is_leader());
  cluster.time += milliseconds(2'000);
  b.election.step();
  EXPECT_TRUE(b.election.is_leader());
  a.election.step();
  EXPECT_FALSE(a.election.is_leader());
}

TEST(EtcdElection, FindsOutWhetherALostAnswerMadeItLeader) {
  for (const RequestFault fault : {RequestFault::answer_lost, RequestFault::request_lost, RequestFault::delayed}) {
    FakeCluster cluster;
    Candidate a(cluster, "a");
    cluster.etcd.fault = [&](std::string_view path) { return path == "/v3/kv/txn" ? fault : RequestFault::none; };
    a.election.step();
    EXPECT_EQ(a.election.is_leader(), fault == RequestFault::answer_lost);
    cluster.etcd.fault = nullptr;
    cluster.etcd.run_delayed();  // its lease is revoked: the key is not put
    cluster.time += milliseconds(1'000);
    a.election.step();
    EXPECT_TRUE(a.election.is_leader());
    EXPECT_EQ(a.election.fence().create_revision, cluster.etcd.create_revision("/weft/leader"));
  }
}

// Three candidates under random faults: never two at once, and the one that leads holds the key.
TEST(EtcdElection, NeverTwoLeaders) {
  int leaderships = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomStream random(seed, "election");
    FakeCluster cluster;
    std::vector<std::unique_ptr<Candidate>> candidates;
    std::vector<std::int64_t> cut_off(3, 0);
    std::size_t asks = 0;
    for (const char* name : {"a", "b", "c"}) candidates.push_back(std::make_unique<Candidate>(cluster, name));
    cluster.etcd.fault = [&](std::string_view) {
      if (cut_off[asks] > cluster.time.count()) return RequestFault::unreachable;
      const auto drawn = random.below(20);
      return drawn < 4 ? static_cast<RequestFault>(drawn + 1) : RequestFault::none;
    };
    Revision last = 0;
    for (int i = 0; i < 400; ++i) {
      cluster.time += milliseconds(static_cast<std::int64_t>(random.below(600)));
      for (asks = 0; asks < 3; ++asks) {
        if (random.chance(0.01)) {
          const auto length = static_cast<std::int64_t>(random.below(20));
          cut_off[asks] = cluster.time.count() + 1'000'000'000 * length;
        }
        if (random.chance(0.8)) candidates[asks]->election.step();
      }
      if (random.chance(0.1)) cluster.etcd.run_delayed();
      int leaders = 0;
      for (const auto& candidate : candidates) {
        if (!candidate->election.is_leader()) continue;
        ++leaders;
        const Revision held = cluster.etcd.create_revision("/weft/leader");
        ASSERT_EQ(candidate->election.fence().create_revision, held) << "seed " << seed;
        if (held != last) ++leaderships;
        last = held;
      }
      ASSERT_LE(leaders, 1) << "seed " << seed;
    }
  }
  EXPECT_GT(leaderships, 100);
}

}  // namespace
}  // namespace weft::etcd
