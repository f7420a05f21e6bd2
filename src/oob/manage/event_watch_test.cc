#include "oob/manage/event_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "base/human_format.h"
#include "oob/bmc/cause.h"
#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A BMC whose answers are a script: each dial, reading of the logs and reading of the stream takes the next one; after
// the last one nothing happens any more.
struct Script {
  std::deque<std::optional<Error>> dials;
  std::deque<Result<EventLogs>> logs;
  bool has_stream = false;
  std::deque<Result<SentEvents>> sent;
  std::vector<std::string> calls;  // with the second of the clock
};

template <class T>
T next(std::deque<T>& list, T otherwise) {
  if (list.empty()) return otherwise;
  T first = std::move(list.front());
  list.pop_front();
  return first;
}

class ScriptStream final : public EventStream {
 public:
  ScriptStream(Script& script, Clock& clock) : script_(script), clock_(clock) {}
  Result<SentEvents> read(Duration wait) override {
    clock_.sleep(wait);
    return next(script_.sent, Result<SentEvents>(SentEvents{}));
  }

 private:
  Script& script_;
  Clock& clock_;
};

class ScriptBmc final : public Bmc {
 public:
  ScriptBmc(Script& script, Clock& clock) : script_(script), clock_(clock) {}
  Result<EventLogs> event_logs(const std::string& /*only*/) override {
    note("logs");
    if (script_.logs.size() > 1) return next(script_.logs, Result<EventLogs>(EventLogs{}));
    return script_.logs.empty() ? EventLogs{} : script_.logs.front();
  }
  Result<std::unique_ptr<EventStream>> event_stream(const std::string& /*last_id*/) override {
    note("stream");
    if (!script_.has_stream) return Error{ErrorCode::not_found, "sends no events", {}};
    return std::unique_ptr<EventStream>(std::make_unique<ScriptStream>(script_, clock_));
  }
  Result<BmcIdentity> identity() override { return none(); }
  Result<PowerReading> power() override { return none(); }
  Result<std::vector<ResetAction>> reset_actions() override { return none(); }
  Status reset(ResetAction /*action*/) override { return none(); }
  Result<std::vector<SensorReading>> sensors() override { return none(); }
  Result<std::vector<LogEvent>> events() override { return none(); }
  Status clear_events() override { return none(); }
  Result<std::vector<BmcUser>> users() override { return none(); }
  Status set_password(const std::string& /*user*/, const Secret& /*password*/) override { return none(); }
  Status set_user_enabled(const std::string& /*user*/, bool /*enabled*/) override { return none(); }
  Result<BmcSettings> settings() override { return none(); }
  Status change(const SettingsChange& /*change*/) override { return none(); }
  Result<std::unique_ptr<ConsoleStream>> console() override { return none(); }

