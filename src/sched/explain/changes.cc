// Search for the smallest changes that start a waiting job sooner. The placement counts of the scheduler select the
// candidates (cheap: no copy); each candidate is then verified on a copy of the scheduler.
//
// Two moments are considered: now, and half of the current wait. A change that neither starts the job at once nor
// halves its wait is not worth reporting.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "sched/explain/explain.h"

namespace weft::sched {
namespace {

// Cost of each kind of change, for sorting: first what the job's owner can easily do, then what costs the job
// something, last what needs others (an operator, a tenant, another job). Added to the fraction of the request that is
// given up, so the total is between 0 and 2.
double base_size(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::no_preference:
    case ChangeKind::release:
      return 0.0;
    case ChangeKind::less_cpu:
    case ChangeKind::less_memory:
      return 0.05;
    case ChangeKind::wider_domain:
    case ChangeKind::no_segments:
    case ChangeKind::other_model:
    case ChangeKind::any_pool:
    case ChangeKind::shorter_limit:
    case ChangeKind::fewer_tasks:
      return 0.1;
    case ChangeKind::fewer_gpus:
      return 0.2;
    case ChangeKind::quota:
    case ChangeKind::nodes_return:
    case ChangeKind::job_ends:
      return 0.9;
    case ChangeKind::priority:
      return 1.0;
  }
  return 1.0;
}

constexpr std::size_t kMaxGroups = 200;      // groups of nodes considered, smallest first
constexpr std::size_t kMaxEnds = 400;        // running jobs whose end is considered
constexpr std::size_t kMaxVictims = 32;      // stopping more jobs than this is not a small change
constexpr std::uint32_t kVictimEvents = 64;  // events within which the victims of a preemption must have stopped

class ChangeSearch {
 public:
  ChangeSearch(const Scheduler& scheduler, const Explanation& as_is, const ExplainOptions& options,
               std::uint32_t& tried)
      : scheduler_(scheduler),
        as_is_(as_is),
        options_(options),
        tried_(tried),
        job_(scheduler.record(as_is.job).job),
        now_(as_is.now),
        // If no start is known, any start is an improvement: evaluated after everything with a limit has ended.
        half_(as_is.expected == kNever ? Moment(kNever.count() - 1)
                                       : as_is.now + Duration((as_is.expected - as_is.now).count() / 2)),
        present_(scheduler, as_is.now, as_is.now),
        later_(scheduler, as_is.now, half_) {}

  std::vector<Change> run() {
    waiting_changes();
    where_changes();
    amount_changes(now_, present_);
    limit_change();
    quota_change();
    nodes_change();
    end_change();
    priority_change();
    if (half_ > now_ && as_is_.reason != Reason::quota) amount_changes(half_, later_);
    std::stable_sort(found_.begin(), found_.end(), [](const Change& a, const Change& b) {
      return a.starts != b.starts ? a.starts < b.starts : a.size < b.size;
    });
    std::set<ChangeKind> seen;  // per kind, the one that starts first
    std::vector<Change> best;
    for (Change& change : found_) {
      if (best.size() < options_.most_changes && seen.insert(change.kind).second) best.push_back(std::move(change));
    }
    return best;
  }

 private:
  [[nodiscard]] bool has(ChangeKind kind) const {
    return std::any_of(found_.begin(), found_.end(), [&](const Change& change) { return change.kind == kind; });
  }
  [[nodiscard]] bool promising(const Job& job, Scheduler::Outlook& outlook) const {
    return scheduler_.reason_for(as_is_.job, job, now_, outlook) == Reason::none;
  }
  [[nodiscard]] Change change_of(ChangeKind kind, std::string what, std::string from, std::string to,
                                 double part) const {
    Change change;
    change.kind = kind;
    change.what = std::move(what);
    change.from = std::move(from);
    change.to = std::move(to);
    change.size = base_size(kind) + part;
    return change;
  }

