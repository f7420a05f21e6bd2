// Requests to move nodes to another engine.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "control/answers.h"
#include "control/controller.h"

namespace weft::control {

std::string Controller::problem_of_move(const Request& request) const {
  if (!uses_leases()) return "this server has one engine: no node is leased";
  if (request.nodes.empty()) return "no nodes";
  for (const sched::NodeId node : request.nodes) {
    if (sched::index_of(node) >= state_.node_count()) return "the cluster has no such node";
  }
  if (std::find(options_.engines.begin(), options_.engines.end(), request.engine) == options_.engines.end()) {
    return fmt::format("this server has no engine {}", lease::to_text(request.engine));
  }
  return {};
}

Answer Controller::move_lease(const Request& request, Step& step) {
  if (const std::string problem = problem_of_move(request); !problem.empty())
    return refuse(request, ErrorCode::invalid_input, problem);
  std::vector<sched::NodeId> nodes = request.nodes;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const sched::NodeId node : nodes) {
    if (state_.node(node).lease.phase != LeasePhase::none) continue;
    return refuse(request, ErrorCode::conflict,
                  fmt::format("{} is not leased yet: {}", state_.machine().node(node).name, why_lease_waits(node)));
  }
  std::size_t begun = 0;
  std::size_t canceled = 0;
  std::set<JobNumber> jobs;
  for (const sched::NodeId node : nodes) {
    const NodeLease& lease = state_.node(node).lease;
    const bool moving = is_moving(lease.phase);
    if (!moving && lease.owner == request.engine) continue;
    if (moving && lease.target == request.engine && (lease.preempt || !request.preempt)) continue;
    jobs.insert(state_.jobs_on(node).begin(), state_.jobs_on(node).end());
    canceled += moving && lease.owner == request.engine ? 1U : 0U;
    ++begun;
    begin_lease_move(node, request.engine, request.user, request.reason, request.preempt, step);
    if (!error_.empty()) return refuse(request, ErrorCode::internal, error_);
  }
  const std::string engine(lease::to_text(request.engine));
  if (begun == 0) return accept(request, 0, fmt::format("nothing to do: leased to {}, or on its way", engine));
  std::string text = fmt::format("{} {} to {}", plural(begun, "node"), begun == 1 ? "moves" : "move", engine);
  if (canceled > 0) text += fmt::format(" ({} canceled)", plural(canceled, "move"));
  if (!jobs.empty()) {
    text += fmt::format("; {} there {}", plural(jobs.size(), "job"),
                        request.preempt ? "will be stopped with a checkpoint where possible" : "may run to the end");
  }
  return accept(request, 0, text);
}

}  // namespace weft::control
