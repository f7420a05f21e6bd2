#include "sched/packing/bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sched/packing/task_packer.h"

namespace weft::sched {
namespace {

TaskType type(Milli cpu, std::int32_t gpus, Milli milli) {
  TaskType result;
  result.request.cpu = cpu;
  result.request.gpus = gpus;
  result.request.gpu_milli = gpus > 0 ? milli : 0;
  result.count = 1;
  return result;
}

Machine small_machine(Milli cpu) {
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  for (int i = 0; i < 2; ++i) {
    NodeShape shape;
    shape.name = "n" + std::to_string(i);
    shape.cpu = cpu;
    shape.gpus = 2;
    shape.model = 0;
    nodes.push_back(shape);
    labels.push_back({shape.name, {}, {}, {}});
  }
  return *Machine::build(nodes, labels, {"A"}, {});
}

// GPUs allocated by the best choice of tasks and placements.
double best_choice(const Machine& machine, const std::vector<Request>& tasks, std::vector<NodeFree>& free,
                   std::size_t from) {
  if (from == tasks.size()) return 0;
  const Request& task = tasks[from];
  double most = best_choice(machine, tasks, free, from + 1);
  for (std::size_t n = 0; n < free.size(); ++n) {
    if (!fits(task, free[n])) continue;
    const bool part = task.gpus == 1 && task.gpu_milli < kWholeGpu;
    for (std::size_t g = 0; g < (part ? free[n].gpus : 1U); ++g) {
      Slot slot = *choose_slot(task, machine.nodes()[n], free[n]);
      if (part) {
        if (free[n].gpu[g] < task.gpu_milli) continue;
        slot.gpus = static_cast<std::uint16_t>(1U << g);
      }
      take(free[n], task, slot);
      most = std::max(most, task.gpu_total() + best_choice(machine, tasks, free, from + 1));
      give_back(free[n], task, slot);
    }
  }
  return most;
}

TEST(PackBound, IsNeverBelowTheBestChoice) {
  RandomStream random(3);
  for (int round = 0; round < 12; ++round) {
    const Machine machine = small_machine(static_cast<Milli>(1000 * random.between(4, 20)));
    std::vector<TaskType> types;
    std::vector<std::uint32_t> arrivals;
    std::vector<Request> tasks;
    for (std::uint32_t i = 0; i < 6; ++i) {
      const auto gpus = static_cast<std::int32_t>(random.between(0, 2));
      const auto milli = static_cast<Milli>(gpus == 1 ? 100 * random.between(3, 10) : 1000);
      types.push_back(type(static_cast<Milli>(1000 * random.between(1, 6) + i), gpus, milli));
      arrivals.push_back(i);
      tasks.push_back(types.back().request);
    }
    std::vector<NodeFree> free;
    for (const NodeShape& shape : machine.nodes()) free.push_back(empty_node(shape));
    const double best = best_choice(machine, tasks, free, 0);
    const PackBound bound = bound_allocation(machine, types, arrivals);
    EXPECT_GE(bound.any + 1e-6, best) << round;
    EXPECT_LE(bound.conserving, bound.any);
    for (const PackPolicy policy : {PackPolicy::best_fit, PackPolicy::fgd, PackPolicy::weft, PackPolicy::random}) {
      TaskPacker scorer(machine, types, policy, 1);
      double given = 0;
      for (const Request& task : tasks) given += scorer.place(task) ? task.gpu_total() : 0;
      EXPECT_GE(bound.conserving + 1e-6, given) << to_text(policy);
    }
  }
}

// Fractions of 800 and whole GPUs alternating, 4 GPUs. With hindsight four whole ones fill everything. A policy that
// places what fits places a fraction before every whole one: at best two of each, 3600.
TEST(PackBound, ConservingBoundReflectsPlacingEverythingThatFits) {
  const Machine machine = small_machine(100'000);
  const std::vector<TaskType> types = {type(1000, 1, 800), type(2000, 1, 1000)};
  std::vector<std::uint32_t> arrivals;
  for (std::uint32_t i = 0; i < 40; ++i) arrivals.push_back(i % 2);
  const PackBound bound = bound_allocation(machine, types, arrivals);
  EXPECT_NEAR(bound.any, 4000, 1);
  EXPECT_GE(bound.conserving, 3600 - 1e-6);
  EXPECT_LT(bound.conserving, 3700);
}

TEST(PackBound, OneTaskNeedsNoLessThanAnother) {
  const Request small = type(1000, 1, 500).request;
  const Request whole = type(1000, 1, 1000).request;
  Request tied = whole;
  tied.models = 1;
  EXPECT_TRUE(needs_no_less(whole, small));
  EXPECT_FALSE(needs_no_less(small, whole));
  EXPECT_TRUE(needs_no_less(type(1000, 2, 1000).request, whole));
  EXPECT_FALSE(needs_no_less(type(999, 2, 1000).request, whole));
  EXPECT_TRUE(needs_no_less(tied, whole));  // fits on fewer servers
  EXPECT_FALSE(needs_no_less(whole, tied));
  EXPECT_TRUE(needs_no_less(whole, type(1000, 0, 0).request));
  EXPECT_FALSE(needs_no_less(type(5000, 0, 0).request, whole));
}

}  // namespace
}  // namespace weft::sched
