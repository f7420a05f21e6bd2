#include "oob/power/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "oob/bmc/fake_bmc.h"
#include "oob/power/lock.h"
#include "oob/power/report.h"

namespace weft::oob {
namespace {

std::vector<Target> servers(std::uint32_t count) {
  std::vector<Target> targets;
  targets.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) targets.push_back(fake_target(fmt::format("train{:05}", i + 1)));
  return targets;
}

std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> targets(count);
  std::iota(targets.begin(), targets.end(), 0U);
  return targets;
}

PowerRequest request(PowerVerb verb, std::uint32_t count) {
  PowerRequest request;
  request.verb = verb;
  request.targets = first(count);
  request.reason = "test";
  return request;
}

// The same clock for the process after the stopped one.
class NextLife final : public Clock {
 public:
  explicit NextLife(Clock& time) : time_(time) {}
  Duration now() override { return time_.now(); }
  std::int64_t wall_ms() override { return time_.wall_ms(); }
  bool sleep(Duration time) override {
    (void)time_.sleep(time);
    return true;
  }
  bool stopped() const override { return false; }

 private:
  Clock& time_;
};

class PowerRunTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<JournalEntry> entries() const { return journal_.read().value(); }
  // An operation that died after these entries of its devices.
  void leave_open(PowerVerb verb, const std::string& hosts,
                  const std::vector<std::pair<std::string, ResetAction>>& intents, const PowerBefore& before = {}) {
    JournalEntry entry;
    entry.operation = "00000000000000aa";
    entry.verb = journal_verb(verb);
    entry.phase = Phase::begin;
    entry.detail = Value::map().set("hosts", hosts);
    ASSERT_TRUE(journal_.append(entry).ok());
    entry.phase = Phase::intent;
    for (const auto& [host, action] : intents) {
      entry.device = host;
      entry.detail =
          Value::map()
              .set("action", to_text(action))
              .set("before", Value::map().set("state", to_text(before.state)).set("boot_id", before.boot_id));
      ASSERT_TRUE(journal_.append(entry).ok());
    }
  }

  ManualClock clock_;
  MemoryJournal journal_;
  FakeFleet world_{clock_, journal_, servers(4)};
};

TEST_F(PowerRunTest, AnOperationFromBeginToEnd) {
  world_.machine("train00003").set_faults({.dead = true});
  const Result<PowerReport> report = run_operation(world_.fleet, request(PowerVerb::cycle, 4));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count(PowerEnd::done), 3U);
  EXPECT_EQ(report->count(PowerEnd::not_done), 1U);
  EXPECT_TRUE(report->ended);
  EXPECT_FALSE(report->all_done());
  EXPECT_FALSE(report->in_the_dark());
  const std::vector<JournalEntry> all = entries();
  EXPECT_EQ(all.front().phase, Phase::begin);
  EXPECT_EQ(all.front().detail.find("hosts")->text(), "train[00001-00004]");
  EXPECT_EQ(all.front().detail.find("reason")->text(), "test");
  EXPECT_EQ(all.back().phase, Phase::end);
  for (const JournalEntry& entry : all) EXPECT_EQ(entry.operation, report->operation);
  EXPECT_TRUE(open_power(world_.fleet.journal)->empty());
  const std::string shown = write(power_document(world_.inventory, *report, StatusRows::folded), {});
  for (const char* text : {"train[00001-00002,00004]", "has restarted", "boot id changed", "train00003", "no answer",
                           "PowerCycle accepted"})
    EXPECT_NE(shown.find(text), std::string::npos) << text << "\n" << shown;
}

