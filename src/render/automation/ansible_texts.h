// Playbooks and tasks that stand in the tree as they are. Nothing in them depends on the cluster: what does is in the
// inventory and its group_vars, which automation/ansible.cc builds as values. They use ansible.builtin alone.
#pragma once

#include <span>
#include <string_view>

namespace weft::render {

// What a cluster must have for a playbook to make sense.
enum class PlaybookNeeds { nothing, slurm, kubernetes, gpus, oob_backup };

struct PlaybookText {
  std::string_view path;  // below ansible/
  std::string_view what;  // first line of its heading
  PlaybookNeeds needs;
  std::string_view (*text)();
};

[[nodiscard]] std::span<const PlaybookText> ansible_build_playbooks();  // from nothing to a running cluster
[[nodiscard]] std::span<const PlaybookText> ansible_runbooks();         // day 2
[[nodiscard]] std::span<const PlaybookText> ansible_tasks();            // shared by both

}  // namespace weft::render
