#include "bmcsim/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "oob/durable/clock.h"

namespace weft::bmcsim {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The ids, the messages and the text of what a stream sends.
struct Sent {
  std::vector<std::uint32_t> ids;
  std::vector<std::string> message_ids;
  std::string text;
};

class SimEventStreamTest : public testing::Test {
 protected:
  SimEventStreamTest() {
    world_.devices = {{.name = "train001", .gpus = 8}};
    world_.wall_start_ms = oob::ManualClock::kStartMs;
    world_.password = world_.digest_of("secret-word");
    bmc_.emplace(world_, 0U, clock_.now());
  }

  void set(FaultKind kind, std::int64_t argument = 0) {
    FaultSet faults;
    faults.add(kind, argument);
    bmc_->set_faults(faults);
  }
  void pass(std::int64_t ms) {
    clock_.sleep(milliseconds(ms));
    bmc_->advance(clock_.now());
  }
  void happen(int times = 1) {
    for (int i = 0; i < times; ++i) bmc_->add_event(SimEventKind::nmi);
  }
  SimEventStream open(std::string_view last_id = {}, std::uint32_t session = 0) {
    const std::uint32_t subscription = bmc_->subscribe(session);
    EXPECT_NE(subscription, 0U);
    return {*bmc_, subscription, last_id};
  }
  Sent read(SimEventStream& stream) {
    Sent sent;
    for (std::string text = stream.next(*bmc_); !text.empty(); text = stream.next(*bmc_)) sent.text += text;
    for (std::size_t at = 0; at < sent.text.size();) {
      const std::size_t end = sent.text.find("\n\n", at);
      const std::string one = sent.text.substr(at, end - at);
      const std::size_t data = one.find("\ndata: ");
      EXPECT_TRUE(one.starts_with("id: ") && data != std::string::npos && end != std::string::npos) << one;
      if (data == std::string::npos) break;
      sent.ids.push_back(static_cast<std::uint32_t>(std::stoul(one.substr(4, data - 4))));
      const Json event = Json::parse(one.substr(data + 7), nullptr, false);
      EXPECT_EQ(event["Events"].size(), 1U) << one;
      sent.message_ids.push_back(event["Events"][0].value("MessageId", ""));
      at = end + 2;
    }
    return sent;
  }

