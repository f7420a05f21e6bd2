// The network of one fabric of a compiled cluster: an endpoint for every GPU that has a port there (backend), or for
// every server (storage, frontend, out-of-band); scale-up switches between the GPUs of an NVLink domain; switches and
// cables as built, with their delays and buffers. Fabric managers, PDUs and the site's own network are left out: they
// take no part in what is simulated.
//
// A GPU without a port of its own shares the nearest one of its server: a node of tier 0 then stands for that NIC, and
// the GPUs reach it over PCIe. Endpoints are named "train001:gpu0" (counted as the catalog and nvidia-smi do) or
// "flash01", scale-up switches "train001:nvlink", shared NICs "train001:be1:nic".
#pragma once

#include "model/cluster.h"
#include "netsim/network/network.h"

namespace weft::netsim {

struct ClusterNetworkOptions {
  model::FabricKind fabric = model::FabricKind::backend;
  bool scale_up = true;       // NVLink switches between the GPUs of a host
  SimTime switch_latency{0};  // 0: a figure for the class of switch (source in the .cc)
  SimTime nic_latency{0};     // 0: likewise
};
// An error when the cluster has no such fabric.
[[nodiscard]] Result<Network> network_of(const model::Cluster& cluster, const ClusterNetworkOptions& options);

}  // namespace weft::netsim
