// Finds a job's bottleneck and recommends changes: candidates that match the cause, each simulated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/life/internal.h"

namespace weft::workload {
namespace {

constexpr std::size_t kShown = 3;
constexpr double kMinGain = 0.003;

struct Bound {
  const char* name;
  SimTime time;
};

double share(SimTime part, const LifeResult& life) { return seconds_of(part) / seconds_of(life.parts.step); }

class Adviser {
 public:
  Adviser(const LifeParts& parts, LifeResult& life) : parts_(parts), life_(life) {}

  void advise() {
    say_what_bounds();
    if (!parts_.options.what_ifs) return;
    job_changes();
    cluster_changes();
    auto& changes = life_.verdict.changes;
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.gain > b.gain; });
    if (changes.size() > kShown) changes.resize(kShown);
  }

 private:
  void say_what_bounds();
  void job_changes();
  void parallel_changes();
  void bubble_changes();
  void expert_changes();
  void data_changes();
  void cluster_changes();
  void storage_change(const std::vector<IoLimit>& limits, bool reads);

  // Tries a changed job: kept if the simulation succeeds and the change helps.
  template <class Edit>
  void with_job(std::string what, std::string how, Edit edit) {
    model::JobSpec job = parts_.job;
    edit(job.training.value);
    attempt(parts_.cluster, job, std::move(what), std::move(how));
  }
  template <class Edit>
  void with_cluster(std::string what, std::string how, Edit edit) {
    model::Spec spec = parts_.cluster.spec();
    if (!edit(spec)) return;
    Diagnostics ignored;
    const auto catalog = std::make_shared<const model::Catalog>(parts_.cluster.catalog());
    model::resolve(spec, *catalog, ignored);
    if (ignored.error_count() > 0) return;
    const std::shared_ptr<const model::Cluster> cluster = model::compile(std::move(spec), catalog, ignored);
    if (cluster == nullptr || ignored.error_count() > 0) return;
    attempt(*cluster, parts_.job, std::move(what), std::move(how));
  }
  void attempt(const model::Cluster& cluster, const model::JobSpec& job, std::string what, std::string how);

  const LifeParts& parts_;
  LifeResult& life_;
};

void Adviser::attempt(const model::Cluster& cluster, const model::JobSpec& job, std::string what, std::string how) {
  LifeOptions options = parts_.options;
  options.what_ifs = options.timeline = options.heat_maps = false;
  options.iterations = 1;
  options.progress = nullptr;
  const bool same = &cluster == &parts_.cluster;
  options.fabric = same ? parts_.fabric : nullptr;
  options.storage = same ? parts_.storage : nullptr;
  // A change must not cause a lack of memory.
  if (life_.memory.total <= life_.memory.capacity) options.memory = MemoryCheck::refuse;
  Diagnostics ignored;
  const std::optional<LifeResult> other = play_life(cluster, job, options, ignored);
  if (!other) return;
  // Compared by tokens, checkpoints included: the batch may have changed.
  const auto rate = [](const LifeResult& one) {
    return static_cast<double>(one.global_batch * one.sequence) / seconds_of(one.parts.step);
  };
  const double gain = rate(*other) / rate(life_) - 1;
  if (gain < kMinGain) return;
  life_.verdict.changes.push_back({std::move(what), std::move(how), other->parts.step, gain});
}

