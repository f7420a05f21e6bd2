// The order of repair actions: one after the other, none twice, each on fresh evidence.
#include <gtest/gtest.h>

#include "control/controller_test_support.h"

namespace weft::control {
namespace {

constexpr sched::NodeId kNode{2};
using enum RepairAction;

class SessionsTest : public ControllerTest {
 protected:
  void report(std::vector<RepairAction> actions, std::int64_t seconds, std::string part = "GPU 0000:3b:00") {
    NodeReport report{kNode, controller->state().node(kNode).boot, Health::fatal, "Xid 62", at(seconds)};
    report.plan = {std::move(actions), std::move(part)};
    send(report, seconds);
  }
  // Opens a session, with our mark on the node.
  void open(std::vector<RepairAction> actions) {
    report(std::move(actions), 1010);
    send(CordonReport{kNode, true, "weft:1", at(1011)}, 1011);
    send(Tick{}, 1012);
  }
  void answer(bool done, std::int64_t seconds) {
    send(RepairReport{last<RepairNode>()->operation, kNode, 102, done, "device busy", at(seconds)}, seconds);
    send(Tick{}, seconds + 1);
  }
  void validate(bool passed, std::int64_t seconds) {
    const BootId boot = controller->state().node(kNode).boot;
    send(ValidationReport{last<ValidateNode>()->operation, kNode, boot, passed, "GEMM failed", at(seconds)}, seconds);
    send(Tick{}, seconds + 1);
  }
  [[nodiscard]] SessionStep at_step() const { return controller->state().node(kNode).session->step; }
};

TEST_F(SessionsTest, ResetThenChecksThenReturn) {
  open({reset_gpu, reboot, power_cycle});
  ASSERT_EQ(count<RepairNode>(), 1U);
  EXPECT_EQ(last<RepairNode>()->action, reset_gpu);
  EXPECT_EQ(last<RepairNode>()->part, "GPU 0000:3b:00");
  EXPECT_EQ(count<PowerCycle>(), 0U);
  answer(true, 1020);
  EXPECT_EQ(at_step(), SessionStep::validate);
  send(NodeReport{kNode, 102, Health::healthy, {}, at(1025)}, 1025);
  validate(true, 1030);
  EXPECT_EQ(at_step(), SessionStep::release);
  send(CordonReport{kNode, false, "", at(1032)}, 1032);
  EXPECT_TRUE(controller->is_usable(kNode));
}

TEST_F(SessionsTest, EachActionIsTriedOnceInOrder) {
  open({reset_gpu, reboot, power_cycle});
  answer(false, 1020);
  ASSERT_EQ(count<RepairNode>(), 2U);
  EXPECT_EQ(last<RepairNode>()->action, reboot);
  send(NodeReport{kNode, 900, Health::healthy, {}, at(1080)}, 1080);  // the new boot
  ASSERT_EQ(at_step(), SessionStep::validate);
  validate(false, 1090);
  ASSERT_EQ(count<PowerCycle>(), 1U);
  send(PowerReport{last<PowerCycle>()->operation, kNode, true, false, "", at(1100)}, 1100);
  send(NodeReport{kNode, 901, Health::healthy, {}, at(1200)}, 1200);
  validate(false, 1210);
  EXPECT_EQ(at_step(), SessionStep::person);
  EXPECT_EQ(count<RepairNode>(), 2U);
  EXPECT_EQ(count<PowerCycle>(), 1U);
}

TEST_F(SessionsTest, RefusedActionIsFollowedByTheNext) {
  open({reset_gpu, power_cycle});
  send(CommandReply{last<RepairNode>()->operation, ReplyKind::permanent, "not available"}, 1013);
  send(Tick{}, 1014);
  EXPECT_EQ(count<PowerCycle>(), 1U);
}

TEST_F(SessionsTest, AmbiguousActionIsNotRepeated) {
  open({reset_gpu, reboot, power_cycle});
  send(CommandReply{last<RepairNode>()->operation, ReplyKind::ambiguous, "timeout"}, 1013);
  for (std::int64_t t = 1020; t < 2500; t += 10) {
    report({reset_gpu, reboot, power_cycle}, t);
    send(Tick{}, t);
  }
  EXPECT_EQ(count<RepairNode>(), 1U);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_EQ(at_step(), SessionStep::person);
}

TEST_F(SessionsTest, RebootThatIsNotSeenEndsInAPowerCycleOnFreshEvidence) {
  open({reboot, power_cycle});
  for (std::int64_t t = 1020; t < 2000; t += 10) {
    report({reboot, power_cycle}, t);
    send(Tick{}, t);
  }
  EXPECT_EQ(count<PowerCycle>(), 1U);
}

TEST_F(SessionsTest, RebootThatIsNotSeenWithoutEvidenceIsForAPerson) {
  open({reboot, power_cycle});
  for (std::int64_t t = 1020; t < 2000; t += 10) send(Tick{}, t);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_EQ(at_step(), SessionStep::person);
}

TEST_F(SessionsTest, WorseReportChangesThePlan) {
  open({reset_gpu});
  report({reboot, power_cycle}, 1015, "");
  answer(false, 1020);
  EXPECT_EQ(last<RepairNode>()->action, reboot);
}

TEST_F(SessionsTest, PlanForPeopleTakesTheNodeOutAndTouchesNothing) {
  open({person});
  EXPECT_EQ(at_step(), SessionStep::person);
  EXPECT_EQ(count<RepairNode>() + count<PowerCycle>(), 0U);
  EXPECT_FALSE(controller->is_usable(kNode));
}

TEST_F(SessionsTest, ChecksDecideBeforeAnythingIsDone) {
  open({check, reboot});
  EXPECT_EQ(at_step(), SessionStep::validate);
  EXPECT_EQ(count<RepairNode>(), 0U);
  validate(false, 1030);
  EXPECT_EQ(last<RepairNode>()->action, reboot);
}

TEST_F(SessionsTest, WithoutAPlanTheNodeIsPowerCycled) {
  open({});
  EXPECT_EQ(count<PowerCycle>(), 1U);
}

TEST_F(SessionsTest, ActionsSurviveARestart) {
  open({reset_gpu, reboot});
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), controller->state().to_text());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->node(kNode).session->tried, reset_gpu);
  EXPECT_EQ(parsed->to_text(), controller->state().to_text());
}

