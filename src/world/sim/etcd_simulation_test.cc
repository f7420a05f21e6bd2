// Runs of the deterministic simulation with the journal in etcd: controllers lose their lease, are stopped in the
// middle of a commit and go on after another one has taken over; etcd loses answers and executes requests late. No
// invariant is violated, and every deliberate defect of the store and of the leadership is found.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "world/sim/simulation.h"

namespace weft::world {
namespace {

std::uint64_t setting_or(const char* name, std::uint64_t fallback) {
  const char* given = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return given == nullptr ? fallback : std::strtoull(given, nullptr, 10);
}

SimulationOptions with_etcd(EtcdMutant mutant = {}) {
  SimulationOptions options;
  options.etcd = true;
  options.etcd_mutant = mutant;
  return options;
}

TEST(LongEtcdSimulation, NoInvariantIsViolated) {
  std::set<std::string> reached;
  std::uint64_t takeovers = 0;
  std::uint64_t followed = 0;
  const std::uint64_t first = setting_or("WEFT_FIRST_SEED", 1);
  const std::uint64_t end = first + setting_or("WEFT_SEEDS", 40);
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const SimulationResult result = simulate(Choices(seed), with_etcd());
    ASSERT_EQ(result.violation, "") << "seed " << seed << "\n" << result.scenario;
    takeovers += result.takeovers;
    followed += result.followed;
    reached.insert(result.reached.begin(), result.reached.end());
  }
  std::printf("%llu takeovers, %llu comparisons of a follower\n", static_cast<unsigned long long>(takeovers),
              static_cast<unsigned long long>(followed));
  EXPECT_GT(takeovers, 20U);
  EXPECT_GT(followed, 1'000U);
  for (const char* state :
       {"etcd: unreachable", "etcd: request lost", "etcd: answer lost", "etcd: request late", "etcd: lease lost",
        "etcd: compaction", "etcd: watch reordered", "etcd: watch repeated", "etcd: watch lost",
        "stopped after its commit", "stopped before its commit", "leadership lost", "store full", "journal compacted"})
    EXPECT_TRUE(reached.contains(state)) << state;
}

TEST(EtcdSimulation, SameSeedSameJournal) {
  const SimulationResult first = simulate(Choices(5), with_etcd());
  const SimulationResult second = simulate(Choices(5), with_etcd());
  EXPECT_EQ(first.journal_hash, second.journal_hash);
  EXPECT_EQ(first.events, second.events);
}

TEST(LongEtcdSimulation, EveryMutantIsFound) {
  const std::pair<const char*, EtcdMutant> mutants[] = {{"no fence", {store::EtcdDefect::no_fence, false}},
                                                        {"no compare of the tail", {store::EtcdDefect::no_tail, false}},
                                                        {"blind retry", {store::EtcdDefect::blind_retry, false}},
                                                        {"act without a lease", {store::EtcdDefect::none, true}}};
  for (const auto& [name, mutant] : mutants) {
    SimulationResult result;
    std::uint64_t seed = 1;
    for (; seed <= 150; ++seed) {
      result = simulate(Choices(seed), with_etcd(mutant));
      if (!result.violation.empty()) break;
    }
    EXPECT_NE(result.violation, "") << name;
    std::printf("%-24s %4llu seeds: %s\n", name, static_cast<unsigned long long>(seed), result.violation.c_str());
  }
}

}  // namespace
}  // namespace weft::world
