// Finds nodes of a training job that are slower than their peers, jobs that are slower than they were, and jobs that
// hang, from the heartbeats of their ranks (core/job_step.h).
//
// In synchronous training all ranks have the same time per step, because each waits for the slowest. Only
// `busy_seconds`, the time without waiting, tells who that is; without it nothing is said about single nodes.
//
// Steps are compared in windows of `window_steps` that do not overlap, so that windows in a row are independent
// evidence. The time of a node in a window is that of its slowest rank: the median of the rank's steps. It is compared
// with the median over the nodes of the same stage, since stages of a pipeline have different work. A node is a suspect
// if its time is above both `ratio` and `deviations` robust deviations (1.4826 times the median absolute deviation, at
// least `floor` of the median) in `windows` windows in a row. If more than `max_share` of the nodes are that slow, the
// job is mixed and none is a straggler; with fewer than 1 / max_share nodes nothing can be said.
//
// A suspect is a reason for an active check of the node, and for nothing else.
//
// What supports the defaults: MegaScale (Jiang et al., NSDI 2024) found about 0.5 % of machines substantially slower
// than the others, far below `max_share`. ByteRobust (arXiv:2509.16293) repeats its comparison every 10 s and decides
// by 5 rounds; `windows` of 10 steps of several seconds take longer. Falcon (arXiv:2410.12588) counts a change of the
// time per step from 10 % on, as `slowdown` does. `ratio`, `deviations` and `floor` are ours; the tests compute their
// error rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "health/core/job_step.h"
#include "health/core/signal.h"
#include "sched/machine/moment.h"

namespace weft::health {

struct StragglerSettings {
  double ratio = 1.05;
  double deviations = 5;
  double floor = 0.01;        // of the median: with `deviations` 5, nodes within 5 % of it are equal
  std::uint32_t windows = 3;  // in a row
  std::uint32_t window_steps = 10;
  double max_share = 0.25;  // of the nodes of a stage that may be suspects at once
  double slowdown = 1.10;   // of a job, against its first windows
  double hang_factor = 10;  // times the median time per step
  Duration hang_minimum = sched::seconds(60);
};

struct StragglerFinding {
  std::string job;
  std::string node;
  std::string stage;
  double ratio = 0;           // of its time to the median of the peers, in the last window
  std::uint32_t rank = 0;     // its slowest one
  std::uint32_t windows = 0;  // in a row
  std::uint32_t peers = 0;    // nodes that were compared, with this one
  friend bool operator==(const StragglerFinding&, const StragglerFinding&) = default;
};

struct SlowdownFinding {
  std::string job;
  double ratio = 0;  // of the median time per step to that of its first windows
  double step_seconds = 0;
  std::uint32_t windows = 0;
};

struct HangFinding {
  std::string job;
  std::int64_t step = 0;  // the last one that any rank finished
  sched::Moment since{};  // of the last progress
  Duration silent{};
  Duration limit{};
  std::vector<std::string> behind;  // nodes that did not report that step, at most kMaxBehind, by name
};

// Why nothing is said about single nodes of a job.
enum class JobLimit : std::uint8_t { no_busy_times, too_few_peers, mixed };
[[nodiscard]] std::string_view to_text(JobLimit limit);
struct JobNote {
  std::string job;
  std::string stage;
  JobLimit limit = JobLimit::no_busy_times;
  std::uint32_t nodes = 0;  // too_few_peers: those there are; mixed: those that are slower
};

// job:straggler of the node, once per finding: the ratio, windows and peers are details.
[[nodiscard]] Signal signal_of(const StragglerFinding& finding, sched::Moment at);
// job:hang of each node that is behind; of the job alone (without a node) if none is.
[[nodiscard]] std::vector<Signal> signals_of(const HangFinding& finding);

// One judge per cluster; used by one thread. The same reports in the same order give the same findings.
class StragglerJudge {
 public:
  static constexpr std::size_t kMaxJobs = 4'096;    // the one that was silent for longest is forgotten
  static constexpr std::size_t kMaxNodes = 16'384;  // of a job
  static constexpr std::size_t kMaxRanksPerNode = 64;
  static constexpr std::size_t kMaxBehind = 16;
  static constexpr std::size_t kMaxNew = 65'536;  // suspects that were not taken

