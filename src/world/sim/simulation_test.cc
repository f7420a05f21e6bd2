// Runs of the deterministic simulation: a slice of seeds without a violated invariant, and every deliberate defect
// found.
#include "world/sim/simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace weft::world {
namespace {

using control::Defect;

// WEFT_SEEDS is the number of seeds and WEFT_FIRST_SEED the first: make test-all and long runs use more.
std::uint64_t setting_or(const char* name, std::uint64_t fallback) {
  const char* given = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return given == nullptr ? fallback : std::strtoull(given, nullptr, 10);
}

TEST(LongSimulation, NoInvariantIsViolated) {
  std::uint64_t faults = 0;
  std::set<std::string> reached;
  const std::uint64_t first = setting_or("WEFT_FIRST_SEED", 1);
  const std::uint64_t end = first + setting_or("WEFT_SEEDS", 150);
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const SimulationResult result = simulate(Choices(seed));
    ASSERT_EQ(result.violation, "") << "seed " << seed << "\n" << result.scenario;
    faults += result.faults;
    reached.insert(result.reached.begin(), result.reached.end());
  }
  RecordProperty("faults", std::to_string(faults));
  // Rare states that a run of seeds must reach; otherwise it proves little.
  for (const char* state : {"breaker tripped",
                            "journal compacted",
                            "older checkpoint chosen",
                            "orphan stopped",
                            "power cycle",
                            "preemption",
                            "rack lost",
                            "repair handed to a person",
                            "start refused by the node",
                            "store full",
                            "uncordon by a person during repair",
                            "off confirmed by a person",
                            "drill passed",
                            "drill failed",
                            "drill refused",
                            "preemption for maintenance",
                            "maintenance over",
                            "reservation removed",
                            "service on a node in maintenance",
                            "old journal upgraded",
                            "two nodes of a tenant in repair",
                            "reset_gpu",
                            "restart_service",
                            "reboot",
                            "cured by reset_gpu",
                            "cured by reboot"}) {
    EXPECT_TRUE(reached.contains(state)) << state;
  }
}

TEST(Simulation, SameSeedSameJournal) {
  for (const std::uint64_t seed : {3U, 4U}) {
    const SimulationResult first = simulate(Choices(seed));
    const SimulationResult second = simulate(Choices(seed));
    EXPECT_EQ(first.journal_hash, second.journal_hash);
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.fault_counts, second.fault_counts);
  }
  EXPECT_NE(simulate(Choices(3)).journal_hash, simulate(Choices(4)).journal_hash);
}

