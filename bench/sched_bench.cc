// Decision times of the scheduler, single thread, next to published figures of others. Theirs include an API server and
// etcd; these are the in-process decision alone: the ratio shows the time left for everything else, not which is
// "faster".
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "sched/core/scheduler.h"
#include "sched/explain/explain.h"
#include "sched/machine/plain_machine.h"
#include "sched/traces/workload.h"

namespace {

using namespace weft;
using namespace weft::sched;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::shared_ptr<const Machine> plain(std::int32_t nodes, std::int32_t rack, std::int32_t leaf, std::int32_t pod) {
  PlainMachine machine;
  machine.nodes = nodes;
  machine.rack = rack;
  machine.leaf = leaf;
  machine.pod = pod;
  return std::make_shared<const Machine>(plain_machine(machine));
}

Moment at_milliseconds(std::int64_t n) { return Moment() + weft::milliseconds(n); }

struct Kind {
  const char* name;
  std::int32_t cpus;
  std::int64_t run;  // ms
  std::int64_t every;
  std::int32_t count;
  std::int32_t priority;
  double published_wait;  // s, mean time to admission
};
// Kueue's baseline scenario: 5 cohorts of 6 queues, each with these three streams; quota 20 CPUs, borrowing 100.
constexpr Kind kKueue[] = {{"small", 1, 200, 100, 350, 50, 215.5},
                           {"medium", 5, 500, 500, 100, 100, 76.8},
                           {"large", 20, 1000, 1200, 50, 200, 16.5}};

void kueue_baseline(bool preemption) {
  NodeShape everything;
  everything.name = "quota-only";
  everything.cpu = 2'000'000'000;
  const auto machine = std::make_shared<const Machine>(*Machine::build({everything}, {{}}, {}, {"all"}));
  std::vector<TenantPolicy> tenants;
  std::vector<std::pair<Moment, Job>> arrivals;
  for (int cohort = 0; cohort < 5; ++cohort) {
    for (int queue = 0; queue < 6; ++queue) {
      TenantPolicy tenant;
      tenant.name = fmt::format("cohort{}-queue{}", cohort, queue);
      tenant.cohort = fmt::format("cohort{}", cohort);
      tenant.quota = {kNoLimit, 20'000, kNoLimit};
      tenant.borrow = {kNoLimit, 100'000, kNoLimit};
      for (const Kind& kind : kKueue) {
        for (int i = 0; i < kind.count; ++i) {
          Job job;
          job.name = kind.name;
          job.tenant = tenant.name;
          job.priority = kind.priority;
          job.task.cpu = kind.cpus * 1000;
          job.run_time = job.limit = weft::milliseconds(kind.run);
          arrivals.emplace_back(at_milliseconds(1 + i * kind.every), job);
        }
      }
      tenants.push_back(tenant);
    }
  }
  std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Policy policy;
  policy.order = Order::fifo;
  policy.backfill = Backfill::greedy;
  policy.preemption = preemption;
  Scheduler scheduler(machine, policy, tenants);
  std::priority_queue<std::pair<Moment, JobId>, std::vector<std::pair<Moment, JobId>>, std::greater<>> ends;
  std::map<std::string, std::pair<double, int>> waits;
  std::size_t next = 0;
  std::size_t evictions = 0;
  Moment now{};
  const auto began = Clock::now();
  while (next < arrivals.size() || !ends.empty()) {
    now = kNever;
    if (next < arrivals.size()) now = arrivals[next].first;
    if (!ends.empty()) now = std::min(now, ends.top().first);
    for (; !ends.empty() && ends.top().first <= now; ends.pop()) {
      const JobRecord& record = scheduler.record(ends.top().second);
      if (record.phase == JobPhase::running && record.started + record.job.run_time <= now) {
        scheduler.finish(ends.top().second, now);
      }
    }
    for (; next < arrivals.size() && arrivals[next].first <= now; ++next) scheduler.submit(arrivals[next].second, now);
    for (bool again = true; again;) {
      const Decisions decisions = scheduler.decide(now);
      again = !decisions.preempts.empty();
      for (const Preempt& preempt : decisions.preempts) scheduler.stopped(preempt.victim, now);
      evictions += decisions.preempts.size();
      for (const Start& start : decisions.starts) {
        const JobRecord& record = scheduler.record(start.job);
        ends.emplace(now + record.job.run_time, start.job);
        auto& [sum, count] = waits[record.job.name];
        sum += seconds_of(now - record.job.submitted);
        ++count;
      }
    }
  }
  const double taken = seconds_since(began);
  fmt::print(
      "Kueue baseline, 15,000 workloads in 30 queues, {} preemption: {:.3f} s of decisions ({:.0f} workloads/s; "
      "published 351.1 s, "
      "42.7/s, with an API server)\n",
      preemption ? "with" : "no", taken, 15'000 / taken);
  fmt::print("  virtual makespan {:.1f} s (quota allows 66 at best), {} evictions", now.seconds(), evictions);
  for (const Kind& kind : kKueue) {
    const auto& [sum, count] = waits[kind.name];
    fmt::print(", {} wait {:.1f} s (published {:.1f})", kind.name, sum / count, kind.published_wait);
  }
  fmt::print("\n");
}

// kube-scheduler's topology benchmark: gangs of four on 5,000 nodes in 50 racks, each gang inside one rack.
void gangs_of_four() {
  for (const int gangs : {750, 1500, 2250}) {
    Scheduler scheduler(plain(5000, 100, 500, 2500), {});
    Job job;
    job.name = "gang";
    job.tasks = 4;
    job.task.gpus = 4;
    job.required = Level::rack;
    job.limit = seconds(3600);
    std::size_t started = 0;
    const auto began = Clock::now();
    for (int i = 0; i < gangs; ++i) {
      scheduler.submit(job, Moment(i));
      started += scheduler.decide(Moment(i)).starts.size();
    }
    const double taken = seconds_since(began);
    fmt::print("gangs of 4 in one rack, 5,000 nodes, {:>5} gangs: {:>9.0f} pods/s (published 492 to 630), {} started\n",
               gangs, 4 * static_cast<double>(started) / taken, started);
  }
}

// KAI's own dashboard run: 500 nodes of 8 GPUs.
void kai_scenarios() {
  Policy policy;
  Scheduler scheduler(plain(500, 4, 32, 256), policy);
  Job one;
  one.name = "one";
  one.task.gpus = 1;
  one.limit = seconds(36'000);
  auto began = Clock::now();
  for (int i = 0; i < 3960; ++i) scheduler.submit(one, Moment(i));
  const std::size_t started = scheduler.decide(Moment(4000)).starts.size();
  fmt::print("500 nodes x 8, {} one-GPU jobs at once: {:.4f} s (published 397.8 s)\n", started, seconds_since(began));
  Job gang = one;
  gang.name = "gang";
  gang.tasks = 10;
  gang.task.gpus = 8;
  began = Clock::now();
  const JobId id = scheduler.submit(gang, Moment(5000));
  scheduler.decide(Moment(5000));
  const Explanation why = explain(scheduler, id, Moment(5000));
  fmt::print("  one 80-GPU job that cannot start, explained with {} verified changes: {:.2f} ms (published 249.5 s)\n",
             why.changes.size(), seconds_since(began) * 1e3);
  fmt::print("    {}\n", why.sentence);
  Scheduler empty(plain(512, 4, 32, 256), policy);
  gang.tasks = 512;
  began = Clock::now();
  empty.submit(gang, Moment(1));
  const std::size_t whole = empty.decide(Moment(1)).starts.size();
  fmt::print("512-node gang with topology: {:.2f} ms (published 48.7 s), {} started\n", seconds_since(began) * 1e3,
             whole);
}

// Kueue #13148: a gang that outranks 700 running jobs on 2,000 nodes.
void victims() {
  Scheduler scheduler(plain(2000, 50, 500, 2000), {});
  weft::RandomStream random(5, "victims");
  Job job;
  job.name = "victim";
  job.task.gpus = 8;
  job.limit = seconds(86'400);
  std::int32_t left = 2000;
  for (int i = 0; i < 700; ++i) {
    const std::int32_t most = std::min(6, left - (699 - i));
    job.tasks = i == 699 ? left : static_cast<std::int32_t>(random.between(1, std::max(1, most)));
    job.restart_cost = seconds(random.between(1, 100));
    left -= job.tasks;
    scheduler.submit(job, Moment(i));
    scheduler.decide(Moment(i));
  }
  job.name = "urgent";
  job.priority = 1;
  job.tasks = 500;
  const auto began = Clock::now();
  scheduler.submit(job, Moment(1000));
  const Decisions decisions = scheduler.decide(Moment(1000));
  fmt::print("a gang of 500 nodes above {} running jobs on 2,000: {:.1f} ms to choose {} victims (published 40 s)\n",
             scheduler.running().size(), seconds_since(began) * 1e3, decisions.preempts.size());
}

// A busy cluster: one job ends, one arrives, one decision. The mix is Kalos's: mostly 1 to 8 GPUs, a few large gangs.
void growth(std::size_t queue) {
  fmt::print("one job ends, one arrives, {}:\n", queue == 0 ? "at 95 % load" : "full, with a queue that preempts");
  fmt::print("  {:>8} {:>9} {:>9} {:>10} {:>10} {:>10}\n", "nodes", "running", "waiting", "median us", "p99 us",
             "most us");
  for (const std::int32_t nodes : {1'000, 10'000, 100'000}) {
    if (queue > 0 && nodes > 10'000) break;  // filling it up takes minutes
    Policy policy;
    Scheduler scheduler(plain(nodes, 4, 32, 256), policy);
    weft::RandomStream random(1, "growth");
    Moment now(1);
    const auto arrive = [&] {
      Job job;
      job.name = "job";
      job.tenant = fmt::format("t{}", random.below(8));
      job.priority = static_cast<std::int32_t>(random.below(3)) * 100;
      const std::uint64_t kind = random.below(100);
      job.task.gpus = kind < 60 ? 1 : kind < 80 ? 4 : 8;
      job.tasks = kind < 92 ? 1 : static_cast<std::int32_t>(random.between(2, kind < 99 ? 16 : 64));
      job.limit = seconds(random.between(600, 86'400));
      scheduler.submit(job, now);
    };
    while (scheduler.state().free_gpu_milli() > scheduler.state().total_gpu_milli() / 20 ||
           scheduler.waiting_count() < queue) {
      for (int i = 0; i < 64; ++i) arrive();
      now = now + weft::milliseconds(1);
      scheduler.decide(now);
    }
    std::vector<double> times;
    for (int i = 0; i < (queue > 0 ? 500 : 2000); ++i) {
      now = now + weft::milliseconds(10);
      const JobId ended = scheduler.running()[random.below(scheduler.running().size())];
      const auto began = Clock::now();
      if (scheduler.record(ended).phase == JobPhase::stopping) {
        scheduler.stopped(ended, now);
      } else {
        scheduler.finish(ended, now);
      }
      arrive();
      const Decisions decisions = scheduler.decide(now);
      times.push_back(seconds_since(began) * 1e6);
      for (const Preempt& preempt : decisions.preempts) scheduler.stopped(preempt.victim, now);
    }
    std::sort(times.begin(), times.end());
    fmt::print("  {:>8} {:>9} {:>9} {:>10.0f} {:>10.0f} {:>10.0f}\n", nodes, scheduler.running().size(),
               scheduler.waiting_count(), times[times.size() / 2], times[times.size() * 99 / 100], times.back());
  }
}

}  // namespace

int main() {
  kueue_baseline(true);
  kueue_baseline(false);
  gangs_of_four();
  kai_scenarios();
  victims();
  growth(0);
  growth(100);
  return 0;
}
