#include "sched/placement/victims.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "base/random.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

// A small machine running jobs of random shapes, a gang to place, and possibly a quota that requires evictions.
struct Instance {
  std::shared_ptr<const Machine> machine;
  PreemptionProblem problem;
  Request request;
  struct Guest {
    std::uint32_t node = 0;
    std::uint32_t local = 0;
    std::int32_t gpus = 0;
  };
  std::vector<std::int32_t> free;     // GPUs by node, with nothing evicted
  std::vector<std::int32_t> part_of;  // the item that contains this one as a part, or -1
  std::vector<std::int64_t> quota;    // quota that each item releases
  std::int64_t quota_needed = 0;

  explicit Instance(std::uint64_t seed);
  [[nodiscard]] std::int32_t count_on(std::uint32_t node, std::uint64_t items) const;
  [[nodiscard]] bool admits(std::uint64_t items) const;
  [[nodiscard]] bool fits(std::uint64_t items) const;
  [[nodiscard]] Loss loss(std::uint64_t items) const;
  [[nodiscard]] bool within_pools(std::uint64_t items) const;
};

Instance::Instance(std::uint64_t seed) {
  RandomStream random(seed, "instance");
  PlainMachine plain;
  plain.nodes = static_cast<std::int32_t>(random.between(2, 8));
  plain.gpus = 8;
  plain.rack = static_cast<std::int32_t>(random.between(1, 4));
  machine = std::make_shared<const Machine>(plain_machine(plain));
  const auto nodes = static_cast<std::uint32_t>(plain.nodes);
  free.assign(nodes, 8);
  for (std::uint32_t node = 0; node < nodes; ++node) problem.nodes.push_back({node, {}});
  const std::int64_t jobs = random.between(1, 7);
  for (std::int64_t job = 0; job < jobs; ++job) {
    const bool elastic = random.chance(0.25);
    const auto gpus = static_cast<std::int32_t>(random.between(1, 8));
    std::vector<std::uint32_t> at;
    for (std::int64_t tasks = random.between(1, elastic ? 3 : 4); tasks > 0; --tasks) {
      const auto node = static_cast<std::uint32_t>(random.below(nodes));
      if (free[node] < gpus) continue;
      free[node] -= gpus;
      at.push_back(node);
    }
    if (at.empty()) continue;
    std::int32_t whole = -1;
    if (!elastic || random.chance(0.7)) {
      whole = static_cast<std::int32_t>(problem.items.size());
      problem.items.push_back({{random.between(0, 12), 1, random.between(0, 3)}, -1, random.chance(0.5)});
      quota.push_back(static_cast<std::int64_t>(at.size()) * gpus);
      part_of.push_back(-1);
    }
    const auto pool = static_cast<std::int32_t>(problem.pools.size());
    if (elastic) problem.pools.push_back(static_cast<std::int32_t>(random.between(1, 2)));
    std::uint32_t last = UINT32_MAX;
    for (const std::uint32_t node : at) {
      std::int32_t unit = -1;
      if (elastic) {
        unit = static_cast<std::int32_t>(problem.items.size());
        const bool helps = whole >= 0 ? problem.items[static_cast<std::size_t>(whole)].helps_quota : random.chance(0.5);
        problem.items.push_back({{random.between(0, 4), 1, random.between(0, 3)}, pool, helps});
        quota.push_back(gpus);
        part_of.push_back(whole);
      } else if (node == last) {
        problem.nodes[node].locals.back().amount += gpus * kWholeGpu;
        continue;
      }
      last = node;
      problem.nodes[node].locals.push_back({whole, unit, std::int64_t{gpus} * kWholeGpu});
    }
  }
  request.gpus = static_cast<std::int32_t>(1 << random.below(4));
  problem.machine = machine.get();
  problem.gang.tasks = static_cast<std::int32_t>(random.between(1, 6));
  problem.gang.required = random.chance(0.3) ? Level::rack : random.chance(0.2) ? Level::node : Level::cluster;
  if (problem.gang.required != Level::node && problem.gang.tasks % 2 == 0 && random.chance(0.3)) {
    problem.gang.segment = 2;
    problem.gang.segment_level = random.chance(0.5) ? Level::rack : Level::node;
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    problem.fit.push_back(static_cast<std::uint16_t>(count_on(node, 0)));
  }
  problem.count = [this](std::uint32_t index, std::uint64_t gone) {
    std::int32_t here = free[problem.nodes[index].node];
    for (std::size_t l = 0; l < problem.nodes[index].locals.size(); ++l) {
      if (((gone >> l) & 1U) != 0) {
        here += static_cast<std::int32_t>(problem.nodes[index].locals[l].amount / kWholeGpu);
      }
    }
    return here / request.gpus;
  };
  if (random.chance(0.3)) {
    quota_needed = random.between(1, 10);
    problem.admits = [this](const std::vector<std::uint32_t>& items) {
      std::uint64_t mask = 0;
      for (const std::uint32_t item : items) mask |= std::uint64_t{1} << item;
      return admits(mask);
    };
  }
}

