#include "store/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "store/store_directory.h"

namespace weft::store {
namespace {

// SQLite's own default: the log is moved into the database when it has this many pages (4 MiB).
constexpr int kCheckpointPages = 1000;
// Records that compact() removes per transaction, which bounds the size of the log.
constexpr Sequence kCompactRecords = 20'000;
constexpr std::size_t kShownFingerprint = 100;

// Exclusive: the index of the log is in memory instead of a shared file. No mmap: a read error is an error code, not
// SIGBUS. cell_size_check finds damaged pages when they are read. secure_delete, on by default in Debian, would write
// zeros over every record that compact() removes.
constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL; PRAGMA mmap_size=0; PRAGMA cell_size_check=ON;"
    "PRAGMA secure_delete=OFF; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;";
// In a new database only, where it is recorded: in a damaged one it could write.
constexpr const char* kUseLog = "PRAGMA journal_mode=WAL";
// SQLite takes a shorter file for an empty database.
constexpr std::uint64_t kMinDatabaseBytes = 512;

constexpr const char* kTables =
    "CREATE TABLE meta(format INTEGER NOT NULL, fingerprint TEXT NOT NULL);"
    "CREATE TABLE records(sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE snapshots(sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, bytes BLOB NOT NULL);";

// Closed when it returns: its log has been moved into it and deleted.
Status fill_new_database(const std::string& path, const SqliteOptions& options) {
  Result<Database> database = Database::open(path, options.vfs);
  if (!database.ok()) return database.error();
  for (const char* sql : {kSettings, kUseLog, "BEGIN IMMEDIATE", kTables}) {
    if (Status done = database->execute(sql, "create"); !done.ok()) return done;
  }
  Result<Statement> insert = database->prepare("INSERT INTO meta(format, fingerprint) VALUES(?, ?)");
  if (!insert.ok()) return insert.error();
  insert->bind(1, kFormat);
  insert->bind_text(2, options.fingerprint);
  if (Status inserted = insert->run("create"); !inserted.ok()) return inserted;
  return database->execute("COMMIT", "create");
}

// Under another name until it is complete: a crash leaves no store, or one without records.
Status create_database(const SqliteOptions& options) {
  const std::string path = database_path(options.directory);
  const std::string aside = path + ".new";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) (void)::unlink((aside + suffix).c_str());
  // SQLite would create it readable by everyone; its log gets the same mode.
  const FileDescriptor file = open_descriptor(aside, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file.ok()) return file_error(errno, "create", aside);
  if (Status filled = fill_new_database(aside, options); !filled.ok()) return filled;
  if (::fsync(file.get()) != 0) return file_error(errno, "sync", aside);
  if (::rename(aside.c_str(), path.c_str()) != 0) return file_error(errno, "create", path);
  return sync_directory(options.directory);
}

// What the directory holds, before anything in it is changed.
struct Found {
  bool marker = false;
  bool database = false;
  bool log = false;
};

Result<Found> look_into(const std::string& directory) {
  const Result<std::optional<std::uint64_t>> marker = file_size(Marker::path_in(directory));
  if (!marker.ok()) return marker.error();
  const Result<std::optional<std::uint64_t>> database = file_size(database_path(directory));
  if (!database.ok()) return database.error();
  const Result<std::optional<std::uint64_t>> log = file_size(log_path(directory));
  if (!log.ok()) return log.error();
  if (database->value_or(kMinDatabaseBytes) < kMinDatabaseBytes)
    return Error{ErrorCode::internal,
                 fmt::format("is {}; restore the store from a backup", database.value() == 0U ? "empty" : "truncated"),
                 database_path(directory)};
  return Found{marker->has_value(), database->has_value(), log->value_or(0) > 0};
}

Status create_if_absent(const SqliteOptions& options) {
  const Result<Found> found = look_into(options.directory);
  if (!found.ok()) return found.error();
  if (found->database) return {};
  if (found->marker || found->log)
    return Error{ErrorCode::internal,
                 fmt::format("is missing, but {} says that there was a store; restore the store from a backup, or "
                             "remove the directory to begin without its records",
                             found->marker ? Marker::path_in(options.directory) : log_path(options.directory)),
                 database_path(options.directory)};
  return create_database(options);
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteOptions& options) {
  if (options.directory.empty() || options.directory.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "is not a directory name", "store"};
  if (options.create) {
    if (Status made = make_directory(options.directory); !made.ok()) return made.error();
  } else {
    const Result<Found> found = look_into(options.directory);
    if (!found.ok()) return found.error();
    if (!found->marker && !found->database && !found->log)
      return Error{ErrorCode::not_found, "there is no store in this directory", options.directory};
  }
  Result<FileDescriptor> lock = lock_directory(options.directory);
  if (!lock.ok()) return lock.error();
  if (Status created = create_if_absent(options); !created.ok()) return created.error();
  std::unique_ptr<SqliteStore> store(new SqliteStore(database_path(options.directory), std::move(lock).value()));
  if (Status started = store->start(options); !started.ok()) return started.error();
  return store;
}

Status SqliteStore::start(const SqliteOptions& options) {
  // First: a newer version may have changed everything else.
  const Result<std::optional<std::uint64_t>> marker = file_size(Marker::path_in(options.directory));
  if (!marker.ok()) return marker.error();
  if (marker->has_value()) {
    if (Status opened = open_marker(options.directory); !opened.ok()) return opened;
  }
  Result<Database> database = Database::open(path_, options.vfs);
  if (!database.ok()) return database.error();
  database_ = std::move(database).value();
  // Until all checks have passed: what SQLite cannot read in the log, it would delete with it.
  database_.set_checkpoint_on_close(false);
  if (sqlite3_db_readonly(database_.get(), "main") != 0) return Error{ErrorCode::refused, "may not be written", path_};
  if (Status set = database_.execute(kSettings, "open"); !set.ok()) return set;
  if (Status checked = check_database(); !checked.ok()) return checked;
  if (Status checked = check_meta(options.fingerprint); !checked.ok()) return checked;
  if (Status prepared = prepare_statements(); !prepared.ok()) return prepared;
  if (Status found = find_extent(); !found.ok()) return found;
  if (Status scanned = scan_snapshots(nullptr); !scanned.ok()) return scanned;
  if (!marker->has_value()) {
    // A crash while the store was created. With records, the file was deleted, and some of them may be missing.
    if (extent_.durable > 0 || !snapshots_.empty())
      return Error{ErrorCode::internal, "is missing, but the store has records; restore the store from a backup",
                   Marker::path_in(options.directory)};
    if (Status created = Marker::create(options.directory); !created.ok()) return created;
    if (Status opened = open_marker(options.directory); !opened.ok()) return opened;
  }
  if (marker_.acknowledged() > extent_.durable)
    return Error{ErrorCode::internal,
                 fmt::format("records {} to {} are missing, which had been written: {} was damaged or removed, or the "
                             "database is an older copy; restore the store from a backup",
                             extent_.durable + 1, marker_.acknowledged(), log_path(options.directory)),
                 path_};
  const auto count_pages = [](void* pages, sqlite3*, const char*, int count) {
    *static_cast<int*>(pages) = count;
    return SQLITE_OK;
  };
  // Replaces SQLite's automatic checkpoint, which ignores errors.
  (void)sqlite3_wal_hook(database_.get(), count_pages, &log_pages_);
  database_.set_checkpoint_on_close(true);
  return {};
}

Status SqliteStore::open_marker(const std::string& directory) {
  Result<Marker> marker = Marker::open(directory);
  if (!marker.ok()) return marker.error();
  marker_ = std::move(marker).value();
  return {};
}

Status SqliteStore::check_database() {
  for (const auto& [sql, expected] :
       {std::pair("PRAGMA journal_mode", "wal"), std::pair("PRAGMA quick_check(1)", "ok")}) {
    Result<Statement> check = database_.prepare(sql);
    if (!check.ok()) return check.error();
    const Result<bool> row = check->step("check");
    if (!row.ok()) return row.error();
    const std::string_view result = *row ? check->read_bytes(0) : "no result";
    if (result == expected) continue;
    return Error{ErrorCode::internal,
                 fmt::format("is damaged ({}: {}); restore the store from a backup", sql, printable(result, 300)),
                 path_};
  }
  return {};
}

Status SqliteStore::check_meta(const std::string& fingerprint) {
  Result<Statement> select = database_.prepare("SELECT format, fingerprint FROM meta");
  if (!select.ok())
    return Error{ErrorCode::internal, "is not a journal of weft, or is damaged: it has no table `meta`", path_};
  const Result<bool> row = select->step("read");
  if (!row.ok()) return row.error();
  if (!*row) return Error{ErrorCode::internal, "is damaged: the table `meta` is empty", path_};
  const auto format = static_cast<std::int64_t>(select->read_number(0));
  if (format > kFormat)
    return Error{ErrorCode::refused,
                 fmt::format("was written by a newer version (format {}, this version reads up to {}); upgrade weft",
                             format, kFormat),
                 path_};
  if (format < 1) return Error{ErrorCode::internal, fmt::format("is damaged: its format is {}", format), path_};
  const std::string_view stored = select->read_bytes(1);
  if (stored == fingerprint) return {};
  return Error{ErrorCode::refused,
               fmt::format("belongs to another cluster (its fingerprint is `{}`, this cluster's is `{}`); use the "
                           "directory of this cluster, or an empty one",
                           printable(stored, kShownFingerprint), printable(fingerprint, kShownFingerprint)),
               path_};
}

Status SqliteStore::prepare_statements() {
  const std::array<std::pair<Statement*, const char*>, 5> statements = {{
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&insert_, "INSERT INTO records(sequence, crc, bytes) VALUES(?, ?, ?)"},
      {&select_, "SELECT sequence, crc, bytes FROM records WHERE sequence >= ? ORDER BY sequence"},
      {&remove_, "DELETE FROM records WHERE sequence <= ?"},
  }};
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database_.prepare(sql);
    if (!prepared.ok()) return prepared.error();
    *statement = std::move(prepared).value();
  }
  return {};
}

