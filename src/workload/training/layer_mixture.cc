// Mixture-of-experts layers: routing, exchange of tokens, and the experts' products.
#include <algorithm>
#include <cmath>

#include "workload/training/layers.h"

namespace weft::workload {

using layer::d;
using layer::kBf16;

namespace {

// Router, top-k, auxiliary loss, counts and indices of a mixture layer: small kernels. A mixture of PyTorch launches 57
// kernels more than a dense layer forward and 46 backward (h200_host.csv: 85 and 28, 98 and 52), of which 9 and 12 are
// counted elsewhere.
constexpr std::uint64_t kRoutingKernels = 40;

// Share of NVLink's and the NICs' rate that DeepEP's kernels reach. Its README measures FP8 dispatch of 4,096 tokens of
// 7,168 to 8 of 256 experts on H800: 153 GB/s in one server, and 43, 58 and 51 GB/s on 2, 4 and 8 servers. These count
// tokens that stay; without them and with this model's bytes, its kernels take 1/0.76 to 1/0.92 of the wires' time.
constexpr double kDeepEpShare = 0.87;

}  // namespace

// Experts on this rank, each with its even share of the tokens that arrive.
void Layers::expert_products(double tokens, bool backward) {
  const double local = d(shape_.experts) / d(plan_.expert);
  const double split = d(plan_.expert_tensor);
  const double rows = tokens / local;
  const Product in{rows, d(shape_.expert_ffn) / split * (shape_.gated ? 2 : 1), hidden_};
  const Product out{rows, hidden_, d(shape_.expert_ffn) / split};
  if (!backward) {
    cast(tokens * hidden_);
    walk_.run(product("experts up", in, true, local));
    activation(tokens, d(shape_.expert_ffn) / split, false);
    cast(tokens * out.k);
    walk_.run(product("experts down", out, true, local));
    return;
  }
  cast(tokens * hidden_);
  walk_.run({input_gradient("experts down", out, true, local), weight_gradient("experts down", out, true, local)});
  activation(tokens, d(shape_.expert_ffn) / split, true);
  cast(tokens * in.n);
  walk_.run({input_gradient("experts up", in, true, local), weight_gradient("experts up", in, true, local)});
}

void Layers::routing() { walk_.run(moved("routing", 0, kRoutingKernels)); }

// The host needs the number of tokens per expert to size the exchange and the products, forward only (the backward pass
// keeps them): it waits for the GPU, which then waits for the next launch.
void Layers::read_counts() { walk_.run({"token counts to the host", layer::kReadBack + layer::kLaunch, 0}); }

// k different experts of E; a part with E/parts of them has none of a token's with probability
// (E - E/parts)/E x (E - E/parts - 1)/(E - 1) x ..., k factors.
double Layers::parts_of_token(double parts, double allowed) const {
  const double among = allowed > 0 ? std::min(parts, allowed) : parts;
  const double experts = d(shape_.experts) * among / parts;
  const double each = d(shape_.experts) / parts;
  double none = 1;
  for (double i = 0; i < d(shape_.active_experts) && experts - i > 0; ++i)
    none *= std::max(0.0, experts - each - i) / (experts - i);
  return among * (1 - none);
}

// All ranks wait for the one whose experts received the most tokens. Loads of experts are taken as independent.
double Layers::busiest() const {
  if (plan_.imbalance <= 0 || plan_.expert < 2) return 1;
  const double local = d(shape_.experts) / d(plan_.expert);
  return 1 + plan_.imbalance / std::sqrt(local) * expected_maximum(d(plan_.expert));
}

// DeepEP sends a token once to each server with experts for it, to the GPU on the same rail, which forwards it over
// NVLink once to each GPU with such experts, both at the same time.
Call Layers::exchange(std::string_view what, double width) const {
  const double own = tokens_ / (plan_.sequence_parallel ? tensor_ : 1);
  const double bytes = hidden_ * width * busiest();
  const OpGroup all = plan_.expert_group();
  if (plan_.dispatch == model::Dispatch::all_to_all)
    return {what, netsim::Collective::all_to_all, stream_expert, all, routed() * bytes};
  const double servers = d(all.ranks) / d(all.node_ranks);
  const double allowed = plan_.token_servers > 0 ? std::min(servers, d(plan_.token_servers)) : servers;
  const double gpus = parts_of_token(d(all.ranks), allowed * d(all.node_ranks));
  Call call{what, netsim::Collective::all_to_all, stream_expert, plan_.expert_local_group(), own * gpus * bytes};
  if (servers > 1) {
    call.also = call.group;
    call.also_bytes = call.bytes;
    call.group = plan_.expert_rail_group();
    call.bytes = own * parts_of_token(servers, allowed) * bytes;
  }
  call.share = kDeepEpShare;
  return call;
}

// Tokens arrive grouped by sender; each expert needs its own contiguously.
void Layers::sort_arrived() {
  if (plan_.dispatch == model::Dispatch::deepep || (shape_.experts > plan_.expert && plan_.expert > 1)) {
    walk_.run(moved("sort by expert", arrived() * hidden_ * kBf16 * 2));
  }
}

void Layers::forward_mixture() {
  // DeepEP reads tokens where they are and adds up what comes back.
  const bool direct = plan_.dispatch == model::Dispatch::deepep;
  norm_forward();
  const double own = tokens_ / (plan_.sequence_parallel ? tensor_ : 1);
  walk_.run(product("router", {own, d(shape_.experts), hidden_}, false));
  routing();
  read_counts();
  if (!direct) walk_.run(moved("permute", routed() * hidden_ * kBf16 * 2));
  if (!exchanges_overlap()) walk_.talk(dispatch(false));
  walk_.talk(expert_tensor_call("expert all-gather", netsim::Collective::all_gather));
  sort_arrived();
  expert_products(arrived(), false);
  if (shape_.shared_experts > 0) {
    const double width = d(shape_.expert_ffn * shape_.shared_experts);
    walk_.run(product("shared expert up", {own, width * (shape_.gated ? 2 : 1), hidden_}));
    activation(own, width, false);
    walk_.run(product("shared expert down", {own, hidden_, width}));
  }
  sort_arrived();
  walk_.talk(expert_tensor_call("expert reduce-scatter", netsim::Collective::reduce_scatter));
  if (!exchanges_overlap()) walk_.talk(combine());
  if (!direct) walk_.run(moved("unpermute", (routed() + own) * hidden_ * kBf16));
  residual(false);
}

void Layers::backward_mixture() {
  const bool direct = plan_.dispatch == model::Dispatch::deepep;
  residual(true);
  const double own = tokens_ / (plan_.sequence_parallel ? tensor_ : 1);
  if (!direct) walk_.run(moved("unpermute", (routed() + own) * hidden_ * kBf16));
  if (!exchanges_overlap()) walk_.talk(combine());
  walk_.talk(expert_tensor_call("expert all-gather", netsim::Collective::all_gather));
  sort_arrived();
  expert_products(arrived(), true);
  sort_arrived();
  if (shape_.shared_experts > 0) {
    const double width = d(shape_.expert_ffn * shape_.shared_experts);
    const Product in{own, width * (shape_.gated ? 2 : 1), hidden_};
    const Product out{own, hidden_, width};
    walk_.run({input_gradient("shared expert down", out), weight_gradient("shared expert down", out)});
    activation(own, width, true);
    walk_.run({input_gradient("shared expert up", in), weight_gradient("shared expert up", in)});
  }
  walk_.talk(expert_tensor_call("expert reduce-scatter", netsim::Collective::reduce_scatter));
  if (!exchanges_overlap()) walk_.talk(dispatch(true));
  if (!direct) walk_.run(moved("permute", routed() * hidden_ * kBf16 * 2));
  routing();
  const Product router{own, d(shape_.experts), hidden_};
  walk_.run({input_gradient("router", router, false), weight_gradient("router", router, false)});
  norm_backward();
}

}  // namespace weft::workload
