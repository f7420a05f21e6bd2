#include "check/trace_route.h"

#include <algorithm>

namespace weft {

namespace {

bool is_switch(const Cluster& cluster, DeviceId id) { return cluster.group_of(id).kind == DeviceKind::network_switch; }

Tier tier_of(const Cluster& cluster, DeviceId id) { return cluster.group_of(id).tier; }

// 0 for servers, then leaf, spine, core.
int height(const Cluster& cluster, DeviceId id) {
  const DeviceGroup& group = cluster.group_of(id);
  return group.kind == DeviceKind::network_switch ? static_cast<int>(group.tier) : 0;
}

// Ports of a switch that belong to the fabric it serves, and the device behind each.
struct Neighbor {
  PortId port = kNone<PortId>;
  PortId peer = kNone<PortId>;
  DeviceId device = kNone<DeviceId>;
};

std::vector<Neighbor> neighbors(const Cluster& cluster, DeviceId id, bool up) {
  std::vector<Neighbor> out;
  const FabricKind fabric = cluster.group_of(id).fabric;
  const int own = height(cluster, id);
  for (const PortId port : cluster.ports_of(id)) {
    if (cluster.port(port).fabric != fabric || cluster.port(port).cable == kNone<CableId>) continue;
    const PortId peer = cluster.peer_of(port);
    const DeviceId device = cluster.port(peer).device;
    const DeviceKind kind = cluster.group_of(device).kind;
    if (kind != DeviceKind::server && kind != DeviceKind::network_switch) continue;
    const int theirs = height(cluster, device);
    if (up ? theirs > own : theirs < own) out.push_back({port, peer, device});
  }
  return out;
}

// From a switch down to a server: the ports passed, as (out of this switch, into the next), the server's port last.
struct Descent {
  PortId out = kNone<PortId>;  // of the switch it starts at
  std::vector<RouteHop> hops;  // of the switches below, seen downwards
  PortId server = kNone<PortId>;
};

std::optional<Descent> descend_by(const Cluster& cluster, const Neighbor& first, PortId not_server) {
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

// A way down from `id` that avoids one of its ports and, where it can, the device behind that port.
std::optional<Descent> descend(const Cluster& cluster, DeviceId id, PortId avoid, PortId not_server) {
  const std::vector<Neighbor> below = neighbors(cluster, id, false);
  const DeviceId avoided = avoid == kNone<PortId> ? kNone<DeviceId> : cluster.port(cluster.peer_of(avoid)).device;
  for (const bool other_device : {true, false}) {
    for (const Neighbor& n : below) {
      if (n.port == avoid || (n.device != avoided) != other_device) continue;
      if (auto found = descend_by(cluster, n, not_server)) return found;
    }
    if (avoid == kNone<PortId>) break;
  }
  return std::nullopt;
}

// server <- ... <- switch: the hops upwards, ending at `into` the switch.
Route climb(const Descent& down) {
  Route route;
  route.from = down.server;
  for (auto hop = down.hops.rbegin(); hop != down.hops.rend(); ++hop) route.hops.push_back({hop->out, hop->in});
  return route;
}

Route join(const Descent& up_side, PortId into, const Descent& down_side) {
  Route route = climb(up_side);
  route.hops.push_back({into, down_side.out});
  route.hops.insert(route.hops.end(), down_side.hops.begin(), down_side.hops.end());
  route.to = down_side.server;
  return route;
}

// `leaf` reached over `port`'s uplink from above: out of `top` on the port that leads to it.
std::optional<Route> over_common(const Cluster& cluster, PortId from, PortId leaf_in, DeviceId first, PortId to,
                                 PortId leaf_out, DeviceId last) {
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

std::optional<Route> route_between(const Cluster& cluster, PortId from, PortId to) {
  if (from == kNone<PortId> || to == kNone<PortId> || from == to) return std::nullopt;
  const PortId leaf_in = cluster.peer_of(from);
  const PortId leaf_out = cluster.peer_of(to);
  const DeviceId first = cluster.port(leaf_in).device;
  const DeviceId last = cluster.port(leaf_out).device;
  if (!is_switch(cluster, first) || !is_switch(cluster, last)) return std::nullopt;
  if (first == last) return Route{from, to, {{leaf_in, leaf_out}}};
  return over_common(cluster, from, leaf_in, first, to, leaf_out, last);
}

std::optional<Route> route_through(const Cluster& cluster, PortId port) {
  if (port == kNone<PortId> || cluster.port(port).cable == kNone<CableId>) return std::nullopt;
  const DeviceId device = cluster.port(port).device;
  if (!is_switch(cluster, device) || tier_of(cluster, device) == Tier::none) return std::nullopt;
  const PortId peer = cluster.peer_of(port);
  const DeviceId other = cluster.port(peer).device;
  const DeviceKind kind = cluster.group_of(other).kind;
  if (kind != DeviceKind::server && kind != DeviceKind::network_switch) return std::nullopt;
  if (height(cluster, other) > height(cluster, device)) {  // an uplink: over the switch above and down again
    const auto up_side = descend(cluster, device, kNone<PortId>, kNone<PortId>);
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
  const auto up_side = descend_by(cluster, {port, peer, other}, kNone<PortId>);
  if (!up_side) return std::nullopt;
  if (const auto down_side = descend(cluster, device, port, up_side->server)) return join(*up_side, port, *down_side);
  const std::vector<Neighbor> above = neighbors(cluster, device, true);  // alone below this switch: go up
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

PortId fabric_port(const Cluster& cluster, DeviceId server, FabricKind fabric, int rail) {
  if (server == kNone<DeviceId>) return kNone<PortId>;
  for (const PortId id : cluster.ports_of(server)) {
    const Port& port = cluster.port(id);
    if (port.fabric == fabric && port.cable != kNone<CableId> && (rail < 0 || port.rail == rail)) return id;
  }
  return kNone<PortId>;
}

}  // namespace weft
