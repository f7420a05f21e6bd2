#include "store/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/text.h"
#include "store/fault_vfs.h"
#include "store/store_directory.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

class SqliteStoreTest : public testing::Test {
 protected:
  [[nodiscard]] const std::string& parent() const { return parent_.path(); }
  [[nodiscard]] std::string directory() const { return parent() + "/store"; }
  [[nodiscard]] std::string file(const std::string& name) const { return directory() + "/" + name; }
  std::unique_ptr<SqliteStore> open(const std::string& vfs = {}) {
    Result<std::unique_ptr<SqliteStore>> opened = open_store(directory(), vfs);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  // A store that was closed, with records 5 to 12 and snapshots after 4 and 8.
  void fill() {
    const std::unique_ptr<SqliteStore> store = open();
    ASSERT_TRUE(write_records(*store, 12).ok());
    ASSERT_TRUE(store->save_snapshot({4, "four"}).ok());
    ASSERT_TRUE(store->save_snapshot({8, "eight"}).ok());
    ASSERT_TRUE(store->compact(4).ok());
  }
  // Changes the closed database.
  void execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file("journal.db").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  void expect_refused(ErrorCode code, const std::string& part) {
    const Result<std::unique_ptr<SqliteStore>> opened = open_store(directory());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, code) << opened.error().text();
    EXPECT_TRUE(contains(opened.error().text(), part)) << opened.error().text();
  }

 private:
  TemporaryDirectory parent_;
};

