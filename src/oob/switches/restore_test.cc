#include "oob/switches/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/random.h"
#include "oob/switches/drift.h"
#include "oob/switches/drift_diff.h"

namespace weft::oob {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kOld = "hostname leaf1\ninterface Ethernet1/1\n  mtu 1500\nvlan 5\n";
const std::string kNew = "hostname leaf1\ninterface Ethernet1/1\n  mtu 9216\nvlan 5\nvlan 6\n";

// A switch in memory that behaves like NX-OS, with a timestamp in its header and injected faults.
class FakeSwitch final : public SwitchTransport {
 public:
  Result<std::string> run(const SwitchDevice& device, const std::string& command, const std::string& input,
                          Duration) override {
    log.push_back(command);
    if (dead) return Error{ErrorCode::unavailable, "no route to host", device.name};
    if (command == "show running-config") {
      if (silent_looks > 0) {
        --silent_looks;
        return Error{ErrorCode::timeout, "took longer than 60s", device.name};
      }
      if (!garbage.empty()) return garbage;
      return "!Command: show running-config\n!Time: " + std::to_string(++asked) + "\n\n" + running;
    }
    if (command.starts_with("scp -t")) {
      // C0600 SIZE NAME, the bytes, a zero
      file = input.substr(input.find('\n') + 1);
      file.pop_back();
      return std::string();
    }
    if (command.starts_with("configure replace")) {
      ++pushes;
      if (refuses) return std::string("% Invalid command at line 3\n");
      if (dies_on_push) {
        dead = true;
        return Error{ErrorCode::unavailable, "connection closed", device.name};
      }
      running = partial_pushes-- > 0 ? file.substr(0, file.size() / 2) : file;
      if (on_push) on_push();
      return std::string();
    }
    if (command == "copy running-config startup-config") {
      if (save_fails) return Error{ErrorCode::refused, "no space", device.name};
      startup = running;
    }
    return std::string();
  }

  std::string running = kOld;
  std::string startup = kOld;
  std::string file;
  std::string garbage;
  int asked = 0;
  int pushes = 0;
  int silent_looks = 0;
  int partial_pushes = 0;
  bool refuses = false;
  bool dies_on_push = false;
  bool save_fails = false;
  bool dead = false;
  std::function<void()> on_push;
  std::vector<std::string> log;
};

class ConfigRestoreTest : public testing::Test {
 protected:
  ConfigRestoreTest()
      : root_(testing::TempDir() + "weft_restore_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        store_(root_, "alice@jump1", clock_) {
    fs::remove_all(root_);
    // The wanted version was stored before and marked good; the running config is another.
    switch_.running = kNew;
    EXPECT_EQ(back_up(fleet_, {device_}, true)[0].state, BackupState::first);
    switch_.running = kOld;
    EXPECT_EQ(back_up(fleet_, {device_}, false)[0].state, BackupState::changed);
  }
  ~ConfigRestoreTest() override { fs::remove_all(root_); }

  RestoreResult restore_it(const RestoreRequest& request = {}) {
    const auto results = restore(fleet_, {device_}, request);
    EXPECT_TRUE(results.ok()) << results.error().text();
    return results.ok() ? results->at(0) : RestoreResult{};
  }
  std::size_t open_count() const { return open_operations(*journal_.read()).size(); }

