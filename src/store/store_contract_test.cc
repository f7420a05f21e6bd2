// What store.h promises, for every store.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "etcd/test_support.h"
#include "store/etcd_store.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

class StoreUnderTest {
 public:
  StoreUnderTest() = default;
  StoreUnderTest(const StoreUnderTest&) = delete;
  StoreUnderTest& operator=(const StoreUnderTest&) = delete;
  virtual ~StoreUnderTest() = default;
  virtual Store& get() = 0;
  // The process ends without a sync and begins again.
  virtual void restart() = 0;
};

class MemoryUnderTest final : public StoreUnderTest {
 public:
  Store& get() override { return store_; }
  void restart() override { store_.crash(); }

 private:
  MemoryStore store_;
};

class SqliteUnderTest final : public StoreUnderTest {
 public:
  SqliteUnderTest() { open(); }
  Store& get() override { return *store_; }
  void restart() override {
    store_.reset();
    open();
  }

 private:
  void open() {
    Result<std::unique_ptr<SqliteStore>> opened = open_store(directory_.path());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = std::move(opened).value();
  }
  TemporaryDirectory directory_;
  std::unique_ptr<SqliteStore> store_;
};

class EtcdUnderTest final : public StoreUnderTest {
 public:
  EtcdUnderTest() { open(); }
  Store& get() override { return *store_; }
  void restart() override {
    store_.reset();
    cluster_.time += milliseconds(10'000);
    open();
  }

 private:
  void open() {
    election_ = std::make_unique<etcd::Election>(*client_, etcd::ElectionOptions{"/weft/leader", "a", {}});
    election_->step();
    ASSERT_TRUE(election_->is_leader()) << election_->problem();
    Result<std::unique_ptr<EtcdStore>> opened =
        EtcdStore::open(*client_, {"/weft", "cluster-1", election_->fence(), 4'000});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = std::move(opened).value();
  }
  etcd::FakeCluster cluster_;
  std::unique_ptr<etcd::Client> client_ = cluster_.connect();
  std::unique_ptr<etcd::Election> election_;
  std::unique_ptr<EtcdStore> store_;
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  Store& store() { return under_test_->get(); }
  void restart() { under_test_->restart(); }
  Status save(Sequence sequence) { return store().save_snapshot({sequence, "state " + std::to_string(sequence)}); }

 private:
  std::unique_ptr<StoreUnderTest> under_test_ = GetParam().make();
};

TEST_P(StoreContract, BeginsEmpty) {
  EXPECT_EQ(store().first(), 1U);
  EXPECT_EQ(store().last(), 0U);
  EXPECT_EQ(store().durable(), 0U);
  EXPECT_TRUE(store().sync().ok());
  EXPECT_TRUE(read_records(store(), 1)->empty());
  const auto snapshot = store().load_snapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_FALSE(snapshot->has_value());
}

TEST_P(StoreContract, AppendIsNotDurableBeforeSync) {
  EXPECT_EQ(store().append(make_records(store(), 3)), 3U);
  EXPECT_EQ(store().append({}), 3U);
  EXPECT_EQ(store().last(), 3U);
  EXPECT_EQ(store().durable(), 0U);
  EXPECT_TRUE(read_records(store(), 1)->empty());
  ASSERT_TRUE(store().sync().ok());
  EXPECT_EQ(store().durable(), 3U);
  expect_all_records(store());
}

TEST_P(StoreContract, RestartLosesWhatWasNotSynced) {
  ASSERT_TRUE(write_records(store(), 5).ok());
  store().append(make_records(store(), 4));
  restart();
  EXPECT_EQ(store().last(), 5U);
  EXPECT_EQ(store().durable(), 5U);
  expect_all_records(store());
  ASSERT_TRUE(write_records(store(), 2).ok());
  restart();
  EXPECT_EQ(store().last(), 7U);
  expect_all_records(store());
}

TEST_P(StoreContract, KeepsEveryByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<std::string> records = {"", std::string(1, '\0'), all, std::string(1'000'000, 'x'), ""};
  store().append(records);
  ASSERT_TRUE(store().sync().ok());
  restart();
  EXPECT_EQ(read_records(store(), 1).value(), records);
}

TEST_P(StoreContract, ReadsFromAnySequence) {
  ASSERT_TRUE(write_records(store(), 20).ok());
  EXPECT_EQ(read_records(store(), 20)->size(), 1U);
  EXPECT_EQ(read_records(store(), 7)->front(), make_record(7));
  EXPECT_TRUE(read_records(store(), 21)->empty());
  EXPECT_EQ(read_records(store(), 22).error().code, ErrorCode::invalid_input);
}

TEST_P(StoreContract, ReadStopsAtTheErrorOfTheCaller) {
  ASSERT_TRUE(write_records(store(), 5).ok());
  int calls = 0;
  const Status status = store().read(2, [&](const Entry& entry) -> Status {
    ++calls;
    if (entry.sequence == 3) return Error{ErrorCode::timeout, "stop", {}};
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::timeout);
  EXPECT_EQ(calls, 2);
  expect_all_records(store());
  ASSERT_TRUE(write_records(store(), 1).ok());
}

TEST_P(StoreContract, AppendsWhileReading) {
  ASSERT_TRUE(write_records(store(), 3).ok());
  int calls = 0;
  ASSERT_TRUE(store()
                  .read(1,
                        [&](const Entry&) {
                          ++calls;
                          store().append(make_records(store(), 1));
                          return Status();
                        })
                  .ok());
  EXPECT_EQ(calls, 3);
  ASSERT_TRUE(store().sync().ok());
  EXPECT_EQ(store().durable(), 6U);
  expect_all_records(store());
}

TEST_P(StoreContract, KeepsTheTwoNewestSnapshots) {
  ASSERT_TRUE(write_records(store(), 30).ok());
  for (const Sequence sequence : {5U, 10U, 20U}) ASSERT_TRUE(save(sequence).ok());
  restart();
  const auto snapshot = store().load_snapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot.value()->sequence, 20U);
  EXPECT_EQ(snapshot.value()->bytes, "state 20");
  ASSERT_FALSE(store().compact(11).ok());
  ASSERT_TRUE(store().compact(10).ok());
  EXPECT_EQ(store().first(), 11U);
  restart();
  EXPECT_EQ(store().first(), 11U);
  EXPECT_EQ(store().durable(), 30U);
  expect_all_records(store());
  const Result<std::vector<std::string>> gone = read_records(store(), 10);
  ASSERT_FALSE(gone.ok());
  EXPECT_TRUE(contains(gone.error().message, "record 10 was removed by compaction")) << gone.error().text();
  ASSERT_TRUE(write_records(store(), 1).ok());
  EXPECT_EQ(store().durable(), 31U);
}

TEST_P(StoreContract, ASnapshotReplacesOneOfTheSameSequence) {
  ASSERT_TRUE(write_records(store(), 10).ok());
  ASSERT_TRUE(save(4).ok());
  ASSERT_TRUE(save(8).ok());
  ASSERT_TRUE(store().save_snapshot({8, "again"}).ok());
  EXPECT_EQ(store().load_snapshot().value()->bytes, "again");
  ASSERT_TRUE(store().compact(4).ok());
  EXPECT_EQ(store().compact(5).error().code, ErrorCode::invalid_input);
}

TEST_P(StoreContract, RefusesSnapshotsOutOfOrder) {
  ASSERT_TRUE(write_records(store(), 10).ok());
  store().append(make_records(store(), 5));
  EXPECT_EQ(save(11).error().code, ErrorCode::invalid_input);  // not durable yet
  ASSERT_TRUE(save(10).ok());
  EXPECT_EQ(save(9).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(store().load_snapshot().value()->sequence, 10U);
  EXPECT_EQ(store().last(), 15U);
}

TEST_P(StoreContract, CompactNeedsTwoSnapshots) {
  ASSERT_TRUE(write_records(store(), 10).ok());
  EXPECT_FALSE(store().compact(1).ok());
  ASSERT_TRUE(save(10).ok());
  EXPECT_FALSE(store().compact(1).ok());  // without a second one, damage of the first would lose the state
  EXPECT_TRUE(store().compact(0).ok());
  EXPECT_EQ(store().first(), 1U);
  ASSERT_TRUE(write_records(store(), 1).ok());
  ASSERT_TRUE(save(11).ok());
  EXPECT_TRUE(store().compact(10).ok());
  EXPECT_TRUE(store().compact(3).ok());
  EXPECT_EQ(store().first(), 11U);
  EXPECT_EQ(store().durable(), 11U);
}

TEST_P(StoreContract, LivesThroughManyRounds) {
  RandomStream random(11);
  Sequence older = 0;
  Sequence newer = 0;
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(write_records(store(), random.below(40)).ok());
    if (random.chance(0.3) && store().durable() > newer) {
      older = std::exchange(newer, store().durable());
      ASSERT_TRUE(save(newer).ok());
      ASSERT_TRUE(store().compact(older).ok());
    }
    if (random.chance(0.3)) restart();
    ASSERT_EQ(store().first(), older + 1);
    expect_all_records(store());
    const auto snapshot = store().load_snapshot();
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ(snapshot->has_value() ? snapshot.value()->sequence : 0, newer);
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoreContract,
                         testing::Values(Kind{"Memory", [] { return std::make_unique<MemoryUnderTest>(); }},
                                         Kind{"Sqlite", [] { return std::make_unique<SqliteUnderTest>(); }},
                                         Kind{"Etcd", [] { return std::make_unique<EtcdUnderTest>(); }}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace weft::store
