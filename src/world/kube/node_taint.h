// A taint of weft on a node: added or removed without a change to the node's other taints, those of others with the
// same key included.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/client.h"

namespace weft::world {

// Pods that do not tolerate it are not scheduled there (effect NoSchedule). A node has one taint per key and effect:
// one with another value stays, and ours is not added.
[[nodiscard]] Status set_taint(kube::Client& client, const std::string& node, const std::string& key,
                               const std::string& value, bool wanted);

}  // namespace weft::world
