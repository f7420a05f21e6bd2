// Records of leases, applied to the state.
#include <fmt/format.h>

#include "control/state.h"

namespace weft::control {
Status ControlState::apply_lease(const Record& record) {
  NodeLease& lease = nodes_[sched::index_of(record.node)].lease;
  const bool names_phase = record.kind == RecordKind::lease_step;
  if (record.code >= (names_phase ? kLeasePhases : lease::kLeaseOwners)) {
    return contradiction(record, names_phase ? "no such phase" : "no such engine");
  }
  const auto engine = static_cast<LeaseOwner>(names_phase ? 0 : record.code);
  if (record.kind == RecordKind::lease_policy) {
    lease.policy = engine;
    return {};
  }
  const auto epoch = static_cast<LeaseEpoch>(record.value);
  if (record.kind == RecordKind::lease_order) {
    if (epoch > last_epoch_) last_epoch_ = epoch;  // of a journal that lost records: not issued again
    return {};
  }
  LeasePhase next = LeasePhase::opening;
  if (names_phase) next = static_cast<LeasePhase>(record.code);
  if (record.kind == RecordKind::lease_move) next = is_moving(lease.phase) ? lease.phase : LeasePhase::cordon;
  const bool redirects = record.kind == RecordKind::lease_move && is_moving(lease.phase);
  if (!redirects && !is_allowed(lease.phase, record.kind, next)) {
    return contradiction(
        record, fmt::format("{} to {} is not a transition", control::to_text(lease.phase), control::to_text(next)));
  }
  if (record.kind == RecordKind::lease_granted) {
    const bool proven = lease.phase == LeasePhase::none || lease.phase == LeasePhase::witness || lease.fenced;
    if (!proven) return contradiction(record, "the old owner was not seen to have left");
    if (engine == LeaseOwner::none || epoch <= last_epoch_) return contradiction(record, "its epoch was used before");
    lease.moves += lease.owner != LeaseOwner::none && lease.owner != engine ? 1U : 0U;
    lease.owner = engine;
    lease.epoch = last_epoch_ = epoch;
  } else if (record.kind == RecordKind::lease_move) {
    if (engine == LeaseOwner::none) return contradiction(record, "no engine");
    lease.target = engine;
    lease.user = record.user;
    lease.reason = record.text;
    lease.preempt = record.value != 0;
    if (!redirects) lease.asked = record.at;
  }
  if (next == LeasePhase::opening || next == LeasePhase::held) {
    lease.target = LeaseOwner::none;
    lease.preempt = lease.fenced = false;
  }
  if (next != lease.phase || record.kind == RecordKind::lease_granted) lease.since = record.at;
  lease.phase = next;
  if (record.operation != 0) {
    close_operation(lease.operation);
    lease.operation = record.operation;
    lease.ordered = record.at;
  }
  return {};
}

}  // namespace weft::control
