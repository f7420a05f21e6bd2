#include "netsim/flow/solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace weft::netsim {
namespace {

constexpr double kWide = 1e18;

MaxMinSolver solver_of(const std::vector<double>& capacities) {
  MaxMinSolver solver(capacities.size());
  for (std::uint32_t i = 0; i < capacities.size(); ++i) solver.set_capacity(i, capacities[i], capacities[i]);
  return solver;
}

std::uint32_t add(MaxMinSolver& solver, const std::vector<std::uint32_t>& lanes, std::uint32_t flows = 1,
                  double limit = kWide) {
  std::vector<LaneShare> shares;
  for (const std::uint32_t lane : lanes) shares.push_back({lane, 1.0});
  const std::uint32_t bundle = solver.add_bundle(shares, limit);
  solver.set_count(bundle, flows);
  return bundle;
}

// One flow over all links and one on each: the long one gets c / (1 + 1) everywhere, and so do the others.
TEST(MaxMinSolver, SharesAParkingLotEvenly) {
  MaxMinSolver solver = solver_of({100, 100, 100});
  const std::uint32_t all = add(solver, {0, 1, 2});
  std::vector<std::uint32_t> shorts;
  for (std::uint32_t lane = 0; lane < 3; ++lane) shorts.push_back(add(solver, {lane}));
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(all), 50);
  for (const std::uint32_t b : shorts) EXPECT_DOUBLE_EQ(solver.rate(b), 50);
}

// Similar to Bertsekas and Gallager, example 6.3: a link shared by three limits a flow to 1/3; the flow that shares
// another link with it then has the 2/3 that are left there, and a third link has capacity for 1 + 1.
TEST(MaxMinSolver, RedistributesCapacityOfLimitedFlows) {
  MaxMinSolver solver = solver_of({1, 1, 1});
  const std::uint32_t a = add(solver, {0});
  const std::uint32_t b = add(solver, {0});
  const std::uint32_t c = add(solver, {0, 1});
  const std::uint32_t d = add(solver, {1, 2});
  const std::uint32_t e = add(solver, {2});
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 1.0 / 3);
  EXPECT_DOUBLE_EQ(solver.rate(b), 1.0 / 3);
  EXPECT_DOUBLE_EQ(solver.rate(c), 1.0 / 3);
  EXPECT_DOUBLE_EQ(solver.rate(d), 0.5);  // lane 1 has 2/3 left for it, lane 2 half
  EXPECT_DOUBLE_EQ(solver.rate(e), 0.5);
  EXPECT_EQ(solver.bottleneck(c), 0U);
  EXPECT_EQ(solver.bottleneck(d), 2U);
  solver.set_count(e, 0);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(d), 2.0 / 3);
  EXPECT_EQ(solver.bottleneck(d), 1U);
}

TEST(MaxMinSolver, CountsABundleAsItsFlows) {
  MaxMinSolver solver = solver_of({90});
  const std::uint32_t two = add(solver, {0}, 2);
  const std::uint32_t one = add(solver, {0}, 1);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(two), 30);
  EXPECT_DOUBLE_EQ(solver.rate(one), 30);
  solver.set_count(two, 5);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(one), 15);
}

TEST(MaxMinSolver, RespectsLimitsAndRedistributesTheRest) {
  MaxMinSolver solver = solver_of({100});
  const std::uint32_t slow = add(solver, {0}, 2, 10);
  const std::uint32_t fast = add(solver, {0}, 2);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(slow), 10);
  EXPECT_DOUBLE_EQ(solver.rate(fast), 40);
  EXPECT_EQ(solver.bottleneck(slow), MaxMinSolver::kNoLane);
}

// A flow spread evenly over two lanes puts half its rate on each.
TEST(MaxMinSolver, CountsPartsOfASpreadFlow) {
  MaxMinSolver solver = solver_of({100, 100});
  const std::uint32_t spread = solver.add_bundle(std::vector<LaneShare>{{0, 0.5}, {1, 0.5}}, 200);
  solver.set_count(spread, 1);
  const std::uint32_t plain = add(solver, {0}, 1, 100);
  solver.solve();
  // Lane 0 at level x: x/2 + x = 100.
  EXPECT_DOUBLE_EQ(solver.rate(spread), 200.0 / 3);
  EXPECT_DOUBLE_EQ(solver.rate(plain), 200.0 / 3);
}

TEST(MaxMinSolver, UsesSharedCapacityForSeveralFlows) {
  MaxMinSolver solver(1);
  solver.set_capacity(0, 100, 80);
  const std::uint32_t a = add(solver, {0}, 1, 100);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 100);
  solver.set_count(a, 2);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 40);
}

