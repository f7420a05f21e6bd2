#include "world/slurm/slurm_leases.h"

#include <gtest/gtest.h>

#include "world/slurm/fake_slurm.h"

namespace weft::world {
namespace {

using sched::NodeId;

class SlurmLeasesTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeSlurm> slurm_ = std::make_shared<FakeSlurm>(3);
  SlurmLeases leases_{{"n0", "n1", "missing"}, slurm_};

  void add_job(const std::string& id, const std::string& nodes, ObservedPhase phase) {
    ObservedJob job;
    job.id = id;
    job.user = "bob";
    job.nodes = nodes;
    job.phase = phase;
    slurm_->observed.push_back(job);
  }
};

TEST_F(SlurmLeasesTest, JobsOfEverybodyAreOnTheirNodes) {
  add_job("7", "n[0-2]", ObservedPhase::running);
  add_job("8", "n0", ObservedPhase::unknown);
  add_job("9", "n0", ObservedPhase::ended);
  add_job("10", "", ObservedPhase::waiting);
  const Result<std::vector<control::NodeUse>> uses = leases_.list();
  ASSERT_TRUE(uses.ok()) << uses.error().text();
  ASSERT_EQ(uses->size(), 2U) << "a node that Slurm does not list is not known to be free";
  EXPECT_EQ((*uses)[0].jobs, 2U);
  EXPECT_EQ((*uses)[0].text, "job 7 of bob");
  EXPECT_EQ((*uses)[1].jobs, 1U);
}

TEST_F(SlurmLeasesTest, AListThatIsNotCompleteIsAnError) {
  add_job("7", "n[0-", ObservedPhase::running);
  EXPECT_FALSE(leases_.list().ok());
  slurm_->observed.clear();
  slurm_->down = true;
  EXPECT_FALSE(leases_.list().ok());
}

TEST_F(SlurmLeasesTest, TheMarkIsADrainWithTheReasonOfTheLease) {
  ASSERT_TRUE(leases_.mark(NodeId{0}, true).ok());
  EXPECT_EQ(slurm_->at("n0").reason, "weft lease: not leased to slurm");
  EXPECT_TRUE((*leases_.list())[0].cordoned);
  ASSERT_TRUE(leases_.mark(NodeId{0}, true).ok());
  EXPECT_EQ(slurm_->node_writes, 1) << "it is there";
  ASSERT_TRUE(leases_.mark(NodeId{0}, false).ok());
  EXPECT_FALSE(slurm_->at("n0").is_drained());
  EXPECT_FALSE((*leases_.list())[0].cordoned);
  EXPECT_FALSE(leases_.mark(NodeId{2}, true).ok()) << "Slurm does not list it";
}

TEST_F(SlurmLeasesTest, ADrainOfSomebodyElseStays) {
  ASSERT_TRUE(slurm_->drain("n0", "bad DIMM").ok());
  EXPECT_FALSE((*leases_.list())[0].cordoned) << "not by a lease";
  ASSERT_TRUE(leases_.mark(NodeId{0}, true).ok());
  EXPECT_EQ(slurm_->at("n0").reason, "bad DIMM");
  EXPECT_TRUE((*leases_.list())[0].cordoned) << "nothing new starts there";
  ASSERT_TRUE(leases_.mark(NodeId{0}, false).ok());
  EXPECT_EQ(slurm_->at("n0").reason, "bad DIMM");
  EXPECT_TRUE(slurm_->at("n0").is_drained());
  EXPECT_FALSE((*leases_.list())[0].cordoned);
}

}  // namespace
}  // namespace weft::world
