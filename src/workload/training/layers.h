// One rank's layers as kernels and calls on streams; used only by training/layer_ops.cc (attention, dense blocks,
// embedding, head, sharded weights) and training/layer_mixture.cc (experts). Sizes of memory-bound kernels are bytes
// read and written.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "workload/training/step_walk.h"

namespace weft::workload {

namespace layer {

inline constexpr double kBf16 = 2;  // bytes
inline constexpr double kFp32 = 4;
inline constexpr double kFp8 = 1;

// Host time to launch one kernel in a module of PyTorch, with its views and the graph of the backward pass. Measured 18
// to 43 us, 29 on average (h200_host.csv: dense and mixture, eager and compiled, two runs), on virtual machines where
// an addition takes 9 to 13 us; servers of clusters need about half of that. A linear module takes 13.5 us on the Xeon
// 8480C of a DGX H100 (NVIDIA/TransformerEngine, issue 2053).
inline constexpr double kLaunch = 15e-6;
// What a product in a module of Transformer Engine adds: its module takes 2.7 times as long as PyTorch's on Grace
// (99.7 and 37.1 us, the same issue), and more than twice that in FP8 (issue 761).
inline constexpr double kEngine = 21e-6;
inline constexpr double kEngineFp8 = 42e-6;
// One launch more in a loop of compiled code over the experts: half of 15.5 us, measured for a product in a loop on the
// machine where an addition takes 8.5 us (measure_attention.py).
inline constexpr double kLoopLaunch = 8e-6;
// For the host to read a small tensor back: 13.5 and 17.4 us on the same machines; half of it, rounded.
inline constexpr double kReadBack = 9e-6;

inline double d(std::int64_t value) { return static_cast<double>(value); }

}  // namespace layer

// Everything that one rank does in one layer.
class Layers {
 public:
  Layers(const TrainingPlan& plan, const GpuRates& gpu, CommunicationTimer& timer)
      : plan_(plan), shape_(plan.shape), gpu_(gpu), timer_(timer), walk_(timer) {
    tensor_ = layer::d(plan.tensor);
    tokens_ = plan.tokens();
    held_ = plan.sequence_parallel ? tokens_ / tensor_ : tokens_;
    hidden_ = layer::d(shape_.hidden);
    kv_ = std::max(1.0, layer::d(shape_.kv_heads) / tensor_);
    heads_ = layer::d(shape_.heads) / tensor_;
    fp8_ = plan.precision == model::Precision::fp8;
    eager_ = plan.framework == model::Framework::eager;
    compiled_ = plan.framework == model::Framework::compiled || plan.framework == model::Framework::jax;
  }

  PieceTimes forward(const Piece& piece);
  PieceTimes backward(const Piece& piece);

 private:
  // Kernels.
  [[nodiscard]] Kernel moved(std::string_view name, double bytes, std::uint64_t kernels = 1) const {
    return {name, gpu_.stream(bytes) + static_cast<double>(kernels - 1) * gpu_.stream(0), 0, kernels};
  }
  // `count` equal ones in one kernel.
  [[nodiscard]] Kernel product(std::string_view name, const Product& shape, bool low = true, double count = 1) const {
    return {name, gpu_.grouped(shape, count, low ? plan_.precision : model::Precision::bf16), shape.flops() * count, 1,
            host_of(low, count)};
  }
  // The two products of a backward pass: with respect to the input and to the weights.
  [[nodiscard]] Kernel input_gradient(std::string_view name, const Product& forward, bool low = true,
                                      double count = 1) const;
  [[nodiscard]] Kernel weight_gradient(std::string_view name, const Product& forward, bool low = true,
                                       double count = 1) const;
  [[nodiscard]] bool flash2() const;
  // Of the host, beyond one launch, for a product or for those of `count` experts.
  [[nodiscard]] double host_of(bool low, double count) const;
  [[nodiscard]] Kernel attention(bool backward) const;
  [[nodiscard]] Kernel scores(bool backward) const;
  [[nodiscard]] Kernel corrections(bool backward) const;

  // Shapes.
  [[nodiscard]] Product query_key_value() const;
  [[nodiscard]] Product attention_out() const { return {tokens_, hidden_, heads_ * layer::d(shape_.value_width())}; }
  [[nodiscard]] Product up() const {
    return {tokens_, layer::d(shape_.ffn) / tensor_ * (shape_.gated ? 2 : 1), hidden_};
  }
  [[nodiscard]] Product down() const { return {tokens_, hidden_, layer::d(shape_.ffn) / tensor_}; }

