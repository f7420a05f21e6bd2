// The network of one fabric of a compiled cluster: one endpoint per GPU that has a port on it (backend), or per server
// (storage, frontend, out-of-band); scale-up switches between the GPUs of an NVLink domain; switches and cables as
// built, with their delays and buffers. Fabric managers, PDUs and the site network are left out: they carry no
// simulated traffic.
//
// A GPU without a port of its own shares the nearest one of its server: a node of tier 0 then represents that NIC, and
// the GPUs reach it over PCIe. Endpoints are named "train001:gpu0" (numbered as in the catalog and nvidia-smi) or
// "flash01", scale-up switches "train001:nvlink", shared NICs "train001:be1:nic".
#pragma once

#include "model/cluster.h"
#include "netsim/network/network.h"

namespace weft::netsim {

struct ClusterNetworkOptions {
  model::FabricKind fabric = model::FabricKind::backend;
  bool scale_up = true;       // NVLink switches between the GPUs of a host
  SimTime switch_latency{0};  // 0: default for the class of switch (source in the .cc)
  SimTime nic_latency{0};     // 0: likewise
};
// Returns an error if the cluster has no such fabric.
[[nodiscard]] Result<Network> network_of(const model::Cluster& cluster, const ClusterNetworkOptions& options);

}  // namespace weft::netsim
