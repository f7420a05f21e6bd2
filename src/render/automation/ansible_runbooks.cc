// Day-2 runbooks. The subject of each is a variable: ansible-playbook node-drain.yml -e node=train001.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 7> kRunbooks = {{
    {"node-drain.yml", "Drains a node, or returns it to service.", kNothing, asset<"render/ansible/node-drain.yml">},
    {"gpu-reset.yml", "Resets the GPUs of a node.", PlaybookNeeds::gpus, asset<"render/ansible/gpu-reset.yml">},
    {"fabric-failover.yml",
     "Failover drill: drains a spine, verifies that no rail loses its gateway, undrains the spine.", kNothing,
     asset<"render/ansible/fabric-failover.yml">},
    {"tasks/probe-rails.yml", "Pings the gateway of every rail with full-size frames.", kNothing,
     asset<"render/ansible/tasks/probe-rails.yml">},
    {"replace-node.yml", "Replaces a node with new hardware.", kNothing, asset<"render/ansible/replace-node.yml">},
    {"rotate-munge-key.yml", "Rotates the MUNGE key of Slurm.", PlaybookNeeds::slurm,
     asset<"render/ansible/rotate-munge-key.yml">},
    {"backup-oob-switches.yml", "Backs up the running configs of the out-of-band switches to Git.",
     PlaybookNeeds::oob_backup, asset<"render/ansible/backup-oob-switches.yml">},
}};

}  // namespace

std::span<const PlaybookText> ansible_runbooks() { return kRunbooks; }

}  // namespace weft::render
