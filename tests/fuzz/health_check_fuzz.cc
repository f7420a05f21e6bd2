// Recorded files of any kind, as `weft health check` reads and judges them: logs, metrics, answers of Prometheus,
// reports. The monitor must come to the same health when the same file is judged twice.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "health/intake/review.h"

namespace weft {
namespace {

std::string judge(std::string_view text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("file", std::string(text));
  static const auto rules = std::make_shared<const health::Rules>(health::default_rules());
  health::ReviewOptions options;
  options.now = sched::Moment() + sched::seconds(1'800'000'000);
  options.every = sched::seconds(15);
  health::Review review(rules, options);
  if (!review.add(sources, file, "node", diagnostics)) {
    CHECK(diagnostics.has_errors(), "a file that was not read is not reported");
    return {};
  }
  review.judge();
  return write(review.document(true), {OutputFormat::json, false, 0});
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CHECK(weft::judge(text) == weft::judge(text), "the same file was judged differently");
  return 0;
}
