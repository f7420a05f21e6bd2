// Bytes as reports of telemetry, jobs and Alertmanager. Any input must yield reports within their limits, and an error
// for each object that is left out.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "health/core/rules.h"
#include "health/readers/reports.h"

namespace weft::health {
namespace {

void check_signal(const Signal& signal) {
  const auto pattern = parse_pattern(signal.name);
  CHECK(pattern && !pattern->is_range() && !pattern->name.empty(), "the name is one of a signal");
  CHECK(pattern->matches(signal.name), "a rule can name it");
  CHECK(signal.details.size() <= kMaxReportDetails, "details are bounded");
  CHECK(signal.text.size() <= kMaxReportText, "text is bounded");
  CHECK(signal.text == printable(signal.text) && signal.part == printable(signal.part), "texts are printable");
  CHECK(!signal.value || std::isfinite(*signal.value), "values are finite");
}

void run_reports(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("reports.json", std::move(text));
  const Reports reports = read_reports(sources, file, diagnostics);
  CHECK((reports.rejected > 0) == diagnostics.has_errors(), "what is left out has an error");
  (void)render_all(diagnostics, sources, true);
  for (const Signal& signal : reports.signals) check_signal(signal);
  for (const JobStep& step : reports.steps) {
    CHECK(!step.job.empty() && !step.node.empty() && step.step >= 0 && step.rank <= kMaxRank, "a step is complete");
    CHECK(step.busy_seconds.value_or(0) <= kMaxStepSeconds && step.busy_seconds.value_or(0) >= 0, "times are bounded");
  }
}

}  // namespace
}  // namespace weft::health

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::health::run_reports(std::string(data, data + size));
  return 0;
}
