// A copy of the directory of a SqliteStore, for programs that only read: it also works while `weft serve` holds the
// store open, and on a folder that may not be written. The files are copied to a private temporary folder, which is
// removed with the object. The original is never locked, written or created.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/sqlite_store.h"

namespace weft::store {

class StoreCopy {
 public:
  // `fingerprint`: as in SqliteOptions. Error codes: as for SqliteStore::open(), and unavailable if the server replaced
  // the write-ahead log again and again while it was copied.
  [[nodiscard]] static Result<StoreCopy> open(const std::string& directory, const std::string& fingerprint);
  StoreCopy(StoreCopy&& other) noexcept;
  StoreCopy& operator=(StoreCopy&&) = delete;
  StoreCopy(const StoreCopy&) = delete;
  StoreCopy& operator=(const StoreCopy&) = delete;
  ~StoreCopy();

  [[nodiscard]] SqliteStore& store() { return *store_; }

 private:
  explicit StoreCopy(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace weft::store
