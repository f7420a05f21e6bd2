#include "oob/durable/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "base/utf8.h"

namespace weft::oob {

Status make_private_folder(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) == 0) {
      if (Status synced = sync_folder_of(part); !synced.ok()) return synced;
    } else if (errno != EEXIST) {
      return file_error(errno, "make the folder", part);
    }
  }
  return {};
}

Result<LineFile> LineFile::open(const std::string& path) {
  Result<FileDescriptor> file = open_file(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (!file.ok()) return file.error();
  if (Status locked = lock(*file, LockKind::exclusive, path, kLockLimit); !locked.ok()) return locked.error();
  return LineFile(path, std::move(file).value());
}

Status LineFile::append(std::string_view line) {
  const Result<struct stat> info = stat_of(file_, path_);
  if (!info.ok()) return info.error();
  char last = '\n';
  if (info->st_size > 0 && ::pread(file_.get(), &last, 1, info->st_size - 1) != 1)
    return file_error(errno, "read", path_);
  const Written written = write_all(file_.get(), (last == '\n' ? "" : "\n") + std::string(line) + "\n");
  if (written.error != 0) return file_error(written.error, "write", path_);
  return sync_file(file_, path_);
}

Result<FileDescriptor> lock_file(const std::string& path, std::string_view note) {
  Result<FileDescriptor> file = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file;
  if (const Status locked = lock(*file, LockKind::exclusive, path, Duration(0)); !locked.ok()) {
    if (locked.error().code != ErrorCode::conflict) return locked.error();
    const Result<std::string> holder = read_file(path, 4096);
    return Error{ErrorCode::conflict,
                 fmt::format("is held by {}", holder.ok() && !holder->empty() ? printable(*holder, 200) : "another"),
                 path};
  }
  // Informational only, for users who find it locked; never read back to decide anything.
  if (::ftruncate(file->get(), 0) == 0) (void)write_all(file->get(), note);
  return file;
}

}  // namespace weft::oob
