// Brings one machine to a power state in a closed loop: read the state, write the intent to the journal, send, and poll
// until there is evidence. "Accepted" is not "done": BMCs accept and do nothing, end a reset as off, or report wrong
// states for a while. Idempotent actions (on, off, soft) are retried; a cycle or a reset is repeated only if the
// previous one is proven to have had no effect. Ends as done, not done or unknown; the last two tell the operator what
// to do.
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
  cycle,  // PowerCycle, or ForceOff, wait, On if the BMC has none
  reset   // ForceRestart
};
inline constexpr int kPowerVerbs = 5;

enum class PowerEnd : std::uint8_t { done, not_done, unknown };

enum class EvidenceKind : std::uint8_t {
  state_seen,       // in two consecutive reads
  accepted,         // the BMC accepted a reset
  declined,         // the BMC rejected it
  no_answer,        // a reset was sent; unknown whether it arrived
  no_effect,        // state and boot id unchanged for the whole window
  boot_id_changed,  // as reported by the BMC
  boot_progress,    // fell back to an earlier stage
  probe,            // the host itself reported a boot id
  session           // a session was lost
};

struct Evidence {
  EvidenceKind kind = EvidenceKind::state_seen;
  Duration at{};  // since the loop began
  std::string text{};
};

// State of a machine before a step: journaled with the intent, to judge the outcome of an interrupted loop.
struct PowerBefore {
  PowerState state = PowerState::unknown;
  std::string boot_id{};
  std::string boot_progress{};
  std::string probe{};
};

// The last intent of an interrupted loop. Whether the step was sent is unknown.
struct PowerResume {
  ResetAction action = ResetAction::on;
  PowerBefore before{};
};

struct PowerOptions {
  // Deadline for one machine; nothing is sent after it. The last request may end after it.
  Duration deadline = milliseconds(300'000);
  // Poll interval: short at first, because a cycle may be over in a second (IPMI 2.0, 28.3), then longer, to limit the
  // load on the BMC.
  Duration look_first = milliseconds(250);
  Duration look_fast_for = milliseconds(5'000);
  Duration look_every = milliseconds(2'000);
  // An accepted cycle or reset without visible effect for this long had none, if the boot id confirms it. Slow BMCs
  // take up to half a minute to act.
  Duration silent_window = milliseconds(60'000);
  // A machine that stays off for this long after a cycle or a reset was left off by it.
  Duration off_window = milliseconds(20'000);
  // Between off and on if the two are sent separately: the supplies must discharge or the machine does not notice. IPMI
  // 2.0, 28.3 requires at least one second; large supplies with their capacitors need more.
  Duration hold = milliseconds(5'000);
  // Backoff of idempotent actions: first retry after this, then twice this, and so on.
  Duration repeat_after = milliseconds(15'000);
  // Backoff after a failed request: doubled each time up to the limit, each shortened at random by up to one half
  // (jitter).
  Duration first_backoff = milliseconds(1'000);
  Duration most_backoff = milliseconds(30'000);
  int most_sends = 5;      // of one action
  bool force = false;      // soft: ForceOff after two thirds of the time
  bool finish_on = false;  // reset: power on a machine that it left off; a cycle always does
  // Reads the boot id from the host itself. If set, on, cycle and reset are done only after the host has reported a
  // boot id that differs from the previous one, if that is known.
  std::function<Result<std::string>(const std::string& host, Duration limit)> probe{};
  Duration probe_every = milliseconds(5'000);
  std::uint64_t seed = 1;
};

struct PowerOutcome {
  PowerEnd end = PowerEnd::unknown;
  std::string reason{};  // "was already on", "is still off after 3 attempts"
  std::string next{};    // what the operator must do; empty when done
  std::vector<Evidence> evidence{};
  Duration took{};
  int sends = 0;
  bool reached = false;    // the BMC reported its power state at least once
  bool stopped = false;    // stopped by the operator: no outcome in the journal, can be resumed
  bool journalled = true;  // false: the outcome could not be journaled
};

// Journals intents, observations and the outcome under `operation`. `resume`: journal state of an earlier attempt.
[[nodiscard]] PowerOutcome run_power(const Fleet& fleet, std::uint32_t target, PowerVerb verb,
                                     const PowerOptions& options, const std::string& operation,
                                     const PowerResume* resume = nullptr);

// Journals the outcome of a device for which nothing ran. False if the journal could not be written.
[[nodiscard]] bool record_outcome(const Fleet& fleet, std::uint32_t target, PowerVerb verb,
                                  const std::string& operation, const PowerOutcome& outcome);

// A probe that runs a program: "ssh %h cat /proc/sys/kernel/random/boot_id"; every %h becomes the host name. The first
// line of output is the boot id.
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
// From an intent in the journal; empty if it is not a power intent.
[[nodiscard]] std::optional<PowerResume> resume_of(const JournalEntry& intent);
// "0.5s accepted: PowerCycle; 1.2s state: off"
[[nodiscard]] std::string evidence_text(const std::vector<Evidence>& evidence);

}  // namespace weft::oob
