#include "serve/daemon/lease_options.h"

#include <gtest/gtest.h>

#include "model/load.h"

namespace weft::serve {
namespace {

using lease::LeaseOwner;

class LeaseOptionsTest : public ::testing::Test {
 protected:
  LeaseOptionsTest() : machine_(*sched::Machine::of(*loaded_->cluster)) {
    settings_.engines = {LeaseOwner::slurm, LeaseOwner::kubernetes};
  }
  [[nodiscard]] std::string why_no_owners() const {
    const auto owners = parse_first_owners(settings_, machine_);
    return owners.ok() ? std::string() : owners.error().message;
  }
  [[nodiscard]] std::string why_no_schedule() const {
    const auto schedule = parse_schedule(settings_, machine_);
    return schedule.ok() ? std::string() : schedule.error().message;
  }

  std::unique_ptr<model::Loaded> loaded_ = model::load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: lab\npools:\n  - {name: train, role: training, server: hgx-h100, count: 4, per_rack: 1}\n");
  sched::Machine machine_;
  LeaseSettings settings_;
};

TEST_F(LeaseOptionsTest, FirstOwners) {
  EXPECT_EQ(parse_first_owners(settings_, machine_)->at(0), LeaseOwner::none);
  settings_.first_owners = {"kubernetes:train[002-003]", "slurm:train004"};
  const auto owners = parse_first_owners(settings_, machine_);
  ASSERT_TRUE(owners.ok()) << owners.error().text();
  EXPECT_EQ(*owners, (std::vector<LeaseOwner>{LeaseOwner::none, LeaseOwner::kubernetes, LeaseOwner::kubernetes,
                                              LeaseOwner::slurm}));
  settings_.first_owners = {"kubernetes:train"};
  EXPECT_EQ(parse_first_owners(settings_, machine_)->at(3), LeaseOwner::kubernetes) << "a pool";
  settings_.first_owners = {"kubernetes:train", "slurm:train001"};
  EXPECT_EQ(why_no_owners(), "--first-owner: train001 has two owners");
  settings_.first_owners = {"weft:train"};
  EXPECT_EQ(why_no_owners(), "--first-owner: `weft` is not an engine of this server");
  settings_.first_owners = {"slurm"};
  EXPECT_EQ(why_no_owners(), "--first-owner: `slurm` names no pool or node");
  settings_.first_owners = {"slurm:gpu7"};
  EXPECT_EQ(why_no_owners(), "--first-owner: the cluster has no pool or node `gpu7`");
}

TEST_F(LeaseOptionsTest, Schedule) {
  settings_.schedule = {"20:00=slurm:train", "08:30=kubernetes:train"};
  settings_.preempt = true;
  const auto schedule = parse_schedule(settings_, machine_);
  ASSERT_TRUE(schedule.ok()) << schedule.error().text();
  ASSERT_EQ(schedule->size(), 2U);
  EXPECT_EQ((*schedule)[0].minute, 1200U);
  EXPECT_EQ((*schedule)[1].minute, 510U);
  EXPECT_EQ((*schedule)[1].engine, LeaseOwner::kubernetes);
  EXPECT_EQ((*schedule)[1].nodes.size(), 4U);
  EXPECT_TRUE((*schedule)[1].preempt);
  for (const char* bad : {"", "=", "8:00=slurm:train", "24:00=slurm:train", "12:60=slurm:train", "12:00",
                          "ab:cd=slurm:train", "+1:00=slurm:train", "12:00slurm:train"}) {
    settings_.schedule = {bad};
    EXPECT_NE(why_no_schedule(), "") << bad;
  }
  settings_.schedule = {"20:00=slurm:train"};
  EXPECT_EQ(why_no_schedule(), "--move-at: train001 has a time for one engine only and would never return");
  settings_.schedule = {"20:00=slurm:train", "20:00=kubernetes:train002"};
  EXPECT_EQ(why_no_schedule(), "--move-at: train002 has two engines at 20:00");
}

}  // namespace
}  // namespace weft::serve
