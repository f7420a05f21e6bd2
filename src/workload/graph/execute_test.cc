#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "workload/graph/op_graph.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SimTime us(std::int64_t n) { return netsim::microseconds(n); }

// One microsecond per byte for every operation; counts the calls.
class ByteTimer : public CommunicationTimer {
 public:
  SimTime collective(netsim::Collective /*operation*/, Bytes bytes, const OpGroup& /*group*/) override {
    return ask(bytes);
  }
  SimTime message(Bytes bytes, const OpGroup& /*group*/) override { return ask(bytes); }
  std::vector<std::int64_t> asked;

 private:
  SimTime ask(Bytes bytes) {
    asked.push_back(bytes.count());
    return us(bytes.count());
  }
};

struct Play : public ::testing::Test {
  OpId kernel(ClassId where, std::int64_t time, std::uint8_t stream = 0) {
    Op op;
    op.stream = stream;
    op.duration = us(time);
    op.name = graph.intern(graph.size() < 1000 ? "k" + std::to_string(graph.size()) : "k");
    return graph.add(where, op);
  }
  OpId move(ClassId where, OpKind kind, std::int64_t bytes, std::uint32_t match, std::uint8_t stream = 1) {
    Op op;
    op.kind = kind;
    op.stream = stream;
    op.bytes = Bytes(bytes);
    op.match = match;
    op.name = graph.intern(std::string(to_text(kind)) + (graph.size() < 1000 ? std::to_string(graph.size()) : ""));
    return graph.add(where, op);
  }
  void play(StreamOrder order) {
    const Status status = graph.finish();
    ASSERT_TRUE(status.ok()) << status.error().text();
    const Result<Execution> result = execute(graph, timer, order);
    ASSERT_TRUE(result.ok()) << result.error().text();
    run = result.value();
  }
  std::string problem(StreamOrder order) {
    EXPECT_TRUE(graph.finish().ok());
    const Result<Execution> result = execute(graph, timer, order);
    return result.ok() ? "none" : result.error().message;
  }
  [[nodiscard]] std::int64_t started(OpId op) const {
    return run.started[static_cast<std::uint32_t>(op)].count() / 1'000'000;
  }
  [[nodiscard]] std::int64_t ended(OpId op) const {
    return run.ended[static_cast<std::uint32_t>(op)].count() / 1'000'000;
  }

  OpGraph graph;
  ClassId a = graph.add_class("a", 1);
  ClassId b = graph.add_class("b", 1);
  GroupId group = graph.add_group({"data", 2, 2, 1});
  ByteTimer timer;
  Execution run;
};

TEST_F(Play, StreamsRunInParallelAndInOrder) {
  const OpId first = kernel(a, 5);
  const OpId second = kernel(a, 3);
  const OpId beside = kernel(a, 4, 2);
  const OpId joined = kernel(a, 1, 2);
  graph.depend(joined, second);
  play(StreamOrder::program);
  EXPECT_EQ(started(first), 0);
  EXPECT_EQ(started(second), 5);
  EXPECT_EQ(started(beside), 0);
  EXPECT_EQ(started(joined), 8);
  EXPECT_EQ(run.end, us(9));
}

TEST_F(Play, ProgramOrderWaitsWhereReadyOrderDoesNot) {
  const OpId slow = kernel(b, 10);
  const OpId blocked = kernel(a, 1);
  const OpId free = kernel(a, 1);
  graph.depend(blocked, slow);
  OpGraph same = graph;
  play(StreamOrder::program);
  EXPECT_EQ(started(blocked), 10);
  EXPECT_EQ(started(free), 11);
  graph = same;
  play(StreamOrder::ready);
  EXPECT_EQ(started(free), 0);
  EXPECT_EQ(started(blocked), 10);
}

// Both become ready at 4; the one that was added first runs first, although the other's dependency ended first in any
// order of classes.
TEST_F(Play, TiesAreBrokenByInsertionOrder) {
  const OpId early = kernel(a, 4, 1);
  const OpId late = kernel(b, 4);
  const OpId one = kernel(a, 1);
  const OpId two = kernel(a, 1);
  graph.depend(one, late);
  graph.depend(two, early);
  play(StreamOrder::ready);
  EXPECT_EQ(started(one), 4);
  EXPECT_EQ(started(two), 5);
}

TEST_F(Play, CollectiveStartsWhenAllAreReady) {
  const OpId before_a = kernel(a, 3);
  const OpId before_b = kernel(b, 8);
  const OpId of_a = move(a, OpKind::collective, 5, 9);
  const OpId of_b = move(b, OpKind::collective, 7, 9);
  graph.depend(of_a, before_a);
  graph.depend(of_b, before_b);
  OpGraph same = graph;
  for (const StreamOrder order : {StreamOrder::program, StreamOrder::ready}) {
    graph = same;
    timer.asked.clear();
    play(order);
    EXPECT_EQ(started(of_a), 8);
    EXPECT_EQ(started(of_b), 8);
    EXPECT_EQ(ended(of_a), 15);
    EXPECT_EQ(ended(of_b), 15);
    EXPECT_THAT(timer.asked, ElementsAre(7));  // once, the larger buffer
  }
}

