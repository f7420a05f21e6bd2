// weft killed with SIGKILL at random times during power, rotate and rescue: the journal verifies each time, the
// password of every BMC is in the store, and after the operation is resumed nothing dangerous was sent twice.
// WEFT_KILLS sets the number of kills per verb (12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "base/random.h"
#include "base/test_places.h"
#include "bmcsim/fleet.h"
#include "oob/credentials/credentials.h"
#include "oob/journal/journal.h"
#include "program.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using bmcsim::SimDevice;
using bmcsim::SimFleet;
using bmcsim::SimOptions;
using bmcsim::SimReset;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

constexpr int kDevices = 4;

int kills() {
  const char* text = std::getenv("WEFT_KILLS");
  return text != nullptr ? std::atoi(text) : 12;
}

class OobKill : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("oob_kill"); }

  void SetUp() override {
    state_ =
        (folder_ / ("state_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))).string();
    std::vector<SimDevice> devices;
    for (int i = 0; i < kDevices; ++i)
      devices.push_back({.name = "train00" + std::to_string(i + 1), .offset = static_cast<std::uint32_t>(i)});
    SimOptions options;
    // A separate address block for each process that may run at the same time.
    options.base = Ipv4{(127U << 24U) | (17U << 16U) | ((static_cast<std::uint32_t>(::getpid()) & 0x3FFFU) << 2U)};
    options.power_time = milliseconds(40);
    options.boot_time = milliseconds(80);
    options.shutdown_time = milliseconds(60);
    options.latency = milliseconds(4);
    Result<std::unique_ptr<SimFleet>> fleet = SimFleet::make(std::move(devices), std::move(options));
    ASSERT_TRUE(fleet.ok()) << fleet.error().text();
    fleet_ = std::move(fleet).value();
    ASSERT_TRUE(fleet_->start().ok());
    endpoints_ = file("endpoints.yaml", "weft_endpoints: 1\ndefaults: {ca: " + file("ca.pem", fleet_->ca_pem()) +
                                            "}\nendpoints:\n  train[001-004]: {host: " + fleet_->address(0) +
                                            ", port: " + std::to_string(fleet_->port()) + "}\n");
    credentials_ = file("credentials.yaml", "weft_credentials: 1\ndefault: {user: admin, password: weft-simulated}\n");
    ::chmod(credentials_.c_str(), 0600);
  }
  void TearDown() override { fleet_.reset(); }

  [[nodiscard]] Words with_access(Words words) const {
    for (const std::string& word : Words{"--endpoints", endpoints_, "--credentials", "file:" + credentials_, "--state",
                                         state_, "--syslog", "none"})
      words.push_back(word);
    return words;
  }
  // How long it takes when it is not killed, without the time spent in timeouts.
  static std::int64_t whole_time_us(const Words& words) {
    const auto began = std::chrono::steady_clock::now();
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count();
  }
  // Runs it and kills it with SIGKILL after that time unless it ends before.
  static bool killed_after(const Words& words, std::chrono::microseconds time) {
    const pid_t child = start(words);
    const auto end = std::chrono::steady_clock::now() + time;
    int status = 0;
    while (std::chrono::steady_clock::now() < end) {
      if (::waitpid(child, &status, WNOHANG) == child) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
  }
  [[nodiscard]] std::vector<oob::OpenOperation> left_open(const std::string& verb) const {
    std::vector<oob::OpenOperation> found;
    const std::string path = state_ + "/journal.ndjson";
    if (!fs::exists(path)) return found;
    const Result<oob::JournalVerdict> verdict = oob::verify_journal(path);
    EXPECT_TRUE(verdict.ok());
    if (verdict.ok()) {
      EXPECT_THAT(verdict->problems, testing::IsEmpty());
    }
    oob::SystemClock clock;
    const auto journal = oob::open_journal(path, "judge", clock);
    EXPECT_TRUE(journal.ok());
    if (!journal.ok()) return found;
    const auto entries = journal.value()->read();
    EXPECT_TRUE(entries.ok());
    if (!entries.ok()) return found;
    for (const oob::OpenOperation& operation : open_operations(*entries)) {
      if (operation.verb.starts_with(verb)) found.push_back(operation);
    }
    return found;
  }
  [[nodiscard]] std::uint32_t sent(std::uint32_t device, SimReset reset) const {
    return fleet_->counters(device).resets[static_cast<std::size_t>(reset)];
  }
  // The password that the BMC accepts is the current or the pending one in the store.
  void expect_no_credential_lost(int round) const {
    const auto store = oob::open_credentials("file:" + credentials_, [](const char*) { return std::string(); });
    ASSERT_TRUE(store.ok()) << store.error().text();
    for (std::uint32_t i = 0; i < kDevices; ++i) {
      const Result<oob::Credential> known = store.value()->find(fleet_->devices()[i].name, "train");
      ASSERT_TRUE(known.ok());
      EXPECT_TRUE(fleet_->opens(i, known->user, known->password) ||
                  (known->pending && fleet_->opens(i, known->user, *known->pending)))
          << fleet_->devices()[i].name << " is locked after kill " << round;
    }
  }

  std::unique_ptr<SimFleet> fleet_;
  std::string state_;
  std::string endpoints_;
  std::string credentials_;
  const std::string cluster_ = source_dir() + "/examples/pod16.yaml";
};

TEST_F(OobKill, PowerNeverSendsACycleTwice) {
  RandomStream random(8, "kill power");
  int killed = 0;
  int resumed = 0;
  const Words cycle = with_access({weft_binary(), "oob", "power", "cycle", cluster_, "train[001-004]", "--reason",
                                   "drill", "--yes", "--deadline", "8s"});
  const std::int64_t whole = whole_time_us(cycle);
  for (int round = 0; round < kills(); ++round) {
    std::vector<std::uint32_t> before;
    for (std::uint32_t i = 0; i < kDevices; ++i) before.push_back(sent(i, SimReset::power_cycle));
    const auto time = std::chrono::microseconds(random.between(1'000, whole));
    killed += killed_after(cycle, time) ? 1 : 0;
    for (const oob::OpenOperation& open : left_open("power")) {
      const Outcome outcome =
          run(with_access({weft_binary(), "oob", "power", "--resume", open.operation, cluster_, "--deadline", "8s"}));
      EXPECT_THAT(outcome.code, testing::AnyOf(0, 3, 5)) << outcome.out << outcome.err;
      ++resumed;
    }
    EXPECT_THAT(left_open("power"), testing::IsEmpty()) << "kill " << round;
    for (std::uint32_t i = 0; i < kDevices; ++i) {
      EXPECT_LE(sent(i, SimReset::power_cycle) - before[i], 1U)
          << fleet_->devices()[i].name << " was cycled twice, kill " << round << " after " << time.count() << " us";
    }
  }
  EXPECT_GT(killed, 0);
  std::cout << killed << " kills, " << resumed << " operations resumed\n";
}

TEST_F(OobKill, RotationLosesNoCredential) {
  RandomStream random(8, "kill rotate");
  int killed = 0;
  const Words rotate =
      with_access({weft_binary(), "oob", "rotate", cluster_, "train[001-004]", "--reason", "drill", "--yes"});
  const std::int64_t whole = whole_time_us(rotate);
  for (int round = 0; round < kills(); ++round) {
    const auto time = std::chrono::microseconds(random.between(1'000, whole));
    killed += killed_after(rotate, time) ? 1 : 0;
    (void)left_open("rotate");  // the journal verifies
    expect_no_credential_lost(round);
  }
  EXPECT_GT(killed, 0);
  const Outcome last = run(with_access(
      {weft_binary(), "oob", "rotate", cluster_, "train[001-004]", "--settle", "--reason", "drill", "--yes"}));
  EXPECT_EQ(last.code, 0) << last.out << last.err;
  const auto store = oob::open_credentials("file:" + credentials_, [](const char*) { return std::string(); });
  ASSERT_TRUE(store.ok());
  for (std::uint32_t i = 0; i < kDevices; ++i) {
    const Result<oob::Credential> known = store.value()->find(fleet_->devices()[i].name, "train");
    ASSERT_TRUE(known.ok());
    EXPECT_FALSE(known->pending.has_value());
    EXPECT_TRUE(fleet_->opens(i, known->user, known->password));
  }
  std::cout << killed << " kills, " << fleet_->totals().password_changes << " passwords changed\n";
}

TEST_F(OobKill, RescueNeverRepeatsADangerousStep) {
  const std::string runbook = file("drill.yaml", R"(weft_runbook: 1
name: drill
title: Drill
when: [never]
steps:
  - id: look
    title: The BMCs answer
    do: {note: "begin"}
    expect: {reachable: "train[001-004]"}
    within: 10s
  - id: cycle
    title: Cycle them
    needs: [look]
    do: {power: {verb: cycle, hosts: "train[001-004]"}}
    danger: true
    expect: {power: {hosts: "train[001-004]", state: on}}
    within: 20s
    back: look at the consoles
  - id: mark
    title: A program runs
    needs: [cycle]
    do: {run: {words: ["true"]}}
    within: 5s
)");
  RandomStream random(8, "kill rescue");
  int killed = 0;
  int resumed = 0;
  const Words rescue = with_access({weft_binary(), "rescue", runbook, cluster_, "--run", "--yes", "--reason", "drill"});
  const std::int64_t whole = whole_time_us(rescue);
  for (int round = 0; round < kills(); ++round) {
    std::vector<std::uint32_t> before;
    for (std::uint32_t i = 0; i < kDevices; ++i) before.push_back(sent(i, SimReset::power_cycle));
    const auto time = std::chrono::microseconds(random.between(1'000, whole));
    killed += killed_after(rescue, time) ? 1 : 0;
    for (const oob::OpenOperation& open : left_open("rescue")) {
      const Outcome outcome = run(with_access(
          {weft_binary(), "rescue", runbook, cluster_, "--resume", open.operation, "--yes", "--reason", "drill"}));
      EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
      ++resumed;
    }
    EXPECT_THAT(left_open(""), testing::IsEmpty()) << "kill " << round;
    for (std::uint32_t i = 0; i < kDevices; ++i) {
      EXPECT_LE(sent(i, SimReset::power_cycle) - before[i], 1U)
          << fleet_->devices()[i].name << " was cycled twice, kill " << round << " after " << time.count() << " us";
    }
  }
  EXPECT_GT(killed, 0);
  std::cout << killed << " kills, " << resumed << " rescues resumed\n";
}

}  // namespace
}  // namespace weft
