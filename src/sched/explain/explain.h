// Answers about waiting jobs: what binds, who holds what it needs, when it starts, and the smallest changes that start
// it sooner. Each change is tried on a copy of the same scheduler before it is listed: what is said here is what the
// scheduler did, not what a second model of it believes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/core/cluster_fragmentation.h"
#include "sched/core/scheduler.h"
#include "sched/explain/forecast.h"

namespace weft::sched {

enum class ChangeKind : std::uint8_t {
  no_preference,  // do not hold out for the preferred domain
  release,        // of a hold
  fewer_tasks,
  fewer_gpus,  // of each task
  less_cpu,    // likewise
  less_memory,
  shorter_limit,
  wider_domain,  // than the required one
  no_segments,
  other_model,
  any_pool,
  priority,
  quota,
  nodes_return,
  job_ends,
};
[[nodiscard]] std::string_view to_text(ChangeKind kind);

// A limit on what a tenant uses, replaced.
struct TenantLimits {
  TenantId tenant = 0;
  Amounts quota;
  Amounts borrow;
};

struct Change {
  ChangeKind kind = ChangeKind::fewer_tasks;
  std::string what;  // "tasks"
  std::string from;  // "8"
  std::string to;    // "7"
  std::string note;  // who else it concerns: the victims, the lenders
  Moment starts = kNever;
  bool planned = false;        // `starts` is a reservation. Else the start was seen
  std::vector<JobId> victims;  // jobs that are preempted for it
  double size = 0;             // how much is asked of the one who makes it; for the order of the list
  // What is done to the scheduler.
  std::optional<Job> job;
  std::vector<NodeId> nodes;
  std::optional<JobId> ended;
  std::optional<TenantLimits> limits;
};

// Makes the change on a what-if.
void apply(const Change& change, JobId id, Scheduler& what_if, Moment now);

// A running job that holds what the job waits for, or a waiting one that stands before it.
struct Blocker {
  JobId job{};
  std::int64_t gpu_milli = 0;  // of what is wanted; all it asks for where it waits itself
  Moment ends = kNever;        // by its limit; the start of its reservation where it waits itself
  bool waiting = false;
};

enum class Known : std::uint8_t {
  planned,    // its reservation; jobs ahead that wait for quota, or a fair share that changes, may still move it
  forecast,   // seen when all running jobs use their whole limits and nothing new arrives
  never,      // nothing that is to happen starts it
  unlimited,  // it waits on jobs without a limit
  far,        // not within the steps that were looked ahead
};
[[nodiscard]] std::string_view to_text(Known known);

struct Explanation {
  JobId job{};
  Moment now{};
  Reason reason = Reason::none;
  std::string sentence;
  Moment expected = kNever;
  Known known = Known::never;
  std::vector<Blocker> blockers;  // the most important first
  std::vector<Change> changes;    // the best first; every one was tried
  std::uint32_t tried = 0;        // what-ifs made
};

struct ExplainOptions {
  std::size_t most_changes = 5;
  std::size_t most_blockers = 8;
  std::uint32_t most_copies = 24;     // what-ifs
  std::uint32_t most_events = 2'000;  // looked ahead where there is no reservation; 0: no look ahead
  // A reservation is checked by looking ahead where that takes no more steps than this; else it is taken as it is.
  std::uint32_t most_planned_events = 50;
};

// The start that `what_if` gives a waiting job after a decide(now) that gave `decided`: by looking ahead, or by its
// reservation where that lies behind more than `most_planned_events` ends of running jobs.
struct Foreseen {
  Moment start = kNever;
  Known known = Known::never;
};
[[nodiscard]] Foreseen foresee(Scheduler& what_if, JobId id, Moment now, const ExplainOptions& options,
                               Decisions decided);

// A job that does not wait gets Reason::none and an empty list.
[[nodiscard]] Explanation explain(const Scheduler& scheduler, JobId id, Moment now, const ExplainOptions& options = {});
// The reason in one short sentence, without what-ifs.
[[nodiscard]] std::string reason_sentence(const Scheduler& scheduler, const Waiting& waiting, Moment now);
[[nodiscard]] std::vector<Blocker> blockers_of(const Scheduler& scheduler, const Waiting& waiting, Moment now,
                                               std::size_t most);
// The search of explain/changes.cc. `expected`: when it starts as things are.
[[nodiscard]] std::vector<Change> smallest_changes(const Scheduler& scheduler, const Explanation& as_is,
                                                   const ExplainOptions& options, std::uint32_t& tried);

// "in 2 h 5 min", "now", "in 40 s"; "never" for kNever.
[[nodiscard]] std::string text_of_wait(Moment at, Moment now);
// "3 d 4 h", "2 h 5 min", "40 s"; two units at most.
[[nodiscard]] std::string text_of_duration(Duration duration);
// "64", "7.5": GPUs.
[[nodiscard]] std::string text_of_gpus(std::int64_t gpu_milli);

}  // namespace weft::sched
