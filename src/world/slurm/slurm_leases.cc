#include "world/slurm/slurm_leases.h"

#include <fmt/format.h>

#include <utility>

#include "base/host_range.h"
#include "world/slurm/cordon_call.h"

namespace weft::world {
namespace {

// As the Prolog of assets/world/gate writes it.
const std::string kReason = fmt::format("{} not leased to slurm", kLeaseMark);

bool has_mark(const SlurmNode& node) { return node.is_drained() && node.reason.starts_with(kLeaseMark); }

}  // namespace

SlurmLeases::SlurmLeases(const std::vector<std::string>& nodes, std::shared_ptr<SlurmClient> client)
    : nodes_(nodes), client_(std::move(client)) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) ids_[nodes[i]] = sched::NodeId{i};
}

Result<std::vector<control::NodeUse>> SlurmLeases::list() {
  const Result<std::vector<SlurmNode>> nodes = client_->list_nodes();
  if (!nodes.ok()) return nodes.error();
  const Result<std::vector<ObservedJob>> jobs = client_->list_observed_jobs();
  if (!jobs.ok()) return jobs.error();
  std::map<sched::NodeId, control::NodeUse> uses;
  for (const SlurmNode& node : *nodes) {
    const auto id = ids_.find(node.name);
    if (id == ids_.end()) continue;
    control::NodeUse& use = uses[id->second];
    use.node = id->second;
    use.cordoned = has_mark(node) || (node.is_drained() && wanted_.contains(id->second));
  }
  for (const ObservedJob& job : *jobs) {
    // A job that ended is no evidence of anything; one in a state that weft does not know may run.
    if (job.phase == ObservedPhase::ended || job.phase == ObservedPhase::waiting || job.nodes.empty()) continue;
    const Result<std::vector<std::string>> names = expand_hosts(job.nodes);
    if (!names.ok())
      return Error{ErrorCode::unavailable, fmt::format("job {}: its nodes cannot be read: {}", job.id, job.nodes), {}};
    for (const std::string& name : *names) {
      const auto id = ids_.find(name);
      const auto use = id == ids_.end() ? uses.end() : uses.find(id->second);
      if (use == uses.end()) continue;
      if (++use->second.jobs == 1) use->second.text = fmt::format("job {} of {}", job.id, job.user);
    }
  }
  std::vector<control::NodeUse> list;
  list.reserve(uses.size());
  for (auto& [id, use] : uses) list.push_back(std::move(use));
  return list;
}

Status SlurmLeases::mark(sched::NodeId node, bool cordon) {
  cordon ? (void)wanted_.insert(node) : (void)wanted_.erase(node);
  const std::string& name = nodes_[index_of(node)];
  const auto find = [&](const Result<std::vector<SlurmNode>>& nodes) -> Result<SlurmNode> {
    if (!nodes.ok()) return nodes.error();
    const SlurmNode* found = find_slurm_node(*nodes, name);
    if (found == nullptr) return Error{ErrorCode::unavailable, "Slurm does not list the node", name};
    return *found;
  };
  const Result<SlurmNode> before = find(client_->list_nodes());
  if (!before.ok()) return before.error();
  const bool change = cordon ? !before->is_drained() : has_mark(*before);
  if (!change) return {};
  if (Status changed = cordon ? client_->drain(name, kReason) : client_->resume(name); !changed.ok()) return changed;
  const Result<SlurmNode> after = find(client_->list_nodes());
  if (!after.ok()) return after.error();
  if (cordon ? after->is_drained() : !has_mark(*after)) return {};
  return Error{ErrorCode::unavailable, "Slurm accepted the change and does not show it", name};
}

}  // namespace weft::world
