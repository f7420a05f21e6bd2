#include "world/local/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace weft::world {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Files of /proc have no size: read to the end, up to a limit.
std::optional<std::string> read_proc_file(const std::string& path, std::size_t limit) {
  const FileDescriptor file = open_descriptor(path, O_RDONLY);
  if (!file.ok()) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < limit) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool has_variable(pid_t pid, std::string_view variable) {
  constexpr std::size_t kMaxEnvironment = 4U << 20U;
  const std::optional<std::string> text = read_proc_file(fmt::format("/proc/{}/environ", pid), kMaxEnvironment);
  if (!text) return false;
  for (const std::string_view entry : split(*text, '\0')) {
    if (entry == variable) return true;
  }
  return false;
}

bool is_alive(const ProcessStat& process) { return process.state != 'Z' && process.state != 'X'; }

// Adds every living descendant of the processes in `found`.
void add_descendants(std::unordered_set<pid_t>& found, const std::vector<ProcessStat>& all) {
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessStat& process : all) {
      if (found.contains(process.parent) && found.insert(process.id.pid).second) grown = true;
    }
  }
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat process;
  const std::vector<std::string_view> fields = split_at_spaces(text.substr(close + 1));
  constexpr std::size_t kStart = 19;  // field 22 of the file; the first one after the name is field 3
  if (fields.size() <= kStart || fields[0].size() != 1) return std::nullopt;
  process.state = fields[0][0];
  if (!parse_number(text.substr(0, open), process.id.pid) || !parse_number(fields[1], process.parent) ||
      !parse_number(fields[2], process.group) || !parse_number(fields[3], process.session) ||
      !parse_number(fields[kStart], process.id.start))
    return std::nullopt;
  return process;
}

std::optional<ProcessStat> read_process(pid_t pid) {
  const std::optional<std::string> text = read_proc_file(fmt::format("/proc/{}/stat", pid), 1U << 16U);
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::vector<ProcessStat> list_processes() {
  std::vector<ProcessStat> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  if (folder == nullptr) return processes;
  while (const dirent* entry = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    pid_t pid = 0;
    if (!parse_number(std::string_view(entry->d_name), pid)) continue;
    if (std::optional<ProcessStat> process = read_process(pid)) processes.push_back(*process);
  }
  return processes;
}

bool send_signal(const ProcessId& process, int signal) {
  if (process.pid <= 1) return false;
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle.ok() && errno != ENOSYS) return false;
  // Checked after the handle was opened: it then refers to this process even if the pid is reused.
  const std::optional<ProcessStat> now = read_process(process.pid);
  if (!now || now->id != process) return false;
  if (!handle.ok()) return ::kill(process.pid, signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

std::vector<ProcessStat> find_descendants(pid_t root, const std::vector<ProcessStat>& all) {
  std::unordered_set<pid_t> found{root};
  add_descendants(found, all);
  std::vector<ProcessStat> result;
  for (const ProcessStat& process : all) {
    if (process.id.pid != root && found.contains(process.id.pid) && is_alive(process)) result.push_back(process);
  }
  return result;
}

std::vector<ProcessStat> find_part_processes(const ProcessId& supervisor, std::string_view variable) {
  const std::vector<ProcessStat> all = list_processes();
  // The kernel does not reuse a pid while it is the id of a session. If another process has it now, no process of the
  // old session is left, and the session of that number belongs to others.
  bool session_is_ours = supervisor.pid > 1;
  for (const ProcessStat& process : all) {
    if (process.id.pid == supervisor.pid && process.id.start != supervisor.start) session_is_ours = false;
  }
  std::unordered_set<pid_t> found;
  for (const ProcessStat& process : all) {
    if (process.id.pid == ::getpid() || process.id.pid <= 1) continue;
    const bool ours = (session_is_ours && process.session == supervisor.pid) || has_variable(process.id.pid, variable);
    if (ours) found.insert(process.id.pid);
  }
  add_descendants(found, all);
  found.erase(::getpid());
  std::vector<ProcessStat> result;
  for (const ProcessStat& process : all) {
    if (found.contains(process.id.pid) && is_alive(process)) result.push_back(process);
  }
  return result;
}

std::int64_t monotonic_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace weft::world
