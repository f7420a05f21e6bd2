// Random events on the scheduler; the invariants are checked at every step. WEFT_SCHED_STEPS makes it longer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/random.h"
#include "base/rounds.h"
#include "sched/core/scheduler.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

std::uint64_t first_seed() {                           // WEFT_SCHED_SEED: start with this world, to reproduce a failure
  const char* given = std::getenv("WEFT_SCHED_SEED");  // NOLINT(concurrency-mt-unsafe): before any thread
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

std::int64_t steps_wanted() {
  const char* given = std::getenv("WEFT_SCHED_STEPS");  // NOLINT(concurrency-mt-unsafe): before any thread
  return given != nullptr ? std::atoll(given) : 4'000;
}

// One random world: a small machine, a few tenants, jobs of every kind, nodes that fail.
class World {
 public:
  World(std::uint64_t seed, Policy policy)
      : random_(seed, "world"), scheduler_{machine(random_), policy, tenants(random_)} {
    failures_ = random_.chance(0.5);
  }

  void step() {
    now_ = now_ + seconds(random_.between(0, 120));
    end_due_jobs();
    const std::uint64_t what = random_.below(10);
    if (what < 6) submit();
    if (what == 6) finish_someone();
    if (what == 7 && failures_) toggle_node();
    if (what == 8) checkpoint_someone();
    settle();
  }

  // Decides until nothing more happens at this moment: victims stop at once, or at their deadline.
  void settle() {
    for (int round = 0; round < 50; ++round) {
      const Decisions decisions = scheduler_.decide(now_);
      check(decisions);
      for (const Preempt& preempt : decisions.preempts) {
        if (preempt.deadline <= now_) {
          scheduler_.stopped(preempt.victim, now_);
        } else {
          stops_.emplace_back(preempt.deadline, preempt.victim);
        }
      }
      check_books();
      if (decisions.empty()) return;
    }
    ADD_FAILURE() << "decisions at one moment do not end";
  }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] std::uint64_t starts() const { return starts_; }
  [[nodiscard]] std::uint64_t preempts() const { return preempts_; }
  [[nodiscard]] std::uint64_t served() const { return served_; }  // jobs that preempted others and started
  [[nodiscard]] std::uint64_t unserved() const {                  // that preempted and still wait
    return static_cast<std::uint64_t>(std::count_if(
        takers_.begin(), takers_.end(), [&](JobId id) { return scheduler_.record(id).phase == JobPhase::waiting; }));
  }

 private:
  static std::shared_ptr<const Machine> machine(RandomStream& random) {
    PlainMachine plain;
    plain.nodes = static_cast<std::int32_t>(random.between(2, 24));
    plain.rack = static_cast<std::int32_t>(random.between(1, 4));
    plain.leaf = plain.rack * static_cast<std::int32_t>(random.between(1, 3));
    plain.pod = plain.leaf * 2;
    plain.gpus = random.chance(0.5) ? 8 : 4;
    return std::make_shared<const Machine>(plain_machine(plain));
  }

  static std::vector<TenantPolicy> tenants(RandomStream& random) {
    std::vector<TenantPolicy> out;
    if (random.chance(0.3)) return out;
    for (const char* name : {"a", "b", "c"}) {
      TenantPolicy policy;
      policy.name = name;
      policy.cohort = random.chance(0.8) ? "all" : "";
      policy.quota = {random.between(0, 60) * kWholeGpu, kNoLimit, kNoLimit};
      if (random.chance(0.5)) policy.borrow.gpu_milli = random.between(0, 40) * kWholeGpu;
      if (random.chance(0.5)) policy.lend.gpu_milli = random.between(0, 40) * kWholeGpu;
      out.push_back(policy);
    }
    return out;
  }

  void submit() {
    Job job;
    job.name = "j" + std::to_string(scheduler_.job_count());
    job.tenant = std::string(1, static_cast<char>('a' + random_.below(3)));
    job.priority = static_cast<std::int32_t>(random_.below(4)) * 10;
    job.task.gpus = static_cast<std::int32_t>(random_.between(0, 4));
    job.task.cpu = static_cast<Milli>(random_.between(0, 30)) * 1000;
    if (random_.chance(0.3)) {
      job.task.gpus = 1;
      job.task.gpu_milli = static_cast<Milli>(random_.between(1, 10)) * 100;
    }
    job.tasks = static_cast<std::int32_t>(random_.between(1, 8));
    if (random_.chance(0.25)) job.min_tasks = static_cast<std::int32_t>(random_.between(1, job.tasks));
    job.required = static_cast<Level>(random_.between(1, kLevels - 1));
    if (random_.chance(0.2)) {
      job.segment = 2;
      job.tasks = 2 * static_cast<std::int32_t>(random_.between(1, 4));
      job.min_tasks = 0;
      job.segment_level = random_.chance(0.5) ? Level::nvlink : Level::rack;
      job.required = std::max(job.required, job.segment_level);
    }
    job.limit = random_.chance(0.1) ? kUnlimited : seconds(random_.between(1, 4000));
    job.run_time = seconds(random_.between(1, 4000));
    if (random_.chance(0.2)) job.preference_wait = seconds(random_.between(1, 300));
    job.inference = random_.chance(0.1);
    job.preemptible = !job.inference && random_.chance(0.8);
    job.grace = random_.chance(0.5) ? Duration() : seconds(random_.between(1, 200));
    if (random_.chance(0.5)) job.checkpoint_interval = seconds(600);
    if (!problem_of(job).empty()) return;
    scheduler_.submit(job, now_);
  }

  void end_due_jobs() {
    for (std::size_t i = 0; i < stops_.size();) {
      if (stops_[i].first > now_) {
        ++i;
        continue;
      }
      if (scheduler_.record(stops_[i].second).phase == JobPhase::stopping) scheduler_.stopped(stops_[i].second, now_);
      stops_.erase(stops_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::vector<JobId> due;
    for (const JobId id : scheduler_.running()) {
      const JobRecord& record = scheduler_.record(id);
      if (record.phase == JobPhase::stopping) continue;
      if (record.started + std::min(record.job.run_time, record.job.limit) <= now_) due.push_back(id);
    }
    std::sort(due.begin(), due.end());
    for (const JobId id : due) scheduler_.finish(id, now_);
  }

  void finish_someone() {
    if (scheduler_.job_count() == 0) return;
    scheduler_.finish(static_cast<JobId>(random_.below(scheduler_.job_count())), now_);
  }

  void toggle_node() {
    const auto node = static_cast<NodeId>(random_.below(scheduler_.machine().nodes().size()));
    if (!scheduler_.state().free(node).up) {
      scheduler_.node_up(node, now_);
      return;
    }
    scheduler_.repair(std::span<const NodeId>(&node, 1), now_);
    for (const JobId id : scheduler_.running()) {
      if (scheduler_.record(id).phase == JobPhase::stopping) continue;  // ends by its deadline anyway
      for (const Slot& slot : scheduler_.record(id).placement.slots) {
        EXPECT_NE(slot.node, node) << "a job was left on a lost node";
      }
    }
  }

  void checkpoint_someone() {
    if (scheduler_.running().empty()) return;
    scheduler_.checkpointed(scheduler_.running()[random_.below(scheduler_.running().size())], now_);
  }

  void check(const Decisions& decisions) {
    for (const Start& start : decisions.starts) {
      const JobRecord& record = scheduler_.record(start.job);
      ++starts_;
      served_ += takers_.erase(start.job);
      EXPECT_GE(static_cast<std::int32_t>(start.placement.slots.size()), record.job.fewest());
      EXPECT_LE(static_cast<std::int32_t>(start.placement.slots.size()), record.job.tasks);
    }
    for (const Preempt& preempt : decisions.preempts) {
      ++preempts_;
      const JobRecord& victim = scheduler_.record(preempt.victim);
      const JobRecord& by = scheduler_.record(preempt.by);
      takers_.insert(preempt.by);
      EXPECT_FALSE(victim.job.inference);
      EXPECT_TRUE(victim.job.preemptible);
      // Strictly lower: a lower charge, or the same and a lower priority.
      EXPECT_TRUE(victim.charge < Charge::guaranteed || victim.job.priority < by.job.priority)
          << victim.job.name << " by " << by.job.name;
    }
    check_priorities(decisions);
  }

  // No job starts before an otherwise identical waiting job of higher priority.
  void check_priorities(const Decisions& decisions) {
    for (const JobId id : scheduler_.queue(now_)) {
      const Job& waiting = scheduler_.record(id).job;
      for (const Start& start : decisions.starts) {
        const Job& other = scheduler_.record(start.job).job;
        const bool alike = other.tenant == waiting.tenant && other.task == waiting.task &&
                           other.tasks == waiting.tasks && other.fewest() == waiting.fewest() &&
                           other.required == waiting.required && other.segment == waiting.segment &&
                           other.segment_level == waiting.segment_level && waiting.preference_wait.count() == 0 &&
                           waiting.limit <= other.limit;
        if (!alike || waiting.priority <= other.priority) continue;
        // Migrations are for the job that would wait longer; a job with victims starts at a rank above theirs.
        const bool moved = std::any_of(decisions.moves.begin(), decisions.moves.end(),
                                       [&](const Move& move) { return move.by == start.job; });
        EXPECT_TRUE(moved || scheduler_.why(id, now_).reason == Reason::preempting)
            << other.name << " started before " << waiting.name << " at " << now_.seconds();
      }
    }
  }

  void check_books() { ASSERT_EQ(scheduler_.broken_invariant(), "") << "at " << now_.seconds(); }

  RandomStream random_;
  Scheduler scheduler_;
  Moment now_ = Moment() + seconds(1);
  std::vector<std::pair<Moment, JobId>> stops_;
  bool failures_ = false;
  std::uint64_t starts_ = 0;
  std::uint64_t preempts_ = 0;
  std::uint64_t served_ = 0;
  std::set<JobId> takers_;
};

TEST(SchedulerProperties, HoldInRandomWorlds) {
  const auto wanted = static_cast<std::int64_t>(rounds(static_cast<std::uint64_t>(steps_wanted())));
  std::uint64_t starts = 0;
  std::uint64_t preempts = 0;
  std::uint64_t served = 0;
  std::uint64_t unserved = 0;
  std::int64_t steps = 0;
  for (std::uint64_t seed = first_seed(); steps < wanted && !testing::Test::HasFailure(); ++seed) {
    RandomStream random(seed, "policy");
    Policy policy;
    policy.order = static_cast<Order>(random.below(4));
    policy.backfill = static_cast<Backfill>(random.below(3));
    policy.reservations = static_cast<std::int32_t>(random.between(1, 6));
    policy.preemption = random.chance(0.7);
    policy.elastic = random.chance(0.7);
    policy.defragment = random.chance(0.5);
    policy.exempt = random.chance(0.7) ? Duration() : seconds(300);
    World world(seed, policy);
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step, ++steps) world.step();
    if (testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
    starts += world.starts();
    preempts += world.preempts();
    served += world.served();
    unserved += world.unserved();
  }
  RecordProperty("steps", std::to_string(steps));
  std::printf("%lld steps, %llu starts, %llu preemptions for %llu jobs that started and %llu that still waited\n",
              static_cast<long long>(steps), static_cast<unsigned long long>(starts),
              static_cast<unsigned long long>(preempts), static_cast<unsigned long long>(served),
              static_cast<unsigned long long>(unserved));
  EXPECT_GT(starts, static_cast<std::uint64_t>(wanted) / 20);
}

// Without preemption, failures or overruns, and in order of submission, the first reservation is kept: its start is
// never postponed, and the job starts by then.
TEST(SchedulerProperties, FirstPromisesAreKept) {
  const std::int64_t wanted = steps_wanted() / 4 * 3;
  std::int64_t kept = 0;
  std::int64_t steps = 0;
  for (std::uint64_t seed = 1; steps < wanted && !testing::Test::HasFailure(); ++seed) {
    RandomStream random(seed, "promises");
    PlainMachine plain;
    plain.nodes = static_cast<std::int32_t>(random.between(2, 12));
    plain.rack = 2;
    plain.leaf = 4;
    plain.pod = 8;
    Policy policy;
    policy.order = Order::fifo;
    policy.preemption = false;
    policy.reservations = static_cast<std::int32_t>(random.between(1, 4));
    Scheduler scheduler(std::make_shared<const Machine>(plain_machine(plain)), policy);
    Moment now = Moment() + seconds(1);
    std::map<JobId, Moment> promised;
    for (int step = 0; step < 200; ++step, ++steps) {
      Moment next = now + seconds(random.between(1, 400));
      for (const JobId id : scheduler.running()) {  // ends are separate events
        const JobRecord& record = scheduler.record(id);
        next = std::min(next, record.started + std::min(record.job.run_time, record.job.limit));
      }
      now = next;
      std::vector<JobId> due;
      for (const JobId id : scheduler.running()) {
        const JobRecord& record = scheduler.record(id);
        if (record.started + std::min(record.job.run_time, record.job.limit) <= now) due.push_back(id);
      }
      for (const JobId id : due) scheduler.finish(id, now);
      if (random.chance(0.7)) {
        Job job;
        job.name = "j" + std::to_string(scheduler.job_count());
        job.task.gpus = static_cast<std::int32_t>(random.between(1, 8));
        job.tasks = static_cast<std::int32_t>(random.between(1, plain.nodes));
        job.limit = seconds(random.between(1, 3000));
        job.run_time = seconds(random.between(1, 3000));
        scheduler.submit(job, now);
      }
      for (const Start& start : scheduler.decide(now).starts) {
        const auto promise = promised.find(start.job);
        if (promise == promised.end()) continue;
        ASSERT_LE(now, promise->second) << "seed " << seed;
        ++kept;
      }
      if (scheduler.reservations().empty()) continue;
      const Reservation& first = scheduler.reservations().front();
      const auto [known, added] = promised.emplace(first.job, first.start);
      ASSERT_LE(first.start, known->second) << "seed " << seed << ": a promise moved back";
      known->second = first.start;
    }
  }
  EXPECT_GT(kept, 20);
}

}  // namespace
}  // namespace weft::sched
