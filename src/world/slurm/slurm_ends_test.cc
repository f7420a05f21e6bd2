// Ends, outages and stops in engine slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "world/slurm/slurm_test_support.h"

namespace weft::world {
namespace {

using control::Inventory;
using control::ReplyKind;
using ::testing::HasSubstr;

TEST_F(SlurmWorldTest, FailuresAreNotEmptyLists) {
  open();
  start_running();
  slurm_->down = true;
  world_->send(control::QueryInventory{term_}, now_);
  turn(5);
  EXPECT_TRUE(events_.empty());
  EXPECT_THAT(log_, HasSubstr("Slurm does not answer"));
  slurm_->down = false;
  slurm_->nodes_down = true;
  turn(5);
  EXPECT_TRUE(find<Inventory>().empty());
  slurm_->nodes_down = false;
  turn(2);
  EXPECT_EQ(find<Inventory>().size(), 1U);
  EXPECT_THAT(log_, HasSubstr("Slurm answers again"));
}

// slurmctld lost its state: every job is gone. The engine reports what it sees and concludes nothing.
TEST_F(SlurmWorldTest, MassDisappearanceEndsNothing) {
  open();
  start_running();
  slurm_->jobs.clear();
  world_->send(control::QueryInventory{term_}, now_);
  turn(10);
  EXPECT_TRUE(find<PartReport>().empty());
  ASSERT_FALSE(find<Inventory>().empty());
  EXPECT_TRUE(find<Inventory>()[0].nodes[0].running.empty());
}

TEST_F(SlurmWorldTest, AnAdministratorCancels) {
  open();
  start_running();
  slurm_->end(100, SlurmState::canceled, 15);
  turn(4);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_EQ(parts(PartPhase::exited)[0].code, 143);
  EXPECT_THAT(parts(PartPhase::exited)[0].text, HasSubstr("not by weft"));
}

TEST_F(SlurmWorldTest, EndsOfJobs) {
  const auto code = [](SlurmState state, std::int32_t status, const std::string& reason = "NonZeroExitCode") {
    SlurmJob job;
    job.state = state;
    job.exit_status = status;
    job.reason = reason;
    return describe_end(job, {}, false).code;
  };
  EXPECT_EQ(code(SlurmState::completed, 0), 0);
  EXPECT_EQ(code(SlurmState::failed, 3 << 8), 3);
  EXPECT_EQ(code(SlurmState::failed, 9), 137);
  EXPECT_EQ(code(SlurmState::failed, 4021, "JobLaunchFailure"), kNotTheProgram);
  EXPECT_EQ(code(SlurmState::out_of_memory, 0), 137);
  for (const SlurmState state :
       {SlurmState::timeout, SlurmState::node_fail, SlurmState::preempted, SlurmState::boot_fail}) {
    EXPECT_EQ(code(state, 0), kNotTheProgram);
  }
  EXPECT_EQ(code(SlurmState::deadline, 0), 143);
  SlurmJob failed;
  failed.state = SlurmState::failed;
  failed.reason = "NonZeroExitCode";
  failed.exit_status = 143 << 8;
  const EndRecord record = parse_srun_log(
      "srun: x\nsrun: error: n2: task 2: Killed\nsrun: error: n0: tasks 1,3: Exited "
      "with exit code 143\n");
  EXPECT_EQ(describe_end(failed, record, false).code, 137);
  EXPECT_EQ(describe_end(failed, record, false).text, "rank 2 on n2: killed by signal 9");
  EXPECT_EQ(parse_srun_log("srun: error: n0: tasks 0-1: Exited with exit code 7").code, 7);
  const EndRecord own = parse_srun_log(
      "weft: rank 3 on n1: apptainer is not installed\nsrun: error: n1: task 3: Exited with exit code 71\n");
  EXPECT_EQ(own.code, 71);
  EXPECT_EQ(own.text, "rank 3 on n1: apptainer is not installed");
  EXPECT_FALSE(parse_srun_log("srun: error: : task: \nsrun: error: x").code);
}

TEST_F(SlurmWorldTest, ANodeThatDoesNotAnswerProvesNothing) {
  open();
  start_running();
  slurm_->at("n0").flags = {"NOT_RESPONDING"};
  slurm_->at("n0").state = "down";
  slurm_->end(100, SlurmState::node_fail, 0);
  turn(10);
  ASSERT_EQ(parts(PartPhase::exited).size(), 1U);
  EXPECT_EQ(parts(PartPhase::exited)[0].node, sched::NodeId{2});
  EXPECT_EQ(parts(PartPhase::exited)[0].code, kNotTheProgram);
  world_->send(stop({0}), now_);
  turn(10);
  EXPECT_EQ(parts(PartPhase::exited).size(), 1U);
  slurm_->at("n0").flags = {"COMPLETING"};
  slurm_->at("n0").state = "idle";
  slurm_->at("n0").slurmd_start += 100;
  turn(10);
  EXPECT_EQ(parts(PartPhase::exited).size(), 1U);
  slurm_->at("n0").flags.clear();
  turn(4);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_EQ(parts(PartPhase::exited)[1].node, sched::NodeId{0});
  EXPECT_EQ(boot(0), boots_[0]) << "slurmd was restarted, the node was not";
}

TEST_F(SlurmWorldTest, CompletingIsNotEnded) {
  open();
  start_running();
  slurm_->end(100, SlurmState::completing, 15);
  turn(10);
  EXPECT_TRUE(parts(PartPhase::exited).empty());
  slurm_->end(100, SlurmState::failed, 9);
  turn(4);
  EXPECT_EQ(parts(PartPhase::exited).size(), 2U);
}

// slurmctld lists a completing job with the nodes that have not finished only.
TEST_F(SlurmWorldTest, CompletingOnSomeOfItsNodesIsNotMisplaced) {
  open();
  start_running();
  slurm_->find(100)->nodes = "n2";
  slurm_->end(100, SlurmState::completing, 15);
  turn(10);
  EXPECT_EQ(slurm_->cancels, 0);
  EXPECT_TRUE(parts(PartPhase::exited).empty());
  slurm_->end(100, SlurmState::canceled, 15);
  turn(4);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_EQ(parts(PartPhase::exited)[0].code, 143);
}

// Other jobs of the node are completing: nothing of this one is left there.
TEST_F(SlurmWorldTest, AnEndIsReportedByTheListThatShowsIt) {
  open();
  start_running();
  slurm_->at("n0").flags = {"COMPLETING"};
  slurm_->end(100, SlurmState::completed, 0);
  const int lists = slurm_->lists;
  while (slurm_->lists == lists) turn();
  slurm_->down = true;  // no other list says it
  turn();               // its files were read
  EXPECT_EQ(parts(PartPhase::exited).size(), 2U);
}

TEST_F(SlurmWorldTest, AfterAnOutageOfItsNodeAnEndWaits) {
  open();
  start_running();
  slurm_->at("n0").flags = {"NOT_RESPONDING"};
  turn(4);
  slurm_->at("n0").flags = {"COMPLETING"};
  turn(4);
  slurm_->end(100, SlurmState::completed, 0);
  turn(10);
  ASSERT_EQ(parts(PartPhase::exited).size(), 1U);
  EXPECT_EQ(parts(PartPhase::exited)[0].node, sched::NodeId{2});
  slurm_->at("n0").flags.clear();
  turn(4);
  EXPECT_EQ(parts(PartPhase::exited).size(), 2U);
}

TEST_F(SlurmWorldTest, BootsAreToldFromRestartsAndClocks) {
  open();
  turn(12);
  const control::BootId first = boot(0);
  slurm_->at("n0").slurmd_start += 50;  // slurmd restarted; its boot time is off by a second
  slurm_->at("n0").boot_time += 1;
  turn(12);
  EXPECT_EQ(boot(0), first);
  slurm_->at("n0").boot_time += 3600;  // the clock was set
  turn(12);
  EXPECT_EQ(boot(0), first);
  slurm_->at("n0").slurmd_start += 50;
  turn(12);
  EXPECT_EQ(boot(0), first);
  slurm_->at("n0").slurmd_start += 5000;
  slurm_->at("n0").boot_time += 4000;
  turn(12);
  const control::BootId second = boot(0);
  EXPECT_NE(second, first);
  events_.clear();
  open();
  EXPECT_EQ(boot(0), second);
}

TEST_F(SlurmWorldTest, StopsWithNoticeThenSigtermThenCancel) {
  open();
  start_running();
  slurm_->obeys_sigterm = false;
  control::StopAttempt command = stop({0, 2});
  command.grace = sched::seconds(20);
  command.checkpoint = true;
  world_->send(command, now_);
  turn(4);
  ASSERT_EQ(slurm_->signals.size(), 1U);
  EXPECT_EQ(slurm_->signals[0].second, 10);
  turn(10);
  ASSERT_EQ(slurm_->signals.size(), 2U);
  EXPECT_EQ(slurm_->signals[1].second, 15);
  EXPECT_EQ(slurm_->cancels, 0);
  turn(12);
  EXPECT_EQ(slurm_->cancels, 1);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_EQ(parts(PartPhase::exited)[0].text, "stopped");
}

TEST_F(SlurmWorldTest, AStoppedAttemptIsNotStartedAgain) {
  open();
  world_->send(stop({0}), now_);
  world_->send(command({0}), now_);
  turn(5);
  EXPECT_EQ(reply_to(2)->kind, ReplyKind::permanent);
  EXPECT_TRUE(slurm_->submissions.empty());
  EXPECT_EQ(parts(PartPhase::absent).size(), 1U);
}

// Slurm forgot the job while weft did not run; the batch script left its exit status.
TEST_F(SlurmWorldTest, AnEndThatSlurmForgot) {
  open();
  start_running();
  std::ofstream(options_.state + "/ends/1.1") << "0\n";
  slurm_->jobs.clear();
  events_.clear();
  open();
  turn(4);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_EQ(parts(PartPhase::exited)[0].code, 0);
}

TEST_F(SlurmWorldTest, DrainsOfOthersAreLeftAlone) {
  open();
  slurm_->at("n1").flags = {"DRAIN"};
  slurm_->at("n1").reason = "broken fan";
  slurm_->at("n1").reason_user = "alice";
  world_->send(control::CordonNode{++operation_, 7, sched::NodeId{1}, true}, now_);
  world_->send(control::CordonNode{++operation_, 7, sched::NodeId{1}, false}, now_);
  turn(3);
  EXPECT_EQ(slurm_->node_writes, 0);
  EXPECT_EQ(find<control::CordonReport>().back().owner, "Slurm: broken fan, by alice");
  world_->send(control::CordonNode{++operation_, 8, sched::NodeId{0}, true}, now_);
  turn(2);
  EXPECT_THAT(slurm_->at("n0").reason, HasSubstr("weft:8:lab-"));
  bool seen = false;
  for (const auto& report : find<control::CordonReport>()) seen = seen || report.owner == "weft:8";
  EXPECT_TRUE(seen);
  world_->send(control::CordonNode{++operation_, 9, sched::NodeId{0}, false}, now_);  // of another session
  turn(2);
  EXPECT_TRUE(slurm_->at("n0").is_drained());
  world_->send(control::CordonNode{++operation_, 8, sched::NodeId{0}, false}, now_);
  turn(2);
  EXPECT_FALSE(slurm_->at("n0").is_drained());
}

TEST_F(SlurmWorldTest, RefusesToStartWithoutItsNodes) {
  options_.nodes[3].name = "n9";
  Result<std::unique_ptr<SlurmWorld>> world = SlurmWorld::open(options_, slurm_);
  ASSERT_FALSE(world.ok());
  EXPECT_THAT(world.error().text(), HasSubstr("Slurm has no node n9"));
  options_.nodes[3].name = "n3";
  slurm_->at("n3").gpus = 4;
  world = SlurmWorld::open(options_, slurm_);
  ASSERT_FALSE(world.ok());
  EXPECT_THAT(world.error().text(), HasSubstr("n3 has 4 GPUs in Slurm (gres) and 8 in the cluster file"));
  slurm_->at("n3").gpus = 8;
  options_.partition = "other";
  world = SlurmWorld::open(options_, slurm_);
  ASSERT_FALSE(world.ok());
}

TEST_F(SlurmWorldTest, ListsAreRareWhenNothingHappens) {
  open();
  turn(60);
  const int before = slurm_->lists;
  turn(60);
  EXPECT_LE(slurm_->lists - before, 13);
}

// The controller is not delayed by a call that hangs, and the engine can be closed meanwhile.
TEST_F(SlurmWorldTest, ConcurrentHungCall) {
  options_.threads = true;
  slurm_->hung = true;
  Result<std::unique_ptr<SlurmWorld>> world = SlurmWorld::open(options_, slurm_);
  ASSERT_TRUE(world.ok()) << world.error().text();
  world_ = std::move(world).value();
  world_->send(control::QueryInventory{1}, now_);
  turn(100);
  EXPECT_TRUE(events_.empty());
  world_.reset();
}

TEST_F(SlurmWorldTest, ConcurrentLifeOfAJob) {
  options_.threads = true;
  open();
  const auto wait = [&](const auto& condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      turn();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  };
  ASSERT_TRUE(wait([&] { return !find<Inventory>().empty() && boot(0) != 0 && boot(1) != 0; }));
  boots_[0] = boot(0);
  boots_[1] = boot(1);
  world_->send(command({0, 1}), now_);
  ASSERT_TRUE(wait([&] { return parts(PartPhase::running).size() == 2; }));
  world_->send(stop({0, 1}), now_);
  ASSERT_TRUE(wait([&] { return parts(PartPhase::exited).size() == 2; }));
}

}  // namespace
}  // namespace weft::world
