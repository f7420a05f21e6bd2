#include "explore/layout.h"

#include <algorithm>

#include "base/check.h"
#include "workload/life/play_life.h"
#include "workload/training/memory_model.h"
#include "workload/training/step_model.h"

namespace weft::explore {
namespace {

constexpr std::int64_t kMaxTensor = 16;
constexpr std::int64_t kMaxPipeline = 32;
constexpr std::int64_t kMaxMicroBatches = 4'096;  // per step and GPU: a longer schedule gains nothing
constexpr int kPipelinesBeyondFirst = 2;          // deeper pipelines than the first that fits

template <class T>
void set(model::Sourced<T>& field, T value) {
  field.value = value;
  field.origin = model::Origin::file;
}

}  // namespace

void apply_layout(const Layout& layout, model::JobSpec& job) {
  model::TrainingSpec& training = job.training.value;
  model::ParallelSpec& parallel = training.parallel.value;
  training.parallel.origin = model::Origin::file;
  set(parallel.tensor, layout.tensor);
  set(parallel.pipeline, layout.pipeline);
  set(parallel.interleave, layout.interleave);
  set(parallel.context, layout.context);
  set(parallel.expert, layout.expert);
  set(training.micro_batch, layout.micro_batch);
  set(training.global_batch, layout.global_batch);
  set(training.sharding, layout.sharding);
  set(training.recompute, layout.recompute);
}

LayoutSearch::LayoutSearch(const model::Cluster& sample, const model::ServerModel& server,
                           const workload::GpuRates& rates, model::JobSpec job, std::int64_t batch)
    : sample_(sample), server_(server), rates_(rates), job_(std::move(job)), batch_(batch) {
  Diagnostics diagnostics;
  const std::optional<workload::ModelShape> shape = workload::shape_of(job_.training.value, diagnostics);
  CHECK(shape.has_value(), "the caller has read the model");
  shape_ = *shape;
  const model::GpuModel* gpu = sample_.catalog().gpu(server_.gpu.value);
  CHECK(gpu != nullptr, "the rates are those of this GPU");
  memory_ = gpu->memory.value;
  const workload::NcclMachine machine = workload::machine_of(sample_, server_);
  domain_ = machine.node_gpus;
  timer_ = std::make_unique<workload::FabricTimer>(machine, workload::FabricTimerOptions{}, 1.0, machine.node_gpus);
}

std::optional<FoundLayout> LayoutSearch::find(std::int64_t nodes) {
  const auto known = found_.find(nodes);
  if (known != found_.end()) return known->second;
  best_.reset();
  set(job_.nodes, nodes);
  const std::int64_t gpus = nodes * server_.gpus.value;
  for (const std::int64_t expert : experts()) {
    for (std::int64_t tensor = 1; tensor <= std::min(domain_, kMaxTensor); tensor *= 2) {
      if (shape_.heads % tensor != 0) continue;
      if (shape_.kv_heads > 0 && shape_.kv_heads % tensor != 0 && tensor % shape_.kv_heads != 0) continue;
      for (const std::int64_t context : {1, 2, 4}) try_split({tensor, context, expert}, gpus);
    }
  }
  found_[nodes] = best_;
  return best_;
}

std::vector<std::int64_t> LayoutSearch::experts() const {
  if (!shape_.mixture()) return {1};
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= std::min<std::int64_t>(shape_.experts, 64); count *= 2) {
    if (shape_.experts % count == 0) counts.push_back(count);
  }
  return counts;
}

// Powers of two, which divide most numbers of servers, and what divides the layers evenly.
std::vector<std::int64_t> LayoutSearch::pipelines() const {
  std::vector<std::int64_t> stages;
  for (std::int64_t count = 1; count <= std::min(kMaxPipeline, shape_.layers); ++count) {
    const bool power = (count & (count - 1)) == 0;
    if (power || shape_.layers % count == 0) stages.push_back(count);
  }
  return stages;
}

void LayoutSearch::try_split(const Split& split, std::int64_t gpus) {
  int beyond = -1;
  for (const std::int64_t pipeline : pipelines()) {
    const std::int64_t model = split.tensor * split.context * pipeline;
    if (model > gpus || gpus % model != 0) continue;
    const bool fits = try_pipeline(split, gpus, pipeline);
    if (fits || beyond >= 0) ++beyond;
    if (beyond >= kPipelinesBeyondFirst) return;
  }
}

// Whether a layout with this number of stages fits into memory.
bool LayoutSearch::try_pipeline(const Split& split, std::int64_t gpus, std::int64_t pipeline) {
  const std::int64_t data = gpus / (split.tensor * split.context * pipeline);
  std::vector<model::Sharding> shardings = {model::Sharding::optimizer};
  if (pipeline == 1 && split.expert == 1) shardings.push_back(model::Sharding::parameters);
  bool fits = false;
  for (const model::Sharding sharding : shardings) {
    for (const std::int64_t micro_batch : {1, 2, 4}) {
      for (const std::int64_t interleave : {1, 2, 4, 8}) {
        if (interleave > 1 && (pipeline == 1 || shape_.layers % (pipeline * interleave) != 0)) continue;
        Layout layout{split.tensor, pipeline,        interleave, split.context,         split.expert,
                      micro_batch,  std::int64_t{1}, sharding,   model::Recompute::none};
        for (const model::Recompute recompute :
             {model::Recompute::none, model::Recompute::selective, model::Recompute::full}) {
          layout.recompute = recompute;
          if (!try_layout(layout, data)) continue;
          fits = true;
          break;
        }
      }
    }
  }
  return fits;
}

// The number of sequences per step nearest to what is wanted; none if it would be off by more than a tenth.
std::optional<std::int64_t> LayoutSearch::batch_for(const Layout& layout, std::int64_t data) const {
  const std::int64_t unit = data * layout.micro_batch * (layout.interleave > 1 ? layout.pipeline : 1);
  const std::int64_t count = std::max<std::int64_t>(1, (batch_ + unit / 2) / unit);
  const std::int64_t batch = count * unit;
  if (std::abs(batch - batch_) * 10 > batch_ || batch / (data * layout.micro_batch) > kMaxMicroBatches)
    return std::nullopt;
  return batch;
}

// Whether it fits into memory; keeps the best.
bool LayoutSearch::try_layout(Layout layout, std::int64_t data) {
  const std::optional<std::int64_t> batch = batch_for(layout, data);
  if (!batch) return false;
  layout.global_batch = *batch;
  apply_layout(layout, job_);
  Diagnostics diagnostics;
  const std::optional<workload::TrainingPlan> plan = workload::plan_training(job_, sample_, diagnostics);
  if (!plan) return false;
  const workload::MemoryUse memory = workload::memory_of(*plan, memory_);
  if (memory.total > memory.capacity) return false;
  const workload::StepTimes step = workload::play_step(*plan, rates_, *timer_);
  const double seconds = static_cast<double>(step.parts.step.count()) / 1e12;
  if (seconds <= 0) return true;
  const double rate = static_cast<double>(plan->global_batch) * static_cast<double>(plan->sequence) / seconds;
  if (!best_ || rate > best_->tokens_per_second) best_ = FoundLayout{layout, rate};
  return true;
}

}  // namespace weft::explore
