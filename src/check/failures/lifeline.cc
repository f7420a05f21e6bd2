#include "check/failures/lifeline.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::check {
namespace {

const model::OobSpec& oob_of(const model::Cluster& cluster) { return *cluster.spec().fabrics->oob; }

bool is_managed(const model::Cluster& cluster, model::DeviceId id) {
  return cluster.group_of(id).kind != model::DeviceKind::external;
}
bool is_oob_switch(const model::Cluster& cluster, model::DeviceId id) {
  const model::DeviceGroup& group = cluster.group_of(id);
  return group.kind == model::DeviceKind::network_switch && group.fabric == model::FabricKind::oob;
}

}  // namespace

bool is_stored_in_kubernetes(std::string_view credentials) {
  return credentials.starts_with("kubernetes:") || credentials.starts_with("k8s:");
}

std::string LifelineCycle::text() const { return fmt::format("{}", fmt::join(path, " -> ")); }

Lifeline::Lifeline(const model::Cluster& cluster)
    : cluster_(cluster), graph_(cluster, model::FabricKind::oob), alive_(graph_.switches().size(), true) {
  std::vector<design::Graph::Edge> edges;
  for (std::uint32_t n = 0; n < alive_.size(); ++n) {
    alive_[n] = cluster.group_of(graph_.switches()[n]).fabric == model::FabricKind::oob;
  }
  for (const design::Graph::Edge& edge : graph_.graph().edges()) {
    if (alive_[edge.from] && alive_[edge.to]) edges.push_back(edge);
  }
  piece_ = cut_points(design::Graph::undirected(graph_.graph().nodes(), std::move(edges))).piece;
  find_jump_hosts();
  find_reachable();
  find_losses();
  find_dependencies();
  find_cycles();
}

void Lifeline::find_jump_hosts() {
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::server || group.pool < 0) continue;
    if (*cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)].role != model::PoolRole::jump) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      jump_hosts_.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    }
  }
}

model::PortId Lifeline::port_of(model::DeviceId target) const {
  for (const model::PortId id : cluster_.ports_of(target)) {
    const model::Port& port = cluster_.port(id);
    if (port.fabric == model::FabricKind::oob && port.rail == 0 && port.cable != model::kNone<model::CableId> &&
        design::ends_on_host(cluster_.cable(port.cable).role)) {
      return id;
    }
  }
  return model::kNone<model::PortId>;
}

model::DeviceId Lifeline::leaf_of(model::DeviceId target) const {
  if (is_oob_switch(cluster_, target)) return target;
  const model::PortId port = port_of(target);
  return port == model::kNone<model::PortId> ? model::kNone<model::DeviceId>
                                             : cluster_.port(cluster_.peer_of(port)).device;
}

model::DeviceId Lifeline::leaf_of_jump(model::DeviceId jump) const {
  for (const model::PortId id : cluster_.ports_of(jump)) {
    const model::Port& port = cluster_.port(id);
    if (port.fabric == model::FabricKind::oob && port.rail > 0 && port.cable != model::kNone<model::CableId> &&
        cluster_.cable(port.cable).role == model::CableRole::host_leaf) {
      return cluster_.port(cluster_.peer_of(id)).device;
    }
  }
  return model::kNone<model::DeviceId>;
}

std::string Lifeline::why_no_way_in() const {
  const model::OobSpec& oob = oob_of(cluster_);
  if (*oob.entry == model::OobEntry::frontend) return "operators connect through the frontend";
  if (jump_hosts_.empty()) return *oob.jump_only ? "BMCs accept jump hosts only, and there is none" : "";
  const bool any = std::any_of(jump_hosts_.begin(), jump_hosts_.end(),
                               [&](model::DeviceId id) { return leaf_of_jump(id) != model::kNone<model::DeviceId>; });
  return any ? "" : "no jump host has an out-of-band port besides its BMC's";
}

RecoveryPath Lifeline::path_to(model::DeviceId target, model::DeviceId without) const {
  RecoveryPath path;
  path.port = is_oob_switch(cluster_, target) ? model::kNone<model::PortId> : port_of(target);
  const model::DeviceId leaf = leaf_of(target);
  if (leaf == model::kNone<model::DeviceId>) {
    path.obstacle = "it has no out-of-band port";
    return path;
  }
  path.obstacle = why_no_way_in();
  if (!path.obstacle.empty()) return path;
  const std::uint32_t end = graph_.node_of(leaf);
  if (jump_hosts_.empty()) {
    path.exists = true;
    path.switches = {leaf};
    return path;
  }
  path.obstacle = "no jump host reaches its switch without another fabric";
  for (const model::DeviceId jump : jump_hosts_) {
    const model::DeviceId start = leaf_of_jump(jump);
    if (jump == without || jump == target || start == model::kNone<model::DeviceId>) continue;
    const std::uint32_t from = graph_.node_of(start);
    if (piece_[from] != piece_[end]) continue;
    for (const std::uint32_t at : shortest_path(graph_.graph(), from, end, alive_)) {
      path.switches.push_back(graph_.switches()[at]);
    }
    path.exists = true;
    path.jump = jump;
    path.obstacle.clear();
    return path;
  }
  return path;
}

