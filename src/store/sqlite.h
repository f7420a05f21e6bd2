// A thin layer over the C interface of SQLite: a connection and prepared statements that release themselves, and result
// codes as errors. It knows no table; sqlite_store.h does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/lazy_sqlite.h"

namespace weft::store {

// A full disk (or quota) is ErrorCode::unavailable: the transaction was rolled back and can be retried. A database that
// another process has open is `conflict`, one that may not be written `refused`; everything else is `internal`. `what`
// is a verb: "cannot write: ...".
[[nodiscard]] Error sqlite_error(sqlite3* database, int code, std::string_view what);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters are numbered from 1. Bytes are not copied: they must remain until the statement is reset.
  void bind(int parameter, std::uint64_t value);
  void bind_bytes(int parameter, std::string_view bytes);
  void bind_text(int parameter, std::string_view text);
  // Whether there is a row.
  [[nodiscard]] Result<bool> step(std::string_view what);
  // Runs a statement without rows, and resets it.
  [[nodiscard]] Status run(std::string_view what);
  void reset();

  // Columns are numbered from 0. Bytes are valid until the next step.
  [[nodiscard]] std::uint64_t read_number(int column) const;
  [[nodiscard]] std::string_view read_bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  Database() = default;
  // The file must exist. `vfs` is the name of a registered sqlite3_vfs, empty for the default.
  [[nodiscard]] static Result<Database> open(const std::string& path, const std::string& vfs);

  [[nodiscard]] sqlite3* get() const { return database_.get(); }
  // One or more statements whose rows are ignored.
  [[nodiscard]] Status execute(const char* sql, std::string_view what);
  [[nodiscard]] Result<Statement> prepare(const char* sql);
  // Whether closing moves the write-ahead log into the database and deletes it.
  void set_checkpoint_on_close(bool enabled);

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace weft::store