void Adviser::say_what_bounds() {
  const StepParts& p = life_.parts;
  const std::vector<Bound> bounds{{"storage reads", p.input},
                                  {"tensor communication", p.tensor},
                                  {"context communication", p.context},
                                  {"expert communication", p.expert},
                                  {"pipeline messages", p.pipeline},
                                  {"gradient and parameter exchange", p.data},
                                  {"pipeline bubbles", p.bubble},
                                  {"recomputation", p.recompute},
                                  {"checkpoints", p.checkpoint},
                                  {"the optimizer", p.optimizer},
                                  {"the host", p.host}};
  const Bound* worst = &bounds.front();
  for (const Bound& bound : bounds) {
    if (bound.time > worst->time) worst = &bound;
  }
  Verdict& verdict = life_.verdict;
  const double compute = share(p.compute, life_);
  const std::string step =
      fmt::format("a step ({:.3f} s{})", seconds_of(p.step), p.checkpoint > SimTime(0) ? " with checkpoints" : "");
  if (compute >= 0.5 && share(worst->time, life_) < 0.15) {
    verdict.bound_by = "compute";
    verdict.because = fmt::format(
        "kernels run {:.1f} % of {} at {:.1f} % of the GPU's peak; the largest other part is {} with {:.1f} %",
        100 * compute, step, 100 * life_.mfu, worst->name, 100 * share(worst->time, life_));
    return;
  }
  verdict.bound_by = worst->name;
  verdict.because = fmt::format("{:.1f} % of {} goes to {}; kernels run {:.1f} % of it",
                                100 * share(worst->time, life_), step, worst->name, 100 * compute);
  if (p.input == worst->time && !parts_.reads.limits.empty()) {
    verdict.because += fmt::format(
        ": {} GPUs need {:.1f} GB/s, but {} deliver {:.1f} GB/s, so GPU utilization is {:.0f} %", life_.gpus,
        static_cast<double>(parts_.reads.step_bytes.count()) / std::max(1e-9, seconds_of(parts_.step.parts.step)) / 1e9,
        parts_.reads.limits.front().what, static_cast<double>(parts_.reads.available.per_second.count()) / 1e9,
        100 * life_.gpu_utilization);
  }
}

void Adviser::parallel_changes() {
  const TrainingPlan& plan = parts_.plan;
  if (plan.tensor > 1) {
    const std::int64_t half = plan.tensor / 2;
    with_job(fmt::format("tensor parallelism {} instead of {}", half, plan.tensor),
             fmt::format("training.parallel.tensor: {}", half), [&](model::TrainingSpec& t) {
               t.parallel.value.tensor.value = half;
               t.parallel.value.data = {};
             });
    if (!plan.overlap_tensor) {
      with_job("overlap tensor collectives with matrix products", "training.overlap.tensor: true",
               [](model::TrainingSpec& t) { t.overlap.value.tensor = model::Sourced<bool>(true); });
    }
  }
  if (plan.pipeline > 1) {
    const std::int64_t half = plan.pipeline / 2;
    if (plan.pipeline % 2 == 0) {
      with_job(fmt::format("{} pipeline stages instead of {}", half, plan.pipeline),
               fmt::format("training.parallel.pipeline: {}{}", half, half == 1 ? ", interleave: 1" : ""),
               [&](model::TrainingSpec& t) {
                 t.parallel.value.pipeline.value = half;
                 if (half == 1) t.parallel.value.interleave.value = 1;
                 t.parallel.value.data = {};
               });
    }
  }
}

// Fewer and smaller gaps: more chunks per stage, more micro-batches per step.
void Adviser::bubble_changes() {
  const TrainingPlan& plan = parts_.plan;
  if (plan.pipeline < 2) return;
  for (const std::int64_t factor : {2, 4}) {
    const std::int64_t chunks = plan.interleave * factor;
    with_job(fmt::format("interleaving {} instead of {}", chunks, plan.interleave),
             fmt::format("training.parallel.interleave: {}", chunks),
             [&](model::TrainingSpec& t) { t.parallel.value.interleave.value = chunks; });
  }
  if (share(life_.parts.bubble, life_) <= kMinGain) return;
  if (plan.micro_batch % 2 == 0) {
    with_job(fmt::format("micro-batches of {} instead of {}", plan.micro_batch / 2, plan.micro_batch),
             fmt::format("training.micro_batch: {}", plan.micro_batch / 2),
             [&](model::TrainingSpec& t) { t.micro_batch.value = plan.micro_batch / 2; });
  }
  with_job(fmt::format("a global batch of {} instead of {}", plan.global_batch * 2, plan.global_batch),
           fmt::format("training.global_batch: {}", plan.global_batch * 2),
           [&](model::TrainingSpec& t) { t.global_batch = model::Sourced<std::int64_t>(plan.global_batch * 2); });
}