TEST_F(Play, ReceiveEndsWhenItsSendEnds) {
  const OpId work = kernel(a, 6);
  const OpId send = move(a, OpKind::send, 4, 2);
  const OpId receive = move(b, OpKind::receive, 4, 2);
  const OpId use = kernel(b, 1);
  graph.depend(send, work);
  graph.depend(use, receive);
  OpGraph same = graph;
  play(StreamOrder::program);
  EXPECT_EQ(started(receive), 0);  // the kernel waits on the GPU
  EXPECT_EQ(ended(receive), 10);
  EXPECT_EQ(started(use), 10);
  graph = same;
  play(StreamOrder::ready);
  EXPECT_EQ(started(receive), 10);
  EXPECT_EQ(ended(receive), 10);
  EXPECT_EQ(started(use), 10);
}

TEST_F(Play, LateReceiveTakesNoTime) {
  const OpId send = move(a, OpKind::send, 4, 2);
  const OpId work = kernel(b, 20);
  const OpId receive = move(b, OpKind::receive, 4, 2);
  graph.depend(receive, work);
  play(StreamOrder::program);
  EXPECT_EQ(ended(send), 4);
  EXPECT_EQ(ended(receive), 20);
}

TEST_F(Play, UnmatchedOperationsAreTimedSeparately) {
  move(a, OpKind::collective, 3, 0);
  const OpId receive = move(a, OpKind::receive, 5, 0);
  play(StreamOrder::program);
  EXPECT_EQ(ended(receive), 8);
  EXPECT_THAT(timer.asked, ElementsAre(3, 5));
}

TEST_F(Play, CollectivesInOppositeOrderOnStreamsAreADeadlock) {
  move(a, OpKind::collective, 1, 1);
  move(a, OpKind::collective, 1, 2);
  move(b, OpKind::collective, 1, 2);
  move(b, OpKind::collective, 1, 1);
  OpGraph same = graph;
  EXPECT_THAT(problem(StreamOrder::program),
              HasSubstr("wait for each other in a cycle: `collective0` (operation 0 of class `a`) waits for "
                        "`collective3` (operation 3 of class `b`), which waits for `collective2` (operation 2 of class "
                        "`b`), which waits for `collective1` (operation 1 of class `a`), which waits for operation 0"));
  graph = same;
  play(StreamOrder::ready);  // in ready order, streams are not blocked by operations that are not ready everywhere
  EXPECT_EQ(run.end, us(2));
}

TEST_F(Play, CrossingDependenciesAreADeadlockInBothOrders) {
  const OpId a1 = move(a, OpKind::collective, 1, 1);
  const OpId a2 = move(a, OpKind::collective, 1, 2, 2);
  const OpId b1 = move(b, OpKind::collective, 1, 1);
  const OpId b2 = move(b, OpKind::collective, 1, 2, 2);
  graph.depend(a2, a1);
  graph.depend(b1, b2);
  OpGraph same = graph;
  for (const StreamOrder order : {StreamOrder::program, StreamOrder::ready}) {
    graph = same;
    EXPECT_THAT(problem(order), HasSubstr("`collective0` (operation 0 of class `a`) waits for `collective2` (operation "
                                          "2 of class `b`), which waits for `collective3`"));
  }
}

TEST_F(Play, ReceivesBeforeSendsAreADeadlockOnOneStream) {
  move(a, OpKind::receive, 1, 1);
  move(a, OpKind::send, 1, 2);
  move(b, OpKind::receive, 1, 2);
  move(b, OpKind::send, 1, 1);
  OpGraph same = graph;
  EXPECT_THAT(problem(StreamOrder::program), HasSubstr("`receive0` (operation 0 of class `a`) waits for `send3`"));
  graph = same;
  play(StreamOrder::ready);
  EXPECT_EQ(run.end, us(1));
}

TEST_F(Play, ReceiveWithoutItsSendIsADeadlockInReadyOrder) {
  const OpId receive = move(a, OpKind::receive, 1, 1);
  const OpId send = move(b, OpKind::send, 1, 1);
  const OpId back = move(b, OpKind::receive, 1, 2, 2);
  const OpId forth = move(a, OpKind::send, 1, 2, 2);
  graph.depend(forth, receive);
  graph.depend(send, back);
  EXPECT_THAT(problem(StreamOrder::ready), HasSubstr("`receive0` (operation 0 of class `a`) waits for `send1`"));
}

