// Files whose content must survive a power loss: locks between processes with a timeout, and syncs of files and
// folders. For the journal and the credentials; base/file.h is for files that can simply be rewritten.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/quantity.h"
#include "base/result.h"

namespace weft::oob {

// `flags` and `mode` as in open(2); never inherited by child processes.
[[nodiscard]] Result<FileDescriptor> open_file(const std::string& path, int flags, unsigned mode = 0);
[[nodiscard]] Result<struct stat> stat_of(const FileDescriptor& file, const std::string& path);
// Whether the path still refers to the open file.
[[nodiscard]] bool is_same_file(const struct stat& open, const std::string& path);

enum class LockKind : std::uint8_t { shared, exclusive };
// flock(2), released on unlock(), close, or process exit. Waits at most `limit`, then returns `conflict`.
[[nodiscard]] Status lock(const FileDescriptor& file, LockKind kind, const std::string& path, Duration limit);
void unlock(const FileDescriptor& file);
inline constexpr Duration kLockLimit = milliseconds(30'000);  // a suspended holder must not block all others forever

// Unlocks on destruction.
class HeldLock {
 public:
  explicit HeldLock(const FileDescriptor& file) : file_(file) {}
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  ~HeldLock() { unlock(file_); }

 private:
  const FileDescriptor& file_;
};

// The bytes [offset, offset + size), or fewer at the end of the file.
[[nodiscard]] Result<std::string> read_at(const FileDescriptor& file, std::uint64_t offset, std::size_t size,
                                          const std::string& path);
[[nodiscard]] Status sync_file(const FileDescriptor& file, const std::string& path);
[[nodiscard]] std::string folder_of(const std::string& path);
// Syncs the parent folder: a name created or removed in it then survives a power loss.
[[nodiscard]] Status sync_folder_of(const std::string& path);
// Creates missing parent folders of `path`, accessible by their owner only.
[[nodiscard]] Status make_folders_above(const std::string& path);
// Replaces the file atomically, mode 0600; file and folder are synced before it returns. Writes PATH.tmp first: the
// caller holds a lock, so only one process does this at a time.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view content);

}  // namespace weft::oob
