// Playbooks that build the cluster. See automation/ansible_texts.h.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 10> kPlaybooks = {{
    {"os-baseline.yml", "Kernel settings, limits, modules, time, names, logins.", kNothing,
     asset<"render/ansible/os-baseline.yml">},
    {"nics.yml", "Names ports after their cables, gives them addresses, routes and classes.", kNothing,
     asset<"render/ansible/nics.yml">},
    {"storage-clients.yml", "Exports, NVMe connections, multipath, mounts.", kNothing,
     asset<"render/ansible/storage-clients.yml">},
    {"slurm.yml", "MUNGE, Slurm's controllers and nodes.", PlaybookNeeds::slurm, asset<"render/ansible/slurm.yml">},
    {"kubernetes-nodes.yml", "What pods' networks need on the nodes.", PlaybookNeeds::kubernetes,
     asset<"render/ansible/kubernetes-nodes.yml">},
    {"platform.yml", "Applies what was rendered for Kubernetes.", PlaybookNeeds::kubernetes,
     asset<"render/ansible/platform.yml">},
    {"switches.yml", "Pushes switch configuration: out-of-band first, spines one at a time and drained.", kNothing,
     asset<"render/ansible/switches.yml">},
    {"firmware.yml", "Sets BMC and BIOS as the policies say.", kNothing, asset<"render/ansible/firmware.yml">},
    {"firmware-check.yml", "Compares firmware with the policies, and with itself.", kNothing,
     asset<"render/ansible/firmware-check.yml">},
    {"acceptance.yml", "Tests before the first job.", kNothing, asset<"render/ansible/acceptance.yml">},
}};
}  // namespace

std::span<const PlaybookText> ansible_build_playbooks() { return kPlaybooks; }

}  // namespace weft::render
