// What the kernel reports of itself: lockups, stalls, panics, oopses, processes that it killed.
#include <array>

#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

std::optional<Signal> make_kernel_signal(std::string_view name) {
  Signal signal;
  signal.name = name;
  return signal;
}

// "BUG: soft lockup - CPU#18 stuck for 27s! [python3:2254956]"
std::optional<Signal> read_soft_lockup(std::string_view text) {
  const std::optional<std::uint64_t> cpu = find_number(text, "CPU#");
  if (!cpu) return std::nullopt;
  std::optional<Signal> signal = make_kernel_signal("kernel:soft_lockup");
  signal->part = "CPU " + std::to_string(*cpu);
  add_detail(*signal, "seconds", find_number(text, "stuck for "));
  if (auto task = find_after(text, "! [")) {
    const std::string_view inside = take_until(*task, "]");
    const std::size_t colon = inside.rfind(':');
    add_detail(*signal, "process", inside.substr(0, colon));
    if (colon != std::string_view::npos) add_detail(*signal, "pid", find_number(inside.substr(colon + 1), ""));
  }
  return signal;
}

// "Watchdog detected hard LOCKUP on cpu 5"
std::optional<Signal> read_hard_lockup(std::string_view text) {
  const std::optional<std::uint64_t> cpu = find_number(text, "Watchdog detected hard LOCKUP on cpu ");
  if (!cpu) return std::nullopt;
  std::optional<Signal> signal = make_kernel_signal("kernel:hard_lockup");
  signal->part = "CPU " + std::to_string(*cpu);
  return signal;
}

// "task jfsmount:136986 blocked for more than 120 seconds."
std::optional<Signal> read_hung_task(std::string_view text) {
  const std::optional<std::uint64_t> seconds = find_number(text, " blocked for more than ");
  if (!seconds) return std::nullopt;
  std::optional<Signal> signal = make_kernel_signal("kernel:hung_task");
  const std::string_view task = take_until(text, " blocked for ");
  const std::size_t colon = task.rfind(':');
  add_detail(*signal, "process", task.substr(0, colon));
  if (colon != std::string_view::npos) add_detail(*signal, "pid", find_number(task.substr(colon + 1), ""));
  add_detail(*signal, "seconds", seconds);
  return signal;
}

// "Killed process 15784 (python3) total-vm:..."; the name may have parentheses: "Killed process 15925 ((resolved))"
std::optional<Signal> read_oom_kill(std::string_view text, std::string_view name) {
  if (!take(text, "Killed process ") && !take(text, "Kill process ")) return std::nullopt;
  std::optional<Signal> signal = make_kernel_signal(name);
  const std::optional<std::uint64_t> pid = take_number(text);
  std::size_t end = text.find(')');
  while (end != std::string_view::npos && end + 1 < text.size() && text[end + 1] == ')') ++end;
  const std::size_t open = text.find('(');
  if (open < end && end != std::string_view::npos)
    add_detail(*signal, "process", text.substr(open + 1, end - open - 1));
  add_detail(*signal, "pid", pid);
  return signal;
}

bool is_oops(std::string_view message) {
  constexpr std::array<std::string_view, 7> kBeginnings = {
      "BUG: unable to handle ", "BUG: kernel NULL pointer", "Oops: ", "Oops [#", "Internal error: Oops",
      "kernel BUG at ",         "Unable to handle kernel "};
  for (const std::string_view beginning : kBeginnings) {
    if (message.starts_with(beginning)) return true;
  }
  return message.starts_with("general protection fault") && contains(message, "[#");
}

}  // namespace

std::optional<Signal> read_kernel_fault(std::string_view message) {
  if (auto reason = find_after(message, "Kernel panic - not syncing"); reason && message.starts_with("Kernel panic")) {
    std::optional<Signal> signal = make_kernel_signal("kernel:panic");
    if (take(*reason, ": ")) add_detail(*signal, "reason", *reason);
    return signal;
  }
  if (take(message, "Out of memory: ")) return read_oom_kill(message, "kernel:oom");
  if (take(message, "Memory cgroup out of memory: ")) return read_oom_kill(message, "kernel:cgroup_oom");
  if (is_oops(message)) return make_kernel_signal("kernel:oops");
  (void)take(message, "NMI ");
  if (take(message, "watchdog: ")) {
    if (auto signal = read_hard_lockup(message)) return signal;
  }
  if (take(message, "BUG: soft lockup")) return read_soft_lockup(message);
  (void)take(message, "rcu: ");
  if (!take(message, "INFO: ")) return std::nullopt;
  if (take(message, "task ")) return read_hung_task(message);
  const bool stall = message.starts_with("rcu") &&
                     (contains(message, "self-detected stall") || contains(message, " detected stalls") ||
                      contains(message, "detected expedited stalls"));
  return stall ? make_kernel_signal("kernel:rcu_stall") : std::nullopt;
}

}  // namespace weft::health
