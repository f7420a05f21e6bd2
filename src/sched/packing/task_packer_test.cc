#include "sched/packing/task_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

namespace weft::sched {
namespace {

constexpr std::array<PackPolicy, kPackPolicies> kAll = {PackPolicy::random,        PackPolicy::best_fit,
                                                        PackPolicy::fgd,           PackPolicy::fgd_random,
                                                        PackPolicy::frag_best_fit, PackPolicy::weft};

Request asks(Milli cpu, std::int32_t gpus, Milli milli) {
  Request request;
  request.cpu = cpu;
  request.memory_mib = 10;
  request.gpus = gpus;
  request.gpu_milli = milli;
  return request;
}

// Servers of two kinds in an order and with names derived from `seed`.
Machine machine_of(int count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<NodeShape> nodes;
  for (int i = 0; i < count; ++i) {
    NodeShape shape;
    shape.name = "n" + std::to_string(random.next());
    shape.cpu = i % 3 == 0 ? 96'000 : 64'000;
    shape.memory_mib = 1000;
    shape.gpus = i % 3 == 0 ? 8 : 2;
    shape.model = 0;
    nodes.push_back(shape);
  }
  std::vector<NodeLabels> labels;
  labels.reserve(nodes.size());
  for (const NodeShape& shape : nodes) labels.push_back({shape.name, {}, {}, {}});
  return *Machine::build(nodes, labels, {"A"}, {});
}

std::vector<Request> tasks_of(std::size_t count, std::uint64_t seed) {
  const std::vector<Request> kinds = {asks(3000, 1, 810),    asks(11'000, 1, 1000), asks(12'000, 1, 470),
                                      asks(12'000, 0, 0),    asks(4000, 1, 320),    asks(64'000, 8, 1000),
                                      asks(11'000, 1, 1000), asks(12'000, 1, 650)};
  RandomStream random(seed);
  std::vector<Request> tasks;
  for (std::size_t i = 0; i < count; ++i) tasks.push_back(kinds[random.below(kinds.size())]);
  return tasks;
}

std::int64_t given_out(const Machine& machine, const std::vector<Request>& tasks, PackPolicy policy,
                       std::uint64_t seed = 1) {
  TaskPacker scorer(machine, task_types(tasks), policy, seed);
  std::int64_t sum = 0;
  for (const Request& task : tasks) sum += scorer.place(task) ? task.gpu_total() : 0;
  return sum;
}

TEST(TaskPacker, NamesRoundTrip) {
  for (const PackPolicy policy : kAll) EXPECT_EQ(pack_policy_named(to_text(policy)), policy);
  EXPECT_EQ(pack_policy_named("best"), std::nullopt);
}

// No task that fits is rejected, none is placed where it does not fit, and the GPUs are correct.
TEST(TaskPacker, EveryPolicyPlacesWhatFits) {
  const Machine machine = machine_of(12, 3);
  const std::vector<Request> tasks = tasks_of(200, 5);
  for (const PackPolicy policy : kAll) {
    TaskPacker scorer(machine, task_types(tasks), policy, 9);
    int refused = 0;
    for (Request task : tasks) {
      const std::vector<NodeFree> before(scorer.free().begin(), scorer.free().end());
      if (task.gpus == 0) task.gpu_milli = 0;
      const bool room =
          std::any_of(before.begin(), before.end(), [&](const NodeFree& free) { return fits(task, free); });
      const std::optional<Slot> slot = scorer.place(task);
      ASSERT_EQ(slot.has_value(), room) << to_text(policy);
      if (!slot) {
        ++refused;
        continue;
      }
      NodeFree expected = before[index_of(slot->node)];
      EXPECT_EQ(std::popcount(static_cast<unsigned>(slot->gpus)), task.gpus);
      take(expected, task, *slot);
      EXPECT_EQ(scorer.free()[index_of(slot->node)], expected);
    }
    EXPECT_GT(refused, 0) << to_text(policy);
  }
}

TEST(TaskPacker, ReleasesWhatWasAllocated) {
  const Machine machine = machine_of(3, 3);
  const std::vector<Request> tasks = tasks_of(20, 5);
  TaskPacker scorer(machine, task_types(tasks), PackPolicy::weft, 9);
  const std::vector<NodeFree> before(scorer.free().begin(), scorer.free().end());
  std::vector<std::pair<Request, Slot>> placed;
  for (const Request& task : tasks) {
    if (const auto slot = scorer.place(task)) placed.emplace_back(task, *slot);
  }
  ASSERT_FALSE(placed.empty());
  for (const auto& [task, slot] : placed) scorer.give_back(task, slot);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), scorer.free().begin()));
}

TEST(TaskPacker, WeftDoesNotDependOnNamesNorOnTheOrderOfServers) {
  const std::vector<Request> tasks = tasks_of(400, 11);
  const std::int64_t first = given_out(machine_of(40, 1), tasks, PackPolicy::weft);
  for (const std::uint64_t names : {2U, 3U, 4U, 5U}) {
    EXPECT_EQ(given_out(machine_of(40, names), tasks, PackPolicy::weft, names), first) << names;
  }
}

TEST(TaskPacker, FgdBreaksTiesByName) {
  const Machine machine = machine_of(9, 2);
  const std::vector<Request> tasks = {asks(1000, 1, 1000)};
  TaskPacker scorer(machine, task_types(tasks), PackPolicy::fgd, 1);
  const auto slot = scorer.place(tasks[0]);
  ASSERT_TRUE(slot);
  // A single type leaves no fragments: all scores are equal.
  for (const NodeShape& shape : machine.nodes()) EXPECT_LE(machine.node(slot->node).name, shape.name);
}

// Two fractions of 650 and two of 320: only the pairs fill both GPUs.
TEST(TaskPacker, WeftPairsFractionsThatFillAGpu) {
  NodeShape shape;
  shape.name = "a";
  shape.cpu = 100'000;
  shape.memory_mib = 1000;
  shape.gpus = 2;
  shape.model = 0;
  const Machine machine = *Machine::build({shape}, {NodeLabels{"a", {}, {}, {}}}, {"A"}, {});
  const std::vector<Request> tasks = {asks(1000, 1, 650), asks(1000, 1, 320), asks(1000, 1, 650), asks(1000, 1, 320)};
  EXPECT_EQ(given_out(machine, tasks, PackPolicy::weft), 1940);
}

}  // namespace
}  // namespace weft::sched