  // Applies the change to a copy. True: it starts the job at once, or halves the wait, and is listed.
  bool verify(Change change, bool must_be_now = false) {
    if (tried_ >= options_.most_copies) return false;
    ++tried_;
    Scheduler what_if = scheduler_;
    const JobId id = as_is_.job;
    apply(change, id, what_if, now_);
    Decisions decisions = what_if.decide(now_);
    bool told = false;  // others, to free resources
    for (const Preempt& preempt : decisions.preempts) {
      if (preempt.by != id) continue;
      if (options_.audience.sees(scheduler_.record(preempt.victim).job)) {
        change.victims.push_back(preempt.victim);
      } else {
        change.foreign_victims = true;
      }
      told = true;
    }
    if (what_if.record(id).phase == JobPhase::running) {
      change.starts = now_;
    } else if (told) {
      change.starts = play_on(what_if, id, now_, kVictimEvents, std::move(decisions)).start_of(id);
    } else if (const Reservation* plan = what_if.reservation_of(id); plan != nullptr && plan->start <= half_) {
      const Foreseen foreseen = foresee(what_if, id, now_, options_, std::move(decisions));
      change.starts = foreseen.start;
      change.planned = foreseen.known == Known::planned;
    }
    if (change.starts > (must_be_now ? now_ : half_)) return false;
    found_.push_back(std::move(change));
    return true;
  }
  bool verify_job(Change change, Job job, bool must_be_now = false) {
    change.job = std::move(job);
    return verify(std::move(change), must_be_now);
  }

  void waiting_changes();
  void where_changes();
  void wider_domain();
  void other_models();
  void amount_changes(Moment at, Scheduler::Outlook& outlook);
  void fewer_tasks(Moment at, Scheduler::Outlook& outlook);
  void less_of_a_task(ChangeKind kind, Moment at, Scheduler::Outlook& outlook);
  void limit_change();
  void quota_change();
  void nodes_change();
  void end_change();
  void priority_change();
  [[nodiscard]] bool fits_with(const std::vector<std::pair<NodeId, NodeFree>>& changed);

  const Scheduler& scheduler_;
  const Explanation& as_is_;
  const ExplainOptions& options_;
  std::uint32_t& tried_;
  const Job& job_;
  Moment now_;
  Moment half_;
  mutable Scheduler::Outlook present_;
  mutable Scheduler::Outlook later_;
  std::vector<Change> found_;
};

void ChangeSearch::waiting_changes() {
  if (as_is_.reason == Reason::preference) {
    Job job = job_;
    job.preference_wait = Duration{};
    verify_job(change_of(ChangeKind::no_preference, "time to wait for one " + std::string(to_text(job_.preferred)),
                         text_of_duration(job_.preference_wait), "0 s", 0),
               std::move(job));
  }
  if (as_is_.reason == Reason::held) {
    verify(
        change_of(ChangeKind::release, "held", text_of_wait(scheduler_.record(as_is_.job).not_before, now_), "no", 0));
  }
}

void ChangeSearch::where_changes() {
  wider_domain();
  if (job_.segment > 0) {
    Job job = job_;
    job.segment = 0;
    if (promising(job, present_) || promising(job, later_)) {
      verify_job(change_of(ChangeKind::no_segments, "segments",
                           fmt::format("{} tasks in one {}", job_.segment, to_text(job_.segment_level)), "none", 0.2),
                 std::move(job));
    }
  }
  other_models();
  if (job_.task.pools != 0) {
    Job job = job_;
    job.task.pools = 0;
    if (promising(job, present_) || promising(job, later_)) {
      verify_job(change_of(ChangeKind::any_pool, "pool", "as requested", "any", 0.2), std::move(job));
    }
  }
}

// One level at a time: the first that starts it now, else the first that halves the wait.
void ChangeSearch::wider_domain() {
  for (Scheduler::Outlook* outlook : {&present_, &later_}) {
    if (has(ChangeKind::wider_domain) || (outlook == &later_ && half_ <= now_)) return;
    int step = 0;
    for (std::size_t level = static_cast<std::size_t>(job_.required) + 1; level < kLevels; ++level) {
      const auto wider = static_cast<Level>(level);
      if (wider != Level::cluster && !scheduler_.machine().distinct(wider)) continue;
      ++step;
      Job job = job_;
      job.required = wider;
      if (!promising(job, *outlook)) continue;
      const std::string to = wider == Level::cluster ? "none" : std::string(to_text(wider));
      if (verify_job(change_of(ChangeKind::wider_domain, "required domain", std::string(to_text(job_.required)), to,
                               0.1 * step),
                     std::move(job))) {
        return;
      }
    }
  }
}

void ChangeSearch::other_models() {
  if (job_.task.models == 0) return;
  const std::vector<std::string>& models = scheduler_.machine().models;
  std::string from;
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (((job_.task.models >> m) & 1U) != 0) from += (from.empty() ? "" : " or ") + models[m];
  }
  for (std::size_t m = 0; m <= models.size(); ++m) {
    const bool any = m == models.size();
    if (!any && ((job_.task.models >> m) & 1U) != 0) continue;
    Job job = job_;
    job.task.models = any ? 0 : std::uint64_t{1} << m;
    if (!promising(job, present_) && !promising(job, later_)) continue;
    if (verify_job(change_of(ChangeKind::other_model, "GPU model", from, any ? "any" : models[m], any ? 0.2 : 0.1),
                   std::move(job))) {
      return;
    }
  }
}

