#include "oob/manage/events_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Expected values computed with `date -u -d ... +%s`.
TEST(EventTime, IsoDatesAreParsed) {
  EXPECT_EQ(parse_event_time("1970-01-01"), 0);
  EXPECT_EQ(parse_event_time("2026-01-31T08:00:00Z"), 1'769'846'400'000);
  EXPECT_EQ(parse_event_time("2026-01-31T10:00:00+02:00"), 1'769'846'400'000);
  EXPECT_EQ(parse_event_time("2026-01-31 02:30:00-0530"), 1'769'846'400'000);
  EXPECT_EQ(parse_event_time("2026-01-31T08:00:00.5Z"), 1'769'846'400'500);
  EXPECT_EQ(parse_event_time("2024-02-29T23:59:60Z"), 1'709'251'200'000);  // a leap second is the following second
  EXPECT_EQ(parse_event_time("2000-03-01T00:00:00"), 951'868'800'000);
}

TEST(EventTime, InvalidDatesAreRejected) {
  for (const char* text : {"", "yesterday", "2026-13-01", "2026-02-30", "2025-02-29", "2026-01-31T",
                           "2026-01-31T25:00:00Z", "2026-01-31T08:00:00X", "2026-01-31T08:00:00+99:00",
                           "2026-01-31T08:00:00Zz", "-026-01-01", "2026-1-31", "26-01-31", "2026-01-31T08:00:00."})
    EXPECT_EQ(parse_event_time(text), std::nullopt) << text;
}

LogEvent event(std::string id, std::string time, Health severity, std::string message) {
  return {std::move(id), std::move(time), severity, "DIMM A1", std::move(message)};
}

EventLogs logs(std::vector<LogEvent> events) { return {std::move(events), {}}; }

class EventsTest : public testing::Test {
 protected:
  EventsTest() : fakes_(clock_, journal_, {fake_target("train01"), fake_target("train02"), fake_target("train03")}) {
    folder_ = testing::TempDir() + fmt::format("events_view_test.{}.{}", getpid(),
                                               testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  ~EventsTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  ManualClock clock_;
  MemoryJournal journal_;
  FakeFleet fakes_;
  std::string folder_;
  const std::vector<std::uint32_t> all_{0, 1, 2};
};

TEST_F(EventsTest, EqualMessagesAreFoldedNewestFirst) {
  EventFleet fleet({}, clock_.wall_ms());
  fleet.add(1, logs({event("1", "2025-10-01T00:00:00Z", Health::warning, "correctable error"),
                     event("2", "2025-10-03T00:00:00Z", Health::warning, "correctable error")}));
  fleet.add(0, logs({event("9", "2025-10-02T00:00:00Z", Health::warning, "correctable error"),
                     event("10", "2025-10-05T00:00:00Z", Health::critical, "uncorrectable error")}));
  const std::vector<EventFold> folds = fleet.folds();
  ASSERT_EQ(folds.size(), 2U);
  EXPECT_EQ(folds[0].message, "uncorrectable error");
  EXPECT_EQ(folds[1].count, 3U);
  EXPECT_THAT(folds[1].targets, ElementsAre(0, 1));
  const std::string text = write(events_document(fakes_.inventory, fleet, {}), {.format = OutputFormat::wide});
  EXPECT_THAT(text, HasSubstr("train[01-02]"));
  EXPECT_THAT(text, HasSubstr("2025-10-01T00:00:00"));
  EXPECT_THAT(text, Not(HasSubstr("clock")));
}

TEST_F(EventsTest, SinceAndSeverityFilter) {
  EventFleet fleet({parse_event_time("2025-10-02"), Health::warning}, clock_.wall_ms());
  fleet.add(0, logs({event("1", "2025-10-01T00:00:00Z", Health::critical, "old"),
                     event("2", "2025-10-03T00:00:00Z", Health::ok, "harmless"),
                     event("3", "2025-10-03T00:00:00Z", Health::warning, "wanted"),
                     event("4", "", Health::warning, "undated")}));
  ASSERT_EQ(fleet.folds().size(), 1U);
  EXPECT_EQ(fleet.folds()[0].message, "wanted");
  EXPECT_EQ(fleet.left_out(), 1U);
}

TEST_F(EventsTest, UnsetAndFastClocksAreReported) {
  EventFleet fleet({}, clock_.wall_ms());
  fleet.add(0, logs({event("1", "", Health::ok, "a")}));
  fleet.add(1, logs({event("1", "1970-01-01T00:12:00Z", Health::ok, "a")}));  // seconds since the BMC's start
  fleet.add(2, logs({event("1", "2036-01-01T00:00:00Z", Health::ok, "a")}));
  EXPECT_THAT(fleet.unset_clocks(), ElementsAre(0, 1));
  EXPECT_THAT(fleet.clocks_ahead(), ElementsAre(2));
  const std::string text = write(events_document(fakes_.inventory, fleet, {}), {});
  EXPECT_THAT(text, HasSubstr("the clock of 2 BMCs was not set when events were logged (train[01-02])"));
  EXPECT_THAT(text, HasSubstr("a day ahead (train03)"));
}

TEST_F(EventsTest, TheEndOfAConditionIsNoProblem) {
  LogEvent over = event("1", "2025-10-01T00:00:00Z", Health::critical, "over temperature");
  over.state = EventState::deasserted;
  EventFleet all({.keep_entries = true}, clock_.wall_ms());
  all.add(0, logs({over}));
  ASSERT_EQ(all.folds().size(), 1U);
  EXPECT_EQ(all.folds()[0].severity, Health::ok);
  EXPECT_EQ(all.folds()[0].message, "over temperature (deasserted)");
  const std::string rows = write(event_rows(fakes_.inventory, all, {}), {.format = OutputFormat::ndjson});
  EXPECT_THAT(rows, HasSubstr("\"critical\""));  // as the BMC said
  EXPECT_THAT(rows, HasSubstr("\"deasserted\""));
  EventFleet warnings({std::nullopt, Health::warning}, clock_.wall_ms());
  warnings.add(0, logs({over}));
  EXPECT_THAT(warnings.folds(), IsEmpty());
}

TEST_F(EventsTest, LogsAreKeptApartAndUnreadOnesNamed) {
  LogEvent xid = event("7", "2025-10-01T00:00:00Z", Health::critical, "XID 79");
  xid.log = "Chassis/GPU_1/XID";
  LogEvent sel = xid;
  sel.log = "Systems/1/SEL";
  EventFleet fleet({.keep_entries = true}, clock_.wall_ms());
  fleet.add(2, {{xid, sel}, {{"Managers/1/Journal", {ErrorCode::timeout, "no response", "train03"}}}});
  EXPECT_EQ(fleet.folds().size(), 2U);
  EXPECT_EQ(fleet.entries().size(), 2U);
  ASSERT_EQ(fleet.unread().size(), 1U);
  EXPECT_THAT(fleet.unread()[0].targets, ElementsAre(2));
  const std::string text = write(events_document(fakes_.inventory, fleet, {}), {});
  EXPECT_THAT(text, HasSubstr("Chassis/GPU_1/XID"));
  EXPECT_THAT(text, HasSubstr("Logs that could not be read"));
  EXPECT_THAT(text, HasSubstr("Managers/1/Journal  no response"));
}

TEST_F(EventsTest, ClearingSavesFirst) {
  fakes_.machine("train01").events = {event("1", "2025-10-01T00:00:00Z", Health::warning, "correctable \"error\"")};
  const auto endings = clear_logs(fakes_.fleet, all_, folder_, "DIMM replaced");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::done);
  EXPECT_EQ((*endings)[0].what, "1 event saved and cleared");
  EXPECT_EQ((*endings)[1].ending, Ending::already);
  EXPECT_THAT(fakes_.machine("train01").events, IsEmpty());
  ASSERT_THAT(files(), ElementsAre("train01-2025-10-09T08:53:20.000Z.json"));
  const Result<std::string> text = read_file(folder_ + "/" + files()[0]);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("correctable \\\"error\\\""));
  std::vector<Phase> phases;
  const Result<std::vector<JournalEntry>> entries = journal_.read();
  ASSERT_TRUE(entries.ok());
  for (const JournalEntry& entry : *entries) {
    if (entry.device == "train01" || entry.device.empty()) phases.push_back(entry.phase);
  }
  EXPECT_THAT(phases, ElementsAre(Phase::begin, Phase::intent, Phase::seen, Phase::outcome, Phase::end));
}

TEST_F(EventsTest, LogThatCannotBeSavedIsNotCleared) {
  fakes_.machine("train01").events = {event("1", "", Health::warning, "x")};
  std::filesystem::create_directories(folder_);
  const std::string file = folder_ + "/file";
  ASSERT_TRUE(write_file(file, "in the way").ok());
  EXPECT_FALSE(clear_logs(fakes_.fleet, all_, file, "why").ok());
  EXPECT_EQ(fakes_.machine("train01").events.size(), 1U);
}

TEST_F(EventsTest, DryRunChangesAndWritesNothing) {
  fakes_.machine("train01").events = {event("1", "", Health::warning, "x")};
  const auto endings = clear_logs(fakes_.fleet, all_, folder_, "", true);
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::would);
  EXPECT_EQ(fakes_.machine("train01").events.size(), 1U);
  EXPECT_THAT(*journal_.read(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(EventsTest, EventsAddedWhileSavingAreSaved) {
  FakeMachine& machine = fakes_.machine("train01");
  machine.events = {event("1", "", Health::warning, "first")};
  int reads = 0;
  machine.before_call = [&](const std::string& call) -> std::optional<Error> {
    if (call == "events" && ++reads == 2) machine.events.push_back(event("2", "", Health::critical, "second"));
    (void)clock_.sleep(milliseconds(10));
    return std::nullopt;
  };
  const auto endings = clear_logs(fakes_.fleet, std::vector<std::uint32_t>{0}, folder_, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].what, "2 events saved and cleared");
  ASSERT_EQ(files().size(), 2U);
  EXPECT_THAT(*read_file(folder_ + "/" + files()[1]), HasSubstr("second"));
}

TEST_F(EventsTest, ContinuouslyGrowingLogIsNotCleared) {
  FakeMachine& machine = fakes_.machine("train01");
  machine.events = {event("0", "", Health::warning, "x")};
  machine.before_call = [&](const std::string& call) -> std::optional<Error> {
    if (call == "events")
      machine.events.push_back(event(fmt::format("{}", machine.events.size()), "", Health::ok, "x"));
    return std::nullopt;
  };
  const auto endings = clear_logs(fakes_.fleet, std::vector<std::uint32_t>{0}, folder_, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::not_done);
  EXPECT_THAT((*endings)[0].what, HasSubstr("changed while it was being saved"));
}

TEST_F(EventsTest, ClearWithoutEffectIsDetected) {
  FakeMachine& machine = fakes_.machine("train01");
  machine.events = {event("1", "", Health::warning, "x")};
  const std::vector<LogEvent> before = machine.events;
  machine.before_call = [&](const std::string&) -> std::optional<Error> {
    machine.events = before;  // the BMC reports success and keeps its log
    return std::nullopt;
  };
  const auto endings = clear_logs(fakes_.fleet, std::vector<std::uint32_t>{0}, folder_, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::not_done);
  EXPECT_THAT((*endings)[0].what, HasSubstr("1 event is still in the log"));
}

TEST_F(EventsTest, LogThatCannotBeReadBackIsUnknown) {
  FakeMachine& machine = fakes_.machine("train01");
  machine.events = {event("1", "", Health::warning, "x")};
  bool cleared = false;
  machine.before_call = [&](const std::string& call) -> std::optional<Error> {
    if (call == "events" && cleared) return Error{ErrorCode::timeout, "no answer in time", {}};
    cleared = cleared || call == "clear_events";
    return std::nullopt;
  };
  const auto endings = clear_logs(fakes_.fleet, std::vector<std::uint32_t>{0}, folder_, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::unknown);
  EXPECT_THAT((*endings)[0].what, HasSubstr("weft oob events"));
}

}  // namespace
}  // namespace weft::oob
