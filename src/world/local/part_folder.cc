#include "world/local/part_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxExitText = 2000;  // with its code, within the reserved block
constexpr std::int64_t kReserved = 4096;
constexpr std::size_t kMaxPlan = 256U << 20U;

struct flock whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

// Small records that are replaced atomically: none of them is ever read half-written.
std::optional<std::string> read_record(const std::string& path) {
  Result<std::string> text = read_file(path, 1U << 16U);
  if (!text.ok()) return std::nullopt;
  return std::move(text).value();
}

}  // namespace

Error disk_error(int code, std::string_view what, const std::string& path) {
  if (code != ENOSPC && code != EDQUOT) return file_error(code, what, path);
  return {ErrorCode::unavailable, fmt::format("disk full: cannot {}", what), path};
}

Status sync_folder(const std::string& path) {
  const FileDescriptor folder = open_descriptor(path, O_RDONLY | O_DIRECTORY);
  if (!folder.ok()) return disk_error(errno, "open", path);
  // Some file systems cannot sync a folder and return EINVAL: there is nothing more to do then.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return disk_error(errno, "sync", path);
  return {};
}

Status make_folders(const std::string& path, unsigned mode) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return disk_error(ENOTDIR, "create the folder", path);
    return {};
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (slash != 0 && slash != std::string::npos) {
    if (Status made = make_folders(parent, mode); !made.ok()) return made;
  }
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return disk_error(errno, "create the folder", path);
  return sync_folder(parent);
}

Result<FileDescriptor> PartFolder::lock() const {
  FileDescriptor descriptor = open_descriptor(file("lock"), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!descriptor.ok()) return disk_error(errno, "open", file("lock"));
  struct flock range = whole_file(F_WRLCK);
  if (::fcntl(descriptor.get(), F_OFD_SETLK, &range) == 0) return descriptor;
  if (errno == EAGAIN || errno == EACCES)
    return Error{ErrorCode::conflict, "the supervisor of the part is alive", path_};
  return disk_error(errno, "lock", file("lock"));
}

Result<bool> PartFolder::is_locked() const {
  const FileDescriptor descriptor = open_descriptor(file("lock"), O_RDWR | O_NOFOLLOW);
  if (!descriptor.ok()) {
    if (errno == ENOENT) return false;
    return disk_error(errno, "open", file("lock"));
  }
  struct flock range = whole_file(F_WRLCK);
  if (::fcntl(descriptor.get(), F_OFD_GETLK, &range) != 0) return disk_error(errno, "test the lock", file("lock"));
  return range.l_type != F_UNLCK;
}

