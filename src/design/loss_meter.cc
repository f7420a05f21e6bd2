#include "design/loss_meter.h"

#include <algorithm>
#include <utility>

#include "design/views_common.h"

namespace weft::design {

std::string_view to_text(Level level) {
  static constexpr std::string_view kNames[] = {"host to leaf", "leaf to spine", "spine to core", "external links"};
  return kNames[static_cast<std::size_t>(level)];
}

double LevelLoss::left_percent() const {
  const auto all = static_cast<double>(total);
  return exists() ? 100.0 * (all - static_cast<double>(lost)) / all : 100.0;
}

double LevelLoss::lost_percent() const {
  return exists() ? 100.0 * static_cast<double>(lost) / static_cast<double>(total) : 0.0;
}

double Loss::left_of(model::FabricKind fabric) const {
  double least = 100.0;
  for (const LevelLoss& level : levels[static_cast<std::size_t>(fabric)]) least = std::min(least, level.left_percent());
  return least;
}

double Loss::lost_of(model::FabricKind fabric) const {
  double most = 0.0;
  for (const LevelLoss& level : levels[static_cast<std::size_t>(fabric)]) most = std::max(most, level.lost_percent());
  return most;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t, double, std::int64_t> Loss::weight() const {
  double least = 100.0;
  for (int f = 0; f < model::kFabrics; ++f) least = std::min(least, left_of(static_cast<model::FabricKind>(f)));
  return {gpus, servers, degraded, -least, unmanaged};
}

LossMeter::LossMeter(const model::Cluster& cluster)
    : cluster_(cluster),
      failed_(cluster.devices().size()),
      touched_(cluster.devices().size()),
      cut_(cluster.cables().size()),
      gone_(cluster.devices().size()),
      fitted_(cluster.devices().size()) {
  for (int f = 0; f < model::kFabrics; ++f) {
    graphs_[static_cast<std::size_t>(f)] = std::make_unique<FabricGraph>(cluster, static_cast<model::FabricKind>(f));
  }
  for (const model::Cable& cable : cluster.cables()) {
    const auto fabric = static_cast<std::size_t>(cable.fabric);
    if (ends_on_host(cable.role)) ++fitted_[model::index_of(cluster.port(cable.a).device)][fabric];
    const int level = level_of(cable);
    if (level >= 0) total_[fabric][static_cast<std::size_t>(level)] += cluster.port(cable.a).speed().count();
  }
}

int LossMeter::level_of(const model::Cable& cable) const {
  switch (cable.role) {
    case model::CableRole::host_leaf:
      return 0;
    case model::CableRole::oob_uplink:  // one role on both levels
      return cluster_.group_of(cluster_.port(cable.a).device).tier == model::Tier::leaf ? 1 : 2;
    case model::CableRole::leaf_spine:
    case model::CableRole::oob_frontend:
      return 1;
    case model::CableRole::spine_core:
      return 2;
    case model::CableRole::external:
      return 3;
    default:
      return -1;
  }
}

Loss LossMeter::measure_loss(std::span<const model::DeviceId> failed, std::span<const model::CableId> cut) {
  ++question_;
  lost_ = {};
  hit_.clear();
  lost_servers_.clear();
  Loss loss;
  for (const model::DeviceId id : failed) failed_[model::index_of(id)] = question_;
  for (const model::DeviceId id : failed) {
    if (cluster_.group_of(id).kind == model::DeviceKind::server) {
      ++loss.servers;
      loss.gpus += views::gpus_of(cluster_, id);
      lost_servers_.push_back(id);
    }
    for (const model::PortId port : cluster_.ports_of(id)) cut_cable(cluster_.cable_of(port));
  }
  for (const model::CableId id : cut) cut_cable(id);
  for (std::size_t f = 0; f < model::kFabrics; ++f) cut_detached(f, failed, cut);
  for (const model::DeviceId id : hit_) measure_host(id, loss);
  for (std::size_t f = 0; f < model::kFabrics; ++f) {
    for (std::size_t level = 0; level < kLevels; ++level) loss.levels[f][level] = {lost_[f][level], total_[f][level]};
  }
  return loss;
}

void LossMeter::cut_cable(model::CableId id) {
  if (id == model::kNone<model::CableId> || std::exchange(cut_[model::index_of(id)], question_) == question_) return;
  const model::Cable& cable = cluster_.cable(id);
  const model::Port& port = cluster_.port(cable.a);
  const bool failed_host = ends_on_host(cable.role) && failed_[model::index_of(port.device)] == question_;
  // The management port of a switch or PDU that failed itself is not counted as a loss of the out-of-band network.
  if (failed_host && cluster_.group_of(port.device).kind != model::DeviceKind::server) return;
  const auto fabric = static_cast<std::size_t>(cable.fabric);
  const int level = level_of(cable);
  if (level >= 0) lost_[fabric][static_cast<std::size_t>(level)] += port.speed().count();
  if (!ends_on_host(cable.role) || failed_host) return;
  const std::uint32_t host = model::index_of(port.device);
  if (std::exchange(touched_[host], question_) != question_) {
    gone_[host] = {};
    hit_.push_back(port.device);
  }
  ++gone_[host][fabric];
}

void LossMeter::cut_hosts_of(model::DeviceId id, model::FabricKind fabric) {
  for (const model::PortId port : cluster_.ports_of(id)) {
    const model::CableId cable = cluster_.cable_of(port);
    if (cable == model::kNone<model::CableId> || cluster_.cable(cable).fabric != fabric) continue;
    if (ends_on_host(cluster_.cable(cable).role)) cut_cable(cable);
  }
}

// If switches were disconnected, the part with the most hosts remains the fabric (or the rail, if rails were separate
// before); hosts of the other parts lose those links.
void LossMeter::cut_detached(std::size_t fabric, std::span<const model::DeviceId> failed,
                             std::span<const model::CableId> cut) {
  const FabricGraph& fabric_graph = *graphs_[fabric];
  const Graph& graph = fabric_graph.graph();
  std::uint32_t switches = 0;
  bool apart = false;
  for (const model::DeviceId id : failed) {
    const std::uint32_t node = fabric_graph.node_of(id);
    if (node == kNotInGraph) continue;
    apart = apart || fabric_graph.cuts().nodes[node];
    ++switches;
  }
  bool trunk_cut = false;
  for (const model::CableId id : cut) {
    trunk_cut = trunk_cut || (!ends_on_host(cluster_.cable(id).role) &&
                              fabric_graph.node_of(cluster_.port(cluster_.cable(id).a).device) != kNotInGraph);
  }
  if (switches < 2 && !apart && !trunk_cut) return;
  std::vector<std::uint32_t> part(graph.nodes(), kNotInGraph);
  std::vector<std::uint64_t> hosts;  // of each part
  std::vector<std::uint32_t> best(fabric_graph.cuts().pieces, kNotInGraph);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t start = 0; start < graph.nodes(); ++start) {
    if (part[start] != kNotInGraph || failed_[model::index_of(fabric_graph.switches()[start])] == question_) continue;
    const auto number = static_cast<std::uint32_t>(hosts.size());
    hosts.push_back(0);
    queue.assign(1, start);
    part[start] = number;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      hosts[number] += fabric_graph.hosts_on(queue[head]);
      for (const Graph::Arc& arc : graph.arcs(queue[head])) {
        if (part[arc.to] != kNotInGraph || failed_[model::index_of(fabric_graph.switches()[arc.to])] == question_)
          continue;
        const FabricGraph::Trunk& trunk = fabric_graph.trunk(arc.edge);
        if (trunk.cables == 1 && cut_[model::index_of(trunk.first)] == question_) continue;
        part[arc.to] = number;
        queue.push_back(arc.to);
      }
    }
    std::uint32_t& most = best[fabric_graph.cuts().piece[start]];
    if (most == kNotInGraph || hosts[number] > hosts[most]) most = number;
  }
  for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
    if (part[node] == kNotInGraph || best[fabric_graph.cuts().piece[node]] == part[node]) continue;
    cut_hosts_of(fabric_graph.switches()[node], static_cast<model::FabricKind>(fabric));
  }
}

// A host that is still up but lost links.
void LossMeter::measure_host(model::DeviceId host, Loss& loss) {
  const bool server = cluster_.group_of(host).kind == model::DeviceKind::server;
  bool cut_off = false;
  bool weaker = false;
  for (std::size_t f = 0; f < model::kFabrics; ++f) {
    const std::uint16_t gone = gone_[model::index_of(host)][f];
    if (gone == 0) continue;
    const bool all = gone >= fitted_[model::index_of(host)][f];
    if (f == static_cast<std::size_t>(model::FabricKind::oob)) {
      loss.unmanaged += all ? 1 : 0;
      loss.unmanaged_servers += all && server ? 1 : 0;
    } else {
      cut_off = cut_off || all;
      weaker = true;
    }
  }
  if (!server) return;
  if (cut_off) {
    ++loss.servers;
    ++loss.beyond;
    loss.gpus += views::gpus_of(cluster_, host);
    lost_servers_.push_back(host);
  } else if (weaker) {
    ++loss.degraded;
  }
}

}  // namespace weft::design
