#include "workload/life/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/json.h"
#include "workload/life/page_internal.h"
#include "workload/life/page_timeline.h"
#include "workload/result/life_sample.h"

namespace weft::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string between(const std::string& text, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(from);
  if (start == std::string::npos) return {};
  const std::size_t end = text.find(to, start + from.size());
  return text.substr(start + from.size(), end - start - from.size());
}

TEST(LifePage, HasEverySection) {
  const std::string page = life_page(sample::life());
  for (const char* id :
       {"states", "step", "timeline", "heat", "communication", "memory", "tail", "changes", "figures", "assumptions"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\""));
  }
  EXPECT_THAT(page, HasSubstr("Bounded by tensor communication"));
  EXPECT_THAT(page, HasSubstr("+10.4 %"));
  EXPECT_THAT(page, HasSubstr("leaf1 to spine1"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_LT(page.find("Bounded by"), page.find("<main>"));
}

TEST(LifePage, IsSelfContained) {
  const std::string page = life_page(sample::life());
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  std::string rest = page;
  // A namespace, a page that the script opens when asked to, and the document that says how.
  for (const std::string& name : {std::string("http://www.w3.org/2000/svg"),
                                  std::string("https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui"),
                                  std::string("https://ui.perfetto.dev")}) {
    for (std::size_t at = rest.find(name); at != std::string::npos; at = rest.find(name)) rest.erase(at, name.size());
  }
  EXPECT_THAT(rest, Not(HasSubstr("http:")));
  EXPECT_THAT(rest, Not(HasSubstr("https:")));
}

TEST(LifePage, EventsAreFoldedAndSayWhyTheyTakeSoLong) {
  LifeResult life = sample::life();
  CommunicationRow row;
  row.what = "all-gather <of> weights";
  row.medium = Medium::backend;
  row.algorithm = "ring Simple";
  row.calls = 5;
  row.bytes = Bytes(2'000'000);
  row.total = sample::ms(40);
  row.exposed = sample::ms(4);
  row.bus_bandwidth = 40e9;
  row.slowdown = 1.5;
  life.communication = {row};
  LifeEvent event;
  event.what = row.what;
  event.protocol = "RoCEv2";
  event.medium = Medium::backend;
  event.duration = sample::ms(40);
  event.bytes = Bytes(80'000'000);
  for (LifeState& state : life.states) state.events.clear();
  life.states[2].events = {event};
  const std::string list = page::state_events(life);
  EXPECT_THAT(list, Not(HasSubstr("<details open")));
  EXPECT_THAT(list, HasSubstr("all-gather &lt;of&gt; weights"));
  EXPECT_THAT(list, HasSubstr("80 MB by all servers, 2 GB/s on average"));  // in 40 ms
  EXPECT_THAT(list, HasSubstr("5 per rank and step, 40 ms together, 10 MB per rank"));
  EXPECT_THAT(list, HasSubstr("1.50 times the same call on an idle network"));
  EXPECT_THAT(page::operations_json(life), HasSubstr("\"all-gather <of> weights\":[[\"Network\",\"Backend\"]"));
  life.communication[0].slowdown = 1.01;
  EXPECT_THAT(page::state_events(life), HasSubstr("as fast as on an idle network"));
}

TEST(LifePage, ContentSecurityPolicyHasTheScriptHash) {
  const std::string page = life_page(sample::life());
  // `openssl dgst -sha256 -binary | base64` over the text prints 44 characters that end in one '='.
  const std::string hash = between(page, "script-src 'sha256-", "'");
  EXPECT_EQ(hash.size(), 44U);
  EXPECT_TRUE(hash.ends_with('=')) << hash;
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(LifePage, HostileNamesAreEscaped) {
  const std::string evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;";
  LifeResult life = sample::life();
  life.cluster = life.job = life.model = life.layout = evil;
  life.verdict.bound_by = life.verdict.because = evil;
  for (Change& change : life.verdict.changes) change.what = change.how = evil;
  for (LifeState& state : life.states) {
    state.name = evil;
    for (LifeEvent& event : state.events) event.what = event.protocol = event.detail = evil;
  }
  for (CommunicationRow& row : life.communication) row.what = row.algorithm = evil;
  for (std::string& name : life.timeline.names) name = evil;
  for (TimelineTrack& track : life.timeline.tracks) track.process = track.thread = evil;
  for (TimelineCounter& counter : life.timeline.counters) counter.process = counter.name = counter.unit = evil;
  life.assumptions = {evil};
  const std::string page = life_page(life);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  // The script's data, parsed back, has the original name.
  Sources sources;
  Diagnostics diagnostics;
  const std::string data = between(page, "id=\"tl-data\">", "</script>");
  const std::optional<YamlNode> root = parse_json(sources, sources.add("data", data), diagnostics);
  ASSERT_TRUE(root.has_value()) << render_all(diagnostics, sources, false);
  EXPECT_EQ(root->find("names")->items[0].scalar, evil);
}

TEST(LifePage, EmptyAndUnusualResultsProduceAPage) {
  EXPECT_THAT(life_page(LifeResult()), HasSubstr("</html>"));
  LifeResult life = sample::life();
  life.tail.times.assign(7, sample::ms(1));
  life.memory.total = life.memory.capacity * 2;
  life.heat = {{model::FabricKind::storage, "no picture"},
               {model::FabricKind::backend, std::string(2U << 20U, ' ') + "<svg></svg>"}};
  const std::string page = life_page(life);
  EXPECT_THAT(page, HasSubstr("Out of memory: exceeds the capacity by"));
  EXPECT_THAT(page, HasSubstr("The heat map of the backend fabric is omitted"));
  EXPECT_THAT(page, Not(HasSubstr("no picture")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(LifePage, AThinnedTimelineKeepsThePageSmallAndSaysSo) {
  const LifeResult life = sample::life(16, 4000);
  EXPECT_GT(life.timeline.spans.size(), 300'000U);
  const std::string page = life_page(life);
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr("adjacent spans that together take less than"));
  EXPECT_THAT(life_page(sample::life()), Not(HasSubstr("adjacent spans that together take less than")));
}

TEST(LifePageTimeline, ThinningLosesNoSpanAndNoBusyTime) {
  const Timeline timeline = sample::life(4, 500).timeline;
  const page::DrawnTimeline all = page::drawn_timeline(timeline, 1'000'000, 100);
  const page::DrawnTimeline few = page::drawn_timeline(timeline, 900, 100);
  EXPECT_EQ(all.resolution_ns, 0);
  EXPECT_GT(few.resolution_ns, 0);
  EXPECT_LE(few.drawn, 900U);
  EXPECT_GT(few.drawn, 300U);  // merges no more than needed
  EXPECT_EQ(few.spans, all.drawn);
  ASSERT_EQ(few.tracks.size(), all.tracks.size());
  for (std::size_t i = 0; i < all.tracks.size(); ++i) {
    std::size_t count = 0;
    std::int64_t busy = 0;
    for (const page::DrawnSpan& span : few.tracks[i].spans) {
      count += span.count;
      if (span.depth + 1 == few.tracks[i].depths) busy += span.busy_ns;
      EXPECT_LE(span.busy_ns, span.length_ns);
      EXPECT_LE(span.start_ns + span.length_ns, few.length_ns);
    }
    EXPECT_EQ(count, all.tracks[i].spans.size());
    std::int64_t busy_before = 0;
    for (const page::DrawnSpan& span : all.tracks[i].spans) {
      if (span.depth + 1 == all.tracks[i].depths) busy_before += span.length_ns;
    }
    EXPECT_EQ(busy, busy_before);
    EXPECT_EQ(few.tracks[i].busy_ns, all.tracks[i].busy_ns);
  }
}

TEST(LifePageTimeline, OnlyTheIterationIsDrawnAndServersComeFirst) {
  const page::DrawnTimeline drawn = page::drawn_timeline(sample::life(2, 10).timeline, 20'000, 4);
  EXPECT_EQ(drawn.length_ns, 1'490'000'000);
  ASSERT_EQ(drawn.tracks.size(), 4U);
  EXPECT_EQ(drawn.left_out, 2U);  // 2 servers x 3 tracks; image pull and scheduling are before the iteration
  EXPECT_EQ(drawn.tracks[0].thread, "GPU 0 compute");
  EXPECT_EQ(drawn.tracks[0].depths, 2U);
  EXPECT_EQ(drawn.tracks[0].busy_ns, (466 + 931 + 22) * 1'000'000);
  EXPECT_EQ(drawn.tracks[3].process, "train2");
}

}  // namespace
}  // namespace weft::workload
