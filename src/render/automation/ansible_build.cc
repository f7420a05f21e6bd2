// Playbooks that build the cluster. See automation/ansible_texts.h.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 10> kPlaybooks = {{
    {"os-baseline.yml", "Configures kernel settings, limits, modules, NTP, host names and SSH.", kNothing,
     asset<"render/ansible/os-baseline.yml">},
    {"nics.yml", "Names ports by their cabling; configures addresses, routes and QoS.", kNothing,
     asset<"render/ansible/nics.yml">},
    {"storage-clients.yml", "Configures exports, NVMe connections, multipath and mounts.", kNothing,
     asset<"render/ansible/storage-clients.yml">},
    {"slurm.yml", "Configures MUNGE, Slurm controllers and nodes.", PlaybookNeeds::slurm,
     asset<"render/ansible/slurm.yml">},
    {"kubernetes-nodes.yml", "Configures pod networks on the nodes.", PlaybookNeeds::kubernetes,
     asset<"render/ansible/kubernetes-nodes.yml">},
    {"platform.yml", "Applies the rendered Kubernetes objects.", PlaybookNeeds::kubernetes,
     asset<"render/ansible/platform.yml">},
    {"switches.yml", "Configures switches: out-of-band first, then spines one at a time, drained, then leaves.",
     kNothing, asset<"render/ansible/switches.yml">},
    {"firmware.yml", "Applies the BMC and BIOS policies.", kNothing, asset<"render/ansible/firmware.yml">},
    {"firmware-check.yml", "Checks firmware against the policies and for consistent versions.", kNothing,
     asset<"render/ansible/firmware-check.yml">},
    {"acceptance.yml", "Runs acceptance tests.", kNothing, asset<"render/ansible/acceptance.yml">},
}};
}  // namespace

std::span<const PlaybookText> ansible_build_playbooks() { return kPlaybooks; }

}  // namespace weft::render
