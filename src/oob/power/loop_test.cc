#include "oob/power/loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "oob/bmc/fake_bmc.h"
#include "oob/power/watch.h"

namespace weft::oob {
namespace {

constexpr Duration seconds(std::int64_t n) { return milliseconds(n * 1'000); }

class PowerLoopTest : public testing::Test {
 protected:
  PowerOutcome run(PowerVerb verb, bool on, const FakeFaults& faults = {}, const PowerResume* resume = nullptr) {
    machine_ = std::make_shared<FakeMachine>("n1", clock_, on, faults);
    if (before_call_) machine_->before_call = before_call_;
    world_.connector.machines["n1"] = machine_;
    return run_power(world_.fleet, 0, verb, options_, "op", resume);
  }
  [[nodiscard]] std::vector<ResetAction> sent() const {
    std::vector<ResetAction> actions;
    for (const FakeReset& reset : machine_->resets()) actions.push_back(reset.action);
    return actions;
  }
  static bool shows(const PowerOutcome& outcome, EvidenceKind kind, std::string_view text = {}) {
    return std::any_of(outcome.evidence.begin(), outcome.evidence.end(), [&](const Evidence& item) {
      return item.kind == kind && item.text.find(text) != std::string::npos;
    });
  }
  [[nodiscard]] std::vector<JournalEntry> entries(Phase phase) const {
    std::vector<JournalEntry> found;
    const std::vector<JournalEntry> all = journal_.read().value();
    for (const JournalEntry& entry : all) {
      if (entry.phase == phase) found.push_back(entry);
    }
    return found;
  }

  ManualClock clock_;
  MemoryJournal journal_;
  FakeFleet world_{clock_, journal_, {fake_target("n1")}};
  PowerOptions options_;
  std::shared_ptr<FakeMachine> machine_;
  std::function<std::optional<Error>(const std::string&)> before_call_;
};

using Actions = std::vector<ResetAction>;

TEST_F(PowerLoopTest, OnIsJournaledSentAndVerified) {
  const PowerOutcome outcome = run(PowerVerb::on, false);
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_EQ(outcome.reason, "is on");
  EXPECT_TRUE(outcome.next.empty());
  EXPECT_EQ(sent(), Actions{ResetAction::on});
  EXPECT_TRUE(shows(outcome, EvidenceKind::state_seen, "off"));
  EXPECT_TRUE(shows(outcome, EvidenceKind::accepted, "On"));
  EXPECT_TRUE(shows(outcome, EvidenceKind::state_seen, "on"));
  const std::vector<JournalEntry> all = journal_.read().value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].phase, Phase::intent);
  EXPECT_EQ(all[0].verb, "power.on");
  EXPECT_EQ(all[0].device, "n1");
  EXPECT_EQ(all[0].detail.find("action")->text(), "On");
  EXPECT_EQ(all[0].detail.find("before")->find("state")->text(), "off");
  EXPECT_EQ(all[1].phase, Phase::seen);
  EXPECT_EQ(all[2].phase, Phase::outcome);
  EXPECT_EQ(all[2].detail.find("end")->text(), "done");
  EXPECT_EQ(machine_->sessions(), 0);
}

TEST_F(PowerLoopTest, ReachedStateIsNotChanged) {
  EXPECT_EQ(run(PowerVerb::on, true).reason, "was already on");
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(run(PowerVerb::off, false).reason, "was already off");
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(run(PowerVerb::soft, false).reason, "was already off");
  EXPECT_TRUE(sent().empty());
}

TEST_F(PowerLoopTest, EveryVerbOnAHealthyMachine) {
  EXPECT_EQ(run(PowerVerb::off, true).end, PowerEnd::done);
  EXPECT_EQ(sent(), Actions{ResetAction::force_off});
  EXPECT_FALSE(machine_->is_on());
  EXPECT_EQ(run(PowerVerb::soft, true).end, PowerEnd::done);
  EXPECT_EQ(sent().front(), ResetAction::graceful_shutdown);
  EXPECT_FALSE(machine_->is_on());
  const PowerOutcome cycle = run(PowerVerb::cycle, true);
  EXPECT_EQ(cycle.end, PowerEnd::done);
  EXPECT_EQ(sent(), Actions{ResetAction::power_cycle});
  EXPECT_TRUE(shows(cycle, EvidenceKind::boot_id_changed, "boot-1 to boot-2"));
  const PowerOutcome reset = run(PowerVerb::reset, true);
  EXPECT_EQ(reset.end, PowerEnd::done);
  EXPECT_EQ(sent(), Actions{ResetAction::force_restart});
  EXPECT_TRUE(shows(reset, EvidenceKind::boot_id_changed));
  EXPECT_EQ(machine_->losses(), 1);
}

TEST_F(PowerLoopTest, ProgressThatFallsBackIsEvidence) {
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.no_boot_id = true});
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_TRUE(shows(outcome, EvidenceKind::boot_progress, "OSRunning to MemoryInitializationStarted"));
}

