// The eyes and hands of power/loop.h on one machine: keeps a session (and opens another one when it is lost), looks at
// a sensible pace, remembers what changed since the last step, and sends steps that the journal has. It never decides
// what to send.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "oob/power/loop.h"

namespace weft::oob {

// What became of a step.
enum class Sent : std::uint8_t {
  accepted,
  maybe,        // no answer, or one that makes no sense: it may have been done
  declined,     // the BMC said no: it was not done
  unsupported,  // the BMC has no such action
  not_sent      // no time left, stopped, no session, or the journal would not take it
};

class PowerWatch {
 public:
  PowerWatch(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const PowerOptions& options,
             const std::string& operation);

  // Waits for its time, then looks once, again after failures. False when there is no more to be had: the time is
  // over, the operator stopped it, or trying on makes no sense.
  bool look();
  // Looks until the same state was told twice. False as above.
  bool look_settled();
  // Waits. False as above.
  bool pause(Duration time);
  [[nodiscard]] bool time_left();
  Sent send(ResetAction action);
  // What the BMC says it can do; empty when it does not say.
  std::vector<ResetAction> actions();
  // Asks the host for its boot id and keeps it as that of before.
  void probe_before();

  // The last state, when it was told twice in a row since the last step.
  [[nodiscard]] bool settled(PowerState state) const { return run_ >= 2 && reading_.state == state; }
  [[nodiscard]] bool settled() const { return run_ >= 2; }
  [[nodiscard]] const PowerReading& reading() const { return reading_; }
  // How long the state has been the same.
  [[nodiscard]] Duration settled_for();
  [[nodiscard]] Duration since_sent();
  [[nodiscard]] Duration now();  // since the loop began

  // From here on, changes are told against `before`.
  void compare_with(const PowerBefore& before);
  [[nodiscard]] PowerBefore now_is() const {
    return {reading_.state, reading_.boot_id, reading_.boot_progress, probe_};
  }
  [[nodiscard]] const PowerBefore& before() const { return before_; }
  // Evidence of a boot since `before`, by the BMC: another boot id, progress that fell back, or off that was seen.
  [[nodiscard]] bool restarted() const { return boot_changed_ || progress_fell_ || off_seen_; }
  // All that a machine that was started anew must show: on, and the boot, by the probe too where there is one.
  [[nodiscard]] bool complete() const;
  // Whether the probe, where there is one, has answered.
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
  // The wait after so many failures: doubled each time, a little at random.
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
  int run_ = 0;                     // looks in a row that told the same state
  std::optional<PowerState> told_;  // the last state among the evidence since the last step
  PowerBefore before_;
  int changed_run_ = 0;
  int fell_run_ = 0;
  bool boot_changed_ = false;
  bool progress_fell_ = false;
  bool off_seen_ = false;
  std::string probe_;  // the host's last answer
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

// The place of a BootProgress.LastState in the order of a boot (Redfish ComputerSystem schema); nothing for others.
[[nodiscard]] std::optional<int> boot_progress_rank(std::string_view state);

}  // namespace weft::oob
