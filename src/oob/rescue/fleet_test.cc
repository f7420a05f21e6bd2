#include "oob/rescue/fleet.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "oob/bmc/fake_bmc.h"
#include "oob/rescue/fake.h"

namespace weft::oob {
namespace {

// An unreachable switch.
class NoTransport final : public SwitchTransport {
 public:
  [[nodiscard]] Result<std::string> run(const SwitchDevice& device, const std::string&, const std::string&,
                                        Duration) override {
    return Error{ErrorCode::unavailable, "no answer", device.name};
  }
};

// Accepts this many entries, then fails: equivalent to a dead process from there on.
class FailingJournal final : public Journal {
 public:
  [[nodiscard]] Status append(JournalEntry entry) override {
    if (left == 0) return Error{ErrorCode::unavailable, "no space left on device", "journal"};
    if (left > 0) --left;
    entry.number = entries.size() + 1;
    entries.push_back(std::move(entry));
    return {};
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override { return entries; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override { return {}; }

  std::vector<JournalEntry> entries;
  int left = -1;

 private:
  std::string path_;
};

constexpr const char* kResets = R"(
weft_runbook: 1
name: resets
title: Two resets and a cycle
steps:
  - id: one
    title: One server
    do: {power: {verb: reset, hosts: "train[001-002]"}}
    expect: {power: {hosts: "train[001-002]", state: on}}
    within: 20m
    on_failure: ask
    back: go there
  - id: two
    title: A switch
    do: {power: {verb: cycle, hosts: be-spine001}}
    expect: {power: {hosts: be-spine001, state: on}}
    within: 20m
    on_failure: ask
    back: go there
)";

// The real power loop on fake BMCs.
struct LiveBench {
  explicit LiveBench(RescueBench& bench)
      : fleet{*bench.inventory, connector, credentials, bench.clock, journal, 1},
        store(bench.state + "/switches", "test", bench.clock),
        hands({.fleet = fleet,
               .cluster = *bench.loaded->cluster,
               .transport = transport,
               .store = store,
               .consoles = bench.state + "/consoles"}) {
    for (const char* name : {"train001", "train002", "be-spine001"})
      connector.machines[name] = std::make_shared<FakeMachine>(name, bench.clock, true);
  }
  FakeConnector connector;
  FakeCredentials credentials;
  FailingJournal journal;
  Fleet fleet;
  NoTransport transport;
  ConfigStore store;
  FleetRescueHands hands;
};

TEST(RescueFleet, DangerousActionsAreNotRepeatedAfterAnyCrash) {
  for (const bool boot_ids : {true, false}) {
    int stops = 0;
    for (int left = 1;; ++left) {
      RescueBench bench;
      LiveBench live(bench);
      FakeFaults faults;
      faults.no_boot_id = !boot_ids;
      faults.no_boot_progress = !boot_ids;
      for (auto& [name, machine] : live.connector.machines) machine->set_faults(faults);
      bench.plan_text(kResets);
      RescueTerms terms;
      terms.state = bench.state;
      terms.operation = RescueBench::kId;
      live.journal.left = left;
      const Result<RescueReport> first = run_rescue(bench.plan, live.hands, live.journal, bench.clock, terms);
      if (first.ok() && first->end == RescueEnd::done) break;
      ++stops;
      live.journal.left = -1;
      (void)bench.clock.sleep(milliseconds(300'000));  // time for the sent commands to take effect
      terms.operation.clear();
      terms.resume = RescueBench::kId;
      const Result<RescueReport> second = run_rescue(bench.plan, live.hands, live.journal, bench.clock, terms);
      ASSERT_TRUE(second.ok()) << second.error().text() << " after " << left;
      if (boot_ids) {
        EXPECT_EQ(second->end, RescueEnd::done) << "after " << left << "\n"
                                                << write(rescue_report_document(*second), {});
      }
      for (auto& [name, machine] : live.connector.machines)
        EXPECT_LE(machine->losses(), 1) << name << " after " << left;
    }
    EXPECT_GT(stops, 10);
  }
}

TEST(RescueFleet, ReportsDevicesThatDoNotRespond) {
  RescueBench bench;
  LiveBench live(bench);
  const std::vector<RescueHostAnswer> answers = live.hands.status({"train001", "train003"});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].answered);
  EXPECT_EQ(answers[0].state, PowerState::on);
  EXPECT_FALSE(answers[1].answered);
  EXPECT_THAT(answers[1].why, testing::HasSubstr("no answer"));
  EXPECT_FALSE(live.hands.recall_power({.hosts = {"train001"}, .operation = "1", .reason = {}}).has_value());
  EXPECT_FALSE(live.hands.config_now("be-spine001").ok());
  EXPECT_FALSE(live.hands.config_kept("be-spine001", "good").ok());
}

TEST(RescueFleet, RunsProgramsWithoutAShell) {
  RescueBench bench;
  LiveBench live(bench);
  const Result<RescueRunAnswer> answer = live.hands.run({"printf", "%s", "$HOME; *"}, milliseconds(10'000));
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->out, "$HOME; *");
  EXPECT_EQ(live.hands.run({"false"}, milliseconds(10'000))->code, 1);
  EXPECT_EQ(live.hands.run({"no-such-program-here"}, milliseconds(10'000)).error().code, ErrorCode::not_found);
}

TEST(RescueFleet, ReadsThePowerResultFromTheJournal) {
  const RescuePowerCall call{.verb = RunbookPower::cycle, .hosts = {"a", "b"}, .operation = "77", .reason = {}};
  std::vector<JournalEntry> entries;
  const auto add = [&](Phase phase, const std::string& device, Value detail) {
    JournalEntry entry;
    entry.operation = "77";
    entry.verb = "power.cycle";
    entry.phase = phase;
    entry.device = device;
    entry.detail = std::move(detail);
    entries.push_back(std::move(entry));
  };
  EXPECT_FALSE(told_of_power(entries, call).begun);
  add(Phase::begin, "", Value::map());
  EXPECT_TRUE(told_of_power(entries, call).begun);
  EXPECT_EQ(told_of_power(entries, call).answer.end, RescuePowerEnd::unknown);
  add(Phase::outcome, "a", Value::map().set("end", "done").set("sends", 1));
  add(Phase::outcome, "b", Value::map().set("end", "not done").set("sends", 0));
  RescuePowerTold told = told_of_power(entries, call);
  EXPECT_EQ(told.answer.end, RescuePowerEnd::not_done);
  EXPECT_EQ(told.answer.rest, std::vector<std::string>{"b"});
  // Sent, and not done: it may have been interrupted nevertheless.
  entries.back().detail.set("sends", 1);
  EXPECT_EQ(told_of_power(entries, call).answer.end, RescuePowerEnd::unknown);
  entries.back().detail.set("end", "done");
  EXPECT_EQ(told_of_power(entries, call).answer.end, RescuePowerEnd::done);
}

TEST(RescueFleet, DetectsOpenPorts) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  ASSERT_EQ(::bind(listener, plain, size), 0);
  ASSERT_EQ(::getsockname(listener, plain, &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  EXPECT_FALSE(takes_connection("127.0.0.1", port, milliseconds(500)));  // bound, not listening
  ASSERT_EQ(::listen(listener, 4), 0);
  EXPECT_TRUE(takes_connection("127.0.0.1", port, milliseconds(2'000)));
  ::close(listener);
  EXPECT_FALSE(takes_connection("not an address", 22, milliseconds(500)));
}

}  // namespace
}  // namespace weft::oob
