// How InfiniBand numbers the ports of the model: port numbers of switches, adapters of servers. Both `weft check
// --live` and the rendered netlists go by it.
#pragma once

#include <vector>

#include "model/cluster.h"

namespace weft::model {

// Ports of a switch by their InfiniBand number, the first being number 1; none where nothing is cabled. Numbers go
// through the cages: a cage has as many as it is split into, or the switch's usual share when nothing is plugged in.
[[nodiscard]] std::vector<PortId> infiniband_ports(const Cluster& cluster, DeviceId network_switch);

// InfiniBand ports of a server in the order of its adapters: the first is mlx5_0. Backend first, then storage.
[[nodiscard]] std::vector<PortId> infiniband_adapters(const Cluster& cluster, DeviceId server);

}  // namespace weft::model
