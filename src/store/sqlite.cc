#include "store/sqlite.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/check.h"

namespace weft::store {
namespace {

ErrorCode classify(int code, int system_error) {
  const int primary = code & 0xFF;
  if (primary == SQLITE_FULL) return ErrorCode::unavailable;
  // After a failed fsync the state of the pages is not known, whatever the reason; a failed write can be retried.
  const bool no_space = system_error == ENOSPC || system_error == EDQUOT;
  if (code == SQLITE_IOERR_WRITE && no_space) return ErrorCode::unavailable;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) return ErrorCode::conflict;
  if (primary == SQLITE_READONLY || primary == SQLITE_PERM || primary == SQLITE_CANTOPEN || primary == SQLITE_AUTH)
    return ErrorCode::refused;
  return ErrorCode::internal;
}

}  // namespace

Error sqlite_error(sqlite3* database, int code, std::string_view what) {
  const char* name = database == nullptr ? nullptr : sqlite3_db_filename(database, "main");
  const int system_error = database == nullptr ? 0 : sqlite3_system_errno(database);
  const int primary = code & 0xFF;
  std::string reason = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
    reason = fmt::format("is damaged or not a database ({}); restore the store from a backup", reason);
  } else {
    const bool has_cause =
        (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL) && system_error != 0;
    if (has_cause) reason += ": " + std::generic_category().message(system_error);
    reason = fmt::format("cannot {}: {}", what, reason);
  }
  return {classify(code, system_error), std::move(reason), name == nullptr ? "" : name};
}

void Statement::bind(int parameter, std::uint64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter, static_cast<sqlite3_int64>(value));
  CHECK(code == SQLITE_OK, "a statement has no such parameter, or was not reset");
}

void Statement::bind_bytes(int parameter, std::string_view bytes) {
  // A null pointer would be NULL instead of no bytes.
  const char* data = bytes.empty() ? "" : bytes.data();
  const int code = sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_STATIC);
  CHECK(code == SQLITE_OK, "a statement has no such parameter, or was not reset, or the bytes are too many");
}

void Statement::bind_text(int parameter, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  CHECK(code == SQLITE_OK, "a statement has no such parameter, or was not reset, or the text is too long");
}

Result<bool> Statement::step(std::string_view what) {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(statement_.get()), code, what);
}

Status Statement::run(std::string_view what) {
  const Result<bool> stepped = step(what);
  reset();
  return stepped.ok() ? Status() : Status(stepped.error());
}

void Statement::reset() {
  (void)sqlite3_reset(statement_.get());  // repeats the error of the last step
  (void)sqlite3_clear_bindings(statement_.get());
}

std::uint64_t Statement::read_number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string_view Statement::read_bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

Result<Database> Database::open(const std::string& path, const std::string& vfs) {
  if (const auto problem = libsqlite.load()) return Error{ErrorCode::internal, *problem, path};
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                   vfs.empty() ? nullptr : vfs.c_str());
  Database database;
  database.database_.reset(handle);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(handle, code, "open");
    error.where = path;
    return error;
  }
  (void)sqlite3_extended_result_codes(handle, 1);
  return database;
}

Status Database::execute(const char* sql, std::string_view what) {
  const int code = sqlite3_exec(get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : Status(sqlite_error(get(), code, what));
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_error(get(), code, "read");
  return Statement(statement);
}

void Database::set_checkpoint_on_close(bool enabled) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  (void)sqlite3_db_config(get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, enabled ? 0 : 1, nullptr);
}

}  // namespace weft::store