Status SqliteStore::find_extent() {
  Result<Statement> select = database_.prepare("SELECT count(*), min(sequence), max(sequence) FROM records");
  if (!select.ok()) return select.error();
  const Result<bool> row = select->step("read");
  if (!row.ok()) return row.error();
  const std::uint64_t count = select->read_number(0);
  if (count == 0) return {};
  extent_ = {select->read_number(1), select->read_number(2)};
  if (extent_.first >= 1 && extent_.durable - extent_.first + 1 == count) return {};
  return Error{ErrorCode::internal,
               fmt::format("has {} records between {} and {}: some are missing; restore the store from a backup", count,
                           extent_.first, extent_.durable),
               path_};
}

// Fills snapshots_, and `newest` with the newest that is intact.
Status SqliteStore::scan_snapshots(std::optional<Snapshot>* newest) {
  Result<Statement> select = database_.prepare("SELECT sequence, crc, bytes FROM snapshots ORDER BY sequence DESC");
  if (!select.ok()) return select.error();
  std::vector<SnapshotState> states;
  bool found = false;
  for (;;) {
    const Result<bool> row = select->step("read");
    if (!row.ok()) return row.error();
    if (!*row) break;
    const Sequence sequence = select->read_number(0);
    const std::string_view bytes = select->read_bytes(2);
    const bool intact = compute_checksum(Kind::snapshot, sequence, bytes) == select->read_number(1);
    states.push_back({sequence, intact});
    if (intact && !found && newest != nullptr) *newest = Snapshot{sequence, std::string(bytes)};
    found = found || intact;
  }
  std::reverse(states.begin(), states.end());
  snapshots_ = std::move(states);
  return check_snapshots(snapshots_, extent_, path_);
}