  // Parts of a layer.
  void forward_layer(bool mixture);
  void forward_attention();
  void core_attention_forward();
  void forward_dense();
  void forward_mixture();
  void backward_layer(bool mixture);
  void recompute_operations();
  void backward_attention(bool mixture);
  void backward_dense();
  void backward_mixture();
  void embedding(bool backward);
  void head_forward();
  void head_backward();
  void column_forward(std::string_view name, const Product& shape);
  void row_forward(std::string_view name, const Product& shape);
  void column_backward(std::string_view name, const Product& shape);
  void row_backward(std::string_view name, const Product& shape);
  void norm_forward();
  void norm_backward();
  void residual(bool backward);
  void activation(double tokens, double width, bool backward);
  void rotate(bool backward);
  // Casts to FP8: the input of a row product or the gradient of a column product's output, with its transpose.
  void cast(double elements);
  void cast_apart(double elements);
  void cast_row_gradient();
  void transpose_gathered();
  void expert_products(double tokens, bool backward);
  void routing();
  void read_counts();
  void sort_arrived();
  [[nodiscard]] double latent_extra(bool backward) const;

  // Selective recomputation in PyTorch, of operations; Megatron's is of attention.
  [[nodiscard]] bool recomputes_operations(bool mixture) const {
    return plan_.recompute == model::Recompute::selective && plan_.framework != model::Framework::megatron && !mixture;
  }

  // Calls.
  [[nodiscard]] Call tensor_call(std::string_view what, netsim::Collective collective) const {
    // Gathered data is the input of a product and is sent in its precision; sums are scattered in bf16.
    const bool low = fp8_ && collective == netsim::Collective::all_gather;
    return {what, collective, stream_tensor, plan_.tensor_group(),
            tokens_ * hidden_ * (low ? layer::kFp8 : layer::kBf16)};
  }
  // Experts split over a tensor group: its ranks gather the received tokens and scatter the sums.
  [[nodiscard]] Call expert_tensor_call(std::string_view what, netsim::Collective collective) const {
    OpGroup group = plan_.tensor_group();
    group.name = "expert tensor";
    group.ranks = static_cast<std::uint32_t>(plan_.expert_tensor);
    group.node_ranks = std::min(group.node_ranks, group.ranks);
    return {what, collective, stream_expert, group, arrived() * hidden_ * layer::kBf16};
  }
  // Tokens to their experts, and the experts' outputs back; backward, gradients take the opposite ways in bf16.
  [[nodiscard]] Call dispatch(bool backward) const {
    return exchange("expert dispatch", plan_.fp8_dispatch && !backward ? layer::kFp8 : layer::kBf16);
  }
  [[nodiscard]] Call combine() const { return exchange("expert combine", layer::kBf16); }
  [[nodiscard]] Call exchange(std::string_view what, double width) const;
  // Groups of experts, of `parts` equal ones, that the experts of one token are in, on average.
  [[nodiscard]] double parts_of_token(double parts, double allowed) const;
  // Load of the GPU with the most tokens, relative to the mean.
  [[nodiscard]] double busiest() const;
  // Tokens that a rank sends to experts, counted once per expert.
  [[nodiscard]] double routed() const {
    return tokens_ / (plan_.sequence_parallel ? tensor_ : 1) * layer::d(shape_.active_experts);
  }
  // Tokens that a rank's experts process, on the rank with the most.
  [[nodiscard]] double arrived() const { return routed() * layer::d(plan_.expert_tensor) * busiest(); }
  // Sharded parameters: the calls of one layer, one after the other.
  [[nodiscard]] std::vector<Call> gather_weights(bool mixture) const;
  [[nodiscard]] std::vector<Call> scatter_gradients(bool mixture) const;
  [[nodiscard]] SimTime time_of(const std::vector<Call>& calls);
  std::vector<OpId> start(const std::vector<Call>& calls, const std::vector<OpId>& after);

  [[nodiscard]] double company(bool mixture, bool backward);
  // Whether the exchange of tokens overlaps with kernels; then its calls start with the layer.
  [[nodiscard]] bool exchanges_overlap() const {
    return plan_.overlap_expert && plan_.expert > 1 && plan_.micro_batches > 1;
  }
  template <class Body>
  void beside_exchanges(bool mixture, bool backward, Body body);
  void copy_sharded(std::string_view name, const std::vector<Call>& calls, double from_to);
  void sharded_pass(const Piece& piece, bool backward, const std::function<bool(std::int64_t)>& mixture);
  void pass(const Piece& piece, bool backward);
  [[nodiscard]] PieceTimes finish() { return walk_.finish(plan_.cuda_graphs ? 0 : layer::kLaunch); }

  const TrainingPlan& plan_;
  const ModelShape& shape_;
  const GpuRates& gpu_;
  CommunicationTimer& timer_;
  StepWalk walk_;
  double tensor_ = 1;
  double tokens_ = 0;  // per micro-batch on this rank, before sequence parallelism
  double held_ = 0;    // after sequence parallelism
  double hidden_ = 0;
  double heads_ = 0;
  double kv_ = 0;
  bool fp8_ = false;
  bool eager_ = false;
  bool compiled_ = false;
  double exchange_share_[2] = {-1, -1};  // forward, backward: of a layer's kernels that overlap with its exchanges
};

}  // namespace weft::workload
