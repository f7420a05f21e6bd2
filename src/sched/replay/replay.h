// Trace replay: runs a trace through the scheduler in virtual time. Jobs arrive, the scheduler decides, jobs end after
// their recorded run time (or as long as a model predicts for their placement), nodes fail and recover. Event-driven,
// deterministic, no clock. The measurements are in ReplayResult; replay/view.h presents them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sched/core/cluster_fragmentation.h"
#include "sched/core/scheduler.h"
#include "sched/traces/workload.h"

namespace weft::sched {

struct NodeFailure {
  NodeId node{};
  Moment down{};
  Moment up = kNever;
};

struct ReplayOptions {
  Policy policy;
  std::vector<TenantPolicy> tenants;
  std::vector<NodeFailure> failures;
  bool kill_at_limit = true;  // as schedulers do; false: a job that exceeds its limit keeps running
  // Run time with this placement relative to the trace (1: the same). None: always 1.
  std::function<double(const Job& job, const Machine& machine, const Placement& placement)> pace;
  Duration sample_every = seconds(600);
  bool keep_nodes = false;  // fill JobOutcome::nodes
};

struct JobOutcome {
  Moment submitted{};
  Moment first_start = kNever;  // kNever: it never started
  Moment end = kNever;
  Duration waited{};            // total, including after preemptions
  double gpu_seconds = 0;       // held, useful or not
  double lost_gpu_seconds = 0;  // work repeated after preemptions and failures
  std::uint32_t preemptions = 0;
  std::uint32_t failures = 0;  // number of requeues because of lost nodes
  std::int32_t tasks = 0;      // of the last run
  Level level = Level::node;   // how widely the last run was spread
  bool backfilled = false;
  bool killed = false;                 // at its limit
  Reason first_reason = Reason::none;  // why it did not start immediately
  std::vector<NodeId> nodes;           // of the last run, each once, in rank order; with keep_nodes
};

// GPU counts are means since the previous sample; the rest is the value at `at`.
struct Sample {
  Moment at{};
  std::int64_t used_gpu_milli = 0;
  std::int64_t up_gpu_milli = 0;
  std::int64_t waiting_gpu_milli = 0;
  std::uint32_t waiting_jobs = 0;
  std::uint32_t running_jobs = 0;
  std::uint32_t fragment_permille = 0;  // of the idle GPUs: cannot serve the job that has waited longest
  std::uint32_t score_permille = 0;     // ClusterFragmentation, for the sizes the machine is designed for
  // Jain's index, in thousandths, of GPUs in use over weight of the tenants that have work waiting; 0: fewer than two.
  std::uint32_t fairness_permille = 0;
};

// Integrals over the replay, exact to the event.
struct ReplaySums {
  double used_gpu_seconds = 0;
  double up_gpu_seconds = 0;
  double idle_waiting_gpu_seconds = 0;  // of GPUs idle while a job waited that fits an empty machine
  double waiting_seconds = 0;           // time in which such a job waited
  double enough_seconds = 0;  // and at least as many GPUs were idle, in total, as one of the waiting jobs requests
  double oldest_enough_seconds = 0;  // same, for the job that has waited longest
};

struct ReplayResult {
  std::vector<JobOutcome> jobs;  // in workload order
  std::vector<Sample> samples;
  Moment begin{};
  Moment end{};  // of the last job
  ReplaySums sums;
  Moment last_submission{};
  ReplaySums arriving;  // the sums up to the last submission: without the tail in which the machine drains
  std::uint64_t decisions = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t moves = 0;
  std::uint64_t resizes = 0;
  std::uint64_t never_started = 0;
  std::uint64_t hash = 0;  // of every start, stop and end in order: equal runs have equal hashes
};

class Replay {
 public:
  Replay(const std::shared_ptr<const Machine>& machine, std::span<const Job> jobs, ReplayOptions options);