 private:
  static Error none() { return {ErrorCode::not_found, "not asked for", {}}; }
  void note(const std::string& call) {
    script_.calls.push_back(fmt::format("{} {}", clock_.now().count() / 1'000'000'000, call));
  }
  Script& script_;
  Clock& clock_;
};

class ScriptConnector final : public BmcConnector {
 public:
  ScriptConnector(Script& script, Clock& clock) : script_(script), clock_(clock) {}
  Result<std::unique_ptr<Bmc>> dial(const Endpoint& /*endpoint*/, const std::string& /*user*/,
                                    const Secret& /*password*/) override {
    script_.calls.push_back(fmt::format("{} dial", clock_.now().count() / 1'000'000'000));
    if (std::optional<Error> error = next(script_.dials, std::optional<Error>())) return *error;
    return std::unique_ptr<Bmc>(std::make_unique<ScriptBmc>(script_, clock_));
  }

 private:
  Script& script_;
  Clock& clock_;
};

LogEvent event_of(const std::string& message, std::int64_t second) {
  LogEvent event;
  event.log = "SEL";
  event.id = message;
  event.message = message;
  event.time = format_utc(ManualClock::kStartMs + second * 1000);
  return event;
}

class EventWatch : public testing::Test {
 protected:
  // For `seconds`, with an interval of ten.
  WatchState watch(std::int64_t seconds, std::optional<std::int64_t> since_ms = std::nullopt) {
    const Inventory inventory({fake_target("node1")}, {});
    ScriptConnector connector(script_, clock_);
    FakeCredentials credentials;
    const Fleet fleet{inventory, connector, credentials, clock_, journal_};
    const WatchSink sink{[&](std::uint32_t /*target*/, const std::vector<LogEvent>& events) {
                           for (const LogEvent& event : events) said_.push_back(event.message);
                         },
                         [&](std::uint32_t /*target*/, WatchState state, const std::string& why) {
                           said_.push_back(std::string(to_text(state)) + (why.empty() ? "" : ": " + why));
                         },
                         [&](std::uint32_t /*target*/, const UnreadLog& log) { said_.push_back("unread " + log.log); }};
    const std::vector<std::uint32_t> targets{0};
    return watch_events(fleet, targets, {milliseconds(10'000), milliseconds(seconds * 1000), since_ms}, sink).front();
  }

  ManualClock clock_;
  MemoryJournal journal_;
  Script script_;
  std::vector<std::string> said_;
};

const Error kSilent{ErrorCode::unavailable, "no answer", {}};

TEST_F(EventWatch, LogsAreReadOncePerInterval) {
  script_.logs = {EventLogs{{event_of("old", -100)}, {}}, EventLogs{{event_of("old", -100), event_of("new", 12)}, {}}};
  EXPECT_EQ(watch(25), WatchState::polling);
  EXPECT_THAT(said_, ElementsAre("polling", "new"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial", "0 stream", "0 logs", "10 logs", "20 logs"));
}

TEST_F(EventWatch, TheLastHour) {
  script_.logs = {EventLogs{{event_of("old", -5000), event_of("recent", -100)}, {}}};
  EXPECT_EQ(watch(5, ManualClock::kStartMs - 3'600'000), WatchState::polling);
  EXPECT_THAT(said_, ElementsAre("recent", "polling"));
}

TEST_F(EventWatch, AStreamIsFollowedAndTheLogsReadNowAndThen) {
  script_.has_stream = true;
  script_.sent = {SentEvents{}, SentEvents{{event_of("a", 2)}, false}};
  script_.logs = {EventLogs{}, EventLogs{{event_of("a", 3), event_of("b", 50)}, {}}};
  EXPECT_EQ(watch(105), WatchState::streaming);
  EXPECT_THAT(said_, ElementsAre("streaming", "a", "b"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial", "0 stream", "0 logs", "100 logs"));
}

TEST_F(EventWatch, TheLogsAreReadSoonAfterEventsWereLost) {
  script_.has_stream = true;
  script_.sent = {SentEvents{{}, true}};
  script_.logs = {EventLogs{}, EventLogs{{event_of("lost", 1)}, {}}};
  EXPECT_EQ(watch(8), WatchState::streaming);
  EXPECT_THAT(said_, ElementsAre("streaming", "lost"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial", "0 stream", "0 logs", "3 logs"));
}

TEST_F(EventWatch, AStreamThatEndsIsOpenedAgain) {
  script_.has_stream = true;
  for (int i = 0; i < 3; ++i) script_.sent.emplace_back(kSilent);
  EXPECT_EQ(watch(20), WatchState::streaming);
  EXPECT_THAT(said_, ElementsAre("streaming"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial", "0 stream", "0 logs", "3 stream", "3 logs", "8 stream", "8 logs",
                                         "17 stream", "17 logs"))
      << "with growing pauses";
}

TEST_F(EventWatch, ADeviceThatDoesNotAnswerIsDialedAgain) {
  script_.dials = {kSilent, kSilent};
  script_.logs = {EventLogs{}, kSilent, EventLogs{{event_of("meanwhile", 20)}, {}}};
  EXPECT_EQ(watch(40), WatchState::polling);
  EXPECT_THAT(said_,
              ElementsAre("unreachable: no answer", "polling", "unreachable: no answer", "meanwhile", "polling"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial", "5 dial", "15 dial", "15 stream", "15 logs", "25 logs", "30 dial",
                                         "30 stream", "30 logs"));
}

TEST_F(EventWatch, ALoginThatIsRefusedIsNotTriedAgain) {
  script_.dials = {Error{ErrorCode::refused, std::string(kLoginRefused), {}}};
  EXPECT_EQ(watch(1000), WatchState::given_up);
  EXPECT_THAT(said_, ElementsAre("given up: user or password refused"));
  EXPECT_THAT(script_.calls, ElementsAre("0 dial"));
}

TEST_F(EventWatch, LogsThatCannotBeReadAreNamedOnce) {
  const UnreadLog unread{"SEL", kSilent};
  script_.logs = {EventLogs{{}, {unread}}, EventLogs{{}, {unread}}, EventLogs{}, EventLogs{{}, {unread}}};
  EXPECT_EQ(watch(35), WatchState::polling);
  EXPECT_THAT(said_, ElementsAre("unread SEL", "polling", "unread SEL"));
}

TEST_F(EventWatch, StoppedBeforeItBegan) {
  clock_.stop();
  EXPECT_EQ(watch(0), WatchState::connecting);
  EXPECT_THAT(said_, IsEmpty());
}

}  // namespace
}  // namespace weft::oob
