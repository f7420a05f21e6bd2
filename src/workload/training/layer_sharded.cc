// Layers whose parameters are sharded over the replicas (ZeRO-3, FSDP): gathered before use, gradients scattered.
#include <algorithm>
#include <array>

#include "workload/training/layers.h"

namespace weft::workload {

using layer::d;
using layer::kBf16;
using layer::kFp8;

// Dense weights are sharded over all replicas, those of distributed experts over the replicas of an expert.
std::vector<Call> Layers::gather_weights(bool mixture) const {
  const LayerParameters weights = layer_parameters(shape_, mixture);
  const double width = plan_.fp8_gather ? kFp8 : kBf16;
  const auto gather = [&](const OpGroup& group, double count) {
    return Call{"parameter all-gather", netsim::Collective::all_gather, stream_data, group, count * width};
  };
  const double dense = (weights.attention + weights.dense) / tensor_ + weights.norms;
  const double experts = weights.experts / d(plan_.expert * plan_.expert_tensor);
  if (plan_.expert < 2) return {gather(plan_.shard_group(), dense + experts)};
  return {gather(plan_.shard_group(), dense), gather(plan_.expert_data_group(), experts)};
}

// With hybrid sharding, the replicas of a shard then add theirs.
std::vector<Call> Layers::scatter_gradients(bool mixture) const {
  std::vector<Call> calls;
  const double change = plan_.gradient_bytes() / (plan_.fp8_gather ? kFp8 : kBf16);
  for (const Call& gather : gather_weights(mixture)) {
    calls.push_back({"gradient reduce-scatter", netsim::Collective::reduce_scatter, stream_data, gather.group,
                     gather.bytes * change});
    if (plan_.replicate < 2) continue;
    calls.push_back({"gradient all-reduce of replicas", netsim::Collective::all_reduce, stream_replica,
                     plan_.replica_group(), gather.bytes * change / d(gather.group.ranks)});
  }
  return calls;
}

SimTime Layers::time_of(const std::vector<Call>& calls) {
  SimTime sum(0);
  for (const Call& call : calls) {
    if (call.group.ranks > 1) sum += walk_.time_of(call);
  }
  return sum;
}

std::vector<OpId> Layers::start(const std::vector<Call>& calls, const std::vector<OpId>& after) {
  std::vector<OpId> last = after;
  for (const Call& call : calls) {
    if (call.group.ranks > 1 && call.bytes >= 1) last.assign(1, walk_.start(call, last));
  }
  return last;
}

// Share of a layer's time that overlaps with gathering weights for the next layer and scattering gradients of the last
// one.
double Layers::company(bool mixture, bool backward) {
  Layers alone(plan_, gpu_, timer_);
  if (backward) {
    alone.backward_layer(mixture);
  } else {
    alone.forward_layer(mixture);
  }
  const SimTime layer = alone.finish().total;
  SimTime beside = backward && !plan_.reshard ? SimTime(0) : time_of(gather_weights(mixture));
  if (backward) beside += time_of(scatter_gradients(mixture));
  return std::min(1.0, static_cast<double>(beside.count()) / static_cast<double>(layer.count()));
}

// FSDP2 gathers into one buffer and copies the parameters out of it before the layer runs, and copies the gradients of
// a layer into one buffer, in the precision of the reduction, before it scatters them (foreach_all_gather_copy_out and
// foreach_reduce_scatter_copy_in, torch/distributed/fsdp/_fully_shard). Megatron and XLA gather in place.
void Layers::copy_sharded(std::string_view name, const std::vector<Call>& calls, double from_to) {
  if (!plan_.pytorch()) return;
  double bytes = 0;
  for (const Call& call : calls) bytes += call.group.ranks > 1 ? call.bytes : 0;
  walk_.run(moved(name, from_to * bytes));
}

// Forward or backward layers with sharded parameters. The next layers' parameters are gathered during a layer, and its
// gradients are scattered during the next one. Both are on one stream, in the order in which the host asks for them: a
// gather ahead comes before the layer, and so before the scatter of that layer (FSDP's backward prefetch).
void Layers::sharded_pass(const Piece& piece, bool backward, const std::function<bool(std::int64_t)>& mixture) {
  const std::int64_t layers = piece.dense_layers + piece.mixture_layers;
  const std::array<double, 2> share{piece.dense_layers > 0 ? company(false, backward) : 0,
                                    piece.mixture_layers > 0 ? company(true, backward) : 0};
  const std::int64_t ahead = plan_.overlap_data ? plan_.prefetch : 0;
  const bool gathers = !backward || plan_.reshard;
  std::vector<std::vector<OpId>> free{walk_.here()};  // when layers 0, 1, ... may start
  std::vector<std::vector<OpId>> gathered;
  for (std::int64_t i = 0; i < layers; ++i) {
    for (auto j = static_cast<std::int64_t>(gathered.size()); gathers && j < layers && j <= i + ahead; ++j)
      gathered.push_back(
          start(gather_weights(mixture(j)), free[static_cast<std::size_t>(std::max<std::int64_t>(0, j - ahead))]));
    if (gathers) {
      for (const OpId op : gathered[static_cast<std::size_t>(i)]) walk_.wait_for(op);
      copy_sharded("copy gathered parameters", gather_weights(mixture(i)), 2);
    }
    if (plan_.overlap_data) walk_.slow_down(1 + kOverlapSlowdown * share[mixture(i) ? 1 : 0]);
    backward ? backward_layer(mixture(i)) : forward_layer(mixture(i));
    // On a stream of its own, but at the cost of the memory that the layer's kernels would use.
    if (backward) copy_sharded("copy gradients", gather_weights(mixture(i)), 1 + plan_.gradient_bytes() / kBf16);
    walk_.slow_down(1);
    free.push_back(walk_.here());
    if (!backward) continue;
    const std::vector<OpId> scattered = start(scatter_gradients(mixture(i)), walk_.here());
    if (plan_.overlap_data && i + 1 < layers) continue;
    for (const OpId op : scattered) walk_.wait_for(op);
  }
}

void Layers::pass(const Piece& piece, bool backward) {
  const auto mixture = [&](std::int64_t i) { return backward ? i < piece.mixture_layers : i >= piece.dense_layers; };
  if (plan_.sharding == model::Sharding::parameters && plan_.shard_group().ranks > 1) {
    sharded_pass(piece, backward, mixture);
    return;
  }
  for (std::int64_t i = 0; i < piece.dense_layers + piece.mixture_layers; ++i)
    backward ? backward_layer(mixture(i)) : forward_layer(mixture(i));
}

}  // namespace weft::workload
