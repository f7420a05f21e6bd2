// InfiniBand numbering: port numbers of switches, adapters of servers. Used by `weft check --live` and the rendered
// netlists.
#pragma once

#include <vector>

#include "model/cluster.h"

namespace weft::model {

// Ports of a switch by InfiniBand port number, starting at 1; kNone if not cabled. Ports are numbered cage by cage: a
// cage has as many as it is split into, or the switch's usual number if it is empty.
[[nodiscard]] std::vector<PortId> infiniband_ports(const Cluster& cluster, DeviceId network_switch);

// InfiniBand ports of a server in the order of its adapters: the first is mlx5_0. Backend first, then storage.
[[nodiscard]] std::vector<PortId> infiniband_adapters(const Cluster& cluster, DeviceId server);

}  // namespace weft::model