void Lifeline::find_reachable() {
  const bool shut = !why_no_way_in().empty();
  std::vector<model::DeviceId> starts;
  for (const model::DeviceId jump : jump_hosts_) {
    const model::DeviceId leaf = leaf_of_jump(jump);
    if (leaf != model::kNone<model::DeviceId>) starts.push_back(leaf);
  }
  std::vector<bool> reached(alive_.size(), false);
  for (const model::DeviceId leaf : starts) {
    for (std::uint32_t n = 0; n < alive_.size(); ++n) {
      if (piece_[n] == piece_[graph_.node_of(leaf)]) reached[n] = true;
    }
  }
  for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (!is_managed(cluster_, id)) continue;
    const model::DeviceId leaf = leaf_of(id);
    if (leaf == model::kNone<model::DeviceId>) without_port_.push_back(id);
    const bool ok =
        leaf != model::kNone<model::DeviceId> && !shut && (jump_hosts_.empty() || reached[graph_.node_of(leaf)]);
    if (ok) {
      ++reachable_;
    } else {
      unreachable_.push_back(id);
    }
  }
}

// Management ports that some jump host still reaches without one switch.
std::uint64_t Lifeline::reached_without(model::DeviceId gone) const {
  std::vector<bool> seen(alive_.size(), false);
  std::vector<std::uint32_t> queue;
  const auto enter = [&](std::uint32_t n) {
    if (!alive_[n] || seen[n] || graph_.switches()[n] == gone) return;
    seen[n] = true;
    queue.push_back(n);
  };
  for (const model::DeviceId jump : jump_hosts_) {
    const model::DeviceId leaf = leaf_of_jump(jump);
    if (leaf != model::kNone<model::DeviceId>) enter(graph_.node_of(leaf));
  }
  if (jump_hosts_.empty()) {
    for (std::uint32_t n = 0; n < alive_.size(); ++n) enter(n);
  }
  std::uint64_t ports = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    ports += graph_.hosts_on(queue[head]);
    for (const design::Graph::Arc& arc : graph_.graph().arcs(queue[head])) enter(arc.to);
  }
  return ports;
}

void Lifeline::find_losses() {
  const std::uint64_t whole = reached_without(model::kNone<model::DeviceId>);
  for (std::uint32_t n = 0; n < alive_.size(); ++n) {
    if (!alive_[n]) continue;
    losses_.push_back({graph_.switches()[n], whole - reached_without(graph_.switches()[n])});
  }
}

const LifelineLoss& Lifeline::worst_loss() const {
  static const LifelineLoss kNothing;
  const auto worst = std::max_element(losses_.begin(), losses_.end(), [](const LifelineLoss& a, const LifelineLoss& b) {
    return a.devices < b.devices;
  });
  return worst == losses_.end() ? kNothing : *worst;
}

std::uint32_t Lifeline::node(std::string name) {
  const auto found = std::find(nodes_.begin(), nodes_.end(), name);
  if (found != nodes_.end()) return static_cast<std::uint32_t>(found - nodes_.begin());
  nodes_.push_back(std::move(name));
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Lifeline::add_dependency(std::uint32_t from, std::uint32_t to, std::string why, std::string key,
                              const SourceLocation& place) {
  dependencies_.push_back({from, to, std::move(why), std::move(key), place});
}

void Lifeline::find_dependencies() {
  const model::OobSpec& oob = oob_of(cluster_);
  const std::uint32_t frontend = node("frontend switches");
  const std::uint32_t network = node("out-of-band network");
  const std::uint32_t jump = node("jump hosts");
  const std::uint32_t entry = node(fmt::format("entry ({})", model::text_of(*oob.entry)));
  for (const model::DeviceGroup& group : cluster_.groups()) {
    std::string name;
    if (group.kind == model::DeviceKind::network_switch && group.fabric != model::FabricKind::oob) {
      name = fmt::format("{} switches", model::to_text(group.fabric));
    } else if (group.kind == model::DeviceKind::pdu) {
      name = "PDUs";
    } else if (group.kind == model::DeviceKind::server) {
      const bool is_jump = group.pool >= 0 && *cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)].role ==
                                                  model::PoolRole::jump;
      if (!is_jump) name = fmt::format("{} servers", group.name);
    }
    if (name.empty() || (name != "frontend switches" && std::count(nodes_.begin(), nodes_.end(), name) > 0)) continue;
    const std::uint32_t devices = node(name);
    const auto known = [&](const Dependency& d) { return d.from == devices; };
    if (std::any_of(dependencies_.begin(), dependencies_.end(), known)) continue;
    add_dependency(devices, network, "their BMCs and management ports are on it");
    add_dependency(devices, jump, "BMCs are reached only from there");
  }
  add_dependency(jump, entry, "operators connect this way");
  bool on_network = jump_hosts_.empty();
  for (const model::DeviceId id : jump_hosts_)
    on_network = on_network || leaf_of_jump(id) != model::kNone<model::DeviceId>;
  if (on_network) {
    add_dependency(jump, network, "their own port is on it");
  } else {
    const model::PoolSpec& pool =
        cluster_.spec().pools.value[static_cast<std::size_t>(cluster_.group_of(jump_hosts_.front()).pool)];
    add_dependency(jump, frontend, "the BMC uses their only out-of-band port", "pools.links.oob",
                   pool.links->oob.place);
  }
  // On site, an out-of-band switch needs only a console cable.
  const std::uint32_t console = node("console on site");
  add_dependency(network, node("out-of-band switches"), "it consists of them");
  add_dependency(node("out-of-band switches"), console, "the last resort");
  if (*oob.uplink_to_frontend) {
    add_dependency(network, frontend, "its leaves are connected there", "fabrics.oob.uplink_to_frontend",
                   oob.uplink_to_frontend.place);
  }
  if (*oob.entry == model::OobEntry::frontend) {
    add_dependency(entry, frontend, "it runs over them", "fabrics.oob.entry", oob.entry.place);
  } else if (*oob.entry == model::OobEntry::vpn && *oob.gateway == model::Whereabouts::frontend) {
    add_dependency(entry, frontend, "the external path of the network runs over them", "fabrics.oob.gateway",
                   oob.gateway.place);
  } else if (*oob.entry == model::OobEntry::console) {
    add_dependency(entry, console, "operators are on site");
  }
  find_services(jump, network, frontend);
}

