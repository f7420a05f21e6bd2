// The pod of a training job, the same for every kind of job object: GPUs, a virtual function per rail, the fabrics'
// environment, data, shared memory, and an init container that writes the address of each rank. Internal to the target
// `kubernetes/training`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_training {

inline constexpr int kRendezvousPort = 29500;  // torchrun's default
inline constexpr std::string_view kRankFolder = "/etc/weft";

// Where a pod reads its index within the job: the downward API field.
struct PodForm {
  std::string_view container;   // name that the controller expects for the main container
  std::string_view index_path;  // "metadata.labels['...']"
  std::string rendezvous;       // host and port of the rendezvous
  std::string_view restart;     // restartPolicy of the pod; "" if another field sets it
};

class TrainingPod {
 public:
  TrainingPod(const RenderInput& input, const model::JobSpec& job, const PoolPlan& pool);

  [[nodiscard]] const model::JobSpec& job() const { return job_; }
  [[nodiscard]] const std::string& name() const { return job_.name->text; }
  [[nodiscard]] std::string space() const;       // namespace
  [[nodiscard]] std::string rank_map() const;    // name of the ConfigMap with the script
  [[nodiscard]] std::string queue_name() const;  // Kueue LocalQueue
  [[nodiscard]] bool elastic() const { return job_.min_nodes.value < job_.nodes.value; }
  [[nodiscard]] std::int64_t deadline_seconds() const;  // 0: none

  // metadata of an object of the job, with the queue if one is used.
  [[nodiscard]] Value metadata(const std::string& object_name, bool queued) const;
  [[nodiscard]] Value template_metadata() const;
  [[nodiscard]] Value spec(const PodForm& form) const;
  [[nodiscard]] Value environment() const;
  [[nodiscard]] Value resources() const;
  [[nodiscard]] Value command(const PodForm& form) const;
  [[nodiscard]] Value rank_config_map() const;

 private:
  [[nodiscard]] Value labels() const;
  [[nodiscard]] Value networks() const;
  [[nodiscard]] Value init_container(const PodForm& form) const;
  [[nodiscard]] Value main_container(const PodForm& form) const;
  [[nodiscard]] Value volumes() const;
  [[nodiscard]] Value mounts() const;
  void add_slurm_annotations(Value& annotations) const;

  const RenderInput& input_;
  const model::JobSpec& job_;
  const PoolPlan& pool_;
};

// A name as a DNS label (RFC 1123), as in every Kubernetes target.
[[nodiscard]] std::string dns_label(std::string_view text);
// The script that the init container runs.
[[nodiscard]] std::string_view rank_script();

}  // namespace weft::render::kube_training
