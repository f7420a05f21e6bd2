// Observes and controls one machine for power/loop.h: keeps a session (and reopens it when lost), polls at a limited
// rate, records changes since the last step, and sends journaled steps. It never decides what to send.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "oob/power/loop.h"

namespace weft::oob {

// Result of a step.
enum class Sent : std::uint8_t {
  accepted,
  maybe,        // no response, or an invalid one: it may have been done
  declined,     // the BMC rejected it: it was not done
  unsupported,  // the BMC has no such action
  not_sent      // deadline passed, stopped, no session, or the journal could not be written
};

class PowerWatch {
 public:
  PowerWatch(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const PowerOptions& options,
             const std::string& operation);

  // Waits until the next poll is due, then reads once, with retries after failures. False if the deadline has passed,
  // the operator stopped it, or a retry cannot succeed.
  bool look();
  // Polls until the same state was read twice in a row. False as above.
  bool look_settled();
  // Waits. False as above.
  bool pause(Duration time);
  [[nodiscard]] bool time_left();
  Sent send(ResetAction action);
  // Actions that the BMC reports; empty if it reports none.
  std::vector<ResetAction> actions();
  // Reads the host's boot id and stores it as the id before the step.
  void probe_before();

  // The last state, if it was read twice in a row since the last step.
  [[nodiscard]] bool settled(PowerState state) const { return run_ >= 2 && reading_.state == state; }
  [[nodiscard]] bool settled() const { return run_ >= 2; }
  [[nodiscard]] const PowerReading& reading() const { return reading_; }
  // How long the state has been the same.
  [[nodiscard]] Duration settled_for();
  [[nodiscard]] Duration since_sent();
  [[nodiscard]] Duration now();  // since the loop began

  // From here on, changes are relative to `before`.
  void compare_with(const PowerBefore& before);
  [[nodiscard]] PowerBefore now_is() const {
    return {reading_.state, reading_.boot_id, reading_.boot_progress, probe_};
  }
  [[nodiscard]] const PowerBefore& before() const { return before_; }
  // Evidence of a boot since `before`, from the BMC: a new boot id, boot progress that fell back, or an off state.
  [[nodiscard]] bool restarted() const { return boot_changed_ || progress_fell_ || off_seen_; }
  // Full evidence of a restart: on, and the boot, confirmed by the probe if there is one.
  [[nodiscard]] bool complete() const;
  // Whether the probe, if there is one, has answered.
  [[nodiscard]] bool probe_content() const { return !options_.probe || probe_answered_; }
  // The same state and the same boot id as before: proof that nothing happened.
  [[nodiscard]] bool proven_unchanged() const;

  void add(EvidenceKind kind, std::string text);
  [[nodiscard]] std::vector<Evidence>& evidence() { return evidence_; }
  [[nodiscard]] int sends() const { return sends_; }
  [[nodiscard]] bool reached() const { return reached_; }
  [[nodiscard]] bool answering() const { return reached_ && failures_ == 0; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::string& name() const { return target_.name; }
  [[nodiscard]] const std::optional<Error>& last_error() const { return last_error_; }
  [[nodiscard]] const std::optional<Error>& journal_error() const { return journal_error_; }
  // Backoff after this many failures: doubled each time, with jitter.
  [[nodiscard]] Duration backoff(int failures);

 private:
  bool open();
  void failed(const Error& error);
  void took(const PowerReading& reading);
  void ask_probe();
  [[nodiscard]] Duration pace();

  const Fleet& fleet_;
  std::uint32_t index_;
  const Target& target_;
  PowerVerb verb_;
  const PowerOptions& options_;
  const std::string& operation_;
  RandomStream random_;
  std::unique_ptr<Bmc> bmc_;
  Duration began_;
  Duration last_look_;
  Duration sent_at_;
  Duration state_since_;
  Duration probed_at_;

  PowerReading reading_;
  int run_ = 0;                     // consecutive reads of the same state
  std::optional<PowerState> told_;  // the last state among the evidence since the last step
  PowerBefore before_;
  int changed_run_ = 0;
  int fell_run_ = 0;
  bool boot_changed_ = false;
  bool progress_fell_ = false;
  bool off_seen_ = false;
  std::string probe_;  // the host's last response
  bool probe_changed_ = false;
  bool probe_answered_ = false;
  bool comparing_ = false;

  std::vector<Evidence> evidence_;
  int sends_ = 0;
  int failures_ = 0;  // in a row
  int refusals_ = 0;
  int lost_ = 0;  // sessions
  bool reached_ = false;
  bool stopped_ = false;
  bool gave_up_ = false;
  std::optional<Error> last_error_;
  std::optional<Error> journal_error_;
};

// Position of a BootProgress.LastState in the boot order (Redfish ComputerSystem schema); empty for others.
[[nodiscard]] std::optional<int> boot_progress_rank(std::string_view state);

}  // namespace weft::oob
