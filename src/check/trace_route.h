// A way through one fabric of the model, from a server's port to another's, for whoever follows a packet. One
// deterministic way of the many that hashing may take: the first in port order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft {

struct RouteHop {
  PortId in = kNone<PortId>;
  PortId out = kNone<PortId>;
};

struct Route {
  PortId from = kNone<PortId>;  // server port
  PortId to = kNone<PortId>;
  std::vector<RouteHop> hops;
};

[[nodiscard]] Route reversed(const Route& route);

// Over one leaf where both ends are on it, otherwise over the first spine (or spine, core, spine) that both leaves
// reach. Nothing when the fabric does not connect them.
[[nodiscard]] std::optional<Route> route_between(const Cluster& cluster, PortId from, PortId to);
// Some way that uses this switch port; nothing when no two servers lie on its two sides.
[[nodiscard]] std::optional<Route> route_through(const Cluster& cluster, PortId port);

// The port of a server on a fabric and rail (from 0; -1: its first). kNone when it has none.
[[nodiscard]] PortId fabric_port(const Cluster& cluster, DeviceId server, FabricKind fabric, int rail);

}  // namespace weft
