#include "oob/rescue/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "oob/rescue/fake.h"

namespace weft::oob {
namespace {

using testing::HasSubstr;

constexpr const char* kTor = "be-train-u001-leaf3";

std::function<RescueRunAnswer(const std::vector<std::string>&)> prints(const std::string& text) {
  return [text](const std::vector<std::string>&) { return RescueRunAnswer{0, text, {}}; };
}

// Initial state of the fake cluster for each shipped runbook.
void set_scene(RescueBench& bench, const std::string& book) {
  FakeRescueActions& hands = *bench.hands;
  hands.programs["squeue"] = prints("101\n102\n");
  hands.programs["sacct"] = prints("101\n102\n");
  // As Slurm 22.05 prints it; the exit code is not significant.
  hands.programs["scontrol"] = [&hands](const std::vector<std::string>& words) {
    if (words[1] != "ping") return RescueRunAnswer{};
    const bool up = hands.system_answers("infra001");
    return RescueRunAnswer{up ? 0 : 1, fmt::format("Slurmctld(primary) at infra001 is {}\n", up ? "UP" : "DOWN"), {}};
  };
  if (book == "pfc-storm") {
    bench.host(kTor).hung = true;
    bench.host("infra001").hung = true;
  } else if (book == "scheduler-dead") {
    bench.host("infra001").hung = true;
  } else if (book == "tor-boot-loop") {
    bench.host(kTor).loops = true;
    bench.host(kTor).config = "bad";
  } else if (book == "bad-config-push") {
    for (const char* name : {"be-spine001", "be-spine002", "be-spine003"}) bench.host(name).config = "bad";
  } else if (book == "cold-start") {
    for (auto& [name, host] : hands.world) {
      const bool dark = name.find("pdu") == std::string::npos && name.find("oob-") != 0;
      if (dark) host.state = PowerState::off;
    }
  }
}

std::map<std::string, std::string> settings_of(const std::string& book) {
  if (book == "pfc-storm" || book == "tor-boot-loop") return {{"tor", kTor}};
  if (book == "bad-config-push") return {{"switches", "be-spine[001-003]"}};
  return {};
}

RescueTerms all_confirmed() {
  RescueTerms terms;
  terms.confirmed = {};
  terms.ask = [](const RescueStep&) { return true; };
  return terms;
}

// Actions that may happen only once: cycles, resets and configs.
void expect_nothing_twice(const RescueBench& bench, const std::string& where) {
  for (const auto& [name, host] : bench.hands->world) {
    EXPECT_LE(host.boots, 1) << name << " " << where;
    EXPECT_LE(host.installs, 1) << name << " " << where;
  }
}

class Shipped : public testing::TestWithParam<const char*> {};

TEST_P(Shipped, RunsToItsEnd) {
  RescueBench bench;
  set_scene(bench, GetParam());
  bench.plan_shipped(GetParam(), settings_of(GetParam()));
  EXPECT_FALSE(bench.plan.refused());
  const Result<RescueReport> report = bench.run(all_confirmed());
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(report->end, RescueEnd::done) << write(rescue_report_document(*report), {});
  for (const RescueStepReport& step : report->steps)
    EXPECT_TRUE(step.outcome == RescueOutcome::done || step.outcome == RescueOutcome::skipped) << step.id;
  expect_nothing_twice(bench, "in one go");
  EXPECT_EQ(bench.journal.entries.front().phase, Phase::begin);
  EXPECT_EQ(bench.journal.entries.back().phase, Phase::end);
}

// Killed at every journal write and side effect, resumed, and killed once more on the way.
TEST_P(Shipped, SurvivesDeathAtEveryPoint) {
  for (const bool blind : {false, true}) {
    int points = 0;
    int waited = 0;
    for (int at = 0;; ++at) {
      RescueBench bench;
      set_scene(bench, GetParam());
      bench.hands->blind = blind;
      bench.plan_shipped(GetParam(), settings_of(GetParam()));
      bench.kill.at = at;
      bool died = false;
      try {
        (void)bench.run(all_confirmed());
      } catch (const Killed&) {
        died = true;
      }
      if (!died) break;
      ++points;
      const std::string where = "killed at " + std::to_string(at) + (blind ? " blind" : "");
      if (bench.journal.entries.empty()) continue;  // it never began
      bench.kill.at = bench.kill.passed + 1 + at % 7;
      try {
        (void)bench.resume(all_confirmed());
      } catch (const Killed&) {
      }
      bench.kill.at = -1;
      expect_nothing_twice(bench, where);
      const std::optional<RescueRecord> record = read_rescue(bench.journal.entries, RescueBench::kId);
      if (record->ended) continue;
      const Result<RescueReport> report = bench.resume(all_confirmed());
      ASSERT_TRUE(report.ok()) << report.error().text() << " " << where;
      expect_nothing_twice(bench, where);
      waited += report->end == RescueEnd::waiting ? 1 : 0;
      if (!blind) {
        EXPECT_EQ(report->end, RescueEnd::done) << where << write(rescue_report_document(*report), {});
      }
      // A finished step has no intent after its outcome.
      std::set<std::string> over;
      for (const JournalEntry& entry : bench.journal.entries) {
        const Value* step = entry.detail.find("step");
        if (step == nullptr) continue;
        if (entry.phase == Phase::intent) {
          EXPECT_FALSE(over.contains(step->text())) << step->text() << " " << where;
        }
        if (entry.phase == Phase::outcome) over.insert(step->text());
      }
    }
    EXPECT_GT(points, 30);
    if (!blind) {
      EXPECT_EQ(waited, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rescue, Shipped,
                         testing::Values("pfc-storm", "scheduler-dead", "tor-boot-loop", "bad-config-push",
                                         "cold-start"));

TEST(RescueRun, SkipsASchedulerThatResponds) {
  RescueBench bench;
  set_scene(bench, "pfc-storm");
  bench.host("infra001").hung = false;
  bench.plan_shipped("pfc-storm", settings_of("pfc-storm"));
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.outcome(*report, "scheduler"), RescueOutcome::skipped);
  EXPECT_EQ(bench.host("infra001").boots, 0);
  EXPECT_EQ(bench.host(kTor).boots, 1);
}

TEST(RescueRun, StopsBeforeDangerousStepsIfTheNetworkIsDown) {
  RescueBench bench;
  set_scene(bench, "pfc-storm");
  for (auto& [name, host] : bench.hands->world) {
    if (name.starts_with("train")) host.answers = false;  // 16 of 61
  }
  bench.plan_shipped("pfc-storm", settings_of("pfc-storm"));
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::failed);
  EXPECT_EQ(bench.outcome(*report, "reach"), RescueOutcome::failed);
  EXPECT_EQ(bench.outcome(*report, "cycle"), RescueOutcome::none);
  EXPECT_EQ(bench.host(kTor).boots, 0);
}

TEST(RescueRun, RollsBackASwitchThatStaysOff) {
  RescueBench bench;
  set_scene(bench, "pfc-storm");
  bench.host(kTor).stuck = true;
  bench.plan_shipped("pfc-storm", settings_of("pfc-storm"));
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::failed);
  EXPECT_EQ(bench.host(kTor).boots, 1);
  EXPECT_EQ(bench.host(kTor).ons, 1);  // the rollback was tried, and failed as well
  EXPECT_EQ(bench.outcome(*report, "cycle"), RescueOutcome::back_failed);
  EXPECT_THAT(report->person, testing::Contains(HasSubstr("manually")));
  EXPECT_EQ(bench.journal.entries.back().phase, Phase::end);
}

TEST(RescueRun, LeavesALoopingSwitchOffAndDrains) {
  RescueBench bench;
  set_scene(bench, "tor-boot-loop");
  bench.hands->refuses_config = {kTor};  // its boot loop continues
  bench.plan_shipped("tor-boot-loop", settings_of("tor-boot-loop"));
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::failed);
  EXPECT_EQ(bench.outcome(*report, "restore"), RescueOutcome::failed);  // continues with the power step
  EXPECT_EQ(bench.outcome(*report, "boots"), RescueOutcome::backed);
  EXPECT_EQ(bench.host(kTor).state, PowerState::off);
  EXPECT_EQ(bench.hands->runs["scontrol"], 1);
  EXPECT_EQ(bench.hands->last_words[2], "NodeName=train[001-016]");
  EXPECT_THAT(report->person, testing::Contains(HasSubstr("replace be-train-u001-leaf3")));
}

TEST(RescueRun, RollbackContinuesAfterACrash) {
  int resumed = 0;
  for (int at = 0;; ++at) {
    RescueBench bench;
    set_scene(bench, "tor-boot-loop");
    bench.hands->refuses_config = {kTor};
    bench.plan_shipped("tor-boot-loop", settings_of("tor-boot-loop"));
    bench.kill.at = at;
    bool died = false;
    try {
      (void)bench.run();
    } catch (const Killed&) {
      died = true;
    }
    if (!died) break;
    if (bench.journal.entries.empty()) continue;
    bench.kill.at = -1;
    const std::optional<RescueRecord> record = read_rescue(bench.journal.entries, RescueBench::kId);
    if (!record->ended) {
      const Result<RescueReport> report = bench.resume();
      ASSERT_TRUE(report.ok()) << report.error().text();
      EXPECT_EQ(report->end, RescueEnd::failed) << at;
      EXPECT_EQ(bench.outcome(*report, "boots"), RescueOutcome::backed) << at;
      ++resumed;
    }
    EXPECT_EQ(bench.host(kTor).state, PowerState::off) << at;
    EXPECT_LE(bench.host(kTor).installs, 2) << at;  // repeated only if the switch was shown not to have it
  }
  EXPECT_GT(resumed, 5);
}

TEST(RescueRun, CanaryIsRolledBackAndOthersAreNotChanged) {
  RescueBench bench;
  set_scene(bench, "bad-config-push");
  bench.hands->refuses_config = {"be-spine001"};
  bench.plan_shipped("bad-config-push", settings_of("bad-config-push"));
  const Result<RescueReport> report = bench.run(all_confirmed());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::failed);
  EXPECT_EQ(bench.outcome(*report, "canary"), RescueOutcome::backed);
  EXPECT_EQ(bench.hands->installs, (std::vector<std::string>{"be-spine001", "be-spine001"}));
  EXPECT_EQ(bench.host("be-spine002").config, "bad");
}

