// A training job with all numbers resolved: how the GPUs of the job are split into groups, the micro-batches per step,
// and the overlaps. Ranks are numbered as in Megatron: tensor fastest, then context, data, pipeline slowest. Splits
// that do not divide or do not exist are rejected with ones that work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "workload/graph/op_graph.h"
#include "workload/training/model_shape.h"

namespace weft::workload {

struct TrainingPlan {
  ModelShape shape;
  std::int64_t gpus = 1;
  std::int64_t node_gpus = 8;  // GPUs per NVLink domain
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t interleave = 1;
  std::int64_t first_stage_layers = 0;  // 0: as the others
  std::int64_t last_stage_layers = 0;
  bool account_for_embedding = false;  // the embedding counts as a layer of the first chunk
  bool account_for_loss = false;       // the output layer counts as a layer of the last chunk
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;
  std::int64_t data = 1;
  std::int64_t replicate = 1;  // copies of the sharded state
  bool sequence_parallel = false;
  model::ContextExchange context_exchange = model::ContextExchange::ring;
  model::Sharding sharding = model::Sharding::none;
  model::Recompute recompute = model::Recompute::none;
  model::Framework framework = model::Framework::megatron;
  model::Precision precision = model::Precision::bf16;
  std::optional<model::AttentionKernel> attention;  // unset: what the framework uses on the GPU
  bool dropout = false;
  bool overlap_tensor = false;
  bool overlap_data = false;
  bool overlap_pipeline = false;
  bool overlap_expert = false;
  std::int64_t prefetch = 1;  // layers of sharded parameters gathered ahead
  bool reshard = true;
  bool fp8_gather = false;
  model::Dispatch dispatch = model::Dispatch::all_to_all;
  bool fp8_dispatch = false;
  std::int64_t token_servers = 0;  // NVLink domains whose experts a token may use; 0: all
  double imbalance = 0;            // standard deviation of the tokens per expert, relative to their mean
  bool cuda_graphs = false;
  bool fp32_gradients = false;
  bool gradients_given = false;  // the job file sets fp32_gradients
  bool bf16_optimizer = false;
  std::int64_t sequence = 0;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;
  std::int64_t micro_batches = 1;  // per rank and step
  std::int64_t steps = 1;

  // Tokens per micro-batch on one rank, after the split over the context group.
  [[nodiscard]] double tokens() const {
    return static_cast<double>(micro_batch * sequence) / static_cast<double>(context);
  }
  [[nodiscard]] bool pytorch() const {
    return framework == model::Framework::compiled || framework == model::Framework::eager;
  }
  [[nodiscard]] bool fused_attention() const { return attention != model::AttentionKernel::unfused; }
  [[nodiscard]] double gradient_bytes() const { return fp32_gradients ? 4 : 2; }
  // Transformer Engine's FP8 kernels, which keep inputs and weights in FP8.
  [[nodiscard]] bool fp8_kernels() const {
    return precision == model::Precision::fp8 && framework == model::Framework::megatron;
  }
  // Layers per chunk, by global chunk number (stage = number % pipeline). If they do not divide evenly and the job does
  // not say how to split them, the first and last chunks, which also hold the embedding and the head, get fewer.
  [[nodiscard]] std::vector<std::int64_t> chunk_layers() const;
  [[nodiscard]] std::vector<std::int64_t> chunks_by_stage() const;

  [[nodiscard]] OpGroup tensor_group() const;
  [[nodiscard]] OpGroup context_group() const;
  [[nodiscard]] OpGroup data_group() const;          // shares dense weights: data x context
  [[nodiscard]] OpGroup shard_group() const;         // holds one copy of what is sharded
  [[nodiscard]] OpGroup replica_group() const;       // holds the same shard
  [[nodiscard]] OpGroup expert_group() const;        // exchanges tokens
  [[nodiscard]] OpGroup expert_rail_group() const;   // the GPUs of that group with one place in their servers
  [[nodiscard]] OpGroup expert_local_group() const;  // those in one server
  [[nodiscard]] OpGroup expert_data_group() const;   // shares an expert's weights
  [[nodiscard]] OpGroup pipeline_group() const;
  // What Megatron's recipes use: DeepEP where experts span NVLink domains.
  [[nodiscard]] model::Dispatch usual_dispatch() const {
    const OpGroup all = expert_group();
    return all.ranks > all.node_ranks ? model::Dispatch::deepep : model::Dispatch::all_to_all;
  }
  // "tensor 4 x pipeline 4 (interleave 5) x context 2 x data 2"
  [[nodiscard]] std::string layout() const;
};

// `job` is resolved against `cluster`. Reports all problems.
[[nodiscard]] std::optional<TrainingPlan> plan_training(const model::JobSpec& job, const model::Cluster& cluster,
                                                        Diagnostics& diagnostics);

}  // namespace weft::workload
