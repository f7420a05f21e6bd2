#include "sched/core/tenants.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::sched {
namespace {

Amounts gpus(std::int64_t count) { return {count * kWholeGpu, 0, 0}; }

TenantPolicy tenant(const std::string& name, std::int64_t quota, std::int64_t borrow = 1000, std::int64_t lend = 1000) {
  TenantPolicy policy;
  policy.name = name;
  policy.cohort = "all";
  policy.quota = {quota * kWholeGpu, kNoLimit, kNoLimit};
  policy.borrow = {borrow * kWholeGpu, kNoLimit, kNoLimit};
  policy.lend = {lend * kWholeGpu, kNoLimit, kNoLimit};
  return policy;
}

TEST(Tenants, BorrowWhatOthersDoNotUse) {
  Tenants tenants({tenant("a", 8), tenant("b", 8)});
  const TenantId a = tenants.id_of("a");
  const TenantId b = tenants.id_of("b");
  EXPECT_EQ(tenants.admits(a, gpus(8)), Charge::guaranteed);
  EXPECT_EQ(tenants.admits(a, gpus(16)), Charge::borrowed);
  EXPECT_FALSE(tenants.admits(a, gpus(17)).has_value());
  tenants.charge(a, gpus(8), Charge::guaranteed, Moment());
  tenants.charge(a, gpus(6), Charge::borrowed, Moment());
  EXPECT_EQ(tenants.admits(b, gpus(2)), Charge::guaranteed);
  EXPECT_FALSE(tenants.admits(b, gpus(3)).has_value());  // its own quota, but lent: it must be reclaimed first
  EXPECT_EQ(tenants.admits_after(b, gpus(8), {{a, gpus(6), Charge::borrowed}}), Charge::guaranteed);
  EXPECT_EQ(tenants.borrowed(a), gpus(6));
  EXPECT_TRUE(tenants.balanced());
}

TEST(Tenants, LendingAndBorrowingLimitsAreEnforced) {
  Tenants tenants({tenant("a", 8, 3), tenant("b", 8, 1000, 2)});
  const TenantId a = tenants.id_of("a");
  EXPECT_TRUE(tenants.admits(a, gpus(10)).has_value());
  EXPECT_FALSE(tenants.admits(a, gpus(11)).has_value());  // b lends two
  Tenants generous({tenant("a", 8, 3), tenant("b", 8)});
  EXPECT_TRUE(generous.admits(generous.id_of("a"), gpus(11)).has_value());
  EXPECT_FALSE(generous.admits(generous.id_of("a"), gpus(12)).has_value());  // a borrows three
}

TEST(Tenants, WithoutPolicyThereIsNoLimit) {
  Tenants tenants;
  const TenantId someone = tenants.id_of("someone");
  EXPECT_EQ(tenants.admits(someone, gpus(1'000'000)), Charge::guaranteed);
  EXPECT_FALSE(tenants.limited(someone));
}

TEST(Tenants, CpuAndMemoryCountToo) {
  TenantPolicy policy = tenant("a", 8);
  policy.cohort.clear();
  policy.quota.cpu = 10'000;
  Tenants tenants({policy});
  Request task;
  task.cpu = 4'000;
  EXPECT_TRUE(tenants.admits(0, amounts_of(task, 2)).has_value());
  EXPECT_FALSE(tenants.admits(0, amounts_of(task, 3)).has_value());
}

TEST(Tenants, BorrowersArePromotedWhenTheirQuotaIsFree) {
  Tenants tenants({tenant("a", 8), tenant("b", 8)});
  tenants.charge(0, gpus(6), Charge::guaranteed, Moment());
  tenants.charge(0, gpus(4), Charge::borrowed, Moment());
  EXPECT_FALSE(tenants.promote(0, gpus(4)));
  tenants.uncharge(0, gpus(6), Charge::guaranteed, Moment());
  EXPECT_TRUE(tenants.promote(0, gpus(4)));
  EXPECT_EQ(tenants.guaranteed(0), gpus(4));
}

// Steady-state usage is gpus * half_life / ln 2; after one half-life without use, half of it is left.
TEST(Tenants, UseDecaysByHalf) {
  const Duration half_life = seconds(1000);
  Tenants tenants({tenant("a", 100), tenant("b", 100)}, half_life);
  tenants.charge(0, gpus(4), Charge::guaranteed, Moment());
  const Moment late = Moment() + seconds(100'000);
  EXPECT_NEAR(tenants.decayed_use(0, late), 4 * 1000 / std::log(2.0), 1e-6);
  EXPECT_NEAR(tenants.decayed_use(0, Moment() + seconds(1)), 4.0, 0.01);
  tenants.uncharge(0, gpus(4), Charge::guaranteed, late);
  EXPECT_NEAR(tenants.decayed_use(0, late + half_life), 2 * 1000 / std::log(2.0), 1e-6);
  // Slurm's classic fair share, 2^(-use/share): all of the usage with half of the shares yields 2^-2.
  EXPECT_NEAR(tenants.fair_share(0, late + half_life), 0.25, 1e-9);
  EXPECT_NEAR(tenants.fair_share(1, late + half_life), 1.0, 1e-9);
}

// The example of the DRF paper (Ghodsi et al., NSDI'11): 9 CPUs and 18 GB; 3 tasks of <1 CPU, 4 GB> and 2 tasks of
// <3 CPU, 1 GB> give both users a dominant share of 2/3.
TEST(Tenants, DominantSharesMatchTheDrfPaper) {
  Tenants tenants;
  const TenantId a = tenants.id_of("a");
  const TenantId b = tenants.id_of("b");
  const Amounts capacity{0, 9'000, 18 * 1024};
  tenants.charge(a, {0, 3'000, std::int64_t{12} * 1024}, Charge::guaranteed, Moment());
  tenants.charge(b, {0, 6'000, 2 * 1024}, Charge::guaranteed, Moment());
  EXPECT_NEAR(tenants.dominant_share(a, capacity), 2.0 / 3, 1e-12);
  EXPECT_NEAR(tenants.dominant_share(b, capacity), 2.0 / 3, 1e-12);
}

}  // namespace
}  // namespace weft::sched
