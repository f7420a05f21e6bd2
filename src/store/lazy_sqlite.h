// The functions of SQLite that weft calls, loaded at the first call: see lazy/library.h. Include this instead of
// <sqlite3.h>. Only `weft serve` opens a store. Database::open() returns an error if the library is missing.
#pragma once

#include <sqlite3.h>

#include "lazy/library.h"

namespace weft::store {

inline constinit LazyLibrary libsqlite("libsqlite3.so.0");

WEFT_LAZY_FUNCTION(libsqlite, sqlite3_bind_blob64);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_bind_int64);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_bind_text64);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_clear_bindings);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_close_v2);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_column_blob);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_column_bytes);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_column_int64);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_db_config);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_db_filename);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_db_handle);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_db_readonly);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_errmsg);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_errstr);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_exec);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_extended_result_codes);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_finalize);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_get_autocommit);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_open_v2);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_prepare_v3);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_reset);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_step);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_system_errno);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_wal_checkpoint_v2);
WEFT_LAZY_FUNCTION(libsqlite, sqlite3_wal_hook);

}  // namespace weft::store