void ChangeSearch::amount_changes(Moment at, Scheduler::Outlook& outlook) {
  fewer_tasks(at, outlook);
  if (job_.task.gpus > 1) less_of_a_task(ChangeKind::fewer_gpus, at, outlook);
  if (job_.task.cpu > 0) less_of_a_task(ChangeKind::less_cpu, at, outlook);
  if (job_.task.memory_mib > 0) less_of_a_task(ChangeKind::less_memory, at, outlook);
}

// The most tasks that can start: fewer tasks fit wherever more do.
void ChangeSearch::fewer_tasks(Moment at, Scheduler::Outlook& outlook) {
  if (has(ChangeKind::fewer_tasks)) return;
  const std::int32_t step = std::max(1, job_.segment);
  const auto with = [&](std::int32_t tasks) {
    Job job = job_;
    if (job.min_tasks > 0) {
      job.min_tasks = tasks;
    } else {
      job.tasks = tasks;
    }
    return job;
  };
  std::int32_t low = 0;  // in steps; can start
  std::int32_t high = job_.fewest() / step;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (promising(with(middle * step), outlook) ? low : high) = middle;
  }
  if (low == 0) return;
  const double part = 1 - static_cast<double>(low * step) / job_.fewest();
  const bool nodes = scheduler_.machine().nodes().size() > 0 && job_.task.whole_gpus() &&
                     job_.task.gpus == scheduler_.machine().nodes()[0].gpus;
  verify_job(change_of(ChangeKind::fewer_tasks,
                       job_.min_tasks > 0 ? "minimum number of tasks" : (nodes ? "tasks (one per node)" : "tasks"),
                       std::to_string(job_.fewest()), std::to_string(low * step), part),
             with(low * step), at <= now_);
}

// The largest amount of one resource per task with which it can start.
void ChangeSearch::less_of_a_task(ChangeKind kind, Moment at, Scheduler::Outlook& outlook) {
  if (has(kind)) return;
  const std::int32_t unit = kind == ChangeKind::fewer_gpus ? 1 : (kind == ChangeKind::less_cpu ? 1000 : 1024);
  const auto part = [&](Job& job) -> std::int32_t& {
    if (kind == ChangeKind::fewer_gpus) return job.task.gpus;
    return kind == ChangeKind::less_cpu ? job.task.cpu : job.task.memory_mib;
  };
  const auto with = [&](std::int32_t units) {
    Job job = job_;
    part(job) = units * unit;
    return job;
  };
  Job as_asked = job_;
  const std::int32_t asked = part(as_asked);
  std::int32_t high = (asked + unit - 1) / unit;
  std::int32_t low = 1;
  if (high <= low || !promising(with(low), outlook)) return;  // another constraint binds
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (promising(with(middle), outlook) ? low : high) = middle;
  }
  const char* names[] = {"GPUs per task", "CPUs per task", "GiB of memory per task"};
  const std::size_t name = kind == ChangeKind::fewer_gpus ? 0 : (kind == ChangeKind::less_cpu ? 1 : 2);
  verify_job(change_of(kind, names[name], fmt::format("{:g}", static_cast<double>(asked) / unit), std::to_string(low),
                       1 - static_cast<double>(low) * unit / asked),
             with(low), at <= now_);
}

// The longest limit that ends before the reservation it must not delay: one of the moments at which one begins.
void ChangeSearch::limit_change() {
  if (as_is_.reason != Reason::reserved && as_is_.reason != Reason::order) return;
  std::set<Duration> limits;
  for (const Reservation& plan : scheduler_.reservations()) {
    if (plan.start > now_ && plan.start - now_ < job_.limit) limits.insert(plan.start - now_);
  }
  for (auto limit = limits.rbegin(); limit != limits.rend(); ++limit) {
    Job job = job_;
    job.limit = *limit;
    if (!promising(job, present_)) continue;
    const double part =
        job_.limit == kUnlimited ? 0.5 : 1 - seconds_of(*limit) / std::max(1e-9, seconds_of(job_.limit));
    if (verify_job(change_of(ChangeKind::shorter_limit, "time limit", text_of_duration(job_.limit),
                             text_of_duration(*limit), part),
                   std::move(job), true)) {
      return;
    }
  }
}

