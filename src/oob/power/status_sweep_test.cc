#include "oob/power/status_sweep.h"

#include <gtest/gtest.h>

#include "oob/bmc/fake_bmc.h"
#include "oob/power/status_report.h"

namespace weft::oob {
namespace {

std::vector<std::uint32_t> all_of(const Inventory& inventory) {
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < inventory.targets().size(); ++i) targets.push_back(i);
  return targets;
}

TEST(StatusSweep, StatesCausesAndFigures) {
  ManualClock clock;
  MemoryJournal journal;
  std::vector<Target> targets;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) targets.push_back(fake_target(name));
  targets.push_back(fake_target("sw1", Role::network_switch));
  targets.back().endpoint.protocol = Protocol::none;
  FakeFleet world(clock, journal, std::move(targets));
  world.machine("n2").set_faults({.dead = true, .latency = milliseconds(100)});
  world.machine("n3").set_faults({.refuses_login = true});
  world.machine("n4").set_faults({.busy_dials = 1, .latency = milliseconds(50)});
  world.connector.machines["n5"] = std::make_shared<FakeMachine>("n5", clock, false);
  const StatusReport report = sweep_status(world.fleet, all_of(world.inventory), {.identity = true});
  EXPECT_EQ(report.answered, 3U);
  EXPECT_EQ(report.silent, 2U);
  EXPECT_EQ(report.devices[0].power.state, PowerState::on);
  EXPECT_EQ(report.devices[0].identity->model, "Fake");
  EXPECT_EQ(report.devices[1].attempts, 2);
  EXPECT_EQ(report.devices[1].spent, milliseconds(200));
  EXPECT_EQ(report.devices[2].attempts, 1);  // a wrong password is not retried
  EXPECT_EQ(report.devices[3].attempts, 2);
  EXPECT_EQ(report.devices[3].latency, milliseconds(150));  // login, read, identity
  EXPECT_FALSE(report.devices[5].asked);
  EXPECT_EQ(report.half, Duration(0));
  EXPECT_EQ(report.worst, milliseconds(150));
  EXPECT_EQ(report.threads, 1);
  EXPECT_EQ(report.model, milliseconds(400));  // 2 * 100 + 50 + 150
  const std::string shown = write(status_document(world.inventory, report, StatusRows::folded), {});
  for (const char* text : {"on", "n[1,4]", "off", "n5", "no answer", "user or password refused", "has no BMC", "sw1"})
    EXPECT_NE(shown.find(text), std::string::npos) << text << "\n" << shown;
  const std::string rows =
      write(status_document(world.inventory, report, StatusRows::each_device), {.format = OutputFormat::ndjson});
  EXPECT_NE(rows.find("\"host\":\"n2\""), std::string::npos) << rows;
  EXPECT_NE(rows.find("\"state\":\"unreachable\""), std::string::npos) << rows;
  for (const char* name : {"n1", "n4", "n5"}) EXPECT_EQ(world.machine(name).sessions(), 0);
}

TEST(StatusSweep, DevicesInOffChassisAreOff) {
  ManualClock clock;
  MemoryJournal journal;
  std::vector<Target> targets = {fake_target("chassis1", Role::chassis), fake_target("n1"), fake_target("n2")};
  targets[1].parent = targets[2].parent = 0;
  FakeFleet world(clock, journal, std::move(targets));
  world.connector.machines["chassis1"] = std::make_shared<FakeMachine>("chassis1", clock, false);
  world.machine("n1").set_faults({.dead = true});
  world.machine("n2").set_faults({.lie = PowerState::on});
  const StatusReport report = sweep_status(world.fleet, std::vector<std::uint32_t>{1});
  EXPECT_EQ(report.devices[0].state(), PowerState::off);
  EXPECT_EQ(report.silent, 0U);
  const StatusReport both = sweep_status(world.fleet, all_of(world.inventory));
  EXPECT_EQ(both.devices[2].state(), PowerState::off);  // regardless of its report
  const std::string shown = write(status_document(world.inventory, both, StatusRows::folded), {});
  EXPECT_NE(shown.find("chassis1 is off"), std::string::npos) << shown;
}

TEST(StatusSweep, EmptyAndStoppedSweeps) {
  ManualClock clock;
  MemoryJournal journal;
  FakeFleet world(clock, journal, {fake_target("n1")});
  EXPECT_TRUE(sweep_status(world.fleet, {}).devices.empty());
  clock.stop();
  const StatusReport report = sweep_status(world.fleet, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.answered, 0U);
}

TEST(StatusSweepConcurrent, DurationIsAtLeastTheModel) {
  SystemClock clock;
  MemoryJournal journal;
  std::vector<Target> targets;
  for (int i = 0; i < 200; ++i) targets.push_back(fake_target("n" + std::to_string(i)));
  FakeFleet world(clock, journal, std::move(targets));
  for (auto& [name, machine] : world.connector.machines) machine->set_faults({.latency = milliseconds(10)});
  world.fleet.width = 50;
  const StatusReport report = sweep_status(world.fleet, all_of(world.inventory));
  EXPECT_EQ(report.answered, 200U);
  EXPECT_EQ(report.threads, 50);
  // 200 devices, a login and a read of 10 ms each, 50 at a time: 80 ms by N * L / F. Never less; a busy machine takes
  // more.
  EXPECT_GE(report.model, milliseconds(80));
  EXPECT_GE(report.took, milliseconds(80));
}

}  // namespace
}  // namespace weft::oob
