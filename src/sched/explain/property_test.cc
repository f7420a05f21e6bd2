// Every waiting job has a correct reason; every listed change starts the job at the stated time. Random machines, jobs,
// tenants and failures, verified against the scheduler itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/random.h"
#include "sched/explain/explain.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kEvents = 3'000;  // enough for a forecast of these small machines

struct Counts {
  std::map<Reason, int> reasons;
  std::map<ChangeKind, int> changes;
  int explained = 0;
  int planned_early = 0;  // started before its reservation
  int planned = 0;
};

class World {
 public:
  // `plain`: ordered by submission, no quotas, no holds, fixed job sizes: a reservation is then a guarantee. (An
  // elastic job ahead may use more than was reserved when it starts.)
  World(std::uint64_t seed, bool plain)
      : plain_(plain), random_(seed, "explain"), scheduler_(machine(), policy(), tenants()) {}

  void step(Counts& counts) {
    now_ = now_ + seconds(random_.between(1, 300));
    end_overdue();
    for (std::int64_t n = random_.between(0, 3); n > 0; --n) submit();
    if (!scheduler_.running().empty() && random_.chance(0.4)) {
      scheduler_.finish(scheduler_.running()[random_.below(scheduler_.running().size())], now_);
    }
    if (random_.chance(0.15)) flip_node();
    decide();
    ASSERT_EQ(scheduler_.broken_invariant(), "");
    for (const JobId id : scheduler_.queue(now_)) check_reason(id, counts);
  }
  void explain_some(Counts& counts) {
    const std::vector<JobId> queue = scheduler_.queue(now_);
    if (queue.empty()) return;
    const JobId id = queue[random_.below(queue.size())];
    ExplainOptions options;
    options.most_changes = 15;
    options.most_copies = 60;
    options.most_events = kEvents;
    if (plain_) options.most_planned_events = 0;
    const Explanation explanation = explain(scheduler_, id, now_, options);
    ++counts.explained;
    EXPECT_FALSE(explanation.sentence.empty());
    check_start(explanation, counts);
    for (const Change& change : explanation.changes) {
      ++counts.changes[change.kind];
      check_change(explanation, change, counts);
    }
  }

