// Replays of one trace under several policies, side by side: tables for people and for programs, what causes a problem
// and what would change it, and one line a job for those who look closer.
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
  std::string machine;  // the cluster's name, or how it was made
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::span<const Job> jobs;
  std::vector<ReplayRun> runs;
  std::vector<std::string> notes;  // of what was read and how
};

// With `by_policy` the comparison has a row for each policy, for programs; else a row for each measure, with the best
// value marked, for people.
[[nodiscard]] Document replay_document(const ReplayReport& report, bool by_policy);

// What stands out, cause and remedy: a sentence each.
[[nodiscard]] std::vector<std::string> replay_findings(const ReplayReport& report);

// NDJSON: one line for each job of one run. `write` gets pieces of text; false from it ends the writing.
[[nodiscard]] bool write_jobs(const ReplayReport& report, const ReplayRun& run, const Machine& machine,
                              const std::function<bool(std::string_view)>& write);

// Seconds as people say them: "45 s", "12.3 min", "4.5 h", "3.2 d".
[[nodiscard]] std::string span_text(double seconds);

// GPU time asked for over GPU time that is there while jobs arrive; 0 where run times are not known.
[[nodiscard]] double offered_load(const ReplayReport& report);

}  // namespace weft::sched