TEST_F(PowerLoopTest, OffThenOnIsEvidence) {
  const PowerOutcome outcome = run(PowerVerb::cycle, true, {.no_boot_id = true, .no_boot_progress = true});
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_TRUE(shows(outcome, EvidenceKind::state_seen, "off"));
}

TEST_F(PowerLoopTest, RestartWithoutEvidenceIsUnknown) {
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.no_boot_id = true, .no_boot_progress = true});
  EXPECT_EQ(outcome.end, PowerEnd::unknown);
  EXPECT_NE(outcome.reason.find("reports nothing that shows a restart"), std::string::npos);
  EXPECT_FALSE(outcome.next.empty());
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(PowerLoopTest, ProbeIsEvidenceAndIsRequired) {
  options_.probe = [this](const std::string& host, Duration) {
    EXPECT_EQ(host, "n1");
    return machine_->host_boot_id();
  };
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.no_boot_id = true, .no_boot_progress = true});
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_TRUE(shows(outcome, EvidenceKind::probe, "host-boot-1 to host-boot-2"));
  EXPECT_GE(outcome.took, seconds(60));  // boot time of the OS
  // The BMC reports a boot that the host does not confirm.
  options_.probe = [](const std::string&, Duration) -> Result<std::string> { return std::string("same"); };
  EXPECT_EQ(run(PowerVerb::reset, true).end, PowerEnd::unknown);
  EXPECT_EQ(sent().size(), 1U);
  // A host that does not boot is not on.
  options_.probe = [](const std::string&, Duration) -> Result<std::string> {
    return Error{ErrorCode::unavailable, "no answer", "n1"};
  };
  const PowerOutcome on = run(PowerVerb::on, false);
  EXPECT_EQ(on.end, PowerEnd::unknown);
  EXPECT_EQ(on.reason, "its BMC reports on, but the host probe got no response");
}

TEST_F(PowerLoopTest, CycleAndResetOfAMachineThatIsOff) {
  for (const PowerVerb verb : {PowerVerb::cycle, PowerVerb::reset}) {
    const PowerOutcome outcome = run(verb, false);
    EXPECT_EQ(outcome.end, PowerEnd::not_done);
    EXPECT_EQ(outcome.reason, "is off");
    EXPECT_EQ(outcome.next, "use on");
    EXPECT_TRUE(sent().empty());
  }
}

TEST_F(PowerLoopTest, SilentAcceptIsProvenAndRepeated) {
  const PowerOutcome on = run(PowerVerb::on, false, {.silent_accepts = 2});
  EXPECT_EQ(on.end, PowerEnd::done);
  EXPECT_EQ(sent().size(), 3U);
  const PowerOutcome reset = run(PowerVerb::reset, true, {.silent_accepts = 1});
  EXPECT_EQ(reset.end, PowerEnd::done);
  EXPECT_TRUE(shows(reset, EvidenceKind::no_effect, "ForceRestart"));
  ASSERT_EQ(sent().size(), 2U);
  EXPECT_GE(machine_->resets()[1].at - machine_->resets()[0].at, options_.silent_window);
  EXPECT_EQ(machine_->losses(), 1);
  // A PowerCycle without effect is replaced by ForceOff and On.
  EXPECT_EQ(run(PowerVerb::cycle, true, {.silent_accepts = 1}).end, PowerEnd::done);
  EXPECT_EQ(sent(), (Actions{ResetAction::power_cycle, ResetAction::force_off, ResetAction::on}));
}

