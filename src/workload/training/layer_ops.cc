// Kernels of a decoder, forward and backward, as Transformer Engine (megatron), torch.compile (compiled), XLA (jax) or
// plain PyTorch (eager) launch them.
#include "workload/training/layer_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "workload/training/layers.h"

namespace weft::workload {

using layer::d;
using layer::kBf16;
using layer::kFp32;
using layer::kFp8;

namespace {

// FP8 products of the backward pass accumulate in full precision ("split accumulator": Transformer Engine's and
// torchao's default for both gradients), which costs part of their rate: they sustain 0.929 of it over 12 training
// shapes (bench/calibration/h200_sustained.csv: torch._scaled_mm on an H200, use_fast_accum off against on).
constexpr double kSplitAccumulation = 0.929;

constexpr std::uint64_t kNormKernels = 8;  // of an RMSNorm that is not fused

}  // namespace

Product Layers::query_key_value() const {
  if (!shape_.latent()) return {tokens_, d(shape_.head_dim) * (heads_ + 2 * kv_), hidden_};
  // Latent attention: the projections out of the latent spaces are counted in latent_extra().
  return {tokens_, d(shape_.query_rank + shape_.kv_rank + shape_.rope_dim), hidden_};
}

double Layers::latent_extra(bool backward) const {
  if (!shape_.latent()) return 0;
  const Product query{tokens_, heads_ * d(shape_.key_width()),
                      d(shape_.query_rank > 0 ? shape_.query_rank : shape_.hidden)};
  const Product keys{tokens_, heads_ * d(shape_.head_dim + shape_.value_dim), d(shape_.kv_rank)};
  double seconds = 0;
  for (const Product& one : {query, keys}) {
    seconds += gpu_.product(one, plan_.precision);
    if (backward) seconds += gpu_.product({one.n, one.k, one.m}, plan_.precision);
  }
  return seconds;
}

// Transformer Engine calls cuBLAS once per expert, after a cast of its tokens in FP8 (GroupedLinear,
// nvte_multi_tensor_gemm); Blackwell's FP8 needs the scales of both inputs in another order, a kernel each. PyTorch
// multiplies all experts in one kernel (torch._grouped_mm).
double Layers::host_of(bool low, double count) const {
  if (plan_.framework != model::Framework::megatron || !low) return 0;
  if (!fp8_) return layer::kEngine + (count - 1) * layer::kLoopLaunch;
  const double each = gpu_.any_fp8() ? 4 : 2;
  return layer::kEngineFp8 + (count * each - 1) * layer::kLoopLaunch;
}

// dX(tokens x k) = dY(tokens x n) W(n x k).
Kernel Layers::input_gradient(std::string_view name, const Product& forward, bool low, double count) const {
  Kernel kernel = product(name, {forward.m, forward.k, forward.n}, low, count);
  if (fp8_ && low && !gpu_.any_fp8()) kernel.seconds /= kSplitAccumulation;
  return kernel;
}

// dW(n x k) = dY(tokens x n)^T X(tokens x k). Megatron adds it to the gradient of the previous micro-batches in the
// product's last stage: measured on an H200 over 13 shapes, that costs as much as 4.05 bytes per weight in fp32 (addmm
// into an fp32 matrix against a product that writes bf16; 8 are read and written instead of 2, and part of it is
// hidden) and 0.97 in bf16.
Kernel Layers::weight_gradient(std::string_view name, const Product& forward, bool low, double count) const {
  const Product shape{forward.n, forward.k, forward.m};
  double seconds = gpu_.grouped(shape, count, low ? plan_.precision : model::Precision::bf16);
  if (fp8_ && low && !gpu_.any_fp8()) seconds /= kSplitAccumulation;
  const double weights = forward.n * forward.k * count;
  if (plan_.framework == model::Framework::megatron)
    seconds += gpu_.stream(weights * (plan_.fp32_gradients ? 4.05 : 0.97));
  return {name, seconds, shape.flops() * count, 1, host_of(low, count)};
}

// PyTorch's attention is FlashAttention-2 unless a program asks for another kernel; TorchTitan asks for cuDNN's on
// Blackwell (torchtitan/models/attention.py). Transformer Engine takes cuDNN's on Hopper and later.
bool Layers::flash2() const {
  if (plan_.attention.has_value()) return plan_.attention == model::AttentionKernel::flash2;
  return plan_.pytorch() && !gpu_.any_fp8();
}

Kernel Layers::attention(bool backward) const {
  const double sequences = d(plan_.micro_batch);
  AttentionShape shape;
  shape.batch_heads = sequences * heads_;
  shape.queries = tokens_ / sequences;
  shape.keys = d(plan_.sequence);
  shape.key_width = d(shape_.key_width());
  shape.value_width = d(shape_.value_width());
  double seconds = backward ? gpu_.attention_backward(shape) : gpu_.attention_forward(shape);
  if (flash2()) seconds *= gpu_.flash2_slowdown(shape, backward);
  if (plan_.dropout) seconds *= gpu_.dropout_slowdown(shape, flash2(), backward);
  return {backward ? "attention backward" : "attention", seconds, shape.flops() * (backward ? 2.5 : 1)};
}

// Attention before FlashAttention: products over whole rows of scores (causality saves nothing), and scores in memory:
// written by the first product, read and written by scale-mask-softmax, read and written (with a mask) by dropout, read
// by the second product; backward reads and writes as much again for each of its two products.
Kernel Layers::scores(bool backward) const {
  const double sequences = d(plan_.micro_batch);
  const double rows = sequences * heads_ * tokens_ / sequences;
  const double each = rows * d(plan_.sequence);
  const double flops = 2 * 2 * each * d(shape_.head_dim) * (backward ? 2 : 1);
  // Batched products with an inner length of one head run at the rate of a product of that inner length.
  const Product like{tokens_ * heads_, d(plan_.sequence), d(shape_.head_dim)};
  const double products = flops / like.flops() * gpu_.product(like, model::Precision::bf16);
  const double passes = backward ? 9 : 6.5;  // of 2 bytes; the dropout mask counts half
  return {backward ? "attention backward" : "attention", products + gpu_.stream(each * kBf16 * passes), flops};
}

// In a ring of context ranks, each step's partial output is rescaled and accumulated in fp32.
Kernel Layers::corrections(bool backward) const {
  if (plan_.context < 2) return {};
  const double steps = d(plan_.context) - 1;
  const double elements = tokens_ * heads_ * d(shape_.value_width()) * (backward ? 1.5 : 1);
  return moved("merge partial attention", steps * elements * (kFp32 * 2 + kBf16));
}

// Transformer Engine scales by the maximum of earlier steps or per block, in one pass with the transposed copy. PyTorch
// (torchao) reads a tensor for its maximum first.
void Layers::cast(double elements) {
  if (fp8_) walk_.run(moved("cast to FP8", elements * ((plan_.pytorch() ? 2 : 1) * kBf16 + 2 * kFp8)));
}

// Transformer Engine's norms write FP8, and its weights are cast once per step. PyTorch casts a norm's output, and the
// weights in every pass.
void Layers::cast_apart(double elements) {
  if (plan_.pytorch()) cast(elements);
}

// The gradient of a row product's output is split over the tensor group: it is cast and gathered before it is
// transposed.
void Layers::cast_row_gradient() {
  if (!fp8_) return;
  if (!plan_.sequence_parallel) {
    cast(tokens_ * hidden_);
    return;
  }
  walk_.run(moved("cast to FP8", held_ * hidden_ * (kBf16 + kFp8)));
  transpose_gathered();
}

// Hopper multiplies FP8 matrices in one layout only, so the inputs of the weight gradient must be transposed.
void Layers::transpose_gathered() {
  if (fp8_ && !gpu_.any_fp8()) walk_.run(moved("transpose FP8", tokens_ * hidden_ * 2 * kFp8));
}

// Eager models compute RMSNorm in steps (transformers' LlamaRMSNorm; torch.nn.RMSNorm before 2.8), in fp32: cast,
// square, mean, scale, cast back, times the weights; 36 bytes per element, and 68 for the gradients of the same steps.
// LayerNorm, which models without gates use, is one kernel everywhere.
void Layers::norm_forward() {
  if (eager_ && shape_.gated) {
    walk_.run(moved("norm", held_ * hidden_ * 36, kNormKernels));
    return;
  }
  // compiled: fused with the previous residual addition. In FP8 it writes the input of the next product.
  walk_.run(moved("norm", held_ * hidden_ * (kBf16 + (fp8_ && !plan_.pytorch() ? kFp8 : kBf16))));
}

void Layers::norm_backward() {
  const std::uint64_t kernels = eager_ && shape_.gated ? 2 * kNormKernels : 1;
  const double bytes = eager_ ? (shape_.gated ? 68 : 8) : 6;
  walk_.run(moved("norm backward", held_ * hidden_ * bytes, kernels));
}

void Layers::residual(bool backward) {
  if (backward && compiled_) return;          // in the norm's kernel
  const double mask = plan_.dropout ? 1 : 0;  // a byte per element, written forward and read backward
  walk_.run(moved("residual", held_ * hidden_ * (kBf16 * (compiled_ ? 2 : 3) + mask)));
}

// Megatron fuses GELU and SwiGLU, not the squared ReLU of models without gates and with rotary positions (Nemotron).
void Layers::activation(double tokens, double width, bool backward) {
  double passes = shape_.gated ? (backward ? 5 : 3) : (backward ? 3 : 2);
  if (eager_ && shape_.gated) passes += backward ? 4 : 2;  // silu and the product are separate kernels
  if (plan_.framework == model::Framework::megatron && !shape_.gated && !shape_.learned_positions)
    passes += backward ? 3 : 2;  // the square
  walk_.run(moved(backward ? "activation backward" : "activation", tokens * width * kBf16 * passes));
}

void Layers::rotate(bool backward) {
  if (shape_.learned_positions) return;
  const double width = shape_.latent() ? d(shape_.rope_dim) * (heads_ + 1) : d(shape_.head_dim) * (heads_ + kv_);
  walk_.run(moved(backward ? "rotary backward" : "rotary", tokens_ * width * kBf16 * (eager_ ? 8 : 2)));
}

void Layers::column_forward(std::string_view name, const Product& shape) {
  const Kernel gemm = product(name, shape);
  if (!plan_.sequence_parallel) {
    walk_.run(gemm);
  } else if (plan_.overlap_tensor) {
    walk_.beside(tensor_call("tensor all-gather", netsim::Collective::all_gather), tensor_, true, {gemm});
  } else {
    walk_.talk(tensor_call("tensor all-gather", netsim::Collective::all_gather));
    walk_.run(gemm);
  }
}

void Layers::row_forward(std::string_view name, const Product& shape) {
  const Kernel gemm = product(name, shape);
  if (plan_.tensor < 2) {
    walk_.run(gemm);
  } else if (!plan_.sequence_parallel) {
    walk_.run(gemm);
    walk_.talk(tensor_call("tensor all-reduce", netsim::Collective::all_reduce));
  } else if (plan_.overlap_tensor) {
    walk_.beside(tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter), tensor_, false, {gemm});
  } else {
    walk_.run(gemm);
    walk_.talk(tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter));
  }
}

