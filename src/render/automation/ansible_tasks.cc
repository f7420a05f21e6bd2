// Tasks that several playbooks import. See automation/ansible_texts.h.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 11> kTasks = {{
    {"tasks/install-files.yml", "Copies weft_install and puts into effect what changed.", kNothing,
     asset<"render/ansible/tasks/install-files.yml">},
    {"tasks/read-manifest.yml", "Reads the manifest of the tree, once.", kNothing,
     asset<"render/ansible/tasks/read-manifest.yml">},
    {"tasks/slurm-files.yml", "Keys and configuration of Slurm on a host.", PlaybookNeeds::slurm,
     asset<"render/ansible/tasks/slurm-files.yml">},
    // SONiC and Cumulus Linux are Linux to Ansible. NX-OS and EOS take a file by scp and a command by ssh.
    {"tasks/push-switch.yml", "Copies what was rendered for a switch, applies and verifies it.", kNothing,
     asset<"render/ansible/tasks/push-switch.yml">},
    {"tasks/backup-switch.yml", "Keeps a copy of what a switch runs.", kNothing,
     asset<"render/ansible/tasks/backup-switch.yml">},
    {"tasks/drain-switch.yml", "Takes traffic off a switch.", kNothing, asset<"render/ansible/tasks/drain-switch.yml">},
    {"tasks/undrain-switch.yml", "Lets traffic back onto a switch.", kNothing,
     asset<"render/ansible/tasks/undrain-switch.yml">},
    {"tasks/verify-switch.yml", "Waits until the sessions of a switch are up.", kNothing,
     asset<"render/ansible/tasks/verify-switch.yml">},
    {"tasks/redfish-names.yml", "What a BMC calls its system and itself.", kNothing,
     asset<"render/ansible/tasks/redfish-names.yml">},
    {"tasks/node-out.yml", "Takes a node out of service, jobs first.", kNothing,
     asset<"render/ansible/tasks/node-out.yml">},
    {"tasks/node-back.yml", "Takes a node back into service.", kNothing, asset<"render/ansible/tasks/node-back.yml">},
}};

}  // namespace

std::span<const PlaybookText> ansible_tasks() { return kTasks; }

}  // namespace weft::render
