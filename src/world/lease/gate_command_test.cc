#include "world/lease/gate_command.h"

#include <gtest/gtest.h>

namespace weft::world {
namespace {

GateCommand command_of(const std::string& text) {
  return GateCommand({*parse_gate_command(text), milliseconds(60'000)});
}

TEST(GateCommandTest, TheCommandMustNameTheNode) {
  EXPECT_FALSE(parse_gate_command("ssh weft gate").ok());
  EXPECT_FALSE(parse_gate_command("ssh '{node} weft gate").ok());
  EXPECT_EQ(parse_gate_command("ssh root@{node} weft gate")->at(1), "root@{node}");
}

TEST(GateCommandTest, AnswersAndFailuresAreToldApart) {
  EXPECT_EQ(command_of("/nonexistent/ssh {node}").look("a", 1).error().code, ErrorCode::not_found);
  const Result<NodeLook> silent = command_of("sh -c 'echo no route to {node} >&2; exit 255'").look("n7", 1);
  EXPECT_EQ(silent.error().code, ErrorCode::unavailable);
  EXPECT_EQ(silent.error().message, "no route to n7");
  EXPECT_EQ(command_of("sh -c 'exit 4' {node}").obey("a", {}).error().code, ErrorCode::refused);
  EXPECT_EQ(command_of("sh -c 'echo {}' {node}").look("a", 1).error().code, ErrorCode::unavailable) << "incomplete";
}

TEST(GateCommandTest, OrdersAreWordsOfWeftGate) {
  const control::LeaseOrder order{
      1, 9, sched::NodeId{0}, lease::LeaseOwner::kubernetes, control::LeaseOrderKind::open, 12, 0xAB};
  const Result<NodeLook> look = command_of("sh -c 'echo \"$*\" >&2; exit 5' {node}").obey("n7", order);
  EXPECT_EQ(look.error().message, "open --owner kubernetes --epoch 12 --boot ab --term 9 --output json");
}

}  // namespace
}  // namespace weft::world