TEST_F(PowerRunTest, StopLeavesItOpenAndResumeEndsIt) {
  world_.machine("train00002").before_call = [&](const std::string& call) -> std::optional<Error> {
    if (call == "reset") clock_.stop();
    return std::nullopt;
  };
  const Result<PowerReport> report = run_operation(world_.fleet, request(PowerVerb::cycle, 4));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->stopped);
  EXPECT_FALSE(report->ended);
  EXPECT_EQ(report->count(PowerEnd::done), 1U);
  EXPECT_EQ(report->devices[1].outcome.end, PowerEnd::unknown);
  EXPECT_EQ(report->devices[3].outcome.reason, "stopped by the operator before it was started");
  const std::vector<OpenPower> open = open_power(world_.fleet.journal).value();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].unsettled, (std::vector<std::string>{"train00002", "train00003", "train00004"}));
  EXPECT_NE(write(open_power_document(open), {}).find("train[00002-00004]"), std::string::npos);

  NextLife later(clock_);
  const Fleet again{world_.inventory, world_.connector, world_.credentials, later, journal_, 1};
  // Other operations must not change them, but powering on is always allowed.
  const Result<PowerReport> other = run_operation(again, request(PowerVerb::reset, 2));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::refused);
  EXPECT_NE(other.error().message.find("--resume " + report->operation), std::string::npos);
  EXPECT_TRUE(run_operation(again, request(PowerVerb::on, 2)).ok());
  EXPECT_TRUE(run_operation(again, request(PowerVerb::off, 1)).ok());  // train00001 is settled

  const Result<PowerReport> resumed = resume_operation(again, report->operation, {});
  ASSERT_TRUE(resumed.ok());
  EXPECT_TRUE(resumed->ended);
  ASSERT_EQ(resumed->devices.size(), 4U);
  EXPECT_TRUE(resumed->devices[0].earlier);
  EXPECT_TRUE(resumed->all_done());
  for (const char* name : {"train00001", "train00002", "train00003", "train00004"}) {
    int cycles = 0;
    for (const FakeReset& reset : world_.machine(name).resets())
      cycles += reset.action == ResetAction::power_cycle ? 1 : 0;
    EXPECT_EQ(cycles, 1) << name;
  }
  EXPECT_FALSE(resume_operation(again, report->operation, {}).ok());
}

TEST_F(PowerRunTest, PossiblySentStepsAreOnlyVerified) {
  leave_open(PowerVerb::reset, "train[00001-00003],gone1",
             {{"train00001", ResetAction::force_restart}, {"train00002", ResetAction::force_restart}},
             {PowerState::on, "boot-1", "", ""});
  world_.machine("train00002").set_faults({.no_boot_id = true});
  const Result<PowerReport> report = resume_operation(world_.fleet, "00000000000000aa", {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->devices[0].outcome.end, PowerEnd::unknown);
  EXPECT_EQ(report->devices[1].outcome.end, PowerEnd::unknown);
  EXPECT_EQ(report->devices[2].outcome.end, PowerEnd::done);
  EXPECT_TRUE(world_.machine("train00001").resets().empty());
  EXPECT_TRUE(world_.machine("train00002").resets().empty());
  EXPECT_EQ(world_.machine("train00003").resets().size(), 1U);
  EXPECT_EQ(report->missing, std::vector<std::string>{"gone1"});
  EXPECT_TRUE(report->ended);
}

TEST_F(PowerRunTest, IdempotentVerbsContinueOnResume) {
  leave_open(PowerVerb::off, "train[00001-00002]", {{"train00001", ResetAction::force_off}},
             {PowerState::on, "boot-1", "", ""});
  const Result<PowerReport> report = resume_operation(world_.fleet, "00000000000000aa", {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->all_done());
  EXPECT_FALSE(world_.machine("train00001").is_on());
}

TEST_F(PowerRunTest, AnOperationCanBeAbandoned) {
  leave_open(PowerVerb::cycle, "train[00001-00002]", {{"train00001", ResetAction::power_cycle}});
  const Result<PowerReport> report = abandon_operation(world_.fleet, "00000000000000aa", "no longer wanted");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->devices[0].outcome.end, PowerEnd::unknown);
  EXPECT_EQ(report->devices[1].outcome.end, PowerEnd::not_done);
  EXPECT_TRUE(open_power(world_.fleet.journal)->empty());
  EXPECT_TRUE(world_.machine("train00001").resets().empty());
  EXPECT_EQ(abandon_operation(world_.fleet, "00000000000000aa", "").error().code, ErrorCode::not_found);
}

TEST_F(PowerRunTest, HierarchyIsCheckedFirst) {
  std::vector<Target> targets = {fake_target("chassis1", Role::chassis), fake_target("n1"), fake_target("n2")};
  targets[1].parent = 0;
  FakeFleet world(clock_, journal_, std::move(targets), {}, false);
  PowerRequest on;
  on.targets = {1, 2};
  const Result<PowerReport> report = run_operation(world.fleet, on);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->devices[0].outcome.end, PowerEnd::not_done);
  EXPECT_EQ(report->devices[0].outcome.reason, "chassis1 is off");
  EXPECT_EQ(report->devices[1].outcome.end, PowerEnd::done);
  EXPECT_TRUE(world.machine("n1").resets().empty());
  EXPECT_TRUE(report->ended);
  on.targets = {0, 1};
  EXPECT_EQ(run_operation(world.fleet, on).error().code, ErrorCode::refused);
}