// The smallest increase of its own quota, and the smallest borrowing limit that suffices if others can lend.
void ChangeSearch::quota_change() {
  if (as_is_.reason != Reason::quota) return;
  const TenantId tenant = scheduler_.record(as_is_.job).tenant;
  Tenants tenants = scheduler_.tenants();
  const TenantPolicy policy = tenants.policy(tenant);
  const Amounts asked = amounts_of(job_.task, job_.fewest());
  constexpr std::int64_t Amounts::*parts[] = {&Amounts::gpu_milli, &Amounts::cpu, &Amounts::memory_mib};
  const auto admitted = [&](const Amounts& quota, const Amounts& borrow) {
    tenants.set_limits(tenant, quota, borrow);
    return tenants.admits(tenant, asked).has_value();
  };
  const auto least = [&](const Amounts& as_is, const std::function<bool(const Amounts&)>& allowed) {
    Amounts raised = as_is;
    for (const auto part : parts) raised.*part = std::min(kNoLimit, raised.*part + asked.*part);
    if (!allowed(raised)) return std::optional<Amounts>();
    for (const auto part : parts) {
      std::int64_t low = as_is.*part - 1;  // not enough, or less than its current limit
      std::int64_t high = raised.*part;
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        raised.*part = middle;
        (allowed(raised) ? high : low) = middle;
      }
      raised.*part = high;
    }
    return std::optional<Amounts>(raised);
  };
  const auto list = [&](const std::string& what, const Amounts& from, const Amounts& to, TenantLimits limits,
                        std::string note) {
    std::string before;
    std::string after;
    const auto add = [&](std::int64_t a, std::int64_t b, double unit, const char* name) {
      if (a == b) return;
      before += fmt::format("{}{:g} {}", before.empty() ? "" : ", ", static_cast<double>(a) / unit, name);
      after += fmt::format("{}{:g} {}", after.empty() ? "" : ", ", static_cast<double>(b) / unit, name);
    };
    add(from.gpu_milli, to.gpu_milli, 1000, "GPUs");
    add(from.cpu, to.cpu, 1000, "CPUs");
    add(from.memory_mib, to.memory_mib, 1024, "GiB");
    const double more = asked.gpu_milli > 0
                            ? static_cast<double>(to.gpu_milli - from.gpu_milli) / static_cast<double>(asked.gpu_milli)
                            : 1.0;
    Change change = change_of(ChangeKind::quota, what, before, after, std::min(1.0, more));
    change.note = std::move(note);
    change.limits = limits;
    return verify(std::move(change), true);
  };
  if (const auto borrow = least(policy.borrow, [&](const Amounts& b) { return admitted(policy.quota, b); })) {
    std::string lenders;
    bool foreign = false;
    for (const TenantId other : scheduler_.tenants().cohort_of(tenant)) {
      const Amounts& quota = scheduler_.tenants().policy(other).quota;
      const Amounts& used = scheduler_.tenants().used(other);
      if (other == tenant || quota.gpu_milli <= used.gpu_milli) continue;
      const std::string& name = scheduler_.tenants().policy(other).name;
      if (options_.audience.sees_tenant && !options_.audience.sees_tenant(name)) {
        foreign = true;
        continue;
      }
      lenders += (lenders.empty() ? "lent by " : ", ") + name;
    }
    if (foreign) lenders += lenders.empty() ? "lent by other tenants" : ", other tenants";
    if (list("borrowing limit of tenant " + job_.tenant, policy.borrow, *borrow, {tenant, policy.quota, *borrow},
             lenders)) {
      return;
    }
  }
  if (const auto quota = least(policy.quota, [&](const Amounts& q) { return admitted(q, policy.borrow); })) {
    list("quota of tenant " + job_.tenant, policy.quota, *quota, {tenant, *quota, policy.borrow}, {});
  }
}

bool ChangeSearch::fits_with(const std::vector<std::pair<NodeId, NodeFree>>& changed) {
  const FitClass& fits = present_.fits(job_.task);
  FitView view(scheduler_.machine(), fits);
  for (const auto& [node, free] : changed) {
    if (!accepts(job_.task, scheduler_.machine().node(node))) continue;
    view.set(node, static_cast<std::uint16_t>(count_fits(job_.task, free, fits.most)));
  }
  Gang gang = gang_of(job_);
  gang.tasks = job_.fewest();
  return find_nodes(view, gang, scheduler_.policy().placement).has_value();
}