  explicit StragglerJudge(const StragglerSettings& settings = {});

  void add(const JobStep& report);
  void remove_job(const std::string& job);  // it ended: silence is no hang

  // Nodes that became suspects since the last call, in the order in which they did: one for each time.
  [[nodiscard]] std::vector<StragglerFinding> take_new_suspects();
  // What holds now, by job and node.
  [[nodiscard]] std::vector<StragglerFinding> suspects() const;
  [[nodiscard]] std::vector<SlowdownFinding> slowdowns() const;
  [[nodiscard]] std::vector<HangFinding> hangs(sched::Moment now) const;
  [[nodiscard]] std::vector<JobNote> notes() const;

  struct Counts {
    std::uint64_t used = 0;
    std::uint64_t duplicate = 0;  // the same rank and step again
    std::uint64_t late = 0;       // of a window that was judged already
    std::uint64_t invalid = 0;    // times or steps that no report can have
    std::uint64_t beyond = 0;     // nodes or ranks beyond the limits
    std::uint64_t restarts = 0;   // of jobs
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t window_count() const { return windows_; }  // that were judged
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  // Times that are kept: 16 bytes each, of at most two windows of every rank.
  [[nodiscard]] std::size_t sample_count() const;

 private:
  struct Sample {
    std::uint64_t key;  // rank and step within the window
    double seconds;
  };
  using Samples = std::vector<Sample>;  // by key
  struct NodeState {
    std::string stage;
    std::map<std::int64_t, Samples> open;  // by window, at most two
    std::int64_t last_step = -1;           // in its newest report
    sched::Moment latest{};
    std::uint32_t streak = 0;
    double ratio = 0;
    std::uint32_t rank = 0;
    std::uint32_t peers = 0;
  };
  struct StepTime {
    std::int64_t step;
    double seconds;
  };
  struct JobState {
    std::map<std::string, NodeState> nodes;
    std::map<std::int64_t, std::vector<StepTime>> step_times;  // by window, one per step
    std::int64_t last_step = -1;
    std::int64_t newest_window = -1;
    std::int64_t judged = -1;  // the last window that was
    sched::Moment latest{};    // of any report
    sched::Moment progress{};  // of the last report of another step
    std::uint64_t late_in_a_row = 0;
    JobPhase phase = JobPhase::startup;
    std::vector<double> medians;   // of time per step, of the last windows
    std::vector<double> baseline;  // of the first ones
    std::uint32_t slow_streak = 0;
    bool has_busy = false;
    std::map<std::string, JobNote> notes;  // by stage
    std::uint64_t heard = 0;               // order of reports, to forget the most silent job
  };
  struct Timed {
    std::map<std::string, NodeState>::iterator node;
    double seconds;
    std::uint32_t rank;
  };

  [[nodiscard]] bool is_valid(const JobStep& report) const;
  [[nodiscard]] JobState& job_of(const std::string& name);
  [[nodiscard]] bool is_late(const JobState& job, const JobStep& report) const;
  [[nodiscard]] bool is_restart(const JobState& job, const JobStep& report) const;
  static void restart(JobState& job);
  static void note_progress(JobState& job, NodeState& node, const JobStep& report);
  void note_step_time(JobState& job, const JobStep& report);
  void add_sample(JobState& job, NodeState& node, const JobStep& report);
  void close_windows(const std::string& name, JobState& job);
  void judge_window(const std::string& name, JobState& job, std::int64_t window);
  void judge_stage(const std::string& name, JobState& job, const std::string& stage, std::vector<Timed>& timed);
  void judge_job(JobState& job, std::int64_t window);
  [[nodiscard]] std::int64_t window_of(std::int64_t step) const { return step / settings_.window_steps; }
  [[nodiscard]] static std::optional<double> median_step(const JobState& job);

  StragglerSettings settings_;
  std::map<std::string, JobState> jobs_;
  std::vector<StragglerFinding> new_;
  Counts counts_;
  std::size_t windows_ = 0;
  std::uint64_t heard_ = 0;
};

}  // namespace weft::health