// Backward of a product whose output is split: gathering the input again overlaps with the first product, scattering
// the input's gradient with the second.
void Layers::column_backward(std::string_view name, const Product& shape) {
  const Kernel input = input_gradient(name, shape);
  const Kernel weight = weight_gradient(name, shape);
  if (plan_.tensor < 2) {
    walk_.run({input, weight});
  } else if (!plan_.sequence_parallel) {
    walk_.run(input);
    walk_.beside(tensor_call("tensor all-reduce", netsim::Collective::all_reduce), 0, false, {weight});
  } else if (plan_.pytorch()) {
    // PyTorch's tensor parallelism keeps what it gathered and waits for each collective.
    walk_.run({input, weight});
    walk_.talk(tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter));
  } else {
    walk_.beside(tensor_call("tensor all-gather", netsim::Collective::all_gather), 0, false, {input});
    walk_.beside(tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter), 0, false, {weight});
  }
}

void Layers::row_backward(std::string_view name, const Product& shape) {
  const Kernel input = input_gradient(name, shape);
  const Kernel weight = weight_gradient(name, shape);
  if (!plan_.sequence_parallel) {
    walk_.run({input, weight});
    return;
  }
  const Call gather = tensor_call("tensor all-gather", netsim::Collective::all_gather);
  if (plan_.overlap_tensor) {
    walk_.beside(gather, tensor_, true, {input});
  } else {
    walk_.talk(gather);
    walk_.run(input);
  }
  walk_.run(weight);
}

