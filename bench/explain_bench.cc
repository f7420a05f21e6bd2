// How long `explain` takes to answer. Not a test: built manually, prints times.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "base/random.h"
#include "sched/explain/explain.h"
#include "sched/machine/plain_machine.h"
#include "sched/traces/workload.h"

namespace weft::sched {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// A cluster filled with jobs of `tasks_each` tasks of `gpus_each` GPUs; one job of 80 GPUs and `waiting` others are
// queued.
void run(std::int32_t nodes, std::int32_t tasks_each, std::int32_t gpus_each, std::int32_t waiting) {
  PlainMachine plain;
  plain.nodes = nodes;
  Scheduler scheduler(std::make_shared<const Machine>(plain_machine(plain)), {});
  RandomStream random(1, "bench");
  const std::int32_t jobs = nodes * 8 / gpus_each / tasks_each;
  for (std::int32_t n = 0; n < jobs; ++n) {
    Job job;
    job.name = fmt::format("job-{}", n);
    job.tasks = tasks_each;
    job.task.gpus = gpus_each;
    job.limit = seconds(random.between(600, 86'400));
    (void)scheduler.submit(job, {});
  }
  auto start = std::chrono::steady_clock::now();
  (void)scheduler.decide({});
  const double filled = ms_since(start);
  Job big;
  big.name = "big";
  big.task.gpus = 8;
  big.tasks = 10;
  big.limit = seconds(3'600);
  const Moment now(1'000'000'000);
  const JobId id = scheduler.submit(big, now);
  for (std::int32_t n = 0; n < waiting; ++n) {
    big.tasks = static_cast<std::int32_t>(random.between(1, 64));
    (void)scheduler.submit(big, now);
  }
  start = std::chrono::steady_clock::now();
  (void)scheduler.decide(now);
  const double decided = ms_since(start);
  start = std::chrono::steady_clock::now();
  Waiting why{};
  for (int n = 0; n < 100; ++n) why = scheduler.why(id, now);
  const double whys = ms_since(start) / 100;
  start = std::chrono::steady_clock::now();
  { const Scheduler copy = scheduler; }
  const double copied = ms_since(start);
  start = std::chrono::steady_clock::now();
  const Explanation explanation = explain(scheduler, id, now);
  const double explained = ms_since(start);
  ClusterFragmentation fragmentation(demand_of(scheduler));
  start = std::chrono::steady_clock::now();
  (void)fragmentation.measure(scheduler.state());
  const double measured = ms_since(start);
  fmt::print(
      "{} nodes, {} jobs, {} waiting: fill {:.1f} ms, decide {:.2f}, why {:.4f} ({}), copy {:.2f}, explain {:.2f} "
      "({} what-ifs, {} changes), fragmentation {:.2f}\n",
      nodes, jobs, waiting, filled, decided, whys, to_text(why.reason), copied, explained, explanation.tried,
      explanation.changes.size(), measured);
  fmt::print("  {}\n", explanation.sentence);
  for (const Change& change : explanation.changes) {
    fmt::print("  {}: {} -> {}: {} {}{}\n", change.what, change.from, change.to, text_of_wait(change.starts, now),
               change.note, change.planned ? " (planned)" : "");
  }
}

}  // namespace
}  // namespace weft::sched

int main(int argc, char**) {
  const bool large = argc > 1;
  weft::sched::run(500, 1, 1, 0);
  weft::sched::run(500, 1, 8, 0);
  weft::sched::run(500, 1, 2, 100);
  if (large) {
    weft::sched::run(100'000, 50, 8, 0);
    weft::sched::run(100'000, 4, 8, 0);
    weft::sched::run(100'000, 50, 8, 1'000);
  }
  return 0;
}
