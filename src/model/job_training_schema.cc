// The schema of a job file's `training` section. See job_schema.cc for the rest of the file.
#include "model/job_training.h"

namespace weft::model {

const std::vector<std::pair<std::string_view, Precision>>& choices_of(Precision) {
  static const std::vector<std::pair<std::string_view, Precision>> choices{{"bf16", Precision::bf16},
                                                                           {"fp8", Precision::fp8}};
  return choices;
}

const std::vector<std::pair<std::string_view, Sharding>>& choices_of(Sharding) {
  static const std::vector<std::pair<std::string_view, Sharding>> choices{{"none", Sharding::none},
                                                                          {"optimizer", Sharding::optimizer},
                                                                          {"gradients", Sharding::gradients},
                                                                          {"parameters", Sharding::parameters}};
  return choices;
}

const std::vector<std::pair<std::string_view, Recompute>>& choices_of(Recompute) {
  static const std::vector<std::pair<std::string_view, Recompute>> choices{
      {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
  return choices;
}

const std::vector<std::pair<std::string_view, Framework>>& choices_of(Framework) {
  static const std::vector<std::pair<std::string_view, Framework>> choices{{"megatron", Framework::megatron},
                                                                           {"compiled", Framework::compiled},
                                                                           {"eager", Framework::eager},
                                                                           {"jax", Framework::jax}};
  return choices;
}

const std::vector<std::pair<std::string_view, ContextExchange>>& choices_of(ContextExchange) {
  static const std::vector<std::pair<std::string_view, ContextExchange>> choices{
      {"all-gather", ContextExchange::all_gather}, {"ring", ContextExchange::ring}};
  return choices;
}

const std::vector<std::pair<std::string_view, Dispatch>>& choices_of(Dispatch) {
  static const std::vector<std::pair<std::string_view, Dispatch>> choices{{"all-to-all", Dispatch::all_to_all},
                                                                          {"deepep", Dispatch::deepep}};
  return choices;
}

const std::vector<std::pair<std::string_view, AttentionKernel>>& choices_of(AttentionKernel) {
  static const std::vector<std::pair<std::string_view, AttentionKernel>> choices{
      {"cudnn", AttentionKernel::cudnn},
      {"flash-attention-2", AttentionKernel::flash2},
      {"unfused", AttentionKernel::unfused}};
  return choices;
}

const std::vector<std::pair<std::string_view, CheckpointMode>>& choices_of(CheckpointMode) {
  static const std::vector<std::pair<std::string_view, CheckpointMode>> choices{
      {"synchronous", CheckpointMode::synchronous}, {"asynchronous", CheckpointMode::asynchronous}};
  return choices;
}

const std::vector<std::pair<std::string_view, CheckpointLayout>>& choices_of(CheckpointLayout) {
  static const std::vector<std::pair<std::string_view, CheckpointLayout>> choices{
      {"sharded", CheckpointLayout::sharded}, {"rank0", CheckpointLayout::rank0}};
  return choices;
}

const std::vector<std::pair<std::string_view, DataCache>>& choices_of(DataCache) {
  static const std::vector<std::pair<std::string_view, DataCache>> choices{
      {"none", DataCache::none}, {"page", DataCache::page}, {"local", DataCache::local}};
  return choices;
}

template <>
const Schema& schema_of<DimensionsSpec>() {
  static const Schema schema = [] {
    using R = DimensionsSpec;
    SchemaBuilder<R> b("dimensions", "Dimensions of a decoder-only transformer; each overrides the named model's.");
    b.field("layers", &R::layers, "transformer layers").range(1, 10'000);
    b.field("hidden", &R::hidden, "hidden size").range(1, 1'000'000);
    b.field("heads", &R::heads, "attention (query) heads").range(1, 10'000);
    b.field("kv_heads", &R::kv_heads, "key and value heads; default: heads").range(1, 10'000);
    b.field("head_dim", &R::head_dim, "head size; default: hidden / heads").range(1, 10'000);
    b.field("ffn", &R::ffn, "feed-forward size of a dense layer").range(1, 10'000'000);
    b.field("vocab", &R::vocab, "vocabulary size").range(1, 10'000'000);
    b.field("gated", &R::gated, "gated feed-forward (SwiGLU: three matrices); default: true");
    b.field("tied", &R::tied, "tied input and output embeddings; default: false");
    b.field("learned_positions", &R::learned_positions,
            "learned position embeddings instead of rotary ones; default: false");
    b.field("biases", &R::biases, "linear layers have biases; default: false");
    b.field("experts", &R::experts, "experts per mixture-of-experts layer; default: none").range(1, 10'000);
    b.field("active_experts", &R::active_experts, "experts per token (top-k)").range(1, 1'000);
    b.field("shared_experts", &R::shared_experts, "shared experts; default: 0").range(0, 1'000);
    b.field("expert_ffn", &R::expert_ffn, "feed-forward size of an expert; default: ffn").range(1, 10'000'000);
    b.field("dense_layers", &R::dense_layers, "dense layers before the first mixture-of-experts layer; default: 0")
        .range(0, 10'000);
    b.field("query_rank", &R::query_rank, "latent attention: rank of the query projection").range(1, 1'000'000);
    b.field("kv_rank", &R::kv_rank, "latent attention: rank of keys and values").range(1, 1'000'000);
    b.field("rope_dim", &R::rope_dim, "latent attention: rotary part of the head size").range(1, 10'000);
    b.field("value_dim", &R::value_dim, "latent attention: size of a value head").range(1, 10'000);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<ParallelSpec>() {
  static const Schema schema = [] {
    using R = ParallelSpec;
    SchemaBuilder<R> b("parallel", "How the model is parallelized.");
    b.field("tensor", &R::tensor, "tensor-parallel size").range(1, 1'000);
    b.field("pipeline", &R::pipeline, "pipeline stages").range(1, 1'000);
    b.field("interleave", &R::interleave, "virtual stages (layer chunks) per pipeline stage").range(1, 1'000);
    b.field("first_stage_layers", &R::first_stage_layers,
            "layers of the first pipeline stage (Megatron: decoder-first-pipeline-num-layers); default: as the others")
        .range(1, 10'000);
    b.field("last_stage_layers", &R::last_stage_layers,
            "layers of the last pipeline stage (Megatron: decoder-last-pipeline-num-layers); default: as the others")
        .range(1, 10'000);
    b.field("account_for_embedding", &R::account_for_embedding,
            "the embedding counts as a layer when layers are split into stages, as in Megatron");
    b.field("account_for_loss", &R::account_for_loss,
            "the output layer counts as a layer when layers are split into stages, as in Megatron");
    b.field("context", &R::context, "context-parallel size").range(1, 1'000);
    b.field("expert", &R::expert, "expert-parallel size").range(1, 10'000);
    b.field("expert_tensor", &R::expert_tensor,
            "tensor-parallel size of each expert; default: 1 with expert parallelism")
        .range(1, 1'000);
    b.field("data", &R::data, "data-parallel replicas; default: from the remaining GPUs").range(1, 1'000'000);
    b.field("replicate", &R::replicate,
            "hybrid sharding (HSDP): copies of the sharded state; each is sharded over data x context / replicate GPUs")
        .range(1, 1'000'000);
    b.field("sequence", &R::sequence, "sequence parallelism in the tensor group; default: true if tensor > 1");
    b.field("context_exchange", &R::context_exchange,
            "how keys and values are exchanged in the context-parallel group");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<OverlapSpec>() {
  static const Schema schema = [] {
    using R = OverlapSpec;
    SchemaBuilder<R> b("overlap", "Communication overlapped with compute; default: as the framework does.");
    b.field("tensor", &R::tensor, "tensor-parallel collectives, in chunks, with matrix products");
    b.field("data", &R::data, "gradients with the backward pass, parameters with the forward pass");
    b.field("pipeline", &R::pipeline, "activations between pipeline stages");
    b.field("expert", &R::expert, "all-to-all of tokens to and from experts");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<FsdpSpec>() {
  static const Schema schema = [] {
    using R = FsdpSpec;
    SchemaBuilder<R> b("fsdp", "How sharded parameters are gathered; needs `sharding: parameters`.");
    b.field("prefetch", &R::prefetch, "layers whose parameters are gathered ahead of the one that is computed")
        .range(0, 100);
    b.field("reshard", &R::reshard, "free gathered parameters after the forward pass and gather them again");
    b.field("fp8_gather", &R::fp8_gather, "gather parameters in FP8; needs `precision: fp8`");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<ExpertSpec>() {
  static const Schema schema = [] {
    using R = ExpertSpec;
    SchemaBuilder<R> b("experts", "How tokens are sent to experts on other GPUs.");
    b.field("dispatch", &R::dispatch,
            "all-to-all: a copy of a token per expert; deepep: one per server, forwarded over NVLink; default: deepep "
            "if experts span NVLink domains");
    b.field("fp8_dispatch", &R::fp8_dispatch, "send tokens to experts in FP8; their outputs return in bf16");
    b.field("token_servers", &R::token_servers,
            "NVLink domains whose experts one token may use (group-limited routing); default: all")
        .range(1, 10'000);
    b.field("imbalance", &R::imbalance,
            "standard deviation of the tokens per expert, in percent of their mean; 0: balanced")
        .range(0, 1'000);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<DataSpec>() {
  static const Schema schema = [] {
    using R = DataSpec;
    SchemaBuilder<R> b("data", "How training data is read.");
    b.field("volume", &R::volume, "dataset volume; default: the first one mounted");
    b.field("sample", &R::sample, "stored size of a sample; default: 4 bytes per token");
    b.field("file_samples", &R::file_samples, "samples per file; default: as many as fit in 1 GiB")
        .range(1, 1'000'000'000);
    b.field("samples", &R::samples, "samples per epoch; default: more than the run reads").range(1, 1'000'000'000'000);
    b.field("workers", &R::workers, "data loader workers per GPU; 0: reads in the training process, without overlap")
        .range(0, 1'000);
    b.field("prefetch", &R::prefetch, "batches that a worker prefetches; 0: reads do not overlap with the step")
        .range(0, 1'000);
    b.field("decode", &R::decode, "CPU time per sample; default: none");
    b.field("shuffle", &R::shuffle, "samples are read in random order; false: files are read in order");
    b.field("cache", &R::cache,
            "where samples are cached after the first epoch: none, page (host memory), local (NVMe of the server)");
    b.field("gpudirect", &R::gpudirect, "read directly into GPU memory (GPUDirect Storage)");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<CheckpointSpec>() {
  static const Schema schema = [] {
    using R = CheckpointSpec;
    SchemaBuilder<R> b("checkpoint", "How checkpoints are written.");
    b.field("volume", &R::volume, "checkpoint volume; default: the first one mounted");
    b.field("second", &R::second, "second volume that receives a copy");
    b.field("steps", &R::steps, "steps between checkpoints; default: by interval").range(1, 1'000'000'000);
    b.field("interval", &R::interval, "time between checkpoints; default: workload.checkpoint_interval");
    b.field("size", &R::size, "size of a checkpoint; default: from the model and its optimizer");
    b.field("mode", &R::mode, "synchronous: training waits; asynchronous: it waits for the copy to host memory");
    b.field("layout", &R::layout, "sharded: every rank writes its shard; rank0: one rank writes everything");
    b.field("gpudirect", &R::gpudirect, "write directly from GPU memory (GPUDirect Storage)");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<TrainingSpec>() {
  static const Schema schema = [] {
    using R = TrainingSpec;
    SchemaBuilder<R> b("training", "Model and training parameters, for `weft sim life`.");
    b.field("model", &R::model, "named model; `weft sim models` lists them");
    b.field("dimensions", &R::dimensions, "dimensions of the model");
    b.field("sequence", &R::sequence, "sequence length in tokens; default: the model's").range(1, 100'000'000);
    b.field("global_batch", &R::global_batch,
            "sequences per step (global batch); default: micro_batch x data x pipeline")
        .range(1, 100'000'000);
    b.field("micro_batch", &R::micro_batch, "sequences per pass").range(1, 1'000'000);
    b.field("precision", &R::precision, "precision of matrix products");
    b.field("parallel", &R::parallel, "how the model is parallelized");
    b.field("sharding", &R::sharding,
            "what is sharded over data-parallel replicas: none, optimizer (ZeRO-1), gradients (ZeRO-2), parameters "
            "(ZeRO-3, FSDP)");
    b.field("recompute", &R::recompute,
            "activations recomputed in the backward pass: none, selective (attention), full (whole layers)");
    b.field("attention_kernel", &R::attention_kernel,
            "kernel of attention: cudnn (cuDNN, FlashAttention-3), flash-attention-2, unfused (scores are written to "
            "memory); default: cudnn, flash-attention-2 in PyTorch before Blackwell");
    b.field("dropout", &R::dropout,
            "dropout in attention and after it; default: true for models with learned positions (GPT-3) in megatron");
    b.field("overlap", &R::overlap, "communication overlapped with compute");
    b.field("fsdp", &R::fsdp, "how sharded parameters are gathered");
    b.field("experts", &R::experts, "how tokens are sent to experts");
    b.field("framework", &R::framework,
            "framework: megatron (fused, overlapped), compiled (torch.compile), eager (PyTorch), jax (XLA)");
    b.field("cuda_graphs", &R::cuda_graphs,
            "kernels are launched as CUDA graphs; false: one by one, which limits small models");
    b.field("fp32_gradients", &R::fp32_gradients,
            "gradients are accumulated and reduced in fp32; default: true, false with bf16_optimizer");
    b.field("bf16_optimizer", &R::bf16_optimizer, "weights and optimizer moments in 2 bytes, without an fp32 copy");
    b.field("steps", &R::steps, "number of steps").range(1, 1'000'000'000);
    b.field("data", &R::data, "how training data is read");
    b.field("checkpoint", &R::checkpoint, "how checkpoints are written");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model
