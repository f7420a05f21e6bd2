// Objects of an attempt on Kubernetes: a headless Service for the address of rank 0, and one pod per node with one
// container per task and the torchrun environment. Names follow from the attempt, so a repeated create finds what the
// first one made; pods name no node: they run only once they are bound (kube_world.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "control/command.h"

namespace weft::world {

struct PodContext {
  std::string engine;  // which weft made the objects, a label value; another weft on the cluster has another
  std::string kube_namespace;
  std::vector<std::string> nodes;  // names, by NodeId
  std::string image;               // of the containers of jobs that name none
  // Threads per core, by NodeId: Kubernetes counts threads, weft counts cores. Empty: one.
  std::vector<int> threads{};
};

struct PodPlan {
  sched::NodeId node{};
  Value pod;  // without ownerReferences
};
struct AttemptPlan {
  std::string name;  // of the Service: "weft-12-1"
  Value service;
  std::vector<PodPlan> pods;  // in the order of node ranks: "weft-12-1-0", ...
};

// Boot ids as the nodes report them (/proc/sys/kernel/random/boot_id).
using BootTexts = std::map<sched::NodeId, std::string>;
// Init container that ends a pod whose node has been rebooted since, or that sees other checkpoint volumes than weft;
// needs `sh` and `cat` in the image.
inline constexpr const char* kBootGate = "weft-boot-gate";
inline constexpr int kVolumeMismatch = 3;                                  // its exit status then
inline constexpr const char* kCheckpointsAnnotation = "weft/checkpoints";  // directories, separated by colons
inline constexpr const char* kNoticeAnnotation = "weft/notice";            // control::CheckpointNotice
// Absolute, without colons and parent directories.
[[nodiscard]] bool is_checkpoint_volume(const std::string& path);
[[nodiscard]] std::string container_name(std::size_t rank);  // "rank3"

// Refuses what cannot be run on Kubernetes. A node without a boot id has no boot gate. `token`: what weft wrote into
// the job's checkpoint directories (kube_checkpoints.h); "": the volumes are not compared.
[[nodiscard]] Result<AttemptPlan> plan_attempt(const control::StartAttempt& command, const PodContext& context,
                                               const BootTexts& boots = {}, const std::string& token = {});

// Label selector of everything that this weft made, or of one attempt.
[[nodiscard]] std::string select_engine(const std::string& engine);
[[nodiscard]] std::string select_attempt(const std::string& engine, const control::AttemptName& name);
// Of an object with our labels; nullopt if it has none or they are another weft's.
[[nodiscard]] std::optional<control::AttemptName> attempt_of(const Value& object, const std::string& engine);

}  // namespace weft::world
