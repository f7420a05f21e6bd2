#include "netsim/packet/event_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace weft::netsim {
namespace {

// Compared with a sorted list: pushes and pops mixed, with times that are near, equal, far and in the current slot.
void compare_with_sorted(std::uint64_t seed, std::int64_t near, std::int64_t far) {
  RandomStream random(seed);
  EventWheel wheel;
  std::vector<Event> model;
  std::int64_t now = 0;
  std::uint64_t key = 0;
  for (int i = 0; i < 60'000; ++i) {
    if (model.size() < 300 || random.chance(0.5)) {
      const std::int64_t ahead = random.chance(0.02) ? random.between(0, far) : random.between(0, near);
      ++key;
      const Event event{now + ahead, (key * 2654435761U % 4294967291U << 32U) | (key % 7)};
      wheel.push(event);
      model.push_back(event);
      std::push_heap(model.begin(), model.end(), [](const Event& a, const Event& b) { return b < a; });
      continue;
    }
    ASSERT_EQ(wheel.next_time(), model.front().time);
    Event popped;
    ASSERT_FALSE(wheel.pop_before(model.front().time, popped));
    ASSERT_TRUE(wheel.pop_before(INT64_MAX, popped));
    ASSERT_EQ(popped.time, model.front().time);
    ASSERT_EQ(popped.key, model.front().key);
    now = popped.time;
    std::pop_heap(model.begin(), model.end(), [](const Event& a, const Event& b) { return b < a; });
    model.pop_back();
  }
}

TEST(EventWheel, ReturnsEventsInOrderOfTimeAndKey) {
  compare_with_sorted(1, 2'000'000, 5'000'000'000);
  compare_with_sorted(2, 2'000, 100'000);
  compare_with_sorted(3, 3, 10);
  compare_with_sorted(4, 4'000'000'000, 4'000'000'000'000);
}

TEST(EventWheel, IsInitiallyEmpty) {
  EventWheel wheel;
  Event event;
  EXPECT_EQ(wheel.next_time(), INT64_MAX);
  EXPECT_FALSE(wheel.pop_before(INT64_MAX, event));
}

}  // namespace
}  // namespace weft::netsim
