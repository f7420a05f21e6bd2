// NICs as Kubernetes operators describe them: PCI IDs, virtual functions, firmware and QoS settings. For the target
// kubernetes/network.
#pragma once

#include <string>
#include <vector>

#include "render/kube/platform.h"

namespace weft::render::kube_platform {

// PCI vendor ID of a NIC ("15b3"), "" if unknown.
[[nodiscard]] std::string pci_vendor(const model::NicModel& nic);
// PCI device ID of an NVIDIA NIC ("1021"), which its operator selects by; "" if unknown.
[[nodiscard]] std::string nic_type(const model::NicModel& nic);
// The NIC of a pool's ports on a fabric; null if it has none.
[[nodiscard]] const model::NicModel* nic_of(const RenderInput& input, const PoolPlan& pool, model::PortUse use);

// One SriovNetworkNodePolicy per rail and pool.
[[nodiscard]] std::vector<Value> sriov_policies(const RenderInput& input);
// One SriovNetworkPoolConfig per pool.
[[nodiscard]] std::vector<Value> sriov_pools(const RenderInput& input);
// One NicConfigurationTemplate per pool and fabric where the NICs can be told apart; notes for the rest.
[[nodiscard]] std::vector<Value> nic_templates(const RenderInput& input, FileSink& sink);

}  // namespace weft::render::kube_platform
