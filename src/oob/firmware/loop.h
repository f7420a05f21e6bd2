// Updates the firmware of one machine in a closed loop: check, write the intent to the journal, send the image once,
// follow the BMC's task, survive the restart of the BMC, and read the versions afterwards. "Completed" is not done:
// BMCs complete without flashing, lose the task when they restart, and never end it. Done is the expected version in
// good health, read twice. An image is never sent again after an unknown outcome: two flashes at once destroy a BMC.
// What may have been flashed and is not verified is named as such ("may be half-flashed").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/firmware.h"
#include "oob/bmc/fleet.h"
#include "oob/firmware/baseline.h"
#include "oob/firmware/versions.h"

namespace weft::oob {

inline constexpr std::string_view kFirmwareVerb = "firmware.update";

struct FirmwareImage {
  std::string name;  // of the file
  std::string bytes;
  std::string sha256;
  std::string uri;  // for SimpleUpdate: the BMC fetches it; bytes are then empty
};

struct UpdateOptions {
  FirmwareImage image{};
  std::optional<FirmwareImage> rollback{};  // sent if the update is proven to have failed
  std::string component{};                  // pattern; empty: the image contains what it is for
  std::string expected{};                   // version; empty: another one than before
  ApplyTime apply_time = ApplyTime::unset;
  bool force = false;  // also on a running machine, of the same version, or if the BMC calls it not updateable
  const FirmwareBaseline* baseline = nullptr;
  Duration deadline = milliseconds(30 * 60'000);  // of one machine; nothing is sent after it
  Duration upload = milliseconds(10 * 60'000);
  Duration look_every = milliseconds(5'000);
  // An unchanged version counts after the BMC has answered for this long since its task ended: it may restart first.
  Duration quiet = milliseconds(120'000);
};

enum class UpdateEnd : std::uint8_t { done, staged, not_done, unknown };

// The last step of an interrupted loop, from the journal. Whether the image was sent is unknown.
struct UpdateResume {
  bool rollback = false;
  ComponentVersions before{};
  ComponentVersions first{};         // before the update, if this is the rollback
  std::vector<std::string> tasks{};  // that the BMC had before
  std::string task{};                // of the update; empty: not known
};

struct UpdateOutcome {
  UpdateEnd end = UpdateEnd::unknown;
  std::string reason{};
  std::string next{};         // what the operator must do; empty when done
  std::string evidence{};     // "task Completed; BMC 2.14.0 to 2.15.0"
  bool half_flashed = false;  // may be: an image may have been received and its effect is not verified
  bool reached = false;       // the BMC answered at least once
  bool stopped = false;       // by the operator: no outcome in the journal, can be resumed
  bool journalled = true;
  Duration took{};
};

[[nodiscard]] UpdateOutcome run_update(const Fleet& fleet, std::uint32_t target, const UpdateOptions& options,
                                       const std::string& operation, const UpdateResume* resume = nullptr);
// Reads and checks, and sends nothing: what the update of this machine would do, or why it is refused.
[[nodiscard]] Result<std::string> preview_update(const Fleet& fleet, std::uint32_t target,
                                                 const UpdateOptions& options);
// Journals an outcome of a machine for which nothing ran. False if the journal could not be written.
[[nodiscard]] bool record_update(const Fleet& fleet, const std::string& device, const std::string& operation,
                                 const UpdateOutcome& outcome);
// Takes an entry of the journal into account.
void add_to_resume(const JournalEntry& entry, std::optional<UpdateResume>& resume);

[[nodiscard]] std::string_view to_text(UpdateEnd end);
[[nodiscard]] std::optional<UpdateEnd> update_end_named(std::string_view text);

}  // namespace weft::oob