void Layers::core_attention_forward() {
  if (!plan_.fused_attention()) {
    walk_.run(scores(false));
    return;
  }
  const double bytes = tokens_ * kv_ * d(shape_.key_width() + shape_.value_width()) * kBf16;
  const Kernel kernel = attention(false);
  if (plan_.context < 2) {
    walk_.run(kernel);
  } else if (plan_.context_exchange == model::ContextExchange::ring) {
    // One block of keys and values from the neighbor per step, overlapped with the attention to the previous block.
    Call call{"context exchange", netsim::Collective::send_recv, stream_context, plan_.context_group(), bytes};
    call.bytes *= d(plan_.context) - 1;
    walk_.beside(call, 0, false, {kernel});
    walk_.run(corrections(false));
  } else {
    walk_.talk({"context all-gather", netsim::Collective::all_gather, stream_context, plan_.context_group(),
                bytes * d(plan_.context)});
    walk_.run(kernel);
  }
}

void Layers::forward_attention() {
  norm_forward();
  cast_apart(held_ * hidden_ + query_key_value().n * hidden_ + attention_out().n * attention_out().k);
  column_forward("query-key-value", query_key_value());
  if (shape_.latent()) walk_.run({"latent projections", latent_extra(false), 0});
  rotate(false);
  core_attention_forward();
  cast(tokens_ * heads_ * d(shape_.value_width()));
  row_forward("attention output", attention_out());
  residual(false);
}

