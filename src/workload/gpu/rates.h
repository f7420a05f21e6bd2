// Kernel times on an otherwise idle GPU: matrix products and attention from surfaces measured on an H200, memory-bound
// kernels from measured shares of the datasheet's bandwidth. Other GPUs are assumed to have the same efficiency at the
// same shape, scaled by their peak rates and one factor per architecture; the rules are next to the constants in the
// .cc. No contention, no communication, no host.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/catalog.h"
#include "model/job_training.h"

namespace weft::workload {

// Products C(m x n) += A(m x k) B(k x n).
struct Product {
  double m = 0;
  double n = 0;
  double k = 0;
  [[nodiscard]] double flops() const { return 2 * m * n * k; }
};

struct AttentionShape {
  double batch_heads = 0;  // sequences x query heads on this GPU
  double queries = 0;      // tokens per sequence on this GPU
  double keys = 0;         // tokens per sequence in total
  double key_width = 0;
  double value_width = 0;
  bool causal = true;
  // Forward pass: products with keys and with values, 2 operations each.
  [[nodiscard]] double flops() const {
    return 2 * batch_heads * queries * keys * (key_width + value_width) * (causal ? 0.5 : 1);
  }
};

// All times in seconds.
class GpuRates {
 public:
  // Returns an error for a GPU whose catalog entry lacks the rate of the precision.
  [[nodiscard]] static Result<GpuRates> of(const model::GpuModel& gpu);

  [[nodiscard]] double product(const Product& shape, model::Precision precision) const {
    return grouped(shape, 1, precision);
  }
  // `count` equal products in one kernel, as for the experts of a GPU.
  [[nodiscard]] double grouped(const Product& shape, double count, model::Precision precision) const;
  [[nodiscard]] double attention_forward(const AttentionShape& shape) const;
  [[nodiscard]] double attention_backward(const AttentionShape& shape) const;
  // Time of FlashAttention-2 relative to the two above, which are those of cuDNN's kernels on Hopper and later.
  [[nodiscard]] double flash2_slowdown(const AttentionShape& shape, bool backward) const;
  // Time of either kernel with dropout relative to that without.
  [[nodiscard]] double dropout_slowdown(const AttentionShape& shape, bool flash2, bool backward) const;
  // Reads and writes this many bytes, as a fused element-wise kernel does.
  [[nodiscard]] double stream(double bytes) const;
  // Fused Adam; each parameter moves this many bytes.
  [[nodiscard]] double optimizer(double parameters, double bytes_each, bool bf16) const;
  // Between GPU memory and pinned host memory, one GPU.
  [[nodiscard]] double host_copy(double bytes) const;

  // The same for the slowest of this many GPUs: GPUs differ, and a step waits for the slowest.
  [[nodiscard]] GpuRates slowest_of(std::int64_t gpus) const;

  [[nodiscard]] double peak(model::Precision precision) const {
    return precision == model::Precision::fp8 ? peak_fp8_ : peak_bf16_;
  }
  [[nodiscard]] bool has_fp8() const { return peak_fp8_ > 0; }
  // FP8 products run in any layout and accumulate in full precision, as on Blackwell (PTX ISA, tcgen05.mma: operands of
  // either major order, accumulator in fp32). Hopper needs transposed copies and a slower instruction sequence.
  [[nodiscard]] bool any_fp8() const { return any_fp8_; }
  [[nodiscard]] double memory_bytes() const { return memory_bytes_; }

 private:
  double peak_bf16_ = 0;  // operations/s, dense
  bool any_fp8_ = false;
  double peak_fp8_ = 0;
  double matrix_scale_ = 1;  // from the surfaces' rates to this GPU's, bf16
  double power_cap_ = 0;     // on the surface: operations/s that products sustain at the power limit; 0: unknown
  double attention_scale_ = 1;
  double processors_ = 132;
  bool flash2_best_ = false;   // FlashAttention-2 is the fastest kernel
  double memory_rate_ = 0;     // bytes/s that a fused kernel reaches
  double optimizer_rate_ = 0;  // bytes/s, states in fp32
  double bf16_optimizer_rate_ = 0;
  double host_rate_ = 0;  // bytes/s
  double memory_bytes_ = 0;
};

// Relative clock difference between GPUs of one model under the same load (one standard deviation), and how many
// standard deviations the slowest of `count` GPUs is expected to be behind the mean.
inline constexpr double kGpuSpread = 0.012;
[[nodiscard]] double expected_maximum(double count);

}  // namespace weft::workload