  SimWorld world_;
  oob::ManualClock clock_;
  std::optional<SimBmc> bmc_;
};

constexpr const char* kNmi = "WeftSim.1.0.Nmi";
constexpr const char* kLost = "Base.1.13.EventBufferExceeded";

// The event of the start of the BMC has id 1.
TEST_F(SimEventStreamTest, SendsWhatHappensFromNowOn) {
  happen();
  SimEventStream stream = open();
  EXPECT_THAT(read(stream).ids, IsEmpty());
  happen(2);
  const Sent sent = read(stream);
  EXPECT_THAT(sent.ids, ElementsAre(3, 4));
  EXPECT_THAT(sent.message_ids, ElementsAre(kNmi, kNmi));
  EXPECT_THAT(read(stream).ids, IsEmpty());
}

TEST_F(SimEventStreamTest, AnEventIsItsLogEntry) {
  SimEventStream stream = open();
  set(FaultKind::xid, to_argument({.gpu = 3, .code = 79}));
  const std::string text = read(stream).text;
  const Json record = Json::parse(text.substr(text.find("data: ") + 6), nullptr, false)["Events"][0];
  EXPECT_EQ(record["LogEntry"]["@odata.id"], "/redfish/v1/Chassis/HGX_GPU_SXM_3/LogServices/XID/Entries/2");
  EXPECT_EQ(record["OriginOfCondition"]["@odata.id"], "/redfish/v1/Chassis/HGX_GPU_SXM_3");
  const Json entry = Json::parse(write_json_line(log_entry_value(bmc_->events().back())), nullptr, false);
  EXPECT_EQ(entry["@odata.id"], record["LogEntry"]["@odata.id"]);
  EXPECT_EQ(entry["Message"], record["Message"]);
  EXPECT_EQ(entry["MessageArgs"], record["MessageArgs"]);
  EXPECT_EQ(entry["Created"], record["EventTimestamp"]);
  EXPECT_EQ(entry["Severity"], record["MessageSeverity"]);
  // 1'760'000'000 s after the epoch.
  EXPECT_EQ(entry["MessageArgs"][1], "[Thu Oct  9 08:53:20 UTC 2025] XID 79");
}

TEST_F(SimEventStreamTest, GoesOnAfterTheLastOne) {
  SimEventStream first = open();
  happen(5);
  EXPECT_THAT(read(first).ids, ElementsAre(2, 3, 4, 5, 6));
  SimEventStream again = open("4");
  EXPECT_THAT(read(again).ids, ElementsAre(5, 6));
  SimEventStream newest = open("6");
  EXPECT_THAT(read(newest).ids, IsEmpty());
}

TEST_F(SimEventStreamTest, SaysWhatIsNoLongerBuffered) {
  (void)open();
  happen(static_cast<int>(kMaxBufferedEvents) + 10);  // 2 to 75
  SimEventStream again = open("3");
  Sent sent = read(again);
  EXPECT_EQ(sent.message_ids.front(), kLost);
  ASSERT_EQ(sent.ids.size(), kMaxBufferedEvents + 1);
  EXPECT_EQ(sent.ids[0], 11U);  // a client that loses the connection now goes on after it
  EXPECT_EQ(sent.ids[1], 12U);
  EXPECT_EQ(sent.ids.back(), 75U);
  SimEventStream edge = open("11");
  EXPECT_EQ(read(edge).message_ids.front(), kNmi);
}

TEST_F(SimEventStreamTest, NothingIsBufferedBeforeTheFirstStream) {
  happen(3);
  SimEventStream stream = open("2");
  EXPECT_THAT(read(stream).message_ids, ElementsAre(kLost));
  happen();
  EXPECT_THAT(read(stream).ids, ElementsAre(5));
}

// Ids that were never sent: what the client missed is not known, and old events are not sent as new ones.
TEST_F(SimEventStreamTest, UnknownIdsAreAnsweredAsLost) {
  (void)open();
  happen(2);
  const std::string longest(16'000, '9');
  for (const std::string_view id : {"4", "0", "-1", "x", "3x", "03", "4294967295", "4294967296",
                                    "99999999999999999999999", "\xff\xfe", longest.c_str()}) {
    SimEventStream stream = open(id);
    EXPECT_THAT(read(stream).message_ids, ElementsAre(kLost)) << id.substr(0, 30);
    bmc_->unsubscribe(stream.subscription());
  }
}

// A client that does not read, however much happens, costs a bounded buffer.
TEST_F(SimEventStreamTest, ASlowClientIsTold) {
  SimEventStream stream = open();
  happen();
  EXPECT_THAT(read(stream).ids, ElementsAre(2));
  happen(100'000);
  const Sent sent = read(stream);
  EXPECT_EQ(sent.ids.size(), kMaxBufferedEvents + 1);
  EXPECT_EQ(sent.message_ids.front(), kLost);
  EXPECT_EQ(sent.ids.back(), 100'002U);
  EXPECT_LE(bmc_->events().size(), kMaxSimEvents);
}

TEST_F(SimEventStreamTest, Faults) {
  SimEventStream stream = open();
  set(FaultKind::events_lost, 3);
  happen(6);  // 2 to 7
  EXPECT_THAT(read(stream).ids, ElementsAre(2, 4, 5, 7));
  set(FaultKind::events_lost, 1);
  happen(3);
  EXPECT_THAT(read(stream).ids, IsEmpty());
  set(FaultKind::events_twice);
  happen();
  EXPECT_THAT(read(stream).ids, ElementsAre(11, 11));
  set(FaultKind::events_late, 2'000'000'000);
  happen();
  EXPECT_THAT(read(stream).ids, IsEmpty());
  ASSERT_TRUE(stream.due(*bmc_).has_value());
  EXPECT_EQ(*stream.due(*bmc_), clock_.now() + milliseconds(2'000));
  pass(1'999);
  EXPECT_THAT(read(stream).ids, IsEmpty());
  pass(1);
  EXPECT_THAT(read(stream).ids, ElementsAre(12));
  EXPECT_FALSE(stream.due(*bmc_).has_value());
}

TEST_F(SimEventStreamTest, DropsAfterSoMany) {
  set(FaultKind::stream_drops, 2);
  SimEventStream stream = open();
  happen(3);
  EXPECT_FALSE(stream.drops(*bmc_));
  EXPECT_THAT(read(stream).ids, ElementsAre(2, 3));
  EXPECT_TRUE(stream.drops(*bmc_));
  EXPECT_FALSE(stream.is_over(*bmc_));
  SimEventStream again = open("3");
  EXPECT_THAT(read(again).ids, ElementsAre(4));
}

TEST_F(SimEventStreamTest, EndsWithItsSession) {
  const SimSession* session = bmc_->open_session(1);
  ASSERT_NE(session, nullptr);
  const std::uint32_t id = session->id;
  SimEventStream stream = open({}, id);
  pass(86'400'000);
  EXPECT_EQ(bmc_->sessions().size(), 1U);  // an open stream keeps it alive
  EXPECT_TRUE(bmc_->close_session(id));
  EXPECT_TRUE(stream.is_over(*bmc_));
  SimEventStream other = open();
  bmc_->restart();
  EXPECT_TRUE(other.is_over(*bmc_));
  SimEventStream after = open("1");  // the start of the BMC is event 2
  EXPECT_THAT(read(after).ids, ElementsAre(2));
}

TEST_F(SimEventStreamTest, ASessionTimesOutAfterItsStream) {
  const SimSession* session = bmc_->open_session(1);
  ASSERT_NE(session, nullptr);
  const SimEventStream stream = open({}, session->id);
  pass(86'400'000);
  EXPECT_TRUE(bmc_->unsubscribe(stream.subscription()));
  pass(1);
  EXPECT_EQ(bmc_->sessions().size(), 1U);
  pass(world_.options.session_timeout.count() / 1'000'000);
  EXPECT_TRUE(bmc_->sessions().empty());
}

TEST_F(SimEventStreamTest, StreamsAreLimited) {
  for (std::size_t i = 0; i < kMaxSubscriptions; ++i) EXPECT_NE(bmc_->subscribe(0), 0U);
  EXPECT_EQ(bmc_->subscribe(0), 0U);
  EXPECT_TRUE(bmc_->unsubscribe(3));
  EXPECT_FALSE(bmc_->unsubscribe(3));
  EXPECT_NE(bmc_->subscribe(0), 0U);
}

TEST_F(SimEventStreamTest, TheNextChangeIsKnown) {
  const Duration never(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(bmc_->next_change(), never);
  set(FaultKind::xid, to_argument({}));
  const std::size_t before = bmc_->events().size();
  bmc_->reset(SimReset::power_cycle);
  // Off, on, and the XID of the new boot.
  for (int i = 0; i < 4 && bmc_->next_change() != never; ++i) {
    clock_.sleep(bmc_->next_change() - clock_.now());
    bmc_->advance(clock_.now());
  }
  EXPECT_EQ(bmc_->next_change(), never);
  std::vector<SimEventKind> kinds;
  for (std::size_t i = before; i < bmc_->events().size(); ++i) kinds.push_back(bmc_->events()[i].kind);
  EXPECT_THAT(kinds, ElementsAre(SimEventKind::power_off, SimEventKind::power_on, SimEventKind::xid));
  EXPECT_EQ(bmc_->boot().state, "OSRunning");
}

TEST_F(SimEventStreamTest, ABmcIsPendingOnce) {
  happen();
  EXPECT_THAT(world_.pending_streams, IsEmpty());  // there are no streams
  (void)open();
  happen(3);
  EXPECT_THAT(world_.pending_streams, ElementsAre(0));
  world_.pending_streams.clear();
  bmc_->clear_pending_streams();
  happen();
  EXPECT_THAT(world_.pending_streams, ElementsAre(0));
}

// A stream is also told of what will happen: it is sent in time without a request.
TEST_F(SimEventStreamTest, WhatWillHappenWakesStreams) {
  (void)open();
  for (const SimReset reset : {SimReset::force_off, SimReset::on}) {
    bmc_->clear_pending_streams();
    world_.pending_streams.clear();
    bmc_->reset(reset);
    EXPECT_THAT(world_.pending_streams, ElementsAre(0)) << to_text(reset);
    pass(10'000);
  }
}

}  // namespace
}  // namespace weft::bmcsim
