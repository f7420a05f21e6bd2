// Invariants of the power loop for any BMC behavior: thousands of random fault scripts, and a process crash at every
// step of an operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "base/rounds.h"
#include "oob/bmc/fake_bmc.h"
#include "oob/power/run.h"

namespace weft::oob {
namespace {

Duration some_time(RandomStream& random, std::int64_t most_ms) { return milliseconds(random.between(0, most_ms)); }

// Delays stay within the silent window: an effect after it cannot be distinguished from no effect.
FakeFaults random_faults(RandomStream& random, bool may_lie) {
  FakeFaults faults;
  const auto few = [&](double chance) { return random.chance(chance) ? static_cast<int>(random.between(1, 4)) : 0; };
  faults.dead = random.chance(0.02);
  faults.busy_dials = few(0.1);
  faults.session_requests = random.chance(0.15) ? static_cast<int>(random.between(1, 6)) : 0;
  faults.latency = random.chance(0.3) ? some_time(random, 9'000) : Duration(0);
  faults.silent_accepts = random.chance(0.05) ? -1 : few(0.2);
  faults.lost_answers = few(0.15);
  faults.declined_resets = random.chance(0.03) ? -1 : few(0.1);
  faults.wrong_reset = random.chance(0.1);
  faults.flaps = random.chance(0.02) ? -1 : few(0.15) * 3;
  if (may_lie && random.chance(0.1)) faults.lie = static_cast<PowerState>(random.below(5));
  faults.stuck_off = random.chance(0.05);
  faults.stuck_on = random.chance(0.05);
  faults.hung = random.chance(0.1);
  faults.no_power_cycle = random.chance(0.3);
  faults.no_force_restart = random.chance(0.1);
  faults.no_graceful = random.chance(0.1);
  faults.hides_actions = random.chance(0.3);
  faults.no_boot_id = random.chance(0.3);
  faults.no_boot_progress = random.chance(0.5);
  faults.on_time = some_time(random, 20'000);
  faults.off_time = some_time(random, 20'000);
  faults.reset_time = some_time(random, 30'000);
  faults.cycle_gap = some_time(random, 15'000);
  faults.soft_time = some_time(random, 120'000);
  return faults;
}

bool destroys(PowerVerb verb, ResetAction action) {
  return (verb == PowerVerb::cycle || verb == PowerVerb::reset) && action != ResetAction::on;
}

std::size_t count_of(const Journal& journal, Phase phase, const std::string& device) {
  const std::vector<JournalEntry> all = journal.read().value();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const JournalEntry& entry) {
    return entry.phase == phase && entry.device == device;
  }));
}

// No disruptive step was sent to a machine that had already been interrupted.
void expect_never_twice(FakeMachine& machine, PowerVerb verb) {
  if (verb != PowerVerb::cycle && verb != PowerVerb::reset) return;
  EXPECT_LE(machine.losses(), 1);
  int hits = 0;
  for (const FakeReset& reset : machine.resets()) hits += destroys(verb, reset.action) && !reset.was_on ? 1 : 0;
  EXPECT_EQ(hits, 0) << "a machine that was off was hit again";
}

bool shows(const PowerOutcome& outcome, EvidenceKind kind, std::string_view text = {}) {
  return std::any_of(outcome.evidence.begin(), outcome.evidence.end(),
                     [&](const Evidence& item) { return item.kind == kind && (text.empty() || item.text == text); });
}

void expect_evidence(const PowerOutcome& outcome, PowerVerb verb) {
  if (outcome.end != PowerEnd::done) {
    EXPECT_FALSE(outcome.next.empty());
    return;
  }
  const bool up = verb != PowerVerb::off && verb != PowerVerb::soft;
  EXPECT_TRUE(shows(outcome, EvidenceKind::state_seen, up ? "on" : "off"));
  if (verb != PowerVerb::cycle && verb != PowerVerb::reset) return;
  EXPECT_TRUE(shows(outcome, EvidenceKind::boot_id_changed) || shows(outcome, EvidenceKind::boot_progress) ||
              shows(outcome, EvidenceKind::state_seen, "off"));
}

TEST(PowerProperty, RandomFaults) {
  std::array<int, 3> ends{};
  for (std::uint64_t seed = 1; seed <= rounds(6'000) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "faults");
    const auto verb = static_cast<PowerVerb>(random.below(kPowerVerbs));
    const bool may_lie = verb != PowerVerb::cycle && verb != PowerVerb::reset;
    const FakeFaults faults = random_faults(random, may_lie);
    const bool on = random.chance(verb == PowerVerb::on ? 0.2 : 0.9);
    ManualClock clock;
    MemoryJournal journal;
    FakeFleet world(clock, journal, {fake_target("n1")}, {}, on);
    FakeMachine& machine = world.machine("n1");
    machine.set_faults(faults);
    const double unreliable = random.chance(0.3) ? 0.2 : 0;
    RandomStream network = random.split("network");
    std::size_t resets = 0;
    machine.before_call = [&](const std::string& call) -> std::optional<Error> {
      if (call == "reset") {
        ++resets;
        EXPECT_EQ(count_of(journal, Phase::intent, "n1"), resets) << "sent, and not announced";
        EXPECT_TRUE(verb != PowerVerb::reset || machine.losses() == 0 || !machine.is_on());
      }
      if (!network.chance(unreliable)) return std::nullopt;
      constexpr std::array<ErrorCode, 4> kCodes = {ErrorCode::unavailable, ErrorCode::timeout, ErrorCode::conflict,
                                                   ErrorCode::invalid_input};
      return Error{kCodes.at(network.below(4)), "noise", "n1"};
    };
    PowerOptions options;
    options.deadline = milliseconds(random.between(1'000, 600'000));
    options.force = random.chance(0.5);
    options.finish_on = random.chance(0.5);
    options.seed = seed;
    const PowerOutcome outcome = run_power(world.fleet, 0, verb, options, "op");
    ++ends.at(static_cast<std::size_t>(outcome.end));
    EXPECT_LE(outcome.took, options.deadline + faults.latency);
    std::string story =
        fmt::format("{} {}: {}\n", to_text(verb), to_text(outcome.end), evidence_text(outcome.evidence));
    for (const FakeReset& reset : machine.resets()) {
      story += fmt::format("{:.3f}s {} to a machine that is {}\n", static_cast<double>(reset.at.count()) * 1e-9,
                           to_text(reset.action), reset.was_on ? "on" : "off");
    }
    SCOPED_TRACE(story);
    expect_evidence(outcome, verb);
    expect_never_twice(machine, verb);
    EXPECT_EQ(machine.sessions(), 0);
    EXPECT_EQ(count_of(journal, Phase::outcome, "n1"), 1U);
    // "done" is true, unless the BMC reports a wrong state always or now and then.
    if (outcome.end != PowerEnd::done || faults.lie || faults.flaps != 0) continue;
    EXPECT_EQ(machine.is_on(), verb != PowerVerb::off && verb != PowerVerb::soft);
    EXPECT_TRUE(may_lie || machine.losses() == 1);
  }
  // Each of the three must have occurred, or the test proves nothing.
  for (const int count : ends) EXPECT_GT(count, static_cast<int>(rounds(100)));
}

// A process that dies at a given step: from then on nothing is written and every call fails.
struct Life {
  int left = 0;
  bool step() { return left > 0 && --left > 0; }
};

class MortalJournal final : public Journal {
 public:
  MortalJournal(Journal& kept, Life& life) : kept_(kept), life_(life) {}
  Status append(JournalEntry entry) override {
    if (!life_.step()) return Error{ErrorCode::unavailable, "dead", {}};
    return kept_.append(std::move(entry));
  }
  Result<std::vector<JournalEntry>> read() const override { return kept_.read(); }
  const std::string& path() const override { return kept_.path(); }
  std::string head() const override { return {}; }

 private:
  Journal& kept_;
  Life& life_;
};

// Runs an operation that dies after `steps`, then resumes until it ends. True if it died.
bool live_and_die(std::uint64_t seed, int steps) {
  RandomStream random(seed, "death");
  const auto verb = static_cast<PowerVerb>(random.below(kPowerVerbs));
  ManualClock clock;
  MemoryJournal kept;
  Life life{steps};
  MortalJournal journal(kept, life);
  FakeFleet world(clock, journal, {fake_target("n1"), fake_target("n2")}, {}, verb != PowerVerb::on);
  for (const char* name : {"n1", "n2"}) {
    FakeFaults faults = random_faults(random, false);
    faults.latency = Duration(0);
    faults.dead = false;
    world.machine(name).set_faults(faults);
    world.machine(name).before_call = [&life](const std::string&) -> std::optional<Error> {
      if (life.step()) return std::nullopt;
      return Error{ErrorCode::unavailable, "dead", {}};
    };
  }
  PowerRequest request;
  request.verb = verb;
  request.targets = {0, 1};
  request.options.deadline = milliseconds(400'000);
  Result<PowerReport> report = run_operation(world.fleet, request);
  bool died = life.left <= 1;
  const bool ever = died;
  for (int lives = 0; died && lives < 20; ++lives) {
    life.left = random.chance(0.5) ? static_cast<int>(random.between(1, 60)) : 1'000'000;
    const std::vector<OpenPower> open = open_power(world.fleet.journal).value();
    if (open.empty()) break;  // it died before it began, or after its end
    report = resume_operation(world.fleet, open[0].operation, request);
    died = life.left <= 1;
  }
  life.left = 1'000'000;
  const std::vector<OpenPower> still_open = open_power(world.fleet.journal).value();
  for (const OpenPower& left : still_open) EXPECT_TRUE(resume_operation(world.fleet, left.operation, request).ok());
  EXPECT_TRUE(open_power(world.fleet.journal)->empty());
  for (const char* name : {"n1", "n2"}) {
    expect_never_twice(world.machine(name), verb);
    EXPECT_LE(count_of(kept, Phase::outcome, name), 1U);
    EXPECT_GE(count_of(kept, Phase::intent, name), world.machine(name).resets().size());
  }
  return ever;
}

TEST(PowerProperty, CrashAtEveryStep) {
  int deaths = 0;
  for (std::uint64_t seed = 1; seed <= rounds(24) && !testing::Test::HasFailure(); ++seed) {
    for (int steps = 1; steps <= 2'000; ++steps) {
      SCOPED_TRACE(fmt::format("seed {} steps {}", seed, steps));
      if (!live_and_die(seed, steps)) break;
      ++deaths;
      if (testing::Test::HasFailure()) break;
    }
  }
  EXPECT_GT(deaths, static_cast<int>(rounds(1'000)));
}

}  // namespace
}  // namespace weft::oob
