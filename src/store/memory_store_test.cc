#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

TEST(MemoryStore, FullDiskKeepsRecordsBuffered) {
  MemoryStore store;
  ASSERT_TRUE(write_records(store, 2).ok());
  store.set_full(true);
  EXPECT_EQ(write_records(store, 3).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store.save_snapshot({1, "state"}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store.durable(), 2U);
  EXPECT_EQ(store.last(), 5U);
  store.set_full(false);
  ASSERT_TRUE(store.sync().ok());
  EXPECT_EQ(store.durable(), 5U);
  expect_all_records(store);
}

TEST(MemoryStore, FailedSyncIsFinalUntilACrash) {
  for (const FailedSync outcome : {FailedSync::lost, FailedSync::written}) {
    MemoryStore store;
    ASSERT_TRUE(write_records(store, 2).ok());
    store.fail_next_sync(outcome);
    ASSERT_TRUE(store.sync().ok());  // there was nothing to write
    EXPECT_EQ(write_records(store, 3).error().code, ErrorCode::internal);
    EXPECT_EQ(store.sync().error().code, ErrorCode::internal);
    EXPECT_EQ(store.save_snapshot({1, "state"}).error().code, ErrorCode::internal);
    EXPECT_EQ(store.durable(), 2U);
    store.crash();
    EXPECT_EQ(store.durable(), outcome == FailedSync::written ? 5U : 2U);
    ASSERT_TRUE(write_records(store, 1).ok());
    expect_all_records(store);
  }
}

TEST(MemoryStore, LostFsyncLosesAcknowledgedRecords) {
  MemoryStore store;
  ASSERT_TRUE(write_records(store, 4).ok());
  store.set_lost_fsync(true);
  ASSERT_TRUE(write_records(store, 3).ok());
  EXPECT_EQ(store.durable(), 7U);
  store.crash();
  EXPECT_EQ(store.durable(), 4U);
  ASSERT_TRUE(write_records(store, 3).ok());
  store.set_lost_fsync(false);
  ASSERT_TRUE(write_records(store, 1).ok());
  store.crash();
  EXPECT_EQ(store.durable(), 8U);
  expect_all_records(store);
}

TEST(MemoryStore, EveryFlippedBitIsFound) {
  MemoryStore store;
  const std::vector<std::string> records = {"one", "", "three"};
  store.append(records);
  ASSERT_TRUE(store.sync().ok());
  ASSERT_TRUE(store.save_snapshot({2, "two"}).ok());
  EXPECT_EQ(store.durable_bytes(), 11U);
  for (std::uint64_t bit = 0; bit < 64; ++bit) {
    ASSERT_TRUE(store.flip_bit(bit));
    const auto read = read_records(store, 1);
    ASSERT_FALSE(read.ok());
    EXPECT_TRUE(contains(read.error().message, bit < 24 ? "record 1 is damaged" : "record 3 is damaged"));
    ASSERT_TRUE(store.flip_bit(bit));
  }
  for (std::uint64_t bit = 64; bit < 88; ++bit) {
    ASSERT_TRUE(store.flip_bit(bit));
    EXPECT_FALSE(store.load_snapshot()->has_value());  // every record is there: the state can be computed
    ASSERT_TRUE(store.flip_bit(bit));
  }
  EXPECT_FALSE(store.flip_bit(88));
  EXPECT_EQ(read_records(store, 1).value(), records);
}

TEST(MemoryStore, TornAndMissingRecordsAreFound) {
  MemoryStore store;
  const std::vector<std::string> records = {"one", "two", "three", "four"};
  store.append(records);
  ASSERT_TRUE(store.sync().ok());
  ASSERT_TRUE(store.tear_tail(2));
  EXPECT_TRUE(contains(read_records(store, 1).error().message, "record 4 is damaged"));
  ASSERT_TRUE(store.remove_record(4));
  EXPECT_TRUE(contains(read_records(store, 1).error().message, "record 4 is missing"));
  ASSERT_TRUE(store.remove_record(2));
  ASSERT_TRUE(store.remove_record(3));
  EXPECT_TRUE(contains(read_records(store, 2).error().message, "records 2 to 4 are missing"));
  EXPECT_FALSE(store.remove_record(5));
}

TEST(MemoryStore, UsesTheOlderSnapshotAndNoticesWhenNoneIsLeft) {
  MemoryStore store;
  ASSERT_TRUE(write_records(store, 20).ok());
  ASSERT_TRUE(store.save_snapshot({10, "ten"}).ok());
  ASSERT_TRUE(store.save_snapshot({15, "fifteen"}).ok());
  ASSERT_TRUE(store.compact(10).ok());
  ASSERT_TRUE(store.restore_old_snapshot());
  EXPECT_EQ(store.load_snapshot().value()->sequence, 10U);
  EXPECT_EQ(read_records(store, 11)->size(), 10U);
  ASSERT_TRUE(store.restore_old_snapshot());
  const auto none = store.load_snapshot();
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(contains(none.error().message, "records 1 to 10 are removed")) << none.error().text();
  EXPECT_FALSE(store.restore_old_snapshot());
}

TEST(MemoryStore, ADamagedSnapshotDoesNotCountAsKept) {
  MemoryStore store;
  ASSERT_TRUE(write_records(store, 20).ok());
  ASSERT_TRUE(store.save_snapshot({5, "five"}).ok());
  ASSERT_TRUE(store.save_snapshot({10, "ten"}).ok());
  ASSERT_TRUE(store.flip_bit(8 * store.durable_bytes() - 1));
  EXPECT_EQ(store.load_snapshot().value()->sequence, 5U);
  EXPECT_FALSE(store.compact(5).ok());
  ASSERT_TRUE(store.save_snapshot({15, "fifteen"}).ok());  // replaces the damaged one, not the intact one
  EXPECT_FALSE(store.compact(10).ok());
  EXPECT_TRUE(store.compact(5).ok());
}

}  // namespace
}  // namespace weft::store