TEST(RescueRun, OrderOfRestoreIsCanaryThenOneByOne) {
  RescueBench bench;
  set_scene(bench, "bad-config-push");
  bench.plan_shipped("bad-config-push", {{"switches", "be-spine[001-003]"}, {"canary", "be-spine002"}});
  ASSERT_TRUE(bench.run(all_confirmed()).ok());
  EXPECT_EQ(bench.hands->installs, (std::vector<std::string>{"be-spine002", "be-spine001", "be-spine003"}));
}

TEST(RescueRun, WaitsForTheOperatorAndContinues) {
  RescueBench bench;
  set_scene(bench, "bad-config-push");
  bench.plan_shipped("bad-config-push", settings_of("bad-config-push"));
  Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::waiting);
  EXPECT_THAT(report->person, testing::Contains(HasSubstr("--confirm go")));
  EXPECT_EQ(bench.host("be-spine002").config, "bad");
  EXPECT_EQ(open_rescues(bench.journal.entries, "bad-config-push").size(), 1U);
  RescueTerms terms;
  terms.confirmed = {"go"};
  report = bench.resume(terms);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.host("be-spine001").installs, 1);
  EXPECT_EQ(bench.host("be-spine003").config, "good");
  EXPECT_TRUE(open_rescues(bench.journal.entries, {}).empty());
  report = bench.resume(terms);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::refused);
}