// The smallest group of down nodes, all of a node, rack, leaf group and so on, whose recovery starts it.
void ChangeSearch::nodes_change() {
  const State& state = scheduler_.state();
  const Machine& machine = scheduler_.machine();
  if (scheduler_.nodes_lost() == 0) return;
  std::vector<NodeId> down;
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
    const auto node = static_cast<NodeId>(n);
    if (!state.free(node).up && !scheduler_.kept_aside(node)) down.push_back(node);
  }
  struct Group {
    std::vector<NodeId> nodes;
    std::string name;
  };
  std::vector<Group> groups;
  groups.reserve(down.size());
  for (const NodeId node : down) groups.push_back({{node}, "node " + machine.node(node).name});
  for (std::size_t level = static_cast<std::size_t>(Level::nvlink); level < kLevels; ++level) {
    const auto at = static_cast<Level>(level);
    if (at != Level::cluster && !machine.distinct(at)) continue;
    for (std::size_t first = 0; first < down.size();) {
      const std::uint32_t domain = machine.domain_of(at, down[first]);
      std::size_t end = first;
      while (end < down.size() && machine.domain_of(at, down[end]) == domain) ++end;
      if (end - first > 1) {
        const std::string name = at == Level::cluster
                                     ? "all nodes that are down"
                                     : fmt::format("{} {}", to_text(at), machine.domains(at)[domain].name);
        groups.push_back(
            {{down.begin() + static_cast<std::ptrdiff_t>(first), down.begin() + static_cast<std::ptrdiff_t>(end)},
             name});
      }
      first = end;
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.nodes.size() < b.nodes.size(); });
  if (groups.size() > kMaxGroups) {
    groups[kMaxGroups - 1] = groups.back();  // all of them
    groups.resize(kMaxGroups);
  }
  for (const Group& group : groups) {
    std::vector<std::pair<NodeId, NodeFree>> changed;
    for (const NodeId node : group.nodes) {
      changed.emplace_back(node, state.free(node));
      changed.back().second.up = true;
    }
    if (!fits_with(changed)) continue;
    const double part = static_cast<double>(group.nodes.size()) / static_cast<double>(machine.nodes().size());
    Change change =
        change_of(ChangeKind::nodes_return, group.name, fmt::format("{} down", group.nodes.size()), "up", part);
    change.nodes = group.nodes;
    if (verify(std::move(change), true)) return;
  }
}

// The smallest running job whose end would let it start. Of jobs that the audience must not see, none is proposed.
void ChangeSearch::end_change() {
  if (as_is_.reason == Reason::impossible || as_is_.reason == Reason::held) return;
  const State& state = scheduler_.state();
  const FitClass& fits = present_.fits(job_.task);
  Gang gang = gang_of(job_);
  gang.tasks = job_.fewest();
  const std::int64_t missing = gang.tasks - most_tasks(FitView(scheduler_.machine(), fits), gang);
  const bool quota = as_is_.reason == Reason::quota;
  struct Held {
    std::int64_t gpu_milli;
    JobId id;
  };
  std::vector<Held> candidates;
  for (const JobId id : scheduler_.running()) {
    const JobRecord& record = scheduler_.record(id);
    if (record.phase != JobPhase::running || !options_.audience.sees(record.job)) continue;
    if (quota && record.tenant != scheduler_.record(as_is_.job).tenant && record.charge == Charge::guaranteed) continue;
    // A node that gets resources back fits at most `most` more tasks.
    if (std::int64_t{record.running_tasks()} * fits.most < missing) continue;
    candidates.push_back({std::int64_t{record.job.task.gpu_total()} * record.running_tasks(), id});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Held& a, const Held& b) {
    return a.gpu_milli != b.gpu_milli ? a.gpu_milli < b.gpu_milli : a.id < b.id;
  });
  std::size_t asked = 0;
  int verified = 0;
  for (const Held& held : candidates) {
    const JobRecord& record = scheduler_.record(held.id);
    std::vector<std::pair<NodeId, NodeFree>> changed;
    std::int64_t gained = 0;
    for (const Slot& slot : record.placement.slots) {
      if (changed.empty() || changed.back().first != slot.node) changed.emplace_back(slot.node, state.free(slot.node));
      give_back(changed.back().second, record.job.task, slot);
    }
    for (const auto& [node, free] : changed) {
      if (!accepts(job_.task, scheduler_.machine().node(node))) continue;
      gained += count_fits(job_.task, free, fits.most) - fits.fit[index_of(node)];
    }
    if (!quota && gained < missing) continue;
    if (++asked > kMaxEnds) return;
    if (!fits_with(changed)) continue;
    Change change = change_of(
        ChangeKind::job_ends, "job " + record.job.name, "runs", "ended",
        std::min(1.0, static_cast<double>(held.gpu_milli) / std::max(1.0, static_cast<double>(job_.gpu_milli()))));
    change.ended = held.id;
    if (record.ends() != kNever && record.ends() > now_)
      change.note = "at its time limit, " + text_of_wait(record.ends(), now_);
    if (verify(std::move(change), true) || ++verified >= 3) return;
  }
}