std::int32_t Instance::count_on(std::uint32_t node, std::uint64_t items) const {
  std::int32_t here = free[node];
  for (const PreemptionProblem::Local& local : problem.nodes[node].locals) {
    const bool gone = (local.whole >= 0 && ((items >> local.whole) & 1U) != 0) ||
                      (local.unit >= 0 && ((items >> local.unit) & 1U) != 0);
    if (gone) here += static_cast<std::int32_t>(local.amount / kWholeGpu);
  }
  return here / request.gpus;
}

bool Instance::admits(std::uint64_t items) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < quota.size(); ++i) {
    if (part_of[i] >= 0 && ((items >> part_of[i]) & 1U) != 0) continue;
    if (((items >> i) & 1U) != 0 && problem.items[i].helps_quota) sum += quota[i];
  }
  return sum >= quota_needed;
}

bool Instance::within_pools(std::uint64_t items) const {
  std::vector<std::int32_t> used(problem.pools.size(), 0);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const std::int32_t pool = problem.items[i].pool;
    if (((items >> i) & 1U) == 0 || pool < 0) continue;
    if (++used[static_cast<std::size_t>(pool)] > problem.pools[static_cast<std::size_t>(pool)]) return false;
  }
  return true;
}

// Uses the search of the placement, not the sums used to find the victims.
bool Instance::fits(std::uint64_t items) const {
  FitClass fits;
  fits.request = request;
  fits.most = static_cast<std::uint16_t>(8 / request.gpus);
  fits.cost.assign(free.size(), 0);
  for (std::uint32_t node = 0; node < free.size(); ++node) {
    fits.fit.push_back(static_cast<std::uint16_t>(count_on(node, items)));
  }
  for (const Level level : {Level::nvlink, Level::rack, Level::leaf, Level::pod, Level::cluster}) {
    std::vector<std::int64_t>& sums = fits.sums[static_cast<std::size_t>(level)];
    sums.assign(machine->domains(level).size(), 0);
    for (std::uint32_t node = 0; node < free.size(); ++node) {
      sums[machine->domain_of(level, static_cast<NodeId>(node))] += fits.fit[node];
    }
  }
  return admits(items) && find_nodes(FitView(*machine, fits), problem.gang, {}).has_value();
}

Loss Instance::loss(std::uint64_t items) const {
  Loss sum;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (((items >> i) & 1U) != 0) sum += problem.items[i].loss;
  }
  return sum;
}

std::uint64_t mask_of(const VictimSet& answer) {
  std::uint64_t mask = 0;
  for (const std::uint32_t item : answer.items) mask |= std::uint64_t{1} << item;
  return mask;
}

TEST(Victims, NoSetLosesLessThanTheAnswer) {
  int solved = 0;
  int none = 0;
  int quota = 0;
  double greedy_lost = 0;
  double best_lost = 0;
  double bounds = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Instance instance(seed);
    if (instance.problem.items.size() > 9) continue;
    std::optional<Loss> best;
    for (std::uint64_t items = 0; items < (std::uint64_t{1} << instance.problem.items.size()); ++items) {
      const Loss loss = instance.loss(items);
      if ((best && !(loss < *best)) || !instance.within_pools(items) || !instance.fits(items)) continue;
      best = loss;
    }
    const std::optional<VictimSet> exact = find_victims(instance.problem);
    ASSERT_EQ(exact.has_value(), best.has_value()) << seed;
    PreemptionEffort quick;
    quick.exact_items = 0;
    const std::optional<VictimSet> greedy = find_victims(instance.problem, quick);
    if (!best) {
      ++none;
      ASSERT_FALSE(greedy.has_value()) << seed;
      continue;
    }
    ++solved;
    quota += instance.quota_needed > 0 ? 1 : 0;
    ASSERT_TRUE(exact->exact) << seed;
    ASSERT_EQ(exact->loss, *best) << seed;
    ASSERT_TRUE(greedy.has_value()) << seed;
    for (const VictimSet& answer : {*exact, *greedy}) {
      const std::uint64_t items = mask_of(answer);
      ASSERT_TRUE(instance.fits(items) && instance.within_pools(items)) << seed;
      ASSERT_EQ(answer.loss, instance.loss(items));
      ASSERT_LE(answer.bound, static_cast<double>(best->lost) + 1e-6) << seed;
      for (const std::uint32_t item : answer.items) {
        ASSERT_FALSE(instance.fits(items & ~(std::uint64_t{1} << item))) << "could be spared, " << seed;
      }
    }
    greedy_lost += static_cast<double>(greedy->loss.lost);
    best_lost += static_cast<double>(best->lost);
    bounds += greedy->bound;
  }
  EXPECT_GT(solved, 1000);
  EXPECT_GT(none, 100);
  EXPECT_GT(quota, 100);
  RecordProperty("greedy_over_best", std::to_string(greedy_lost / best_lost));
  RecordProperty("bound_over_best", std::to_string(bounds / best_lost));
  EXPECT_LT(greedy_lost, 1.05 * best_lost);
  EXPECT_GT(bounds, 0.3 * best_lost);
}

}  // namespace
}  // namespace weft::sched
