#include "sched/packing/node_value.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sched/packing/task_worth.h"

namespace weft::sched {
namespace {

NodeShape server(Milli cpu, std::int32_t gpus, std::int32_t model = 0) {
  NodeShape shape;
  shape.cpu = cpu;
  shape.memory_mib = 1'000'000;
  shape.gpus = gpus;
  shape.model = model;
  return shape;
}

TaskType type(Milli cpu, std::int32_t gpus, Milli milli, std::int64_t count = 1) {
  TaskType result;
  result.request.cpu = cpu;
  result.request.gpus = gpus;
  result.request.gpu_milli = milli;
  result.count = count;
  return result;
}

// The maximum worth that fits, by brute force.
double brute_force(const std::vector<NodeValue::Item>& items, const NodeShape& shape, const NodeFree& free,
                   std::size_t from = 0) {
  double most = 0;
  for (std::size_t i = from; i < items.size(); ++i) {
    const Request& request = items[i].request;
    if (!accepts(request, shape) || !fits(request, free)) continue;
    // The choice of GPU for a fraction matters: tries every one.
    const bool part = request.gpus == 1 && request.gpu_milli < kWholeGpu;
    for (std::size_t g = 0; g < (part ? free.gpus : 1U); ++g) {
      Slot slot = *choose_slot(request, shape, free);
      if (part) {
        if (free.gpu[g] < request.gpu_milli) continue;
        slot.gpus = static_cast<std::uint16_t>(1U << g);
      }
      NodeFree after = free;
      take(after, request, slot);
      most = std::max(most, items[i].worth + brute_force(items, shape, after, i));
    }
  }
  return most;
}

TEST(NodeValue, IsExactForOneGpuWithCpuToSpare) {
  const std::vector<TaskType> types = {type(100, 1, 470), type(100, 1, 320), type(100, 1, 160), type(100, 1, 810)};
  const NodeShape shape = server(1'000'000, 1);
  const std::vector<NodeShape> nodes = {shape};
  NodeValue value(types, nodes, NodeValue::common_step(types));
  const std::vector<NodeValue::Item> items(value.items().begin(), value.items().end());
  for (const int milli : {1000, 900, 530, 350, 190, 150, 0}) {
    NodeFree free = empty_node(shape);
    free.gpu[0] = static_cast<std::int16_t>(milli);
    EXPECT_DOUBLE_EQ(value.value(shape, free), brute_force(items, shape, free)) << milli;
  }
}

TEST(NodeValue, IsNeverBelowTheBestFill) {
  RandomStream random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<TaskType> types;
    for (int i = 0; i < 4; ++i) {
      const auto gpus = static_cast<std::int32_t>(random.chance(0.7) ? 1 : random.between(2, 3));
      const auto milli = static_cast<Milli>(gpus > 1 ? 1000 : 100 * random.between(3, 10));
      types.push_back(type(static_cast<Milli>(500 * random.between(1, 8)), gpus, milli));
    }
    const NodeShape shape = server(static_cast<Milli>(1000 * random.between(2, 12)), 3);
    const std::vector<NodeShape> nodes = {shape};
    NodeValue value(types, nodes, NodeValue::common_step(types));
    std::vector<double> worths;
    for (std::size_t i = 0; i < value.items().size(); ++i) worths.push_back(static_cast<double>(random.below(1500)));
    value.set_worths(worths, 0);
    const std::vector<NodeValue::Item> items(value.items().begin(), value.items().end());
    NodeFree free = empty_node(shape);
    free.gpu[1] = static_cast<std::int16_t>(100 * random.below(10));
    EXPECT_GE(value.value(shape, free) + 1e-6, brute_force(items, shape, free)) << round;
  }
}

TEST(NodeValue, FillAddsUpToTheValueWhereNothingIsRelaxed) {
  const std::vector<TaskType> types = {type(1000, 1, 650), type(1000, 1, 320), type(8000, 8, 1000)};
  const NodeShape shape = server(1'000'000, 8);
  const std::vector<NodeShape> nodes = {shape};
  const NodeValue value(types, nodes, 10);
  std::vector<double> used(value.items().size());
  double cores = 0;
  const double worth = value.fill(shape, empty_node(shape), 2.0, used, cores);
  double sum = 0;
  for (std::size_t i = 0; i < used.size(); ++i) sum += used[i] * value.items()[i].worth;
  EXPECT_DOUBLE_EQ(sum, 2 * worth);
  EXPECT_DOUBLE_EQ(worth, 8000);
  EXPECT_DOUBLE_EQ(cores, 2 * (1000 - 8));
}

TEST(NodeValue, CountsOnlyTasksOfTheModel) {
  TaskType other = type(1000, 1, 1000);
  other.request.models = 2;
  const std::vector<TaskType> types = {type(1000, 1, 500), other};
  const std::vector<NodeShape> nodes = {server(9000, 1, 0), server(9000, 1, 1), server(9000, 1, 2)};
  NodeValue value(types, nodes, 500);
  std::vector<double> worths;
  for (const NodeValue::Item& item : value.items()) worths.push_back(item.request.models != 0 ? 5000 : 100);
  value.set_worths(worths, 0);
  EXPECT_DOUBLE_EQ(value.value(nodes[0], empty_node(nodes[0])), 200);
  EXPECT_DOUBLE_EQ(value.value(nodes[1], empty_node(nodes[1])), 5000);
  EXPECT_DOUBLE_EQ(value.value(nodes[2], empty_node(nodes[2])), 200);
}

TEST(TaskWorth, ScarceResourcesRaiseTheWorthOfAType) {
  // Every large fraction blocks a whole GPU; the small ones fit into what the large ones leave, at no cost.
  const std::vector<TaskType> mix = {type(100, 1, 800, 50), type(100, 1, 200, 10)};
  const std::vector<NodeShape> nodes(10, server(100'000, 8));
  TaskWorth worth(mix, nodes, 100);
  worth.learn(empty_kinds(nodes), {.rounds = 400, .rate = 0.5});
  double large = 0;
  double small = 0;
  for (const NodeValue::Item& item : worth.values().items())
    (item.request.gpu_milli == 800 ? large : small) = item.worth;
  EXPECT_GT(large, 800);
  EXPECT_LT(small, 100);
}

TEST(TaskWorth, EqualServersAreOneKind) {
  const std::vector<NodeShape> nodes = {server(8000, 8), server(8000, 8), server(8000, 4), server(8000, 8, 1)};
  const std::vector<NodeKind> kinds = empty_kinds(nodes);
  ASSERT_EQ(kinds.size(), 3U);
  double count = 0;
  for (const NodeKind& kind : kinds) count += kind.count;
  EXPECT_DOUBLE_EQ(count, 4);
}

}  // namespace
}  // namespace weft::sched