TEST_F(PowerLoopTest, SilentAcceptWithoutBootIdIsNeverRepeated) {
  for (const PowerVerb verb : {PowerVerb::cycle, PowerVerb::reset}) {
    EXPECT_EQ(run(verb, true, {.silent_accepts = -1, .no_boot_id = true}).end, PowerEnd::unknown);
    EXPECT_EQ(sent().size(), 1U);
  }
}

TEST_F(PowerLoopTest, PersistentSilentAcceptIsNotDone) {
  EXPECT_EQ(run(PowerVerb::on, false, {.silent_accepts = -1}).end, PowerEnd::not_done);
  EXPECT_EQ(run(PowerVerb::off, true, {.silent_accepts = -1}).end, PowerEnd::not_done);
  options_.deadline = seconds(3'600);
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.silent_accepts = -1});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_EQ(outcome.reason, "accepted, but without effect after 5 attempts");
  EXPECT_EQ(sent().size(), 5U);
}

TEST_F(PowerLoopTest, WrongResetIsReported) {
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.wrong_reset = true});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_EQ(outcome.reason, "the reset left it off");
  EXPECT_EQ(sent().size(), 1U);
  EXPECT_FALSE(machine_->is_on());
  options_.finish_on = true;
  EXPECT_EQ(run(PowerVerb::reset, true, {.wrong_reset = true}).end, PowerEnd::done);
  EXPECT_EQ(sent(), (Actions{ResetAction::force_restart, ResetAction::on}));
}

TEST_F(PowerLoopTest, CycleThatEndsAsOffIsPoweredOn) {
  const PowerOutcome outcome = run(PowerVerb::cycle, true, {.wrong_reset = true});
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_EQ(sent(), (Actions{ResetAction::power_cycle, ResetAction::on}));
  EXPECT_TRUE(machine_->is_on());
}

TEST_F(PowerLoopTest, UnsupportedPowerCycleIsOffHoldOn) {
  for (const bool hides : {false, true}) {
    const PowerOutcome outcome = run(PowerVerb::cycle, true, {.no_power_cycle = true, .hides_actions = hides});
    EXPECT_EQ(outcome.end, PowerEnd::done);
    EXPECT_EQ(outcome.reason, "was off and is on again");
    ASSERT_EQ(sent(), (Actions{ResetAction::force_off, ResetAction::on}));
    EXPECT_GE(machine_->resets()[1].at - machine_->resets()[0].at, options_.hold + seconds(1));
    EXPECT_FALSE(machine_->resets()[1].was_on);
  }
  EXPECT_EQ(run(PowerVerb::reset, true, {.no_force_restart = true}).next, "use cycle");
}

TEST_F(PowerLoopTest, SlowBmcIsPolledUntilItActs) {
  for (const PowerVerb verb : {PowerVerb::off, PowerVerb::cycle, PowerVerb::reset}) {
    EXPECT_EQ(run(verb, true, {.latency = seconds(8), .off_time = seconds(25), .reset_time = seconds(25)}).end,
              PowerEnd::done);
    EXPECT_LE(sent().size(), verb == PowerVerb::off ? 3U : 1U);  // only ForceOff may be retried
    EXPECT_EQ(machine_->losses(), 1);
  }
}

TEST_F(PowerLoopTest, SessionLimitsAndLostSessions) {
  EXPECT_EQ(run(PowerVerb::cycle, true, {.busy_dials = 5}).end, PowerEnd::done);
  const PowerOutcome lost = run(PowerVerb::cycle, true, {.session_requests = 4});
  EXPECT_EQ(lost.end, PowerEnd::done);
  EXPECT_TRUE(shows(lost, EvidenceKind::session));
  EXPECT_EQ(machine_->losses(), 1);
  const PowerOutcome full = run(PowerVerb::reset, true, {.busy_dials = -1});
  EXPECT_EQ(full.end, PowerEnd::not_done);
  EXPECT_NE(full.next.find("end the sessions"), std::string::npos);
  EXPECT_FALSE(full.reached);
}

