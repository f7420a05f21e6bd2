#include "world/slurm/slurm_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/slurm/slurm_test_support.h"

namespace weft::world {
namespace {

using control::Inventory;
using control::ReplyKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(SlurmWorldTest, SubmitsHeldComparesAndReleases) {
  open();
  ASSERT_EQ(find<Inventory>().size(), 1U);
  EXPECT_EQ(find<Inventory>()[0].nodes.size(), 4U);
  EXPECT_EQ(find<Inventory>()[0].nodes[0].term, term_);
  world_->send(command({2, 0}), now_);
  turn(5);
  ASSERT_EQ(slurm_->submissions.size(), 1U);
  const SlurmSubmission& job = slurm_->submissions[0];
  EXPECT_THAT(job.nodes, ElementsAre("n2", "n0"));
  EXPECT_TRUE(job.exclusive);
  EXPECT_EQ(job.gpus_per_node, 8U);
  EXPECT_EQ(job.minutes, 600);
  EXPECT_THAT(job.comment, HasSubstr(":1.1:1"));
  EXPECT_THAT(job.script, HasSubstr("n2\nn0\n"));
  EXPECT_THAT(job.script, HasSubstr("'MASTER_ADDR=10.0.0.2'"));
  ASSERT_TRUE(reply_to(1));
  EXPECT_EQ(reply_to(1)->kind, ReplyKind::accepted);
  EXPECT_EQ(parts(PartPhase::running).size(), 2U);
  slurm_->end(100, SlurmState::completed, 0);
  turn(3);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_TRUE(parts(PartPhase::exited)[0].sealed);
  EXPECT_EQ(parts(PartPhase::exited)[0].code, 0);
}

TEST_F(SlurmWorldTest, JobsOfOneListAreReleasedAtOnce) {
  open();
  for (std::uint32_t node = 0; node < 4; ++node) {
    control::StartAttempt start = command({node});
    start.name.job = node + 1;
    world_->send(start, now_);
  }
  turn(6);
  EXPECT_EQ(slurm_->release_calls, 1);
  EXPECT_EQ(parts(PartPhase::running).size(), 4U);
  for (control::OperationId operation = 1; operation <= 4; ++operation)
    EXPECT_EQ(reply_to(operation)->kind, ReplyKind::accepted);
}

TEST_F(SlurmWorldTest, AJobThatDiffersFromTheCommandIsNotReleased) {
  open();
  slurm_->wrong_count = true;
  world_->send(command({0, 1}), now_);
  turn(5);
  EXPECT_EQ(slurm_->releases, 0);
  EXPECT_EQ(reply_to(1)->kind, ReplyKind::permanent);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::canceled);
}

// Once one was listed as it was submitted, the others do not wait for a list. They are compared all the same.
TEST_F(SlurmWorldTest, LaterJobsAreReleasedBeforeTheyAreListed) {
  open();
  world_->send(command({0}), now_);
  turn(5);
  ASSERT_EQ(slurm_->releases, 1);
  const int lists = slurm_->lists;
  control::StartAttempt second = command({1});
  second.name.job = 2;
  world_->send(second, now_);
  turn(1);
  EXPECT_EQ(slurm_->releases, 2);
  EXPECT_LE(slurm_->lists, lists + 1);
  slurm_->wrong_nodes = "n3";
  control::StartAttempt third = command({2});
  third.name.job = 3;
  world_->send(third, now_);
  turn(5);
  EXPECT_EQ(slurm_->jobs[2].state, SlurmState::canceled);
  control::StartAttempt fourth = command({2});
  fourth.name.job = 4;
  world_->send(fourth, now_);
  turn(5);
  EXPECT_EQ(slurm_->releases, 3) << "compared before its release again";
  EXPECT_EQ(slurm_->jobs[3].state, SlurmState::canceled);
}

TEST_F(SlurmWorldTest, RefusalsOfSlurm) {
  open();
  slurm_->submit_error = Error{ErrorCode::unavailable, "connect failure", {}};
  world_->send(command({0}), now_);
  turn(3);
  EXPECT_EQ(reply_to(1)->kind, ReplyKind::transient);
  slurm_->submit_error = Error{ErrorCode::invalid_input, "Invalid partition", {}};
  world_->send(command({0}), now_);
  turn(3);
  EXPECT_EQ(reply_to(2)->kind, ReplyKind::permanent);
  world_->send(command({0}), now_);
  turn(5);
  EXPECT_EQ(reply_to(3)->kind, ReplyKind::accepted);
}

TEST_F(SlurmWorldTest, CommandsThatCannotBeRunAreRefused) {
  open();
  control::StartAttempt old_boot = command({0});
  old_boot.boots[0] += 1;
  world_->send(old_boot, now_);
  control::StartAttempt old_term = command({0});
  old_term.term = 0;
  world_->send(old_term, now_);
  control::StartAttempt uneven = command({0, 0, 1});
  world_->send(uneven, now_);
  control::StartAttempt shared = command({0});
  auto spec = std::make_shared<control::JobSpec>(*shared.spec);
  spec->shape.task.gpus = 1;
  spec->shape.task.gpu_milli = 500;
  shared.spec = spec;
  world_->send(shared, now_);
  turn(3);
  for (control::OperationId operation = 1; operation <= 4; ++operation) {
    ASSERT_TRUE(reply_to(operation)) << operation;
    EXPECT_EQ(reply_to(operation)->kind, ReplyKind::permanent) << operation;
  }
  EXPECT_TRUE(slurm_->submissions.empty());
}

// sbatch timed out, but the job is there: it is found by its comment.
TEST_F(SlurmWorldTest, AnAmbiguousSubmissionIsFoundByItsComment) {
  open();
  slurm_->submit_error = Error{ErrorCode::timeout, "deadline", {}};
  slurm_->submit_has_effect = true;
  world_->send(command({0, 1}), now_);
  turn(5);
  EXPECT_EQ(reply_to(1)->kind, ReplyKind::ambiguous);
  EXPECT_EQ(parts(PartPhase::running).size(), 2U);
  EXPECT_EQ(slurm_->submissions.size(), 1U);
}

// It arrives after the attempt was stopped and reported: it is held, and never runs.
TEST_F(SlurmWorldTest, ALateSubmissionNeverRuns) {
  open();
  slurm_->submit_error = Error{ErrorCode::timeout, "deadline", {}};
  slurm_->submit_has_effect = slurm_->submit_is_late = true;
  world_->send(command({0, 1}), now_);
  turn(3);
  world_->send(stop({0, 1}), now_);
  turn(4);
  ASSERT_EQ(parts(PartPhase::absent).size(), 2U);
  EXPECT_TRUE(parts(PartPhase::absent)[0].sealed);
  slurm_->deliver_late();
  turn(8);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::canceled);
  EXPECT_TRUE(slurm_->runs.empty());
}

