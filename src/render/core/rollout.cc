#include "render/core/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/host_range.h"

namespace weft::render {
namespace {

struct Dialect {
  std::string_view target;
  std::string_view drain;
  std::string_view restore;
  std::string_view sessions;  // shows whether its sessions are up again
};

// Traffic shift away (SONiC), maintenance mode (NX-OS graceful insertion and removal, EOS, Cumulus Linux 5).
constexpr Dialect kDialects[] = {
    {"sonic", "sudo TSA", "sudo TSB", "show ip bgp summary"},
    {"nxos", "configure terminal ; system mode maintenance", "configure terminal ; no system mode maintenance",
     "show bgp sessions vrf all"},
    {"eos", "configure ; maintenance ; unit System ; quiesce", "configure ; maintenance ; unit System ; no quiesce",
     "show bgp summary vrf all"},
    {"nvue", "nv action enable system maintenance mode", "nv action disable system maintenance mode",
     "nv show router bgp neighbor"},
};

const Dialect* dialect_of(std::string_view target) {
  for (const Dialect& one : kDialects) {
    if (one.target == target) return &one;
  }
  return nullptr;
}

// Servers that lose their only link to the fabric when the leaf stops, folded; "" if all have another.
std::string dependent_hosts(const model::Cluster& cluster, model::DeviceId leaf) {
  const model::FabricKind fabric = cluster.group_of(leaf).fabric;
  std::vector<std::string> hosts;
  for (const model::PortId id : cluster.ports_of(leaf)) {
    const model::Port& far = cluster.port(cluster.peer_of(id));
    const model::DeviceGroup& group = cluster.group_of(far.device);
    if (group.kind != model::DeviceKind::server || group.manager || far.fabric != fabric) continue;
    // Jobs use every backend rail at the same time; on the other fabrics a second link takes over.
    const bool needs_all = fabric == model::FabricKind::backend;
    std::size_t elsewhere = 0;
    for (const model::PortId other : cluster.ports_of(far.device)) {
      const model::Port& port = cluster.port(other);
      elsewhere += port.fabric == fabric && cluster.port(cluster.peer_of(other)).device != leaf ? 1U : 0U;
    }
    if (needs_all || elsewhere == 0) hosts.push_back(cluster.name_of(far.device));
  }
  return hosts.empty() ? std::string() : fold_hosts(std::move(hosts));
}

void drain_hosts(const RenderPlan& plan, const std::string& hosts, std::string_view reason, RolloutStep& step) {
  if (hosts.empty()) return;
  if (plan.has_slurm()) {
    step.before.push_back(fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"weft: {}\"", hosts, reason));
    step.after.push_back(fmt::format("scontrol update NodeName={} State=RESUME", hosts));
  } else if (plan.has_kubernetes()) {
    step.before.push_back(fmt::format("kubectl cordon {}; wait for their jobs to end", as_shell_words(hosts)));
    step.after.push_back(fmt::format("kubectl uncordon {}", as_shell_words(hosts)));
  }
}

std::size_t designed_neighbors(const model::Cluster& cluster, model::DeviceId device) {
  std::size_t count = 0;
  for (const model::PortId id : cluster.ports_of(device)) {
    const model::CableRole role = cluster.cable(cluster.cable_of(id)).role;
    count += role == model::CableRole::leaf_spine || role == model::CableRole::spine_core ? 1U : 0U;
  }
  return count;
}

void plan_switch(const RenderPlan& plan, model::DeviceId device, std::string_view target, RolloutStep& step) {
  const model::Cluster& cluster = plan.cluster();
  const Dialect* dialect = dialect_of(target);
  if (dialect == nullptr || step.risk != Risk::traffic) return;
  const model::Tier tier = cluster.group_of(device).tier;
  const std::size_t neighbors = designed_neighbors(cluster, device);
  RolloutStep hosts;
  if (tier == model::Tier::leaf) drain_hosts(plan, dependent_hosts(cluster, device), cluster.name_of(device), hosts);
  step.before = hosts.before;
  if (neighbors > 0) step.before.emplace_back(dialect->drain);
  if (neighbors > 0) {
    step.after.push_back(fmt::format("{}: {} sessions up", dialect->sessions, neighbors));
    step.after.emplace_back(dialect->restore);
  }
  step.after.insert(step.after.end(), hosts.after.begin(), hosts.after.end());
}

using Turn = std::tuple<Stage, int, std::uint32_t, std::string>;

Turn turn_of(const model::Cluster& cluster, const ChangedFile& file, model::DeviceId device) {
  if (device == model::kNone<model::DeviceId>) {
    return {file.stage, 3, 0, file.changes.device.empty() ? file.changes.target : "pool " + file.changes.device};
  }
  const model::DeviceGroup& group = cluster.group_of(device);
  const bool is_switch = group.kind == model::DeviceKind::network_switch;
  const int tier = is_switch ? (group.tier == model::Tier::leaf ? 2 : 1) : 3;
  return {file.stage, tier, model::index_of(device), cluster.name_of(device)};
}

}  // namespace

std::vector<RolloutStep> plan_rollout(const RenderPlan& plan, const std::vector<ChangedFile>& files) {
  const model::Cluster& cluster = plan.cluster();
  std::map<Turn, std::pair<RolloutStep, std::string>> steps;  // with the target
  std::map<Turn, model::DeviceId> devices;
  for (const ChangedFile& file : files) {
    const model::DeviceId device =
        file.changes.device.empty() ? model::kNone<model::DeviceId> : cluster.find_device(file.changes.device);
    const Turn turn = turn_of(cluster, file, device);
    auto& [step, target] = steps[turn];
    step.stage = file.stage;
    step.subject = std::get<3>(turn);
    step.risk = std::max(step.risk, file.changes.risk);
    step.changes += file.changes.changes.size();
    step.files.push_back(file.changes.path);
    const std::string& apply = file.changes.apply;
    if (!apply.empty() && std::find(step.apply.begin(), step.apply.end(), apply) == step.apply.end())
      step.apply.push_back(apply);
    target = file.changes.target;
    devices[turn] = device;
  }
  std::vector<RolloutStep> out;
  for (auto& [turn, entry] : steps) {
    auto& [step, target] = entry;
    step.number = static_cast<std::uint32_t>(out.size() + 1);
    const model::DeviceId device = devices[turn];
    if (device != model::kNone<model::DeviceId> && cluster.group_of(device).kind == model::DeviceKind::network_switch) {
      plan_switch(plan, device, target, step);
    } else if (step.risk == Risk::traffic && step.stage == Stage::hosts) {
      const PoolPlan* pool = plan.pool(step.subject.starts_with("pool ") ? step.subject.substr(5) : step.subject);
      drain_hosts(plan, pool != nullptr ? pool->hosts : step.subject, "change of the host", step);
    }
    out.push_back(std::move(step));
  }
  return out;
}

}  // namespace weft::render
