#include "http/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft::http {
namespace {

using ::testing::ElementsAre;

struct Parsed {
  std::vector<std::string> events;  // ID NAME DATA
  Result<bool> outcome = false;
};

Parsed parse(std::string_view text, std::size_t step, std::size_t max_bytes = 100, std::size_t max_events = 100) {
  Parsed parsed;
  EventStreamParser parser(max_bytes);
  for (std::size_t at = 0; at < text.size(); at += step) {
    parsed.outcome = parser.feed(text.substr(at, step), [&](const StreamEvent& event) {
      parsed.events.push_back(event.id + " " + event.name + " " + event.data);
      return parsed.events.size() < max_events;
    });
    if (!parsed.outcome.ok()) break;
  }
  return parsed;
}

// The examples of the HTML standard, section "Server-sent events", "Interpreting an event stream".
TEST(EventStream, ExamplesOfTheStandard) {
  for (const std::size_t step : {1U, 2U, 7U, 1000U}) {
    EXPECT_THAT(parse("data: YHOO\ndata: +2\ndata: 10\n\n", step).events, ElementsAre(" message YHOO\n+2\n10"));
    EXPECT_THAT(
        parse(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n", step)
            .events,
        ElementsAre("1 message first event", " message second event"))
        << "a field without a value resets the id; an event without its end is none";
    EXPECT_THAT(parse("data\n\ndata\ndata\n\ndata:", step).events, ElementsAre(" message ", " message \n"));
    EXPECT_THAT(parse("data:test\n\ndata: test\n\n", step).events, ElementsAre(" message test", " message test"));
  }
}

TEST(EventStream, NamesLineEndsAndUnknownFields) {
  for (const std::size_t step : {1U, 3U, 1000U}) {
    EXPECT_THAT(parse("\xEF\xBB\xBF"
                      "event: add\r\nid: a:b\r\ndata: 1\r\n\r\nretry: 5\rfoo: x\rdata: 2\r\revent: none\n\n",
                      step)
                    .events,
                ElementsAre("a:b add 1", "a:b message 2"));
  }
}

TEST(EventStream, StopsWhenToldTo) {
  const Parsed parsed = parse("data: a\n\ndata: b\n\n", 100, 100, 1);
  EXPECT_EQ(parsed.events.size(), 1U);
  EXPECT_TRUE(parsed.outcome.ok() && *parsed.outcome);
}

TEST(EventStream, AnIdWithANullIsIgnored) {
  EXPECT_THAT(parse(std::string_view("id: 1\nid: 2\0\ndata: a\n\n", 22), 5).events, ElementsAre("1 message a"));
}

TEST(EventStream, RefusesHugeEvents) {
  EXPECT_TRUE(parse("data: " + std::string(90, 'x') + "\n\n", 10).outcome.ok());
  EXPECT_FALSE(parse("data: " + std::string(100, 'x'), 10).outcome.ok());
  std::string many;
  for (int i = 0; i < 20; ++i) many += "data: 0123456789\n";
  EXPECT_FALSE(parse(many, 10).outcome.ok());
}

}  // namespace
}  // namespace weft::http
