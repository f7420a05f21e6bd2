// Judges what was recorded: files of kernel logs, metrics, reports and job heartbeats, in the order of their times, as
// the monitor would have judged them while they were written. For `weft health check`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/document.h"
#include "base/source.h"
#include "health/judge/monitor.h"
#include "health/judge/straggler.h"
#include "health/readers/metric_samples.h"

namespace weft::health {

enum class FileKind : std::uint8_t { unknown, log, metrics, prometheus_answer, reports };
[[nodiscard]] std::string_view to_text(FileKind kind);
// By the first lines of a file.
[[nodiscard]] FileKind detect_kind(std::string_view text);

struct ReviewOptions {
  sched::Moment now{};  // the time of reading: logs without a year
  Duration every{};     // between two metric files of one node that have no times of their own
};

class Review {
 public:
  Review(std::shared_ptr<const Rules> rules, const ReviewOptions& options);

  // `node`: of signals that do not name one; "": the name of the file. Problems go to the diagnostics. false: nothing
  // of the file could be read.
  bool add(const Sources& sources, FileId file, std::string_view node, Diagnostics& diagnostics);
  // Judges everything that was added.
  void judge();

  [[nodiscard]] const Monitor& monitor() const { return *monitor_; }
  // The worst health of any node.
  [[nodiscard]] HealthState worst() const;
  [[nodiscard]] Document document(bool all_nodes) const;

 private:
  struct Entry {
    sched::Moment at;
    std::uint64_t order;
    Signal signal;
  };
  bool add_log(std::string_view text, std::string_view node);
  bool add_metrics(std::string_view text, std::string_view node, const std::string& name, bool answer,
                   Diagnostics& diagnostics, const SourceLocation& place);
  bool add_reports(const Sources& sources, FileId file, std::string_view node, Diagnostics& diagnostics);
  void take(Signal signal, std::string_view node);
  void judge_jobs();
  [[nodiscard]] NodeIndex index_of(const std::string& node) const;
  [[nodiscard]] TableSection incident_table() const;
  [[nodiscard]] TableSection node_table(bool all_nodes) const;

  std::shared_ptr<const Rules> rules_;
  ReviewOptions options_;
  MetricReader metrics_;
  std::map<std::string, TargetId> targets_;
  std::map<std::string, std::uint32_t> scrapes_;
  std::vector<Entry> entries_;
  std::vector<JobStep> steps_;
  std::map<std::string, NodeIndex> nodes_;
  std::unique_ptr<Monitor> monitor_;
  StragglerJudge jobs_;
  std::uint64_t lines_ = 0;
  sched::Moment last_{};
};

}  // namespace weft::health