  std::string root_;
  ManualClock clock_;
  ConfigStore store_;
  FakeSwitch switch_;
  MemoryJournal journal_;
  SwitchFleet fleet_{switch_, store_, clock_, journal_};
  SwitchDevice device_{"leaf1", "192.0.2.1", "oob", find_switch_system("nxos"), "nxos"};
};

TEST_F(ConfigRestoreTest, BackupsReportUnchangedSuspectAndFailed) {
  EXPECT_EQ(back_up(fleet_, {device_}, false)[0].state, BackupState::unchanged);  // only its timestamp changed
  switch_.garbage = "% Invalid input\n";
  const BackupResult suspect = back_up(fleet_, {device_}, false)[0];
  EXPECT_EQ(suspect.state, BackupState::suspect);
  EXPECT_THAT(suspect.message, HasSubstr("output saved in " + root_));
  EXPECT_EQ(store_.versions("leaf1")->size(), 2U);
  switch_.dead = true;
  const BackupResult failed = back_up(fleet_, {device_}, false)[0];
  EXPECT_EQ(failed.state, BackupState::failed);
  EXPECT_EQ(failed.message, "no route to host");
  SwitchDevice odd = device_;
  odd.system = nullptr;
  odd.system_name = "ios-xr";
  EXPECT_THAT(back_up(fleet_, {odd}, false)[0].message, HasSubstr("ios-xr"));
}

TEST_F(ConfigRestoreTest, DoneIsVerifiedAndSaved) {
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::done) << result.message;
  EXPECT_THAT(switch_.running, HasSubstr("vlan 6"));
  EXPECT_EQ(switch_.startup, switch_.running);
  EXPECT_THAT(result.diff, HasSubstr("-  mtu 1500\n+  mtu 9216\n"));
  EXPECT_EQ(open_count(), 0U);
  // The former config is stored for rollback.
  EXPECT_THAT(*store_.read("leaf1", result.former), HasSubstr("mtu 1500"));
  const RestoreResult again = restore_it();
  EXPECT_EQ(again.state, RestoreState::done);
  EXPECT_EQ(again.message, "already running");
  EXPECT_EQ(switch_.pushes, 1);
}

TEST_F(ConfigRestoreTest, PlanChangesNothing) {
  const RestoreResult plan = plan_restore(fleet_, device_, {});
  EXPECT_EQ(plan.message, "1 lines removed, 2 added");
  EXPECT_THAT(plan.diff, HasSubstr("+vlan 6"));
  EXPECT_EQ(switch_.pushes, 0);
  EXPECT_EQ(store_.versions("leaf1")->size(), 2U);
}

TEST_F(ConfigRestoreTest, RefusedPushLeavesFormerConfigRunning) {
  switch_.refuses = true;
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::not_done);
  EXPECT_THAT(result.message, HasSubstr("still runs the previous configuration"));
  EXPECT_THAT(result.message, HasSubstr("% Invalid command at line 3"));
  EXPECT_EQ(switch_.pushes, 1);
}

TEST_F(ConfigRestoreTest, PartialPushIsRolledBack) {
  switch_.partial_pushes = 1;
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::not_done);
  EXPECT_THAT(result.message, HasSubstr("rolled back to the previous configuration"));
  EXPECT_EQ(switch_.pushes, 2);
  EXPECT_THAT(switch_.running, HasSubstr("mtu 1500"));
  EXPECT_EQ(switch_.startup, kOld);  // no partial config was saved
}

TEST_F(ConfigRestoreTest, FailedOrDisabledRollbackIsUnknown) {
  switch_.partial_pushes = 2;
  RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::unknown);
  EXPECT_THAT(result.message, HasSubstr("the rollback failed too"));
  EXPECT_THAT(result.advice, HasSubstr(store_.path_of("leaf1", result.former)));
  switch_.running = kOld;
  switch_.partial_pushes = 1;
  switch_.pushes = 0;
  result = restore_it({.back = false});
  EXPECT_EQ(result.state, RestoreState::unknown);
  EXPECT_EQ(switch_.pushes, 1);
}

TEST_F(ConfigRestoreTest, DeadSwitchIsUnknownWithinTheLimit) {
  switch_.dies_on_push = true;
  const Duration start = clock_.now();
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::unknown);
  EXPECT_THAT(result.advice, HasSubstr("weft oob console"));
  EXPECT_LE(clock_.now() - start, milliseconds(240'000));  // two timeouts: the push and the rollback
  EXPECT_EQ(open_count(), 0U);
}

TEST_F(ConfigRestoreTest, SlowSwitchIsPolledUntilItShowsTheConfig) {
  switch_.on_push = [&] { switch_.silent_looks = 5; };
  EXPECT_EQ(restore_it().state, RestoreState::done);
}

TEST_F(ConfigRestoreTest, ConfigThatCannotBeStoredIsNotReplaced) {
  switch_.garbage = "ERROR: database is locked\n";
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::not_done);
  EXPECT_THAT(result.message, HasSubstr("a rollback would be impossible"));
  EXPECT_EQ(switch_.pushes, 0);
}

