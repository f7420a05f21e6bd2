// SqliteStore: a Store in a directory, kept by SQLite with a write-ahead log and an fsync per sync(). The directory
// holds journal.db (records and snapshots), format (see marker.h) and lock. One process opens it at a time, and within
// it one thread uses it. Damage is found when it is opened or read, and a failed open() changes neither records nor
// snapshots.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "store/integrity.h"
#include "store/marker.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace weft::store {

struct SqliteOptions {
  std::string directory;
  // Identifies the cluster whose state this is: a store of another cluster is refused.
  std::string fingerprint;
  // Creates the directory (mode 0700; its parent must exist) and the store if there is none.
  bool create = false;
  std::string vfs{};  // name of a registered sqlite3_vfs, for tests that inject faults
};

class SqliteStore final : public Store {
 public:
  // Error codes: not_found (no store there and `create` not set), conflict (another process uses it), refused (other
  // cluster, newer format, no permission), internal (damaged), invalid_input, unavailable (no space to create it).
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const SqliteOptions& options);
  ~SqliteStore() override;  // records that were not synced are lost

  Sequence append(std::span<const std::string> records) override;
  Status sync() override;
  [[nodiscard]] Sequence last() const override { return extent_.durable + pending_.size(); }
  [[nodiscard]] Sequence durable() const override { return extent_.durable; }
  [[nodiscard]] Sequence first() const override { return extent_.first; }
  // `each` must not call other methods than append(), last(), durable() and first().
  Status read(Sequence from, const std::function<Status(const Entry&)>& each) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  // The oldest intact snapshot from which on every record is there: for those who want the history, not the state.
  Result<std::optional<Snapshot>> load_oldest_snapshot();
  Status save_snapshot(const Snapshot& snapshot) override;
  // Removes the records in several transactions; after an error, first() tells how far it got. Takes some microseconds
  // per record: to bound the time of a call, remove a part, up to first() + n, at a time.
  Status compact(Sequence up_to) override;

 private:
  SqliteStore(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  [[nodiscard]] Status start(const SqliteOptions& options);
  [[nodiscard]] Status check_database();
  [[nodiscard]] Status check_meta(const std::string& fingerprint);
  [[nodiscard]] Status prepare_statements();
  [[nodiscard]] Status find_extent();
  [[nodiscard]] Status open_marker(const std::string& directory);
  [[nodiscard]] Status scan_snapshots(std::optional<Snapshot>* newest);
  [[nodiscard]] Status write(const std::function<Status()>& work);
  [[nodiscard]] Status checkpoint(int mode);
  Status fail(Error error);

  std::string path_;  // of the database, for messages
  FileDescriptor lock_;
  Marker marker_;
  Database database_;
  Statement begin_;
  Statement commit_;
  Statement insert_;
  Statement select_;
  Statement remove_;
  std::vector<std::string> pending_;  // extent_.durable + 1, ...
  Extent extent_;
  std::vector<SnapshotState> snapshots_;  // ascending
  int log_pages_ = 0;                     // in the write-ahead log, after the last commit
  bool failed_ = false;                   // an earlier write failed: what is on disk is not known
};

}  // namespace weft::store
