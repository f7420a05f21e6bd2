#include "serve/http/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::serve {
namespace {

struct Parsed {
  std::vector<ServerEvent> events;
  Result<bool> outcome = false;
};

Parsed parse(std::string_view text, std::size_t step, std::size_t max_events = 100) {
  Parsed parsed;
  EventParser parser;
  for (std::size_t at = 0; at < text.size(); at += step) {
    parsed.outcome = parser.feed(text.substr(at, step), [&](const ServerEvent& event) {
      parsed.events.push_back(event);
      return parsed.events.size() < max_events;
    });
    if (!parsed.outcome.ok()) break;
  }
  return parsed;
}

TEST(ServerSentEvents, SplitsDataIntoLines) {
  EXPECT_EQ(format_event(7, "job", "{}"), "id: 7\nevent: job\ndata: {}\n\n");
  EXPECT_EQ(format_event(7, "", "a\nb\r\nc\rd"), "id: 7\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(format_event(0, "", ""), "id: 0\ndata: \n\n");
  EXPECT_EQ(format_event(1, "", "a\n"), "id: 1\ndata: a\ndata: \n\n");
}

TEST(ServerSentEvents, ParsesWhatItFormats) {
  const std::string text = std::string(kHeartbeat) + format_event(18446744073709551615U, "job", "a\n\n: b") +
                           std::string(kHeartbeat) + format_event(2, "", "x");
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, text.size()}) {
    const Parsed parsed = parse(text, step);
    ASSERT_EQ(parsed.events.size(), 2U);
    EXPECT_EQ(parsed.events[0].id, 18446744073709551615U);
    EXPECT_EQ(parsed.events[0].name, "job");
    EXPECT_EQ(parsed.events[0].data, "a\n\n: b");
    EXPECT_EQ(parsed.events[1].name, "message");
    EXPECT_EQ(parsed.events[1].data, "x");
  }
}

TEST(ServerSentEvents, AcceptsEveryLineEndAndUnknownFields) {
  for (const std::size_t step : {1U, 2U, 100U}) {
    const Parsed parsed = parse("retry: 5\r\nid:4\r\ndata:a\r\ndata\r\n\r\nfoo: bar\rdata: b\r\revent: none\n\n", step);
    ASSERT_EQ(parsed.events.size(), 2U);
    EXPECT_EQ(parsed.events[0].data, "a\n");
    EXPECT_EQ(parsed.events[1].data, "b");
    EXPECT_EQ(parsed.events[1].id, 4U) << "the last id holds for the events after it";
  }
}

TEST(ServerSentEvents, StopsWhenToldTo) {
  const Parsed parsed = parse("data: a\n\ndata: b\n\n", 100, 1);
  EXPECT_EQ(parsed.events.size(), 1U);
  EXPECT_TRUE(parsed.outcome.ok() && *parsed.outcome);
}

TEST(ServerSentEvents, RejectsInvalidIdsAndHugeEvents) {
  EXPECT_FALSE(parse("id: x\ndata: a\n\n", 100).outcome.ok());
  EXPECT_FALSE(parse("id: 18446744073709551616\ndata: a\n\n", 100).outcome.ok());
  EXPECT_FALSE(parse("data: " + std::string(EventParser::kMaxEventBytes, 'x'), 1U << 20U).outcome.ok());
}

}  // namespace
}  // namespace weft::serve
