// Lines of system logs: what syslog, journald and dmesg write around a message. Formats: dmesg (raw, -T, --decode,
// --time-format iso), /dev/kmsg, RFC 3164 and RFC 5424 with or without <PRI>, rsyslog's RFC 3339 and journalctl's
// short and short-iso. JSON of journalctl is in journal_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "health/readers/kernel_log.h"
#include "sched/machine/moment.h"

namespace weft::health {

struct LogLine {
  std::string_view host;     // "": the line does not say
  std::string_view program;  // "kernel", "systemd"; "": the line does not say, as in dmesg
  std::string_view message;
  sched::Moment at{};      // Moment(): the line does not say, or not enough
  bool from_user = false;  // a user's program wrote it, whatever the message says
};

// nullopt: none of these formats.
[[nodiscard]] std::optional<LogLine> split_log_line(std::string_view line, const LogClock& clock);

// "[12345.678901] " and caller IDs in front of a message, as kernels with printk.time log to syslog.
void skip_kernel_stamps(std::string_view& message);

}  // namespace weft::health
