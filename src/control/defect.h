// Deliberate defects, for tests of the simulator only: each is a bug that a control plane of the field has had, or
// could have. The simulator must find every one of them. Product code always runs with Defect::none.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::control {

enum class Defect : std::uint8_t {
  none,
  believe_scheduler,         // slurm-bridge #36: a stop that was accepted frees the GPUs
  believe_disappearance,     // slurm-bridge #43: what a list does not show has ended
  repair_after_uncordon,     // NVSentinel #121: a canceled drain goes on to the power cycle
  old_evidence,              // NVSentinel #1347: events of ended sessions count after a restart
  cancel_without_session,    // NVSentinel #1451: an uncordon seen before the session cancels it
  retry_power,               // NVSentinel #1805: an ambiguous power cycle is sent again
  no_validation_deadline,    // NVSentinel #1854: a lost answer leaves the node cordoned
  expiring_lease,            // an attempt counts as gone after a timeout
  retry_ambiguous_start,     // the start is sent again under the same operation
  unreserved_start,          // the start is sent without a record
  cordon_without_owner,      // removes a cordon of someone else
  old_boot,                  // a stale report of an earlier boot counts as a reboot
  unknown_is_healthy,        // a silent node keeps accepting work
  no_breaker,                // repairs any number of nodes
  breaker_forgets,           // a restart resets the count of nodes out
  unverified_checkpoint,     // restores the newest checkpoint without verification
  count_node_failures,       // node failures use up the job's budget
  lose_cancel,               // a cancel during the start is dropped
  old_attempt_report,        // NVIDIA Recovery: a report of an earlier attempt counts for the current one
  no_stop_repeat,            // a lost stop is never repeated
  trust_journal,             // after a restart, nodes are used before it is known what runs there
  restart_on_recovery,       // a start interrupted by a crash is sent again
  ignore_key,                // a repeated submission is a second job
  ignore_orphans,            // an ended attempt that runs is not stopped
  resume_drained,            // a repaired node is returned although a person drained it
  stale_evidence_power,      // power cycles on evidence that is too old
  act_before_journal,        // the loop sends commands before the records are durable
  answer_before_journal,     // the loop answers requests before the records are durable
  ignore_boot_in_start,      // starts with the boot id of the report before the last
  drop_last_seal,            // ends an attempt while one part may still run
  drill_same_nodes,          // a drill passes on the nodes it was to leave
  drill_believes_start,      // a drill passes when the start was sent
  ignore_reservation,        // jobs start and stay on nodes that are reserved for maintenance
  endless_reservation,       // a node does not return after its maintenance
  power_in_maintenance,      // power cycles a node that people work on
  preempt_service,           // stops services for maintenance
  breaker_ignores_tenant,    // repairs any number of nodes of one tenant
  no_format_record,          // an upgrade does not mark the journal
  rare_inventory,            // a part whose end was not reported is missed for hours
  unreadable_is_empty,       // a volume that cannot be read counts as one without checkpoints
  forget_quota_use,          // after a restart, the jobs that run do not count for their tenants
  wrong_tenant,              // a job is recorded under another tenant
  keys_of_all_users,         // an idempotency key finds the job of another user
  repeat_action,             // a repair action that had no effect is tried again
  reset_under_job,           // resets a GPU while jobs run on the node
  trust_repair,              // a repaired node is returned without checks
  escalate_on_old_evidence,  // takes the next action on evidence that is too old
  free_on_scheduler_word,    // slurm-bridge #36, of leases: a node is free because its scheduler says so
  empty_list_frees,          // slurm-bridge #43, of leases: what a list does not show has ended
  lease_expires,             // a move goes on after a timeout
  open_before_closed,        // the new gate is opened before the old one was seen closed
  old_epoch_opens,           // a gate opens under an epoch that it was ordered to close
  forget_lease_on_restart,   // after a restart every node belongs to its first owner
  gate_ignores_boot,         // a gate obeys an order for its boot before
  gate_ignores_term,         // a gate obeys an order of an earlier controller
  place_during_move,         // jobs are placed on nodes that move
  lose_move,                 // a move that was interrupted by a restart is never finished
};
inline constexpr std::uint8_t kDefects = 58;
inline constexpr std::uint8_t kLeaseDefects = 10;  // the last ones
[[nodiscard]] std::string_view to_text(Defect defect);

}  // namespace weft::control
