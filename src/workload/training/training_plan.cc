#include "workload/training/training_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::workload {
namespace {

OpGroup group(std::string name, std::int64_t ranks, std::int64_t stride, std::int64_t node_gpus) {
  OpGroup result;
  result.name = std::move(name);
  result.ranks = static_cast<std::uint32_t>(ranks);
  result.stride = static_cast<std::uint32_t>(stride);
  result.node_ranks = static_cast<std::uint32_t>(std::min(ranks, std::max<std::int64_t>(1, node_gpus / stride)));
  // If a group does not fill its servers evenly, use the largest number of ranks per server that divides it.
  while (result.node_ranks > 1 && result.ranks % result.node_ranks != 0) --result.node_ranks;
  return result;
}

class Planner {
 public:
  Planner(const model::JobSpec& job, const model::Cluster& cluster, Diagnostics& diagnostics)
      : job_(job), training_(job.training.value), cluster_(cluster), diagnostics_(diagnostics) {}

  std::optional<TrainingPlan> run() {
    const std::size_t before = diagnostics_.error_count();
    std::optional<ModelShape> shape = shape_of(training_, diagnostics_);
    if (!shape) return std::nullopt;
    plan_.shape = *shape;
    machine();
    // Before the servers are counted: the counts that errors suggest must fit the model.
    tensor_fits();
    if (diagnostics_.error_count() != before) return std::nullopt;
    groups();
    if (diagnostics_.error_count() != before) return std::nullopt;
    batches();
    habits();
    model_fits();
    if (diagnostics_.error_count() != before) return std::nullopt;
    return plan_;
  }

 private:
  void error(const SourceLocation& place, std::string message, std::string hint) {
    diagnostics_.error(place.known() ? place : training_.place, std::move(message), std::move(hint));
  }

  void machine() {
    plan_.gpus = job_.nodes.value * job_.gpus_per_node.value;
    plan_.node_gpus = job_.gpus_per_node.value;
    for (const model::PoolSpec& pool : cluster_.spec().pools.value) {
      if (pool.name->text != job_.pool.value) continue;
      const model::ServerModel* server = cluster_.catalog().server(pool.server.value);
      if (server == nullptr) continue;
      if (server->nvlink_domain.has_value()) {
        plan_.node_gpus = std::max(plan_.node_gpus, std::min(plan_.gpus, server->nvlink_domain.value));
      }
    }
  }

  void groups() {
    const model::ParallelSpec& p = training_.parallel.value;
    plan_.tensor = p.tensor.value;
    plan_.pipeline = p.pipeline.value;
    plan_.interleave = p.interleave.value;
    plan_.first_stage_layers = p.first_stage_layers.has_value() ? p.first_stage_layers.value : 0;
    plan_.last_stage_layers = p.last_stage_layers.has_value() ? p.last_stage_layers.value : 0;
    plan_.account_for_embedding = p.account_for_embedding.value;
    plan_.account_for_loss = p.account_for_loss.value;
    plan_.context = p.context.value;
    plan_.expert = p.expert.value;
    plan_.context_exchange = p.context_exchange.value;
    const std::int64_t model = plan_.tensor * plan_.pipeline * plan_.context;
    if (plan_.gpus % model != 0) {
      error(p.place,
            fmt::format("tensor {} x pipeline {} x context {} = {} does not divide {} GPUs", plan_.tensor,
                        plan_.pipeline, plan_.context, model, plan_.gpus),
            fitting_nodes(model));
      return;
    }
    plan_.data = plan_.gpus / model;
    if (p.data.has_value() && p.data.value != plan_.data) {
      error(p.data.place,
            fmt::format("data {} x {} = {} GPUs, but the job has {}", p.data.value, model, p.data.value * model,
                        plan_.gpus),
            fmt::format("data: {}, or nodes: {}", plan_.data,
                        (p.data.value * model + job_.gpus_per_node.value - 1) / job_.gpus_per_node.value));
    }
    const bool spread = plan_.expert > 1;
    plan_.expert_tensor = p.expert_tensor.has_value() ? p.expert_tensor.value : (spread ? 1 : plan_.tensor);
    // The default of Megatron's recipes, and of TorchTitan's tensor parallelism.
    plan_.sequence_parallel = plan_.tensor > 1 && (!p.sequence.has_value() || p.sequence.value);
  }

