// The directory of a SqliteStore: its file names, its creation, and the lock that lets one process use it at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weft::store {

[[nodiscard]] inline std::string database_path(const std::string& directory) { return directory + "/journal.db"; }
[[nodiscard]] inline std::string log_path(const std::string& directory) { return directory + "/journal.db-wal"; }

// None if there is no such file.
[[nodiscard]] Result<std::optional<std::uint64_t>> file_size(const std::string& path);
// With mode 0700, if absent; its parent must exist.
[[nodiscard]] Status make_directory(const std::string& path);
// Created and renamed files then survive a power loss.
[[nodiscard]] Status sync_directory(const std::string& path);
// flock(2) on DIR/lock, held until closed. `conflict`, with the process that holds it, if another one does.
[[nodiscard]] Result<FileDescriptor> lock_directory(const std::string& path);

}  // namespace weft::store
