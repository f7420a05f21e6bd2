// Copies of stores: of one that is in use, in a folder that may not be written, and of what is no store.
#include "store/store_copy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "store/store_directory.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

class StoreCopyTest : public testing::Test {
 protected:
  StoreCopyTest() { ::setenv("TMPDIR", parent_.path().c_str(), 1); }
  ~StoreCopyTest() override { ::unsetenv("TMPDIR"); }
  [[nodiscard]] std::string directory() const { return parent_.path() + "/store"; }
  [[nodiscard]] std::size_t count_copies() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(parent_.path()))
      count += entry.path().filename().string().starts_with("weft-journal-") ? 1U : 0U;
    return count;
  }
  TemporaryDirectory parent_;
};

TEST_F(StoreCopyTest, ReadsAStoreThatIsInUse) {
  const Result<std::unique_ptr<SqliteStore>> store = open_store(directory());
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(write_records(**store, 50).ok());
  const Files before = read_files(directory());
  {
    Result<StoreCopy> copy = StoreCopy::open(directory(), "cluster-1");
    ASSERT_TRUE(copy.ok()) << copy.error().text();
    EXPECT_EQ(copy->store().durable(), 50U);
    expect_all_records(copy->store());
  }
  EXPECT_EQ(read_files(directory()), before);
  ASSERT_TRUE(write_records(**store, 10).ok());
  EXPECT_EQ(StoreCopy::open(directory(), "cluster-1")->store().durable(), 60U);
}

TEST_F(StoreCopyTest, ReadsAFolderThatMayNotBeWrittenAndTheOldestSnapshot) {
  {
    const Result<std::unique_ptr<SqliteStore>> store = open_store(directory());
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(write_records(**store, 12).ok());
    ASSERT_TRUE((*store)->save_snapshot({4, "four"}).ok());
    ASSERT_TRUE((*store)->save_snapshot({8, "eight"}).ok());
    ASSERT_TRUE((*store)->compact(4).ok());
  }
  std::filesystem::permissions(directory(), std::filesystem::perms(0500));
  const Files before = read_files(directory());
  Result<StoreCopy> copy = StoreCopy::open(directory(), "cluster-1");
  ASSERT_TRUE(copy.ok()) << copy.error().text();
  EXPECT_EQ(copy->store().first(), 5U);
  const Result<std::optional<Snapshot>> oldest = copy->store().load_oldest_snapshot();
  ASSERT_TRUE(oldest.ok() && oldest->has_value());
  EXPECT_EQ((*oldest)->bytes, "four");
  EXPECT_EQ((*copy->store().load_snapshot())->bytes, "eight");
  EXPECT_EQ(read_files(directory()), before);
  std::filesystem::permissions(directory(), std::filesystem::perms(0700));
}

TEST_F(StoreCopyTest, WhatIsNoStoreIsAnErrorAndNothingIsCreated) {
  const Result<StoreCopy> missing = StoreCopy::open(directory(), "cluster-1");
  ASSERT_FALSE(missing.ok());
  EXPECT_FALSE(std::filesystem::exists(directory()));
  ASSERT_EQ(::mkdir(directory().c_str(), 0700), 0);
  const Result<StoreCopy> empty = StoreCopy::open(directory(), "cluster-1");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::not_found);
  EXPECT_TRUE(read_files(directory()).empty());
  ASSERT_TRUE(open_store(directory()).ok());
  const Result<StoreCopy> other = StoreCopy::open(directory(), "cluster-2");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::refused);
  write_bytes(Marker::path_in(directory()), "weft store format 99\n");
  const Result<StoreCopy> newer = StoreCopy::open(directory(), "cluster-1");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().text().find("/weft-journal-"), std::string::npos) << newer.error().text();
  EXPECT_NE(newer.error().text().find(directory()), std::string::npos) << newer.error().text();
  EXPECT_EQ(count_copies(), 0U);
}

}  // namespace
}  // namespace weft::store
