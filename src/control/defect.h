// Deliberate defects, for tests of the simulator only: each is a bug that a control plane of the field has had, or
// could have. The simulator must find every one of them. Product code always runs with Defect::none.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::control {

enum class Defect : std::uint8_t {
  none,
  believe_scheduler,       // slurm-bridge #36: a stop that was accepted frees the GPUs
  believe_disappearance,   // slurm-bridge #43: what a list does not show has ended
  repair_after_uncordon,   // NVSentinel #121: a canceled drain goes on to the power cycle
  old_evidence,            // NVSentinel #1347: events of ended sessions count after a restart
  cancel_without_session,  // NVSentinel #1451: an uncordon seen before the session cancels it
  retry_power,             // NVSentinel #1805: an ambiguous power cycle is sent again
  no_validation_deadline,  // NVSentinel #1854: a lost answer leaves the node cordoned
  expiring_lease,          // an attempt counts as gone after a timeout
  retry_ambiguous_start,   // the start is sent again under the same operation
  unreserved_start,        // the start is sent without a record
  cordon_without_owner,    // removes a cordon of someone else
  old_boot,                // a stale report of an earlier boot counts as a reboot
  unknown_is_healthy,      // a silent node keeps accepting work
  no_breaker,              // repairs any number of nodes
  breaker_forgets,         // a restart resets the count of nodes out
  unverified_checkpoint,   // restores the newest checkpoint without verification
  count_node_failures,     // node failures use up the job's budget
  lose_cancel,             // a cancel during the start is dropped
  old_attempt_report,      // NVIDIA Recovery: a report of an earlier attempt counts for the current one
  no_stop_repeat,          // a lost stop is never repeated
  trust_journal,           // after a restart, nodes are used before it is known what runs there
  restart_on_recovery,     // a start interrupted by a crash is sent again
  ignore_key,              // a repeated submission is a second job
  ignore_orphans,          // an ended attempt that runs is not stopped
  resume_drained,          // a repaired node is returned although a person drained it
  stale_evidence_power,    // power cycles on evidence that is too old
  act_before_journal,      // the loop sends commands before the records are durable
  answer_before_journal,   // the loop answers requests before the records are durable
  ignore_boot_in_start,    // starts with the boot id of the report before the last
  drop_last_seal,          // ends an attempt while one part may still run
};
inline constexpr std::uint8_t kDefects = 31;
[[nodiscard]] std::string_view to_text(Defect defect);

}  // namespace weft::control
