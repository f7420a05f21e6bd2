// The closed loop of a firmware update against a scripted BMC, on a manual clock: each fault, and a kill at every step.
#include "oob/firmware/loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "oob/firmware/fake_updater.h"

namespace weft::oob {
namespace {

class FirmwareLoop : public testing::Test {
 protected:
  FirmwareLoop() {
    options_.image = {"bmc.bin", "2.0", "hash", {}};
    options_.component = "BMC";
    options_.expected = "2.0";
  }
  UpdateOutcome update() { return run_update(fleet_, 0, options_, kOperation); }
  // What a later process knows: the journal alone.
  std::optional<UpdateResume> known() const {
    std::optional<UpdateResume> resume;
    const Result<std::vector<JournalEntry>> entries = journal_.read();
    for (const JournalEntry& entry : *entries) add_to_resume(entry, resume);
    return resume;
  }
  std::size_t outcomes() const {
    const Result<std::vector<JournalEntry>> entries = journal_.read();
    return static_cast<std::size_t>(std::count_if(
        entries->begin(), entries->end(), [](const JournalEntry& entry) { return entry.phase == Phase::outcome; }));
  }

  const std::string kOperation = "0123456789abcdef";
  ManualClock clock_;
  FakeUpdater box_{clock_};
  StepJournal journal_{box_.kill};
  FakeUpdaterConnector connector_{box_};
  FakeCredentials credentials_;
  Inventory inventory_{{fake_target("train001")}, {}};
  Fleet fleet_{inventory_, connector_, credentials_, clock_, journal_, 1};
  UpdateOptions options_;
};

TEST_F(FirmwareLoop, VersionIsReadAfterTheRestart) {
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::done);
  EXPECT_EQ(outcome.reason, "BMC 1.0 to 2.0");
  EXPECT_FALSE(outcome.half_flashed);
  EXPECT_EQ(box_.pushes, 1);
  EXPECT_GE(outcome.took, box_.flash + box_.restart);
  EXPECT_NE(outcome.evidence.find("no answer"), std::string::npos) << outcome.evidence;
}

TEST_F(FirmwareLoop, SameVersionIsNotSent) {
  box_.version = "2.0";
  EXPECT_EQ(update().end, UpdateEnd::done);
  EXPECT_EQ(box_.pushes, 0);
}

TEST_F(FirmwareLoop, ChecksRefuseBeforeAnythingIsSent) {
  box_.power = PowerState::on;
  EXPECT_EQ(update().end, UpdateEnd::not_done);
  box_.power = PowerState::off;
  options_.component = "NIC*";
  EXPECT_EQ(update().reason, "has no component NIC*");
  options_.component = "BMC";
  options_.image.bytes = std::string(1001, 'x');
  EXPECT_EQ(update().end, UpdateEnd::not_done);
  options_.image.bytes = "2.0";
  FirmwareBaseline baseline;
  baseline.components.push_back({{"", "", "BMC"}, "", "2.1"});
  options_.baseline = &baseline;
  EXPECT_EQ(update().end, UpdateEnd::not_done);
  EXPECT_EQ(box_.pushes, 0);
  EXPECT_FALSE(known().has_value());
}

TEST_F(FirmwareLoop, DeclinedImageIsNotHalfFlashed) {
  box_.declines = true;
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::not_done);
  EXPECT_FALSE(outcome.half_flashed);
}

TEST_F(FirmwareLoop, CompletedWithoutEffectIsNotDone) {
  box_.unchanged = true;
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::not_done);
  EXPECT_TRUE(outcome.half_flashed);
  EXPECT_EQ(box_.pushes, 1);
}

TEST_F(FirmwareLoop, LostTaskIsJudgedByTheVersion) {
  box_.loses_task = true;
  EXPECT_EQ(update().end, UpdateEnd::done);
}

TEST_F(FirmwareLoop, LostTaskAndVersionUnchangedIsUnknown) {
  box_.loses_task = true;
  box_.unchanged = true;
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::unknown);
  EXPECT_TRUE(outcome.half_flashed);
  EXPECT_EQ(box_.pushes, 1);
}

TEST_F(FirmwareLoop, StuckTaskEndsAtTheDeadline) {
  box_.stuck = true;
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::unknown);
  EXPECT_TRUE(outcome.half_flashed);
  EXPECT_EQ(outcome.reason, "the task has not ended: Running");
  EXPECT_LE(outcome.took, options_.deadline + options_.look_every);
}

TEST_F(FirmwareLoop, LostAnswerFindsTheTaskAndIsNotSentAgain) {
  box_.drops_answer = true;
  EXPECT_EQ(update().end, UpdateEnd::done);
  EXPECT_EQ(box_.pushes, 1);
}

