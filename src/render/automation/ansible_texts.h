// Playbooks and tasks that are written to the tree verbatim. Nothing in them depends on the cluster: cluster-specific
// values are in the inventory and its group_vars, which automation/ansible.cc builds. Only ansible.builtin modules are
// used.
#pragma once

#include <span>
#include <string_view>

namespace weft::render {

// What a cluster must have for a playbook to apply.
enum class PlaybookNeeds { nothing, slurm, kubernetes, gpus, oob_backup };

struct PlaybookText {
  std::string_view path;  // below ansible/
  std::string_view what;  // first line of its heading
  PlaybookNeeds needs;
  std::string_view (*text)();
};

[[nodiscard]] std::span<const PlaybookText> ansible_build_playbooks();  // initial deployment
[[nodiscard]] std::span<const PlaybookText> ansible_runbooks();         // day 2
[[nodiscard]] std::span<const PlaybookText> ansible_tasks();            // shared by both

}  // namespace weft::render
