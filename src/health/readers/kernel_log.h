// Reads lines of kernel logs into signals: Xid and SXid of GPUs and NVSwitches, PCIe and machine errors, links, disks,
// file systems and the kernel itself. Formats: dmesg, /dev/kmsg, syslog files and journalctl (short, short-iso, json).
#pragma once

#include <optional>
#include <string_view>

#include "health/core/signal.h"
#include "sched/machine/moment.h"

namespace weft::health {

// Places lines whose time is incomplete. Times without a zone are UTC.
struct LogClock {
  sched::Moment now{};   // lines without a year are of the newest year that is not after this, plus a day
  sched::Moment boot{};  // of seconds since boot; Moment(): unknown, and then such a signal has no time
};

// nullopt: the line is no signal that weft knows.
[[nodiscard]] std::optional<Signal> read_kernel_line(std::string_view line, const LogClock& clock);

// Whether the line has the form of a log line at all. A file without such lines was not read: that is not the same as a
// file without signals.
[[nodiscard]] bool is_log_line(std::string_view line);

}  // namespace weft::health
