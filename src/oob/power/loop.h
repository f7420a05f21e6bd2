// One machine brought to another power state, as a closed loop: look, announce in the journal, send, and look until
// there is evidence. "Accepted" is not "done": BMCs accept and do nothing, end a reset as off, or lie for a while. What
// may be repeated is repeated (on, off, soft); a cycle or a reset never is, unless it is proven that the one before had
// no effect. Ends in done, not done or unknown; the last two say what a person must do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fleet.h"

namespace weft::oob {

enum class PowerVerb : std::uint8_t {
  on,
  off,    // ForceOff
  soft,   // GracefulShutdown
  cycle,  // PowerCycle, or ForceOff, wait, On where the BMC has none
  reset   // ForceRestart
};
inline constexpr int kPowerVerbs = 5;

enum class PowerEnd : std::uint8_t { done, not_done, unknown };

enum class EvidenceKind : std::uint8_t {
  state_seen,       // in two looks one after the other
  accepted,         // the BMC took a reset
  declined,         // the BMC answered that it will not
  no_answer,        // a reset was sent, whether it arrived is not known
  no_effect,        // state and boot id stayed as they were for the whole window
  boot_id_changed,  // as the BMC tells it
  boot_progress,    // fell back to an earlier stage
  probe,            // the host itself told a boot id
  session           // a session was lost
};

struct Evidence {
  EvidenceKind kind = EvidenceKind::state_seen;
  Duration at{};  // since the loop began
  std::string text{};
};

// How a machine was before a step: kept in the journal with the intent, so that a loop that died can be judged.
struct PowerBefore {
  PowerState state = PowerState::unknown;
  std::string boot_id{};
  std::string boot_progress{};
  std::string probe{};
};

// The last intent of a loop that died. Nothing is known of whether the step was sent.
struct PowerResume {
  ResetAction action = ResetAction::on;
  PowerBefore before{};
};

struct PowerOptions {
  // For the whole of one machine; nothing is sent after it. The last request may end after it.
  Duration deadline = milliseconds(300'000);
  // Between looks: at first quickly, because a cycle may be over in a second (IPMI 2.0, 28.3), then slowly, because a
  // BMC is a small computer.
  Duration look_first = milliseconds(250);
  Duration look_fast_for = milliseconds(5'000);
  Duration look_every = milliseconds(2'000);
  // An accepted cycle or reset of which nothing is seen for so long had no effect, if the boot id says so too. Slow
  // BMCs take up to half a minute to act.
  Duration silent_window = milliseconds(60'000);
  // A machine that stays off for so long after a cycle or a reset was left off by it.
  Duration off_window = milliseconds(20'000);
  // Between off and on where the two are sent one by one: supplies must run down or the machine does not notice. IPMI
  // 2.0, 28.3 asks for one second at least; large supplies with their capacitors want more.
  Duration hold = milliseconds(5'000);
  // What may be repeated is sent again after this, then twice this, and so on.
  Duration repeat_after = milliseconds(15'000);
  // After a failed request: doubled each time, up to the limit, each time shortened by up to a half at random.
  Duration first_backoff = milliseconds(1'000);
  Duration most_backoff = milliseconds(30'000);
  int most_sends = 5;      // of one action
  bool force = false;      // soft: ForceOff when two thirds of the time have passed
  bool finish_on = false;  // reset: a machine that it left off is switched on; a cycle always does
  // Asks the host itself for its boot id. When there is one, on, cycle and reset are done only when it has answered,
  // with another id than before where that is known.
  std::function<Result<std::string>(const std::string& host, Duration limit)> probe{};
  Duration probe_every = milliseconds(5'000);
  std::uint64_t seed = 1;
};

struct PowerOutcome {
  PowerEnd end = PowerEnd::unknown;
  std::string reason{};  // "was already on", "is still off after 3 attempts"
  std::string next{};    // what a person must do; empty when done
  std::vector<Evidence> evidence{};
  Duration took{};
  int sends = 0;
  bool reached = false;    // the BMC told its power state at least once
  bool stopped = false;    // the operator stopped it: no outcome is in the journal, it can be resumed
  bool journalled = true;  // false: its end could not be written down
};

// Writes intents, what was seen and the outcome under `operation`. `resume`: what the journal has of an earlier try.
[[nodiscard]] PowerOutcome run_power(const Fleet& fleet, std::uint32_t target, PowerVerb verb,
                                     const PowerOptions& options, const std::string& operation,
                                     const PowerResume* resume = nullptr);

// Writes the end of a device for which nothing ran. False when the journal would not take it.
[[nodiscard]] bool record_outcome(const Fleet& fleet, std::uint32_t target, PowerVerb verb,
                                  const std::string& operation, const PowerOutcome& outcome);

// A probe that runs a program: "ssh %h cat /proc/sys/kernel/random/boot_id"; every %h becomes the host's name. The
// first line that it prints is the boot id.
[[nodiscard]] Result<std::function<Result<std::string>(const std::string&, Duration)>> program_probe(
    std::string_view command, Clock& clock);

// Journal verb: "power.cycle".
[[nodiscard]] std::string journal_verb(PowerVerb verb);
[[nodiscard]] std::optional<PowerVerb> power_verb_of_journal(std::string_view text);
[[nodiscard]] std::string_view to_text(PowerVerb verb);
[[nodiscard]] std::string_view to_text(PowerEnd end);  // "done", "not done", "unknown"
[[nodiscard]] std::string_view to_text(EvidenceKind kind);
[[nodiscard]] std::optional<PowerVerb> power_verb_named(std::string_view text);
[[nodiscard]] std::optional<PowerEnd> power_end_named(std::string_view text);
// Of an intent in the journal; nothing when it is not one of ours.
[[nodiscard]] std::optional<PowerResume> resume_of(const JournalEntry& intent);
// "0.5s accepted: PowerCycle; 1.2s state: off"
[[nodiscard]] std::string evidence_text(const std::vector<Evidence>& evidence);

}  // namespace weft::oob
