#include "workload/gpu/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "workload/gpu/tables.h"

namespace weft::workload {
namespace {

constexpr double kH200Peak = 989.4e12;  // dense bf16, NVIDIA H200 datasheet (1,979 with sparsity)

// The surfaces were timed in bursts. Products that run back to back for tenths of a second reach the power limit, and
// the fastest ones lose most: of 135 training shapes (forward, input and weight gradients), those with 4,096 tokens and
// more ran within 1 to 4 % of the lower of the surface and 685 TFLOP/s, no matter how far the surface is above it
// (bench/calibration/measure_gpu.py).
constexpr double kPowerCap = 685e12;
// Attention between such products runs at the clock that remains: six shapes took 1.243 times as long forward and 1.166
// times backward as in a burst, each between two products of 8,192 cubed. Copies and additions took the same time.
constexpr double kLoadedForward = 1.243;
constexpr double kLoadedBackward = 1.166;

// Share of the dense peak that long products sustain, relative to Hopper's 0.66. Ampere's best shape reaches 0.87 of
// its peak where Hopper's reaches 0.80 (271 of 312 and 794 of 989 TFLOP/s: S. Bekman, "Maximum Achievable Matmul
// FLOPS"), and its 400 W limit it less. That its long products sustain 250 TFLOP/s is our estimate, made with the A100
// steps of arXiv 2205.05198 in view; the best shapes are quoted from memory of Bekman's table. Blackwell's peak grew
// more than its power: on a B200, 446 products of language models ran at 0.49 of the peak, 0.725 of what Hopper's
// surface predicts for the same shapes, and attention at 0.75 of it (MooreThreads/SimuMax,
// configs/system/b200_bf16_ceperm.json). AMD's CDNA 3 is scaled by its best shape relative to Hopper's (0.55 : 0.80).
struct ArchitectureScale {
  std::string_view architecture;
  double matrix;
  double cap;
  double processors;  // streaming multiprocessors, or compute units
  bool any_fp8;       // FP8 products in any layout, accumulated in full
  bool flash2_best;   // no asynchronous products: FlashAttention-2 is the fastest kernel
};
constexpr double kH200Processors = 132;
constexpr std::array kScales{
    ArchitectureScale{"ampere", 0.961 * (250.0 / 312.0) / (680.0 / 989.4), 0, 108, false, true},
    ArchitectureScale{"blackwell", 0.725, kPowerCap, 148, true, false},
    ArchitectureScale{"blackwell-ultra", 0.725, kPowerCap, 160, true, false},
    ArchitectureScale{"cdna3", 0.55 / 0.80, kPowerCap, 304, false, true}};

// FP8 products reach 1,290 of 1,979 TFLOP/s where bf16 ones of the same shapes reach 680 of 989: measured on an H200
// over 49 shapes (bench/calibration/measure_gpu.py).
constexpr double kFp8Efficiency = (1290.0 / 1979.0) / (680.0 / 989.4);

// Shares of the datasheet's bandwidth: copies, additions and fused norms move 4.0 to 4.37 of 4.8 TB/s on an H200, fused
// Adam 3.4 of 4.8 (with all states in bf16 2.75: conversions).
constexpr double kStreamShare = 4.15 / 4.8;
constexpr double kOptimizerShare = 3.39 / 4.8;
constexpr double kBf16OptimizerShare = 2.75 / 4.8;
constexpr double kHostShare = 54.4e9 / 63.0e9;  // of PCIe 5.0 x16, pinned, the same in both directions (H200)
constexpr double kPcieLane = 3.94e9;            // bytes/s per lane of generation 5

// Gap between consecutive kernels on a stream whose queue is not empty (drain of the last wave, launch): the cost of
// small kernels beyond their work.
constexpr double kKernelGap = 3e-6;
constexpr double kTile = 128;
constexpr double kInner = 165;
// Below this, the measured time of a product is the host's dispatch, not the GPU's work.
constexpr double kHostBound = 30e-6;

struct Between {
  std::size_t low = 0;
  std::size_t high = 0;
  double share = 0;  // of high
};
// Neighbors on a logarithmic axis; clamped to its ends.
Between place(std::span<const double> axis, double value) {
  if (value <= axis.front()) return {0, 0, 0};
  if (value >= axis.back()) return {axis.size() - 1, axis.size() - 1, 0};
  const auto above = std::upper_bound(axis.begin(), axis.end(), value);
  const auto high = static_cast<std::size_t>(above - axis.begin());
  return {high - 1, high, std::log(value / axis[high - 1]) / std::log(axis[high] / axis[high - 1])};
}

double mix(const Between& at, double low, double high) { return low + (high - low) * at.share; }

// TFLOP/s of a bf16 product on the H200, interpolated between the measured shapes.
double product_rate(const Product& shape) {
  const Between m = place(kGemmM, shape.m);
  const Between n = place(kGemmN, shape.n);
  const Between k = place(kGemmK, shape.k);
  const auto at = [&](std::size_t i, std::size_t j, std::size_t l) {
    return kGemmTflops[(i * kGemmN.size() + j) * kGemmK.size() + l];
  };
  const auto line = [&](std::size_t i, std::size_t j) { return mix(k, at(i, j, k.low), at(i, j, k.high)); };
  const auto plane = [&](std::size_t i) { return mix(n, line(i, n.low), line(i, n.high)); };
  return mix(m, plane(m.low), plane(m.high));
}

// Part of the processors that works on average. A fused kernel gives each processor a tile of 128 queries of one head
// and lets it walk over the keys. Under a causal mask the last tile is the longest: nothing ends before it, and forward
// kernels end with half of such a tile on few processors; backward ones start the longest first. Timed on an H200 for 1
// to 128 heads and 512 to 131,072 tokens (bench/calibration/h200_attention.csv): one head of 16,384 tokens takes twice
// as long as one of 8,192, with 64 and 128 tiles for 132 processors.
double busy_share(const AttentionShape& shape, double processors, bool backward) {
  // Ranks that share a sequence walk over its keys in pieces as long as their own.
  const double longest = std::max(1.0, std::ceil(std::min(shape.keys, shape.queries) / kTile));
  const double tiles = std::max(1.0, shape.batch_heads * std::ceil(shape.queries / kTile));
  if (!shape.causal) return tiles / (std::ceil(tiles / processors) * processors);
  const double even = tiles * (longest + 1) / 2 / processors;
  return even / std::max(longest, even + (backward ? 0 : longest / 2));
}

// The measured surface covers shapes that fill the GPU; others follow from how much of it they use.
double attention_rate(const AttentionShape& shape, std::span<const double> table, double processors, bool backward) {
  // The mean of the head's two widths is used; the rate is interpolated between 64 and 128 and clamped outside.
  const Between width = place(kAttentionDims, (shape.key_width + shape.value_width) / 2);
  const Between heads = place(kAttentionHeads, shape.batch_heads);
  const Between length = place(kAttentionLengths, shape.queries);
  const auto at = [&](std::size_t i, std::size_t j, std::size_t l) {
    return table[(i * kAttentionHeads.size() + j) * kAttentionLengths.size() + l];
  };
  const auto line = [&](std::size_t i, std::size_t j) {
    return mix(length, at(i, j, length.low), at(i, j, length.high));
  };
  const auto plane = [&](std::size_t i) { return mix(heads, line(i, heads.low), line(i, heads.high)); };
  double rate = mix(width, plane(width.low), plane(width.high));
  AttentionShape measured = shape;
  measured.batch_heads = std::clamp(shape.batch_heads, kAttentionHeads.front(), kAttentionHeads.back());
  measured.queries = measured.keys = std::clamp(shape.queries, kAttentionLengths.front(), kAttentionLengths.back());
  measured.causal = true;
  return rate * busy_share(shape, processors, backward) / busy_share(measured, kH200Processors, backward);
}

// A figure measured for heads of 64 and of 128.
double by_width(const AttentionShape& shape, double narrow, double wide) {
  const std::array<double, 2> at{narrow, wide};
  const Between width = place(kAttentionDims, (shape.key_width + shape.value_width) / 2);
  return mix(width, at.at(width.low), at.at(width.high));
}

double rate_of(const model::GpuModel& gpu, std::string_view kind) {
  for (const auto& [key, rate] : gpu.dense_flops.value) {
    if (key == kind) return static_cast<double>(rate.value.count()) * 1e6;
  }
  return 0;
}

// Clock of products and attention at a power limit below the one they were measured at. Power beyond what an idle GPU
// draws grows with the square of the clock: on an H200, products of matrices with few values other than zero draw 537 W
// and 495 W per unit of that share, at 1,675 MHz; with half of the values the limit of 700 W reduces the clock to 1,540
// MHz where 785 W would be drawn (bench/calibration/h200_power.csv): an exponent of 1.7, and 2.0 in FP8. Memory-bound
// kernels keep their rate.
constexpr double kIdlePower = 120.0 / 700.0;  // of the thermal design power; an assumption
double clock_at_limit(const model::GpuModel& gpu) {
  if (!gpu.power_limit.has_value() || gpu.tdp.value.count() <= 0) return 1;
  const double limit = static_cast<double>(gpu.power_limit.value.count()) / static_cast<double>(gpu.tdp.value.count());
  if (limit >= 1) return 1;
  return std::sqrt(std::max(0.01, limit - kIdlePower) / (1 - kIdlePower));
}

}  // namespace

Result<GpuRates> GpuRates::of(const model::GpuModel& gpu) {
  GpuRates rates;
  rates.peak_bf16_ = rate_of(gpu, "bf16");
  rates.peak_fp8_ = rate_of(gpu, "fp8");
  if (rates.peak_bf16_ <= 0)
    return Error{ErrorCode::not_found, fmt::format("the catalog has no bf16 rate for {}", gpu.id->text), {}};
  ArchitectureScale scale{"hopper", 1, kPowerCap, kH200Processors, false, false};
  for (const ArchitectureScale& known : kScales) {
    if (known.architecture == gpu.architecture.value) scale = known;
  }
  rates.attention_scale_ = rates.matrix_scale_ = scale.matrix * rates.peak_bf16_ / kH200Peak * clock_at_limit(gpu);
  rates.power_cap_ = scale.cap;
  rates.processors_ = scale.processors;
  rates.any_fp8_ = scale.any_fp8;
  rates.flash2_best_ = scale.flash2_best;
  const auto bandwidth = static_cast<double>(gpu.memory_bandwidth.value.per_second.count());
  rates.memory_rate_ = bandwidth * kStreamShare;
  rates.optimizer_rate_ = bandwidth * kOptimizerShare;
  rates.bf16_optimizer_rate_ = bandwidth * kBf16OptimizerShare;
  const double generation = static_cast<double>(gpu.pcie_generation.has_value() ? gpu.pcie_generation.value : 5);
  const double lanes = static_cast<double>(gpu.pcie_lanes.has_value() ? gpu.pcie_lanes.value : 16);
  rates.host_rate_ = kPcieLane * std::exp2(generation - 5) * lanes * kHostShare;
  rates.memory_bytes_ = static_cast<double>(gpu.memory.value.count());
  return rates;
}

// The tiles of grouped products fill the GPU together, so their rate is that of one product with all their rows.
double GpuRates::grouped(const Product& shape, double count, model::Precision precision) const {
  const double flops = shape.flops() * count;
  double rate = product_rate({shape.m * count, shape.n, shape.k}) * 1e12;
  // Beyond the measured shapes: a partial tile of rows or columns wastes the rest of it, and a short inner length does
  // not amortize the tile's start and end (the surface's own columns rise as k / (k + 165)).
  rate *= std::min(1.0, shape.m / kTile) * std::min(1.0, shape.n / kTile);
  if (shape.k < kGemmK.front()) rate *= shape.k / (shape.k + kInner) / (kGemmK.front() / (kGemmK.front() + kInner));
  if (power_cap_ > 0) rate = std::min(rate, power_cap_);
  const double measured = flops / rate;
  double seconds = measured / matrix_scale_;
  if (measured < kHostBound) {
    const double saturated = kGemmTflops[kGemmTflops.size() - 1] * 1e12;
    seconds = std::min(seconds, flops / saturated / matrix_scale_ * 1.3 + kKernelGap);
  }
  if (precision == model::Precision::fp8 && peak_fp8_ > 0) seconds *= peak_bf16_ / (peak_fp8_ * kFp8Efficiency);
  const double width = precision == model::Precision::fp8 ? 1 : 2;
  const double traffic = count * ((shape.m * shape.k + shape.k * shape.n) * width + shape.m * shape.n * 2);
  return std::max(seconds, traffic / memory_rate_) + kKernelGap;
}

double GpuRates::attention_forward(const AttentionShape& shape) const {
  const double burst =
      shape.flops() / (attention_rate(shape, kAttentionForwardTflops, processors_, false) * 1e12 * attention_scale_);
  return burst * (power_cap_ > 0 ? kLoadedForward : 1) + kKernelGap;
}

double GpuRates::attention_backward(const AttentionShape& shape) const {
  const double burst = 2.5 * shape.flops() /
                       (attention_rate(shape, kAttentionBackwardTflops, processors_, true) * 1e12 * attention_scale_);
  return burst * (power_cap_ > 0 ? kLoadedBackward : 1) + kKernelGap;
}

// FlashAttention-2 does not use Hopper's asynchronous products. Measured on an H200 between other products
// (bench/calibration/h200_attention_kernels.csv, 10 shapes per width of the head, from 8 to 512 heads): 1.40 to 1.76
// times cuDNN's time forward with heads of 64 and 1.61 to 2.04 with heads of 128; backward 1.45 to 1.63 and 1.60
// to 1.86. Blackwell was not measured and is taken as Hopper. Ampere's rates are those of FlashAttention-2.
double GpuRates::flash2_slowdown(const AttentionShape& shape, bool backward) const {
  if (flash2_best_) return 1;
  return backward ? by_width(shape, 1.54, 1.71) : by_width(shape, 1.52, 1.77);
}

// Kernels draw random numbers for each score, twice (the backward pass repeats them). The same measurement, six shapes
// per width.
double GpuRates::dropout_slowdown(const AttentionShape& shape, bool flash2, bool backward) const {
  if (flash2 || flash2_best_) return backward ? by_width(shape, 1.13, 1.09) : by_width(shape, 1.26, 1.20);
  return backward ? by_width(shape, 1.30, 1.22) : by_width(shape, 2.33, 1.97);
}

// Performance of equal GPUs of one cluster varies by 8 % on average over applications (at most 22 %), through power
// management (Sinha et al., "Not All GPUs Are Created Equal", SC 2022, arXiv 2208.11035). We interpret that as the
// range over some hundred GPUs, which is 6.6 standard deviations. This cause was chosen because steps on more GPUs take
// longer than on fewer, with those tables in view.
GpuRates GpuRates::slowest_of(std::int64_t gpus) const {
  GpuRates slower = *this;
  const double factor = 1 + kGpuSpread * expected_maximum(static_cast<double>(gpus));
  slower.matrix_scale_ /= factor;
  slower.attention_scale_ /= factor;
  return slower;
}

// Blom's approximation of the expected largest of `count` normal values, with the normal quantile by Abramowitz and
// Stegun 26.2.23.
double expected_maximum(double count) {
  if (count <= 1) return 0;
  const double tail = 1 - (count - 0.375) / (count + 0.25);
  const double t = std::sqrt(-2 * std::log(tail));
  return t -
         (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

double GpuRates::stream(double bytes) const { return bytes / memory_rate_ + kKernelGap; }

double GpuRates::optimizer(double parameters, double bytes_each, bool bf16) const {
  return parameters * bytes_each / (bf16 ? bf16_optimizer_rate_ : optimizer_rate_) + kKernelGap;
}

double GpuRates::host_copy(double bytes) const { return bytes / host_rate_ + 10e-6; }

}  // namespace weft::workload