// It may have been executed: the job is canceled, and never released a second time.
TEST_F(SlurmWorldTest, AnAmbiguousReleaseIsNotRepeated) {
  open();
  slurm_->lost_releases = 1;
  world_->send(command({0}), now_);
  turn(8);
  EXPECT_EQ(reply_to(1)->kind, ReplyKind::ambiguous);
  EXPECT_EQ(slurm_->releases, 1);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::canceled);
  EXPECT_TRUE(parts(PartPhase::exited).empty()) << "it may have run";
  turn(40);
  EXPECT_EQ(parts(PartPhase::exited).size(), 1U);
}

// slurmctld was killed and came back with a state from before the release, while the job ran.
TEST_F(SlurmWorldTest, AnOlderStateOfSlurmctldDoesNotStartAJobAgain) {
  open();
  start_running();
  slurm_->jobs[0].state = SlurmState::pending;
  slurm_->jobs[0].held = true;
  slurm_->jobs[0].nodes.clear();
  for (SlurmNode& node : slurm_->nodes) node.flags = {"NOT_RESPONDING"};
  turn(5);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::canceled);
  for (SlurmNode& node : slurm_->nodes) node.flags.clear();
  turn(20);
  EXPECT_TRUE(parts(PartPhase::exited).empty());
  turn(20);
  ASSERT_EQ(parts(PartPhase::exited).size(), 2U);
  EXPECT_LT(parts(PartPhase::exited)[0].code, 0);
  EXPECT_EQ(slurm_->runs.begin()->second, 1);
}