TEST_F(PowerLoopTest, FlappingStateIsNotTrusted) {
  EXPECT_EQ(run(PowerVerb::on, false, {.flaps = 10}).end, PowerEnd::done);
  EXPECT_TRUE(machine_->is_on());
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.flaps = -1});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_EQ(outcome.reason, "its power state keeps changing");
  EXPECT_TRUE(sent().empty());
}

TEST_F(PowerLoopTest, DeadBmc) {
  const PowerOutcome outcome = run(PowerVerb::cycle, true, {.dead = true});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_FALSE(outcome.reached);
  EXPECT_NE(outcome.next.find("out-of-band network"), std::string::npos);
  EXPECT_GE(outcome.took, options_.deadline);
  EXPECT_LE(outcome.took, options_.deadline + seconds(1));
}

TEST_F(PowerLoopTest, RefusedLoginIsNotRetried) {
  int dials = 0;
  before_call_ = [&](const std::string& call) -> std::optional<Error> {
    if (call == "dial") ++dials;
    return std::nullopt;
  };
  const PowerOutcome outcome = run(PowerVerb::on, false, {.refuses_login = true});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_EQ(dials, 1);
  EXPECT_NE(outcome.next.find("credentials"), std::string::npos);
}

TEST_F(PowerLoopTest, WhatHasNoSystemIsGivenUpSoon) {
  before_call_ = [](const std::string& call) -> std::optional<Error> {
    if (call != "power") return std::nullopt;
    return Error{ErrorCode::not_found, "has no system", {}};
  };
  const PowerOutcome outcome = run(PowerVerb::cycle, true, {});
  EXPECT_EQ(outcome.end, PowerEnd::not_done);
  EXPECT_EQ(outcome.reason, "has no system");
  EXPECT_EQ(outcome.sends, 0);
  EXPECT_LT(outcome.took, options_.deadline / 4);
}

TEST_F(PowerLoopTest, ASystemThatIsMissingForAWhileIsWaitedFor) {
  int asked = 0;
  before_call_ = [&](const std::string& call) -> std::optional<Error> {
    if (call != "power" || ++asked < 4 || asked > 12) return std::nullopt;
    return Error{ErrorCode::not_found, "has no system", {}};
  };
  EXPECT_EQ(run(PowerVerb::cycle, true, {}).end, PowerEnd::done);
  EXPECT_GT(asked, 12);
}

TEST_F(PowerLoopTest, StuckMachines) {
  const PowerOutcome off = run(PowerVerb::on, false, {.stuck_off = true});
  EXPECT_EQ(off.end, PowerEnd::not_done);
  EXPECT_EQ(off.reason.substr(0, 12), "is still off");
  const PowerOutcome on = run(PowerVerb::off, true, {.stuck_on = true});
  EXPECT_EQ(on.end, PowerEnd::not_done);
  EXPECT_EQ(on.reason.substr(0, 11), "is still on");
  const PowerOutcome cycle = run(PowerVerb::cycle, true, {.stuck_off = true});
  EXPECT_EQ(cycle.end, PowerEnd::not_done);
  EXPECT_EQ(cycle.reason, "is off: it did not come back on");
  const Actions actions = sent();
  EXPECT_EQ(std::count(actions.begin(), actions.end(), ResetAction::power_cycle), 1);
}

TEST_F(PowerLoopTest, WrongStateIsDetectedOnlyByBootId) {
  // Always reports "on". The state cannot show a reset that ended as off, but no boot is seen either.
  const PowerOutcome outcome = run(PowerVerb::reset, true, {.wrong_reset = true, .lie = PowerState::on});
  EXPECT_NE(outcome.end, PowerEnd::done);
  const PowerOutcome off = run(PowerVerb::off, true, {.lie = PowerState::on});
  EXPECT_EQ(off.end, PowerEnd::not_done);
  const PowerOutcome unknown = run(PowerVerb::cycle, true, {.lie = PowerState::unknown});
  EXPECT_EQ(unknown.end, PowerEnd::not_done);
  EXPECT_TRUE(sent().empty());
}

