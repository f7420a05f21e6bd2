#include "sched/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/human_format.h"

namespace weft::sched {
namespace {

struct Free {
  std::int64_t amounts[5] = {};  // GPU-milli, CPU-milli, MiB, functions, GiB of scratch
  std::uint32_t nodes = 0;       // with some of what is requested
};

Free free_for(const State& state, const Request& task) {
  Free free;
  const std::span<const NodeShape> shapes = state.machine().nodes();
  for (std::uint32_t n = 0; n < shapes.size(); ++n) {
    const NodeFree& node = state.free(static_cast<NodeId>(n));
    if (!node.up || !accepts(task, shapes[n])) continue;
    const std::int64_t parts[5] = {node.gpu_total(), node.cpu, node.memory_mib, node.functions, node.scratch_gib};
    for (std::size_t part = 0; part < 5; ++part) free.amounts[part] += parts[part];
    free.nodes += parts[task.gpus > 0 ? 0 : 1] > 0 ? 1U : 0U;
  }
  return free;
}

std::string task_text(const Request& task) {
  if (task.mig.slices > 0) return fmt::format("{} MIG instances of {} slices", task.gpus, task.mig.slices);
  if (task.gpus > 0) return text_of_gpus(task.gpu_total()) + (task.gpu_total() == kWholeGpu ? " GPU" : " GPUs");
  return fmt::format("{:g} CPUs", task.cpu / 1000.0);
}

std::string capacity_sentence(const Scheduler& scheduler, const Job& job) {
  const Free free = free_for(scheduler.state(), job.task);
  const std::int64_t tasks = job.fewest();
  const std::int64_t asked[5] = {job.task.gpu_total() * tasks, job.task.cpu * tasks, job.task.memory_mib * tasks,
                                 job.task.functions * tasks, job.task.scratch_gib * tasks};
  const char* names[5] = {"GPUs", "CPUs", "GiB of memory", "virtual functions", "GiB of scratch"};
  const double units[5] = {1000, 1000, 1024, 1, 1};
  for (std::size_t part = 0; part < 5; ++part) {
    if (free.amounts[part] >= asked[part]) continue;
    const std::string where = part == 0 && free.nodes > 0 ? " on " + plural(free.nodes, "node") : "";
    return fmt::format("waits for capacity: requests {:g} {}, {:g} free{}",
                       static_cast<double>(asked[part]) / units[part], names[part],
                       static_cast<double>(free.amounts[part]) / units[part], where);
  }
  return "waits for capacity";
}

std::int64_t tasks_that_fit(const Scheduler& scheduler, const Job& job, Level level, const State& state) {
  FitIndex index;
  const FitClass& fits = index.of(job.task, state);
  Gang gang = gang_of(job);
  gang.tasks = kMaxTasks;
  gang.required = level;
  return most_tasks(FitView(scheduler.machine(), fits), gang);
}

std::string quota_sentence(const Scheduler& scheduler, const JobRecord& record) {
  const Tenants& tenants = scheduler.tenants();
  const TenantPolicy& policy = tenants.policy(record.tenant);
  const Amounts& used = tenants.used(record.tenant);
  const Amounts asked = amounts_of(record.job.task, record.job.fewest());
  const auto sentence = [&](std::int64_t ask, std::int64_t use, std::int64_t quota, double unit, const char* name) {
    return fmt::format("waits for quota: requests {:g} {}, tenant {} uses {:g} of its quota of {:g}{}",
                       static_cast<double>(ask) / unit, name, record.job.tenant, static_cast<double>(use) / unit,
                       static_cast<double>(quota) / unit,
                       policy.cohort.empty() ? "" : " and cohort " + policy.cohort + " lends no more");
  };
  if (used.gpu_milli + asked.gpu_milli > policy.quota.gpu_milli) {
    return sentence(asked.gpu_milli, used.gpu_milli, policy.quota.gpu_milli, 1000, "GPUs");
  }
  if (used.cpu + asked.cpu > policy.quota.cpu) return sentence(asked.cpu, used.cpu, policy.quota.cpu, 1000, "CPUs");
  return sentence(asked.memory_mib, used.memory_mib, policy.quota.memory_mib, 1024, "GiB of memory");
}

std::string topology_sentence(const Scheduler& scheduler, const Job& job) {
  const State& state = scheduler.state();
  const std::int64_t here = tasks_that_fit(scheduler, job, job.required, state);
  Job loose = job;
  loose.segment = 0;
  const std::int64_t anywhere = tasks_that_fit(scheduler, loose, Level::cluster, state);
  const std::string segments =
      job.segment > 0 ? fmt::format(" in segments of {} within one {}", job.segment, to_text(job.segment_level)) : "";
  return fmt::format(
      "waits for space in one domain: requests {} of {}{}; {} fit in the whole cluster, at most {} in one {}",
      plural(job.fewest(), "task"), task_text(job.task), segments, anywhere, here, to_text(job.required));
}

std::string impossible_sentence(const Scheduler& scheduler, const Job& job) {
  const State empty(scheduler.state().shared_machine());
  const std::int64_t most = tasks_that_fit(scheduler, job, job.required, empty);
  return fmt::format("can never start: requests {} of {}, but an empty {} holds only {}", plural(job.fewest(), "task"),
                     task_text(job.task), to_text(job.required), most);
}

const Reservation* first_other(const Scheduler& scheduler, JobId id, Moment until) {
  for (const Reservation& plan : scheduler.reservations()) {
    if (plan.job != id && plan.start < until) return &plan;
  }
  return nullptr;
}

std::string order_sentence(const Scheduler& scheduler, JobId id, Moment now, const Audience& audience) {
  const std::vector<JobId> first = scheduler.queue(now, 1);
  const std::string name = first.empty() || first[0] == id ? "" : name_job(scheduler.record(first[0]).job, audience);
  if (scheduler.policy().backfill == Backfill::none && !name.empty()) {
    return "fits now; strict queue order keeps it behind " + name;
  }
  return fmt::format("fits now; it is not among the {} jobs that backfill tries after the first blocked job{}",
                     scheduler.policy().backfill_depth, name.empty() ? "" : ", " + name);
}

std::string preference_sentence(const JobRecord& record, Moment now) {
  return fmt::format("fits now, but not in one {}; waits for one for another {}", to_text(record.job.preferred),
                     text_of_duration(record.queued + record.job.preference_wait - now));
}

// Jobs by what they hold, ordered by id.
std::vector<Blocker> holders_on(const Scheduler& scheduler, std::span<const Slot> slots, bool gpus, Moment until) {
  std::map<JobId, std::int64_t> held;
  std::map<NodeId, std::uint16_t> wanted;
  for (const Slot& slot : slots) wanted[slot.node] = static_cast<std::uint16_t>(wanted[slot.node] | slot.gpus);
  for (const auto& [node, mask] : wanted) {
    for (const Tenancy& task : scheduler.state().tasks_on(node)) {
      const JobRecord& record = scheduler.record(task.job);
      if (record.ends() > until) continue;
      if (gpus && record.job.task.gpus > 0 && (record.placement.slots[task.task].gpus & mask) == 0) continue;
      held[task.job] += record.job.task.gpu_total();
    }
  }
  std::vector<Blocker> blockers;
  for (const auto& [id, milli] : held) {
    const JobRecord& record = scheduler.record(id);
    blockers.push_back({id, milli, record.phase == JobPhase::stopping ? record.stops_by : record.ends(), false});
  }
  return blockers;
}

template <class Keep>
std::vector<Blocker> running_that(const Scheduler& scheduler, const Keep& keep) {
  std::vector<Blocker> blockers;
  for (const JobId id : scheduler.running()) {
    const JobRecord& record = scheduler.record(id);
    if (!keep(record)) continue;
    blockers.push_back({id, std::int64_t{record.job.task.gpu_total()} * record.running_tasks(),
                        record.phase == JobPhase::stopping ? record.stops_by : record.ends(), false});
  }
  return blockers;
}

// Leaves the `most` first ones, with one entry for all that the audience must not see: their number and order would
// tell how much others run.
std::vector<Blocker> limit_to(const Scheduler& scheduler, std::vector<Blocker> all, std::size_t most,
                              const Audience& audience) {
  std::vector<Blocker> shown;
  bool foreign = false;
  bool waiting = false;
  for (Blocker& blocker : all) {
    if (!audience.sees(scheduler.record(*blocker.job).job)) {
      foreign = true;
      waiting = blocker.waiting;
    } else if (shown.size() < most) {
      shown.push_back(blocker);
    }
  }
  if (foreign) shown.push_back({std::nullopt, 0, kNever, waiting});
  return shown;
}

bool sooner(const Blocker& a, const Blocker& b) { return a.ends != b.ends ? a.ends < b.ends : a.job < b.job; }
bool later(const Blocker& a, const Blocker& b) { return a.ends != b.ends ? a.ends > b.ends : a.job < b.job; }

std::vector<Blocker> holders(const Scheduler& scheduler, JobId id) {
  const Job& job = scheduler.record(id).job;
  if (const Reservation* plan = scheduler.reservation_of(id)) {
    std::vector<Blocker> found = holders_on(scheduler, plan->placement.slots, job.task.gpus > 0, plan->start);
    std::sort(found.begin(), found.end(), later);  // the last to end determines the start
    return found;
  }
  std::vector<Blocker> found = running_that(scheduler, [&](const JobRecord& record) {
    return !record.placement.slots.empty() &&
           accepts(job.task, scheduler.machine().node(record.placement.slots[0].node)) &&
           (job.task.gpus == 0 || record.job.task.gpus > 0);
  });
  std::sort(found.begin(), found.end(), sooner);
  return found;
}

}  // namespace

std::string_view to_text(ChangeKind kind) {
  constexpr std::string_view names[] = {"no-preference", "release",       "fewer-tasks",  "fewer-gpus",   "less-cpu",
                                        "less-memory",   "shorter-limit", "wider-domain", "no-segments",  "other-model",
                                        "any-pool",      "priority",      "quota",        "nodes-return", "job-ends"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_text(Known known) {
  constexpr std::string_view names[] = {"planned", "forecast", "never", "unlimited", "far"};
  return names[static_cast<std::size_t>(known)];
}

std::string text_of_gpus(std::int64_t gpu_milli) {
  return fmt::format("{:g}", static_cast<double>(gpu_milli) / 1000.0);
}

std::string text_of_duration(Duration duration) {
  if (duration == kUnlimited) return "unlimited";
  return format_duration(duration);
}

std::string text_of_wait(Moment at, Moment now) {
  if (at == kNever) return "never";
  return at <= now ? "now" : "in " + text_of_duration(at - now);
}

std::string name_job(const Job& job, const Audience& audience) {
  return audience.sees(job) ? "job " + job.name : std::string(kForeignJob);
}

std::string reason_sentence(const Scheduler& scheduler, const Waiting& waiting, Moment now, const Audience& audience) {
  const JobRecord& record = scheduler.record(waiting.job);
  const Job& job = record.job;
  switch (waiting.reason) {
    case Reason::none:
      return record.phase == JobPhase::done ? "has ended" : "runs";
    case Reason::malformed:
      return problem_of(job);
    case Reason::impossible:
      return impossible_sentence(scheduler, job);
    case Reason::held:
      return "held: may start " + text_of_wait(record.not_before, now) + " at the earliest";
    case Reason::nodes_down:
      return fmt::format("waits for nodes: {} of {} are down; it would fit if they were up", scheduler.nodes_lost(),
                         scheduler.machine().nodes().size());
    case Reason::quota:
      return quota_sentence(scheduler, record);
    case Reason::capacity:
      return capacity_sentence(scheduler, job);
    case Reason::fragmented:
      return fmt::format(
          "waits because of fragmentation: requests {} GPUs, {} are free, but of its tasks of {} only {} of {} fit",
          text_of_gpus(std::int64_t{job.task.gpu_total()} * job.fewest()),
          text_of_gpus(free_for(scheduler.state(), job.task).amounts[0]), task_text(job.task),
          [&] {
            Job loose = job;
            loose.segment = 0;
            return tasks_that_fit(scheduler, loose, Level::cluster, scheduler.state());
          }(),
          job.fewest());
    case Reason::topology:
      return topology_sentence(scheduler, job);
    case Reason::preference:
      return preference_sentence(record, now);
    case Reason::barred:
      return "fits now, but only on nodes that are reserved for maintenance before it would end, or that it must not "
             "use";
    case Reason::reserved: {
      const Reservation* plan = first_other(scheduler, waiting.job, now + job.limit);
      if (plan == nullptr) return "fits now, but would delay a job ahead of it";
      const Job& delayed = scheduler.record(plan->job).job;
      return fmt::format("fits now, but would delay {}, which has a reservation{}", name_job(delayed, audience),
                         audience.sees(delayed) ? " to start " + text_of_wait(plan->start, now) : "");
    }
    case Reason::order:
      return order_sentence(scheduler, waiting.job, now, audience);
    case Reason::preempting:
      return "preemption is under way: jobs of lower rank are being stopped";
  }
  return "?";
}

namespace {

std::vector<Blocker> all_blockers(const Scheduler& scheduler, const Waiting& waiting, Moment now) {
  const JobId id = waiting.job;
  const JobRecord& record = scheduler.record(id);
  std::vector<Blocker> blockers;
  switch (waiting.reason) {
    case Reason::reserved:
      for (const Reservation& plan : scheduler.reservations()) {
        if (plan.job == id || plan.start >= now + record.job.limit) continue;
        blockers.push_back({plan.job, scheduler.record(plan.job).job.gpu_milli(), plan.start, true});
      }
      break;
    case Reason::order:
      for (const JobId first : scheduler.queue(now, 1)) {
        const Reservation* plan = scheduler.reservation_of(first);
        if (first == id) continue;
        blockers.push_back({first, scheduler.record(first).job.gpu_milli(), plan ? plan->start : kNever, true});
      }
      break;
    case Reason::quota: {
      const std::vector<TenantId>& cohort = scheduler.tenants().cohort_of(record.tenant);
      blockers = running_that(scheduler, [&](const JobRecord& other) {
        if (other.tenant == record.tenant) return true;
        return other.charge != Charge::guaranteed &&
               std::find(cohort.begin(), cohort.end(), other.tenant) != cohort.end();
      });
      std::sort(blockers.begin(), blockers.end(), sooner);
      break;
    }
    case Reason::preempting:
      blockers = running_that(
          scheduler, [&](const JobRecord& other) { return other.being_preempted && other.preempted_by == id; });
      std::sort(blockers.begin(), blockers.end(), later);
      break;
    case Reason::capacity:
    case Reason::fragmented:
    case Reason::topology:
    case Reason::nodes_down:
      blockers = holders(scheduler, id);
      break;
    default:
      break;
  }
  return blockers;
}

}  // namespace

std::vector<Blocker> blockers_of(const Scheduler& scheduler, const Waiting& waiting, Moment now, std::size_t most,
                                 const Audience& audience) {
  return limit_to(scheduler, all_blockers(scheduler, waiting, now), most, audience);
}

Foreseen foresee(Scheduler& what_if, JobId id, Moment now, const ExplainOptions& options, Decisions decided) {
  std::uint32_t most_events = options.most_events;
  if (const Reservation* plan = what_if.reservation_of(id)) {
    if (what_if.ends_by(plan->start, options.most_planned_events + 1) > options.most_planned_events) {
      return {plan->start, Known::planned};
    }
    most_events = std::max(most_events, 2 * options.most_planned_events);
  }
  if (most_events == 0) return {kNever, Known::far};
  const Forecast forecast = play_on(what_if, id, now, most_events, std::move(decided));
  switch (forecast.end) {
    case ForecastEnd::started:
      return {forecast.start_of(id), Known::forecast};
    case ForecastEnd::settled:
      return {kNever, Known::never};
    case ForecastEnd::unlimited:
      return {kNever, Known::unlimited};
    case ForecastEnd::cut:
      break;
  }
  return {kNever, Known::far};
}

namespace {

// `blockers`: all of them.
void find_start(const Scheduler& scheduler, const ExplainOptions& options, Explanation& result,
                std::vector<Blocker>& blockers) {
  if (result.reason == Reason::impossible || result.reason == Reason::malformed) return;
  const Reservation* plan = scheduler.reservation_of(result.job);
  if (plan != nullptr &&
      scheduler.ends_by(plan->start, options.most_planned_events + 1) > options.most_planned_events) {
    result.expected = plan->start;
    result.known = Known::planned;
    return;
  }
  Scheduler what_if = scheduler;
  ++result.tried;
  const Foreseen foreseen = foresee(what_if, result.job, result.now, options, what_if.decide(result.now));
  result.expected = foreseen.start;
  result.known = foreseen.known;
  const bool room = result.reason == Reason::capacity || result.reason == Reason::fragmented ||
                    result.reason == Reason::topology || result.reason == Reason::nodes_down;
  if (foreseen.known != Known::forecast || !room) return;
  // The simulated start shows more accurately than the plan which job's end it waits for.
  const JobRecord& started = what_if.record(result.job);
  std::vector<Blocker> found =
      holders_on(scheduler, started.placement.slots, started.job.task.gpus > 0, foreseen.start);
  if (found.empty()) return;
  std::sort(found.begin(), found.end(), later);
  blockers = std::move(found);
}

std::string start_text(const Scheduler& scheduler, const Explanation& result, const std::vector<Blocker>& blockers,
                       const Audience& audience) {
  switch (result.known) {
    case Known::planned:
    case Known::forecast: {
      const Job* last = nullptr;
      for (const Blocker& blocker : blockers) {
        if (blocker.waiting || blocker.ends != result.expected) continue;
        const Job& job = scheduler.record(*blocker.job).job;
        if (last == nullptr || audience.sees(job)) last = &job;
      }
      return fmt::format(
          "; starts {}{}{}", text_of_wait(result.expected, result.now),
          result.known == Known::planned ? " as planned" : " if all running jobs run until their time limits",
          last == nullptr ? "" : ", when " + name_job(*last, audience) + " ends");
    }
    case Known::never:
      return "; no end of a running job would start it";
    case Known::unlimited:
      return "; start unknown: jobs without a time limit hold the resources";
    case Known::far:
      return "; start is beyond the forecast";
  }
  return {};
}

}  // namespace

Explanation explain(const Scheduler& scheduler, JobId id, Moment now, const ExplainOptions& options) {
  Explanation result;
  result.job = id;
  result.now = now;
  const Waiting waiting = scheduler.why(id, now);
  result.reason = waiting.reason;
  result.sentence = reason_sentence(scheduler, waiting, now, options.audience);
  if (waiting.reason == Reason::none) return result;
  std::vector<Blocker> blockers = all_blockers(scheduler, waiting, now);
  find_start(scheduler, options, result, blockers);
  if (options.audience.is_everyone() && blockers.size() > options.most_blockers) blockers.resize(options.most_blockers);
  if (waiting.reason != Reason::impossible)
    result.sentence += start_text(scheduler, result, blockers, options.audience);
  result.blockers = limit_to(scheduler, std::move(blockers), options.most_blockers, options.audience);
  if (options.most_changes > 0) result.changes = smallest_changes(scheduler, result, options, result.tried);
  return result;
}

}  // namespace weft::sched
