// NICs as Kubernetes operators know them: PCI identities, virtual functions, firmware and QoS settings. For the target
// kubernetes/network.
#pragma once

#include <string>
#include <vector>

#include "render/kube/platform.h"

namespace weft::render::kube_platform {

// PCI vendor of a NIC ("15b3"), "" when it is not known here.
[[nodiscard]] std::string pci_vendor(const model::NicModel& nic);
// PCI device id of a NVIDIA NIC, which its operator selects by ("1021"), "" when it is not known here.
[[nodiscard]] std::string nic_type(const model::NicModel& nic);
// The NIC behind a pool's ports of a fabric; null when it has none.
[[nodiscard]] const model::NicModel* nic_of(const RenderInput& input, const PoolPlan& pool, model::PortUse use);

// SriovNetworkNodePolicy for each rail of each pool.
[[nodiscard]] std::vector<Value> sriov_policies(const RenderInput& input);
// SriovNetworkPoolConfig for each pool.
[[nodiscard]] std::vector<Value> sriov_pools(const RenderInput& input);
// NicConfigurationTemplate for each pool and fabric, as far as one can be told from the other; notes for the rest.
[[nodiscard]] std::vector<Value> nic_templates(const RenderInput& input, FileSink& sink);

}  // namespace weft::render::kube_platform
