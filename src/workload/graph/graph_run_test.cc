#include "workload/graph/graph_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SimTime us(std::int64_t n) { return netsim::microseconds(n); }

class ByteTimer : public CommunicationTimer {
 public:
  SimTime collective(netsim::Collective /*operation*/, Bytes bytes, const OpGroup& /*group*/) override {
    return us(bytes.count());
  }
  SimTime message(Bytes bytes, const OpGroup& /*group*/) override { return us(bytes.count()); }
};

struct Run : public ::testing::Test {
  OpId add(ClassId where, OpKind kind, const char* name, std::int64_t size, std::uint8_t stream = 0,
           std::uint32_t match = 0) {
    Op op;
    op.kind = kind;
    op.stream = stream;
    op.name = graph.intern(name);
    op.match = match;
    if (kind == OpKind::collective || kind == OpKind::send || kind == OpKind::receive) {
      op.bytes = Bytes(size);
    } else {
      op.duration = us(size);
    }
    return graph.add(where, op);
  }
  void play(StreamOrder order = StreamOrder::program, const Pipeline& pipeline = {}) {
    ASSERT_TRUE(graph.finish().ok());
    Result<GraphRun> result = run_graph(graph, timer, order, pipeline);
    ASSERT_TRUE(result.ok()) << result.error().text();
    run = std::move(*result);
  }

  OpGraph graph;
  ClassId a = graph.add_class("a", 4);
  ClassId b = graph.add_class("b", 2);
  GroupId data = graph.add_group({"data", 6, 2, 1});
  ByteTimer timer;
  GraphRun run;
};

// a: kernel 0..10, all-reduce 4..9 hidden and 12..18 exposed, kernel 10..12, the host until 20; b ends at 3.
TEST_F(Run, BreaksDownTheTime) {
  const OpId early = add(a, OpKind::memory, "copy", 4, 2);
  add(a, OpKind::compute, "first", 10);
  const OpId hidden = add(a, OpKind::collective, "reduce", 5, 1);
  graph.depend(hidden, early);
  const OpId second = add(a, OpKind::compute, "second", 2);
  const OpId bare = add(a, OpKind::collective, "reduce", 6, 1);
  graph.depend(bare, second);
  const OpId host = add(a, OpKind::host, "step", 2, 3);
  graph.depend(host, bare);
  add(b, OpKind::compute, "other", 3);
  play();
  EXPECT_EQ(run.total, us(20));
  ASSERT_EQ(run.classes.size(), 2U);
  EXPECT_EQ(run.slowest, 0U);
  EXPECT_EQ(run.ranks, 6U);
  const ClassUse& use = run.classes[0];
  EXPECT_EQ(use.compute, us(12));
  EXPECT_EQ(use.communication, us(11));
  EXPECT_EQ(use.exposed, us(6));
  EXPECT_EQ(use.host, us(2));
  EXPECT_EQ(use.idle, us(0));
  EXPECT_EQ(run.classes[1].end, us(3));
  EXPECT_EQ(run.classes[1].idle, us(17));
  ASSERT_EQ(run.communication.size(), 1U);
  EXPECT_EQ(run.communication[0].group, "data");
  EXPECT_EQ(run.communication[0].operation, "all-reduce");
  EXPECT_EQ(run.communication[0].calls, 2U);
  EXPECT_EQ(run.communication[0].bytes, Bytes(11));
  EXPECT_EQ(run.communication[0].busy, us(11));
  EXPECT_EQ(run.communication[0].exposed, us(6));
  EXPECT_DOUBLE_EQ(run.communication[0].share, 0.3);
  std::vector<std::string> names;
  for (const OpId op : run.path) names.push_back(graph.name_of(graph[op]));
  EXPECT_THAT(names, ElementsAre("first", "second", "reduce", "step"));
  EXPECT_EQ(run.chain[0].name, "first");
  EXPECT_EQ(run.chain[0].time, us(10));
  EXPECT_EQ(run.chain[1].time, us(6));
}

