// Mixture-of-experts layers: routing, exchange of tokens, and the experts' products.
#include "workload/training/layers.h"

namespace weft::workload {

using layer::d;
using layer::kBf16;

namespace {

// Router, top-k, counts and indices of a mixture layer in Megatron (router.py, token_dispatcher.py): small kernels.
constexpr int kRoutingKernels = 20;

}  // namespace

// Experts on this rank, each with its even share of the tokens that arrive.
void Layers::expert_products(double tokens, bool backward) {
  const double local = d(shape_.experts) / d(plan_.expert);
  const double split = d(plan_.expert_tensor);
  const double rows = tokens / local;
  const Product in{rows, d(shape_.expert_ffn) / split * (shape_.gated ? 2 : 1), hidden_};
  const Product out{rows, hidden_, d(shape_.expert_ffn) / split};
  const auto all = [&](Kernel kernel) {
    kernel.seconds *= local;
    kernel.flops *= local;
    walk_.run(kernel);
  };
  if (!backward) {
    cast(tokens * hidden_);
    all(product("experts up", in));
    activation(tokens, d(shape_.expert_ffn) / split, false);
    cast(tokens * out.k);
    all(product("experts down", out));
    return;
  }
  cast(tokens * hidden_);
  all(input_gradient("experts down", out));
  all(weight_gradient("experts down", out));
  activation(tokens, d(shape_.expert_ffn) / split, true);
  cast(tokens * in.n);
  all(input_gradient("experts up", in));
  all(weight_gradient("experts up", in));
}

void Layers::routing() { walk_.run({"routing", kRoutingKernels * gpu_.stream(0), 0}); }

// Tokens arrive grouped by sender; each expert needs its own contiguously.
void Layers::sort_arrived() {
  if (shape_.experts > plan_.expert && plan_.expert > 1) {
    walk_.run(moved("sort by expert", arrived() * hidden_ * kBf16 * 2));
  }
}

void Layers::forward_mixture() {
  norm_forward();
  const double own = tokens_ / (plan_.sequence_parallel ? tensor_ : 1);
  walk_.run(product("router", {own, d(shape_.experts), hidden_}, false));
  routing();
  walk_.run(moved("permute", routed() * hidden_ * kBf16 * 2));
  if (!exchanges_overlap()) walk_.talk(exchange("expert dispatch"));
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
  if (!exchanges_overlap()) walk_.talk(exchange("expert combine"));
  walk_.run(moved("unpermute", (routed() + own) * hidden_ * kBf16));
  residual(false);
}

void Layers::backward_mixture() {
  residual(true);
  const double own = tokens_ / (plan_.sequence_parallel ? tensor_ : 1);
  walk_.run(moved("unpermute", (routed() + own) * hidden_ * kBf16));
  if (!exchanges_overlap()) walk_.talk(exchange("expert combine"));
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
  if (!exchanges_overlap()) walk_.talk(exchange("expert dispatch"));
  walk_.run(moved("permute", routed() * hidden_ * kBf16 * 2));
  routing();
  const Product router{own, d(shape_.experts), hidden_};
  walk_.run({input_gradient("router", router, false), weight_gradient("router", router, false)});
  norm_backward();
}

}  // namespace weft::workload
