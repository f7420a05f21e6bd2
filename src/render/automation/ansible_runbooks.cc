// Runbooks of day 2. Each takes what it acts on as a variable: ansible-playbook node-drain.yml -e node=train001.
#include <array>

#include "base/asset.h"
#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 7> kRunbooks = {{
    {"node-drain.yml", "Takes a node out of service, or back.", kNothing, asset<"render/ansible/node-drain.yml">},
    {"gpu-reset.yml", "Resets the GPUs of a node.", PlaybookNeeds::gpus, asset<"render/ansible/gpu-reset.yml">},
    {"fabric-failover.yml", "Drill: drains a spine, verifies that nobody notices, lets traffic back.", kNothing,
     asset<"render/ansible/fabric-failover.yml">},
    {"tasks/probe-rails.yml", "Every rail reaches its gateway with full frames.", kNothing,
     asset<"render/ansible/tasks/probe-rails.yml">},
    {"replace-node.yml", "Puts a new machine in a node's place.", kNothing, asset<"render/ansible/replace-node.yml">},
    {"rotate-munge-key.yml", "Gives all of Slurm a new MUNGE key.", PlaybookNeeds::slurm,
     asset<"render/ansible/rotate-munge-key.yml">},
    {"backup-oob-switches.yml", "Keeps copies of what the out-of-band switches run, with their history.",
     PlaybookNeeds::oob_backup, asset<"render/ansible/backup-oob-switches.yml">},
}};

}  // namespace

std::span<const PlaybookText> ansible_runbooks() { return kRunbooks; }

}  // namespace weft::render
