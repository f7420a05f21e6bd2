#include "oob/durable/permissions.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>

#include "base/file_descriptor.h"
#include "base/quoting.h"
#include "oob/durable/file.h"

namespace weft::oob {
namespace {

std::string user_text(uid_t user) {
  passwd entry{};
  std::array<char, 4096> space{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, space.data(), space.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("the user ID {}", user);
}

// The path without symlinks; of the nearest folder above it that exists. Empty with errno if that cannot be found.
std::string real_path(std::string path) {
  std::array<char, PATH_MAX> real{};
  while (::realpath(path.c_str(), real.data()) == nullptr) {
    if ((errno != ENOENT && errno != ENOTDIR) || path == "/" || path == ".") return {};
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    path = folder_of(path);
  }
  return real.data();
}

std::optional<Error> problem_of(const struct stat& info, const std::string& path, bool is_above) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return Error{ErrorCode::refused,
                 fmt::format("belongs to {}, who could replace what weft relies on: use a folder that belongs to you "
                             "or to root, or chown {}",
                             user_text(info.st_uid), shell_quote(path)),
                 path};
  }
  const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!others_write || (is_above && (info.st_mode & S_ISVTX) != 0)) return std::nullopt;
  return Error{ErrorCode::refused,
               fmt::format("other users may write to it (mode {:04o}) and replace what weft relies on: chmod go-w {}",
                           info.st_mode & 07777U, shell_quote(path)),
               path};
}

}  // namespace

Status check_only_owner_writes(const std::string& path) {
  std::string at = real_path(path);
  if (at.empty()) return file_error(errno, "look at", path);
  struct stat named {};
  bool is_above = ::stat(path.c_str(), &named) != 0;
  for (;;) {
    struct stat info {};
    if (::stat(at.c_str(), &info) != 0) return file_error(errno, "look at", at);
    if (std::optional<Error> problem = problem_of(info, at, is_above)) return std::move(*problem);
    if (at == "/") return {};
    at = folder_of(at);
    is_above = true;
  }
}

}  // namespace weft::oob