void Layers::forward_dense() {
  norm_forward();
  cast_apart(held_ * hidden_ + up().n * hidden_ + down().n * down().k);
  column_forward("feed-forward up", up());
  activation(tokens_, d(shape_.ffn) / tensor_, false);
  cast(tokens_ * d(shape_.ffn) / tensor_);
  row_forward("feed-forward down", down());
  residual(false);
}

// Overlapped exchanges of tokens (Megatron: --overlap-moe-expert-parallel-comm): two micro-batches take turns, and one
// sends its tokens during the kernels of the other. In the steady state a layer takes as long as its kernels or its two
// exchanges, whichever is longer; kernels are slower while tokens are sent.
template <class Body>
void Layers::beside_exchanges(bool mixture, bool backward, Body body) {
  if (!mixture || !exchanges_overlap()) {
    body();
    return;
  }
  double& share = exchange_share_[backward ? 1 : 0];
  if (share < 0) {
    share = 0;  // for the layer alone
    Layers alone(plan_, gpu_, timer_);
    alone.exchange_share_[0] = alone.exchange_share_[1] = 0;
    if (backward) {
      alone.backward_layer(true);
    } else {
      alone.forward_layer(true);
    }
    const double calls = static_cast<double>((walk_.time_of(dispatch(backward)) + walk_.time_of(combine())).count());
    share = std::min(1.0, calls / static_cast<double>(alone.finish().compute.count()));
  }
  const double before = walk_.slowness();
  const OpId first = walk_.start(dispatch(backward), walk_.here());
  const OpId second = walk_.start(combine(), walk_.here());
  walk_.slow_down(before * (1 + kOverlapSlowdown * share));
  body();
  walk_.slow_down(before);
  walk_.wait_for(first);
  walk_.wait_for(second);
}

void Layers::forward_layer(bool mixture) {
  beside_exchanges(mixture, false, [&] {
    forward_attention();
    if (mixture) {
      forward_mixture();
    } else {
      forward_dense();
    }
  });
}

void Layers::backward_attention(bool mixture) {
  if (plan_.recompute == model::Recompute::selective && !recomputes_operations(mixture)) {
    walk_.recomputing(true);
    walk_.run(plan_.fused_attention() ? attention(false) : scores(false));
    walk_.recomputing(false);
  }
  residual(true);
  cast_row_gradient();
  row_backward("attention output", attention_out());
  const double bytes = tokens_ * kv_ * d(shape_.key_width() + shape_.value_width()) * kBf16;
  const Kernel kernel = plan_.fused_attention() ? attention(true) : scores(true);
  if (plan_.context < 2) {
    walk_.run(kernel);
  } else if (plan_.context_exchange == model::ContextExchange::ring) {
    // Keys and values circulate again, together with their gradients.
    walk_.beside({"context exchange", netsim::Collective::send_recv, stream_context, plan_.context_group(),
                  2 * bytes * (d(plan_.context) - 1)},
                 0, false, {kernel});
    walk_.run(corrections(true));
  } else {
    walk_.run(kernel);
    walk_.talk({"context reduce-scatter", netsim::Collective::reduce_scatter, stream_context, plan_.context_group(),
                bytes * d(plan_.context)});
  }
  rotate(true);
  if (shape_.latent()) walk_.run({"latent projections", latent_extra(true), 0});
  cast(tokens_ * query_key_value().n);
  transpose_gathered();
  column_backward("query-key-value", query_key_value());
  norm_backward();
}

void Layers::backward_dense() {
  residual(true);
  cast_row_gradient();
  row_backward("feed-forward down", down());
  activation(tokens_, d(shape_.ffn) / tensor_, true);
  cast(tokens_ * up().n);
  transpose_gathered();
  column_backward("feed-forward up", up());
  norm_backward();
}