TEST_F(Run, ChainCrossesRanks) {
  const OpId work = add(b, OpKind::compute, "slow", 9);
  const OpId send = add(b, OpKind::send, "send", 4, 1, 1);
  graph.depend(send, work);
  const OpId receive = add(a, OpKind::receive, "receive", 4, 1, 1);
  const OpId use = add(a, OpKind::compute, "use", 2);
  graph.depend(use, receive);
  const OpId joint_a = add(a, OpKind::collective, "reduce", 1, 1, 2);
  graph.depend(joint_a, use);
  const OpId joint_b = add(b, OpKind::collective, "reduce", 1, 1, 2);
  const OpId last = add(b, OpKind::compute, "last", 1);
  graph.depend(last, joint_b);
  play();
  EXPECT_EQ(run.total, us(9 + 4 + 2 + 1 + 1));
  std::vector<std::string> names;
  for (const OpId op : run.path) names.push_back(graph.name_of(graph[op]));
  EXPECT_THAT(names, ElementsAre("slow", "send", "receive", "use", "reduce", "last"));
}

// On random graphs the chain has no gap: its parts add up to the total.
TEST_F(Run, ChainsAddUp) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const StreamOrder order : {StreamOrder::program, StreamOrder::ready}) {
      RandomStream random(seed);
      graph = OpGraph();
      a = graph.add_class("a", 1);
      b = graph.add_class("b", 1);
      graph.add_group({"data", 2, 2, 1});
      for (std::uint32_t i = 0; i < 120; ++i) {
        const ClassId where = random.chance(0.5) ? a : b;
        OpId op{0};
        if (i % 9 == 0) {
          add(a, OpKind::collective, "c", 3, 2, i + 1);
          op = add(b, OpKind::collective, "c", 3, 2, i + 1);
        } else {
          const std::int64_t duration = random.between(0, 4);
          op = add(where, OpKind::compute, "k", duration, static_cast<std::uint8_t>(random.below(2)));
        }
        const auto at = static_cast<std::uint32_t>(op);
        const auto earlier = static_cast<OpId>(random.below(at + 1));
        if (at > 1 && earlier != op && graph[earlier].match == 0) graph.depend(op, earlier);
      }
      play(order);
      SimTime sum;
      for (const ChainPart& part : run.chain) sum += part.time;
      EXPECT_EQ(sum, run.total) << seed;
    }
  }
}

TEST_F(Run, BubbleIsAdded) {
  add(a, OpKind::compute, "k", 12);
  Pipeline pipeline;
  pipeline.stages = 3;
  pipeline.micro_batches = 4;
  pipeline.message = Bytes(5);
  play(StreamOrder::program, pipeline);
  EXPECT_EQ(run.bubble, us(12 * 2 / 4 + 4 * 5));
  EXPECT_EQ(run.total, run.end + run.bubble);
}

TEST_F(Run, RejectsEmptyAndEndlessGraphs) {
  ASSERT_TRUE(graph.finish().ok());
  EXPECT_THAT(run_graph(graph, timer, StreamOrder::program).error().message, HasSubstr("no operation"));
  graph = OpGraph();
  Op endless;
  endless.duration = netsim::kNever;
  graph.add(graph.add_class("a", 1), endless);
  ASSERT_TRUE(graph.finish().ok());
  EXPECT_THAT(run_graph(graph, timer, StreamOrder::program).error().message, HasSubstr("106 days"));
}

TEST_F(Run, DocumentShowsTheRun) {
  add(a, OpKind::compute, "kernel", 10);
  add(a, OpKind::collective, "reduce", 5, 1);
  add(b, OpKind::compute, "other", 3);
  play();
  const Document document = graph_run_document({"w.txt", "pod: 8 GPUs", "rings"}, run);
  const std::string text = write(document, {OutputFormat::table, false});
  EXPECT_THAT(text, HasSubstr("Workload:          w.txt"));
  EXPECT_THAT(text, HasSubstr("Total:             10 us"));
  EXPECT_THAT(text, HasSubstr("all-reduce"));
  EXPECT_THAT(text, HasSubstr("Slowest chain"));
  const std::string json = write(document, {OutputFormat::json, false});
  EXPECT_THAT(json, HasSubstr("\"total_us\": 10"));
}

}  // namespace
}  // namespace weft::workload
