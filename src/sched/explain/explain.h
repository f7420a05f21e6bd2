// Explains waiting jobs: the binding constraint, which jobs hold the resources, when it starts, and the smallest
// changes that start it sooner. Each change is tested on a copy of the same scheduler before it is listed, so the
// results are the scheduler's own behavior, not that of a second model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/core/cluster_fragmentation.h"
#include "sched/core/scheduler.h"
#include "sched/explain/forecast.h"

namespace weft::sched {

// Whose jobs an explanation may name. Of the others it says that they exist, and nothing that tells one from another:
// no name, tenant, number of them, GPUs or end. Texts and lists are made for the audience; nothing is removed later.
struct Audience {
  std::function<bool(const Job&)> sees_job;                  // none: all
  std::function<bool(std::string_view tenant)> sees_tenant;  // likewise
  [[nodiscard]] bool is_everyone() const { return !sees_job && !sees_tenant; }
  [[nodiscard]] bool sees(const Job& job) const { return !sees_job || sees_job(job); }
};
inline constexpr std::string_view kForeignJob = "a job of another tenant";
inline constexpr std::string_view kForeignJobs = "a job of another tenant, or several";

enum class ChangeKind : std::uint8_t {
  no_preference,  // do not wait for the preferred domain
  release,        // end a hold
  fewer_tasks,
  fewer_gpus,  // per task
  less_cpu,    // per task
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

// Replacement for a tenant's limits.
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
  std::string note;  // who else is affected: the victims, the lenders
  Moment starts = kNever;
  bool planned = false;        // `starts` is from a reservation; otherwise the start was simulated
  std::vector<JobId> victims;  // jobs that are preempted for it; those of the audience
  bool foreign_victims = false;
  double size = 0;  // effort of the change; for sorting
  // The change to the scheduler.
  std::optional<Job> job;
  std::vector<NodeId> nodes;
  std::optional<JobId> ended;
  std::optional<TenantLimits> limits;
};

// Applies the change to a what-if.
void apply(const Change& change, JobId id, Scheduler& what_if, Moment now);

// A running job that holds resources the job waits for, or a waiting one ahead of it. All that the audience must not
// see are one entry without a job.
struct Blocker {
  std::optional<JobId> job;
  std::int64_t gpu_milli = 0;  // of the wanted resources; its whole request if it is waiting itself
  Moment ends = kNever;        // by its limit; the start of its reservation if it is waiting itself
  bool waiting = false;
};

enum class Known : std::uint8_t {
  planned,    // its reservation; jobs ahead that wait for quota, or a changing fair share, may still move it
  forecast,   // simulated with all running jobs using their whole limits and no new arrivals
  never,      // no future event starts it
  unlimited,  // it waits on jobs without a limit
  far,        // not within the simulated events
};
[[nodiscard]] std::string_view to_text(Known known);

struct Explanation {
  JobId job{};
  Moment now{};
  Reason reason = Reason::none;
  std::string sentence;
  Moment expected = kNever;
  Known known = Known::never;
  std::vector<Blocker> blockers;  // most important first
  std::vector<Change> changes;    // best first; each was tested
  std::uint32_t tried = 0;        // what-ifs tested
};

struct ExplainOptions {
  std::size_t most_changes = 5;
  std::size_t most_blockers = 8;
  std::uint32_t most_copies = 24;     // maximum number of what-ifs
  std::uint32_t most_events = 2'000;  // forecast limit without a reservation; 0: no forecast
  // A reservation is verified by a forecast if that takes at most this many events; otherwise it is used as is.
  std::uint32_t most_planned_events = 50;
  Audience audience{};
};

// The start of a waiting job in `what_if` after a decide(now) that returned `decided`: by forecast, or from its
// reservation if more than `most_planned_events` running jobs end before that.
struct Foreseen {
  Moment start = kNever;
  Known known = Known::never;
};
[[nodiscard]] Foreseen foresee(Scheduler& what_if, JobId id, Moment now, const ExplainOptions& options,
                               Decisions decided);

// A job that is not waiting gets Reason::none and an empty list.
[[nodiscard]] Explanation explain(const Scheduler& scheduler, JobId id, Moment now, const ExplainOptions& options = {});
// The reason in one short sentence, without what-ifs.
[[nodiscard]] std::string reason_sentence(const Scheduler& scheduler, const Waiting& waiting, Moment now,
                                          const Audience& audience = {});
[[nodiscard]] std::vector<Blocker> blockers_of(const Scheduler& scheduler, const Waiting& waiting, Moment now,
                                               std::size_t most, const Audience& audience = {});
// "job train", or what the audience may know of it.
[[nodiscard]] std::string name_job(const Job& job, const Audience& audience);
// The search of explain/changes.cc. `expected`: its start without any change.
[[nodiscard]] std::vector<Change> smallest_changes(const Scheduler& scheduler, const Explanation& as_is,
                                                   const ExplainOptions& options, std::uint32_t& tried);

// "in 2 h 5 min", "now", "in 40 s"; "never" for kNever.
[[nodiscard]] std::string text_of_wait(Moment at, Moment now);
// "3 d 4 h", "2 h 5 min", "40 s"; two units at most.
[[nodiscard]] std::string text_of_duration(Duration duration);
// "64", "7.5": GPUs.
[[nodiscard]] std::string text_of_gpus(std::int64_t gpu_milli);

}  // namespace weft::sched