TEST_F(ConfigRestoreTest, DoneButNotSavedIsReported) {
  switch_.save_fails = true;
  const RestoreResult result = restore_it();
  EXPECT_EQ(result.state, RestoreState::done);
  EXPECT_THAT(result.advice, HasSubstr("copy running-config startup-config"));
}

TEST_F(ConfigRestoreTest, StopBeforeThePushSendsNothing) {
  clock_.stop();
  EXPECT_THAT(restore_it().message, HasSubstr("not started"));
  EXPECT_EQ(switch_.pushes, 0);
}

// A journal that fails from a given entry on, like a SIGKILL there. For every entry, the next run finds the operation,
// reads the switch, and repeats no push.
class BreakingJournal final : public Journal {
 public:
  Status append(JournalEntry entry) override {
    if (left-- <= 0) return Error{ErrorCode::unavailable, "gone", "journal"};
    return inner.append(std::move(entry));
  }
  Result<std::vector<JournalEntry>> read() const override { return inner.read(); }
  const std::string& path() const override { return inner.path(); }
  std::string head() const override { return inner.head(); }
  MemoryJournal inner;
  int left = 0;
};

TEST_F(ConfigRestoreTest, InterruptedRestoreIsVerifiedNotRepeated) {
  for (int lines = 0; lines < 5; ++lines) {
    BreakingJournal journal;
    journal.left = lines;
    switch_.running = kOld;
    switch_.pushes = 0;
    SwitchFleet fleet{switch_, store_, clock_, journal};
    (void)restore(fleet, {device_}, {});
    journal.left = 1000;
    // begin, intent, outcome, end: a push needs the intent on disk
    EXPECT_EQ(switch_.pushes, lines >= 2 ? 1 : 0) << lines;
    const Result<std::vector<RestoreResult>> refused = restore(fleet, {device_}, {});
    const bool device_open = lines == 1 || lines == 2;
    EXPECT_EQ(refused.ok(), !device_open) << lines;
    const int pushes = switch_.pushes;
    const Result<std::vector<RestoreResult>> resumed = resume_restores(fleet, {device_});
    ASSERT_TRUE(resumed.ok());
    EXPECT_EQ(switch_.pushes, pushes) << lines;
    EXPECT_EQ(resumed->size(), device_open ? 1U : 0U) << lines;
    if (device_open) {
      EXPECT_EQ(resumed->at(0).state, lines == 1 ? RestoreState::not_done : RestoreState::done);
    }
    EXPECT_TRUE(open_operations(*journal.read()).empty()) << lines;
  }
}

TEST_F(ConfigRestoreTest, ResumeReportsAPartialPush) {
  BreakingJournal journal;
  journal.left = 2;
  switch_.partial_pushes = 9;
  SwitchFleet fleet{switch_, store_, clock_, journal};
  (void)restore(fleet, {device_}, {});
  journal.left = 1000;
  const auto resumed = resume_restores(fleet, {device_});
  ASSERT_EQ(resumed->size(), 1U);
  EXPECT_EQ(resumed->at(0).state, RestoreState::unknown);
  EXPECT_THAT(resumed->at(0).advice, HasSubstr("--to"));
}