TEST_F(SlurmWorldTest, ARestartCancelsHeldJobsAndFindsRunningOnes) {
  open();
  start_running();
  control::StartAttempt second = command({1}, 2);
  auto spec = std::make_shared<control::JobSpec>(*second.spec);
  spec->shape.tenant = "other";  // whose jobs were not compared yet
  second.spec = spec;
  world_->send(second, now_);
  world_->poll(now_, events_);  // submitted, not released
  ASSERT_EQ(slurm_->jobs.size(), 2U);
  ASSERT_TRUE(slurm_->jobs[1].held);
  events_.clear();
  open();
  EXPECT_EQ(slurm_->jobs[1].state, SlurmState::canceled);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::running);
  turn(6);
  EXPECT_EQ(parts(PartPhase::running).size(), 2U);
  const std::vector<Inventory> inventories = find<Inventory>();
  ASSERT_FALSE(inventories.empty());
  bool listed = false;
  for (const Inventory& inventory : inventories) {
    for (const control::NodeInventory& node : inventory.nodes) {
      if (node.node == sched::NodeId{1}) listed = true;
      if (node.node == sched::NodeId{2}) {
        EXPECT_THAT(node.running, ElementsAre(control::AttemptName{1, 1}));
      }
    }
  }
  EXPECT_TRUE(listed) << "once the held job is gone";
  ASSERT_EQ(parts(PartPhase::absent).size(), 1U);  // attempt 2
  EXPECT_LT(parts(PartPhase::absent)[0].code, 0);
}

// Until the held job is gone, nothing is said about its node.
TEST_F(SlurmWorldTest, AHeldJobOfAnotherProcessBlocksTheInventoryOfItsNode) {
  open();
  events_.clear();
  SlurmJob job;
  job.id = 77;
  job.submitted = 1;
  job.state = SlurmState::pending;
  job.held = true;
  std::ifstream instance(options_.state + "/instance");
  std::string id;
  instance >> id;
  job.comment = "weft:lab-" + id + ":9.1:5";
  job.required_nodes = "n3";
  slurm_->jobs.push_back(job);
  world_->send(control::QueryInventory{term_}, now_);
  turn(1);
  ASSERT_EQ(find<Inventory>().size(), 1U);
  EXPECT_EQ(find<Inventory>()[0].nodes.size(), 3U);
  turn(5);
  EXPECT_EQ(find<Inventory>().back().nodes.size(), 4U);
  EXPECT_TRUE(slurm_->runs.empty());
}

TEST_F(SlurmWorldTest, AReusedIdIsAnotherJob) {
  open();
  start_running();
  slurm_->jobs[0].submitted += 1000;  // Slurm reused the id for a job that is not ours
  slurm_->jobs[0].comment = "someone else's";
  turn(3);
  EXPECT_TRUE(parts(PartPhase::exited).empty());
  world_->send(stop({0, 2}), now_);
  turn(40);
  EXPECT_EQ(slurm_->cancels, 0);
  EXPECT_EQ(parts(PartPhase::absent).size(), 2U);
}

TEST_F(SlurmWorldTest, ADuplicateOfARunningAttemptIsCanceled) {
  open();
  start_running();
  SlurmJob copy = slurm_->jobs[0];
  copy.id = 200;
  copy.submitted += 1;
  slurm_->jobs.push_back(copy);
  turn(4);
  EXPECT_EQ(slurm_->jobs[1].state, SlurmState::canceled);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::running);
}

TEST_F(SlurmWorldTest, ARequeuedJobDoesNotRunAgain) {
  open();
  start_running();
  slurm_->jobs[0].state = SlurmState::pending;
  slurm_->jobs[0].restarts = 1;
  turn(4);
  EXPECT_EQ(slurm_->jobs[0].state, SlurmState::canceled);
}

}  // namespace
}  // namespace weft::world