TEST_F(SqliteStoreTest, CreatesAPrivateDirectory) {
  const std::unique_ptr<SqliteStore> store = open();
  struct stat info {};
  ASSERT_EQ(::stat(directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_TRUE(write_records(*store, 1).ok());
  for (const char* name : {"journal.db", "journal.db-wal", "lock"}) {
    ASSERT_EQ(::stat(file(name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(SqliteStoreTest, OpensNothingWithoutCreate) {
  const auto absent = SqliteStore::open({directory(), "cluster-1", false});
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(directory()));
  std::filesystem::create_directory(directory());
  EXPECT_EQ(SqliteStore::open({directory(), "cluster-1", false}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(directory()));
  open().reset();
  EXPECT_TRUE(SqliteStore::open({directory(), "cluster-1", false}).ok());
  EXPECT_EQ(SqliteStore::open({"", "cluster-1", true}).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(SqliteStore::open({file("lock"), "cluster-1", true}).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(SqliteStore::open({directory() + "/a/b", "cluster-1", true}).error().code, ErrorCode::not_found);
}

TEST_F(SqliteStoreTest, RefusesASecondProcess) {
  const std::unique_ptr<SqliteStore> store = open();
  expect_refused(ErrorCode::conflict,
                 "another weft serve (pid " + std::to_string(::getpid()) + ") is using " + directory());
  ASSERT_TRUE(write_records(*store, 1).ok());
}

TEST_F(SqliteStoreTest, RefusesADatabaseThatAnotherProgramHolds) {
  fill();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file("journal.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "SELECT * FROM meta", nullptr, nullptr, nullptr), SQLITE_OK);
  expect_refused(ErrorCode::conflict, "journal.db");
  sqlite3_close(other);
  EXPECT_NE(open(), nullptr);
}

TEST_F(SqliteStoreTest, RefusesAnotherCluster) {
  fill();
  const auto other = SqliteStore::open({directory(), "cluster-2", true});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::refused);
  EXPECT_TRUE(contains(other.error().text(), "belongs to another cluster")) << other.error().text();
  EXPECT_TRUE(contains(other.error().text(), "`cluster-1`"));
}

TEST_F(SqliteStoreTest, RefusesANewerFormat) {
  fill();
  execute("UPDATE meta SET format = 2");
  expect_refused(ErrorCode::refused, "journal.db: was written by a newer version (format 2");
  execute("UPDATE meta SET format = 1");
  const std::string marker = read_files(directory())["format"];
  write_bytes(file("format"), replace_all(marker, "format 1", "format 10"));
  expect_refused(ErrorCode::refused, "format: was written by a newer version (format 10");
  write_bytes(file("format"), marker);
  expect_all_records(*open());
}

TEST_F(SqliteStoreTest, RefusesAReadOnlyDirectory) {
  constexpr uid_t kOrdinaryUser = 65534;  // root may write everywhere
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(parent().c_str(), kOrdinaryUser, kOrdinaryUser), 0);
    ASSERT_EQ(::seteuid(kOrdinaryUser), 0);
  }
  fill();
  EXPECT_EQ(::chmod(file("journal.db").c_str(), 0400), 0);
  expect_refused(ErrorCode::refused, "journal.db");
  EXPECT_EQ(::chmod(file("journal.db").c_str(), 0600), 0);
  EXPECT_EQ(::unlink(file("lock").c_str()), 0);
  EXPECT_EQ(::chmod(directory().c_str(), 0500), 0);
  expect_refused(ErrorCode::refused, "Permission denied");
  EXPECT_EQ(::chmod(directory().c_str(), 0700), 0);
  EXPECT_EQ(root ? ::seteuid(0) : 0, 0);
}

TEST_F(SqliteStoreTest, ADeletedDatabaseIsNotAFreshStart) {
  fill();
  ASSERT_EQ(::unlink(file("journal.db").c_str()), 0);
  expect_refused(ErrorCode::internal, "journal.db: is missing");
  EXPECT_FALSE(std::filesystem::exists(file("journal.db")));
}

TEST_F(SqliteStoreTest, ADeletedMarkerIsAnErrorUnlessThereAreNoRecords) {
  open().reset();
  ASSERT_EQ(::unlink(file("format").c_str()), 0);  // as a crash leaves it while the store is created
  open().reset();
  fill();
  ASSERT_EQ(::unlink(file("format").c_str()), 0);
  expect_refused(ErrorCode::internal, "format: is missing");
}

TEST_F(SqliteStoreTest, ADeletedLogIsAnError) {
  const std::unique_ptr<SqliteStore> store = open();
  ASSERT_TRUE(write_records(*store, 5).ok());
  Files files = read_files(directory());
  ASSERT_GT(files.at("journal.db-wal").size(), 0U);
  files.erase("journal.db-wal");
  const std::string copy = directory() + "-copy";
  write_files(copy, files);
  const auto opened = open_store(copy);
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(contains(opened.error().text(), "records 1 to 5 are missing")) << opened.error().text();
}

TEST_F(SqliteStoreTest, RefusesAnOlderCopyOfTheDatabase) {
  fill();
  const std::string old = read_files(directory())["journal.db"];
  ASSERT_TRUE(write_records(*open(), 3).ok());
  write_bytes(file("journal.db"), old);
  expect_refused(ErrorCode::internal, "records 13 to 15 are missing");
}

TEST_F(SqliteStoreTest, RefusesWhatIsNotADatabase) {
  fill();
  const std::string intact = read_files(directory())["journal.db"];
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {"x", "is truncated"},
      {std::string(20'000, 'x'), "is damaged or not a database"},
      {intact.substr(0, 4096), "journal.db"},
      {intact.substr(0, intact.size() - 4096), "journal.db"},
  };
  for (const auto& [bytes, part] : cases) {
    write_bytes(file("journal.db"), bytes);
    expect_refused(ErrorCode::internal, part);
    EXPECT_TRUE(read_files(directory())["journal.db"] == bytes);
  }
  write_bytes(file("journal.db"), intact);
  expect_all_records(*open());
}

TEST_F(SqliteStoreTest, NamesTheDamagedRecord) {
  fill();
  execute("UPDATE records SET bytes = CAST(bytes || 'x' AS BLOB) WHERE sequence = 9");
  const std::unique_ptr<SqliteStore> store = open();
  EXPECT_TRUE(contains(read_records(*store, 5).error().text(), "journal.db: record 9 is damaged"));
  EXPECT_EQ(read_records(*store, 10)->size(), 3U);
}

TEST_F(SqliteStoreTest, FindsMissingRecords) {
  fill();
  execute("DELETE FROM records WHERE sequence = 9");
  expect_refused(ErrorCode::internal, "has 7 records between 5 and 12");
  execute("DELETE FROM records WHERE sequence > 8");
  expect_refused(ErrorCode::internal, "records 9 to 12 are missing");
  execute("DELETE FROM records WHERE sequence > 6");
  expect_refused(ErrorCode::internal, "records 7 to 8 are missing: there is a snapshot after record 8");
}

TEST_F(SqliteStoreTest, ARecordIsNotASnapshot) {
  fill();
  execute("DELETE FROM snapshots; INSERT INTO snapshots SELECT * FROM records WHERE sequence > 10");
  expect_refused(ErrorCode::internal, "no intact snapshot");
}

TEST_F(SqliteStoreTest, UsesTheOlderSnapshotIfTheNewestIsDamaged) {
  fill();
  execute("UPDATE snapshots SET bytes = x'00' WHERE sequence = 8");
  {
    const std::unique_ptr<SqliteStore> store = open();
    EXPECT_EQ(store->load_snapshot().value()->bytes, "four");
    EXPECT_FALSE(store->compact(5).ok());
    ASSERT_TRUE(store->save_snapshot({12, "twelve"}).ok());  // replaces the damaged one, not the intact one
    EXPECT_FALSE(store->compact(5).ok());
  }
  EXPECT_EQ(open()->load_snapshot().value()->bytes, "twelve");
  execute("UPDATE snapshots SET bytes = x'00' WHERE sequence = 12");
  EXPECT_EQ(open()->load_snapshot().value()->bytes, "four");
  execute("UPDATE snapshots SET bytes = x'00'");
  expect_refused(ErrorCode::internal, "no intact snapshot");
  execute("DELETE FROM snapshots");
  expect_refused(ErrorCode::internal, "records 1 to 4 are removed by compaction and no intact snapshot");
}

TEST_F(SqliteStoreTest, AFullDiskKeepsRecordsBuffered) {
  FaultVfs faults;
  std::unique_ptr<SqliteStore> store = open(faults.name());
  ASSERT_TRUE(write_records(*store, 3).ok());
  faults.set_full(true);
  EXPECT_EQ(write_records(*store, 200).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store->sync().error().code, ErrorCode::unavailable);
  EXPECT_EQ(store->save_snapshot({2, "two"}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store->durable(), 3U);
  EXPECT_EQ(store->last(), 203U);
  EXPECT_EQ(read_records(*store, 1)->size(), 3U);
  EXPECT_FALSE(store->load_snapshot()->has_value());
  faults.set_full(false);
  ASSERT_TRUE(store->sync().ok());
  EXPECT_EQ(store->durable(), 203U);
  expect_all_records(*store);
  store.reset();
  expect_all_records(*open());
}

TEST_F(SqliteStoreTest, AFullDiskAtAnyWriteLosesNothing) {
  for (std::uint64_t writes = 1; writes < 60; ++writes) {
    std::filesystem::remove_all(directory());
    FaultVfs faults;
    std::unique_ptr<SqliteStore> store = open(faults.name());
    ASSERT_TRUE(write_records(*store, 20).ok());
    ASSERT_TRUE(store->save_snapshot({10, std::string(20'000, 'a')}).ok());
    faults.fail_after_writes(writes);
    const bool written = write_records(*store, 20).ok();
    const bool saved = store->save_snapshot({20, std::string(20'000, 'b')}).ok();
    const bool removed = saved && store->compact(10).ok();
    faults.fail_after_writes(UINT64_MAX);
    EXPECT_EQ(store->durable(), written ? 40U : 20U);
    EXPECT_EQ(store->load_snapshot().value()->sequence, saved ? 20U : 10U);
    EXPECT_EQ(store->first(), removed ? 11U : 1U);
    ASSERT_TRUE(store->sync().ok());
    EXPECT_EQ(store->durable(), 40U);
    expect_all_records(*store);
    store.reset();
    store = open();
    EXPECT_EQ(store->durable(), 40U);
    expect_all_records(*store);
  }
}

TEST_F(SqliteStoreTest, AFailedFsyncIsFinal) {
  FaultVfs faults;
  std::unique_ptr<SqliteStore> store = open(faults.name());
  ASSERT_TRUE(write_records(*store, 3).ok());
  faults.set_sync_fails(true);
  EXPECT_EQ(write_records(*store, 2).error().code, ErrorCode::internal);
  faults.set_sync_fails(false);  // a second attempt would succeed, and prove nothing
  EXPECT_EQ(store->sync().error().code, ErrorCode::internal);
  EXPECT_EQ(store->save_snapshot({2, "two"}).error().code, ErrorCode::internal);
  EXPECT_EQ(store->durable(), 3U);
  store.reset();
  store = open();
  EXPECT_TRUE(store->durable() == 3 || store->durable() == 5) << store->durable();
  expect_all_records(*store);
}

TEST_F(SqliteStoreTest, FilesDoNotGrowWithoutBound) {
  const std::unique_ptr<SqliteStore> store = open();
  std::uint64_t early = 0;
  Sequence previous = 0;
  for (int round = 0; round < 40; ++round) {
    for (int batch = 0; batch < 5; ++batch) {
      store->append(std::vector<std::string>(100, std::string(400, 'r')));
      ASSERT_TRUE(store->sync().ok());
    }
    ASSERT_TRUE(store->save_snapshot({store->durable(), std::string(300'000, 's')}).ok());
    ASSERT_TRUE(store->compact(previous).ok());
    previous = store->durable();
    const std::uint64_t log = *file_size(log_path(directory())).value();
    EXPECT_EQ(log, 0U);
    if (round == 9) early = *file_size(database_path(directory())).value();
  }
  EXPECT_LT(*file_size(database_path(directory())).value(), early + early / 4);
}

TEST_F(SqliteStoreTest, CompactsManyRecordsInSeveralTransactions) {
  const std::unique_ptr<SqliteStore> store = open();
  store->append(std::vector<std::string>(50'000, "record"));
  ASSERT_TRUE(store->sync().ok());
  ASSERT_TRUE(store->save_snapshot({49'999, "older"}).ok());
  ASSERT_TRUE(store->save_snapshot({50'000, "newer"}).ok());
  ASSERT_TRUE(store->compact(49'999).ok());
  EXPECT_EQ(store->first(), 50'000U);
  EXPECT_EQ(read_records(*store, 50'000)->size(), 1U);
}

}  // namespace
}  // namespace weft::store
