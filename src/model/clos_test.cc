#include "model/clos.h"

#include <gtest/gtest.h>

namespace weft::model {
namespace {

// One row of a published component table: a fabric with `rails` leaves per unit, radix r everywhere, no
// oversubscription.
ClosPlan plan_for(std::uint32_t units, std::uint32_t rails, std::uint32_t radix) {
  ClosRequest request;
  request.classes = {{units, rails, radix / 2, radix / 2}};
  request.spine_ports = radix;
  request.core_ports = radix;
  auto plan = size_clos(request);
  EXPECT_TRUE(plan.ok());
  return plan.value_or(ClosPlan{});
}

struct Row {
  std::uint32_t units, leaves, spines, cores, leaf_spine, spine_core;
};

void expect_row(const Row& row, std::uint32_t rails, std::uint32_t radix) {
  const ClosPlan plan = plan_for(row.units, rails, radix);
  EXPECT_EQ(row.units * rails, row.leaves);
  EXPECT_EQ(plan.spines(), row.spines) << row.units << " units";
  EXPECT_EQ(plan.cores(), row.cores) << row.units << " units";
  EXPECT_EQ(row.leaves * plan.uplinks[0], row.leaf_spine);
  EXPECT_EQ(plan.tiers == 3 ? plan.spines() * plan.spine_uplinks : 0, row.spine_core);
}

// NVIDIA DGX SuperPOD H100 (RA-11333-001 V11) table 3 and table 4, and the B200 row of 2 units.
TEST(Clos, SuperPodH100AndB200Tables) {
  for (const Row& row : {Row{1, 8, 4, 0, 256, 0}, Row{2, 16, 8, 0, 512, 0}, Row{3, 24, 16, 0, 768, 0},
                         Row{4, 32, 16, 0, 1024, 0}, Row{8, 64, 32, 0, 2048, 0}, Row{16, 128, 128, 64, 4096, 4096},
                         Row{32, 256, 256, 128, 8192, 8192}, Row{64, 512, 512, 256, 16384, 16384}}) {
    expect_row(row, 8, 64);
  }
}

// NVIDIA DGX SuperPOD B300 table 3: two planes of 64-cage 800G switches split to 128 ports of 400G. Counts include both
// planes; the published cables are cages, that is pairs of 400G links.
TEST(Clos, SuperPodB300TwinPlanes) {
  struct Published {
    std::uint32_t units, leaves, spines, leaf_spine;
  };
  for (const Published& row : {Published{1, 16, 8, 512}, Published{2, 32, 16, 1024}, Published{4, 64, 32, 2048},
                               Published{8, 128, 64, 4096}, Published{16, 256, 128, 8192}}) {
    const ClosPlan plan = plan_for(row.units, 8, 128);
    EXPECT_EQ(plan.tiers, 2);
    EXPECT_EQ(2 * row.units * 8, row.leaves);
    EXPECT_EQ(2 * plan.spines(), row.spines);
    EXPECT_EQ(2 * row.units * 8 * plan.uplinks[0] / 2, row.leaf_spine);
  }
}

// The rule's formulas at radix 144: spine = leaf x U / (radix / 2), core = leaf x U / radix in three tiers.
TEST(Clos, Radix144) {
  EXPECT_EQ(plan_for(1, 8, 144).spines(), 4U);
  EXPECT_EQ(plan_for(16, 8, 144).spines(), 72U);  // 64 does not divide 72
  const ClosPlan large = plan_for(32, 8, 144);
  EXPECT_EQ(large.tiers, 3);
  EXPECT_EQ(large.spines(), 256U);
  EXPECT_EQ(large.cores(), 128U);
}

TEST(Clos, ThreeTiersFollowTheFormulaForOddUnitCounts) {
  for (const std::uint32_t units : {9U, 12U, 17U, 24U, 40U}) {
    const ClosPlan plan = plan_for(units, 8, 64);
    EXPECT_EQ(plan.spines(), units * 8 * 32 / 32) << units;
    EXPECT_EQ(plan.cores(), (units * 8 * 32 + 63) / 64) << units;
  }
}

// Juniper JVD-AICLUSTERDC-EVPNType5-01-04 table 5: servers per stripe of 8 leaves at 1:1.
TEST(Clos, JuniperStripeTable) {
  const auto servers = [](std::uint32_t cages, std::uint32_t per_cage) {
    const SwitchCapacity leaf{cages, per_cage, cages, per_cage, true};
    return split_leaf(leaf, gigabits(400), gigabits(400), Ratio{}).down;
  };
  EXPECT_EQ(servers(32, 1), 16U);  // QFX5220-32CD: 128 GPUs
  EXPECT_EQ(servers(64, 1), 32U);  // QFX5230-64CD: 256 GPUs
  EXPECT_EQ(servers(64, 2), 64U);  // QFX5240-64OD: 512 GPUs
}

TEST(Clos, LeafSplitRespectsTheRatio) {
  const SwitchCapacity leaf{32, 2, 32, 2, true};  // 64 ports
  EXPECT_EQ(split_leaf(leaf, gigabits(400), gigabits(400), Ratio{1, 1}).down, 32U);
  EXPECT_EQ(split_leaf(leaf, gigabits(400), gigabits(400), Ratio{3, 1}).down, 48U);
  EXPECT_EQ(split_leaf(leaf, gigabits(200), gigabits(400), Ratio{1, 1}).down, 42U);
  EXPECT_EQ(uplinks_needed(32, gigabits(400), gigabits(400), Ratio{4, 3}), 24U);
  EXPECT_EQ(uplinks_needed(24, gigabits(200), gigabits(400), Ratio{1, 1}), 12U);
}

TEST(Clos, ClassesShareSpines) {
  // DGX SuperPOD H100 storage fabric: 8 leaves of 32 servers at 4:3 and 4 leaves of 24 x 200G at 1:1.
  ClosRequest request;
  request.classes = {{4, 2, 24, 32}, {2, 2, 12, 40}};
  request.spine_ports = 64;
  request.core_ports = 64;
  const auto plan = size_clos(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spines(), 4U);
  EXPECT_EQ(plan->uplinks, (std::vector<std::uint32_t>{24, 12}));
}

TEST(Clos, RejectsFabricsThatAreTooLarge) {
  ClosRequest request;
  request.classes = {{16, 8, 32, 32}};
  request.spine_ports = 64;
  request.core_ports = 64;
  request.tiers = 2;
  EXPECT_FALSE(size_clos(request).ok());
}

}  // namespace
}  // namespace weft::model