  // Processes every event up to and including `until`. False if no events are left.
  bool run_until(Moment until);
  [[nodiscard]] Moment now() const { return now_; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  // The scheduler's id of a job of the workload; only for submitted jobs. Ids are assigned in order of submission.
  [[nodiscard]] JobId id_of(std::size_t job) const { return static_cast<JobId>(job); }
  // The result so far.
  [[nodiscard]] ReplayResult result() const;

 private:
  // Order of events at the same moment: those that free resources come before those that take them.
  enum class EventKind : std::uint8_t { end, stop, node_up, node_down };
  struct Event {
    Moment at{};
    EventKind kind = EventKind::end;
    std::uint64_t sequence = 0;
    std::uint32_t index = 0;    // of the job or the node
    std::uint32_t version = 0;  // of the job's run: events of other runs are ignored
    bool operator>(const Event& other) const {
      if (at != other.at) return at > other.at;
      return kind != other.kind ? kind > other.kind : sequence > other.sequence;
    }
  };
  using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;
  // Progress of a job. Work is measured in time at the pace of the trace with all tasks.
  struct Course {
    Duration done{};        // work finished at `since`
    Duration safe{};        // work saved by the last checkpoint
    Duration startup{};     // from `since` on, before it makes progress
    Duration limit_left{};  // at `since`, for all tasks
    Moment since{};         // pace and size are constant from here on
    Moment works_from{};    // checkpoints are multiples of the interval after this
    Moment reported{};      // the last checkpoint reported to the scheduler
    Moment queued{};
    double pace = 1;
    std::int64_t held_milli = 0;  // GPUs held
    std::int32_t tasks = 0;       // running
    std::uint32_t ends = 0;       // version of end events
    std::uint32_t runs = 0;       // version of stop events
    bool running = false;
    bool ends_by_limit = false;
    bool hopeless = false;  // will never fit
  };
  struct Checkpoint {
    Moment at{};
    std::uint32_t job = 0;
    std::uint32_t run = 0;
    bool operator>(const Checkpoint& other) const { return at != other.at ? at > other.at : job > other.job; }
  };

  // replay/replay.cc: events and decisions
  [[nodiscard]] Moment next_moment();
  void play(Moment at);
  void handle(const Event& event, std::vector<NodeId>& lost);
  void arrive();
  void push(Moment at, EventKind kind, std::uint32_t index, std::uint32_t version);
  void decide();
  void apply(const Start& start);
  void apply(const Move& move);
  void apply(const Resize& resize);
  void repair(const std::vector<NodeId>& lost);
  void note_reasons();
  void mix(EventKind kind, std::uint32_t job, std::uint64_t more);

  // replay/course.cc: progress of a job
  void begin_run(std::uint32_t job);
  void end_run(std::uint32_t job, bool finished);
  void settle(std::uint32_t job);        // advances the job's progress to now
  void schedule_end(std::uint32_t job);  // after every change of pace or size
  void fall_back(std::uint32_t job);     // to the last checkpoint; counts what is lost
  void look_at_placement(std::uint32_t job);
  void report_checkpoints();

  // replay/books.cc: sums and samples
  void advance(Moment to);
  void count(double span);
  void take_sample(Moment at);
  void wait(std::uint32_t job);
  void wait_no_more(std::uint32_t job);
  [[nodiscard]] std::uint32_t fragments() const;
  [[nodiscard]] std::uint32_t fairness() const;

  Scheduler scheduler_;
  std::span<const Job> jobs_;
  ReplayOptions options_;
  Moment now_{};
  Moment wake_ = kNever;
  Events events_;
  std::uint64_t sequence_ = 0;
  std::size_t arrived_ = 0;  // jobs
  std::vector<Course> courses_;
  std::vector<std::uint32_t> down_;   // by node: number of active failures
  std::vector<std::uint32_t> fresh_;  // arrived at the current moment
  std::priority_queue<Checkpoint, std::vector<Checkpoint>, std::greater<>> checkpoints_;

  ReplayResult so_far_;
  std::set<std::uint32_t> waiting_;                // jobs that can start eventually, oldest first
  std::map<std::int64_t, std::uint32_t> demands_;  // of those, in thousandths of a GPU
  std::vector<std::uint32_t> waiting_of_;          // of those, by tenant
  std::int64_t waiting_milli_ = 0;
  std::int64_t used_milli_ = 0;
  ClusterFragmentation fragmentation_;
  Duration sample_every_{};
  Moment sampled_{};
  ReplaySums at_sample_;
  double waiting_gpu_seconds_ = 0;
  double waiting_at_sample_ = 0;
};

// The whole trace.
[[nodiscard]] ReplayResult replay(const std::shared_ptr<const Machine>& machine, std::span<const Job> jobs,
                                  const ReplayOptions& options);

}  // namespace weft::sched
