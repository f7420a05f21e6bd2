#include "workload/training/step_model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::workload {
namespace {

constexpr double kBf16 = 2;
constexpr double kFp32 = 4;

SimTime time_from(double seconds) { return SimTime(std::llround(seconds * 1e12)); }
double d(std::int64_t value) { return static_cast<double>(value); }

std::vector<Piece> pieces_of(const TrainingPlan& plan) {
  std::vector<Piece> pieces;
  std::int64_t before = 0;
  for (const std::int64_t layers : plan.chunk_layers()) {
    Piece piece;
    if (plan.shape.mixture()) {
      piece.dense_layers = std::clamp<std::int64_t>(plan.shape.dense_layers - before, 0, layers);
      piece.mixture_layers = layers - piece.dense_layers;
    } else {
      piece.dense_layers = layers;
    }
    before += layers;
    pieces.push_back(piece);
  }
  pieces.front().embedding = true;
  pieces.back().head = true;
  return pieces;
}

StageWeights piece_weights(const TrainingPlan& plan, const Piece& piece) {
  const LayerParameters dense = layer_parameters(plan.shape, false);
  const double tensor = d(plan.tensor);
  StageWeights weights;
  weights.dense = d(piece.dense_layers) * ((dense.attention + dense.dense) / tensor + dense.norms);
  if (piece.mixture_layers > 0) {
    const LayerParameters mixture = layer_parameters(plan.shape, true);
    weights.dense += d(piece.mixture_layers) * ((mixture.attention + mixture.dense) / tensor + mixture.norms);
    weights.experts = d(piece.mixture_layers) * mixture.experts / d(plan.expert * plan.expert_tensor);
  }
  if (piece.embedding) weights.dense += embedding_parameters(plan.shape) / tensor;
  if (piece.head) weights.dense += head_parameters(plan.shape) / tensor;
  if (piece.head && plan.shape.tied && plan.pipeline > 1) {
    weights.dense += d(plan.shape.hidden) * d(plan.shape.vocab) / tensor;  // a copy, kept in sync
  }
  return weights;
}

// Bytes that the optimizer moves per parameter that this GPU updates: gradient read; both moments and the fp32 copy
// read and written; the bf16 parameter written. All in 2 bytes without the copy if the job requests it.
double optimizer_bytes(const TrainingPlan& plan) {
  return plan.bf16_optimizer ? 7 * kBf16 : plan.gradient_bytes() + 6 * kFp32 + kBf16;
}

class Step {
 public:
  Step(const TrainingPlan& plan, const GpuRates& gpu, CommunicationTimer& timer)
      : plan_(plan),
        gpu_(gpu.slowest_of(plan.gpus)),
        timer_(timer),
        maker_{plan, gpu_, timer},
        pieces_(pieces_of(plan)) {}

  StepTimes play() {
    passes();
    data_parallel();
    optimizer();
    account();
    return std::move(times_);
  }

 private:
  void passes();
  void data_parallel();
  void optimizer();
  void account();
  void add_calls(const std::vector<PieceCommunication>& calls, std::uint64_t times);
  [[nodiscard]] SimTime reduce_time(const StageWeights& weights, bool count);
  [[nodiscard]] SimTime gather_time(const StageWeights& weights, bool count);
  SimTime call_time(const char* what, netsim::Collective collective, const OpGroup& group, double bytes, bool count);
  [[nodiscard]] bool replicated() const { return plan_.data_group().ranks > 1; }

