#include "control/fingerprint.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace weft::control {

std::string journal_fingerprint(const std::string& cluster, const sched::Machine& machine) {
  std::string text = cluster;
  for (const sched::NodeShape& node : machine.nodes()) text += fmt::format("\n{} {}", node.name, node.gpus);
  return fmt::format("{} {}", cluster, sha256(text).substr(0, 32));
}

}  // namespace weft::control
