// Files that must hold what they were given when the power goes: locks between processes that do not wait for ever, and
// syncs of files and folders. For the journal and the credentials; base/file.h is for files that may simply be written
// again.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/quantity.h"
#include "base/result.h"

namespace weft::oob {

// `flags` and `mode` as of open(2); never inherited by children.
[[nodiscard]] Result<FileDescriptor> open_file(const std::string& path, int flags, unsigned mode = 0);
[[nodiscard]] Result<struct stat> stat_of(const FileDescriptor& file, const std::string& path);
// Whether the path still leads to the open file.
[[nodiscard]] bool is_same_file(const struct stat& open, const std::string& path);

enum class LockKind : std::uint8_t { shared, exclusive };
// flock(2), given back on unlock(), close, or the death of the process. Waits no longer than `limit`, then `conflict`.
[[nodiscard]] Status lock(const FileDescriptor& file, LockKind kind, const std::string& path, Duration limit);
void unlock(const FileDescriptor& file);
inline constexpr Duration kLockLimit =
    milliseconds(30'000);  // a holder that is stopped must not stop everyone for good

// Unlocks when it goes.
class HeldLock {
 public:
  explicit HeldLock(const FileDescriptor& file) : file_(file) {}
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  ~HeldLock() { unlock(file_); }

 private:
  const FileDescriptor& file_;
};

// The bytes [offset, offset + size) or fewer at the file's end.
[[nodiscard]] Result<std::string> read_at(const FileDescriptor& file, std::uint64_t offset, std::size_t size,
                                          const std::string& path);
[[nodiscard]] Status sync_file(const FileDescriptor& file, const std::string& path);
[[nodiscard]] std::string folder_of(const std::string& path);
// A name made or removed in it survives a power cut.
[[nodiscard]] Status sync_folder_of(const std::string& path);
// Makes the folders above `path` that are missing, for their owner alone.
[[nodiscard]] Status make_folders_above(const std::string& path);
// Replaces the file in one step, mode 0600, synced with its folder before it returns. Writes PATH.tmp on the way: the
// caller holds a lock, so that no two do at the same time.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view content);

}  // namespace weft::oob
