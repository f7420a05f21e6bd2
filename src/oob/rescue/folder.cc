#include "oob/rescue/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace weft::oob {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr std::size_t kLongestFile = 64U << 20U;  // four times the maximum output of a command

Error system_error(const std::string& path, const char* what, int code = errno) {
  return {ErrorCode::unavailable, std::string(what) + ": " + std::generic_category().message(code), path};
}

}  // namespace

Result<std::unique_ptr<RescueFolder>> RescueFolder::open(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) return Error{ErrorCode::unavailable, "cannot create the folder: " + failure.message(), path};
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, failure);
  const std::string lock_path = path + "/lock";
  FileDescriptor lock = open_descriptor(lock_path, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return system_error(lock_path, "cannot open");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    return held ? Error{ErrorCode::conflict, "another process is executing this rescue", path}
                : system_error(lock_path, "cannot lock");
  }
  return std::unique_ptr<RescueFolder>(new RescueFolder(path, std::move(lock)));
}

Status RescueFolder::write(const std::string& name, std::string_view text) const {
  return write_file(path_ + "/" + name, text);
}

Status RescueFolder::append(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  const FileDescriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
  if (!file.ok()) return system_error(path, "cannot open");
  if (const Written written = write_all(file.get(), text); written.error != 0)
    return system_error(path, "cannot write", written.error);
  return {};
}

Result<std::string> RescueFolder::read(const std::string& name) const {
  return read_file(path_ + "/" + name, kLongestFile);
}

}  // namespace weft::oob