struct Mutant {
  Defect defect;
  std::vector<Fault> focus;
};

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {Defect::believe_scheduler, {}},
      {Defect::believe_disappearance, {Fault::inventory_empty}},
      {Defect::repair_after_uncordon, {Fault::uncordon_by_person, Fault::telemetry_fatal}},
      {Defect::old_evidence, {Fault::telemetry_fatal, Fault::crash_any_time}},
      {Defect::cancel_without_session, {Fault::telemetry_fatal, Fault::report_late}},
      {Defect::retry_power, {Fault::reply_ambiguous, Fault::telemetry_fatal}},
      {Defect::no_validation_deadline, {Fault::validation_lost, Fault::telemetry_fatal}},
      {Defect::expiring_lease, {Fault::node_silent}},
      {Defect::retry_ambiguous_start, {Fault::reply_ambiguous}},
      {Defect::unreserved_start, {}},
      {Defect::cordon_without_owner, {Fault::cordon_by_person}},
      {Defect::old_boot, {Fault::telemetry_stuck, Fault::node_reboot}},
      {Defect::unknown_is_healthy, {Fault::node_silent}},
      {Defect::no_breaker, {Fault::telemetry_fatal}},
      {Defect::breaker_forgets, {Fault::telemetry_fatal, Fault::crash_any_time}},
      {Defect::unverified_checkpoint, {}},
      {Defect::count_node_failures, {Fault::node_reboot}},
      {Defect::lose_cancel, {Fault::user_cancels}},
      {Defect::old_attempt_report, {Fault::report_late}},
      {Defect::no_stop_repeat, {Fault::command_lost}},
      {Defect::trust_journal, {Fault::store_lost_fsync, Fault::crash_any_time, Fault::command_late}},
      {Defect::restart_on_recovery, {Fault::crash_after_effect}},
      {Defect::ignore_key, {Fault::user_repeats}},
      {Defect::ignore_orphans, {Fault::store_lost_fsync, Fault::crash_any_time, Fault::command_late}},
      {Defect::resume_drained, {Fault::user_drains, Fault::telemetry_fatal}},
      {Defect::stale_evidence_power, {Fault::node_silent, Fault::telemetry_fatal, Fault::bmc_silent}},
      {Defect::act_before_journal, {}},
      {Defect::answer_before_journal, {Fault::crash_any_time, Fault::store_full}},
      {Defect::ignore_boot_in_start, {}},
      {Defect::drop_last_seal, {}},
      {Defect::drill_same_nodes, {Fault::user_drills}},
      {Defect::drill_believes_start, {Fault::user_drills}},
      {Defect::ignore_reservation, {Fault::user_reserves}},
      {Defect::endless_reservation, {Fault::user_reserves}},
      {Defect::power_in_maintenance, {Fault::user_reserves, Fault::telemetry_fatal}},
      {Defect::preempt_service, {Fault::user_reserves}},
      {Defect::breaker_ignores_tenant, {Fault::telemetry_fatal}},
      {Defect::no_format_record, {}},
      {Defect::rare_inventory, {Fault::report_lost}},
      {Defect::unreadable_is_empty, {Fault::volume_unreadable}},
      {Defect::forget_quota_use, {Fault::crash_any_time}},
      {Defect::wrong_tenant, {}},
      {Defect::keys_of_all_users, {}},
      {Defect::repeat_action, {Fault::telemetry_fatal, Fault::repair_fails}},
      {Defect::reset_under_job, {Fault::telemetry_fatal, Fault::command_lost}},
      {Defect::trust_repair, {Fault::telemetry_fatal}},
      {Defect::escalate_on_old_evidence, {Fault::telemetry_fatal, Fault::repair_useless, Fault::reboot_hangs}},
  };
  return all;
}

TEST(LongSimulation, EveryMutantIsFound) {
  EXPECT_EQ(mutants().size() + 1 + control::kLeaseDefects, control::kDefects);
  for (const Mutant& mutant : mutants()) {
    SimulationOptions options{mutant.defect, mutant.focus};
    std::uint64_t seed = 1;
    SimulationResult result;
    while (seed <= 200) {
      result = simulate(Choices(seed), options);
      if (!result.violation.empty()) break;
      ++seed;
    }
    EXPECT_NE(result.violation, "") << to_text(mutant.defect);
    std::printf("%-44s %4llu seeds: %s\n", std::string(to_text(mutant.defect)).c_str(),
                static_cast<unsigned long long>(seed), result.violation.c_str());
  }
}

TEST(LongSimulation, FailingScenarioIsShrunkAndReplayed) {
  const SimulationOptions options{Defect::believe_scheduler, {}};
  SimulationResult failed;
  for (std::uint64_t seed = 1; failed.violation.empty() && seed < 20; ++seed) failed = simulate(Choices(seed), options);
  ASSERT_NE(failed.violation, "");
  const ShrunkScenario shrunk = shrink(failed.scenario, options, 600);
  EXPECT_LT(shrunk.choices_after, shrunk.choices_before / 2);
  const SimulationResult again = simulate(*Choices::parse(shrunk.scenario), options);
  EXPECT_EQ(again.violation, shrunk.violation);
  EXPECT_EQ(again.violation.substr(0, 2), failed.violation.substr(0, 2)) << "the same invariant";
  EXPECT_EQ(simulate(*Choices::parse(shrunk.scenario), {}).violation, "") << "the defect is the cause";
}

TEST(Choices, ScenarioIsReadBack) {
  Choices choices(7);
  for (int i = 0; i < 20; ++i) (void)choices.choose(i % 2 == 0 ? "a" : "b", 1000);
  const Result<Choices> parsed = Choices::parse(choices.to_text());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->given().size(), 2U);
  EXPECT_FALSE(Choices::parse("a 1 2").ok());
  EXPECT_FALSE(Choices::parse("a: x").ok());
}

}  // namespace
}  // namespace weft::world
