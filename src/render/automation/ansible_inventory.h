// The Ansible inventory: hosts with their addresses, and the groups that playbooks use. Internal to the ansible target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render {

// Converts text to a valid group name: Ansible allows letters, digits and '_'.
[[nodiscard]] std::string ansible_group_name(std::string_view prefix, std::string_view text);
// Hosts as keys of a group, written as Ansible ranges: "train[001:016]".
[[nodiscard]] Value ansible_host_keys(std::vector<std::string> names);
[[nodiscard]] Value ansible_inventory(const RenderInput& input);
// Variables of a pool's hosts: their properties and their files in the tree.
[[nodiscard]] Value ansible_pool_variables(const RenderInput& input, const PoolPlan& pool);
// Variables of all servers: files that all pools share.
[[nodiscard]] Value ansible_server_variables(const RenderInput& input);

}  // namespace weft::render
