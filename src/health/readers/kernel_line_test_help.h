// Shows what was read of a line of a kernel log in one line of text, for tests to compare.
#pragma once

#include <string>
#include <string_view>

#include "health/readers/kernel_log.h"

namespace weft::health {

// "xid:79 [GPU 0000:3b:00] pid=1122 process=python3"; "-": no signal
inline std::string describe_line(std::string_view line) {
  const std::optional<Signal> signal = read_kernel_line(line, LogClock());
  if (!signal) return "-";
  std::string out = signal->name + " [" + signal->part + "]";
  for (const SignalDetail& detail : signal->details) out += " " + detail.key + "=" + detail.value;
  return out;
}

// The same for a message, framed as dmesg does.
inline std::string describe_message(std::string_view message) {
  return describe_line("[   12.345678] " + std::string(message));
}

}  // namespace weft::health
