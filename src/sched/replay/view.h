// Comparison of replays of one trace under several policies: tables for people and for programs, causes of problems and
// possible remedies, and one line per job for detailed analysis.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "sched/replay/metrics.h"

namespace weft::sched {

struct ReplayRun {
  ReplayResult result;
  ReplayMetrics metrics;
};

struct ReplayReport {
  std::string trace;    // its name
  std::string format;   // of the trace
  std::string machine;  // the cluster's name, or how it was built
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::span<const Job> jobs;
  std::vector<ReplayRun> runs;
  std::vector<std::string> notes;  // on what was read and how
};

// With `by_policy` the comparison has one row per policy, for programs; else one row per metric, with the best value
// marked, for people.
[[nodiscard]] Document replay_document(const ReplayReport& report, bool by_policy);

// Notable results with cause and remedy, one sentence each.
[[nodiscard]] std::vector<std::string> replay_findings(const ReplayReport& report);

// NDJSON: one line per job of one run. `write` receives chunks of text; if it returns false, writing stops.
[[nodiscard]] bool write_jobs(const ReplayReport& report, const ReplayRun& run, const Machine& machine,
                              const std::function<bool(std::string_view)>& write);

// Seconds in human-readable form: "45 s", "12.3 min", "4.5 h", "3.2 d".
[[nodiscard]] std::string span_text(double seconds);

// GPU time requested over GPU time available while jobs arrive; 0 if run times are unknown.
[[nodiscard]] double offered_load(const ReplayReport& report);

}  // namespace weft::sched
