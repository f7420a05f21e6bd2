#include "check/qos/trace_route.h"

#include <algorithm>

namespace weft::check {

namespace {

bool is_switch(const model::Cluster& cluster, model::DeviceId id) {
  return cluster.group_of(id).kind == model::DeviceKind::network_switch;
}

model::Tier tier_of(const model::Cluster& cluster, model::DeviceId id) { return cluster.group_of(id).tier; }

// 0 for servers, then leaf, spine, core.
int height(const model::Cluster& cluster, model::DeviceId id) {
  const model::DeviceGroup& group = cluster.group_of(id);
  return group.kind == model::DeviceKind::network_switch ? static_cast<int>(group.tier) : 0;
}

// Ports of a switch that belong to its fabric, and the device behind each.
struct Neighbor {
  model::PortId port = model::kNone<model::PortId>;
  model::PortId peer = model::kNone<model::PortId>;
  model::DeviceId device = model::kNone<model::DeviceId>;
};

std::vector<Neighbor> neighbors(const model::Cluster& cluster, model::DeviceId id, bool up) {
  std::vector<Neighbor> out;
  const model::FabricKind fabric = cluster.group_of(id).fabric;
  const int own = height(cluster, id);
  for (const model::PortId port : cluster.ports_of(id)) {
    if (cluster.port(port).fabric != fabric || cluster.port(port).cable == model::kNone<model::CableId>) continue;
    const model::PortId peer = cluster.peer_of(port);
    const model::DeviceId device = cluster.port(peer).device;
    const model::DeviceKind kind = cluster.group_of(device).kind;
    if (kind != model::DeviceKind::server && kind != model::DeviceKind::network_switch) continue;
    const int theirs = height(cluster, device);
    if (up ? theirs > own : theirs < own) out.push_back({port, peer, device});
  }
  return out;
}

// The path from a switch down to a server: ports as (out of this switch, into the next), ending with the server's port.
struct Descent {
  model::PortId out = model::kNone<model::PortId>;  // of the switch it starts at
  std::vector<RouteHop> hops;                       // of the switches below, top down
  model::PortId server = model::kNone<model::PortId>;
};

std::optional<Descent> descend_by(const model::Cluster& cluster, const Neighbor& first, model::PortId not_server) {
  Descent out;
  out.out = first.port;
  Neighbor step = first;
  while (is_switch(cluster, step.device)) {
    const std::vector<Neighbor> below = neighbors(cluster, step.device, false);
    const auto next = std::find_if(below.begin(), below.end(), [&](const Neighbor& n) {
      return n.peer != not_server && (is_switch(cluster, n.device) || !cluster.group_of(n.device).manager);
    });
    if (next == below.end() || out.hops.size() > 3) return std::nullopt;
    out.hops.push_back({step.peer, next->port});
    step = *next;
  }
  if (step.peer == not_server) return std::nullopt;
  out.server = step.peer;
  return out;
}

// A path down from `id` that avoids one of its ports and, if possible, the device behind that port.
std::optional<Descent> descend(const model::Cluster& cluster, model::DeviceId id, model::PortId avoid,
                               model::PortId not_server) {
  const std::vector<Neighbor> below = neighbors(cluster, id, false);
  const model::DeviceId avoided = avoid == model::kNone<model::PortId> ? model::kNone<model::DeviceId>
                                                                       : cluster.port(cluster.peer_of(avoid)).device;
  for (const bool other_device : {true, false}) {
    for (const Neighbor& n : below) {
      if (n.port == avoid || (n.device != avoided) != other_device) continue;
      if (auto found = descend_by(cluster, n, not_server)) return found;
    }
    if (avoid == model::kNone<model::PortId>) break;
  }
  return std::nullopt;
}

// server <- ... <- switch: the hops upward, ending at `into` the switch.
Route climb(const Descent& down) {
  Route route;
  route.from = down.server;
  for (auto hop = down.hops.rbegin(); hop != down.hops.rend(); ++hop) route.hops.push_back({hop->out, hop->in});
  return route;
}

Route join(const Descent& up_side, model::PortId into, const Descent& down_side) {
  Route route = climb(up_side);
  route.hops.push_back({into, down_side.out});
  route.hops.insert(route.hops.end(), down_side.hops.begin(), down_side.hops.end());
  route.to = down_side.server;
  return route;
}

// `leaf` reached through `port`'s uplink from above: out of `top` on the port that leads to it.
std::optional<Route> route_over_common_switch(const model::Cluster& cluster, model::PortId from, model::PortId leaf_in,
                                              model::DeviceId first, model::PortId to, model::PortId leaf_out,
                                              model::DeviceId last) {
  const std::vector<Neighbor> up = neighbors(cluster, first, true);
  const std::vector<Neighbor> other = neighbors(cluster, last, true);
  for (const Neighbor& a : up) {
    for (const Neighbor& b : other) {
      if (a.device != b.device) continue;
      return Route{from, to, {{leaf_in, a.port}, {a.peer, b.peer}, {b.port, leaf_out}}};
    }
  }
  for (const Neighbor& a : up) {
    const std::vector<Neighbor> above = neighbors(cluster, a.device, true);
    for (const Neighbor& b : other) {
      for (const Neighbor& d : neighbors(cluster, b.device, true)) {
        const auto c =
            std::find_if(above.begin(), above.end(), [&](const Neighbor& n) { return n.device == d.device; });
        if (c == above.end()) continue;
        return Route{
            from, to, {{leaf_in, a.port}, {a.peer, c->port}, {c->peer, d.peer}, {d.port, b.peer}, {b.port, leaf_out}}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Route reversed(const Route& route) {
  Route out{route.to, route.from, {}};
  for (auto hop = route.hops.rbegin(); hop != route.hops.rend(); ++hop) out.hops.push_back({hop->out, hop->in});
  return out;
}

std::optional<Route> route_between(const model::Cluster& cluster, model::PortId from, model::PortId to) {
  if (from == model::kNone<model::PortId> || to == model::kNone<model::PortId> || from == to) return std::nullopt;
  const model::PortId leaf_in = cluster.peer_of(from);
  const model::PortId leaf_out = cluster.peer_of(to);
  const model::DeviceId first = cluster.port(leaf_in).device;
  const model::DeviceId last = cluster.port(leaf_out).device;
  if (!is_switch(cluster, first) || !is_switch(cluster, last)) return std::nullopt;
  if (first == last) return Route{from, to, {{leaf_in, leaf_out}}};
  return route_over_common_switch(cluster, from, leaf_in, first, to, leaf_out, last);
}

std::optional<Route> route_through(const model::Cluster& cluster, model::PortId port) {
  if (port == model::kNone<model::PortId> || cluster.port(port).cable == model::kNone<model::CableId>)
    return std::nullopt;
  const model::DeviceId device = cluster.port(port).device;
  if (!is_switch(cluster, device) || tier_of(cluster, device) == model::Tier::none) return std::nullopt;
  const model::PortId peer = cluster.peer_of(port);
  const model::DeviceId other = cluster.port(peer).device;
  const model::DeviceKind kind = cluster.group_of(other).kind;
  if (kind != model::DeviceKind::server && kind != model::DeviceKind::network_switch) return std::nullopt;
  if (height(cluster, other) > height(cluster, device)) {  // an uplink: through the switch above and down again
    const auto up_side = descend(cluster, device, model::kNone<model::PortId>, model::kNone<model::PortId>);
    if (!up_side) return std::nullopt;
    const auto down_side = descend(cluster, other, peer, up_side->server);
    if (!down_side) return std::nullopt;
    Route route = climb(*up_side);
    route.hops.push_back({up_side->out, port});
    route.hops.push_back({peer, down_side->out});
    route.hops.insert(route.hops.end(), down_side->hops.begin(), down_side->hops.end());
    route.to = down_side->server;
    return route;
  }
  if (height(cluster, other) == height(cluster, device)) return std::nullopt;
  const auto up_side = descend_by(cluster, {port, peer, other}, model::kNone<model::PortId>);
  if (!up_side) return std::nullopt;
  if (const auto down_side = descend(cluster, device, port, up_side->server)) return join(*up_side, port, *down_side);
  const std::vector<Neighbor> above = neighbors(cluster, device, true);  // no other server below this switch: go up
  if (above.empty()) return std::nullopt;
  const auto down_side = descend(cluster, above[0].device, above[0].peer, up_side->server);
  if (!down_side) return std::nullopt;
  Route route = climb(*up_side);
  route.hops.push_back({port, above[0].port});
  route.hops.push_back({above[0].peer, down_side->out});
  route.hops.insert(route.hops.end(), down_side->hops.begin(), down_side->hops.end());
  route.to = down_side->server;
  return route;
}

model::PortId fabric_port(const model::Cluster& cluster, model::DeviceId server, model::FabricKind fabric, int rail) {
  if (server == model::kNone<model::DeviceId>) return model::kNone<model::PortId>;
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == fabric && port.cable != model::kNone<model::CableId> && (rail < 0 || port.rail == rail))
      return id;
  }
  return model::kNone<model::PortId>;
}

}  // namespace weft::check
