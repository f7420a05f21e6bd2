#include "kube/watch_decoder.h"

#include <gtest/gtest.h>

#include "kube/fake_transport.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

TEST(KubeWatchDecoder, EveryCutOfTheBytesGivesTheSameEvents) {
  const std::string text = fake_event("ADDED", fake_object("p", "u", "1")) + "\r\n" +
                           fake_event("BOOKMARK", fake_object("p", "u", "2")) +
                           fake_event("DELETED", fake_object("p", "u", "3"));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    WatchDecoder decoder;
    std::vector<WatchEvent> events;
    ASSERT_TRUE(decoder.feed(std::string_view(text).substr(0, cut), events).ok());
    ASSERT_TRUE(decoder.feed(std::string_view(text).substr(cut), events).ok());
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].kind, WatchEventKind::added);
    EXPECT_EQ(events[1].kind, WatchEventKind::bookmark);
    EXPECT_EQ(events[2].kind, WatchEventKind::deleted);
    EXPECT_EQ(oob::raw_text(events[2].object, {"metadata", "resourceVersion"}), "3");
    EXPECT_EQ(decoder.pending(), 0U);
  }
}

TEST(KubeWatchDecoder, ACutOffLineIsNotAnEvent) {
  WatchDecoder decoder;
  std::vector<WatchEvent> events;
  std::string text = fake_event("DELETED", fake_object("p", "u", "1"));
  text.pop_back();
  ASSERT_TRUE(decoder.feed(text, events).ok());
  EXPECT_TRUE(events.empty());
  EXPECT_GT(decoder.pending(), 0U);
}

TEST(KubeWatchDecoder, HostileLinesAreErrorsAfterWhatCameBefore) {
  for (const char* line : {"{\"type\":", "[]", "{}", R"({"type":"GONE","object":{}})", R"({"type":"ADDED"})",
                           R"({"type":"ADDED","object":[]})", R"({"type":5,"object":{}})", "<html>"}) {
    WatchDecoder decoder;
    std::vector<WatchEvent> events;
    const std::string text = fake_event("ADDED", fake_object("p", "u", "1")) + line + "\n";
    EXPECT_FALSE(decoder.feed(text, events).ok()) << line;
    EXPECT_EQ(events.size(), 1U);
  }
}

TEST(KubeWatchDecoder, AnEndlessLineIsStopped) {
  WatchDecoder decoder;
  std::vector<WatchEvent> events;
  const std::string block(std::size_t{1} << 20U, 'x');
  Status status;
  std::size_t fed = 0;
  while (status.ok() && fed < 64) {
    status = decoder.feed(block, events);
    ++fed;
  }
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(fed, (kMaxWatchLineBytes >> 20U) + 1);
}

}  // namespace
}  // namespace weft::kube
