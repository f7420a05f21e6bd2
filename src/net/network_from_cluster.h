// The network of one fabric of a compiled cluster: an endpoint for every GPU (backend) or every host port group
// (storage, frontend, out-of-band), scale-up switches inside the hosts, switches and cables as built, with their delays
// and buffers.
#pragma once

#include "model/cluster.h"
#include "net/network.h"

namespace weft::net {

struct ClusterNetworkOptions {
  FabricKind fabric = FabricKind::backend;
  bool scale_up = true;       // NVLink switches between the GPUs of a host
  SimTime switch_latency{0};  // 0: a figure for the class of switch (source in the .cc)
  SimTime nic_latency{0};
};
// An error when the cluster has no such fabric.
[[nodiscard]] Result<Network> network_of(const Cluster& cluster, const ClusterNetworkOptions& options);

}  // namespace weft::net
