// The tables of a job file's `training` section. See job_schema.cc for the rest of the file.
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
  static const std::vector<std::pair<std::string_view, Framework>> choices{
      {"megatron", Framework::megatron}, {"compiled", Framework::compiled}, {"eager", Framework::eager}};
  return choices;
}

const std::vector<std::pair<std::string_view, ContextExchange>>& choices_of(ContextExchange) {
  static const std::vector<std::pair<std::string_view, ContextExchange>> choices{
      {"all-gather", ContextExchange::all_gather}, {"ring", ContextExchange::ring}};
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
    SchemaBuilder<R> b("dimensions", "Dimensions of a decoder; each wins over the named model's.");
    b.field("layers", &R::layers, "transformer layers").range(1, 10'000);
    b.field("hidden", &R::hidden, "width of the residual stream").range(1, 1'000'000);
    b.field("heads", &R::heads, "query heads").range(1, 10'000);
    b.field("kv_heads", &R::kv_heads, "key and value heads; default: heads").range(1, 10'000);
    b.field("head_dim", &R::head_dim, "width of a head; default: hidden / heads").range(1, 10'000);
    b.field("ffn", &R::ffn, "inner width of a dense block").range(1, 10'000'000);
    b.field("vocab", &R::vocab, "tokens of the vocabulary").range(1, 10'000'000);
    b.field("gated", &R::gated, "SwiGLU: two matrices in, one out; default: true");
    b.field("tied", &R::tied, "the output layer shares the embedding; default: false");
    b.field("learned_positions", &R::learned_positions, "a table of positions instead of rotary ones; default: false");
    b.field("biases", &R::biases, "linear layers have biases; default: false");
    b.field("experts", &R::experts, "experts of a mixture layer; default: none").range(1, 10'000);
    b.field("active_experts", &R::active_experts, "experts that a token passes").range(1, 1'000);
    b.field("shared_experts", &R::shared_experts, "experts that every token passes; default: 0").range(0, 1'000);
    b.field("expert_ffn", &R::expert_ffn, "inner width of an expert; default: ffn").range(1, 10'000'000);
    b.field("dense_layers", &R::dense_layers, "first layers without experts; default: 0").range(0, 10'000);
    b.field("query_rank", &R::query_rank, "latent attention: rank of the query projection").range(1, 1'000'000);
    b.field("kv_rank", &R::kv_rank, "latent attention: rank of keys and values").range(1, 1'000'000);
    b.field("rope_dim", &R::rope_dim, "latent attention: rotary part of a head").range(1, 10'000);
    b.field("value_dim", &R::value_dim, "latent attention: width of a value head").range(1, 10'000);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<ParallelSpec>() {
  static const Schema schema = [] {
    using R = ParallelSpec;
    SchemaBuilder<R> b("parallel", "How the model is spread over GPUs.");
    b.field("tensor", &R::tensor, "GPUs that share each layer").range(1, 1'000);
    b.field("pipeline", &R::pipeline, "stages of layers").range(1, 1'000);
    b.field("interleave", &R::interleave, "chunks of layers that a stage holds (virtual stages)").range(1, 1'000);
    b.field("context", &R::context, "GPUs that share each sequence").range(1, 1'000);
    b.field("expert", &R::expert, "GPUs that share the experts").range(1, 10'000);
    b.field("expert_tensor", &R::expert_tensor, "GPUs that share each expert; default: 1 where experts are spread")
        .range(1, 1'000);
    b.field("data", &R::data, "replicas; default: what the GPUs leave").range(1, 1'000'000);
    b.field("sequence", &R::sequence, "norms are split over the tensor group; default: where tensor > 1");
    b.field("context_exchange", &R::context_exchange, "how keys and values reach the context group");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<OverlapSpec>() {
  static const Schema schema = [] {
    using R = OverlapSpec;
    SchemaBuilder<R> b("overlap", "Communication that runs beside compute; default: what the framework does.");
    b.field("tensor", &R::tensor, "pieces of tensor collectives beside the matrix products");
    b.field("data", &R::data, "gradients during backward, parameters during forward");
    b.field("pipeline", &R::pipeline, "activations between stages");
    b.field("expert", &R::expert, "tokens to and from experts");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<DataSpec>() {
  static const Schema schema = [] {
    using R = DataSpec;
    SchemaBuilder<R> b("data", "How samples are read.");
    b.field("volume", &R::volume, "dataset volume; default: the first among the mounts");
    b.field("sample", &R::sample, "stored size of a sample; default: 4 bytes a token");
    b.field("file_samples", &R::file_samples, "samples in a file; default: as many as fill 1 GiB")
        .range(1, 1'000'000'000);
    b.field("samples", &R::samples, "samples of an epoch; default: more than the run reads")
        .range(1, 1'000'000'000'000);
    b.field("workers", &R::workers, "loader processes of a GPU").range(0, 1'000);
    b.field("prefetch", &R::prefetch, "batches that a worker reads ahead").range(0, 1'000);
    b.field("decode", &R::decode, "CPU time of one sample; default: none");
    b.field("shuffle", &R::shuffle, "samples are read at random; false: files in order");
    b.field("cache", &R::cache,
            "where samples stay after the first epoch: none, page (host memory), local (NVMe of the server)");
    b.field("gpudirect", &R::gpudirect, "storage to GPU memory without a copy through the host");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<CheckpointSpec>() {
  static const Schema schema = [] {
    using R = CheckpointSpec;
    SchemaBuilder<R> b("checkpoint", "How checkpoints are written.");
    b.field("volume", &R::volume, "checkpoint volume; default: the first among the mounts");
    b.field("second", &R::second, "another volume that gets a copy");
    b.field("steps", &R::steps, "steps between two; default: by interval").range(1, 1'000'000'000);
    b.field("interval", &R::interval, "time between two; default: workload.checkpoint_interval");
    b.field("size", &R::size, "bytes of one; default: from the model and its optimizer");
    b.field("mode", &R::mode, "synchronous: training waits; asynchronous: it waits for the copy to host memory");
    b.field("layout", &R::layout, "sharded: every rank writes its part; rank0: one rank writes all");
    b.field("gpudirect", &R::gpudirect, "GPU memory to storage without a copy through the host");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<TrainingSpec>() {
  static const Schema schema = [] {
    using R = TrainingSpec;
    SchemaBuilder<R> b("training", "What the job computes, for `weft sim life`.");
    b.field("model", &R::model, "a known model: `weft sim models` lists them");
    b.field("dimensions", &R::dimensions, "dimensions of the model");
    b.field("sequence", &R::sequence, "tokens of a sequence; default: the model's").range(1, 100'000'000);
    b.field("global_batch", &R::global_batch, "sequences of a step; default: micro_batch x data x pipeline")
        .range(1, 100'000'000);
    b.field("micro_batch", &R::micro_batch, "sequences of a pass").range(1, 1'000'000);
    b.field("precision", &R::precision, "of matrix products");
    b.field("parallel", &R::parallel, "how the model is spread");
    b.field(
        "sharding", &R::sharding,
        "what data-parallel replicas share: none, optimizer (ZeRO-1), gradients (ZeRO-2), parameters (ZeRO-3, FSDP)");
    b.field("recompute", &R::recompute,
            "activations computed again in backward: none, selective (attention), full (whole layers)");
    b.field("flash_attention", &R::flash_attention, "attention scores stay on the chip; false: written to memory");
    b.field("overlap", &R::overlap, "communication beside compute");
    b.field("framework", &R::framework, "whose kernels: megatron (fused, overlapped), compiled (torch.compile), eager");
    b.field("fp32_gradients", &R::fp32_gradients,
            "gradients are accumulated and reduced in 4 bytes; default: megatron does");
    b.field("bf16_optimizer", &R::bf16_optimizer, "weights and moments in 2 bytes, without an fp32 copy");
    b.field("steps", &R::steps, "steps of the run").range(1, 1'000'000'000);
    b.field("data", &R::data, "how samples are read");
    b.field("checkpoint", &R::checkpoint, "how checkpoints are written");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model
