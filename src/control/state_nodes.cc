// Records of nodes, applied to the state: health, boots, cordons, reservations, proposals, repair sessions.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "control/state.h"

namespace weft::control {

Status ControlState::apply_to_node(const Record& record) {
  Node& node = nodes_[sched::index_of(record.node)];
  switch (record.kind) {
    case RecordKind::outcome:
      close_operation(record.operation);
      return {};
    case RecordKind::node_boot:
      if (record.boots.size() != 1) return contradiction(record, "no boot id");
      node.boot = record.boots.front();
      node.boots.insert(node.boot);
      return {};
    case RecordKind::node_health:
      if (record.code >= kHealths) return contradiction(record, "no such health");
      node.health = static_cast<Health>(record.code);
      node.signal = record.text;
      node.observed = record.until;
      return {};
    case RecordKind::node_drain:
      node.drained = true;
      node.drained_by = record.user;
      node.drain_reason = record.text;
      node.drained_at = record.at;
      return {};
    case RecordKind::node_resume:
      node.drained = false;
      node.drained_by.clear();
      node.drain_reason.clear();
      return {};
    case RecordKind::node_off:
      node.lease.fenced = is_moving(node.lease.phase);
      return {};
    case RecordKind::cordon_removed:
      return {};
    case RecordKind::cordon_seen:
      node.cordoned = record.code != 0;
      node.cordon_owner = record.text;
      return {};
    case RecordKind::breaker:
      tripped_ = record.code != 0;
      trip_reason_ = record.text;
      return {};
    case RecordKind::reservation_made:
    case RecordKind::reservation_ended:
      return apply_reservation(record);
    case RecordKind::stage_proposed:
    case RecordKind::proposal_ended:
      return apply_proposal(record);
    case RecordKind::lease_granted:
    case RecordKind::lease_step:
    case RecordKind::lease_move:
    case RecordKind::lease_order:
    case RecordKind::lease_policy:
      return apply_lease(record);
    case RecordKind::format:
      if (record.value > kJournalFormat) return newer_format("journal", record.value);
      if (record.value <= format_) return contradiction(record, "formats must increase");
      if (format_ < 4 && record.value >= 4) note_actions_before();
      format_ = static_cast<std::uint32_t>(record.value);
      return {};
    case RecordKind::tenant_use:
      tenant_use_[record.user] = {static_cast<double>(record.value) * 1e-3, record.until};
      return {};
    default:
      return contradiction(record, "not a record of a node");
  }
}

// Formats before 4 did not record the action: the only one was a power cycle, and it is not tried again.
void ControlState::note_actions_before() {
  for (Node& node : nodes_) {
    if (node.session && node.session->step > SessionStep::drain) node.session->tried = RepairAction::power_cycle;
  }
}

Status ControlState::apply_reservation(const Record& record) {
  if (record.kind == RecordKind::reservation_ended) {
    if (reservations_.erase(record.key) == 0) return contradiction(record, "there is no such reservation");
    return {};
  }
  Reservation made;
  for (const sched::Slot& slot : record.slots) {
    if (sched::index_of(slot.node) >= nodes_.size()) return contradiction(record, "the cluster has no such node");
    if (!made.nodes.empty() && made.nodes.back() >= slot.node) return contradiction(record, "its nodes are not sorted");
    made.nodes.push_back(slot.node);
  }
  made.name = record.key;
  made.from = sched::Moment(record.value);
  made.until = record.until;
  made.user = record.user;
  made.reason = record.text;
  made.made = record.at;
  const bool valid = !made.name.empty() && !made.nodes.empty() && made.from < made.until;
  if (!valid || reservations_.contains(made.name)) return contradiction(record, "invalid reservation");
  const std::string name = made.name;
  reservations_[name] = std::move(made);
  return {};
}

Status ControlState::apply_proposal(const Record& record) {
  Node& node = nodes_[sched::index_of(record.node)];
  if (record.code >= kStages) return contradiction(record, "no such stage");
  if (record.kind == RecordKind::proposal_ended) {
    if (!node.proposal) return contradiction(record, "nothing is proposed for the node");
    node.proposal.reset();
    return {};
  }
  if (node.proposal) return contradiction(record, "the node has a proposal");
  if (record.session != (node.session ? node.session->id : 0))
    return contradiction(record, "it is not the open session");
  node.proposal = Proposal{static_cast<Stage>(record.code), record.session, record.text, record.at};
  return {};
}

Status ControlState::apply_to_session(const Record& record) {
  Node& node = nodes_[sched::index_of(record.node)];
  if (record.kind == RecordKind::session_opened) {
    if (node.session) return contradiction(record, "the node has an open session");
    if (record.session != last_session_ + 1) return contradiction(record, "session numbers must be consecutive");
    last_session_ = record.session;
    node.session = Session{record.session,
                           SessionStep::quarantine,
                           record.operation,
                           record.text,
                           record.until,
                           record.at,
                           record.at,
                           {},
                           {}};
    if (!record.key.empty()) {
      for (const std::string_view tenant : split(record.key, '\n')) node.session->tenants.emplace_back(tenant);
    }
    ++node.sessions;
    ++open_sessions_;
    return {};
  }
  if (!node.session || node.session->id != record.session) return contradiction(record, "it is not the open session");
  if (record.kind == RecordKind::session_closed) {
    close_operation(node.session->operation);
    node.session.reset();
    node.settled = record.at;
    --open_sessions_;
    return {};
  }
  if (record.code >= kSessionSteps) return contradiction(record, "no such step");
  const auto step = static_cast<SessionStep>(record.code);
  if (!is_allowed(node.session->step, step)) return contradiction(record, "this step does not follow");
  if (record.value < 0 || record.value >= kRepairActions) return contradiction(record, "no such repair action");
  const auto action = static_cast<RepairAction>(record.value);
  if (action != RepairAction::none) {
    if (format_ < 4) return contradiction(record, "repair actions need format 4");
    if (action <= node.session->tried) return contradiction(record, "this action, or a greater one, was tried before");
    node.session->tried = action;
  }
  close_operation(node.session->operation);
  node.session->step = step;
  node.session->operation = record.operation;
  node.session->since = record.at;
  return {};
}

}  // namespace weft::control
