#include "world/sim/lease_people.h"

#include <fmt/format.h>

#include "world/sim/sim_plan.h"

namespace weft::world {

using control::LeasePhase;
using control::NodeLease;
using control::Request;
using control::RequestKind;

Request draw_move(Choices& choices, const control::ControllerOptions& options, std::uint32_t nodes) {
  Request request;
  request.kind = RequestKind::move_lease;
  request.user = kSimOperator;
  request.reason = std::string(kSimOperator) + "-reason";
  request.engine = options.engines[choices.choose("move", static_cast<std::uint32_t>(options.engines.size()))];
  request.preempt = choices.choose("move", 3) == 1;
  const std::uint32_t first = choices.choose("move", nodes);
  const std::uint32_t others = choices.choose("move", 4);
  for (std::uint32_t i = 0; i <= others; ++i) request.nodes.push_back(static_cast<sched::NodeId>((first + i) % nodes));
  return request;
}

std::optional<Request> move_for_waiting_job(const control::Controller& controller) {
  const control::ControlState& state = controller.state();
  if (!controller.uses_leases()) return std::nullopt;
  for (const auto& [number, job] : state.jobs()) {
    if (job.state != control::JobState::queued) continue;
    Request request;
    request.kind = RequestKind::move_lease;
    request.user = kSimOperator;
    request.reason = fmt::format("job {} waits", number);
    request.engine = controller.engine_of(*job.spec);
    for (std::size_t n = 0; n < state.node_count(); ++n) {
      const auto id = static_cast<sched::NodeId>(n);
      const NodeLease& lease = state.node(id).lease;
      const bool there = lease.owner == request.engine && lease.target == control::LeaseOwner::none;
      if (lease.phase != LeasePhase::none && !there) request.nodes.push_back(id);
    }
    if (request.nodes.empty()) return std::nullopt;
    return request;
  }
  return std::nullopt;
}

std::string problem_of_lease(const control::Controller& controller, sched::NodeId node, control::JobNumber number,
                             sched::Moment now) {
  const control::Job* job = controller.state().find_job(number);
  if (!controller.uses_leases() || job == nullptr || !job->current) return {};
  const NodeLease& lease = controller.state().node(node).lease;
  if (lease.owner != controller.engine_of(*job->spec))
    return fmt::format("it is leased to {}", lease::to_text(lease.owner));
  // A move that begins in the same turn finds the job started, and waits for it, also if its start is repeated.
  const bool waits = lease.phase <= LeasePhase::drain && (lease.asked >= now || job->current->starts > 1);
  if (is_moving(lease.phase) && !waits) {
    return fmt::format("it moves ({} since {} s)", control::to_text(lease.phase), sched::seconds_of(now - lease.asked));
  }
  return {};
}

std::uint64_t count_moves(const control::ControlState& state) {
  std::uint64_t moves = 0;
  for (std::size_t n = 0; n < state.node_count(); ++n) moves += state.node(static_cast<sched::NodeId>(n)).lease.moves;
  return moves;
}

}  // namespace weft::world
