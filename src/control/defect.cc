#include "control/defect.h"

#include <array>

namespace weft::control {

std::string_view to_text(Defect defect) {
  static constexpr std::array<std::string_view, kDefects> names = {"none",
                                                                   "believe_scheduler (slurm-bridge #36)",
                                                                   "believe_disappearance (slurm-bridge #43)",
                                                                   "repair_after_uncordon (NVSentinel #121)",
                                                                   "old_evidence (NVSentinel #1347)",
                                                                   "cancel_without_session (NVSentinel #1451)",
                                                                   "retry_power (NVSentinel #1805)",
                                                                   "no_validation_deadline (NVSentinel #1854)",
                                                                   "expiring_lease",
                                                                   "retry_ambiguous_start",
                                                                   "unreserved_start",
                                                                   "cordon_without_owner",
                                                                   "old_boot",
                                                                   "unknown_is_healthy",
                                                                   "no_breaker",
                                                                   "breaker_forgets",
                                                                   "unverified_checkpoint",
                                                                   "count_node_failures",
                                                                   "lose_cancel",
                                                                   "old_attempt_report",
                                                                   "no_stop_repeat",
                                                                   "trust_journal",
                                                                   "restart_on_recovery",
                                                                   "ignore_key",
                                                                   "ignore_orphans",
                                                                   "resume_drained",
                                                                   "stale_evidence_power",
                                                                   "act_before_journal",
                                                                   "answer_before_journal",
                                                                   "ignore_boot_in_start",
                                                                   "drop_last_seal",
                                                                   "drill_same_nodes",
                                                                   "drill_believes_start",
                                                                   "ignore_reservation",
                                                                   "endless_reservation",
                                                                   "power_in_maintenance",
                                                                   "preempt_service",
                                                                   "breaker_ignores_tenant",
                                                                   "no_format_record",
                                                                   "rare_inventory",
                                                                   "unreadable_is_empty",
                                                                   "free_on_scheduler_word (slurm-bridge #36)",
                                                                   "empty_list_frees (slurm-bridge #43)",
                                                                   "lease_expires",
                                                                   "open_before_closed",
                                                                   "old_epoch_opens",
                                                                   "forget_lease_on_restart",
                                                                   "gate_ignores_boot",
                                                                   "gate_ignores_term",
                                                                   "place_during_move",
                                                                   "lose_move"};
  return names[static_cast<std::size_t>(defect)];
}

}  // namespace weft::control