SqliteStore::~SqliteStore() {
  if (database_.get() == nullptr) return;
  if (failed_) database_.set_checkpoint_on_close(false);  // the log is evidence
  (void)marker_.sync();
}

Sequence SqliteStore::append(std::span<const std::string> records) {
  for (const std::string& bytes : records) CHECK(bytes.size() <= kMaxBytes, "a record is too large");
  pending_.insert(pending_.end(), records.begin(), records.end());
  return last();
}

Status SqliteStore::fail(Error error) {
  if (error.code != ErrorCode::unavailable) failed_ = true;
  return error;
}

// One transaction. ErrorCode::unavailable: nothing was changed, and it can be tried again.
Status SqliteStore::write(const std::function<Status()>& work) {
  if (failed_)
    return Error{ErrorCode::internal, "an earlier write failed and the state on disk is not known; restart", path_};
  Status status = begin_.run("write");
  if (status.ok()) status = work();
  if (status.ok()) status = commit_.run("write");
  if (status.ok()) return {};
  // Some errors have rolled back already.
  if (sqlite3_get_autocommit(database_.get()) == 0) {
    if (Status undone = database_.execute("ROLLBACK", "roll back"); !undone.ok()) {
      failed_ = true;
      return Error{ErrorCode::internal, undone.error().message, path_};
    }
  }
  return fail(status.error());
}

// Moves the log into the database. A full disk is no failure: what the log holds is durable, and is moved later.
Status SqliteStore::checkpoint(int mode) {
  const int code = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, mode, nullptr, nullptr);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(database_.get(), code, "move the write-ahead log into the database");
    return error.code == ErrorCode::unavailable ? Status() : fail(std::move(error));
  }
  log_pages_ = 0;
  Status synced = marker_.sync();
  return synced.ok() ? synced : fail(synced.error());
}

