#include "workload/graph/op_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Op kernel(OpGraph& graph, std::string_view name) {
  Op op;
  op.name = graph.intern(name);
  op.duration = netsim::microseconds(1);
  return op;
}

Op matched(OpKind kind, std::uint32_t number, Bytes bytes = Bytes(8)) {
  Op op;
  op.kind = kind;
  op.match = number;
  op.bytes = bytes;
  return op;
}

struct TwoClasses {
  OpGraph graph;
  ClassId a = graph.add_class("a", 4);
  ClassId b = graph.add_class("b", 4);
  GroupId group = graph.add_group({"data", 8, 8, 1});
};

TEST(OpGraph, NamesAreInterned) {
  OpGraph graph;
  const std::uint32_t first = graph.intern("forward");
  EXPECT_EQ(graph.intern("backward"), first + 1);
  EXPECT_EQ(graph.intern("forward"), first);
  EXPECT_EQ(graph.intern(""), 0U);
  Op op;
  EXPECT_EQ(graph.name_of(op), "");
  op.name = first;
  EXPECT_EQ(graph.name_of(op), "forward");
}

TEST(OpGraph, DependentsKeepInsertionOrder) {
  OpGraph graph;
  const ClassId all = graph.add_class("all", 1);
  std::array<OpId, 5> ops{};
  for (OpId& op : ops) op = graph.add(all, kernel(graph, "k"));
  graph.depend(ops[4], ops[0]);
  graph.depend(ops[2], ops[1]);
  graph.depend(ops[3], ops[0]);
  graph.depend(ops[3], ops[2]);
  ASSERT_TRUE(graph.finish().ok());
  EXPECT_THAT(graph.dependents(ops[0]), ElementsAre(ops[4], ops[3]));
  EXPECT_THAT(graph.dependents(ops[1]), ElementsAre(ops[2]));
  EXPECT_THAT(graph.dependents(ops[4]), ElementsAre());
  EXPECT_EQ(graph.dependency_count(ops[3]), 2U);
  EXPECT_EQ(graph.dependency_count(ops[0]), 0U);
}

TEST(OpGraph, EmptyGraphIsValid) {
  OpGraph graph;
  EXPECT_TRUE(graph.finish().ok());
  EXPECT_EQ(graph.size(), 0U);
}

TEST(OpGraph, CycleIsNamed) {
  OpGraph graph;
  const ClassId stage = graph.add_class("stage 0", 1);
  const OpId free = graph.add(stage, kernel(graph, "free"));
  const OpId x = graph.add(stage, kernel(graph, "x"));
  const OpId y = graph.add(stage, kernel(graph, "y"));
  const OpId z = graph.add(stage, kernel(graph, "z"));
  const OpId after = graph.add(stage, kernel(graph, "after"));
  graph.depend(x, free);
  graph.depend(x, z);
  graph.depend(y, x);
  graph.depend(z, y);
  graph.depend(after, z);
  const Status status = graph.finish();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("`x` (operation 1 of class `stage 0`) waits for `z` (operation 3 of class `stage 0`), which "
                        "waits for `y` (operation 2 of class `stage 0`), which waits for operation 1"));
}

TEST(OpGraph, SelfDependencyIsRejected) {
  OpGraph graph;
  const OpId op = graph.add(graph.add_class("c", 1), kernel(graph, "k"));
  graph.depend(op, op);
  EXPECT_THAT(graph.finish().error().message, HasSubstr("`k` (operation 0 of class `c`) waits for itself"));
}

TEST(OpGraph, ALongCycleIsCounted) {
  OpGraph graph;
  const ClassId all = graph.add_class("all", 1);
  constexpr std::uint32_t kLength = 100;
  for (std::uint32_t i = 0; i < kLength; ++i) graph.add(all, kernel(graph, "k" + std::to_string(i)));
  for (std::uint32_t i = 0; i < kLength; ++i) {
    graph.depend(static_cast<OpId>(i), static_cast<OpId>((i + 1) % kLength));
  }
  EXPECT_THAT(graph.finish().error().message, HasSubstr("which waits for 94 more, which waits for operation 0"));
}

TEST(OpGraph, IdsOutOfRangeAreRejected) {
  {
    OpGraph graph;
    graph.add(ClassId{1}, Op());
    EXPECT_THAT(graph.finish().error().message, HasSubstr("class 1 does not exist"));
  }
  {
    OpGraph graph;
    const OpId op = graph.add(graph.add_class("c", 1), Op());
    graph.depend(op, OpId{7});
    EXPECT_THAT(graph.finish().error().message, HasSubstr("operation 0 depends on operation 7"));
  }
  {
    OpGraph graph;
    graph.add(graph.add_class("c", 1), matched(OpKind::collective, 0));
    EXPECT_THAT(graph.finish().error().message, HasSubstr("group 0 does not exist"));
  }
  {
    OpGraph graph;
    Op op;
    op.duration = SimTime(-1);
    graph.add(graph.add_class("c", 1), op);
    EXPECT_THAT(graph.finish().error().message, HasSubstr("negative"));
  }
}

TEST(OpGraph, InconsistentMatchesAreRejected) {
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::collective, 1));
    Op other = matched(OpKind::collective, 1);
    other.collective = netsim::Collective::all_gather;
    two.graph.add(two.b, other);
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("matched but differ"));
  }
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::collective, 1));
    two.graph.add(two.b, matched(OpKind::send, 1));
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("matched but differ"));
  }
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::collective, 1));
    two.graph.add(two.a, matched(OpKind::collective, 1));
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("takes part twice"));
  }
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::send, 1));
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("has 1 ends"));
  }
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::send, 1));
    two.graph.add(two.b, matched(OpKind::receive, 1, Bytes(9)));
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("matched but differ"));
  }
  {
    TwoClasses two;
    two.graph.add(two.a, matched(OpKind::compute, 1));
    EXPECT_THAT(two.graph.finish().error().message, HasSubstr("is not communication"));
  }
}

TEST(OpGraph, ConsistentMatchesAreAccepted) {
  TwoClasses two;
  two.graph.add(two.a, matched(OpKind::collective, 7));
  two.graph.add(two.b, matched(OpKind::collective, 7, Bytes(16)));  // uneven all-to-all
  two.graph.add(two.a, matched(OpKind::send, 3));
  two.graph.add(two.b, matched(OpKind::receive, 3));
  two.graph.add(two.a, matched(OpKind::send, 4));  // to another rank of the same class
  two.graph.add(two.a, matched(OpKind::receive, 4));
  EXPECT_TRUE(two.graph.finish().ok());
}

}  // namespace
}  // namespace weft::workload