  // Server counts near the requested one that the model's split divides.
  std::string fitting_nodes(std::int64_t model) const {
    const std::int64_t per_node = job_.gpus_per_node.value;
    std::int64_t below = 0;
    std::int64_t above = 0;
    for (std::int64_t nodes = 1; nodes <= job_.nodes.value + model; ++nodes) {
      if (nodes * per_node % model != 0) continue;
      if (nodes <= job_.nodes.value) below = nodes;
      if (nodes > job_.nodes.value && above == 0) above = nodes;
    }
    if (below == 0) return fmt::format("nodes: {} would fit, or less parallelism", above);
    return fmt::format("nodes: {} or {} would fit", below, above);
  }

  void batches() {
    plan_.sequence = plan_.shape.sequence;
    plan_.micro_batch = training_.micro_batch.value;
    plan_.steps = training_.steps.value;
    const std::int64_t unit = plan_.data * plan_.micro_batch;
    plan_.global_batch = training_.global_batch.has_value() ? training_.global_batch.value : unit * plan_.pipeline;
    const SourceLocation& place = training_.global_batch.place;
    if (plan_.global_batch % unit != 0) {
      const std::int64_t below = plan_.global_batch / unit * unit;
      error(place,
            fmt::format("a global batch of {} sequences does not divide over data {} x micro_batch {}",
                        plan_.global_batch, plan_.data, plan_.micro_batch),
            below > 0 ? fmt::format("global_batch: {} or {} would", below, below + unit)
                      : fmt::format("global_batch: {} is the minimum", unit));
      return;
    }
    plan_.micro_batches = plan_.global_batch / unit;
    if (plan_.sequence % (plan_.context > 1 ? 2 * plan_.context : 1) != 0) {
      error(training_.parallel.value.context.place,
            fmt::format("a sequence of {} tokens does not divide into 2 x {} parts", plan_.sequence, plan_.context),
            "context parallelism gives every GPU an early and a late part, to balance the work");
    }
    if (plan_.interleave > 1 && plan_.pipeline < 2) {
      error(training_.parallel.value.interleave.place, "interleaving needs a pipeline", "pipeline: 2 or more");
    } else if (plan_.interleave > 1 && plan_.micro_batches % plan_.pipeline != 0) {
      error(training_.parallel.value.interleave.place,
            fmt::format("an interleaved pipeline of {} stages cannot run {} micro-batches", plan_.pipeline,
                        plan_.micro_batches),
            fmt::format("micro-batches must be a multiple of {}: global_batch: {}", plan_.pipeline,
                        (plan_.micro_batches / plan_.pipeline + 1) * plan_.pipeline * unit));
    }
  }

  void habits() {
    plan_.recompute = training_.recompute.value;
    plan_.framework = training_.framework.value;
    plan_.precision = training_.precision.value;
    if (training_.attention_kernel.has_value()) plan_.attention = training_.attention_kernel.value;
    plan_.cuda_graphs = training_.cuda_graphs.value;
    // Recipes of GPT-3 drop a tenth (NeMo's gpt3 configurations, Megatron-LM's defaults), those of later models
    // nothing.
    plan_.dropout = training_.dropout.has_value()
                        ? training_.dropout.value
                        : plan_.shape.learned_positions && plan_.framework == model::Framework::megatron;
    plan_.bf16_optimizer = training_.bf16_optimizer.value;
    const bool megatron = plan_.framework == model::Framework::megatron;
    plan_.sharding = training_.sharding.has_value()               ? training_.sharding.value
                     : megatron && plan_.data * plan_.context > 1 ? model::Sharding::optimizer
                                                                  : model::Sharding::none;
    // Megatron-LM accumulates in fp32 unless told otherwise (--grad-reduce-in-bf16); in PyTorch gradients have the
    // precision of the optimizer's weights (TorchTitan's mixed_precision_reduce and Composer's DEFAULT are fp32).
    plan_.gradients_given = training_.fp32_gradients.has_value();
    plan_.fp32_gradients = plan_.gradients_given ? training_.fp32_gradients.value : !plan_.bf16_optimizer;
    const model::OverlapSpec& overlap = training_.overlap.value;
    const auto habit = [](const model::Sourced<bool>& given, bool usual) {
      return given.has_value() ? given.value : usual;
    };
    plan_.overlap_tensor = habit(overlap.tensor, megatron && plan_.sequence_parallel);
    plan_.overlap_data = habit(overlap.data, true);
    plan_.overlap_pipeline = habit(overlap.pipeline, plan_.interleave > 1);
    plan_.overlap_expert = habit(overlap.expert, false);
    sharding();
    experts();
  }