Status SqliteStore::sync() {
  if (pending_.empty() && !failed_) return {};
  Status written = write([this]() -> Status {
    Sequence sequence = extent_.durable;
    for (const std::string& bytes : pending_) {
      ++sequence;
      insert_.bind(1, sequence);
      insert_.bind(2, compute_checksum(Kind::record, sequence, bytes));
      insert_.bind_bytes(3, bytes);
      if (Status inserted = insert_.run("write"); !inserted.ok()) return inserted;
    }
    return {};
  });
  if (!written.ok()) return written;
  extent_.durable += pending_.size();
  pending_.clear();
  if (Status marked = marker_.write(extent_.durable); !marked.ok()) return fail(marked.error());
  return log_pages_ < kCheckpointPages ? Status() : checkpoint(SQLITE_CHECKPOINT_PASSIVE);
}

Status SqliteStore::read(Sequence from, const std::function<Status(const Entry&)>& each) {
  from = std::max<Sequence>(from, 1);
  if (Status readable = check_read(from, extent_, path_); !readable.ok()) return readable;
  const auto read_all = [&]() -> Status {
    RecordCheck check(from, path_);
    for (;;) {
      const Result<bool> row = select_.step("read");
      if (!row.ok()) return row.error();
      if (!*row) return check.finish(extent_.durable);
      const Entry entry{select_.read_number(0), select_.read_bytes(2)};
      if (Status checked = check.check(entry.sequence, select_.read_number(1), entry.bytes); !checked.ok())
        return checked;
      if (Status accepted = each(entry); !accepted.ok()) return accepted;
    }
  };
  select_.bind(1, from);
  Status status = read_all();
  select_.reset();
  return status;
}

Result<std::optional<Snapshot>> SqliteStore::load_snapshot() {
  std::optional<Snapshot> newest;
  if (Status scanned = scan_snapshots(&newest); !scanned.ok()) return scanned.error();
  return newest;
}

Result<std::optional<Snapshot>> SqliteStore::load_oldest_snapshot() {
  Result<Statement> select =
      database_.prepare("SELECT sequence, crc, bytes FROM snapshots WHERE sequence + 1 >= ? ORDER BY sequence");
  if (!select.ok()) return select.error();
  select->bind(1, extent_.first);
  for (;;) {
    const Result<bool> row = select->step("read");
    if (!row.ok()) return row.error();
    if (!*row) return std::optional<Snapshot>();
    const Sequence sequence = select->read_number(0);
    const std::string_view bytes = select->read_bytes(2);
    if (compute_checksum(Kind::snapshot, sequence, bytes) == select->read_number(1))
      return std::optional(Snapshot{sequence, std::string(bytes)});
  }
}

Status SqliteStore::save_snapshot(const Snapshot& snapshot) {
  if (Status allowed = check_save(snapshot, snapshots_, extent_, path_); !allowed.ok()) return allowed;
  const std::vector<Sequence> keep = keep_snapshots(snapshots_, snapshot.sequence);
  Status written = write([&]() -> Status {
    Result<Statement> insert =
        database_.prepare("INSERT OR REPLACE INTO snapshots(sequence, crc, bytes) VALUES(?, ?, ?)");
    if (!insert.ok()) return insert.error();
    insert->bind(1, snapshot.sequence);
    insert->bind(2, compute_checksum(Kind::snapshot, snapshot.sequence, snapshot.bytes));
    insert->bind_bytes(3, snapshot.bytes);
    if (Status inserted = insert->run("write"); !inserted.ok()) return inserted;
    Result<Statement> remove = database_.prepare("DELETE FROM snapshots WHERE sequence NOT IN (?, ?)");
    if (!remove.ok()) return remove.error();
    remove->bind(1, keep.front());
    remove->bind(2, keep.back());
    return remove->run("write");
  });
  if (!written.ok()) return written;
  snapshots_.clear();
  for (const Sequence sequence : keep) snapshots_.push_back({sequence, true});
  // Its bytes are in the log, which would keep that size.
  return checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
}

Status SqliteStore::compact(Sequence up_to) {
  if (Status allowed = check_compact(up_to, snapshots_, path_); !allowed.ok()) return allowed;
  if (up_to < extent_.first) return {};
  while (extent_.first <= up_to) {
    const Sequence end = std::min(up_to, extent_.first + kCompactRecords - 1);
    Status removed = write([&] {
      remove_.bind(1, end);
      return remove_.run("write");
    });
    if (!removed.ok()) return removed;
    extent_.first = end + 1;
    if (log_pages_ < kCheckpointPages) continue;
    if (Status moved = checkpoint(SQLITE_CHECKPOINT_PASSIVE); !moved.ok()) return moved;
  }
  return checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
}

}  // namespace weft::store
