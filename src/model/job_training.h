// The `training` section of a job file: the model, its precision and parallelism, how it reads data and writes
// checkpoints. Input of `weft sim life`. Nothing is computed here; that is done in workload/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/schema.h"

namespace weft::model {

enum class Precision { bf16, fp8 };
enum class Sharding { none, optimizer, gradients, parameters };  // ZeRO 0 to 3; parameters is FSDP
enum class Recompute { none, selective, full };
enum class Framework { megatron, compiled, eager, jax };  // which kernels are fused and overlapped
enum class ContextExchange { all_gather, ring };
enum class Dispatch { all_to_all, deepep };  // how tokens reach their experts
enum class AttentionKernel { cudnn, flash2, unfused };
enum class CheckpointMode { synchronous, asynchronous };
enum class CheckpointLayout { sharded, rank0 };
enum class DataCache { none, page, local };

const std::vector<std::pair<std::string_view, Precision>>& choices_of(Precision);
const std::vector<std::pair<std::string_view, Sharding>>& choices_of(Sharding);
const std::vector<std::pair<std::string_view, Recompute>>& choices_of(Recompute);
const std::vector<std::pair<std::string_view, Framework>>& choices_of(Framework);
const std::vector<std::pair<std::string_view, ContextExchange>>& choices_of(ContextExchange);
const std::vector<std::pair<std::string_view, Dispatch>>& choices_of(Dispatch);
const std::vector<std::pair<std::string_view, AttentionKernel>>& choices_of(AttentionKernel);
const std::vector<std::pair<std::string_view, CheckpointMode>>& choices_of(CheckpointMode);
const std::vector<std::pair<std::string_view, CheckpointLayout>>& choices_of(CheckpointLayout);
const std::vector<std::pair<std::string_view, DataCache>>& choices_of(DataCache);

// Dimensions of a decoder. Each may be set in addition to the name of a known model and overrides its value.
struct DimensionsSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> layers;
  Sourced<std::int64_t> hidden;
  Sourced<std::int64_t> heads;
  Sourced<std::int64_t> kv_heads;  // unset: heads (no grouped queries)
  Sourced<std::int64_t> head_dim;  // unset: hidden / heads
  Sourced<std::int64_t> ffn;       // inner width of a dense block
  Sourced<std::int64_t> vocab;
  Sourced<bool> gated;              // SwiGLU: two matrices in, one out
  Sourced<bool> tied;               // the head shares the embedding's weights
  Sourced<bool> learned_positions;  // a table of positions instead of rotary ones
  Sourced<bool> biases;
  Sourced<std::int64_t> experts;
  Sourced<std::int64_t> active_experts;  // per token
  Sourced<std::int64_t> shared_experts;  // used by every token
  Sourced<std::int64_t> expert_ffn;      // unset: ffn
  Sourced<std::int64_t> dense_layers;    // first layers without experts
  Sourced<std::int64_t> query_rank;      // latent attention (MLA); unset: none
  Sourced<std::int64_t> kv_rank;
  Sourced<std::int64_t> rope_dim;
  Sourced<std::int64_t> value_dim;
};

struct ParallelSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> tensor{1};
  Sourced<std::int64_t> pipeline{1};
  Sourced<std::int64_t> interleave{1};         // model chunks per pipeline stage (virtual stages)
  Sourced<std::int64_t> first_stage_layers;    // unset: as the other stages
  Sourced<std::int64_t> last_stage_layers;     // unset: as the other stages
  Sourced<bool> account_for_embedding{false};  // the embedding counts as a layer in the split
  Sourced<bool> account_for_loss{false};       // the output layer counts as a layer in the split
  Sourced<std::int64_t> context{1};
  Sourced<std::int64_t> expert{1};
  Sourced<std::int64_t> expert_tensor;  // tensor parallelism inside experts; unset: 1 if experts are distributed
  Sourced<std::int64_t> data;           // unset: the remaining GPUs
  Sourced<std::int64_t> replicate{1};   // copies of what is sharded (HSDP); 1: sharded over all replicas
  Sourced<bool> sequence;               // sequence parallelism in addition to tensor; unset: if tensor > 1
  Sourced<ContextExchange> context_exchange{ContextExchange::ring};
};