  const TrainingPlan& plan_;
  const GpuRates gpu_;
  CommunicationTimer& timer_;
  PieceMaker maker_;
  std::vector<Piece> pieces_;
  StepTimes times_;
  SimTime data_exposed_;
  SimTime gather_exposed_;
};

void Step::passes() {
  std::map<Piece, std::pair<PieceTimes, PieceTimes>> known;
  PipelineInput input;
  input.stages = plan_.pipeline;
  input.chunks = plan_.interleave;
  input.micro_batches = plan_.micro_batches;
  for (const Piece& piece : pieces_) {
    auto found = known.find(piece);
    if (found == known.end()) {
      found = known.emplace(piece, std::pair(maker_.forward(piece), maker_.backward(piece))).first;
    }
    times_.forward.push_back(found->second.first);
    times_.backward.push_back(found->second.second);
    input.forward.push_back(found->second.first.total);
    input.backward.push_back(found->second.second.total);
  }
  const double split = plan_.sequence_parallel ? d(plan_.tensor) : 1;
  const Bytes activations(std::llround(plan_.tokens() * d(plan_.shape.hidden) * kBf16 / split));
  if (plan_.pipeline > 1) input.message = timer_.message(activations, plan_.pipeline_group());
  input.overlapped = plan_.overlap_pipeline;
  times_.pipeline = play_pipeline(input);
  times_.pass_end = times_.pipeline.end;
  // The other stages wait for the stage with the most work of its own.
  SimTime most(0);
  for (std::int64_t stage = 0; stage < plan_.pipeline; ++stage) {
    SimTime own(0);
    for (std::int64_t chunk = 0; chunk < plan_.interleave; ++chunk) {
      const auto at = static_cast<std::size_t>(chunk * plan_.pipeline + stage);
      own += input.forward[at] + input.backward[at];
    }
    if (own <= most) continue;
    most = own;
    times_.slowest = static_cast<std::uint32_t>(stage);
  }
  if (plan_.pipeline > 1) {
    StepCall message;
    message.call.what = "pipeline send";
    message.call.collective = netsim::Collective::send_recv;
    message.call.group = plan_.pipeline_group();
    message.call.bytes = activations;
    message.call.calls = static_cast<std::uint64_t>(2 * plan_.micro_batches * plan_.interleave);
    message.call.time = input.message;
    message.total = input.message * static_cast<std::int64_t>(message.call.calls);
    times_.calls.push_back(message);
  }
}

SimTime Step::call_time(const char* what, netsim::Collective collective, const OpGroup& group, double bytes,
                        bool count) {
  if (group.ranks < 2 || bytes < 1) return SimTime(0);
  const Bytes size(std::llround(bytes));
  const SimTime time = timer_.collective(collective, size, group);
  if (count) {
    StepCall call;
    call.call.what = what;
    call.call.collective = collective;
    call.call.group = group;
    call.call.stream = stream_data;
    call.call.bytes = size;
    call.call.calls = 1;
    call.call.time = time;
    call.total = time;
    times_.calls.push_back(call);
  }
  return time;
}

SimTime Step::reduce_time(const StageWeights& weights, bool count) {
  const bool sharded = plan_.sharding != model::Sharding::none;
  const netsim::Collective collective = sharded ? netsim::Collective::reduce_scatter : netsim::Collective::all_reduce;
  const char* what = sharded ? "gradient reduce-scatter" : "gradient all-reduce";
  const double bytes = plan_.gradient_bytes();
  const OpGroup shards = plan_.shard_group();
  return call_time(what, collective, sharded ? shards : plan_.data_group(), weights.dense * bytes, count) +
         call_time("gradient all-reduce of replicas", netsim::Collective::all_reduce, plan_.replica_group(),
                   weights.dense * bytes / d(shards.ranks), count) +
         call_time("expert gradients", collective, plan_.expert_data_group(), weights.experts * bytes, count);
}

SimTime Step::gather_time(const StageWeights& weights, bool count) {
  if (plan_.sharding == model::Sharding::none) return SimTime(0);
  const netsim::Collective collective = netsim::Collective::all_gather;
  return call_time("parameter all-gather", collective, plan_.shard_group(), weights.dense * kBf16, count) +
         call_time("expert parameters", collective, plan_.expert_data_group(), weights.experts * kBf16, count);
}

// A chunk's gradients can be reduced during its last backward pass, bucket by bucket, and after it during other chunks'
// passes; its parameters must be gathered before its first forward pass, the first bucket at its start.
void Step::data_parallel() {
  times_.gradients_end = times_.pass_end;
  if (!replicated() || plan_.sharding == model::Sharding::parameters) return;
  SimTime latest = times_.pass_end;
  for (std::int64_t stage = 0; stage < plan_.pipeline; ++stage) {
    SimTime reduced(0);
    SimTime gathered(0);
    SimTime late(0);
    const bool shown = static_cast<std::uint32_t>(stage) == times_.slowest;
    for (std::int64_t c = 0; c < plan_.interleave; ++c) {
      // The last chunk is the first whose gradients are complete.
      const auto at = static_cast<std::size_t>((plan_.interleave - 1 - c) * plan_.pipeline + stage);
      const SimTime time = reduce_time(piece_weights(plan_, pieces_[at]), shown);
      const SimTime done = times_.pipeline.gradients_done[at];
      const auto layers = std::max<std::int64_t>(1, pieces_[at].dense_layers + pieces_[at].mixture_layers);
      const SimTime bucket = time / layers;
      // Buckets complete evenly over the last backward pass; the last one only at its end.
      const SimTime began = done - times_.backward[at].total + times_.backward[at].total / layers;
      const SimTime start = plan_.overlap_data ? std::max(reduced, began) : std::max(reduced, times_.pass_end);
      reduced = std::max(start + time, done + bucket);
      const auto first = static_cast<std::size_t>(c * plan_.pipeline + stage);
      const SimTime gather = gather_time(piece_weights(plan_, pieces_[first]), shown);
      const SimTime first_bucket =
          gather / std::max<std::int64_t>(1, pieces_[first].dense_layers + pieces_[first].mixture_layers);
      const SimTime needed = times_.pipeline.first_use[first];
      gathered += gather;
      // Layers use their parameters in turn, so a gather delays the step only by what exceeds the pass that it
      // overlaps.
      const SimTime window = plan_.overlap_data ? needed + times_.forward[first].total : SimTime(0);
      late = std::max(late, std::max(gathered - window, c == 0 ? first_bucket : SimTime(0)));
    }
    latest = std::max(latest, reduced);
    gather_exposed_ = std::max(gather_exposed_, late);
    times_.parameters_time = std::max(times_.parameters_time, gathered);
  }
  times_.gradients_end = latest;
  data_exposed_ = latest - times_.pass_end + gather_exposed_;
  times_.gathers_exposed = gather_exposed_;
}

void Step::optimizer() {
  const std::vector<StageWeights> stages = stage_weights(plan_);
  double seconds = 0;
  for (const StageWeights& weights : stages) {
    const double shares = plan_.sharding == model::Sharding::none ? 1 : d(plan_.shard_group().ranks);
    const double expert_shares = plan_.sharding == model::Sharding::none ? 1 : d(plan_.expert_data_group().ranks);
    const double own = weights.dense / shares + weights.experts / expert_shares;
    double stage = gpu_.optimizer(own, optimizer_bytes(plan_), plan_.bf16_optimizer);
    if (plan_.framework == model::Framework::megatron) {
      // Norm of the gradients for clipping, and clearing the buffer for the next step.
      stage += gpu_.stream(own * plan_.gradient_bytes()) + gpu_.stream(weights.total() * plan_.gradient_bytes());
    }
    seconds = std::max(seconds, stage);
  }
  times_.optimizer_time = time_from(seconds);
}

void Step::add_calls(const std::vector<PieceCommunication>& calls, std::uint64_t times) {
  for (const PieceCommunication& one : calls) {
    const auto known = std::find_if(times_.calls.begin(), times_.calls.end(), [&](const StepCall& call) {
      return call.call.what == one.what && call.call.bytes == one.bytes;
    });
    const std::uint64_t count = one.calls * times;
    const SimTime total = one.time * static_cast<std::int64_t>(count);
    if (known != times_.calls.end()) {
      known->call.calls += count;
      known->total += total;
      continue;
    }
    StepCall call;
    call.call = one;
    call.call.calls = count;
    call.total = total;
    times_.calls.push_back(call);
  }
}

// Streams may be exposed at the same time; then each gets its share of that time. What no stream explains is the
// host's.
void share_exposed(StepParts& parts, SimTime busy) {
  const SimTime kernels = parts.compute + parts.recompute;
  const SimTime exposed = parts.tensor + parts.context + parts.expert + parts.data;
  parts.host = std::max(SimTime(0), busy - kernels - exposed);
  if (kernels + exposed <= busy || exposed <= SimTime(0)) return;
  const double part =
      std::max(0.0, static_cast<double>((busy - kernels).count())) / static_cast<double>(exposed.count());
  for (SimTime* one : {&parts.tensor, &parts.context, &parts.expert, &parts.data})
    *one = SimTime(std::llround(static_cast<double>(one->count()) * part));
}

// Breakdown of the slowest stage's time.
void Step::account() {
  StepParts& parts = times_.parts;
  const std::int64_t passes = plan_.micro_batches;
  SimTime busy(0);
  for (std::int64_t chunk = 0; chunk < plan_.interleave; ++chunk) {
    const auto at = static_cast<std::size_t>(chunk * plan_.pipeline) + times_.slowest;
    for (const PieceTimes* piece : {&times_.forward[at], &times_.backward[at]}) {
      parts.compute += piece->compute * passes;
      parts.recompute += piece->recompute * passes;
      parts.tensor += piece->exposed[stream_tensor] * passes;
      parts.context += piece->exposed[stream_context] * passes;
      parts.expert += piece->exposed[stream_expert] * passes;
      parts.data += (piece->exposed[stream_data] + piece->exposed[stream_replica]) * passes;
      busy += piece->total * passes;
      times_.kernel_flops += piece->flops * d(passes);
      times_.launches += piece->launches * static_cast<std::uint64_t>(passes);
      add_calls(piece->communication, static_cast<std::uint64_t>(passes));
    }
  }
  share_exposed(parts, busy);
  SimTime waits = plan_.overlap_pipeline || plan_.pipeline < 2
                      ? SimTime(0)
                      : times_.calls.front().call.time * (2 * passes * plan_.interleave);
  waits = std::min(waits, std::max(SimTime(0), times_.pass_end - busy));
  parts.pipeline = waits;
  parts.bubble = std::max(SimTime(0), times_.pass_end - busy - waits);
  parts.data += data_exposed_;
  parts.optimizer = times_.optimizer_time;
  parts.step = times_.pass_end + data_exposed_ + times_.optimizer_time;
}

}  // namespace

std::vector<StageWeights> stage_weights(const TrainingPlan& plan) {
  const std::vector<Piece> pieces = pieces_of(plan);
  std::vector<StageWeights> stages(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const StageWeights weights = piece_weights(plan, pieces[i]);
    stages[i % stages.size()].dense += weights.dense;
    stages[i % stages.size()].experts += weights.experts;
  }
  return stages;
}

StepTimes play_step(const TrainingPlan& plan, const GpuRates& gpu, CommunicationTimer& timer) {
  return Step(plan, gpu, timer).play();
}

}  // namespace weft::workload