TEST_F(SessionsTest, JournalRefusesAnActionThatWasTried) {
  open({reset_gpu, reboot});
  ControlState state = controller->state();
  Record again;
  again.kind = RecordKind::session_step;
  again.at = state.now();
  again.node = kNode;
  again.session = 1;
  again.code = static_cast<std::uint8_t>(SessionStep::remediate);
  again.operation = state.last_operation() + 1;
  again.value = static_cast<std::int64_t>(reset_gpu);
  EXPECT_FALSE(state.apply(again).ok());
  again.value = 99;
  EXPECT_FALSE(state.apply(again).ok());
  again.value = static_cast<std::int64_t>(reboot);
  EXPECT_TRUE(state.apply(again).ok());
}

TEST_F(SessionsTest, ResetNeedsANodeWithoutJobs) {
  const JobNumber number = submit(8, 1001);
  report_parts(PartPhase::running, 0, 1002);
  report({reset_gpu, reboot}, 1010);
  send(CordonReport{kNode, true, "weft:1", at(1011)}, 1011);
  // Its job does not end there: after the patience of two stops, only what ends processes is possible.
  for (std::int64_t t = 1012; t < 1300; t += 10) {
    report({reset_gpu, reboot}, t);
    send(Tick{}, t);
  }
  ASSERT_EQ(count<RepairNode>(), 1U);
  EXPECT_EQ(last<RepairNode>()->action, reboot);
  EXPECT_NE(controller->state().find_job(number), nullptr);
}

}  // namespace
}  // namespace weft::control
