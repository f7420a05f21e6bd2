// Checkpoint drills, event by event.
#include <gtest/gtest.h>

#include "control/controller_test_support.h"

namespace weft::control {
namespace {

class DrillTest : public ControllerTest {
 protected:
  // A job that runs with this many nodes and has written a checkpoint.
  JobNumber run(std::int32_t tasks) {
    Request request = request_of(tasks);
    request.spec.checkpoint.volumes = {"/ckpt"};
    request.spec.checkpoint.notice = CheckpointNotice::signal;
    const JobNumber number = submit(request, 1001);
    verify("", 0, 1002);
    report_parts(PartPhase::running, 0, 1003);
    write("step-050", 50, 1050);
    return number;
  }
  void verify(const std::string& checkpoint, std::int64_t at_step, std::int64_t seconds) {
    const VerifyCheckpoint& asked = *last<VerifyCheckpoint>();
    send(
        CheckpointVerified{
            asked.operation, asked.job, checkpoint, "/ckpt/" + checkpoint, at_step, {}, true, at(seconds)},
        seconds);
  }
  void write(const std::string& checkpoint, std::int64_t at_step, std::int64_t seconds) {
    send(CheckpointWritten{last<StartAttempt>()->name, checkpoint, at_step, sched::seconds(2), at(seconds)}, seconds);
  }
  // The drill's stop, and the start of the next attempt.
  void restart(std::int64_t seconds) {
    write("step-060", 60, seconds);
    report_parts(PartPhase::exited, 143, seconds + 5);
    verify("step-060", 60, seconds + 6);
  }
};

TEST_F(DrillTest, RestoresOnOtherNodes) {
  const JobNumber number = run(4);
  const StartAttempt first = *last<StartAttempt>();
  EXPECT_TRUE(ask(RequestKind::drill, number, 1100).ok);
  EXPECT_EQ(count<RequestCheckpoint>(), 1U);
  EXPECT_FALSE(ask(RequestKind::drill, number, 1101).ok) << "one at a time";
  restart(1102);
  const StartAttempt second = *last<StartAttempt>();
  ASSERT_EQ(second.name.attempt, 2U);
  EXPECT_EQ(second.checkpoint, "step-060");
  for (const sched::Slot& slot : second.slots) {
    for (const sched::Slot& before : first.slots) EXPECT_NE(slot.node, before.node);
  }
  report_parts(PartPhase::running, 0, 1110);
  EXPECT_EQ(job(number).drill->result, DrillResult::pending) << "running alone is no proof";
  write("step-070", 70, 1150);
  const Drill& drill = *job(number).drill;
  EXPECT_EQ(drill.result, DrillResult::passed);
  EXPECT_EQ(drill.step, 60);
  EXPECT_EQ(describe(drill, controller->state().machine()),
            "passed: attempt 2 restored step-060 (step 60) on n4, n5, n6, n7; attempt 1 had run on n0, n1, n2, n3");
  report_parts(PartPhase::exited, 0, 1200);
  EXPECT_NE(controller->state().find_ended(number)->drill.find("passed"), std::string::npos);
}

TEST_F(DrillTest, RunningLongEnoughIsAProof) {
  const JobNumber number = run(2);
  ask(RequestKind::drill, number, 1100);
  restart(1102);
  report_parts(PartPhase::running, 0, 1110);
  pass_time(1120, 1700);
  EXPECT_EQ(job(number).drill->result, DrillResult::pending);
  pass_time(1710, 1710);
  EXPECT_EQ(job(number).drill->result, DrillResult::passed);
}

TEST_F(DrillTest, IsRefusedBeforeAnythingIsStopped) {
  const JobNumber number = run(5);
  const Answer& answer = ask(RequestKind::drill, number, 1100);
  EXPECT_FALSE(answer.ok);
  EXPECT_NE(answer.text.find("too few free ones"), std::string::npos) << answer.text;
  EXPECT_EQ(job(number).state, JobState::running);
  EXPECT_FALSE(job(number).drill.has_value());
  EXPECT_EQ(count<StopAttempt>() + count<RequestCheckpoint>(), 0U);
}

TEST_F(DrillTest, NeedsACheckpoint) {
  const JobNumber number = submit(1, 1001);
  report_parts(PartPhase::running, 0, 1002);
  EXPECT_NE(ask(RequestKind::drill, number, 1003).text.find("writes no checkpoints"), std::string::npos);
}

TEST_F(DrillTest, FailsIfTheApplicationCannotRestore) {
  const JobNumber number = run(2);
  ask(RequestKind::drill, number, 1100);
  restart(1102);
  report_parts(PartPhase::exited, 1, 1120);
  const Drill& drill = *job(number).drill;
  EXPECT_EQ(drill.result, DrillResult::failed);
  EXPECT_NE(drill.text.find("attempt 2 failed after the restore of step-060"), std::string::npos) << drill.text;
}

TEST_F(DrillTest, FailsWithoutAnIntactCheckpoint) {
  const JobNumber number = run(2);
  ask(RequestKind::drill, number, 1100);
  write("step-060", 60, 1102);
  report_parts(PartPhase::exited, 143, 1105);
  verify("", 0, 1106);
  EXPECT_EQ(job(number).drill->result, DrillResult::failed);
  EXPECT_EQ(job(number).state, JobState::starting) << "the job continues from its beginning";
}

TEST_F(DrillTest, JobContinuesIfOtherNodesAreTaken) {
  const JobNumber number = run(4);
  ask(RequestKind::drill, number, 1100);
  Request other = request_of(4);
  other.spec.shape.priority = 5;
  submit(other, 1101);
  report_parts(PartPhase::running, 0, 1102);  // of the other job
  const JobNumber second = last<StartAttempt>()->name.job;
  ASSERT_NE(second, number);
  for (const Part& part : job(number).current->parts) {
    send(PartReport{{number, 1}, part.node, part.boot, PartPhase::exited, true, 143, "", at(1110)}, 1110);
    if (!job(number).current) break;
  }
  EXPECT_EQ(job(number).state, JobState::queued) << "only its own nodes are free";
  pass_time(1120, 2890);
  EXPECT_EQ(job(number).state, JobState::queued);
  pass_time(2900, 2910);
  EXPECT_EQ(job(number).drill->result, DrillResult::failed);
  EXPECT_EQ(job(number).state, JobState::placed) << "it may use its own nodes again";
}

TEST_F(DrillTest, SurvivesARestart) {
  const JobNumber number = run(4);
  ask(RequestKind::drill, number, 1100);
  const std::string text = controller->state().to_text();
  Result<ControlState> parsed = ControlState::parse(machine_of(8), text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->to_text(), text);
  controller = std::make_unique<Controller>(std::move(*parsed), ControllerOptions{});
  controller->begin(at(1101), step);
  const StartAttempt first = *last<StartAttempt>();
  for (std::uint32_t n = 0; n < 8; ++n) {
    send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::healthy, {}, at(1102)}, 1102);
  }
  Inventory inventory;
  for (std::uint32_t n = 0; n < 8; ++n) inventory.nodes.push_back({static_cast<sched::NodeId>(n), 100 + n, {}, term()});
  inventory.observed = at(1102);
  send(inventory, 1102);
  restart(1103);
  for (const sched::Slot& slot : last<StartAttempt>()->slots) {
    for (const sched::Slot& before : first.slots) EXPECT_NE(slot.node, before.node);
  }
  EXPECT_EQ(last<StartAttempt>()->name.attempt, 2U);
}

}  // namespace
}  // namespace weft::control