TEST_F(PowerRunTest, BudgetIncludesOtherRunningDevices) {
  // Ten servers of 10 kW on a feed that carries 80 kW; all are off. Without reading the others there is no headroom.
  std::vector<Target> targets = servers(10);
  for (Target& target : targets) {
    target.power = watts(10'000);
    target.feeds = {0};
  }
  FakeFleet world(clock_, journal_, std::move(targets), {{0, watts(80'000)}}, false);
  const Result<PowerReport> four = run_operation(world.fleet, request(PowerVerb::on, 4));
  ASSERT_TRUE(four.ok());
  EXPECT_TRUE(four->all_done());
  const Result<PowerReport> ten = run_operation(world.fleet, request(PowerVerb::on, 10));
  ASSERT_TRUE(ten.ok());
  EXPECT_EQ(ten->count(PowerEnd::done), 8U);
  EXPECT_EQ(ten->count(PowerEnd::not_done), 2U);
}

TEST_F(PowerRunTest, WaveWaitsForThePreviousOne) {
  std::vector<Target> targets = servers(4);
  for (Target& target : targets) target.feeds = {0};
  FakeFleet world(clock_, journal_, std::move(targets), {}, false);
  PowerRequest on = request(PowerVerb::on, 4);
  on.limits.starts = 2;
  std::vector<std::size_t> waves;
  on.progress = [&](const PowerProgress& progress) {
    EXPECT_EQ(progress.total, 4U);
    EXPECT_EQ(progress.waves, 2U);
    waves.push_back(progress.wave);
  };
  const Result<PowerReport> report = run_operation(world.fleet, on);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(waves, (std::vector<std::size_t>{1, 1, 2, 2}));
  const Duration before = world.machine("train00002").resets().at(0).at;
  EXPECT_GE(world.machine("train00003").resets().at(0).at - before, milliseconds(3'000));  // on after 1 s, settled 2 s
}

TEST_F(PowerRunTest, SixteenThousandMachines) {
  constexpr std::uint32_t kMachines = 16'384;
  std::vector<Target> targets = servers(kMachines);
  for (std::uint32_t i = 0; i < kMachines; ++i) targets[i].feeds = {static_cast<int>(i % 16)};
  FakeFleet world(clock_, journal_, std::move(targets), {}, false);
  for (std::uint32_t i = 0; i < kMachines; i += 1'000)
    world.machine(fmt::format("train{:05}", i + 1)).set_faults({.stuck_off = true});
  const Result<PowerReport> report = run_operation(world.fleet, request(PowerVerb::on, kMachines));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count(PowerEnd::done), kMachines - 17);
  EXPECT_EQ(report->count(PowerEnd::not_done), 17U);
  EXPECT_EQ(report->waves, 16U);  // 16,384 / 16 feeds / 64 starts
  EXPECT_TRUE(report->ended);
  EXPECT_EQ(sweep_status(world.fleet, first(kMachines)).answered, kMachines);
}

TEST(PowerRunConcurrent, ManyAtATime) {
  SystemClock clock;
  MemoryJournal journal;
  FakeFleet world(clock, journal, servers(200));
  for (auto& [name, machine] : world.connector.machines) {
    machine->set_faults({.on_time = milliseconds(5),
                         .off_time = milliseconds(5),
                         .reset_time = milliseconds(5),
                         .cycle_gap = milliseconds(20)});
  }
  world.fleet.width = 32;
  PowerRequest cycle = request(PowerVerb::cycle, 200);
  cycle.options.look_first = milliseconds(2);
  cycle.limits.settle = milliseconds(1);
  const Result<PowerReport> report = run_operation(world.fleet, cycle);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->all_done());
  EXPECT_EQ(report->threads, 32);
  for (auto& [name, machine] : world.connector.machines) {
    EXPECT_EQ(machine->losses(), 1);
    EXPECT_EQ(machine->sessions(), 0);
  }
}

TEST(PowerLock, OneHolderAtATimeAndReleasedAfterIt) {
  const std::string path = fmt::format("{}weft_power_lock_{}", testing::TempDir(), ::getpid());
  {
    Result<FileLock> one = FileLock::take(path, false);
    ASSERT_TRUE(one.ok());
    EXPECT_TRUE(one->held());
    EXPECT_EQ(FileLock::take(path, false).error().code, ErrorCode::conflict);
    const FileLock moved = std::move(one).value();
    EXPECT_EQ(FileLock::take(path, false).error().code, ErrorCode::conflict);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::take(path, true).ok());
  EXPECT_EQ(FileLock::take("/nowhere/at/all", false).error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weft::oob
