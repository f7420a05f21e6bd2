// Processes of this machine, read from /proc: identified by pid and start time, so that a reused pid is never mistaken
// for the old process. Finds and kills what a part of an attempt left behind. Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::world {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start = 0;  // clock ticks since boot
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';  // 'Z': ended, not reaped
};

// The text of /proc/PID/stat. The program's name in it may contain spaces and parentheses.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);
[[nodiscard]] std::optional<ProcessStat> read_process(pid_t pid);
[[nodiscard]] std::vector<ProcessStat> list_processes();

// Through a pidfd, so that the signal reaches this process or none. False: it has ended, or may not be signaled.
bool send_signal(const ProcessId& process, int signal);

// Living processes (not zombies) below `root` in the process tree, without `root`.
[[nodiscard]] std::vector<ProcessStat> find_descendants(pid_t root, const std::vector<ProcessStat>& all);

// Living processes of a part whose supervisor is dead: those of its session, those with `variable` ("NAME=VALUE") in
// their environment, and the descendants of both.
[[nodiscard]] std::vector<ProcessStat> find_part_processes(const ProcessId& supervisor, std::string_view variable);

// Nanoseconds of CLOCK_MONOTONIC: the same for all processes until the next boot.
[[nodiscard]] std::int64_t monotonic_ns();

// "SIGKILL" for 9.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace weft::world
