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
constexpr std::size_t kLongestFile = 64U << 20U;  // four times the most that a command may print

Error system_error(const std::string& path, const char* what) {
  return {ErrorCode::unavailable, std::string(what) + ": " + std::generic_category().message(errno), path};
}

}  // namespace

Result<std::unique_ptr<RescueFolder>> RescueFolder::open(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) return Error{ErrorCode::unavailable, "cannot make the folder: " + failure.message(), path};
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, failure);
  const std::string lock_path = path + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC,
                          kOwnerOnly);  // NOLINT(cppcoreguidelines-pro-type-vararg,hicpp-vararg)
  if (lock < 0) return system_error(lock_path, "cannot open");
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    const Error error = held ? Error{ErrorCode::conflict, "another process follows this rescue", path}
                             : system_error(lock_path, "cannot lock");
    ::close(lock);
    return error;
  }
  return std::unique_ptr<RescueFolder>(new RescueFolder(path, lock));
}

RescueFolder::~RescueFolder() { ::close(lock_); }

Status RescueFolder::write(const std::string& name, std::string_view text) const {
  return write_file(path_ + "/" + name, text);
}

Status RescueFolder::append(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          kOwnerOnly);  // NOLINT(cppcoreguidelines-pro-type-vararg,hicpp-vararg)
  if (file < 0) return system_error(path, "cannot open");
  Status status;
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      status = system_error(path, "cannot write");
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  ::close(file);
  return status;
}

Result<std::string> RescueFolder::read(const std::string& name) const {
  return read_file(path_ + "/" + name, kLongestFile);
}

}  // namespace weft::oob