void Lifeline::find_services(std::uint32_t jump, std::uint32_t network, std::uint32_t frontend) {
  const model::OobSpec& oob = oob_of(cluster_);
  const model::OobServicesSpec& services = *oob.services;
  const auto& control = cluster_.spec().control_plane->pool;
  // The servers that run frontend services, as far as the file specifies them.
  const std::uint32_t carriers = control.has_value() ? node(*control + " servers") : frontend;
  const auto add = [&](std::uint32_t user, const char* name, const char* key,
                       const model::Sourced<model::Whereabouts>& where) {
    if (*where == model::Whereabouts::none) return;
    const std::uint32_t service = node(fmt::format("{} ({})", name, model::text_of(*where)));
    const std::string full = std::string("fabrics.oob.services.") + key;
    add_dependency(user, service, "queried during recovery", *where == model::Whereabouts::frontend ? full : "",
                   where.place);
    if (*where == model::Whereabouts::frontend) {
      add_dependency(service, frontend, "reached over them");
      if (carriers != frontend) add_dependency(service, carriers, "runs on them");
    } else if (*where == model::Whereabouts::oob) {
      add_dependency(service, node("out-of-band switches"), "runs next to them");
    } else {
      add_dependency(service, *oob.gateway == model::Whereabouts::frontend ? frontend : node("site network"),
                     "reached over it");
    }
  };
  add(jump, "DNS service", "dns", services.dns);
  add(network, "DHCP service", "dhcp", services.dhcp);
  add(jump, "directory", "directory", services.directory);
  add(jump, "time service", "time", services.time);
  if (oob.credentials.has_value() && is_stored_in_kubernetes(*oob.credentials)) {
    const std::uint32_t store = node("credentials in Kubernetes");
    add_dependency(jump, store, "the BMC passwords are stored there", "fabrics.oob.credentials", oob.credentials.place);
    add_dependency(store, frontend, "reached over them");
    if (carriers != frontend) add_dependency(store, carriers, "Kubernetes runs on them");
  }
}

void Lifeline::find_cycles() {
  std::vector<design::Graph::Edge> edges;
  for (const Dependency& dependency : dependencies_) edges.push_back({dependency.from, dependency.to});
  const design::Graph graph = design::Graph::directed(static_cast<std::uint32_t>(nodes_.size()), std::move(edges));
  const std::vector<std::uint32_t> component = strong_components(graph);
  for (const Dependency& dependency : dependencies_) {
    if (dependency.key.empty() || component[dependency.from] != component[dependency.to]) continue;
    std::vector<std::uint32_t> back = shortest_path(graph, dependency.to, dependency.from);
    if (back.empty()) continue;
    // Start at the frontend, since that is what must be recovered.
    const auto first = std::find(back.begin(), back.end(), 0U);
    if (first != back.end()) std::rotate(back.begin(), first, back.end());
    LifelineCycle cycle;
    for (const std::uint32_t at : back) cycle.path.push_back(nodes_[at]);
    cycle.path.push_back(cycle.path.front());
    cycle.key = dependency.key;
    cycle.place = dependency.place;
    cycles_.push_back(std::move(cycle));
  }
}

const LifelineCycle* Lifeline::cycle_of(std::string_view key) const {
  for (const LifelineCycle& cycle : cycles_) {
    if (cycle.key == key) return &cycle;
  }
  return nullptr;
}

}  // namespace weft::check
