#include "base/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file_descriptor.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

Error system_error(const std::string& where, std::string_view action, int number = errno) {
  return Error{ErrorCode::unavailable, fmt::format("cannot {}: {}", action, std::generic_category().message(number)),
               where};
}

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// Swaps two paths if the file system supports it, so that the folder always exists.
bool swap_paths(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace

bool is_safe_relative_path(std::string_view relative) {
  if (relative.empty() || relative.size() > 1024 || relative.front() == '/') return false;
  while (true) {
    const std::size_t slash = relative.find('/');
    const std::string_view part = relative.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
    }
    if (slash == std::string_view::npos) return true;
    relative.remove_prefix(slash + 1);
  }
}

Result<FolderWriter> FolderWriter::begin(const std::string& path) {
  std::string place = path;
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  std::error_code failed;
  const fs::path absolute = fs::absolute(place, failed).lexically_normal();
  if (failed || absolute.filename().empty())
    return Error{ErrorCode::invalid_input, "not a folder that can be written", path};
  const fs::path parent = absolute.parent_path();
  fs::create_directories(parent, failed);
  if (failed) return Error{ErrorCode::unavailable, "cannot create its parent folder: " + failed.message(), path};
  std::string aside = (parent / fmt::format(".{}.weft-XXXXXX", absolute.filename().string())).string();
  if (::mkdtemp(aside.data()) == nullptr) return system_error(path, "create a temporary folder next to it");
  if (::chmod(aside.c_str(), 0755) != 0) return system_error(path, "set its mode");
  return FolderWriter(absolute.string(), std::move(aside));
}

FolderWriter::FolderWriter(FolderWriter&& other) noexcept
    : path_(std::move(other.path_)), aside_(std::exchange(other.aside_, {})), made_(std::move(other.made_)) {}

FolderWriter::~FolderWriter() {
  if (!aside_.empty()) remove_quietly(aside_);
}

Status FolderWriter::add(std::string_view relative, std::string_view content, unsigned mode) {
  if (!is_safe_relative_path(relative)) {
    return Error{ErrorCode::internal, fmt::format("`{}` is not a path inside a folder", relative), path_};
  }
  const std::size_t slash = relative.rfind('/');
  if (slash != std::string_view::npos && made_.insert(std::string(relative.substr(0, slash))).second) {
    std::error_code failed;
    fs::create_directories(fs::path(aside_) / relative.substr(0, slash), failed);
    if (failed)
      return Error{ErrorCode::unavailable, "cannot create a folder: " + failed.message(), std::string(relative)};
  }
  const std::string path = aside_ + "/" + std::string(relative);
  FileDescriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (!file.ok()) return system_error(std::string(relative), errno == EEXIST ? "write it twice" : "write it");
  Status status;
  if (const Written written = write_all(file.get(), content); written.error != 0)
    status = system_error(std::string(relative), "write it", written.error);
  // The mode above is subject to the caller's umask; a script must be executable regardless.
  if (status.ok() && ::fchmod(file.get(), mode) != 0) status = system_error(std::string(relative), "set its mode");
  if (!file.close() && status.ok()) status = system_error(std::string(relative), "write it");
  return status;
}

Status FolderWriter::commit() {
  FileDescriptor folder = open_descriptor(aside_, O_RDONLY | O_DIRECTORY);
  if (!folder.ok()) return system_error(path_, "open the written file");
  if (::syncfs(folder.get()) != 0) return system_error(path_, "write it to stable storage");
  folder.close();
  const bool replaces = fs::exists(fs::symlink_status(path_));
  if (!replaces) {
    if (::rename(aside_.c_str(), path_.c_str()) != 0) return system_error(path_, "move it into place");
    aside_.clear();
    return {};
  }
  if (swap_paths(aside_, path_)) {
    remove_quietly(std::exchange(aside_, {}));
    return {};
  }
  const std::string old = aside_ + ".old";
  if (::rename(path_.c_str(), old.c_str()) != 0) return system_error(path_, "move the old one away");
  if (::rename(aside_.c_str(), path_.c_str()) != 0) {
    const Error error = system_error(path_, "move it into place");
    if (::rename(old.c_str(), path_.c_str()) != 0)
      return Error{error.code, error.message + "; the previous one is now " + old, path_};
    return error;
  }
  aside_.clear();
  remove_quietly(old);
  return {};
}

}  // namespace weft