  void sharding() {
    const model::ParallelSpec& p = training_.parallel.value;
    const model::FsdpSpec& fsdp = training_.fsdp.value;
    plan_.replicate = p.replicate.value;
    plan_.prefetch = fsdp.prefetch.value;
    plan_.reshard = fsdp.reshard.value;
    plan_.fp8_gather = fsdp.fp8_gather.value;
    if (fsdp.place.known() && plan_.sharding != model::Sharding::parameters)
      diagnostics_.warning(fsdp.place, "`fsdp` has no effect: parameters are not sharded", "sharding: parameters");
    if (plan_.fp8_gather && plan_.precision != model::Precision::fp8)
      error(fsdp.fp8_gather.place, "parameters cannot be gathered in FP8 for bf16 products", "precision: fp8");
    if (plan_.replicate < 2) return;
    const std::int64_t replicas = plan_.data * plan_.context;
    if (replicas % plan_.replicate != 0) {
      error(p.replicate.place,
            fmt::format("replicate {} does not divide the {} data-parallel GPUs", plan_.replicate, replicas),
            fmt::format("a divisor of {}", replicas));
    } else if (plan_.sharding == model::Sharding::none) {
      error(p.replicate.place, "nothing is sharded, so every replica is a copy", "sharding: parameters");
    } else if (plan_.expert > 1) {
      error(p.replicate.place, "hybrid sharding of distributed experts is not supported", "replicate: 1, or expert: 1");
    }
  }

  void experts() {
    const model::ExpertSpec& experts = training_.experts.value;
    plan_.dispatch = experts.dispatch.has_value() ? experts.dispatch.value : plan_.usual_dispatch();
    plan_.fp8_dispatch = experts.fp8_dispatch.value;
    plan_.token_servers = experts.token_servers.has_value() ? experts.token_servers.value : 0;
    plan_.imbalance = static_cast<double>(experts.imbalance.value) / 100;
    if (experts.place.known() && (!plan_.shape.mixture() || plan_.expert < 2)) {
      diagnostics_.warning(experts.place, "`experts` has no effect: no token leaves its GPU",
                           plan_.shape.mixture() ? "parallel: {expert: 8}" : "a model with experts");
    } else if (plan_.token_servers > 0) {
      token_servers(experts.token_servers.place);
    }
  }

  // A token needs that many different experts on the servers that it may use.
  void token_servers(const SourceLocation& place) {
    if (plan_.dispatch != model::Dispatch::deepep) {
      diagnostics_.warning(place, "`token_servers` has no effect: every copy of a token is sent", "dispatch: deepep");
      return;
    }
    const OpGroup all = plan_.expert_group();
    const std::int64_t each = plan_.shape.experts / (all.ranks / all.node_ranks);
    if (plan_.token_servers * each >= plan_.shape.active_experts) return;
    error(place,
          fmt::format("{} servers have {} experts, but a token uses {}", plan_.token_servers,
                      plan_.token_servers * each, plan_.shape.active_experts),
          fmt::format("token_servers: {} or more", (plan_.shape.active_experts + each - 1) / each));
  }

  void divides(std::int64_t part, std::int64_t whole, const model::Sourced<std::int64_t>& given, const char* what) {
    if (whole % part == 0) return;
    std::string fits;
    for (std::int64_t n = 1; n <= std::min<std::int64_t>(whole, 64); ++n) {
      if (whole % n == 0) fits += fmt::format("{}{}", fits.empty() ? "" : ", ", n);
    }
    error(given.place, fmt::format("{} does not divide {} {}", part, whole, what), "these do: " + fits);
  }