TEST_F(PowerLoopTest, CommandIsNotResentAfterLostResponse) {
  for (const PowerVerb verb : {PowerVerb::cycle, PowerVerb::reset}) {
    const PowerOutcome outcome = run(verb, true, {.lost_answers = 1});
    EXPECT_EQ(outcome.end, PowerEnd::done);
    EXPECT_TRUE(shows(outcome, EvidenceKind::no_answer));
    EXPECT_EQ(sent().size(), 1U);
  }
}

TEST_F(PowerLoopTest, RejectedResetIsRetried) {
  const PowerOutcome outcome = run(PowerVerb::cycle, true, {.declined_resets = 2});
  EXPECT_EQ(outcome.end, PowerEnd::done);
  EXPECT_EQ(sent().size(), 3U);
  EXPECT_EQ(machine_->losses(), 1);
  const PowerOutcome never = run(PowerVerb::reset, true, {.declined_resets = -1});
  EXPECT_EQ(never.end, PowerEnd::not_done);
  EXPECT_NE(never.reason.find("not now"), std::string::npos);
}

TEST_F(PowerLoopTest, SoftAndForce) {
  const PowerOutcome hung = run(PowerVerb::soft, true, {.hung = true});
  EXPECT_EQ(hung.end, PowerEnd::not_done);
  EXPECT_NE(hung.next.find("--force"), std::string::npos);
  EXPECT_TRUE(machine_->is_on());
  EXPECT_EQ(run(PowerVerb::soft, true, {.no_graceful = true}).end, PowerEnd::not_done);
  options_.force = true;
  const PowerOutcome forced = run(PowerVerb::soft, true, {.hung = true});
  EXPECT_EQ(forced.end, PowerEnd::done);
  EXPECT_EQ(sent().back(), ResetAction::force_off);
  EXPECT_GE(machine_->resets().back().at - machine_->resets().front().at, options_.deadline / 3 * 2 - seconds(5));
  EXPECT_EQ(run(PowerVerb::soft, true, {.no_graceful = true}).end, PowerEnd::done);
}

TEST_F(PowerLoopTest, NothingIsSentWithoutJournalEntry) {
  class FullJournal final : public Journal {
   public:
    Status append(JournalEntry) override { return Error{ErrorCode::unavailable, "no space left", path_}; }
    Result<std::vector<JournalEntry>> read() const override { return std::vector<JournalEntry>{}; }
    const std::string& path() const override { return path_; }
    std::string head() const override { return {}; }

   private:
    std::string path_;
  };
  FullJournal full;
  FakeFleet world(clock_, full, {fake_target("n1")});
  for (const PowerVerb verb : {PowerVerb::off, PowerVerb::cycle, PowerVerb::reset}) {
    const PowerOutcome outcome = run_power(world.fleet, 0, verb, options_, "op");
    EXPECT_EQ(outcome.end, PowerEnd::not_done);
    EXPECT_NE(outcome.reason.find("no space left"), std::string::npos);
    EXPECT_FALSE(outcome.journalled);
  }
  EXPECT_TRUE(world.machine("n1").resets().empty());
}

TEST_F(PowerLoopTest, StopLeavesOperationOpen) {
  int looks = 0;
  before_call_ = [&](const std::string& call) -> std::optional<Error> {
    if (call == "power" && ++looks == 4) clock_.stop();
    return std::nullopt;
  };
  const PowerOutcome outcome = run(PowerVerb::cycle, true);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.end, PowerEnd::unknown);
  EXPECT_EQ(outcome.next, "resume the operation");
  EXPECT_TRUE(entries(Phase::outcome).empty());
  EXPECT_EQ(entries(Phase::seen).size(), 1U);
  EXPECT_EQ(machine_->sessions(), 0);
}

