// How a model is split over GPUs: finds the parallel layout with the shortest time per token on a given number of
// servers, by the same model of a step as `weft sim life`. Tries what practitioners try: as little model parallelism as
// memory allows, recomputation only if needed. The fabric is the ideal one; play_life() judges the built one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "model/cluster.h"
#include "model/job.h"
#include "workload/gpu/rates.h"
#include "workload/nccl/fabric_timer.h"
#include "workload/training/training_plan.h"

namespace weft::explore {

struct Layout {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t interleave = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;  // sequences
  model::Sharding sharding = model::Sharding::optimizer;
  model::Recompute recompute = model::Recompute::none;
};

// Sets the keys of the job's training section.
void apply_layout(const Layout& layout, model::JobSpec& job);

struct FoundLayout {
  Layout layout;
  double tokens_per_second = 0;  // without reads, checkpoints and failures
};

class LayoutSearch {
 public:
  // `job` is resolved against `sample`, a cluster with the servers of the search, which must outlive this; of any size.
  // The number of sequences per step may differ from `batch` by a tenth to divide over the GPUs.
  LayoutSearch(const model::Cluster& sample, const model::ServerModel& server, const workload::GpuRates& rates,
               model::JobSpec job, std::int64_t batch);

  // None if no layout fits into the memory of the GPUs and divides them. Remembers what it found.
  [[nodiscard]] std::optional<FoundLayout> find(std::int64_t nodes);

 private:
  struct Split {
    std::int64_t tensor = 1;
    std::int64_t context = 1;
    std::int64_t expert = 1;
  };
  void try_split(const Split& split, std::int64_t gpus);
  bool try_pipeline(const Split& split, std::int64_t gpus, std::int64_t pipeline);
  bool try_layout(Layout layout, std::int64_t data);
  [[nodiscard]] std::optional<std::int64_t> batch_for(const Layout& layout, std::int64_t data) const;
  [[nodiscard]] std::vector<std::int64_t> pipelines() const;
  [[nodiscard]] std::vector<std::int64_t> experts() const;

  const model::Cluster& sample_;
  const model::ServerModel& server_;
  workload::GpuRates rates_;
  model::JobSpec job_;
  std::int64_t batch_;
  workload::ModelShape shape_;
  Bytes memory_;
  std::int64_t domain_ = 1;  // GPUs that NVLink connects
  std::unique_ptr<workload::FabricTimer> timer_;
  std::map<std::int64_t, std::optional<FoundLayout>> found_;  // by nodes
  std::optional<FoundLayout> best_;                           // of the search in progress
};

}  // namespace weft::explore
