// Helpers of the store's tests: a temporary directory, records whose bytes follow from their sequence, and all records
// of a store. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "store/sqlite_store.h"

namespace weft::store {

// In memory where possible: what these tests check does not depend on the file system, and fsync takes milliseconds.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir()) + "weft-store-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Sizes from 0 to a few pages of the database.
inline std::string make_record(Sequence sequence) {
  RandomStream random(sequence, "record");
  const std::size_t size = random.chance(0.05) ? random.below(9'000) : random.below(200);
  std::string bytes = std::to_string(random.next()) + '\0';
  while (bytes.size() < size) bytes += bytes;
  bytes.resize(size);
  return bytes;
}

// The records that follow the last.
inline std::vector<std::string> make_records(const Store& store, std::size_t count) {
  std::vector<std::string> records;
  for (std::size_t i = 1; i <= count; ++i) records.push_back(make_record(store.last() + i));
  return records;
}

// Appends and syncs.
inline Status write_records(Store& store, std::size_t count) {
  store.append(make_records(store, count));
  return store.sync();
}

inline Result<std::vector<std::string>> read_records(Store& store, Sequence from) {
  std::vector<std::string> records;
  Status status = store.read(from, [&](const Entry& entry) {
    EXPECT_EQ(entry.sequence, from + records.size());
    records.emplace_back(entry.bytes);
    return Status();
  });
  if (!status.ok()) return status.error();
  return records;
}

// Every record from first() on is there, with its bytes.
inline void expect_all_records(Store& store) {
  const Result<std::vector<std::string>> records = read_records(store, store.first());
  ASSERT_TRUE(records.ok()) << records.error().text();
  ASSERT_EQ(records->size(), store.durable() + 1 - store.first());
  for (std::size_t i = 0; i < records->size(); ++i)
    ASSERT_EQ(records.value()[i], make_record(store.first() + i)) << "record " << store.first() + i;
}

inline Result<std::unique_ptr<SqliteStore>> open_store(const std::string& directory, const std::string& vfs = {}) {
  return SqliteStore::open({directory, "cluster-1", true, vfs});
}

using Files = std::map<std::string, std::string>;  // bytes by name

inline Files read_files(const std::string& directory) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files[entry.path().filename()] = read_file(entry.path()).value();
  return files;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline void write_files(const std::string& directory, const Files& files) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  for (const auto& [name, bytes] : files) write_bytes(std::filesystem::path(directory) / name, bytes);
}

}  // namespace weft::store
