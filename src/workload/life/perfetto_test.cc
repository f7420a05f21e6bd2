#include "workload/life/perfetto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "workload/life/perfetto_lanes.h"
#include "workload/result/life_sample.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using Thread = std::pair<std::string, std::string>;  // pid, tid

struct Trace {
  std::map<std::string, std::string> processes;
  std::map<std::string, int> process_sort;
  std::map<Thread, std::string> threads;
  std::map<Thread, int> thread_sort;
  std::map<Thread, std::vector<std::pair<double, double>>> spans;  // start and end, in us
  std::vector<std::string> span_names;
  std::size_t counters = 0;
};

std::string text(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.find(key);
  EXPECT_NE(found, nullptr) << key;
  return found == nullptr ? "0" : found->scalar;
}

Trace read(const std::string& json) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_json(sources, sources.add("trace.json", json), diagnostics);
  EXPECT_TRUE(root.has_value()) << render_all(diagnostics, sources, false);
  Trace trace;
  if (!root || root->find("traceEvents") == nullptr) return trace;
  for (const YamlNode& event : root->find("traceEvents")->items) {
    const std::string kind = text(event, "ph");
    const std::string pid = text(event, "pid");
    if (kind == "C") {
      ++trace.counters;
      continue;
    }
    const Thread thread(pid, text(event, "tid"));
    if (kind == "M") {
      const std::string what = text(event, "name");
      const YamlNode& arguments = *event.find("args");
      if (what == "process_name") trace.processes[pid] = text(arguments, "name");
      if (what == "process_sort_index") trace.process_sort[pid] = std::stoi(text(arguments, "sort_index"));
      if (what == "thread_name") trace.threads[thread] = text(arguments, "name");
      if (what == "thread_sort_index") trace.thread_sort[thread] = std::stoi(text(arguments, "sort_index"));
    } else {
      EXPECT_EQ(kind, "X");
      const double start = std::stod(text(event, "ts"));
      trace.spans[thread].emplace_back(start, start + std::stod(text(event, "dur")));
      trace.span_names.push_back(text(event, "name"));
    }
  }
  return trace;
}

// Every span is nested in the open one, or begins after it has ended.
void expect_nesting(const Trace& trace) {
  constexpr double kSlack = 1e-5;  // us: below a nanosecond; sums of decimal fractions
  for (const auto& [thread, spans] : trace.spans) {
    EXPECT_TRUE(trace.threads.contains(thread)) << thread.first << "/" << thread.second << " has no name";
    EXPECT_TRUE(trace.processes.contains(thread.first));
    std::vector<double> open;
    double last = -1e300;
    for (const auto& [start, end] : spans) {
      EXPECT_GE(start, last) << "not in order";
      last = start;
      while (!open.empty() && open.back() <= start + kSlack) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back() + kSlack);
      }
      open.push_back(end);
    }
  }
}

TEST(Perfetto, EverySpanHasANamedThreadAndNests) {
  const LifeResult life = sample::life(3, 17);
  const Trace trace = read(perfetto_trace(life));
  expect_nesting(trace);
  EXPECT_EQ(trace.span_names.size(), life.timeline.spans.size() + 5);  // and the five states
  EXPECT_EQ(trace.counters, 60U);
}

TEST(Perfetto, ServersComeFirstAndTheControlPlaneLast) {
  const Trace trace = read(perfetto_trace(sample::life(1, 2)));
  std::map<int, std::string> order;
  for (const auto& [pid, sort] : trace.process_sort) order[sort] = trace.processes.at(pid);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const auto& [sort, name] : order) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("job llm-pretrain", "train1", "backend fabric", "storage fabric", "frontend fabric",
                                 "control plane"));
  std::map<int, std::string> threads;
  for (const auto& [thread, sort] : trace.thread_sort) {
    if (trace.processes.at(thread.first) == "train1") threads[sort] = trace.threads.at(thread);
  }
  names.clear();
  for (const auto& [sort, name] : threads) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("GPU 0 compute", "GPU 0 NVLink", "NIC 0"));
}

TEST(Perfetto, TimesHaveNanoseconds) {
  LifeResult life;
  life.timeline.tracks = {{"server", "GPU"}};
  life.timeline.names = {"kernel"};
  life.timeline.spans = {{0, 0, SimTime(1'234'567'499), SimTime(1'500)}};  // ends at ...8'999 ps, which rounds up
  EXPECT_NE(perfetto_trace(life).find("\"ts\":1234.567,\"dur\":0.002"), std::string::npos);
}

TEST(Perfetto, OverlappingSpansGetSeparateLanes) {
  LifeResult life;
  life.timeline.tracks = {{"server", "NIC 0"}};
  life.timeline.names = {"a", "b", "c"};
  const auto us = [](std::int64_t n) { return netsim::microseconds(n); };
  life.timeline.spans = {{0, 1, us(5), us(10)}, {0, 0, us(0), us(10)}, {0, 2, us(5), us(2)}};
  const Trace trace = read(perfetto_trace(life));
  expect_nesting(trace);
  std::set<std::string> threads;
  for (const auto& [thread, name] : trace.threads) threads.insert(name);
  EXPECT_THAT(threads, ElementsAre("NIC 0", "NIC 0 (2)", "states"));
  const std::vector<PlacedSpan> placed = place_spans(life.timeline);
  ASSERT_EQ(placed.size(), 3U);
  EXPECT_EQ(placed[0].span, 1U);
  EXPECT_EQ(placed[1].span, 2U);  // inside `a`
  EXPECT_EQ(placed[1].depth, 1U);
  EXPECT_EQ(placed[2].lane, 1U);
}

TEST(Perfetto, HostileNamesAndBrokenSpansAreHandled) {
  LifeResult life;
  life.job = "a\"b\n</script>";
  life.timeline.tracks = {{"ser\"ver\\", "GPU\n"}};
  life.timeline.names = {"\xff\"}]"};
  life.timeline.spans = {{0, 0, SimTime(1000), SimTime(1000)}, {7, 0, {}, {}}, {0, 9, {}, {}}, {0, 0, {}, SimTime(-5)}};
  life.timeline.counters = {{"x", "y", "", {{SimTime(0), std::nan("")}, {SimTime(0), 1.5}}}};
  const Trace trace = read(perfetto_trace(life));
  EXPECT_EQ(trace.span_names.size(), 1U);
  EXPECT_EQ(trace.counters, 1U);
}

TEST(Perfetto, AMillionSpans) {
  LifeResult life;
  life.timeline.tracks = {{"server", "GPU"}};
  life.timeline.names = {"kernel"};
  for (std::int64_t i = 0; i < 1'000'000; ++i)
    life.timeline.spans.push_back({0, 0, SimTime(i * 9'000), SimTime(8'000)});
  const std::string json = perfetto_trace(life);
  EXPECT_LT(json.size(), 100'000'000U);
  EXPECT_NE(json.find("\"ts\":8999.991,\"dur\":0.008}"), std::string::npos);
}

}  // namespace
}  // namespace weft::workload