TEST(RescueRun, WithoutAccountingTheJobCheckIsSkipped) {
  RescueBench bench;
  set_scene(bench, "scheduler-dead");
  bench.hands->programs["sacct"] = [](const std::vector<std::string>&) { return RescueRunAnswer{1, {}, "disabled"}; };
  bench.plan_shipped("scheduler-dead");
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.outcome(*report, "jobs-before"), RescueOutcome::skipped);
  EXPECT_EQ(bench.outcome(*report, "kept"), RescueOutcome::skipped);
  EXPECT_EQ(bench.host("infra001").boots, 1);
}

TEST(RescueRun, LostJobsNeedTheOperator) {
  RescueBench bench;
  set_scene(bench, "scheduler-dead");
  bench.hands->programs["squeue"] = prints("101\n");
  bench.plan_shipped("scheduler-dead");
  Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::waiting);
  EXPECT_EQ(bench.outcome(*report, "kept"), RescueOutcome::asked);
  EXPECT_THAT(report->steps.back().why, HasSubstr("1 of 2 lines are missing, the first: 102"));
  RescueTerms terms;
  terms.confirmed = {"kept"};
  report = bench.resume(terms);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.host("infra001").boots, 1);
}

constexpr const char* kDangerous = R"(
weft_runbook: 1
name: danger
title: One dangerous step
steps:
  - id: reset
    title: Reset it
    do: {power: {verb: reset, hosts: train001}}
    expect: {port: {hosts: train001, at: frontend, port: 22}}
    within: 5m
    on_failure: ask
    back: "go there"
)";

