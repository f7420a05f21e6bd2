// Bytes as a line of a kernel log. Any input must yield a signal or none; a signal must be fit to show and to compare.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "health/core/rules.h"
#include "health/readers/kernel_log.h"

namespace weft::health {
namespace {

bool is_clean(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid || !is_printable(point.value)) return false;
    i += point.size;
  }
  return true;
}

void run_line(std::string_view line) {
  const LogClock clock{sched::Moment(1'768'003'200'000'000'000), sched::Moment(1'767'225'600'000'000'000)};
  const std::optional<Signal> signal = read_kernel_line(line, clock);
  const bool is_line = is_log_line(line);
  if (!signal) return;
  CHECK(is_line || signal->name == "gpu:lost", "a signal is of a log line, or of one that continues another");
  CHECK(parse_pattern(signal->name).has_value(), "the name is one that a rule can have");
  CHECK(signal->text.size() <= 1000 && is_clean(signal->text), "the text can be shown");
  CHECK(is_clean(signal->node) && is_clean(signal->part), "node and part can be shown");
  CHECK(signal->node.size() <= 300 && signal->part.size() <= 300, "node and part are short");
  for (const SignalDetail& detail : signal->details) {
    CHECK(!detail.key.empty() && detail.value.size() <= 300 && is_clean(detail.value), "details can be shown");
  }
}

}  // namespace
}  // namespace weft::health

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::health::run_line(text);
  return 0;
}
