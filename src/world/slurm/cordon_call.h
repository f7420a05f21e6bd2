// Drain or resume of a node as one call to Slurm (call_queue.h): it never touches a drain of somebody else.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "world/slurm/slurm_client.h"

namespace weft::world {

inline const SlurmNode* find_slurm_node(const std::vector<SlurmNode>& nodes, const std::string& name) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const SlurmNode& node) { return node.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

// Reads, writes if the mark is ours or there is none, and reads back.
struct CordonCall {
  std::string node;
  std::string reason;  // ours
  bool cordon = true;
  std::function<std::string(const SlurmNode&)> owner_of;  // "": not drained
  std::string owner;                                      // what it says for our reason

  Result<std::vector<SlurmNode>> operator()(SlurmClient& client) const {
    Result<std::vector<SlurmNode>> nodes = client.list_nodes();
    if (!nodes.ok()) return nodes;
    const SlurmNode* before = find_slurm_node(*nodes, node);
    if (before == nullptr) return Error{ErrorCode::invalid_input, "Slurm does not list the node", node};
    const std::string mark = owner_of(*before);
    const bool must_drain = cordon && (mark.empty() || (mark.starts_with("weft:") && mark != owner));
    const bool must_resume = !cordon && mark == owner;
    if (!must_drain && !must_resume) return nodes;
    if (Status changed = must_drain ? client.drain(node, reason) : client.resume(node); !changed.ok())
      return changed.error();
    nodes = client.list_nodes();
    return nodes.ok() ? nodes : Result<std::vector<SlurmNode>>(Error{ErrorCode::timeout, nodes.error().text(), {}});
  }
};

}  // namespace weft::world