// The lowest priority that starts it: above a waiting job ahead of it, or high enough to preempt.
void ChangeSearch::priority_change() {
  if (as_is_.reason == Reason::impossible || as_is_.reason == Reason::held) return;
  std::set<std::int32_t> above;
  std::vector<std::int64_t> held;  // by possible victims
  for (const JobId id : scheduler_.running()) {
    const JobRecord& record = scheduler_.record(id);
    if (!scheduler_.policy().preemption || !record.job.preemptible) continue;
    held.push_back(std::int64_t{record.job.task.gpu_total()} * record.running_tasks());
    if (record.job.priority >= job_.priority) above.insert(record.job.priority + 1);
  }
  // Even with the largest victims there would be too many.
  std::sort(held.begin(), held.end(), std::greater<>());
  std::int64_t missing = std::int64_t{job_.task.gpu_total()} * job_.fewest() - scheduler_.state().free_gpu_milli();
  for (std::size_t n = 0; n < std::min(kMaxVictims, held.size()); ++n) missing -= held[n];
  if (missing > 0 && as_is_.reason != Reason::quota) return;
  for (const JobId id : scheduler_.queue(now_)) {
    const std::int32_t priority = scheduler_.record(id).job.priority;
    if (id == as_is_.job) break;
    if (priority >= job_.priority) above.insert(priority + 1);
  }
  const std::vector<std::int32_t> levels(above.begin(), above.end());
  std::size_t low = 0;
  std::size_t high = levels.size();  // levels[high] starts it; size: none known
  while (low < high) {
    // The highest first: if that does not help, none does.
    const std::size_t middle = high == levels.size() ? levels.size() - 1 : low + (high - low) / 2;
    Job job = job_;
    job.priority = levels[middle];
    const std::size_t before = found_.size();
    const bool starts = verify_job(
        change_of(ChangeKind::priority, "priority", std::to_string(job_.priority), std::to_string(levels[middle]), 0.1),
        std::move(job));
    if (!starts && high == levels.size()) return;
    if (starts) {
      if (high != levels.size()) found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(before) - 1);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (high == levels.size()) return;
  Change& change = found_.back();
  std::int64_t lost = 0;
  for (const JobId victim : change.victims) {
    const JobRecord& record = scheduler_.record(victim);
    lost += std::int64_t{record.job.task.gpu_total()} * record.running_tasks();
    if (change.victims.size() <= 4) change.note += (change.note.empty() ? "preempts " : ", ") + record.job.name;
  }
  if (change.victims.size() > 4) {
    change.note = fmt::format("preempts {} jobs with {} GPUs", change.victims.size(), text_of_gpus(lost));
  }
  if (change.foreign_victims)
    change.note += fmt::format("{}{}", change.note.empty() ? "preempts " : ", and ", kForeignJobs);
}

}  // namespace

void apply(const Change& change, JobId id, Scheduler& what_if, Moment now) {
  if (change.kind == ChangeKind::release) what_if.hold(id, now, now);
  if (change.job) what_if.replace(id, *change.job, now);
  if (change.limits) what_if.set_limits(change.limits->tenant, change.limits->quota, change.limits->borrow, now);
  for (const NodeId node : change.nodes) what_if.node_up(node, now);
  if (change.ended) what_if.finish(*change.ended, now);
}

std::vector<Change> smallest_changes(const Scheduler& scheduler, const Explanation& as_is,
                                     const ExplainOptions& options, std::uint32_t& tried) {
  if (scheduler.record(as_is.job).phase != JobPhase::waiting) return {};
  return ChangeSearch(scheduler, as_is, options, tried).run();
}

}  // namespace weft::sched
