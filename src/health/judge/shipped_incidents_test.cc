// What the rules that weft ships make of the incidents that are frequent or costly.
#include <gtest/gtest.h>

#include "health/judge/monitor.h"

namespace weft::health {
namespace {

using sched::Moment;
using sched::seconds;
using Plan = std::vector<Action>;

constexpr std::int64_t kHour = 3600;

Moment at(std::int64_t second) { return Moment(1'700'000'000'000'000'000) + seconds(second); }

class ShippedIncidents : public ::testing::Test {
 protected:
  ShippedIncidents() { wait(0); }
  void wait(std::int64_t until) {
    monitor.heard(0, SignalSource::kernel, at(until));
    monitor.advance(at(until));
    now = until;
  }
  void event(const std::string& name, std::vector<SignalDetail> details = {}) {
    Signal signal;
    signal.name = name;
    signal.part = "GPU 1";
    signal.at = at(now);
    signal.details = std::move(details);
    signal.source = SignalSource::kernel;
    monitor.note(0, signal, at(now));
    wait(now + 1);
  }
  void sample(const std::string& name, std::initializer_list<double> values) {
    for (const double value : values) {
      Signal signal;
      signal.name = name;
      signal.part = "GPU 1";
      signal.at = at(now);
      signal.value = value;
      signal.source = SignalSource::kernel;
      monitor.note(0, signal, at(now));
      wait(now + 30);
    }
  }
  void end_burst() { wait(now + 300); }
  const NodeHealth& health() { return monitor.health(0); }

  Monitor monitor{std::make_shared<Rules>(default_rules()), {"a"}};
  std::int64_t now = 0;
};

TEST_F(ShippedIncidents, NoiseIsNoIncident) {
  for (int i = 0; i < 1'000; ++i) {
    for (const char* name : {"xid:13", "xid:31", "xid:43", "xid:45", "xid:68", "xid:92"}) event(name);
  }
  end_burst();
  EXPECT_EQ(health().state, HealthState::healthy);
  EXPECT_EQ(health().score, 100);
  EXPECT_EQ(monitor.open_incident(0), nullptr);
  EXPECT_TRUE(monitor.closed().empty());
}

TEST_F(ShippedIncidents, ContainedMemoryErrorsKeepTheNode) {
  event("xid:48");
  event("xid:94");
  event("xid:63");
  event("xid:45");
  end_burst();
  EXPECT_EQ(health().state, HealthState::healthy);
  EXPECT_EQ(health().score, 70);
  monitor.repaired(0, Repair::gpu_reset, "GPU 1", at(now));
  end_burst();
  EXPECT_EQ(health().score, 100);
}

TEST_F(ShippedIncidents, UnexplainedMemoryErrorsNeedAReset) {
  event("xid:48");
  event("xid:171");
  event("xid:63");
  end_burst();
  EXPECT_EQ(health().state, HealthState::degraded);
  EXPECT_EQ(health().plan, (Plan{Action::reset_gpu, Action::replace_part}));
}

TEST_F(ShippedIncidents, UncontainedMemoryErrorsAreFatal) {
  event("xid:48");
  event("xid:95");
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan.front(), Action::reset_gpu);
}

TEST_F(ShippedIncidents, AFaultThatReturnsGoesUpTheLadder) {
  const std::vector<Action> first{Action::reset_gpu, Action::reboot, Action::power_cycle, Action::replace_part};
  for (const Action expected : first) {
    event("xid:119");
    ASSERT_EQ(health().state, HealthState::fatal);
    EXPECT_EQ(health().plan.front(), expected);
    end_burst();
    monitor.repaired(0, Repair::boot, "", at(now));
    wait(now + 2 * kHour);
  }
}

TEST_F(ShippedIncidents, FiveFatalFindingsWithinADayAreForPeople) {
  for (const char* name : {"xid:119", "xid:62", "xid:79", "xid:46", "xid:95"}) {
    EXPECT_NE(health().plan, Plan{Action::ask_people});
    event(name);
    end_burst();
    monitor.repaired(0, Repair::boot, "", at(now));
    wait(now + 2 * kHour);
  }
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan, Plan{Action::ask_people});
}

TEST_F(ShippedIncidents, TheDriverDecides) {
  sample("dcgm:recovery_action", {0, 2});
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_TRUE(health().driver_decides);
  EXPECT_EQ(health().plan.front(), Action::reboot);
  sample("dcgm:recovery_action", {0});
  EXPECT_EQ(health().state, HealthState::healthy);
  event("xid:154", {{"action", "1"}});
  EXPECT_EQ(health().plan.front(), Action::reset_gpu);
}

TEST_F(ShippedIncidents, OnlyTheHardwareBrakeIsPower) {
  sample("dcgm:clock_reasons", {4, 4, 4, 4, 32, 36, 4});
  EXPECT_EQ(health().score, 100);
  sample("dcgm:clock_reasons", {128 + 4, 4, 128});
  EXPECT_EQ(health().score, 100);
  sample("dcgm:clock_reasons", {128});
  EXPECT_EQ(health().score, 80);
  EXPECT_EQ(health().state, HealthState::healthy);
  sample("dcgm:clock_reasons", {128});
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan, Plan{Action::ask_people});
}

TEST_F(ShippedIncidents, HeatTakesTheNodeOutAndGivesItBack) {
  sample("dcgm:temp_margin", {20, 4, 4, 4, 4});
  EXPECT_EQ(health().state, HealthState::healthy);
  sample("dcgm:temp_margin", {0, 0, 0});
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_TRUE(health().by_score);
  sample("dcgm:temp_margin", {9, 9, 9});
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(ShippedIncidents, ALinkThatWasLostOnceLeavesRunningWorkAlone) {
  sample("ib:link_downed", {7, 7, 8});
  EXPECT_EQ(health().state, HealthState::degraded);
  for (int i = 0; i < 125; ++i) sample("ib:link_downed", {8});
  EXPECT_EQ(health().state, HealthState::healthy);
  sample("ib:link_downed", {9, 10});
  EXPECT_EQ(health().state, HealthState::fatal);
}

TEST_F(ShippedIncidents, ABondThatRepeatsItsPortIsNoFlap) {
  event("link:down");
  event("link:down", {{"bond", "bond0"}});
  event("link:up");
  end_burst();
  EXPECT_EQ(health().state, HealthState::healthy);
  event("link:down");
  event("link:down", {{"bond", "bond0"}});
  wait(now + 60);
  event("link:down");
  EXPECT_EQ(health().state, HealthState::degraded);
}

TEST_F(ShippedIncidents, AbsentPartsOfAHealthyMachineAreNoIncident) {
  for (int i = 0; i < 37; ++i) event("sel:drive_absent");
  end_burst();
  EXPECT_EQ(health().score, 100);
  EXPECT_EQ(monitor.open_incident(0), nullptr);
}

TEST_F(ShippedIncidents, ALeakIsForPeople) {
  event("sel:leak");
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan, Plan{Action::ask_people});
  end_burst();
  monitor.repaired(0, Repair::boot, "", at(now));
  wait(now + kHour);
  EXPECT_EQ(health().state, HealthState::fatal);
}

TEST_F(ShippedIncidents, TheBrakeOfTheBaseboardIsThatOfDcgm) {
  sample("hgx:power_brake_flag", {1, 1});
  EXPECT_EQ(health().score, 80);
  sample("hgx:power_brake_flag", {1});
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan, Plan{Action::ask_people});
}

}  // namespace
}  // namespace weft::health
