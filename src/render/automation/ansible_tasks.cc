// Tasks that several playbooks import. See automation/ansible_texts.h.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 11> kTasks = {{
    {"tasks/install-files.yml", "Copies the files of weft_install and applies changed ones.", kNothing,
     asset<"render/ansible/tasks/install-files.yml">},
    {"tasks/read-manifest.yml", "Reads the manifest of the rendered tree once.", kNothing,
     asset<"render/ansible/tasks/read-manifest.yml">},
    {"tasks/slurm-files.yml", "Installs Slurm keys and configuration on a host.", PlaybookNeeds::slurm,
     asset<"render/ansible/tasks/slurm-files.yml">},
    // SONiC and Cumulus Linux are Linux hosts to Ansible. NX-OS and EOS accept files over scp and commands over ssh.
    {"tasks/push-switch.yml", "Copies, applies and verifies the configuration of a switch.", kNothing,
     asset<"render/ansible/tasks/push-switch.yml">},
    {"tasks/backup-switch.yml", "Backs up the running config of a switch.", kNothing,
     asset<"render/ansible/tasks/backup-switch.yml">},
    {"tasks/drain-switch.yml", "Drains a switch.", kNothing, asset<"render/ansible/tasks/drain-switch.yml">},
    {"tasks/undrain-switch.yml", "Undrains a switch.", kNothing, asset<"render/ansible/tasks/undrain-switch.yml">},
    {"tasks/verify-switch.yml", "Waits until the BGP sessions of a switch are established.", kNothing,
     asset<"render/ansible/tasks/verify-switch.yml">},
    {"tasks/redfish-names.yml", "Looks up the Redfish IDs of the system and the manager.", kNothing,
     asset<"render/ansible/tasks/redfish-names.yml">},
    {"tasks/node-out.yml", "Drains a node, jobs first.", kNothing, asset<"render/ansible/tasks/node-out.yml">},
    {"tasks/node-back.yml", "Returns a node to service.", kNothing, asset<"render/ansible/tasks/node-back.yml">},
}};

}  // namespace

std::span<const PlaybookText> ansible_tasks() { return kTasks; }

}  // namespace weft::render
