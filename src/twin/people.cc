#include "twin/people.h"

#include <algorithm>

namespace weft::twin {
namespace {

constexpr std::string_view kOperator = "operator";

control::Request request_for(control::RequestKind kind, sched::NodeId node, std::string reason) {
  control::Request request;
  request.kind = kind;
  request.node = node;
  request.user = kOperator;
  request.reason = std::move(reason);
  return request;
}

}  // namespace

sched::Moment People::next() const {
  sched::Moment next = sched::kNever;
  for (const auto& [node, task] : tasks_) next = std::min(next, task.begins > world_.time() ? task.begins : task.ends);
  return next;
}

void People::assign(sched::NodeId node, bool session) {
  const Incident* incident = world_.incident_of(node);
  if (incident == nullptr) return;
  Task task;
  task.begins = world_.time() + incident->respond;
  task.ends = task.begins + incident->repair;
  tasks_[node] = task;
  sessions_[node] = session;
  world_.begin_repair(node);
}

// Automatic repair that could begin gets a quarter of an hour before people see to the node.
void People::act(const control::Controller& controller, std::vector<control::Request>& requests) {
  constexpr Duration kPatience = sched::seconds(900);
  const std::set<sched::NodeId> troubled = world_.troubled();
  std::erase_if(tasks_, [&](const auto& task) { return !troubled.contains(task.first); });  // repaired without them
  for (const sched::NodeId node : troubled) {
    const auto& session = controller.state().node(node).session;
    if (const auto task = tasks_.find(node); task != tasks_.end()) {
      work(node, task->second, controller, requests);
      continue;
    }
    if (world_.has_people(node)) continue;  // repaired, on its way back
    if (session && session->step == control::SessionStep::person) {
      assign(node, true);
    } else if (!session && world_.is_known(node) && world_.time() - world_.known_since(node) >= kPatience) {
      assign(node, false);
    }
  }
}

void People::work(sched::NodeId node, Task& task, const control::Controller& controller,
                  std::vector<control::Request>& requests) {
  const sched::Moment now = world_.time();
  if (!sessions_[node] && !task.off && now >= task.begins) {
    task.off = true;
    world_.switch_off(node);
    if (!controller.state().jobs_on(node).empty()) {
      requests.push_back(request_for(control::RequestKind::confirm_off, node, "switched off for the repair"));
    }
  }
  if (now < task.ends) return;
  world_.end_repair(node);
  const auto& session = controller.state().node(node).session;
  if (session && session->step == control::SessionStep::person) {
    requests.push_back(request_for(control::RequestKind::resume, node, "repaired"));
  }
  tasks_.erase(node);
}

}  // namespace weft::twin
