#include "job_namespace/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace weft::job_namespace {

bool asks_for_namespace(std::string_view comment) {
  const std::vector<std::string_view> words = split_at_spaces(comment);
  return std::find(words.begin(), words.end(), "weft:namespace") != words.end();
}

std::string key_of(const world::JobRun& run) { return fmt::format("{}-{}", run.id, run.started); }

std::string name_of(const world::JobRun& run) { return "slurm-" + key_of(run); }

// A kubelet chooses the devices of its pods without regard to those that Slurm has chosen. Pods therefore get GPUs only
// where the job has all of a node: otherwise a GPU could be used by two.
Result<NamespacePlan> make_plan(const world::JobRun& run, const SlurmNodes& nodes) {
  NamespacePlan plan;
  plan.name = name_of(run);
  plan.key = key_of(run);
  plan.job = run.id;
  plan.uid = run.uid;
  plan.gid = run.gid;
  plan.ends = run.ends;
  plan.nodes = run.nodes;
  plan.cpus = run.cpus;
  plan.memory_mib = run.memory_mib;
  const auto refusal = [](std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; };
  if (run.nodes.empty() || run.started <= 0) return refusal("Slurm lists no nodes of the job");
  std::uint64_t cpus = 0;
  std::uint32_t given = 0;
  std::uint32_t usable = 0;
  for (std::size_t i = 0; i < run.nodes.size(); ++i) {
    const auto node = nodes.find(run.nodes[i]);
    if (node == nodes.end()) return refusal(fmt::format("Slurm does not list its node {}", run.nodes[i]));
    cpus += node->second.cpus;
    const std::uint32_t gpus = i < run.gpus.size() ? run.gpus[i] : 0;
    given += gpus;
    if (gpus == node->second.gpus) usable += gpus;
  }
  plan.whole_nodes = cpus > 0 && run.cpus >= cpus;
  plan.gpus = usable == given ? usable : 0;
  if (plan.gpus < given)
    plan.note = "pods get no GPUs: the job has only some of the GPUs of a node, and a kubelet could choose others";
  if (!plan.whole_nodes && plan.memory_mib == 0) return refusal("Slurm does not say how much memory the job has");
  return plan;
}

}  // namespace weft::job_namespace
