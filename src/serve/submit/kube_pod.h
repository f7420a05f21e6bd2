// The pod of a training job: program, variables, resources and volumes of its one container. What runs only in a pod is
// an error at its line. Internal to serve/submit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/submit/kube_fields.h"

namespace weft::serve {

struct KubeVariable {
  std::string name;
  std::string value;
  SourceLocation place;
};

struct KubePod {
  SourceLocation place;
  std::vector<std::string> command;
  std::vector<std::string> arguments;
  SourceLocation command_place;  // of the container, if it has none
  Sourced<std::string> image;
  std::vector<KubeVariable> variables;
  Sourced<std::string> directory;
  Sourced<std::int64_t> gpus{0};
  Sourced<std::int64_t> cpu_milli;
  Sourced<std::int64_t> memory_mib;
  Sourced<std::int64_t> scratch_gib{0};
  Sourced<std::string> pool;
  Sourced<std::string> priority;
  Sourced<std::string> restart_policy;
  std::uint64_t models = 0;
  Duration grace{};
  Duration deadline{};  // 0: none
  std::vector<std::string> checkpoint_paths;
  Sourced<sched::Level> required;  // of the topology
  Sourced<sched::Level> preferred;
};

// spec.template or the like; `kind` names the object in messages.
[[nodiscard]] KubePod read_pod_template(const SubmitContext& context, const YamlNode& node);
void read_container_environment(const SubmitContext& context, const YamlNode* node, KubePod& pod);
// `resources` of a container, or resourcesPerNode of a TrainJob.
void read_container_resources(const SubmitContext& context, const YamlNode* node, KubePod& pod);

// The difference between two pods of one job, such as "command"; "" if a task can be either.
[[nodiscard]] std::string find_difference(const KubePod& a, const KubePod& b);

// Moves the pod into the draft; the job runs `processes` per node under torchrun.
void apply_pod(const SubmitContext& context, KubePod pod, std::int64_t processes, JobDraft& draft);

}  // namespace weft::serve