TEST_F(FirmwareLoop, LostAnswerWithoutTaskIsUnknownIfNothingChanges) {
  box_.drops_answer = true;
  box_.lists_tasks = false;
  box_.unchanged = true;
  const UpdateOutcome outcome = update();
  EXPECT_EQ(outcome.end, UpdateEnd::unknown);
  EXPECT_TRUE(outcome.half_flashed);
  EXPECT_EQ(box_.pushes, 1);
}

TEST_F(FirmwareLoop, FailedFlashIsRolledBack) {
  box_.fails = box_.breaks = true;
  options_.rollback = FirmwareImage{"old.bin", "1.0", "hash", {}};
  const UpdateOutcome broken = update();
  EXPECT_EQ(box_.images, (std::vector<std::string>{"2.0", "1.0"}));
  EXPECT_TRUE(broken.half_flashed);  // this BMC flashes nothing, the rollback neither
  EXPECT_EQ(broken.end, UpdateEnd::not_done);
}

TEST_F(FirmwareLoop, RollbackRestoresTheVersion) {
  // Another version than the one that was expected is a proven failure.
  options_.expected = "2.1";
  options_.rollback = FirmwareImage{"old.bin", "1.0", "hash", {}};
  const UpdateOutcome outcome = update();
  EXPECT_EQ(box_.images, (std::vector<std::string>{"2.0", "1.0"}));
  EXPECT_EQ(outcome.end, UpdateEnd::not_done);
  EXPECT_FALSE(outcome.half_flashed);
  EXPECT_EQ(box_.version, "1.0");
}

TEST_F(FirmwareLoop, UnknownIsNeverRolledBack) {
  box_.stuck = true;
  options_.rollback = FirmwareImage{"old.bin", "1.0", "hash", {}};
  EXPECT_EQ(update().end, UpdateEnd::unknown);
  EXPECT_EQ(box_.pushes, 1);
}

TEST_F(FirmwareLoop, PartlyReadInventoryIsNoEvidence) {
  const UpdateOutcome read = [&] {
    box_.broken_read = Error{ErrorCode::invalid_input, "sent an invalid response", {}};
    return update();
  }();
  EXPECT_EQ(read.end, UpdateEnd::not_done);
  EXPECT_EQ(box_.pushes, 0);
}

// Killed at each step, before or after its effect; the next process knows only the journal. A machine that
// received an image is in the journal with an intent, no image is sent a second time, and the end is what the machine
// says.

TEST_F(FirmwareLoop, KilledAtEveryStep) {
  options_.deadline = milliseconds(300'000);
  int rounds = 0;
  for (const bool after : {false, true}) {
    for (const bool is_stuck : {false, true}) {
      for (int at = 1;; ++at) {
        ManualClock clock;
        FakeUpdater box{clock};
        box.stuck = is_stuck;
        box.kill.at = at;
        box.kill.after = after;
        StepJournal journal{box.kill};
        FakeUpdaterConnector connector{box};
        const Fleet fleet{inventory_, connector, credentials_, clock, journal, 1};
        bool killed = false;
        UpdateOutcome outcome;
        try {
          outcome = run_update(fleet, 0, options_, kOperation);
        } catch (const UpdateKilled&) {
          killed = true;
        }
        box.kill.at = 0;
        if (!killed && box.kill.steps < at) break;
        if (!killed) continue;  // a step without an effect to be killed after
        ++rounds;
        std::optional<UpdateResume> resume;
        bool settled = false;
        const Result<std::vector<JournalEntry>> entries = journal.read();
        for (const JournalEntry& entry : *entries) {
          add_to_resume(entry, resume);
          settled = settled || entry.phase == Phase::outcome;
        }
        ASSERT_LE(box.pushes, 1);
        if (box.pushes > 0) {
          ASSERT_TRUE(resume.has_value()) << "step " << at << ": an image was sent without an intent";
        }
        if (settled || !resume) continue;
        const int pushes = box.pushes;
        outcome = run_update(fleet, 0, options_, kOperation, &*resume);
        EXPECT_EQ(box.pushes, pushes) << "step " << at << ": sent again";
        const bool is_flashed = box.version == "2.0" && box.health == Health::ok && !box.is_flashing();
        EXPECT_EQ(outcome.end, is_flashed ? UpdateEnd::done : UpdateEnd::unknown) << "step " << at << outcome.reason;
        EXPECT_EQ(outcome.half_flashed, !is_flashed) << "step " << at;
      }
    }
  }
  EXPECT_GT(rounds, 60);
}

}  // namespace
}  // namespace weft::oob