// It is unknown whether the reset was sent, and the evidence is missing: only the operator may have it sent again.
TEST(RescueRun, UnknownStepAsksTheOperatorAndIsNotRepeated) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  bench.host("train001").stuck = true;
  bench.host("train001").hung = true;
  bench.hands->blind = true;
  bench.kill.at = 6;  // begin: 0, 1; intent: 2, 3; power: 4, 5, and 6 after it was sent
  EXPECT_THROW((void)bench.run(), Killed);
  EXPECT_EQ(bench.host("train001").boots, 1);
  bench.kill.at = -1;
  Result<RescueReport> report = bench.resume();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::waiting);
  EXPECT_EQ(bench.host("train001").boots, 1);
  EXPECT_THAT(report->steps[0].why, HasSubstr("unknown whether it was sent"));
  report = bench.resume();  // resuming again changes nothing
  EXPECT_EQ(report->end, RescueEnd::waiting);
  EXPECT_EQ(bench.host("train001").boots, 1);
  bench.host("train001").stuck = false;
  RescueTerms terms;
  terms.repeated = {"reset"};
  report = bench.resume(terms);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.host("train001").boots, 2);
}

TEST(RescueRun, EvidenceCompletesAnUnknownStep) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  bench.hands->blind = true;
  bench.kill.at = 6;
  EXPECT_THROW((void)bench.run(), Killed);
  bench.kill.at = -1;
  const Result<RescueReport> report = bench.resume();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done);
  EXPECT_EQ(bench.host("train001").boots, 1);
}

TEST(RescueRun, ResumeRefusesAnotherFileOrAnotherCluster) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  bench.kill.at = 4;
  EXPECT_THROW((void)bench.run(), Killed);
  bench.kill.at = -1;
  bench.plan_text(std::string(kDangerous) + "# a remark\n");
  Result<RescueReport> report = bench.resume();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::refused);
  EXPECT_THAT(report.error().message, HasSubstr("is not the runbook of rescue"));
  bench.plan_text(kDangerous);
  bench.plan.digest = "other";
  report = bench.resume();
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("changed since"));
  EXPECT_EQ(bench.host("train001").boots, 0);
}

TEST(RescueRun, OneProcessAtATime) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  const auto held = RescueFolder::open(bench.state + "/rescue/" + RescueBench::kId);
  ASSERT_TRUE(held.ok());
  const Result<RescueReport> report = bench.run();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::conflict);
}

TEST(RescueRun, NothingIsDoneWithoutJournalEntry) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  bench.journal.broken = true;
  const Result<RescueReport> report = bench.run();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::unavailable);
  EXPECT_EQ(bench.host("train001").boots, 0);
}

TEST(RescueRun, StopLeavesTheRescueOpen) {
  RescueBench bench;
  bench.plan_text(kDangerous);
  bench.clock.stop();
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::stopped);
  EXPECT_EQ(bench.host("train001").boots, 0);
  EXPECT_EQ(open_rescues(bench.journal.entries, {}).size(), 1U);
}

TEST(RescueRun, WaitContinuesWithTheRemainingTime) {
  RescueBench bench;
  bench.plan_text(R"(
weft_runbook: 1
name: wait
title: Waits
steps:
  - {id: rest, title: Rest, do: {wait: 10m}}
  - {id: later, title: Later, needs: [{since: {step: rest, at_least: 0.001s}}], do: {note: over}}
)");
  bench.kill.at = 4;  // outcome of `rest`: the whole wait has passed
  EXPECT_THROW((void)bench.run(), Killed);
  bench.kill.at = -1;
  const Duration before = bench.clock.now();
  const Result<RescueReport> report = bench.resume();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RescueEnd::done) << write(rescue_report_document(*report), {});
  EXPECT_LT((bench.clock.now() - before).count(), milliseconds(60'000).count());
}

TEST(RescueRun, StoresAndReportsItsOutput) {
  RescueBench bench;
  set_scene(bench, "scheduler-dead");
  bench.plan_shipped("scheduler-dead");
  const Result<RescueReport> report = bench.run();
  ASSERT_TRUE(report.ok());
  const std::string folder = bench.state + "/rescue/" + RescueBench::kId;
  EXPECT_EQ(report->folder, folder);
  EXPECT_EQ(read_file(folder + "/002-jobs-before.txt").value_or("?"), "101\n102\n");
  EXPECT_THAT(read_file(folder + "/003-console-before.console").value_or("?"), HasSubstr("GRUB loading"));
  const auto mode = std::filesystem::status(folder).permissions();
  EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
  const std::string text = rescue_report_markdown(*report);
  EXPECT_THAT(text, HasSubstr("| kept | done |"));
  EXPECT_THAT(write(rescue_report_document(*report), {}), HasSubstr("all 2 lines"));
}

}  // namespace
}  // namespace weft::oob
