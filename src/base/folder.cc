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

Error interrupted(const std::string& where) {
  return Error{ErrorCode::unavailable, "interrupted; nothing was changed", where};
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

namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalBlock::SignalBlock() {
  const sigset_t set = ending_signals();
  active_ = ::pthread_sigmask(SIG_BLOCK, &set, &previous_) == 0;
}

SignalBlock::SignalBlock(SignalBlock&& other) noexcept
    : previous_(other.previous_), active_(std::exchange(other.active_, false)) {}

SignalBlock::~SignalBlock() {
  if (active_) ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

bool SignalBlock::is_signal_waiting() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigismember(&waiting, signal) == 1) return true;
  }
  return false;
}

Result<FolderWriter> FolderWriter::begin(const std::string& path) {
  std::string place = path;
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  std::error_code failed;
  const fs::path absolute = fs::absolute(place, failed).lexically_normal();
  if (failed || absolute.filename().empty())
    return Error{ErrorCode::invalid_input, "not a folder that can be written", path};
  FolderWriter writer(absolute.string());
  if (Status made = writer.create(); !made.ok()) {
    Error error = made.error();
    error.where = path;
    return error;
  }
  return writer;
}

Status FolderWriter::create() {
  const fs::path target(path_);
  std::error_code failed;
  for (fs::path above = target.parent_path(); !fs::exists(above, failed) && above.has_relative_path();
       above = above.parent_path()) {
    parents_.insert(parents_.begin(), above.string());
  }
  fs::create_directories(target.parent_path(), failed);
  if (failed) return Error{ErrorCode::unavailable, "cannot create its parent folder: " + failed.message(), path_};
  std::string aside = (target.parent_path() / fmt::format(".{}.weft-XXXXXX", target.filename().string())).string();
  if (::mkdtemp(aside.data()) == nullptr) return system_error(path_, "create a temporary folder next to it");
  aside_ = std::move(aside);
  if (::chmod(aside_.c_str(), 0755) != 0) return system_error(path_, "set its mode");
  return {};
}

FolderWriter::FolderWriter(FolderWriter&& other) noexcept
    : signals_(std::move(other.signals_)),
      path_(std::move(other.path_)),
      aside_(std::exchange(other.aside_, {})),
      parents_(std::exchange(other.parents_, {})),
      made_(std::move(other.made_)) {}

FolderWriter::~FolderWriter() {
  if (!aside_.empty()) remove_quietly(aside_);
  for (; !parents_.empty(); parents_.pop_back()) ::rmdir(parents_.back().c_str());  // fails if in use by now
}

Status FolderWriter::add(std::string_view relative, std::string_view content, unsigned mode) {
  if (!is_safe_relative_path(relative)) {
    return Error{ErrorCode::internal, fmt::format("`{}` is not a path inside a folder", relative), path_};
  }
  if (SignalBlock::is_signal_waiting()) return interrupted(path_);
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
  if (SignalBlock::is_signal_waiting()) return interrupted(path_);
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