TEST(MaxMinSolver, RateIsZeroOnALinkThatIsDown) {
  MaxMinSolver solver = solver_of({100, 100});
  const std::uint32_t a = add(solver, {0, 1}, 1, 100);
  const std::uint32_t b = add(solver, {1}, 1, 100);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 50);
  solver.set_capacity(0, 0, 0);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 0);
  EXPECT_DOUBLE_EQ(solver.rate(b), 100);
  solver.set_capacity(0, 100, 100);
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(a), 50);
  EXPECT_DOUBLE_EQ(solver.rate(b), 50);
}

TEST(MaxMinSolver, ReportsOnlyChangedBundles) {
  MaxMinSolver solver = solver_of({100, 100, 100});
  const std::uint32_t a = add(solver, {0}, 1, 100);
  const std::uint32_t b = add(solver, {1}, 1, 100);
  EXPECT_EQ(solver.solve().size(), 2U);
  const std::uint32_t c = add(solver, {1}, 1, 100);
  const std::span<const std::uint32_t> changed = solver.solve();
  EXPECT_EQ(std::vector<std::uint32_t>(changed.begin(), changed.end()), (std::vector<std::uint32_t>{c, b}));
  EXPECT_TRUE(solver.solve().empty());
  EXPECT_DOUBLE_EQ(solver.rate(a), 100);
}

struct RandomFlow {
  std::vector<LaneShare> lanes;
  double limit;
  std::uint32_t count;
};

// Textbook progressive filling over all flows, one bottleneck at a time and without shortcuts.
std::vector<double> fill_slowly(const std::vector<double>& capacities, const std::vector<RandomFlow>& flows) {
  std::vector<double> rates(flows.size(), -1);
  std::vector<double> left = capacities;
  for (;;) {
    double level = std::numeric_limits<double>::infinity();
    std::size_t lane_at = capacities.size();
    std::size_t flow_at = flows.size();
    for (std::size_t lane = 0; lane < capacities.size(); ++lane) {
      double weight = 0;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        if (rates[f] >= 0) continue;
        for (const LaneShare& use : flows[f].lanes) weight += use.lane == lane ? use.share * flows[f].count : 0;
      }
      if (weight > 0 && left[lane] / weight < level) {
        level = left[lane] / weight;
        lane_at = lane;
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (rates[f] < 0 && flows[f].count > 0 && flows[f].limit <= level) {
        level = flows[f].limit;
        flow_at = f;
      }
    }
    if (lane_at == capacities.size() && flow_at == flows.size()) return rates;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (rates[f] >= 0 || flows[f].count == 0) continue;
      const bool on_lane = std::any_of(flows[f].lanes.begin(), flows[f].lanes.end(),
                                       [&](const LaneShare& use) { return use.lane == lane_at; });
      if (flow_at < flows.size() ? f != flow_at : !on_lane) continue;
      rates[f] = level;
      for (const LaneShare& use : flows[f].lanes) left[use.lane] -= level * use.share * flows[f].count;
    }
  }
}

// Flows start and end; after each change the rates equal those computed from scratch.
TEST(MaxMinSolver, IncrementalSolveMatchesFullSolve) {
  RandomStream random(7, "solver");
  for (int trial = 0; trial < 30; ++trial) {
    const std::size_t lanes = 2 + random.below(12);
    std::vector<double> capacities;
    for (std::size_t i = 0; i < lanes; ++i) capacities.push_back(100.0 * static_cast<double>(1 + random.below(4)));
    MaxMinSolver solver = solver_of(capacities);
    std::vector<RandomFlow> flows;
    for (int f = 0; f < 25; ++f) {
      RandomFlow flow;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        if (random.chance(0.25)) flow.lanes.push_back({lane, random.chance(0.3) ? 0.25 : 1.0});
      }
      if (flow.lanes.empty()) flow.lanes.push_back({0, 1.0});
      flow.limit = random.chance(0.2) ? 17.0 : 1e6;
      flow.count = 0;
      solver.add_bundle(flow.lanes, flow.limit);
      flows.push_back(flow);
    }
    for (int change = 0; change < 60; ++change) {
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
        const auto f = static_cast<std::uint32_t>(random.below(flows.size()));
        flows[f].count = flows[f].count > 0 && random.chance(0.6) ? 0 : static_cast<std::uint32_t>(random.below(4));
        solver.set_count(f, flows[f].count);
      }
      solver.solve();
      const std::vector<double> expected = fill_slowly(capacities, flows);
      for (std::uint32_t f = 0; f < flows.size(); ++f) {
        if (flows[f].count == 0) continue;
        ASSERT_NEAR(solver.rate(f), expected[f], 1e-6) << "trial " << trial << " flow " << f;
      }
    }
  }
}

}  // namespace
}  // namespace weft::netsim
