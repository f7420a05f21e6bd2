// Server-sent events, from the HTTP response to events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"
#include "oob/redfish/test_bmc.h"

namespace weft::oob {
namespace {

using test::Sender;
using test::ServerAnswer;
using test::ServerRequest;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSse = "/redfish/v1/EventService/SSE";
constexpr const char* kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";

std::string record(const std::string& id, const std::string& message) {
  return fmt::format("id: {}\ndata: {{\"Events\": [{{\"EventId\": \"{}\",\ndata: \"Message\": \"{}\"}}]}}\n\n", id, id,
                     message);
}

class EventStreamTest : public RedfishBmcTest {
 protected:
  // The service sends what `stream` does; `refuse`: status for streams with a filter.
  void serve_stream(std::function<void(const Sender&)> stream, int refuse = 0) {
    serve([=](const ServerRequest& request) -> std::optional<ServerAnswer> {
      if (!request.path.starts_with(kSse)) return std::nullopt;
      if (refuse != 0 && request.path.find('?') != std::string::npos) return ServerAnswer{.status = refuse};
      return ServerAnswer{.stream = stream};
    });
    service_->merge("/redfish/v1/", R"({"EventService": {"@odata.id": "/redfish/v1/EventService"}})");
    service_->put("/redfish/v1/EventService", R"({"ServiceEnabled": true, "ServerSentEventUri":
      "/redfish/v1/EventService/SSE", "SSEFilterPropertiesSupported": {"EventFormatType": true}})");
  }
  std::unique_ptr<EventStream> open(const std::string& last_id = {}) {
    Result<std::unique_ptr<EventStream>> stream = bmc().event_stream(last_id);
    EXPECT_TRUE(stream.ok()) << stream.error().text();
    return stream.ok() ? std::move(stream).value() : nullptr;
  }
  // What is read until the stream ends; the error goes to `end`.
  static std::vector<std::string> read_all(EventStream& stream, Error& end, bool& incomplete) {
    std::vector<std::string> all;
    for (;;) {
      const Result<SentEvents> sent = stream.read(milliseconds(5'000));
      if (!sent.ok()) {
        end = sent.error();
        return all;
      }
      incomplete = incomplete || sent->incomplete;
      for (const LogEvent& event : sent->events) all.push_back(event.id + " " + event.message);
    }
  }
};

TEST_F(EventStreamTest, EventsInPiecesUntilTheEnd) {
  serve_stream([](const Sender& send) {
    (void)send(kHead);
    (void)send(": hello\n\n" + record("1", "a").substr(0, 20));
    (void)send(record("1", "a").substr(20) + record("2", "b"));
    (void)send("data: {\"@odata.type\": \"#MetricReport.v1_4_0.MetricReport\", \"MetricValues\": []}\n\n");
    (void)send(record("3", "cut").substr(0, 30));
  });
  const std::unique_ptr<EventStream> stream = open("41");
  ASSERT_NE(stream, nullptr);
  Error end;
  bool incomplete = false;
  EXPECT_THAT(read_all(*stream, end, incomplete), ElementsAre("1 a", "2 b"));
  EXPECT_EQ(end.code, ErrorCode::unavailable);
  EXPECT_FALSE(incomplete);
  EXPECT_EQ(stream->last_id(), "3");
  const ServerRequest asked = service_->server().requests().back();
  EXPECT_EQ(asked.path, std::string(kSse) + "?$filter=EventFormatType%20eq%20Event");
  EXPECT_EQ(asked.headers.at("accept"), "text/event-stream");
  EXPECT_EQ(asked.headers.at("last-event-id"), "41");
}

TEST_F(EventStreamTest, AServiceWithoutFilters) {
  for (const int status : {400, 501}) {
    bmc_.reset();
    serve_stream([](const Sender& send) { (void)send(kHead + record("1", "a")); }, status);
    const std::unique_ptr<EventStream> stream = open();
    ASSERT_NE(stream, nullptr) << status;
    EXPECT_EQ(service_->server().requests().back().path, kSse);
  }
}

TEST_F(EventStreamTest, WhatIsNoStream) {
  const std::vector<std::pair<std::string, ErrorCode>> answers = {
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", ErrorCode::not_found},
      {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", ErrorCode::conflict},
      {"HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n\r\n", ErrorCode::invalid_input},
      {"no HTTP\r\n\r\n", ErrorCode::invalid_input}};
  for (const auto& [raw, code] : answers) {
    bmc_.reset();
    serve_stream([raw = raw](const Sender& send) { (void)send(raw); });
    const Result<std::unique_ptr<EventStream>> stream = bmc().event_stream({});
    ASSERT_FALSE(stream.ok()) << raw;
    EXPECT_EQ(stream.error().code, code) << raw << stream.error().text();
  }
}

TEST_F(EventStreamTest, WithoutAnEventService) {
  serve();
  EXPECT_EQ(bmc().event_stream({}).error().code, ErrorCode::not_found);
  for (const char* service : {R"({"ServiceEnabled": false, "ServerSentEventUri": "/redfish/v1/EventService/SSE"})",
                              R"({"ServiceEnabled": true})", R"({"ServerSentEventUri": 7})"}) {
    bmc_.reset();
    serve();
    service_->merge("/redfish/v1/", R"({"EventService": {"@odata.id": "/redfish/v1/EventService"}})");
    service_->put("/redfish/v1/EventService", service);
    EXPECT_EQ(bmc().event_stream({}).error().code, ErrorCode::not_found) << service;
  }
}

TEST_F(EventStreamTest, WhatTheServiceLostIsSaid) {
  serve_stream([](const Sender& send) {
    (void)send(kHead + std::string("data: {\"Events\": [{\"MessageId\": \"Base.1.19.EventBufferExceeded\"}]}\n\n"));
  });
  Error end;
  bool incomplete = false;
  EXPECT_THAT(read_all(*open(), end, incomplete), ElementsAre(" Base.1.19.EventBufferExceeded"));
  EXPECT_TRUE(incomplete);
  bmc_.reset();
  serve_stream(
      [](const Sender& send) { (void)send(kHead + std::string("data: {\"Events\": [\n\n") + record("2", "b")); });
  incomplete = false;
  EXPECT_THAT(read_all(*open(), end, incomplete), ElementsAre("2 b"));
  EXPECT_TRUE(incomplete) << "an event that is not JSON";
}

TEST_F(EventStreamTest, AnEndlessEventIsAnError) {
  serve_stream([](const Sender& send) {
    (void)send(kHead + std::string("data: "));
    while (send(std::string(65'536, 'x'))) {
    }
  });
  Error end;
  bool incomplete = false;
  EXPECT_TRUE(read_all(*open(), end, incomplete).empty());
  EXPECT_EQ(end.code, ErrorCode::invalid_input);
}

TEST_F(EventStreamTest, AReadThatIsStoppedEnds) {
  serve_stream([](const Sender& send) {
    (void)send(kHead);
    while (send(": alive\n\n")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  const std::unique_ptr<EventStream> stream = open();
  clock_.stop();
  const Result<SentEvents> sent = stream->read(milliseconds(600'000));
  ASSERT_TRUE(sent.ok()) << sent.error().text();
  EXPECT_TRUE(sent->events.empty());
}

// An OpenBMC names the entry as the origin; others link to it.
TEST(EventRecord, WhatItIsAbout) {
  const auto parse = [](const std::string& text) { return parse_event_record(*read_json_reply(text)); };
  const LogEvent linked = parse(R"({"EventId": "7", "EventTimestamp": "2026-05-06T07:08:09Z", "Message": "fan failed",
    "MessageId": "Alert.1.0.Fan", "MessageSeverity": "Critical", "Severity": "OK", "Resolution": "replace it",
    "OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/1/Fans/Fan3"},
    "LogEntry": {"@odata.id": "/redfish/v1/Managers/1/LogServices/SEL/Entries/12"}})");
  EXPECT_EQ(linked.id, "7");
  EXPECT_EQ(linked.time, "2026-05-06T07:08:09Z");
  EXPECT_EQ(linked.severity, Health::critical);
  EXPECT_EQ(linked.source, "Fan3");
  EXPECT_EQ(linked.log, "Managers/1/SEL");
  EXPECT_EQ(linked.path, "/redfish/v1/Managers/1/LogServices/SEL/Entries/12");
  EXPECT_EQ(linked.resolution, "replace it");
  const LogEvent origin = parse(R"({"Severity": "Warning", "MessageId": "OpenBMC.0.1.X", "OriginOfCondition":
    "/redfish/v1/Systems/system/LogServices/EventLog/Entries/5"})");
  EXPECT_EQ(origin.severity, Health::warning);
  EXPECT_EQ(origin.message, "OpenBMC.0.1.X");
  EXPECT_EQ(origin.log, "Systems/system/EventLog");
  EXPECT_EQ(origin.source, "");
  EXPECT_EQ(parse(R"({"EventTimestamp": "1970-01-01T00:00:07Z", "LogEntry": {"@odata.id": "http://x/y"}})").path, "");
}

}  // namespace
}  // namespace weft::oob
