#include "sched/machine/plain_machine.h"

#include <fmt/format.h>

#include "base/check.h"

namespace weft::sched {

Machine plain_machine(const PlainMachine& plain) {
  CHECK(plain.nodes >= 1 && plain.gpus >= 0 && plain.gpus <= kMaxGpus, "servers, and as many GPUs as one can have");
  const auto label = [](const char* what, std::int32_t node, std::int32_t size) {
    return size <= 0 ? std::string() : fmt::format("{}-{}", what, node / size + 1);
  };
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  nodes.reserve(static_cast<std::size_t>(plain.nodes));
  labels.reserve(static_cast<std::size_t>(plain.nodes));
  for (std::int32_t n = 0; n < plain.nodes; ++n) {
    NodeShape node;
    node.name = fmt::format("node-{}", n + 1);
    node.cpu = plain.cpu;
    node.memory_mib = plain.memory_mib;
    node.gpus = plain.gpus;
    node.model = plain.gpus > 0 ? 0 : -1;
    node.functions = plain.functions;
    node.scratch_gib = plain.scratch_gib;
    node.mig = plain.mig;
    // Two sockets with half of the GPUs each, as in HGX servers.
    for (std::int32_t g = 0; g < plain.gpus; ++g) {
      node.gpu_numa[static_cast<std::size_t>(g)] = plain.gpus > 1 && g * 2 >= plain.gpus ? 1 : 0;
    }
    labels.push_back(
        {node.name, label("rack", n, plain.rack), label("leaf", n, plain.leaf), label("pod", n, plain.pod)});
    nodes.push_back(std::move(node));
  }
  Result<Machine> machine = Machine::build(std::move(nodes), labels, {"gpu"}, {"gpu"});
  CHECK(machine.ok(), "equal servers make a machine");
  return std::move(machine).value();
}

}  // namespace weft::sched