// Tokens that wait for the exchange with their experts.
void Adviser::expert_changes() {
  const TrainingPlan& plan = parts_.plan;
  if (plan.expert < 2 || share(life_.parts.expert, life_) <= kMinGain) return;
  const OpGroup group = plan.expert_group();
  if (!plan.overlap_expert && plan.micro_batches > 1) {
    with_job("overlap the exchange of tokens with the other micro-batch", "training.overlap.expert: true",
             [](model::TrainingSpec& t) { t.overlap.value.expert = model::Sourced<bool>(true); });
  }
  if (plan.dispatch == model::Dispatch::all_to_all && group.ranks > group.node_ranks) {
    with_job("send each token once per server (DeepEP)", "training.experts.dispatch: deepep",
             [](model::TrainingSpec& t) {
               t.experts.value.dispatch = model::Sourced<model::Dispatch>(model::Dispatch::deepep);
             });
  }
  if (!plan.fp8_dispatch) {
    with_job("send tokens to experts in FP8", "training.experts.fp8_dispatch: true",
             [](model::TrainingSpec& t) { t.experts.value.fp8_dispatch.value = true; });
  }
  if (group.ranks > group.node_ranks && group.node_ranks > 1) {
    const std::int64_t inside = group.node_ranks;
    with_job(fmt::format("experts over the {} GPUs of an NVLink domain instead of {}", inside, plan.expert),
             fmt::format("training.parallel.expert: {}", inside),
             [&](model::TrainingSpec& t) { t.parallel.value.expert.value = inside; });
  }
}

// Parameters and gradients that kernels wait for.
void Adviser::data_changes() {
  const TrainingPlan& plan = parts_.plan;
  if (plan.data * plan.context < 2 || share(life_.parts.data, life_) <= kMinGain) return;
  if (!plan.overlap_data) {
    with_job("overlap gradient reduction with the backward pass", "training.overlap.data: true",
             [](model::TrainingSpec& t) { t.overlap.value.data = model::Sourced<bool>(true); });
  }
  if (plan.fp32_gradients) {
    with_job("reduce gradients in bf16", "training.fp32_gradients: false",
             [](model::TrainingSpec& t) { t.fp32_gradients = model::Sourced<bool>(false); });
  }
  if (plan.sharding != model::Sharding::parameters) return;
  const OpGroup shards = plan.shard_group();
  if (shards.ranks > shards.node_ranks && shards.node_ranks > 1 && plan.expert < 2) {
    const std::int64_t copies = plan.data * plan.context / shards.node_ranks;
    with_job(fmt::format("hybrid sharding: parameters sharded over the {} GPUs of an NVLink domain", shards.node_ranks),
             fmt::format("training.parallel.replicate: {}", copies),
             [&](model::TrainingSpec& t) { t.parallel.value.replicate.value = copies; });
  }
  if (plan.reshard) {
    with_job("keep gathered parameters for the backward pass", "training.fsdp.reshard: false",
             [](model::TrainingSpec& t) { t.fsdp.value.reshard.value = false; });
  }
  if (plan.overlap_data && plan.prefetch < 2) {
    with_job("gather parameters two layers ahead", "training.fsdp.prefetch: 2",
             [](model::TrainingSpec& t) { t.fsdp.value.prefetch.value = 2; });
  }
}

void Adviser::job_changes() {
  const TrainingPlan& plan = parts_.plan;
  if (plan.precision == model::Precision::bf16) {
    with_job("FP8 matrix products", "training.precision: fp8",
             [](model::TrainingSpec& t) { t.precision.value = model::Precision::fp8; });
  }
  if (plan.recompute != model::Recompute::none) {
    with_job("no recomputation", "training.recompute: none",
             [](model::TrainingSpec& t) { t.recompute.value = model::Recompute::none; });
  }
  if (plan.attention != model::AttentionKernel::cudnn && (!plan.fused_attention() || plan.pytorch())) {
    with_job("attention by cuDNN or FlashAttention-3", "training.attention_kernel: cudnn", [](model::TrainingSpec& t) {
      t.attention_kernel = model::Sourced<model::AttentionKernel>(model::AttentionKernel::cudnn);
    });
  }
  parallel_changes();
  bubble_changes();
  expert_changes();
  data_changes();
  if (plan.micro_batches % 2 == 0) {
    with_job(fmt::format("micro-batches of {} instead of {}", plan.micro_batch * 2, plan.micro_batch),
             fmt::format("training.micro_batch: {}", plan.micro_batch * 2),
             [&](model::TrainingSpec& t) { t.micro_batch.value = plan.micro_batch * 2; });
  }
  if (plan.framework == model::Framework::eager) {
    with_job("compiled kernels", "training.framework: compiled",
             [](model::TrainingSpec& t) { t.framework.value = model::Framework::compiled; });
  }
  if (share(life_.parts.host, life_) > kMinGain) {
    with_job("kernels launched as CUDA graphs", "training.cuda_graphs: true",
             [](model::TrainingSpec& t) { t.cuda_graphs.value = true; });
  }
  if (share(life_.parts.checkpoint, life_) > kMinGain) {
    with_job("asynchronous checkpoints", "training.checkpoint.mode: asynchronous",
             [](model::TrainingSpec& t) { t.checkpoint.value.mode.value = model::CheckpointMode::asynchronous; });
    with_job("sharded checkpoints: every rank writes its part", "training.checkpoint.layout: sharded",
             [](model::TrainingSpec& t) { t.checkpoint.value.layout.value = model::CheckpointLayout::sharded; });
  }
  if (share(life_.parts.input, life_) > kMinGain) {
    with_job("cache samples on local NVMe after the first epoch", "training.data.cache: local",
             [](model::TrainingSpec& t) { t.data.value.cache.value = model::DataCache::local; });
    with_job("read samples directly into GPU memory (GPUDirect)", "training.data.gpudirect: true",
             [](model::TrainingSpec& t) { t.data.value.gpudirect.value = true; });
    with_job(fmt::format("{} loader processes per GPU", parts_.job.training->data->workers.value * 4),
             fmt::format("training.data.workers: {}", parts_.job.training->data->workers.value * 4),
             [](model::TrainingSpec& t) { t.data.value.workers.value *= 4; });
  }
}

