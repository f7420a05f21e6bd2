#include "workload/gpu/rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/file.h"
#include "base/source.h"
#include "base/test_places.h"
#include "base/text.h"
#include "workload/gpu/tables.h"

namespace weft::workload {
namespace {

class GpuRatesTest : public ::testing::Test {
 protected:
  GpuRatesTest() : catalog_(model::Catalog::built_in(sources_, diagnostics_)) {}
  GpuRates rates(const char* gpu) const {
    const model::GpuModel* model = catalog_.gpu(gpu);
    CHECK(model != nullptr, "the catalog has the GPU");
    const Result<GpuRates> result = GpuRates::of(*model);
    CHECK(result.ok(), "the catalog has its rates");
    return result.value();
  }
  Sources sources_;
  Diagnostics diagnostics_;
  model::Catalog catalog_;
};

// At the measured shapes an H200 takes the measured time, or the time at the power cap of 685 TFLOP/s if it was faster
// in a burst, unless the measured time is the host's.
TEST_F(GpuRatesTest, MeasuredShapesAreReproduced) {
  const GpuRates h200 = rates("h200-sxm");
  std::size_t checked = 0;
  for (std::size_t i = 0; i < kGemmM.size(); ++i) {
    for (std::size_t j = 0; j < kGemmN.size(); ++j) {
      for (std::size_t l = 0; l < kGemmK.size(); ++l) {
        const Product shape{kGemmM[i], kGemmN[j], kGemmK[l]};
        const double tflops = std::min(685.0, kGemmTflops[(i * kGemmN.size() + j) * kGemmK.size() + l]);
        const double measured = shape.flops() / (tflops * 1e12);
        if (measured < 40e-6) continue;
        ++checked;
        EXPECT_NEAR(h200.product(shape, model::Precision::bf16), measured, 0.01 * measured + 4e-6)
            << shape.m << " " << shape.n << " " << shape.k;
      }
    }
  }
  EXPECT_GT(checked, 250U);
}

// bench/calibration/h200_grouped.csv: products of the experts of a GPU as one kernel or on four streams, whichever is
// faster, and their weight gradients as one kernel. Times below 30 us are the host's.
TEST_F(GpuRatesTest, GroupedProductsAsMeasured) {
  const Result<std::string> text = read_file(source_dir() + "/bench/calibration/h200_grouped.csv");
  ASSERT_TRUE(text.ok());
  const GpuRates h200 = rates("h200-sxm");
  double forward = 0;
  double weights = 0;
  double rows = 0;
  for (const std::string_view line : split_lines(*text)) {
    double n = 0;
    double k = 0;
    double experts = 0;
    double each = 0;
    double loop = 0;
    double one = 0;
    double gradient = 0;
    double streams = 0;
    if (std::sscanf(std::string(line).c_str(), "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &n, &k, &experts, &each, &loop, &one,
                    &gradient, &streams) != 8)
      continue;
    if (std::min(one, streams) < 30) continue;
    ++rows;
    const double there = h200.grouped({each, n, k}, experts, model::Precision::bf16) * 1e6 / std::min(one, streams);
    const double back = h200.grouped({n, k, each}, experts, model::Precision::bf16) * 1e6 / gradient;
    forward += std::abs(std::log(there));
    weights += std::abs(std::log(back));
  }
  ASSERT_GT(rows, 60);
  std::printf("  mean: %.3f forward, %.3f weights\n", std::exp(forward / rows) - 1, std::exp(weights / rows) - 1);
  EXPECT_LT(std::exp(forward / rows) - 1, 0.12);
  EXPECT_LT(std::exp(weights / rows) - 1, 0.15);
}

// At 500 of 700 W the clock of products falls to sqrt((500 - 120) / (700 - 120)) = 0.809 of what it was; copies keep
// their rate.
TEST_F(GpuRatesTest, APowerLimitLowersTheClock) {
  model::GpuModel gpu = *catalog_.gpu("h100-sxm");
  const GpuRates full = GpuRates::of(gpu).value();
  gpu.power_limit = model::Sourced<Power>(Power(500'000));
  const GpuRates limited = GpuRates::of(gpu).value();
  const Product shape{8192, 8192, 8192};
  EXPECT_NEAR(full.product(shape, model::Precision::bf16) / limited.product(shape, model::Precision::bf16), 0.809,
              0.003);
  EXPECT_EQ(full.stream(1e9), limited.stream(1e9));
  gpu.power_limit = model::Sourced<Power>(Power(900'000));
  EXPECT_EQ(GpuRates::of(gpu).value().product(shape, model::Precision::bf16),
            full.product(shape, model::Precision::bf16));
}

// Measured on an H200 under load, independent of the tables: products in runs of 0.3 s, attention between products.
TEST_F(GpuRatesTest, MeasuredUnderLoad) {
  const GpuRates h200 = rates("h200-sxm");
  struct Row {
    Product shape;
    double us;
  };
  for (const Row& row :
       {Row{{4096, 14336, 8192}, 1386}, Row{{4096, 8192, 7168}, 717}, Row{{14336, 8192, 4096}, 1458},
        Row{{4096, 28672, 4096}, 1433}, Row{{16384, 6144, 6144}, 1805}, Row{{6144, 6144, 16384}, 1808},
        Row{{2048, 12288, 12288}, 904}, Row{{12288, 12288, 2048}, 947}, Row{{8192, 8192, 8192}, 1652}}) {
    EXPECT_NEAR(1e6 * h200.product(row.shape, model::Precision::bf16), row.us, 0.05 * row.us) << row.shape.m;
  }
  AttentionShape attention{32, 8192, 8192, 128, 128, true};
  EXPECT_NEAR(1e6 * h200.attention_forward(attention), 1146, 0.05 * 1146);
  EXPECT_NEAR(1e6 * h200.attention_backward(attention), 3082, 0.05 * 3082);
  attention = {128, 2048, 2048, 128, 128, true};
  EXPECT_NEAR(1e6 * h200.attention_forward(attention), 337, 0.05 * 337);
  EXPECT_NEAR(1e6 * h200.attention_backward(attention), 1015, 0.05 * 1015);
}

// Our own measurements on one H200, in bursts: few heads of long sequences fill the GPU as well as many heads do. Under
// 100 us launches count, which the model does not contain.
TEST_F(GpuRatesTest, AttentionFollowsTheTilesThatFillTheGpu) {
  const Result<std::string> text = read_file(source_dir() + "/bench/calibration/h200_attention.csv");
  ASSERT_TRUE(text.ok());
  const GpuRates h200 = rates("h200-sxm");
  int cases = 0;
  double forward_error = 0;
  double backward_error = 0;
  for (const std::string_view line : split_lines(*text)) {
    double width = 0, heads = 0, queries = 0, keys = 0, causal = 0, forward = 0, backward = 0, rate = 0;
    if (std::sscanf(std::string(line).c_str(), "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &width, &heads, &queries, &keys,
                    &causal, &forward, &rate, &backward) != 8 ||
        causal == 0 || heads > 16 || forward < 100) {
      continue;
    }
    const AttentionShape shape{heads, queries, keys, width, width, true};
    // Between other kernels, as in a step, attention is slower by a measured factor.
    const double expected = 1e6 * h200.attention_forward(shape) / 1.243;
    const double expected_backward = 1e6 * h200.attention_backward(shape) / 1.166;
    EXPECT_NEAR(expected / forward, 1, 0.2) << line;
    EXPECT_NEAR(expected_backward / backward, 1, 0.3) << line;
    forward_error += std::abs(expected / forward - 1);
    backward_error += std::abs(expected_backward / backward - 1);
    ++cases;
  }
  ASSERT_GT(cases, 40);
  EXPECT_LT(forward_error / cases, 0.08);
  EXPECT_LT(backward_error / cases, 0.12);
}

// Attention by kernel, between other products, measured on one H200: one factor per width of the head. Kernels of more
// tokens reach the power limit alone and lose nothing between products, which the model does not contain.
TEST_F(GpuRatesTest, AttentionByKernel) {
  const Result<std::string> text = read_file(source_dir() + "/bench/calibration/h200_attention_kernels.csv");
  ASSERT_TRUE(text.ok());
  const GpuRates h200 = rates("h200-sxm");
  int cases = 0;
  double error = 0;
  for (const std::string_view line : split_lines(*text)) {
    char kernel[32] = {};
    double width = 0, heads = 0, tokens = 0, skipped = 0, forward = 0, backward = 0;
    if (std::sscanf(std::string(line).c_str(), "%31[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", kernel, &width, &heads,
                    &tokens, &skipped, &skipped, &skipped, &skipped, &forward, &backward) != 10 ||
        forward <= 0 || tokens > 16384) {
      continue;
    }
    const std::string name(kernel);
    const bool flash2 = name.starts_with("flash2");
    const AttentionShape shape{heads, tokens, tokens, width, width, true};
    for (const bool back : {false, true}) {
      double us = 1e6 * (back ? h200.attention_backward(shape) : h200.attention_forward(shape));
      if (flash2) us *= h200.flash2_slowdown(shape, back);
      if (name.ends_with("dropout")) us *= h200.dropout_slowdown(shape, flash2, back);
      EXPECT_NEAR(us / (back ? backward : forward), 1, 0.25) << line;
      error += std::abs(us / (back ? backward : forward) - 1);
      ++cases;
    }
  }
  ASSERT_GT(cases, 80);
  EXPECT_LT(error / cases, 0.1);
  const AttentionShape shape{32, 8192, 8192, 128, 128, true};
  EXPECT_EQ(rates("a100-sxm").flash2_slowdown(shape, false), 1) << "Ampere's rates are those of FlashAttention-2";
}

TEST_F(GpuRatesTest, MoreWorkTakesLonger) {
  for (const char* gpu : {"a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    const GpuRates r = rates(gpu);
    double before = 0;
    for (const double m : {64.0, 256.0, 700.0, 1024.0, 3000.0, 8192.0, 16384.0, 40000.0}) {
      const double now = r.product({m, 8192, 8192}, model::Precision::bf16);
      EXPECT_GE(now, before) << gpu << " " << m;
      before = now;
    }
    EXPECT_GT(r.stream(2e9), r.stream(1e9));
    EXPECT_GT(r.optimizer(2e9, 30, false), r.optimizer(1e9, 30, false));
    EXPECT_GT(r.host_copy(2e9), r.host_copy(1e9));
    AttentionShape shape;
    shape.batch_heads = 32;
    shape.key_width = shape.value_width = 128;
    before = 0;
    for (const double length : {512.0, 1024.0, 3000.0, 8192.0, 32768.0}) {
      shape.queries = shape.keys = length;
      EXPECT_GT(r.attention_forward(shape), before) << gpu << " " << length;
      EXPECT_GT(r.attention_backward(shape), r.attention_forward(shape)) << gpu << " " << length;
      before = r.attention_forward(shape);
    }
  }
}

TEST_F(GpuRatesTest, NeverFasterThanThePeak) {
  for (const char* gpu : {"a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    const GpuRates r = rates(gpu);
    for (const double size : {64.0, 128.0, 500.0, 1024.0, 4096.0, 10000.0, 65536.0}) {
      const Product shape{size, size, size};
      EXPECT_GT(r.product(shape, model::Precision::bf16), shape.flops() / r.peak(model::Precision::bf16))
          << gpu << " " << size;
      if (r.has_fp8()) {
        EXPECT_GT(r.product(shape, model::Precision::fp8), shape.flops() / r.peak(model::Precision::fp8))
            << gpu << " " << size;
      }
    }
  }
}

// Large products in FP8 take slightly more than half the time; small ones gain less, because they are not
// compute-bound.
TEST_F(GpuRatesTest, Fp8IsFaster) {
  const GpuRates h100 = rates("h100-sxm");
  const Product large{8192, 8192, 8192};
  const double ratio = h100.product(large, model::Precision::bf16) / h100.product(large, model::Precision::fp8);
  EXPECT_GT(ratio, 1.7);
  EXPECT_LT(ratio, 2.05);
  EXPECT_FALSE(rates("a100-sxm").has_fp8());
}

// Expected largest of n standard normal values (order statistics tables; Harter 1961).
TEST(ExpectedMaximum, KnownValues) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_maximum(10), 1.5388, 0.02);
  EXPECT_NEAR(expected_maximum(100), 2.5076, 0.02);
  EXPECT_NEAR(expected_maximum(1000), 3.2414, 0.02);
}

TEST_F(GpuRatesTest, SlowestOfManyGpus) {
  const GpuRates h100 = rates("h100-sxm");
  const Product shape{8192, 8192, 8192};
  double before = h100.product(shape, model::Precision::bf16);
  EXPECT_EQ(h100.slowest_of(1).product(shape, model::Precision::bf16), before);
  for (const std::int64_t gpus : {8, 64, 1024, 16384}) {
    const double now = h100.slowest_of(gpus).product(shape, model::Precision::bf16);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_LT(before, 1.06 * h100.product(shape, model::Precision::bf16));
}

}  // namespace
}  // namespace weft::workload
