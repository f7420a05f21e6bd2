// Work of the engines on this node, seen on the node itself and not in a list of a scheduler: steps of Slurm and pods
// with GPUs. One of the three witnesses that a node is free. It ends nothing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::world {

struct StepQuery {
  std::string proc = "/proc";
  // Which pod has which devices, as the kubelet keeps it; the entries of ended pods stay until the next allocation.
  std::string kubelet = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  std::string cgroups = "/sys/fs/cgroup";  // which of those pods still have processes
  // SlurmdSpoolDir: only the steps of the slurmd with this directory count, for several slurmd on one machine. "": all.
  std::string spool{};
};

struct NodeSteps {
  std::uint32_t slurm = 0;       // processes slurmstepd of a step: "slurmstepd: [4711.0]"
  std::uint32_t kubernetes = 0;  // pods that were given a GPU and have processes
  std::string text;              // "slurmstepd: [4711.0]"; at most three
};

[[nodiscard]] Result<NodeSteps> find_node_steps(const StepQuery& query);

}  // namespace weft::world