// More of the storage servers that hold the volume, in proportion to the missing rate.
void Adviser::storage_change(const std::vector<IoLimit>& limits, bool reads) {
  if (limits.empty()) return;
  const std::string& volume = reads ? parts_.reads.volume : parts_.checkpoint.volume;
  for (const model::StorageSpec& system : parts_.cluster.spec().storage.value) {
    const auto& volumes = system.volumes.value;
    if (std::none_of(volumes.begin(), volumes.end(),
                     [&](const model::VolumeSpec& one) { return one.name->text == volume; })) {
      continue;
    }
    for (const model::PoolSpec& pool : parts_.cluster.spec().pools.value) {
      if (pool.name->text != system.pool.value) continue;
      double factor = 2;
      if (reads)
        factor = std::clamp(seconds_of(parts_.reads.step_time) / std::max(1e-9, seconds_of(parts_.step.parts.step)),
                            1.1, 16.0);
      const auto count = static_cast<std::int64_t>(std::ceil(static_cast<double>(pool.count.value) * factor));
      const std::string name = pool.name->text;
      with_cluster(fmt::format("{} storage servers in pool {} instead of {}", count, name, pool.count.value),
                   fmt::format("pools.{}.count: {}", name, count), [&](model::Spec& spec) {
                     for (model::PoolSpec& one : spec.pools.value) {
                       if (one.name->text != name) continue;
                       one.count.value = count;
                       one.hosts = {};
                     }
                     return true;
                   });
    }
  }
}

void Adviser::cluster_changes() {
  if (share(life_.parts.input, life_) > kMinGain) storage_change(parts_.reads.limits, true);
  if (share(life_.parts.checkpoint, life_) > 0.01) storage_change(parts_.checkpoint.limits, false);
  const model::FabricPlan& backend = parts_.cluster.fabric(model::FabricKind::backend);
  const Ratio& ratio = backend.oversubscription;
  double exposed = 0;
  for (const CommunicationRow& row : life_.communication) {
    if (row.medium == Medium::backend) exposed += seconds_of(row.exposed);
  }
  if (backend.present && ratio.numerator > ratio.denominator && exposed / seconds_of(life_.parts.step) > kMinGain) {
    with_cluster(fmt::format("backend leaves without oversubscription (now {}:{})", ratio.numerator, ratio.denominator),
                 "fabrics.backend.oversubscription: 1:1", [](model::Spec& spec) {
                   model::FabricSpec& fabric = spec.fabrics.value.backend.value;
                   fabric.uplinks = {};
                   fabric.spines = {};
                   fabric.oversubscription = model::Sourced<Ratio>(Ratio{1, 1});
                   fabric.oversubscription.origin = model::Origin::file;
                   return true;
                 });
  }
}

}  // namespace

void add_verdict(const LifeParts& parts, LifeResult& life) { Adviser(parts, life).advise(); }

}  // namespace weft::workload
