#include "explore/candidate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace weft::explore {
namespace {

struct Sample {
  std::vector<Figures> figures;
  std::vector<double> days;
  [[nodiscard]] std::vector<Contender> contenders() const {
    std::vector<Contender> out;
    for (std::size_t i = 0; i < figures.size(); ++i) out.push_back({&figures[i], {days[i]}});
    return out;
  }
  [[nodiscard]] bool covers(std::size_t a, std::size_t b, double slack) const {
    return is_no_larger(figures[a], figures[b], slack) && is_no_slower({days[a]}, {days[b]}, slack);
  }
};

Sample random_sample(std::uint64_t seed, bool priced) {
  RandomStream random(seed, "front");
  Sample sample;
  for (int i = 0; i < 60; ++i) {
    Figures figures;
    figures.power = watts(random.between(10, 30) * 1'000);
    if (priced) figures.cost = Money(random.between(10, 30) * 100'000);
    sample.figures.push_back(figures);
    sample.days.push_back(static_cast<double>(random.between(10, 40)));
  }
  return sample;
}

TEST(ParetoFrontTest, IsWhatNoOtherDominates) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Sample sample = random_sample(seed, seed % 2 == 0);
    const std::vector<std::size_t> front = pareto_front(sample.contenders(), 0);
    const auto is_same = [&](std::size_t a, std::size_t b) {
      return sample.figures[a].power == sample.figures[b].power && sample.figures[a].cost == sample.figures[b].cost &&
             sample.days[a] == sample.days[b];
    };
    for (std::size_t i = 0; i < sample.days.size(); ++i) {
      bool dominated = false;
      bool kept = false;
      for (std::size_t j = 0; j < sample.days.size(); ++j) {
        dominated = dominated || (!is_same(i, j) && sample.covers(j, i, 0));
      }
      for (const std::size_t j : front) kept = kept || is_same(i, j);
      EXPECT_EQ(kept, !dominated) << "seed " << seed << ", candidate " << i;
    }
  }
}

TEST(ParetoFrontTest, SlackLeavesNoNearDuplicatesAndCoversAll) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Sample sample = random_sample(seed, true);
    constexpr double kTenth = 0.1;
    const std::vector<std::size_t> front = pareto_front(sample.contenders(), kTenth);
    const auto covers = [&](std::size_t a, std::size_t b) { return sample.covers(a, b, kTenth); };
    for (std::size_t i = 0; i < sample.days.size(); ++i) {
      EXPECT_TRUE(std::any_of(front.begin(), front.end(), [&](std::size_t kept) { return covers(kept, i); }));
    }
    for (std::size_t i = 0; i < front.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(covers(front[j], front[i])) << "seed " << seed;
    }
    EXPECT_TRUE(std::is_sorted(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
      return sample.figures[a].power < sample.figures[b].power;
    }));
  }
}

// A design that seems faster is not, if chance explains the difference: the more certain one stays.
TEST(ParetoFrontTest, ChanceIsNoAdvantage) {
  EXPECT_TRUE(is_no_slower({47.1, 47.2, 47.3}, {40.0, 46.0, 53.0}));
  EXPECT_FALSE(is_no_slower({40.0, 46.0, 53.0}, {39.7, 39.8, 39.9}));
  EXPECT_FALSE(is_no_slower({47.1, 47.2, 47.3}, {46.0, 46.1, 46.2}));
  EXPECT_TRUE(is_no_slower({47.1}, {47.1}));
  EXPECT_FALSE(is_no_slower({47.1}, {46.0}));
}

}  // namespace
}  // namespace weft::explore