// Selective recomputation of operations (TorchTitan's default): attention, scattered sums and every second product's
// output are kept; keys, the output of attention, one of the two products of a gated block, gathers of a tensor group
// and all kernels between products run again.
void Layers::recompute_operations() {
  walk_.recomputing(true);
  const auto part = [&](std::string_view name, const Product& shape, double share) {
    Kernel kernel = product(name, shape);
    kernel.seconds *= share;
    kernel.flops *= share;
    walk_.run(kernel);
  };
  const auto gather = [&] {
    if (plan_.sequence_parallel) walk_.talk(tensor_call("tensor all-gather", netsim::Collective::all_gather));
  };
  norm_forward();
  gather();
  part("query-key-value", query_key_value(), kv_ / (heads_ + 2 * kv_));
  rotate(false);
  part("attention output", attention_out(), 1);
  residual(false);
  norm_forward();
  gather();
  if (shape_.gated) part("feed-forward up", up(), 0.5);
  activation(tokens_, d(shape_.ffn) / tensor_, false);
  walk_.recomputing(false);
}

void Layers::backward_layer(bool mixture) {
  if (plan_.recompute == model::Recompute::full) {
    walk_.recomputing(true);
    forward_layer(mixture);
    walk_.recomputing(false);
  }
  if (recomputes_operations(mixture)) recompute_operations();
  beside_exchanges(mixture, true, [&] {
    if (mixture) {
      backward_mixture();
    } else {
      backward_dense();
    }
    backward_attention(mixture);
  });
}

void Layers::embedding(bool backward) {
  walk_.run(moved(backward ? "embedding backward" : "embedding",
                  tokens_ * hidden_ * (backward && plan_.fp32_gradients ? kFp32 * 2 + kBf16 : kBf16 * 2)));
  if (plan_.tensor < 2 || !plan_.sequence_parallel) return;
  walk_.talk(backward ? tensor_call("tensor all-gather", netsim::Collective::all_gather)
                      : tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter));
}

// Logits and loss. megatron's fused loss for a split vocabulary (core/fusions/fused_cross_entropy.py) keeps an fp32
// copy and passes over it for the maximum, the exponentials with their sum, and the division: 32 bytes per logit
// forward and 10 backward; torch.compile reads them twice forward and reads and writes them once backward; eager
// PyTorch writes an fp32 copy, its logarithm and both gradients. Measured on an H200: megatron's 4.03 ms forward and
// 1.27 backward (4,096 x 128,256), compiled 0.73 and 0.65, eager 3.1 and 3.3 (16,384 x 32,000).
void Layers::head_forward() {
  const double logits = tokens_ * d(shape_.vocab) / tensor_;
  norm_forward();
  const Product shape{tokens_, d(shape_.vocab) / tensor_, hidden_};
  if (plan_.sequence_parallel) walk_.talk(tensor_call("tensor all-gather", netsim::Collective::all_gather));
  walk_.run(product("output layer", shape, false));
  walk_.run(moved("loss", logits * (compiled_ ? 5.6 : eager_ ? 24 : 32)));
}

void Layers::head_backward() {
  const double logits = tokens_ * d(shape_.vocab) / tensor_;
  walk_.run(moved("loss backward", logits * (compiled_ ? 5.0 : eager_ ? 25 : 10)));
  const Product shape{tokens_, d(shape_.vocab) / tensor_, hidden_};
  const Kernel input = input_gradient("output layer", shape, false);
  const Kernel weight = weight_gradient("output layer", shape, false);
  if (plan_.sequence_parallel) {
    walk_.run(input);
    walk_.beside(tensor_call("tensor reduce-scatter", netsim::Collective::reduce_scatter), 0, false, {weight});
  } else {
    walk_.run({input, weight});
  }
  norm_backward();
}

PieceTimes Layers::forward(const Piece& piece) {
  if (piece.embedding) embedding(false);
  pass(piece, false);
  if (piece.head) head_forward();
  return finish();
}

PieceTimes Layers::backward(const Piece& piece) {
  if (piece.head) head_backward();
  pass(piece, true);
  if (piece.embedding) embedding(true);
  return finish();
}

PieceTimes PieceMaker::forward(const Piece& piece) const { return Layers(plan, gpu, timer).forward(piece); }
PieceTimes PieceMaker::backward(const Piece& piece) const { return Layers(plan, gpu, timer).backward(piece); }

}  // namespace weft::workload