TEST_F(Play, ExposureByIntervals) {
  kernel(a, 10);                                        // 0..10
  move(a, OpKind::collective, 4, 0);                    // 0..4
  const OpId wait = kernel(a, 9, 3);                    // 0..9
  const OpId late = move(a, OpKind::collective, 6, 0);  // 9..15
  graph.depend(late, wait);
  const OpId third = kernel(a, 2);  // 15..17
  graph.depend(third, late);
  play(StreamOrder::program);
  EXPECT_EQ(run.end, us(17));
  Exposure result = exposure(graph, run, a, 1U << 1U, 1U << 0U);
  EXPECT_EQ(result.busy, us(10));
  EXPECT_EQ(result.exposed, us(5));  // 10..15
  result = exposure(graph, run, a, (1U << 0U) | (1U << 3U), 1U << 1U);
  EXPECT_EQ(result.busy, us(12));
  EXPECT_EQ(result.exposed, us(7));  // 4..9, 15..17
  result = exposure(graph, run, b, ~0U, 0);
  EXPECT_EQ(result.busy, us(0));
  EXPECT_EQ(exposure(graph, run, a, 0, ~0U).busy, us(0));
}

TEST_F(Play, TimesBeyondTheClockSaturate) {
  Op op;
  op.duration = netsim::kNever;
  graph.add(a, op);
  graph.add(a, op);
  play(StreamOrder::program);
  EXPECT_EQ(run.end, netsim::kNever);
}

// On random graphs: no operation starts before its dependencies have ended, no stream runs two at once, program order
// is kept, matched collectives run together, and the end is that of the last operation.
TEST_F(Play, RandomGraphsKeepInvariants) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed);
    graph = OpGraph();
    std::vector<std::pair<OpId, OpId>> edges;
    for (int c = 0; c < 4; ++c) graph.add_class("c" + std::to_string(c), 1);
    graph.add_group({"all", 4, 4, 1});
    for (std::uint32_t i = 0; i < 200; ++i) {
      const auto where = static_cast<ClassId>(random.below(4));
      OpId op{0};
      if (i % 10 == 0) {
        for (std::uint32_t c = 0; c < 4; ++c) op = move(static_cast<ClassId>(c), OpKind::collective, 3, i + 1, 3);
      } else {
        const auto duration = static_cast<std::int64_t>(random.below(5));
        op = kernel(where, duration, static_cast<std::uint8_t>(random.below(3)));
      }
      const auto at = static_cast<std::uint32_t>(op);
      for (int d = 0; d < 2 && at > 0; ++d) {
        const auto earlier = static_cast<OpId>(random.below(at));
        if (graph[earlier].match != 0 && graph[earlier].match == graph[op].match) continue;
        graph.depend(op, earlier);
        edges.emplace_back(earlier, op);
      }
    }
    const OpGraph same = graph;
    for (const StreamOrder order : {StreamOrder::program, StreamOrder::ready}) {
      graph = same;
      play(order);
      SimTime last;
      for (const auto& [earlier, later] : edges) ASSERT_LE(ended(earlier), started(later));
      for (std::uint32_t i = 0; i < graph.size(); ++i) {
        const auto one = static_cast<OpId>(i);
        last = std::max(last, run.ended[i]);
        for (std::uint32_t j = i + 1; j < graph.size(); ++j) {
          const auto two = static_cast<OpId>(j);
          const bool together = graph[one].match != 0 && graph[one].match == graph[two].match;
          ASSERT_TRUE(!together || started(one) == started(two));
          if (graph.class_of(one) != graph.class_of(two) || graph[one].stream != graph[two].stream) continue;
          ASSERT_TRUE(ended(one) <= started(two) || (order == StreamOrder::ready && ended(two) <= started(one)));
        }
      }
      EXPECT_EQ(run.end, last);
    }
  }
}

// A million operations in eight classes, forward and backward in layers with collectives: the size of a long trace.
TEST_F(Play, AMillionOperations) {
  constexpr std::uint32_t kSteps = 31'250;
  graph = OpGraph();
  for (int c = 0; c < 8; ++c) graph.add_class("c", 1);
  graph.add_group({"data", 8, 8, 1});
  std::vector<OpId> last(8, OpId{0});
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t c = 0; c < 8; ++c) {
      const auto where = static_cast<ClassId>(c);
      const OpId first = kernel(where, 1 + (c + step) % 3);
      if (step > 0) graph.depend(first, last[c]);
      const OpId second = kernel(where, 2);
      const OpId third = kernel(where, 1, 2);
      graph.depend(third, first);
      last[c] = move(where, OpKind::collective, 2, step + 1);
      graph.depend(last[c], second);
      graph.depend(last[c], third);
    }
  }
  ASSERT_EQ(graph.size(), 1'000'000U);
  play(StreamOrder::program);
  // The slowest class of a step has a kernel of 3 us, then 2 us, then the collective of 2 us.
  EXPECT_EQ(run.end, us(7) * kSteps);
}

}  // namespace
}  // namespace weft::workload