struct OverlapSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<bool> tensor;    // chunks of the collectives overlap with matrix products; unset: the framework's default
  Sourced<bool> data;      // gradients are reduced during backward, parameters gathered during forward
  Sourced<bool> pipeline;  // activations are sent during compute
  Sourced<bool> expert;    // all-to-all during compute
};

// What happens to parameters that are sharded (FSDP).
struct FsdpSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> prefetch{1};  // layers gathered ahead
  Sourced<bool> reshard{true};        // gathered parameters are freed after the forward pass
  Sourced<bool> fp8_gather{false};    // parameters are gathered in 1 byte
};

// How tokens are sent to experts on other GPUs and back.
struct ExpertSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Dispatch> dispatch;           // unset: deepep if the experts span NVLink domains
  Sourced<bool> fp8_dispatch{false};    // tokens are sent in 1 byte; sums return in 2
  Sourced<std::int64_t> token_servers;  // servers whose experts one token may use; unset: all
  Sourced<std::int64_t> imbalance{0};   // standard deviation of the tokens per expert, percent of their mean
};

struct DataSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> volume;         // unset: the first dataset volume among the mounts
  Sourced<Bytes> sample;               // stored size of one sample; unset: 4 bytes per token
  Sourced<std::int64_t> file_samples;  // samples per file; 1: one file per sample; unset: 1 GiB files
  Sourced<std::int64_t> samples;       // per epoch; unset: more than the run reads
  Sourced<std::int64_t> workers{8};    // loader processes per GPU
  Sourced<std::int64_t> prefetch{2};   // batches ahead, per worker
  Sourced<Duration> decode;            // CPU time per sample; unset: none (tokens)
  Sourced<bool> shuffle{true};         // random reads, one sample at a time; false: whole files in order
  Sourced<DataCache> cache{DataCache::page};
  Sourced<bool> gpudirect{false};  // storage to GPU memory without a copy through the host
};

struct CheckpointSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> volume;  // unset: the first checkpoint volume among the mounts
  Sourced<std::string> second;  // second volume that gets a copy
  Sourced<std::int64_t> steps;  // between checkpoints; unset: by interval
  Sourced<Duration> interval;   // unset: the cluster's workload.checkpoint_interval
  Sourced<Bytes> size;          // unset: from the model and its optimizer
  Sourced<CheckpointMode> mode{CheckpointMode::synchronous};
  Sourced<CheckpointLayout> layout{CheckpointLayout::sharded};
  Sourced<bool> gpudirect{false};
};

struct TrainingSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> model;  // a known one; unset: given by dimensions
  Sourced<DimensionsSpec> dimensions{DimensionsSpec{}};
  Sourced<std::int64_t> sequence;      // tokens; unset: the model's
  Sourced<std::int64_t> global_batch;  // sequences per step; unset: micro_batch x data (x pipeline if there is one)
  Sourced<std::int64_t> micro_batch{1};
  Sourced<Precision> precision{Precision::bf16};
  Sourced<ParallelSpec> parallel{ParallelSpec{}};
  Sourced<Sharding> sharding;  // unset: optimizer if the framework is megatron and data > 1, else none
  Sourced<Recompute> recompute{Recompute::none};
  Sourced<AttentionKernel> attention_kernel;  // unset: what the framework uses on the job's GPUs
  Sourced<bool>
      dropout;  // of attention and of hidden states; unset: true for models with learned positions in megatron
  Sourced<OverlapSpec> overlap{OverlapSpec{}};
  Sourced<FsdpSpec> fsdp{FsdpSpec{}};
  Sourced<ExpertSpec> experts{ExpertSpec{}};
  Sourced<Framework> framework{Framework::megatron};
  Sourced<bool> fp32_gradients;         // accumulated and reduced in 4 bytes; unset: true without bf16_optimizer
  Sourced<bool> cuda_graphs{false};     // kernels are launched as graphs: the host does not limit
  Sourced<bool> bf16_optimizer{false};  // weights and moments in 2 bytes, no fp32 copy
  Sourced<std::int64_t> steps{1'000};
  Sourced<DataSpec> data{DataSpec{}};
  Sourced<CheckpointSpec> checkpoint{CheckpointSpec{}};
};

}  // namespace weft::model