  void tensor_fits() {
    const model::Sourced<std::int64_t>& tensor = training_.parallel.value.tensor;
    const ModelShape& shape = plan_.shape;
    divides(tensor.value, shape.heads, tensor, "heads");
    if (shape.heads % tensor.value != 0) return;
    if (shape.kv_heads % tensor.value != 0 && tensor.value % shape.kv_heads != 0) {
      error(
          tensor.place,
          fmt::format("tensor {} and {} key-value heads are not multiples of each other", tensor.value, shape.kv_heads),
          fmt::format("tensor: a divisor or a multiple of {}", shape.kv_heads));
    }
  }

  [[nodiscard]] bool uneven() const {
    return plan_.account_for_embedding || plan_.account_for_loss || plan_.first_stage_layers > 0 ||
           plan_.last_stage_layers > 0;
  }

  // The same splits as in Megatron-LM (get_num_layers_to_build).
  void split_fits() {
    const model::ParallelSpec& p = training_.parallel.value;
    const bool accounted = plan_.account_for_embedding || plan_.account_for_loss;
    const bool by_stage = plan_.first_stage_layers > 0 || plan_.last_stage_layers > 0;
    if (accounted && by_stage) {
      error(p.place, "account_for_embedding and account_for_loss exclude first_stage_layers and last_stage_layers",
            "use one of the two ways to split the layers");
      return;
    }
    const std::int64_t chunks = plan_.pipeline * plan_.interleave;
    if (accounted) {
      const std::int64_t total =
          plan_.shape.layers + (plan_.account_for_embedding ? 1 : 0) + (plan_.account_for_loss ? 1 : 0);
      if (total % chunks == 0) return;
      error(p.pipeline.place,
            fmt::format("{} layers, embedding and output layer included, do not divide into {} chunks", total, chunks),
            "pipeline x interleave must divide them");
      return;
    }
    stages_fit();
  }

  void stages_fit() {
    const model::ParallelSpec& p = training_.parallel.value;
    const std::int64_t given = (plan_.first_stage_layers > 0 ? 1 : 0) + (plan_.last_stage_layers > 0 ? 1 : 0);
    const std::int64_t others = plan_.pipeline - given;
    const std::int64_t rest = plan_.shape.layers - plan_.first_stage_layers - plan_.last_stage_layers;
    const bool divided = others > 0 ? rest > 0 && rest % others == 0 : others == 0 && rest == 0;
    if (!divided) {
      error(p.place, fmt::format("{} layers remain for {} other stages", rest, others),
            "first_stage_layers and last_stage_layers must leave a multiple of the other stages");
      return;
    }
    for (const std::int64_t layers :
         {plan_.first_stage_layers, plan_.last_stage_layers, others > 0 ? rest / others : std::int64_t{0}}) {
      if (layers % plan_.interleave == 0) continue;
      divides(plan_.interleave, layers, p.interleave, "layers of a stage");
      return;
    }
  }

  void model_fits() {
    const model::ParallelSpec& p = training_.parallel.value;
    const ModelShape& shape = plan_.shape;
    const std::int64_t chunks = plan_.pipeline * plan_.interleave;
    // The chunks of the embedding and of the output layer may have no layer of the decoder.
    if (chunks > shape.layers + 2) {
      error(p.pipeline.place, fmt::format("{} layers cannot fill {} chunks", shape.layers, chunks),
            fmt::format("pipeline x interleave must be at most {}: the first and last chunks may be empty",
                        shape.layers + 2));
    }
    if (uneven()) {
      split_fits();
    } else if (plan_.interleave > 1 && shape.layers % chunks != 0 && shape.layers % plan_.pipeline == 0) {
      divides(plan_.interleave, shape.layers / plan_.pipeline, p.interleave, "layers of a stage");
    }
    if (!shape.mixture()) {
      if (plan_.expert > 1) {
        error(p.expert.place, fmt::format("`{}` has no experts to distribute", shape.name), "expert: 1");
      }
      return;
    }
    divides(plan_.expert, shape.experts, p.expert, "experts");
    const std::int64_t replicas = plan_.data * plan_.context * plan_.tensor;
    if (replicas % (plan_.expert * plan_.expert_tensor) != 0) {
      error(p.expert.place,
            fmt::format("expert {} x expert_tensor {} does not divide the {} GPUs of a stage", plan_.expert,
                        plan_.expert_tensor, replicas),
            "experts are distributed over data x context x tensor");
    }
  }