 private:
  std::shared_ptr<const Machine> machine() {
    PlainMachine plain;
    plain.nodes = static_cast<std::int32_t>(random_.between(4, 24));
    plain.gpus = random_.chance(0.7) ? 8 : 4;
    plain.rack = 2;
    plain.leaf = 4;
    plain.pod = 8;
    plain.cpu = 64'000;
    plain.memory_mib = 512 * 1024;
    return std::make_shared<const Machine>(plain_machine(plain));
  }
  Policy policy() {
    Policy policy;
    policy.order = static_cast<Order>(random_.below(4));
    policy.backfill = random_.chance(0.6) ? Backfill::reserved : static_cast<Backfill>(random_.below(2));
    policy.reservations = static_cast<std::int32_t>(random_.between(1, 5));
    policy.backfill_depth = static_cast<std::int32_t>(random_.between(3, 40));
    policy.preemption = random_.chance(0.5);
    policy.elastic = random_.chance(0.5);
    if (plain_) {
      policy.order = Order::fifo;
      policy.backfill = Backfill::reserved;
      policy.preemption = false;
      policy.elastic = false;
    }
    return policy;
  }
  std::vector<TenantPolicy> tenants() {
    std::vector<TenantPolicy> tenants;
    if (plain_) return tenants;
    for (const char* name : {"ann", "ben", "cid"}) {
      TenantPolicy tenant;
      tenant.name = name;
      tenant.cohort = random_.chance(0.6) ? "lab" : "";
      tenant.quota.gpu_milli = random_.between(8, 64) * kWholeGpu;
      if (random_.chance(0.5)) tenant.borrow.gpu_milli = random_.between(0, 16) * kWholeGpu;
      if (random_.chance(0.3)) tenant.lend.gpu_milli = random_.between(0, 16) * kWholeGpu;
      tenants.push_back(tenant);
    }
    return tenants;
  }
  void submit() {
    Job job;
    job.name = fmt::format("job-{}", scheduler_.job_count());
    constexpr const char* names[] = {"ann", "ben", "cid", "dan"};  // dan has no quota
    job.tenant = names[random_.below(4)];
    job.priority = static_cast<std::int32_t>(random_.below(3));
    job.submitted = now_;
    job.task.cpu = static_cast<Milli>(random_.between(1, 24)) * 1000;
    job.task.memory_mib = static_cast<std::int32_t>(random_.between(1, 128)) * 1024;
    job.task.gpus =
        static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(scheduler_.machine().nodes()[0].gpus) + 1));
    if (job.task.gpus == 1 && random_.chance(0.5)) {
      job.task.gpu_milli = static_cast<Milli>(random_.between(1, 9)) * 100;
    }
    job.tasks = random_.chance(0.5) ? 1 : static_cast<std::int32_t>(random_.between(2, 10));
    if (!plain_ && random_.chance(0.2)) job.min_tasks = static_cast<std::int32_t>(random_.between(1, job.tasks));
    if (random_.chance(0.3)) job.required = static_cast<Level>(random_.between(1, 4));
    job.preferred = static_cast<Level>(random_.between(0, 4));
    if (!plain_ && random_.chance(0.2)) job.preference_wait = seconds(random_.between(100, 4'000));
    if (job.min_tasks == 0 && job.tasks % 2 == 0 && random_.chance(0.2)) {
      job.segment = 2;
      job.segment_level = random_.chance(0.5) ? Level::rack : Level::node;
      job.required = std::max(job.required, job.segment_level);
    }
    job.limit = random_.chance(0.03) ? kUnlimited : seconds(random_.between(60, 20'000));
    job.preemptible = random_.chance(0.8);
    if (!problem_of(job).empty()) return;
    const JobId id = scheduler_.submit(job, now_);
    if (!plain_ && random_.chance(0.05)) scheduler_.hold(id, now_ + seconds(random_.between(1, 3'000)), now_);
  }
  void flip_node() {
    const auto node = static_cast<NodeId>(random_.below(scheduler_.machine().nodes().size()));
    if (scheduler_.state().free(node).up) {
      scheduler_.node_down(node, now_);
    } else {
      scheduler_.node_up(node, now_);
    }
  }
  void end_overdue() {
    for (auto end = scheduler_.next_end(); end && end->first <= now_; end = scheduler_.next_end()) {
      if (scheduler_.record(end->second).phase == JobPhase::stopping) {
        scheduler_.stopped(end->second, now_);
      } else {
        scheduler_.finish(end->second, now_);
      }
    }
  }
  void decide() {
    while (!scheduler_.decide(now_).preempts.empty()) end_overdue();
    end_overdue();
    (void)scheduler_.decide(now_);
  }

  static std::string shown(const Scheduler& scheduler, JobId id, Reason reason) {
    const Job& job = scheduler.record(id).job;
    return fmt::format("{} {} tasks {}/{} gpus {}x{} cpu {} mem {} required {} segment {}/{} limit {}", job.name,
                       to_text(reason), job.fewest(), job.tasks, job.task.gpus, job.task.gpu_milli, job.task.cpu,
                       job.task.memory_mib, to_text(job.required), job.segment, to_text(job.segment_level),
                       seconds_of(job.limit));
  }

  // Whether the job, as is or changed, can be placed on the free resources, ignoring reservations and quotas.
  static bool fits_free(const State& state, const Job& job) {
    FitIndex index;
    Gang gang = gang_of(job);
    gang.tasks = job.fewest();
    return find_nodes(FitView(state.machine(), index.of(job.task, state)), gang, {}).has_value();
  }

  void check_reason(JobId id, Counts& counts) {
    const Waiting waiting = scheduler_.why(id, now_);
    const JobRecord& record = scheduler_.record(id);
    const Job& job = record.job;
    const State& state = scheduler_.state();
    ++counts.reasons[waiting.reason];
    const bool fits = fits_free(state, job);
    State all_up = state;
    for (std::uint32_t n = 0; n < state.machine().nodes().size(); ++n) all_up.set_up(static_cast<NodeId>(n), true);
    std::int64_t whole_sum = 0;
    std::int64_t gpu_sum = 0;
    std::int64_t cpu_sum = 0;
    std::int64_t memory_sum = 0;
    for (std::uint32_t n = 0; n < state.machine().nodes().size(); ++n) {
      const NodeFree& free = state.free(static_cast<NodeId>(n));
      if (!free.up) continue;
      gpu_sum += free.gpu_total();
      cpu_sum += free.cpu;
      memory_sum += free.memory_mib;
      whole_sum += count_fits(job.task, free, 1'000);
    }
    const Amounts asked = amounts_of(job.task, job.fewest());
    const bool short_of = asked.gpu_milli > gpu_sum || asked.cpu > cpu_sum || asked.memory_mib > memory_sum;
    const bool admitted = scheduler_.tenants().admits(record.tenant, asked).has_value();
    SCOPED_TRACE(shown(scheduler_, id, waiting.reason));
    switch (waiting.reason) {
      case Reason::none:
      case Reason::malformed:
        ADD_FAILURE() << "a waiting job without a reason";
        break;
      case Reason::impossible:
        EXPECT_FALSE(fits_free(State(state.shared_machine()), job));
        break;
      case Reason::held:
        EXPECT_GT(record.not_before, now_);
        break;
      case Reason::nodes_down:
        EXPECT_FALSE(fits);
        EXPECT_TRUE(fits_free(all_up, job));
        break;
      case Reason::quota:
        EXPECT_FALSE(admitted);
        break;
      case Reason::capacity:
        EXPECT_TRUE(short_of && admitted && !fits);
        break;
      case Reason::fragmented:
        EXPECT_TRUE(!short_of && whole_sum < job.fewest() && admitted);
        break;
      case Reason::topology: {
        EXPECT_TRUE(!short_of && whole_sum >= job.fewest() && admitted && !fits);
        Job loose = job;
        loose.required = Level::cluster;
        loose.segment = 0;
        EXPECT_TRUE(fits_free(state, loose));
        break;
      }
      case Reason::preference:
        EXPECT_TRUE(fits && admitted);
        EXPECT_LT(now_, record.queued + job.preference_wait);
        break;
      case Reason::barred:
        ADD_FAILURE() << "no outage is planned and no node is excluded";
        break;
      case Reason::reserved:
        EXPECT_TRUE(fits && admitted);
        EXPECT_FALSE(scheduler_.reservations().empty());
        break;
      case Reason::order:
        EXPECT_TRUE(fits && admitted);
        break;
      case Reason::preempting:
        EXPECT_TRUE(std::any_of(scheduler_.running().begin(), scheduler_.running().end(), [&](JobId other) {
          return scheduler_.record(other).being_preempted && scheduler_.record(other).preempted_by == id;
        }));
        break;
    }
  }

  void check_start(const Explanation& explanation, Counts& counts) {
    if (explanation.known != Known::planned && explanation.known != Known::forecast) return;
    Scheduler what_if = scheduler_;
    const Moment start = play_forward(what_if, explanation.job, now_, kEvents).start_of(explanation.job);
    SCOPED_TRACE(shown(scheduler_, explanation.job, explanation.reason));
    if (explanation.known == Known::planned) {
      ++counts.planned;
      counts.planned_early += start < explanation.expected ? 1 : 0;
      EXPECT_LE(start.count(), explanation.expected.count()) << "at " << now_.count();
    } else {
      EXPECT_EQ(start.count(), explanation.expected.count());
    }
  }

  void check_change(const Explanation& explanation, const Change& change, Counts& counts) {
    Scheduler what_if = scheduler_;
    apply(change, explanation.job, what_if, now_);
    const Moment start = play_forward(what_if, explanation.job, now_, kEvents).start_of(explanation.job);
    SCOPED_TRACE(shown(scheduler_, explanation.job, explanation.reason));
    const std::string said = fmt::format("{}: {} -> {}, at {}", change.what, change.from, change.to, now_.count());
    EXPECT_LE(change.starts, explanation.expected) << said;
    if (change.planned) {
      ++counts.planned;
      counts.planned_early += start < change.starts ? 1 : 0;
      EXPECT_LE(start.count(), change.starts.count()) << said;
    } else {
      EXPECT_EQ(start.count(), change.starts.count()) << said;
    }
  }

  bool plain_;
  RandomStream random_;
  Scheduler scheduler_;
  Moment now_{};
};

void report(const Counts& counts) {
  std::string text =
      fmt::format("explained {}, planned {} ({} early);", counts.explained, counts.planned, counts.planned_early);
  for (const auto& [reason, count] : counts.reasons) text += fmt::format(" {} {}", to_text(reason), count);
  text += ";";
  for (const auto& [kind, count] : counts.changes) text += fmt::format(" {} {}", to_text(kind), count);
  ::testing::Test::RecordProperty("counts", text);
  if (std::getenv("WEFT_SHOW_COUNTS") != nullptr) fmt::print("{}\n", text);
}

Counts run(std::uint64_t seeds, int steps, bool plain) {
  Counts counts;
  const char* more = std::getenv("WEFT_SEEDS");
  if (more != nullptr) seeds = std::strtoull(more, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed, plain);
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      world.step(counts);
      if (step % 5 == 4) world.explain_some(counts);
    }
  }
  report(counts);
  return counts;
}

TEST(ExplainProperty, ReservationsAreKept) {
  const Counts counts = run(16, 60, true);
  EXPECT_GT(counts.planned, 50);
}

TEST(ExplainProperty, ReasonsAreCorrectAndChangesStartTheJobAsStated) {
  Counts counts = run(24, 60, false);
  for (const Reason reason :
       {Reason::impossible, Reason::held, Reason::nodes_down, Reason::quota, Reason::capacity, Reason::fragmented,
        Reason::topology, Reason::preference, Reason::reserved, Reason::order}) {
    EXPECT_GT(counts.reasons[reason], 0) << to_text(reason) << " was never met";
  }
  EXPECT_GT(counts.changes.size(), 8U);
}

}  // namespace
}  // namespace weft::sched
