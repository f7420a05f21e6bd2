// The pod of a training job, the same in every form the job takes: GPUs, a virtual function on each rail, the fabrics'
// environment, data, shared memory, and a first container that writes which rank has which address. Internal to the
// target `kubernetes/training`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_training {

inline constexpr int kRendezvousPort = 29500;  // torchrun's usual
inline constexpr std::string_view kRankFolder = "/etc/weft";

// Where a pod finds its number among the job's: the downward API's name for it.
struct PodForm {
  std::string_view container;   // name the controller knows the main container by
  std::string_view index_path;  // "metadata.labels['...']"
  std::string rendezvous;       // host and port where ranks meet
  std::string_view restart;     // restartPolicy of the pod; "" where another field says
};

class TrainingPod {
 public:
  TrainingPod(const RenderInput& input, const model::JobSpec& job, const PoolPlan& pool);

  [[nodiscard]] const model::JobSpec& job() const { return job_; }
  [[nodiscard]] const std::string& name() const { return job_.name->text; }
  [[nodiscard]] std::string space() const;       // namespace
  [[nodiscard]] std::string rank_map() const;    // name of the ConfigMap with the script
  [[nodiscard]] std::string queue_name() const;  // Kueue's LocalQueue
  [[nodiscard]] bool elastic() const { return job_.min_nodes.value < job_.nodes.value; }
  [[nodiscard]] std::int64_t deadline_seconds() const;  // 0: none

  // metadata of an object of the job; with the queue where one is used.
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

// A name as a DNS label (RFC 1123), as every Kubernetes target writes it.
[[nodiscard]] std::string dns_label(std::string_view text);
// The script that the first container runs.
[[nodiscard]] std::string_view rank_script();

}  // namespace weft::render::kube_training