  const model::JobSpec& job_;
  const model::TrainingSpec& training_;
  const model::Cluster& cluster_;
  Diagnostics& diagnostics_;
  TrainingPlan plan_;
};

}  // namespace

std::vector<std::int64_t> TrainingPlan::chunk_layers() const {
  const std::int64_t chunks = pipeline * interleave;
  if (account_for_embedding || account_for_loss) {
    const std::int64_t ends = (account_for_embedding ? 1 : 0) + (account_for_loss ? 1 : 0);
    std::vector<std::int64_t> even(static_cast<std::size_t>(chunks), (shape.layers + ends) / chunks);
    if (account_for_embedding) --even.front();
    if (account_for_loss) --even.back();
    return even;
  }
  if (first_stage_layers > 0 || last_stage_layers > 0) return chunks_by_stage();
  std::vector<std::int64_t> layers(static_cast<std::size_t>(chunks), shape.layers / chunks);
  std::int64_t left = shape.layers % chunks;
  // If the layers do not divide evenly, the chunks in the middle get one more than those at the ends.
  const std::int64_t first = (chunks - left) / 2;
  for (std::int64_t i = 0; i < left; ++i) ++layers[static_cast<std::size_t>(first + i)];
  return layers;
}

// The first and last stages have the layers that the job sets; the others share the rest.
std::vector<std::int64_t> TrainingPlan::chunks_by_stage() const {
  const std::int64_t others = pipeline - (first_stage_layers > 0 ? 1 : 0) - (last_stage_layers > 0 ? 1 : 0);
  const std::int64_t rest = shape.layers - first_stage_layers - last_stage_layers;
  std::vector<std::int64_t> layers(static_cast<std::size_t>(pipeline * interleave));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t stage = static_cast<std::int64_t>(i) % pipeline;
    std::int64_t own = others > 0 ? rest / others : 0;
    if (stage == 0 && first_stage_layers > 0) own = first_stage_layers;
    if (stage + 1 == pipeline && last_stage_layers > 0) own = last_stage_layers;
    layers[i] = own / interleave;
  }
  return layers;
}

OpGroup TrainingPlan::tensor_group() const { return group("tensor", tensor, 1, node_gpus); }
OpGroup TrainingPlan::context_group() const { return group("context", context, tensor, node_gpus); }
OpGroup TrainingPlan::data_group() const { return group("data", data * context, tensor, node_gpus); }
OpGroup TrainingPlan::shard_group() const { return group("data", data * context / replicate, tensor, node_gpus); }
OpGroup TrainingPlan::replica_group() const {
  return group("replica", replicate, tensor * (data * context / replicate), node_gpus);
}
OpGroup TrainingPlan::expert_rail_group() const {
  const OpGroup all = expert_group();
  return group("expert", all.ranks / all.node_ranks, std::int64_t{all.stride} * all.node_ranks, node_gpus);
}
OpGroup TrainingPlan::expert_local_group() const {
  const OpGroup all = expert_group();
  return group("expert", all.node_ranks, all.stride, node_gpus);
}
OpGroup TrainingPlan::expert_group() const { return group("expert", expert, expert_tensor, node_gpus); }
OpGroup TrainingPlan::expert_data_group() const {
  return group("expert data", data * context * tensor / (expert * expert_tensor), expert * expert_tensor, node_gpus);
}
OpGroup TrainingPlan::pipeline_group() const { return group("pipeline", pipeline, gpus / pipeline, node_gpus); }

std::string TrainingPlan::layout() const {
  std::string text;
  const auto add = [&](const char* name, std::int64_t count) {
    if (count > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, count);
  };
  add("tensor", tensor);
  add("pipeline", pipeline);
  if (interleave > 1) text += fmt::format(" (interleave {})", interleave);
  add("context", context);
  add("data", data);
  if (expert > 1) text += fmt::format(", experts over {}", expert);
  return text.empty() ? "one GPU" : text;
}

std::optional<TrainingPlan> plan_training(const model::JobSpec& job, const model::Cluster& cluster,
                                          Diagnostics& diagnostics) {
  return Planner(job, cluster, diagnostics).run();
}

}  // namespace weft::workload
