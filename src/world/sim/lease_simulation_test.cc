// Two engines on the same nodes, in the deterministic simulation: random moves, jobs of weft and of others, crashes and
// faults of everything between. No node is ever open or in use at two engines' gates, and every move ends.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "world/sim/simulation.h"

namespace weft::world {
namespace {

using control::Defect;

// WEFT_LEASE_SEEDS is the number of seeds, WEFT_FIRST_SEED the first.
std::uint64_t setting_or(const char* name, std::uint64_t fallback) {
  const char* given = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return given == nullptr ? fallback : std::strtoull(given, nullptr, 10);
}

SimulationOptions with_leases(Defect defect, std::vector<Fault> focus) {
  focus.push_back(Fault::user_moves);
  focus.push_back(Fault::foreign_job);
  return {defect, std::move(focus), true};
}

struct Mutant {
  Defect defect;
  std::vector<Fault> focus;
};

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {Defect::free_on_scheduler_word, {Fault::step_lingers}},
      {Defect::empty_list_frees, {Fault::list_empty}},
      {Defect::lease_expires, {Fault::step_lingers, Fault::gate_silent}},
      {Defect::open_before_closed, {Fault::command_late, Fault::command_lost, Fault::gate_silent}},
      {Defect::old_epoch_opens, {Fault::command_late, Fault::command_twice}},
      {Defect::forget_lease_on_restart, {Fault::crash_any_time, Fault::crash_after_effect}},
      {Defect::gate_ignores_boot, {Fault::node_reboot, Fault::command_late, Fault::command_twice}},
      {Defect::gate_ignores_term, {Fault::store_lost_fsync, Fault::crash_after_effect, Fault::command_late}},
      {Defect::place_during_move, {}},
      {Defect::lose_move, {Fault::crash_any_time, Fault::crash_after_effect}},
  };
  return all;
}

TEST(LongSimulation, NoNodeIsUsedByTwoEngines) {
  std::uint64_t moves = 0;
  std::uint64_t faults = 0;
  std::uint64_t crashes = 0;
  std::set<std::string> reached;
  const std::uint64_t first = setting_or("WEFT_FIRST_SEED", 1);
  const std::uint64_t end = first + setting_or("WEFT_LEASE_SEEDS", 60);
  for (std::uint64_t seed = first; seed < end; ++seed) {
    // The faults that the mutants are found with, one set after another: without a defect they do no harm.
    std::vector<Fault> focus = mutants()[seed % mutants().size()].focus;
    std::erase(focus, Fault::store_lost_fsync);  // half of the seeds have it, at its normal rate
    const SimulationResult result = simulate(Choices(seed), with_leases(Defect::none, focus));
    ASSERT_EQ(result.violation, "") << "seed " << seed << "\n" << result.scenario;
    moves += result.moves;
    faults += result.faults;
    crashes += result.crashes;
    reached.insert(result.reached.begin(), result.reached.end());
  }
  std::printf("%llu seeds, %llu moves, %llu faults, %llu crashes of the controller\n",
              static_cast<unsigned long long>(end - first), static_cast<unsigned long long>(moves),
              static_cast<unsigned long long>(faults), static_cast<unsigned long long>(crashes));
  RecordProperty("moves", std::to_string(moves));
  EXPECT_GT(moves, 10 * (end - first)) << "otherwise it proves little";
  for (const char* state : {"job beside weft runs", "job beside weft stopped at the gate", "step outlives its job",
                            "process outlives its step", "GPU used without any engine", "old epoch refused by the gate",
                            "order of an earlier controller refused", "off confirmed by a person",
                            "move of a node that is off", "move canceled", "job stopped for a move"}) {
    EXPECT_TRUE(reached.contains(state)) << state;
  }
  const bool regained = reached.contains("lease regained after lost records");
  EXPECT_TRUE(regained || end - first < 1000) << "rare, but not that rare";
}

constexpr std::uint64_t kMaxSeeds = 200;

TEST(LongSimulation, EveryLeaseMutantIsFound) {
  EXPECT_EQ(mutants().size(), control::kLeaseDefects);
  for (const Mutant& mutant : mutants()) {
    const SimulationOptions options = with_leases(mutant.defect, mutant.focus);
    std::uint64_t seed = 1;
    SimulationResult result;
    while (seed <= kMaxSeeds) {
      result = simulate(Choices(seed), options);
      if (!result.violation.empty()) break;
      ++seed;
    }
    EXPECT_NE(result.violation, "") << to_text(mutant.defect);
    std::printf("%-44s %4llu seeds: %s\n", std::string(to_text(mutant.defect)).c_str(),
                static_cast<unsigned long long>(seed), result.violation.c_str());
  }
}

TEST(Simulation, LeasesAreDeterministic) {
  const SimulationOptions options = with_leases(Defect::none, {});
  const SimulationResult first = simulate(Choices(5), options);
  const SimulationResult second = simulate(Choices(5), options);
  EXPECT_EQ(first.journal_hash, second.journal_hash);
  EXPECT_EQ(first.moves, second.moves);
  EXPECT_NE(first.moves, 0U);
}

}  // namespace
}  // namespace weft::world
