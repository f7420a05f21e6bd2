// A path through one fabric of the model, from one server port to another, for tracing packets. One deterministic path
// of the many that ECMP hashing may choose: the first in port order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft::check {

struct RouteHop {
  model::PortId in = model::kNone<model::PortId>;
  model::PortId out = model::kNone<model::PortId>;
};

struct Route {
  model::PortId from = model::kNone<model::PortId>;  // server port
  model::PortId to = model::kNone<model::PortId>;
  std::vector<RouteHop> hops;
};

[[nodiscard]] Route reversed(const Route& route);

// Over one leaf if both ends are on it, otherwise over the first spine (or spine, core, spine) that both leaves reach.
// nullopt if the fabric does not connect them.
[[nodiscard]] std::optional<Route> route_between(const model::Cluster& cluster, model::PortId from, model::PortId to);
// A route that uses this switch port; nullopt if no pair of servers communicates through it.
[[nodiscard]] std::optional<Route> route_through(const model::Cluster& cluster, model::PortId port);

// The port of a server on a fabric and rail (from 0; -1: its first). kNone if it has none.
[[nodiscard]] model::PortId fabric_port(const model::Cluster& cluster, model::DeviceId server, model::FabricKind fabric,
                                        int rail);

}  // namespace weft::check