TEST_F(ConfigRestoreTest, DriftIsFoundInThreeWayComparison) {
  DriftResult result = find_drift(fleet_, {device_}, {})[0];
  EXPECT_EQ(result.state, DriftState::drifted);
  EXPECT_TRUE(result.marked_good);
  EXPECT_EQ(result.removed, 2U);
  EXPECT_EQ(result.added, 1U);
  EXPECT_THAT(result.diff, HasSubstr("-  mtu 9216\n+  mtu 1500\n"));
  switch_.running = kNew;
  EXPECT_EQ(find_drift(fleet_, {device_}, {})[0].state, DriftState::none);
  // The latest backup is still the old one.
  EXPECT_EQ(find_drift(fleet_, {device_}, {.offline = true})[0].state, DriftState::drifted);
  fs::create_directories(root_ + "/tree/nxos");
  std::ofstream(root_ + "/tree/nxos/leaf1.cfg")
      << "! made by weft\nhostname leaf1\n\ninterface Ethernet1/1\n   mtu  9216\nvlan 7\n";
  result = find_drift(fleet_, {device_}, {.rendered = root_ + "/tree"})[0];
  EXPECT_EQ(result.state, DriftState::drifted);
  EXPECT_THAT(result.missing_statements, testing::ElementsAre("vlan 7"));
  EXPECT_THAT(result.extra_statements, testing::ElementsAre("vlan 5", "vlan 6"));
  switch_.dead = true;
  EXPECT_EQ(find_drift(fleet_, {device_}, {})[0].state, DriftState::unknown);
  EXPECT_EQ(find_drift(fleet_, {device_}, {.offline = true, .rendered = "/nowhere"})[0].state, DriftState::drifted);
}

// Diffs of written and random texts: applying the diff to the first text gives the second, and no smaller set of edits
// exists (computed by dynamic programming).
std::size_t fewest_edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
      } else {
        cost[i][j] = a[i - 1] == b[j - 1] ? cost[i - 1][j - 1] : 1 + std::min(cost[i - 1][j], cost[i][j - 1]);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Applies a unified diff by its own rules; "" if a line does not match.
std::string patched(const std::string& before, const std::string& diff) {
  std::vector<std::string> lines;
  std::istringstream in(before);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string out;
  std::size_t at = 0;
  std::istringstream patch(diff);
  for (std::string line; std::getline(patch, line);) {
    if (line.starts_with("---") || line.starts_with("+++")) continue;
    if (line.starts_with("@@")) {
      const std::size_t comma = line.find_first_of(", ", 4);
      std::size_t start = std::stoul(line.substr(4, comma - 4));
      const bool none = line[comma] == ',' && line.substr(comma + 1, 2) == "0 ";
      if (!none) --start;
      while (at < start) out += lines[at++] + "\n";
    } else if (line[0] == '+') {
      out += line.substr(1) + "\n";
    } else {
      if (at >= lines.size() || lines[at] != line.substr(1)) return {};
      if (line[0] == ' ') out += lines[at] + "\n";
      ++at;
    }
  }
  while (at < lines.size()) out += lines[at++] + "\n";
  return out;
}

TEST(ConfigDiff, IsCorrectAndMinimal) {
  RandomStream random(3, "diff");
  for (int round = 0; round < 300; ++round) {
    const auto draw = [&] {
      std::vector<std::string> lines(random.below(40));
      for (std::string& line : lines) line = "line " + std::to_string(random.below(12));
      return lines;
    };
    const std::vector<std::string> a = draw();
    std::vector<std::string> b = random.chance(0.5) ? a : draw();
    for (int i = 0; i < 3 && !b.empty(); ++i) b[random.below(b.size())] = "changed " + std::to_string(i);
    const TextDiff diff = unified_diff(text_of(a), text_of(b), "a", "b");
    EXPECT_EQ(diff.removed + diff.added, fewest_edits(a, b));
    EXPECT_EQ(patched(text_of(a), diff.text), text_of(b)) << diff.text;
    // Beyond the bound it is still correct.
    EXPECT_EQ(patched(text_of(a), unified_diff(text_of(a), text_of(b), "a", "b", 1).text), text_of(b));
  }
  EXPECT_TRUE(unified_diff("a\nb\n", "a\nb\n", "x", "y").empty());
}

TEST(ConfigDiff, MatchesGnuDiff) {
  // diff -u of the same two files (GNU diffutils 3.8), without headers
  const std::string a = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
  const std::string b = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n";
  EXPECT_EQ(
      unified_diff(a, b, "a", "b").text,
      "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n");
  // Six lines between two changes are shown once.
  EXPECT_EQ(unified_diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "a", "b").text,
            "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
  EXPECT_EQ(unified_diff("", "x\n", "a", "b").text, "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
}

}  // namespace
}  // namespace weft::oob
