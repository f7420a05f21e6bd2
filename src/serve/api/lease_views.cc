// Leases: which engine owns which node, and what a move waits for.
#include <fmt/format.h>

#include "base/human_format.h"
#include "serve/api/views.h"

namespace weft::serve {

using control::NodeLease;
using sched::NodeId;

namespace {

std::string shown_phase(const NodeLease& lease) {
  if (control::is_moving(lease.phase))
    return fmt::format("moves to {} ({})", lease::to_text(lease.target), to_text(lease.phase));
  return std::string(to_text(lease.phase));
}

std::string shown_owner(const NodeLease& lease) {
  return lease.owner == lease::LeaseOwner::none ? std::string() : std::string(lease::to_text(lease.owner));
}

// For those who do not see everything: what the controller says about it may name jobs and processes.
std::string phase_waits(const NodeLease& lease) {
  switch (lease.phase) {
    case control::LeasePhase::held:
      return {};
    case control::LeasePhase::none:
      return "the first lease";
    case control::LeasePhase::opening:
      return "the gate to open";
    case control::LeasePhase::cordon:
      return "the engine to place no new work there";
    case control::LeasePhase::drain:
      return "the jobs there to end";
    case control::LeasePhase::closing:
      return "the gate to close";
    case control::LeasePhase::witness:
      break;
  }
  return "proof that nothing runs there";
}

std::string shown_waits(const ViewContext& context, NodeId id) {
  if (context.access.sees_everything()) return context.controller.why_lease_waits(id);
  return phase_waits(context.controller.state().node(id).lease);
}

std::string shown_advice(const ViewContext& context, NodeId id) {
  return context.access.sees_everything() ? context.controller.lease_advice(id) : std::string();
}

}  // namespace

Document leases_view(const ViewContext& context) {
  const control::ControlState& state = context.controller.state();
  Document document;
  document.kind = "leases";
  TableSection table{"leases", "", {}, {}};
  table.columns = {{"node", "Node"},   {"owner", "Owner"},     {"state", "State"},
                   {"since", "Since"}, {"waits", "Waits for"}, {"advice", "What to do"}};
  for (std::uint32_t n = 0; n < state.node_count(); ++n) {
    const NodeId id{n};
    const NodeLease& lease = state.node(id).lease;
    table.rows.push_back({state.machine().node(id).name, shown_owner(lease), shown_phase(lease),
                          lease.since == sched::Moment() ? Cell() : time_cell(lease.since, context.now),
                          shown_waits(context, id), shown_advice(context, id)});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

Document lease_view(const ViewContext& context, NodeId id) {
  const control::ControlState& state = context.controller.state();
  const NodeLease& lease = state.node(id).lease;
  Document document;
  document.kind = "lease";
  FactsSection facts{"lease", "", {}};
  facts.facts = {{"node", "Node", state.machine().node(id).name},
                 {"owner", "Owner", shown_owner(lease)},
                 {"state", "State", shown_phase(lease)},
                 {"epoch", "Epoch", lease.epoch},
                 {"moves", "Moves", lease.moves}};
  if (lease.since != sched::Moment()) facts.facts.push_back({"since", "Since", time_cell(lease.since, context.now)});
  if (control::is_moving(lease.phase)) {
    facts.facts.push_back({"target", "Moves to", lease::to_text(lease.target)});
    facts.facts.push_back({"asked", "Asked", time_cell(lease.asked, context.now)});
    facts.facts.push_back({"preempt", "Stops jobs of weft", lease.preempt});
  }
  const bool all = context.access.sees_everything();
  if (!lease.user.empty() && all) facts.facts.push_back({"user", "Asked by", lease.user});
  if (!lease.reason.empty() && all) facts.facts.push_back({"reason", "Reason", lease.reason});
  if (lease.policy != lease::LeaseOwner::none)
    facts.facts.push_back({"schedule", "Schedule", lease::to_text(lease.policy)});
  if (const std::string waits = shown_waits(context, id); !waits.empty())
    facts.facts.push_back({"waits", "Waits for", waits});
  if (const std::string advice = shown_advice(context, id); !advice.empty())
    facts.facts.push_back({"advice", "What to do", advice});
  document.sections.emplace_back(std::move(facts));
  return document;
}

}  // namespace weft::serve