Status PartFolder::reserve(std::string_view name, std::int64_t bytes) const {
  const std::string path = file(name) + ".tmp";
  FileDescriptor descriptor = open_descriptor(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  if (!descriptor.ok()) return disk_error(errno, "create", path);
  if (const int failed = ::posix_fallocate(descriptor.get(), 0, bytes); failed != 0)
    return disk_error(failed, "reserve space", path);
  return {};
}

// Overwrites NAME.tmp, which may be reserved space, and renames it: needs no free space then. There is one writer of
// each name at a time: the engine of the state directory, or the process that holds the lock.
Status PartFolder::replace(std::string_view name, std::string_view content, bool durable) const {
  const std::string path = file(name);
  const std::string aside = path + ".tmp";
  FileDescriptor descriptor = open_descriptor(aside, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  if (!descriptor.ok()) return disk_error(errno, "create", aside);
  if (const Written written = write_all(descriptor.get(), content); written.error != 0)
    return disk_error(written.error, "write", path);
  if (::ftruncate(descriptor.get(), static_cast<off_t>(content.size())) != 0) return disk_error(errno, "write", path);
  if (durable && ::fsync(descriptor.get()) != 0) return disk_error(errno, "sync", path);
  if (!descriptor.close()) return disk_error(errno, "write", path);
  if (::rename(aside.c_str(), path.c_str()) != 0) return disk_error(errno, "replace", path);
  if (durable) return sync_folder(path_);
  return {};
}

Status PartFolder::prepare(const PartPlan& plan) const {
  for (const std::string_view name : {"exit", "stop", "supervisor"}) {
    if (Status reserved = reserve(name, kReserved); !reserved.ok()) return reserved;
  }
  return replace("plan", encode_plan(plan), true);
}

Result<PartPlan> PartFolder::read_plan() const {
  const Result<std::string> text = read_file(file("plan"), kMaxPlan);
  if (!text.ok()) return text.error();
  Result<PartPlan> plan = parse_plan(*text);
  if (!plan.ok()) return Error{plan.error().code, plan.error().message, file("plan")};
  return plan;
}

bool PartFolder::has_plan() const { return ::access(file("plan").c_str(), F_OK) == 0; }

Result<PartDecision> PartFolder::read_decision() const {
  const std::string path = file("decision");
  const FileDescriptor descriptor = open_descriptor(path, O_RDONLY | O_NOFOLLOW);
  if (!descriptor.ok()) {
    if (errno == ENOENT) return PartDecision::none;
    return disk_error(errno, "read", path);
  }
  char first[6] = {};
  const ssize_t got = ::pread(descriptor.get(), first, sizeof first, 0);
  if (got < 0) return disk_error(errno, "read", path);
  const std::string_view text(first, static_cast<std::size_t>(got));
  if (text == "sealed") return PartDecision::sealed;
  if (text == std::string_view("start\0", 6)) return PartDecision::start;
  return Error{ErrorCode::internal, "the decision of the part is damaged", path};
}

Result<PartDecision> PartFolder::decide(std::string_view source) const {
  if (::link(file(source).c_str(), file("decision").c_str()) != 0 && errno != EEXIST)
    return disk_error(errno, "decide", file("decision"));
  if (Status synced = sync_folder(path_); !synced.ok()) return synced.error();
  return read_decision();
}

Result<PartDecision> PartFolder::decide_start() const { return decide("plan"); }

Result<PartDecision> PartFolder::decide_sealed() const {
  if (Result<PartDecision> made = read_decision(); !made.ok() || *made != PartDecision::none) return made;
  if (Status written = replace("seal", "sealed\n", true); !written.ok()) return written.error();
  return decide("seal");
}

Status PartFolder::write_supervisor(const ProcessId& process) const {
  return replace("supervisor", fmt::format("{} {}\n", process.pid, process.start), false);
}

std::optional<ProcessId> PartFolder::read_supervisor() const {
  const std::optional<std::string> text = read_record(file("supervisor"));
  if (!text) return std::nullopt;
  const std::vector<std::string_view> fields = split_at_spaces(*text);
  ProcessId process;
  if (fields.size() != 2 || !read_number(fields[0], process.pid) || !read_number(fields[1], process.start))
    return std::nullopt;
  return process;
}

Status PartFolder::write_stop(const StopRequest& request) const {
  return replace(
      "stop",
      fmt::format("{} {} {} {}\n", request.operation, request.terminate_at, request.kill_at, request.notice ? 1 : 0),
      false);
}

std::optional<StopRequest> PartFolder::read_stop() const {
  const std::optional<std::string> text = read_record(file("stop"));
  if (!text) return std::nullopt;
  const std::vector<std::string_view> fields = split_at_spaces(*text);
  StopRequest request;
  int notice = 0;
  if (fields.size() != 4 || !read_number(fields[0], request.operation) ||
      !read_number(fields[1], request.terminate_at) || !read_number(fields[2], request.kill_at) ||
      !read_number(fields[3], notice))
    return std::nullopt;
  request.notice = notice != 0;
  return request;
}

Status PartFolder::write_notice(control::OperationId operation) const {
  return replace("notice", fmt::format("{}\n", operation), false);
}

control::OperationId PartFolder::read_notice() const {
  const std::optional<std::string> text = read_record(file("notice"));
  control::OperationId operation = 0;
  if (text) (void)read_number(*text, operation);
  return operation;
}

Status PartFolder::write_exit(const ExitRecord& record) const {
  return replace("exit", fmt::format("{}\n{}\n", record.code, record.text.substr(0, kMaxExitText)), true);
}

Result<std::optional<ExitRecord>> PartFolder::read_exit() const {
  const Result<std::string> text = read_file(file("exit"), 1U << 16U);
  if (!text.ok()) {
    if (text.error().code == ErrorCode::not_found) return std::optional<ExitRecord>();
    return text.error();
  }
  ExitRecord record;
  const std::size_t line = text->find('\n');
  if (line == std::string::npos || !read_number(std::string_view(*text).substr(0, line), record.code))
    return Error{ErrorCode::internal, "the exit record of the part is damaged", file("exit")};
  record.text = trim_end(std::string_view(*text).substr(line + 1));
  return std::optional<ExitRecord>(std::move(record));
}

void PartFolder::discard() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  ::rmdir(path_.substr(0, path_.rfind('/')).c_str());  // of the attempt, if this was its only part
}

}  // namespace weft::world
