#include "oob/manage/event_merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/human_format.h"
#include "base/random.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kStart = 1'790'000'000'000;

LogEvent event_of(const std::string& message, std::optional<std::int64_t> second = std::nullopt,
                  const std::string& path = {}) {
  LogEvent event;
  event.message = message;
  if (second) event.time = format_utc(kStart + *second * 1000);
  event.path = path;
  return event;
}

LogEvent entry_of(const std::string& message, std::optional<std::int64_t> second, int number) {
  LogEvent event = event_of(message, second, fmt::format("/redfish/v1/Systems/1/LogServices/SEL/Entries/{}", number));
  event.id = std::to_string(number);
  event.log = "Systems/1/SEL";
  return event;
}

std::vector<std::string> messages(const std::vector<LogEvent>& events) {
  std::vector<std::string> all;
  all.reserve(events.size());
  for (const LogEvent& event : events) all.push_back(event.message);
  return all;
}

TEST(Likeness, WhatIsCompared) {
  const LogEvent entry = entry_of("fan 1 failed", 100, 7);
  EXPECT_EQ(likeness_of(event_of("other text", 100, entry.path), entry), Likeness::same_entry);
  EXPECT_EQ(likeness_of(event_of("other text", 900, entry.path), entry), Likeness::none) << "the log was cleared";
  EXPECT_EQ(likeness_of(event_of("fan 1 failed", 100, entry.path + "8"), entry), Likeness::none) << "paths decide";
  EXPECT_EQ(likeness_of(event_of("fan 1 failed", 104), entry), Likeness::same_time);
  EXPECT_EQ(likeness_of(event_of("fan 1 failed", 106), entry), Likeness::none);
  EXPECT_EQ(likeness_of(event_of("fan 2 failed", 100), entry), Likeness::none);
  EXPECT_EQ(likeness_of(event_of("fan 1 failed"), entry), Likeness::similar);
}

TEST(EventMerger, ASentEventAndItsEntryAreOne) {
  EventMerger merger(kStart);
  EXPECT_THAT(merger.take_logs({{entry_of("old", -60, 1)}, {}}), IsEmpty());
  EXPECT_THAT(messages(merger.take_sent({event_of("a", 10)})), ElementsAre("a"));
  EXPECT_THAT(messages(merger.take_logs({{entry_of("old", -60, 1), entry_of("a", 11, 2), entry_of("b", 12, 3)}, {}})),
              ElementsAre("b"));
  EXPECT_THAT(merger.take_sent({event_of("b", 12)}), IsEmpty()) << "sent late";
  EXPECT_THAT(messages(merger.take_sent({event_of("b", 12)})), ElementsAre("b")) << "a second one";
}

TEST(EventMerger, WhatIsSentTwiceIsReportedOnce) {
  EventMerger merger(kStart);
  LogEvent event = event_of("a", 10);
  event.id = "17";
  EXPECT_EQ(merger.take_sent({event}).size(), 1U);
  EXPECT_THAT(merger.take_sent({event}), IsEmpty());
  event.id = "18";
  EXPECT_EQ(merger.take_sent({event}).size(), 1U) << "another one at the same time";
}

TEST(EventMerger, TheLogsAtTheStart) {
  EventMerger since(kStart, kStart - 100'000);
  const std::vector<LogEvent> logged{entry_of("older", -101, 1), entry_of("later", -99, 2), entry_of("undated", {}, 3)};
  EXPECT_THAT(messages(since.take_logs({logged, {}})), ElementsAre("later"));
  EventMerger from_now(kStart);
  EXPECT_THAT(from_now.take_logs({logged, {}}), IsEmpty());
  EXPECT_THAT(from_now.take_logs({logged, {}}), IsEmpty());
  EXPECT_THAT(from_now.take_logs({{}, {}}), IsEmpty()) << "cleared";
  EXPECT_THAT(messages(from_now.take_logs({{entry_of("new", 5, 1)}, {}})), ElementsAre("new"))
      << "its id is used again";
}

TEST(EventMerger, LogsThatCannotBeReadAtTimes) {
  EventMerger merger(kStart);
  const UnreadLog unread{"Systems/1/SEL", {ErrorCode::timeout, "timed out", {}}};
  EXPECT_THAT(merger.take_logs({{}, {unread}}), IsEmpty());
  const std::vector<LogEvent> logged{entry_of("old", -60, 1), entry_of("new", 60, 2)};
  EXPECT_THAT(messages(merger.take_logs({logged, {}})), ElementsAre("new")) << "first read after the start";
  EXPECT_THAT(merger.take_logs({{}, {unread}}), IsEmpty());
  EXPECT_THAT(merger.take_logs({logged, {}}), IsEmpty()) << "not new because they could not be read once";
}

TEST(EventMerger, UndatedEventsMatchOnlyWhatComesSoon) {
  EventMerger merger(kStart);
  EXPECT_THAT(merger.take_logs({{}, {}}), IsEmpty());
  EXPECT_EQ(merger.take_sent({event_of("link down")}).size(), 1U);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(merger.take_logs({{}, {}}), IsEmpty());
  EXPECT_THAT(messages(merger.take_logs({{entry_of("link down", 900, 1)}, {}})), ElementsAre("link down"));
}

// What happens on a machine is logged, sent, or both, in any order and with any delay up to the next read; the stream
// may send twice. Each event is reported at least once, and those whose entry the BMC names exactly once.
TEST(EventMerger, EachEventIsReportedOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed);
    EventMerger merger(kStart);
    std::vector<LogEvent> log;
    (void)merger.take_logs({log, {}});
    std::map<std::string, int> reported;
    std::vector<LogEvent> late;
    const auto count = [&](const std::vector<LogEvent>& events) {
      for (const LogEvent& event : events) ++reported[event.message];
    };
    const int total = 40;
    for (int i = 0; i < total; ++i) {
      const LogEvent entry = entry_of(fmt::format("event {}", i), i, i);
      LogEvent sent = entry;
      if (random.below(2) == 0) sent.path.clear();
      sent.id = fmt::format("s{}", i);
      const std::uint64_t how = random.below(4);
      if (how != 0) log.push_back(entry);
      if (how == 0 || how == 1) count(merger.take_sent({sent}));
      if (how == 1) count(merger.take_sent({sent}));
      if (how == 2) late.push_back(sent);
      if (random.below(3) == 0) count(merger.take_logs({log, {}}));
      if (random.below(5) == 0) count(merger.take_sent(std::exchange(late, {})));
    }
    count(merger.take_sent(late));
    count(merger.take_logs({log, {}}));
    for (int i = 0; i < total; ++i) EXPECT_EQ(reported[fmt::format("event {}", i)], 1) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::oob