TEST_F(PowerLoopTest, ResumedCycleAndResetAreOnlyVerified) {
  const PowerBefore before{PowerState::on, "boot-0", "OSRunning", ""};
  const PowerBefore same{PowerState::on, "boot-1", "OSRunning", ""};
  for (const PowerVerb verb : {PowerVerb::cycle, PowerVerb::reset}) {
    const ResetAction action = verb == PowerVerb::cycle ? ResetAction::power_cycle : ResetAction::force_restart;
    const PowerResume changed{action, before};
    EXPECT_EQ(run(verb, true, {}, &changed).end, PowerEnd::done);
    EXPECT_TRUE(sent().empty());
    const PowerResume unchanged{action, same};
    const PowerOutcome outcome = run(verb, true, {}, &unchanged);
    EXPECT_EQ(outcome.end, PowerEnd::unknown);
    EXPECT_NE(outcome.next.find("run " + std::string(to_text(verb)) + " again"), std::string::npos);
    EXPECT_TRUE(sent().empty());
  }
  // Left off: a cycle is finished, a reset is reported.
  const PowerResume cycle{ResetAction::force_off, same};
  EXPECT_EQ(run(PowerVerb::cycle, false, {}, &cycle).end, PowerEnd::done);
  EXPECT_EQ(sent(), Actions{ResetAction::on});
  const PowerResume reset{ResetAction::force_restart, same};
  EXPECT_EQ(run(PowerVerb::reset, false, {}, &reset).end, PowerEnd::not_done);
  EXPECT_TRUE(sent().empty());
  // On was journaled, so off had been seen.
  const PowerResume last{ResetAction::on, {PowerState::off, "boot-1", "", ""}};
  EXPECT_EQ(run(PowerVerb::cycle, true, {}, &last).end, PowerEnd::done);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(run(PowerVerb::cycle, false, {}, &last).end, PowerEnd::done);
  EXPECT_EQ(sent(), Actions{ResetAction::on});
}

TEST_F(PowerLoopTest, IntentsAreReadFromTheJournal) {
  (void)run(PowerVerb::cycle, true);
  const std::optional<PowerResume> resume = resume_of(entries(Phase::intent).front());
  ASSERT_TRUE(resume.has_value());
  EXPECT_EQ(resume->action, ResetAction::power_cycle);
  EXPECT_EQ(resume->before.state, PowerState::on);
  EXPECT_EQ(resume->before.boot_id, "boot-1");
  EXPECT_EQ(resume->before.boot_progress, "OSRunning");
  JournalEntry other;
  other.phase = Phase::intent;
  other.verb = "rotate";
  EXPECT_FALSE(resume_of(other).has_value());
  other.verb = "power.cycle";
  EXPECT_FALSE(resume_of(other).has_value());
}

TEST(PowerProbe, RunsAProgram) {
  SystemClock clock;
  const auto probe = program_probe("/bin/echo boot-of-%h", clock);
  ASSERT_TRUE(probe.ok());
  EXPECT_EQ((*probe)("n1", seconds(5)).value_or(""), "boot-of-n1");
  EXPECT_FALSE(program_probe("", clock).ok());
  EXPECT_FALSE((*program_probe("/bin/false", clock))("n1", seconds(5)).ok());
}

TEST(PowerNames, Verbs) {
  for (int i = 0; i < kPowerVerbs; ++i) {
    const auto verb = static_cast<PowerVerb>(i);
    EXPECT_EQ(power_verb_named(to_text(verb)), verb);
    EXPECT_EQ(power_verb_of_journal(journal_verb(verb)), verb);
  }
  EXPECT_FALSE(power_verb_named("explode").has_value());
  EXPECT_FALSE(power_verb_of_journal("rescue.on").has_value());
  EXPECT_EQ(boot_progress_rank("None"), 0);
  EXPECT_LT(*boot_progress_rank("OSBootStarted"), *boot_progress_rank("OSRunning"));
  EXPECT_FALSE(boot_progress_rank("OEM").has_value());
}

}  // namespace
}  // namespace weft::oob
