// EtcdStore over an etcd in memory that loses answers, executes requests late, has no space, and changes its leader.
#include "store/etcd_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "etcd/test_support.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

using etcd::RequestFault;

// A controller: an election and, while it leads, a store.
struct Controller {
  explicit Controller(etcd::FakeCluster& cluster, const std::string& name = "a")
      : client(cluster.connect()), election(*client, {"/weft/leader", name, {}}) {}
  Status lead(EtcdDefect defect = EtcdDefect::none, const std::string& fingerprint = "cluster-1") {
    election.step();
    if (!election.is_leader()) return Error{ErrorCode::conflict, election.problem(), {}};
    Result<std::unique_ptr<EtcdStore>> opened =
        EtcdStore::open(*client, {"/weft", fingerprint, election.fence(), 2'000, defect});
    if (!opened.ok()) return opened.error();
    store = std::move(opened).value();
    return {};
  }
  std::unique_ptr<etcd::Client> client;
  etcd::Election election;
  std::unique_ptr<EtcdStore> store;
};

TEST(EtcdStore, TheNextLeaderFindsEverythingAndTheOldOneCannotWrite) {
  etcd::FakeCluster cluster;
  Controller a(cluster, "a");
  Controller b(cluster, "b");
  ASSERT_TRUE(a.lead().ok());
  ASSERT_TRUE(write_records(*a.store, 30).ok());
  cluster.etcd.expire_lease_of("/weft/leader");  // and `a` does not know
  ASSERT_TRUE(b.lead().ok());
  EXPECT_EQ(b.store->durable(), 30U);
  expect_all_records(*b.store);
  EXPECT_EQ(write_records(*a.store, 1).error().code, ErrorCode::conflict);
  EXPECT_EQ(a.store->sync().error().code, ErrorCode::conflict);
  EXPECT_EQ(a.store->save_snapshot({30, "x"}).error().code, ErrorCode::conflict);
  ASSERT_TRUE(write_records(*b.store, 5).ok());
  EXPECT_EQ(b.store->durable(), 35U);
}

TEST(EtcdStore, ACommitWhoseAnswerIsLostTakesEffectOnce) {
  for (const RequestFault fault : {RequestFault::answer_lost, RequestFault::request_lost, RequestFault::delayed}) {
    etcd::FakeCluster cluster;
    Controller a(cluster);
    ASSERT_TRUE(a.lead().ok());
    ASSERT_TRUE(write_records(*a.store, 3).ok());
    cluster.etcd.fault = [&](std::string_view) { return fault; };
    EXPECT_EQ(write_records(*a.store, 4).error().code, ErrorCode::unavailable);
    EXPECT_EQ(a.store->last(), 7U);
    EXPECT_EQ(a.store->durable(), 3U);
    a.store->append(make_records(*a.store, 2));
    cluster.etcd.fault = nullptr;
    ASSERT_TRUE(a.store->sync().ok());
    cluster.etcd.run_delayed();
    ASSERT_TRUE(write_records(*a.store, 1).ok());
    EXPECT_EQ(a.store->durable(), 10U);
    expect_all_records(*a.store);
    ASSERT_TRUE(a.lead().ok());  // as it is in etcd
    EXPECT_EQ(a.store->durable(), 10U);
    expect_all_records(*a.store);
  }
}

TEST(EtcdStore, WithoutSpaceRecordsStayBuffered) {
  etcd::FakeCluster cluster;
  Controller a(cluster);
  ASSERT_TRUE(a.lead().ok());
  cluster.etcd.set_no_space(true);
  const Status full = write_records(*a.store, 4);
  EXPECT_EQ(full.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(contains(full.error().message, "quota")) << full.error().text();
  cluster.etcd.set_no_space(false);
  ASSERT_TRUE(a.store->sync().ok());
  EXPECT_EQ(a.store->durable(), 4U);
}

TEST(EtcdStore, ALargeCommitIsAllOrNothing) {
  etcd::FakeCluster cluster;
  Controller a(cluster, "a");
  ASSERT_TRUE(a.lead().ok());
  ASSERT_TRUE(write_records(*a.store, 2).ok());
  int left = 3;  // parts of 2,000 bytes before the connection is lost
  cluster.etcd.fault = [&](std::string_view) { return left-- > 0 ? RequestFault::none : RequestFault::unreachable; };
  a.store->append(std::vector<std::string>(50, std::string(500, 'x')));
  EXPECT_EQ(a.store->sync().error().code, ErrorCode::unavailable);
  cluster.etcd.fault = nullptr;
  cluster.etcd.expire_lease_of("/weft/leader");
  Controller b(cluster, "b");
  ASSERT_TRUE(b.lead().ok());
  EXPECT_EQ(b.store->durable(), 2U);
  ASSERT_TRUE(write_records(*b.store, 2).ok());
  ASSERT_TRUE(b.lead().ok());
  expect_all_records(*b.store);
}

TEST(EtcdStore, RefusesTheJournalOfAnotherClusterAndOfANewerVersion) {
  etcd::FakeCluster cluster;
  Controller a(cluster);
  ASSERT_TRUE(a.lead().ok());
  const Status other = a.lead(EtcdDefect::none, "cluster-2");
  EXPECT_EQ(other.error().code, ErrorCode::refused);
  EXPECT_TRUE(contains(other.error().message, "belongs to another cluster")) << other.error().text();
  etcd::TxnRequest newer;
  newer.success = {{etcd::Operation::Kind::put, "/weft/meta", "weft-store 2\ncluster-1"}};
  ASSERT_TRUE(a.client->txn(newer).ok());
  EXPECT_TRUE(contains(a.lead().error().message, "newer version"));
  newer.success = {{etcd::Operation::Kind::put, "/weft/meta", "something else"}};
  ASSERT_TRUE(a.client->txn(newer).ok());
  EXPECT_EQ(a.lead().error().code, ErrorCode::internal);
}

TEST(EtcdStore, DamageIsFound) {
  for (const std::size_t position : {0U, 5U, 9U, 400U, 1'500U}) {
    etcd::FakeCluster cluster;
    Controller a(cluster);
    ASSERT_TRUE(a.lead().ok());
    ASSERT_TRUE(write_records(*a.store, 40).ok());
    ASSERT_TRUE(cluster.etcd.damage("/weft/journal/", position));
    const Status opened = a.lead();
    ASSERT_FALSE(opened.ok()) << position;
    EXPECT_EQ(opened.error().code, ErrorCode::internal);
  }
}

TEST(EtcdStore, TheOlderSnapshotReplacesADamagedOne) {
  etcd::FakeCluster cluster;
  Controller a(cluster);
  ASSERT_TRUE(a.lead().ok());
  ASSERT_TRUE(write_records(*a.store, 20).ok());
  ASSERT_TRUE(a.store->save_snapshot({10, std::string(5'000, 'a')}).ok());
  ASSERT_TRUE(a.store->save_snapshot({20, std::string(5'000, 'b')}).ok());
  ASSERT_TRUE(a.store->compact(10).ok());
  ASSERT_TRUE(a.lead().ok());
  EXPECT_EQ(a.store->load_snapshot().value()->sequence, 20U);
  ASSERT_TRUE(cluster.etcd.damage("/weft/snapshot/", 7'000));
  const auto older = a.store->load_snapshot();
  ASSERT_TRUE(older.ok()) << older.error().text();
  EXPECT_EQ(older.value()->sequence, 10U);
}

// What is no longer needed is removed: keys do not accumulate.
TEST(EtcdStore, KeysStayFew) {
  etcd::FakeCluster cluster;
  Controller a(cluster);
  ASSERT_TRUE(a.lead().ok());
  Sequence older = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(write_records(*a.store, 3).ok());
    const Sequence newer = a.store->durable();
    ASSERT_TRUE(a.store->save_snapshot({newer, "state"}).ok());
    if (older > 0) ASSERT_TRUE(a.store->compact(older).ok());
    older = newer;
  }
  EXPECT_LT(cluster.etcd.count_keys(), 20U);
}

// A follower's copy is always a prefix of what the leader wrote, whatever is compacted meanwhile.
TEST(EtcdStore, AReaderFollowsThroughCompaction) {
  etcd::FakeCluster cluster;
  Controller a(cluster);
  ASSERT_TRUE(a.lead().ok());
  const auto client = cluster.connect();
  EtcdReader reader(*client, {"/weft"}, "cluster-1");
  RandomStream random(5);
  Sequence older = 0;
  bool again = false;
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(write_records(*a.store, 1 + random.below(5)).ok());
    if (random.chance(0.2)) {
      ASSERT_TRUE(a.store->save_snapshot({a.store->durable(), "s" + std::to_string(a.store->durable())}).ok());
      if (older > 0) ASSERT_TRUE(a.store->compact(older).ok());
      older = a.store->durable();
    }
    if (!random.chance(0.15)) continue;
    ASSERT_TRUE(reader.refresh().ok());
    again = again || reader.began_again();
    EXPECT_EQ(reader.journal().extent().durable, a.store->durable());
    ASSERT_TRUE(reader.journal()
                    .read(
                        reader.journal().first,
                        [](const Entry& entry) {
                          EXPECT_EQ(entry.bytes, make_record(entry.sequence));
                          return Status();
                        },
                        "copy")
                    .ok());
    const auto snapshot = reader.load_snapshot();
    ASSERT_TRUE(snapshot.ok()) << snapshot.error().text();
    EXPECT_EQ(snapshot->has_value() ? (*snapshot)->sequence : 0, older);
  }
  EXPECT_TRUE(again);
}

// Two controllers take turns under random faults. A record is acknowledged once sync() succeeds; what is acknowledged
// stays, in order and once. "" or what is wrong.
std::string run_faults(std::uint64_t seed, EtcdDefect defect) {
  RandomStream random(seed, "etcd store");
  etcd::FakeCluster cluster;
  bool faults = true;
  cluster.etcd.fault = [&](std::string_view) {
    const auto drawn = random.below(30);
    return faults && drawn < 4 ? static_cast<RequestFault>(drawn + 1) : RequestFault::none;
  };
  cluster.etcd.staleness = [&] { return static_cast<etcd::Revision>(random.below(4)); };
  std::vector<std::string> acknowledged;
  std::vector<std::unique_ptr<Controller>> controllers;
  for (const char* name : {"a", "b"}) controllers.push_back(std::make_unique<Controller>(cluster, name));
  std::uint64_t next = 0;
  const auto check = [&](Store& store) -> std::string {
    std::size_t at = 0;
    std::set<std::string> seen;
    std::string problem;
    const Status read = store.read(store.first(), [&](const Entry& entry) -> Status {
      const std::string text(entry.bytes);
      if (!seen.insert(text).second) problem = "record " + text + " is there twice";
      if (at < acknowledged.size() && acknowledged[at] == text) ++at;
      return {};
    });
    if (!read.ok()) return read.error().text();
    if (!problem.empty()) return problem;
    return at == acknowledged.size() ? "" : "acknowledged record " + acknowledged[at] + " is lost or out of order";
  };
  for (int round = 0; round < 100; ++round) {
    Controller& one = *controllers[random.below(2)];
    if (random.chance(0.1)) cluster.etcd.expire_lease_of("/weft/leader");
    if (random.chance(0.2)) cluster.etcd.run_delayed();
    cluster.time += milliseconds(static_cast<std::int64_t>(random.below(1'500)));
    if (one.store == nullptr) {
      if (one.lead(defect).ok()) {
        if (std::string problem = check(*one.store); !problem.empty()) return problem;
      }
      continue;
    }
    std::vector<std::string> records;
    for (std::uint64_t i = random.below(3); i > 0; --i)
      records.push_back(std::to_string(++next) + std::string(random.chance(0.1) ? 3'000 : 0, '.'));
    const Sequence before = one.store->durable();
    one.store->append(records);
    const Status synced = one.store->sync();
    Status read = one.store->read(before + 1, [&](const Entry& entry) -> Status {
      acknowledged.emplace_back(entry.bytes);
      return {};
    });
    if (!read.ok()) return read.error().text();
    if (!synced.ok() && synced.error().code != ErrorCode::unavailable) one.store.reset();  // begins again
  }
  faults = false;
  cluster.etcd.run_delayed();
  cluster.time += milliseconds(20'000);
  Controller last(cluster, "c");
  if (const Status led = last.lead(); !led.ok()) return led.error().text();
  return check(*last.store);
}

TEST(EtcdStore, NothingIsLostOrRepeatedUnderFaults) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) ASSERT_EQ(run_faults(seed, EtcdDefect::none), "") << "seed " << seed;
}

// The compare of the tail refuses a leader that has read too little.
TEST(EtcdStore, AStaleReadIsNoticed) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    ASSERT_EQ(run_faults(seed, EtcdDefect::stale_read), "") << "seed " << seed;
}

TEST(EtcdStore, DeliberateDefectsAreFound) {
  for (const EtcdDefect defect : {EtcdDefect::no_fence, EtcdDefect::no_tail, EtcdDefect::blind_retry}) {
    std::uint64_t seed = 1;
    while (seed <= 60 && run_faults(seed, defect).empty()) ++seed;
    EXPECT_LE(seed, 60U) << static_cast<int>(defect);
  }
}

}  // namespace
}  // namespace weft::store
