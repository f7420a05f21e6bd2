#include "access/secret/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "lazy/crypto.h"
#include "oob/durable/file.h"

namespace weft::access {
namespace {

constexpr int kMaxLinks = 40;  // as Linux

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

Error refusal(std::string why, const std::string& path) { return {ErrorCode::refused, std::move(why), path}; }

// The parts of a path, last one first.
void push_parts(std::vector<std::string>& pending, std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->empty() && *part != ".") pending.emplace_back(*part);
  }
}

// Follows symbolic links one by one, so that each can be checked: in a folder that all may write to, or made by another
// user, a link could point to any file that weft may read.
Result<std::string> follow_links(const std::string& path) {
  std::vector<std::string> pending;
  push_parts(pending, path);
  std::string folder = path.starts_with('/') ? "/" : "./";
  int links = 0;
  while (!pending.empty()) {
    std::string part = std::move(pending.back());
    pending.pop_back();
    const std::string here = folder + part;
    struct stat info {};
    if (::lstat(here.c_str(), &info) != 0) return file_error(errno, "read", path);
    if (!S_ISLNK(info.st_mode)) {
      folder = here + "/";
      continue;
    }
    struct stat parent {};
    if (::stat(folder.c_str(), &parent) != 0) return file_error(errno, "read", path);
    if ((parent.st_mode & S_IWOTH) != 0)
      return refusal(fmt::format("is behind the symbolic link {} in a folder that all users may write to", here), path);
    if (!is_trusted(info.st_uid))
      return refusal(fmt::format("is behind the symbolic link {} of another user", here), path);
    if (++links > kMaxLinks) return file_error(ELOOP, "read", path);
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlink(here.c_str(), target.data(), target.size());
    if (size < 0) return file_error(errno, "read", path);
    target.resize(static_cast<std::size_t>(size));
    if (target.starts_with('/')) folder = "/";
    push_parts(pending, target);
  }
  if (folder.size() > 1) folder.pop_back();
  return folder;
}

Status check_owner_and_mode(const struct stat& info, Others others, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path};
  if (!is_trusted(info.st_uid))
    return refusal("belongs to another user: must belong to root or the server's user", path);
  const bool secret = others == Others::nothing;
  if ((info.st_mode & (secret ? 077U : 022U)) != 0) {
    return refusal(fmt::format("{} it (mode {:04o}): chmod {} {}",
                               secret ? "others than its owner may use" : "others than its owner may write to",
                               info.st_mode & 07777U, secret ? "600" : "go-w", path),
                   path);
  }
  return {};
}

}  // namespace

Result<std::string> read_private_file(const std::string& path, Others others, std::size_t max_bytes) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "is not a file name", "path"};
  const Result<std::string> real = follow_links(path);
  if (!real.ok()) return real.error();
  // Without waiting: it may be a FIFO.
  const FileDescriptor file = open_descriptor(real.value(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) return file_error(errno, "read", path);
  const Result<struct stat> info = oob::stat_of(file, path);
  if (!info.ok()) return info.error();
  if (Status fine = check_owner_and_mode(info.value(), others, path); !fine.ok()) return fine.error();
  const Error too_large{ErrorCode::invalid_input, fmt::format("is larger than {} bytes", max_bytes), path};
  if (info->st_size < 0 || static_cast<std::uint64_t>(info->st_size) > max_bytes) return too_large;
  // One byte more, to notice that it grows.
  const auto size = static_cast<std::size_t>(info->st_size);
  Result<std::string> text = oob::read_at(file, 0, size + 1, path);
  if (!text.ok() || text->size() <= size) return text;
  OPENSSL_cleanse(text->data(), text->size());
  return Error{ErrorCode::conflict, "is being written to: try again later", path};
}

}  // namespace weft::access
