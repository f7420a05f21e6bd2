#include "sched/machine/resources.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"

namespace weft::sched {
namespace {

NodeShape eight_gpus() {
  NodeShape shape;
  shape.name = "n1";
  shape.cpu = 96'000;
  shape.memory_mib = 1'000'000;
  shape.gpus = 8;
  shape.model = 0;
  shape.functions = 8;
  shape.scratch_gib = 7'000;
  shape.mig = true;
  for (std::size_t g = 4; g < 8; ++g) shape.gpu_numa[g] = 1;
  return shape;
}

Request gpus(int count) {
  Request request;
  request.cpu = 8'000;
  request.memory_mib = 64'000;
  request.gpus = count;
  return request;
}

// NVIDIA's MIG user guide: starts of the H100 profiles, in memory slices.
constexpr MigShape kOneSlice{1, 0b0111'1111};      // 1g.10gb at 0 to 6
constexpr MigShape kTwoSlices{2, 0b0001'0101};     // 2g.20gb at 0, 2, 4
constexpr MigShape kThreeOfSeven{4, 0b0001'0001};  // 3g.40gb at 0, 4
constexpr MigShape kFourOfSeven{4, 0b0000'0001};   // 4g.40gb at 0
constexpr MigShape kWhole{8, 0b0000'0001};         // 7g.80gb at 0

Request mig(const MigShape& shape, int count = 1) {
  Request request;
  request.gpus = count;
  request.mig = shape;
  return request;
}

TEST(Resources, EveryResourceLimitsWhatFits) {
  const NodeShape shape = eight_gpus();
  const NodeFree free = empty_node(shape);
  EXPECT_EQ(count_fits(gpus(1), free, 100), 8);
  EXPECT_EQ(count_fits(gpus(3), free, 100), 2);
  EXPECT_EQ(count_fits(gpus(9), free, 100), 0);
  EXPECT_EQ(count_fits(gpus(1), free, 5), 5);
  Request hungry = gpus(1);
  hungry.cpu = 50'000;
  EXPECT_EQ(count_fits(hungry, free, 100), 1);
  hungry = gpus(1);
  hungry.memory_mib = 400'000;
  EXPECT_EQ(count_fits(hungry, free, 100), 2);
  hungry = gpus(1);
  hungry.functions = 3;
  EXPECT_EQ(count_fits(hungry, free, 100), 2);
  hungry = gpus(1);
  hungry.scratch_gib = 6'000;
  EXPECT_EQ(count_fits(hungry, free, 100), 1);
  NodeFree down = free;
  down.up = false;
  EXPECT_EQ(count_fits(gpus(1), down, 100), 0);
}

TEST(Resources, ModelsAndPoolsAreAccepted) {
  const NodeShape shape = eight_gpus();
  Request request = gpus(1);
  request.models = 0b10;
  EXPECT_FALSE(accepts(request, shape));
  request.models = 0b11;
  EXPECT_TRUE(accepts(request, shape));
  request.pools = 0b100;
  EXPECT_FALSE(accepts(request, shape));
  NodeShape plain = eight_gpus();
  plain.mig = false;
  EXPECT_FALSE(accepts(mig(kOneSlice), plain));
  Request cpu_only;
  cpu_only.models = 0b10;  // ignored without GPUs
  EXPECT_TRUE(accepts(cpu_only, shape));
}

TEST(Resources, FractionsGoToTheFullestGpuThatFits) {
  const NodeShape shape = eight_gpus();
  NodeFree free = empty_node(shape);
  Request half;
  half.gpus = 1;
  half.gpu_milli = 500;
  const Slot first = *choose_slot(half, shape, free);
  take(free, half, first);
  const Slot second = *choose_slot(half, shape, free);
  EXPECT_EQ(first.gpus, second.gpus);
  take(free, half, second);
  EXPECT_EQ(free.whole_gpus(), 7);
  Request more = half;
  more.gpu_milli = 600;
  EXPECT_NE(choose_slot(more, shape, free)->gpus, first.gpus);
  EXPECT_EQ(count_fits(more, free, 100), 7);
}

TEST(Resources, WholeGpusStayOnOneNumaNodeAndOnTheSameRails) {
  const NodeShape shape = eight_gpus();
  NodeFree free = empty_node(shape);
  const Slot one = *choose_slot(gpus(1), shape, free);
  take(free, gpus(1), one);
  const Slot four = *choose_slot(gpus(4), shape, free);
  EXPECT_EQ(four.gpus, 0b1111'0000);  // the NUMA node that still has four
  const Slot two = *choose_slot(gpus(2), shape, free);
  EXPECT_EQ(two.gpus, 0b0000'0110);  // three left on the first: tighter than four
  EXPECT_EQ(choose_slot(gpus(2), shape, free, 0b0011'0000)->gpus, 0b0011'0000);  // same GPUs as a rank elsewhere
  EXPECT_EQ(choose_slot(gpus(2), shape, free, 0b0000'0011)->gpus, 0b0000'0110);  // not free here
}

TEST(Resources, MigInstancesUseTheirSlices) {
  const NodeShape shape = eight_gpus();
  NodeFree free = empty_node(shape);
  EXPECT_EQ(count_fits(mig(kOneSlice), free, 100), 56);  // seven per GPU
  EXPECT_EQ(count_fits(mig(kTwoSlices), free, 100), 24);
  EXPECT_EQ(count_fits(mig(kThreeOfSeven), free, 100), 16);
  EXPECT_EQ(count_fits(mig(kFourOfSeven), free, 100), 8);
  EXPECT_EQ(count_fits(mig(kWhole), free, 100), 8);
  EXPECT_EQ(count_fits(mig(kThreeOfSeven, 3), free, 100), 5);
  const Slot small = *choose_slot(mig(kOneSlice), shape, free);
  take(free, mig(kOneSlice), small);
  EXPECT_EQ(count_fits(mig(kFourOfSeven), free, 100), 8);  // the low slices are kept for the large profile
  EXPECT_EQ(count_fits(mig(kWhole), free, 100), 7);
  EXPECT_EQ(count_fits(gpus(1), free, 100), 7);  // a split GPU is not a whole one
  Request half;
  half.gpus = 1;
  half.gpu_milli = 500;
  EXPECT_EQ(count_fits(half, free, 100), 14);
  const Slot next = *choose_slot(mig(kThreeOfSeven), shape, free);
  EXPECT_EQ(next.gpus, small.gpus);  // split GPUs first
  give_back(free, mig(kOneSlice), small);
  EXPECT_EQ(free, empty_node(shape));
}

// After allocating and releasing in any order, the state equals the initial one, and counts agree with what can be
// allocated one by one.
TEST(Resources, AllocateAndReleaseAreExact) {
  RandomStream random(7, "resources");
  const NodeShape shape = eight_gpus();
  for (int round = 0; round < 300; ++round) {
    NodeFree free = empty_node(shape);
    std::vector<std::pair<Request, Slot>> held;
    for (int step = 0; step < 60; ++step) {
      Request request = gpus(static_cast<int>(random.below(5)));
      if (random.chance(0.3)) {
        request.gpus = 1;
        request.gpu_milli = static_cast<Milli>(100 * (1 + random.below(9)));
      } else if (random.chance(0.3)) {
        const auto& profile = random.chance(0.5) ? kOneSlice : kThreeOfSeven;
        request = mig(profile, 1 + static_cast<int>(random.below(3)));
      }
      const int count = count_fits(request, free, 1000);
      const std::optional<Slot> slot = choose_slot(request, shape, free);
      ASSERT_EQ(slot.has_value(), count > 0);
      if (slot) {
        NodeFree copy = free;
        int taken = 0;
        for (auto each = slot; each; each = choose_slot(request, shape, copy), ++taken) take(copy, request, *each);
        ASSERT_EQ(taken, count);
        take(free, request, *slot);
        held.emplace_back(request, *slot);
      }
      if (!held.empty() && random.chance(0.45)) {
        const std::size_t which = random.below(held.size());
        give_back(free, held[which].first, held[which].second);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    for (const auto& [request, slot] : held) give_back(free, request, slot);
    ASSERT_EQ(free, empty_node(shape));
  }
}

TEST(Resources, MinimumOfTwoStatesServesBoth) {
  const NodeShape shape = eight_gpus();
  NodeFree now = empty_node(shape);
  NodeFree later = empty_node(shape);
  take(now, gpus(2), *choose_slot(gpus(2), shape, now));
  Slot last;
  last.gpus = 0b1100'0000;
  take(later, gpus(2), last);
  const NodeFree both = least_of(now, later);
  EXPECT_EQ(both.whole_gpus(), 4);
  EXPECT_EQ(both.cpu, 88'000);
  NodeFree split = empty_node(shape);
  take(split, mig(kOneSlice), *choose_slot(mig(kOneSlice), shape, split));
  NodeFree shared = empty_node(shape);
  Request half;
  half.gpus = 1;
  half.gpu_milli = 500;
  Slot first;
  first.gpus = 1;
  take(shared, half, first);
  EXPECT_EQ(count_fits(mig(kOneSlice), least_of(split, shared), 100), 49);
  EXPECT_EQ(count_fits(half, least_of(split, shared), 100), 14);
}

}  // namespace
}  // namespace weft::sched
