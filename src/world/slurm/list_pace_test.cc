#include "world/slurm/list_pace.h"

#include <gtest/gtest.h>

namespace weft::world {
namespace {

constexpr sched::Moment kStart{1'800'000'000'000'000'000};
constexpr Duration kMilli{1'000'000};

ListPace pace() { return ListPace({kMilli * 200, kMilli * 1'000, kMilli * 5'000}); }

TEST(ListPace, ThePeriodGrowsWithTheTimeSinceTheLastChange) {
  ListPace lists = pace();
  lists.note_change(kStart);
  EXPECT_EQ(lists.wait(true, kStart), kMilli * 200);
  EXPECT_EQ(lists.wait(true, kStart + sched::seconds(4)), kMilli * 500);
  EXPECT_EQ(lists.wait(true, kStart + sched::seconds(3'600)), kMilli * 1'000);
  EXPECT_EQ(lists.wait(false, kStart + sched::seconds(3'600)), kMilli * 5'000);
  EXPECT_EQ(lists.wait(true, sched::Moment(1)), kMilli * 200) << "a clock that was set back";
}

TEST(ListPace, ListsTakeAtMostAShareOfTheTime) {
  ListPace lists = pace();
  lists.note_change(kStart);
  for (int i = 0; i < 4; ++i) lists.note_list(sched::seconds(2));
  EXPECT_EQ(lists.wait(true, kStart), sched::seconds(16));
  EXPECT_EQ(lists.short_wait(), sched::seconds(8));
  for (int i = 0; i < 4; ++i) lists.note_list(sched::seconds(100));
  EXPECT_EQ(lists.wait(true, kStart), sched::seconds(20)) << "silence would count as an outage";
  EXPECT_EQ(lists.short_wait(), sched::seconds(20));
}

TEST(ListPace, OneDelayedListDoesNotDelayTheNext) {
  ListPace lists = pace();
  lists.note_change(kStart);
  for (int i = 0; i < 4; ++i) lists.note_list(kMilli * 20);
  lists.note_list(sched::seconds(2));
  EXPECT_EQ(lists.wait(true, kStart), kMilli * 200);
}

}  // namespace
}  // namespace weft::world
