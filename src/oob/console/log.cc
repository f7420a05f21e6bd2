#include "oob/console/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/folder.h"
#include "base/utf8.h"
#include "oob/durable/private_folder.h"

namespace weft::oob {
namespace {

constexpr std::size_t kTail = 256U << 10U;  // bytes of an old log that are read for replay

// The complete lines at the end of the file.
std::deque<std::string> tail_of(int file, std::size_t size) {
  std::deque<std::string> lines;
  std::string text(std::min(size, kTail), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), static_cast<off_t>(size - text.size()));
  if (got <= 0) return lines;
  text.resize(static_cast<std::size_t>(got));
  std::size_t at = size > kTail ? text.find('\n') + 1 : 0;  // 0 again if there is none
  for (std::size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    lines.push_back(printable(std::string_view(text).substr(at, end - at)));
    if (lines.size() > ConsoleLog::kMaxRecent) lines.pop_front();
    at = end + 1;
  }
  return lines;
}

}  // namespace

ConsoleLog::ConsoleLog(std::string folder, std::string device, std::string who, Clock& clock,
                       const ConsoleLogOptions& options)
    : folder_(std::move(folder)),
      device_(std::move(device)),
      path_(folder_ + "/" + device_ + ".log"),
      who_(std::move(who)),
      clock_(clock),
      options_(options),
      lines_(clock, [this](const std::string& line) { write_line(line); }) {}

Result<std::unique_ptr<ConsoleLog>> ConsoleLog::open(const std::string& folder, const std::string& device,
                                                     std::string who, const std::string& why, Clock& clock,
                                                     const ConsoleLogOptions& options) {
  if (device.empty() || device.find('/') != std::string::npos || device.starts_with('.') ||
      !is_safe_relative_path(device))
    return Error{ErrorCode::invalid_input, "is not a valid file name", in_backticks(device)};
  if (Status made = make_private_folder(folder); !made.ok()) return made.error();
  std::unique_ptr<ConsoleLog> log(new ConsoleLog(folder, device, std::move(who), clock, options));
  Result<FileDescriptor> lock =
      lock_file(folder + "/" + device + ".lock", fmt::format("{} (process {})", log->who_, ::getpid()));
  if (!lock.ok()) {
    Error error = lock.error();
    if (error.code == ErrorCode::conflict) error = {ErrorCode::conflict, "the console " + error.message, device};
    return error;
  }
  log->lock_ = std::move(lock).value();
  if (Status opened = log->open_log(); !opened.ok()) return opened.error();
  if (Status said = log->note(fmt::format("opened by {}{}{}", log->who_, why.empty() ? "" : ": ", printable(why, 200)));
      !said.ok())
    return said.error();
  return log;
}

ConsoleLog::~ConsoleLog() {
  if (!file_.ok()) return;
  (void)note(fmt::format("closed by {}, {} bytes", who_, bytes_));
  (void)sync_file(file_, path_);
}

Status ConsoleLog::open_log() {
  Result<FileDescriptor> file = open_file(path_, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (!file.ok()) return file.error();
  const Result<struct stat> info = stat_of(*file, path_);
  if (!info.ok()) return info.error();
  if (!S_ISREG(info->st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path_};
  file_ = std::move(file).value();
  size_ = static_cast<std::size_t>(info->st_size);
  if (recent_.empty()) recent_ = tail_of(file_.get(), size_);
  char last = '\n';
  // A line truncated by a crash is terminated, never overwritten.
  if (size_ > 0 && ::pread(file_.get(), &last, 1, info->st_size - 1) == 1 && last != '\n')
    size_ += write_all(file_.get(), "\n").bytes;
  return {};
}

Status ConsoleLog::rotate() {
  (void)sync_file(file_, path_);
  file_.close();
  const auto numbered = [&](int n) { return fmt::format("{}.{}", path_, n); };
  for (int n = std::max(options_.keep, 1); n > 1; --n) (void)std::rename(numbered(n - 1).c_str(), numbered(n).c_str());
  (void)std::rename(path_.c_str(), numbered(1).c_str());
  return open_log();
}

void ConsoleLog::write_line(const std::string& line) {
  recent_.push_back(line);
  if (recent_.size() > kMaxRecent) recent_.pop_front();
  if (size_ > 0 && size_ + line.size() + 1 > options_.rotate_bytes) {
    if (Status rotated = rotate(); !rotated.ok()) problem_ = rotated;
  }
  if (!file_.ok()) return;
  const Written written = write_all(file_.get(), line + "\n");
  size_ += written.bytes;
  if (written.error != 0) problem_ = file_error(written.error, "write", path_);
}

Status ConsoleLog::take_problem() {
  Status problem = problem_;
  problem_ = {};
  return problem;
}

Status ConsoleLog::append(std::string_view bytes) {
  bytes_ += bytes.size();
  lines_.feed(bytes);
  return take_problem();
}

Status ConsoleLog::tick() {
  lines_.tick();
  return take_problem();
}

Status ConsoleLog::flush() {
  lines_.flush();
  return take_problem();
}

Status ConsoleLog::note(std::string_view text) {
  lines_.flush();  // keeps timestamps in ascending order
  write_line(log_line(clock_.wall_ms(), LineMark::note, visible_text(text)));
  return take_problem();
}

std::vector<std::string> ConsoleLog::recent(std::size_t lines) const {
  const std::size_t count = std::min(lines, recent_.size());
  return {recent_.end() - static_cast<std::ptrdiff_t>(count), recent_.end()};
}

}  // namespace weft::oob
