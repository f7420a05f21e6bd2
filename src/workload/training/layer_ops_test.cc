#include "workload/training/layer_ops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "workload/nccl/published_collectives.h"
#include "workload/training/published_steps.h"

namespace weft::workload {
namespace {

// Kernel times of an H100; every call takes a fixed time per byte, so sizes can be derived.
class FlatTimer : public CommunicationTimer {
 public:
  [[nodiscard]] SimTime collective(netsim::Collective /*operation*/, Bytes bytes, const OpGroup& /*group*/) override {
    return SimTime(bytes.count() * 3);
  }
  [[nodiscard]] SimTime message(Bytes bytes, const OpGroup& /*group*/) override { return SimTime(bytes.count() * 20); }
};

class LayerOpsTest : public ::testing::Test {
 protected:
  LayerOpsTest() : rates_(GpuRates::of(PublishedMachine("h100-sxm").gpu()).value()) {}

  PieceTimes forward(const TrainingPlan& plan, std::int64_t dense, std::int64_t mixture) {
    return PieceMaker{plan, rates_, timer_}.forward({dense, mixture, false, false});
  }
  PieceTimes backward(const TrainingPlan& plan, std::int64_t dense, std::int64_t mixture) {
    return PieceMaker{plan, rates_, timer_}.backward({dense, mixture, false, false});
  }
  static TrainingPlan plan_of(const char* model, std::int64_t tensor) {
    TrainingPlan plan;
    plan.shape = *find_model(model);
    plan.gpus = plan.tensor = tensor;
    plan.sequence = 4096;
    plan.sequence_parallel = tensor > 1;
    plan.fp32_gradients = true;
    return plan;
  }
  static const PieceCommunication* call(const PieceTimes& times, std::string_view what) {
    const auto found = std::find_if(times.communication.begin(), times.communication.end(),
                                    [&](const PieceCommunication& one) { return one.what == what; });
    return found == times.communication.end() ? nullptr : &*found;
  }

  GpuRates rates_;
  FlatTimer timer_;
};

// Kernels of a few microseconds: the host limits, as measured with a tiny model (h200_host.csv), unless they are
// launched as graphs.
TEST_F(LayerOpsTest, TheHostLimitsSmallKernels) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  const PieceTimes large = forward(plan, 8, 0);
  EXPECT_LT(static_cast<double>(large.launches) * 15e6, static_cast<double>(large.total.count()));
  plan.cuda_graphs = true;
  EXPECT_EQ(forward(plan, 8, 0).total, large.total);
  plan.cuda_graphs = false;
  plan.sequence = 16;
  plan.shape.hidden = 512;
  plan.shape.ffn = 1024;
  plan.framework = model::Framework::compiled;
  const PieceTimes small = forward(plan, 8, 0);
  EXPECT_EQ(small.total.count(), static_cast<std::int64_t>(small.launches) * 15'000'000);
  plan.framework = model::Framework::megatron;
  EXPECT_EQ((forward(plan, 8, 0).total - small.total).count(), 8 * 4 * 21'000'000) << "four products per layer";
  plan.framework = model::Framework::compiled;
  EXPECT_GT(small.launches, 8 * 8U);
  EXPECT_LT(small.launches, 8 * 27U) << "eager PyTorch launches 27 per layer";
  plan.cuda_graphs = true;
  EXPECT_LT(forward(plan, 8, 0).total, small.total);
}

// Blackwell multiplies FP8 in any layout and accumulates in full: no transposed copies, and gradients at the full rate.
TEST_F(LayerOpsTest, Fp8GradientsOfBlackwellNeedNoTransposes) {
  TrainingPlan plan = plan_of("llama-3.1-70b", 4);
  plan.precision = model::Precision::fp8;
  const auto transposes = [&](const char* gpu) {
    const GpuRates rates = GpuRates::of(PublishedMachine(gpu).gpu()).value();
    const PieceTimes times = PieceMaker{plan, rates, timer_}.backward({2, 0, false, false});
    return std::count(times.names.begin(), times.names.end(), "transpose FP8");
  };
  EXPECT_EQ(transposes("h100-sxm"), 1);
  EXPECT_EQ(transposes("b200-sxm"), 0);
}

// 2 operations per weight and token plus causal attention forward; twice that and 2.5 times attention backward.
TEST_F(LayerOpsTest, FlopsOfALayer) {
  for (const std::int64_t tensor : {1, 4}) {
    const TrainingPlan plan = plan_of("llama-3.1-8b", tensor);
    const LayerParameters weights = layer_parameters(plan.shape, false);
    const double split = static_cast<double>(tensor);
    const double products = 2 * 4096 * (weights.attention + weights.dense) / split;
    const double attention = 2.0 * 32 * 4096 * 4096 * 256 * 0.5 / split;
    EXPECT_NEAR(forward(plan, 3, 0).flops, 3 * (products + attention), 1e-6 * products);
    EXPECT_NEAR(backward(plan, 3, 0).flops, 3 * (2 * products + 2.5 * attention), 1e-6 * products);
  }
}

// With sequence parallelism a layer gathers and scatters twice in each direction, and gathers its inputs once more
// backward (Korthikanti et al., arXiv 2205.05198, section 4.2.2); buffers are tokens x width x 2 bytes.
TEST_F(LayerOpsTest, TensorCallsOfALayer) {
  const TrainingPlan plan = plan_of("llama-3.1-8b", 4);
  const PieceTimes there = forward(plan, 5, 0);
  ASSERT_NE(call(there, "tensor all-gather"), nullptr);
  EXPECT_EQ(call(there, "tensor all-gather")->calls, 10U);
  EXPECT_EQ(call(there, "tensor all-gather")->bytes, Bytes(4096 * 4096 * 2));
  EXPECT_EQ(call(there, "tensor reduce-scatter")->calls, 10U);
  const PieceTimes back = backward(plan, 5, 0);
  EXPECT_EQ(call(back, "tensor all-gather")->calls, 20U);
  EXPECT_EQ(call(back, "tensor reduce-scatter")->calls, 10U);
  EXPECT_EQ(forward(plan_of("llama-3.1-8b", 1), 5, 0).communication.size(), 0U);
}

// Inputs of products are gathered in their precision; sums are not.
TEST_F(LayerOpsTest, Fp8GathersHalfOfTheBytes) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 4);
  plan.precision = model::Precision::fp8;
  const PieceTimes times = forward(plan, 1, 0);
  EXPECT_EQ(call(times, "tensor all-gather")->bytes, Bytes(4096 * 4096));
  EXPECT_EQ(call(times, "tensor reduce-scatter")->bytes, Bytes(4096 * 4096 * 2));
  EXPECT_LT(times.total, forward(plan_of("llama-3.1-8b", 4), 1, 0).total);
}

// Tokens go to two of eight experts over the expert group; experts that are split over a tensor group also gather them.
TEST_F(LayerOpsTest, CallsOfAMixture) {
  TrainingPlan plan = plan_of("mixtral-8x7b", 1);
  plan.gpus = plan.data = plan.expert = 8;
  const PieceTimes spread = forward(plan, 0, 1);
  ASSERT_NE(call(spread, "expert dispatch"), nullptr);
  EXPECT_EQ(call(spread, "expert dispatch")->bytes, Bytes(std::int64_t{4096} * 2 * 4096 * 2));
  EXPECT_EQ(call(spread, "expert all-gather"), nullptr);
  plan.tensor = 4;
  plan.data = 2;
  plan.expert = 2;
  plan.expert_tensor = 4;
  plan.sequence_parallel = true;
  const PieceTimes split = forward(plan, 0, 1);
  ASSERT_NE(call(split, "expert all-gather"), nullptr);
  EXPECT_EQ(call(split, "expert all-gather")->group.ranks, 4U);
  EXPECT_EQ(call(split, "expert all-gather")->bytes, Bytes(std::int64_t{4096} * 2 * 4096 * 2));
  EXPECT_EQ(call(split, "expert dispatch")->bytes, Bytes(std::int64_t{4096} / 4 * 2 * 4096 * 2));
  EXPECT_NE(call(split, "expert reduce-scatter"), nullptr);
}

// Overlapped exchanges of tokens: no kernel waits for them where they are shorter than the kernels, which slow down by
// at most kOverlapSlowdown; where they are longer, they set the time.
TEST_F(LayerOpsTest, OverlappedExchanges) {
  TrainingPlan plan = plan_of("mixtral-8x7b", 1);
  plan.gpus = plan.data = plan.expert = 8;
  plan.micro_batches = 4;
  const PieceTimes waiting = forward(plan, 0, 4);
  ASSERT_GT(waiting.exposed[stream_expert], SimTime(0));
  plan.overlap_expert = true;
  const PieceTimes overlapped = forward(plan, 0, 4);
  EXPECT_LT(overlapped.total, waiting.total);
  EXPECT_GE(overlapped.total, waiting.compute);
  EXPECT_LE(static_cast<double>(overlapped.compute.count()),
            (1 + kOverlapSlowdown) * static_cast<double>(waiting.compute.count()) + 100);
  EXPECT_EQ(call(overlapped, "expert dispatch")->calls, call(waiting, "expert dispatch")->calls);
  TrainingPlan plain = plan;
  plain.overlap_expert = false;
  EXPECT_LT(backward(plan, 0, 4).total, backward(plain, 0, 4).total);
  plan.micro_batches = 1;  // no other micro-batch to overlap with
  EXPECT_EQ(forward(plan, 0, 4).total, waiting.total);
}

// DeepEP README, "Normal kernels with NVLink and RDMA forwarding": H800 with 400 Gb/s NICs, 4,096 tokens of 7,168,
// top-4 groups, top-8 of 256 experts, FP8 dispatch and bf16 combine; GB/s of the slower medium, tokens that stay
// included.
TEST_F(LayerOpsTest, DeepEpAsPublished) {
  struct Row {
    std::int64_t gpus;
    double dispatch;
    double combine;
  };
  NcclTimer timer(published_collectives::server("hopper", 200, 400, true));
  for (const Row& row : {Row{8, 153, 158}, Row{16, 43, 43}, Row{32, 58, 57}, Row{64, 51, 50}}) {
    TrainingPlan plan = plan_of("deepseek-v3", 1);
    plan.gpus = plan.data = plan.expert = row.gpus;
    plan.dispatch = model::Dispatch::deepep;
    plan.fp8_dispatch = true;
    plan.token_servers = 4;
    const PieceTimes times = PieceMaker{plan, rates_, timer}.forward({0, 1, false, false});
    for (const auto& [what, published] :
         {std::pair("expert dispatch", row.dispatch), {"expert combine", row.combine}}) {
      const PieceCommunication* one = call(times, what);
      ASSERT_NE(one, nullptr);
      const PieceCommunication* forwarded = call(times, std::string(what) + ", NVLink");
      const SimTime longest = forwarded == nullptr ? one->time : std::max(one->time, forwarded->time);
      const double rate = static_cast<double>(one->bytes.count()) / static_cast<double>(longest.count()) * 1e3;
      EXPECT_NEAR(rate / published, 1, 0.2) << row.gpus << " GPUs, " << what << " " << rate << " GB/s";
    }
  }
}

// A token with 2 of 8 experts on 8 GPUs of 2 servers: both in the other server, or both here, with probability
// 4/8 x 3/7 each; so it goes to 2 - 2 x 3/14 = 11/7 servers, and to 2 GPUs. Half of what goes to servers stays.
TEST_F(LayerOpsTest, DeepEpSendsATokenOncePerServer) {
  TrainingPlan plan = plan_of("mixtral-8x7b", 1);
  plan.gpus = plan.data = plan.expert = 8;
  plan.node_gpus = 4;
  plan.dispatch = plan.usual_dispatch();
  ASSERT_EQ(plan.dispatch, model::Dispatch::deepep);
  const double token = 4096.0 * 4096 * 2;
  const PieceTimes times = forward(plan, 0, 1);
  EXPECT_NEAR(static_cast<double>(call(times, "expert dispatch")->bytes.count()), token * 11 / 7, 1);
  EXPECT_EQ(call(times, "expert dispatch")->group.ranks, 2U);
  EXPECT_EQ(call(times, "expert dispatch")->group.stride, 4U);
  EXPECT_NEAR(static_cast<double>(call(times, "expert dispatch, NVLink")->bytes.count()), token * 2, 1);
  EXPECT_EQ(call(times, "expert dispatch, NVLink")->group.ranks, 4U);
  plan.token_servers = 1;
  EXPECT_NEAR(static_cast<double>(call(forward(plan, 0, 1), "expert dispatch")->bytes.count()), token, 1);
  plan.fp8_dispatch = true;
  const PieceTimes fp8 = forward(plan, 0, 1);
  EXPECT_NEAR(static_cast<double>(call(fp8, "expert dispatch")->bytes.count()), token / 2, 1);
  EXPECT_NEAR(static_cast<double>(call(fp8, "expert combine")->bytes.count()), token, 1);
}

// One expert per GPU, loads with a standard deviation of 10 %: the largest of 8 normal values is 1.42 deviations above
// the mean (Harter, Biometrika 48, 1961), which exchange and experts feel.
TEST_F(LayerOpsTest, TheBusiestExpertSetsTheTime) {
  TrainingPlan plan = plan_of("mixtral-8x7b", 1);
  plan.gpus = plan.data = plan.expert = 8;
  const PieceTimes even = forward(plan, 0, 1);
  plan.imbalance = 0.1;
  const PieceTimes uneven = forward(plan, 0, 1);
  const auto bytes = [&](const PieceTimes& times) {
    return static_cast<double>(call(times, "expert dispatch")->bytes.count());
  };
  EXPECT_NEAR(bytes(uneven) / bytes(even), 1.142, 0.003);
  EXPECT_GT(uneven.compute, even.compute);
  EXPECT_NEAR(uneven.flops / even.flops, 1.1, 0.05);
}

// Hybrid sharding: weights are gathered in one server, each GPU's eighth of the gradients is added up over 4 servers.
TEST_F(LayerOpsTest, HybridSharding) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  plan.gpus = plan.data = 32;
  plan.sharding = model::Sharding::parameters;
  plan.overlap_data = true;
  const PieceTimes wide = backward(plan, 4, 0);
  EXPECT_EQ(call(wide, "parameter all-gather")->group.ranks, 32U);
  EXPECT_EQ(call(wide, "gradient all-reduce of replicas"), nullptr);
  plan.replicate = 4;
  const PieceTimes hybrid = backward(plan, 4, 0);
  EXPECT_EQ(call(hybrid, "parameter all-gather")->group.ranks, 8U);
  EXPECT_EQ(call(hybrid, "parameter all-gather")->group.node_ranks, 8U);
  const PieceCommunication* replicas = call(hybrid, "gradient all-reduce of replicas");
  ASSERT_NE(replicas, nullptr);
  EXPECT_EQ(replicas->group.ranks, 4U);
  EXPECT_EQ(replicas->group.stride, 8U);
  EXPECT_EQ(replicas->bytes.count(), call(hybrid, "gradient reduce-scatter")->bytes.count() / 8);
}

// Parameters that stay gathered are not gathered for the backward pass; in FP8 half as many bytes move; without
// prefetching every gather is waited for.
TEST_F(LayerOpsTest, GathersOfShardedParameters) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  plan.gpus = plan.data = 8;
  plan.sharding = model::Sharding::parameters;
  plan.overlap_data = true;
  const PieceTimes usual = forward(plan, 8, 0);
  TrainingPlan kept = plan;
  kept.reshard = false;
  EXPECT_EQ(call(forward(kept, 8, 0), "parameter all-gather")->calls, 8U);
  EXPECT_EQ(call(backward(kept, 8, 0), "parameter all-gather"), nullptr);
  TrainingPlan late = plan;
  late.prefetch = 0;
  EXPECT_GT(forward(late, 8, 0).exposed[stream_data], usual.exposed[stream_data]);
  TrainingPlan early = plan;
  early.prefetch = 3;
  EXPECT_LE(forward(early, 8, 0).total, usual.total);
  TrainingPlan fp8 = plan;
  fp8.precision = model::Precision::fp8;
  fp8.fp8_gather = true;
  EXPECT_EQ(call(forward(fp8, 8, 0), "parameter all-gather")->bytes.count() * 2,
            call(usual, "parameter all-gather")->bytes.count());
}

// Layers that take longer than a gather and a scatter hide all but the first gather and the last scatter.
TEST_F(LayerOpsTest, LongLayersHideGathersAndScatters) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  plan.gpus = plan.data = 8;
  plan.micro_batch = 4;
  plan.sharding = model::Sharding::parameters;
  plan.overlap_data = true;
  const PieceTimes times = backward(plan, 8, 0);
  const SimTime gather = call(times, "parameter all-gather")->time;
  const SimTime scatter = call(times, "gradient reduce-scatter")->time;
  EXPECT_GT(times.compute / 8, gather + scatter);
  EXPECT_EQ(times.exposed[stream_data], gather + scatter);
  EXPECT_EQ(times.total, times.compute + gather + scatter);
}

// In PyTorch, tensor-parallel collectives of the backward pass wait for their products and the other way around, and
// selective recomputation gathers again.
TEST_F(LayerOpsTest, TensorCollectivesOfPyTorchAreExposed) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 8);
  plan.framework = model::Framework::compiled;
  const PieceTimes times = backward(plan, 4, 0);
  const PieceCommunication* gathers = call(times, "tensor all-gather");
  const PieceCommunication* scatters = call(times, "tensor reduce-scatter");
  EXPECT_EQ(gathers->calls, 2 * 4U);
  EXPECT_EQ(scatters->calls, 2 * 4U);
  EXPECT_EQ(times.exposed[stream_tensor], gathers->time * 8 + scatters->time * 8);
  plan.recompute = model::Recompute::selective;
  EXPECT_EQ(call(backward(plan, 4, 0), "tensor all-gather")->calls, 4 * 4U);
}

// A gated layer without fused kernels, a layer with FP8 in PyTorch and attention with dropout: what is added is what
// the comments of layer_ops.cc count.
TEST_F(LayerOpsTest, KernelsThatAreNotFused) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  plan.framework = model::Framework::compiled;
  plan.attention = model::AttentionKernel::cudnn;
  const auto seconds = [&](const TrainingPlan& changed) {
    return static_cast<double>(forward(changed, 1, 0).compute.count()) / 1e12;
  };
  const double tokens = 4096;
  const double compiled = seconds(plan);
  TrainingPlan eager = plan;
  eager.framework = model::Framework::eager;
  // Two norms of 36 instead of 4 bytes, 14 more kernels; rotary 8 passes instead of 2; residuals 3 instead of 2; SwiGLU
  // 5 instead of 3.
  const double more = tokens * (4096 * 2 * 32 + (32 + 8) * 128 * 12 + 4096 * 2 * 2 + 14336 * 4);
  EXPECT_NEAR(seconds(eager) - compiled, rates_.stream(more) - rates_.stream(0) + 14 * rates_.stream(0), 2e-6);
  TrainingPlan dropout = plan;
  dropout.dropout = true;
  const AttentionShape shape{32, 4096, 4096, 128, 128, true};
  EXPECT_NEAR(seconds(dropout) - compiled,
              rates_.attention_forward(shape) * 0.97 + rates_.stream(tokens * 4096 * 2) - rates_.stream(0), 2e-6);
  TrainingPlan flash2 = plan;
  flash2.attention = model::AttentionKernel::flash2;
  EXPECT_NEAR(seconds(flash2) - compiled, rates_.attention_forward(shape) * 0.77, 2e-6);
  flash2.attention.reset();
  EXPECT_NEAR(seconds(flash2) - compiled, rates_.attention_forward(shape) * 0.77, 2e-6) << "PyTorch's default";
  flash2.framework = model::Framework::jax;
  EXPECT_EQ(seconds(flash2), compiled);
}

// Overlapped weight gathers slow the layers by at most kOverlapSlowdown, and less if there is less to gather.
TEST_F(LayerOpsTest, ShardedWeightsSlowOverlappedLayers) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  const SimTime alone = forward(plan, 8, 0).compute;
  plan.gpus = plan.data = 8;
  plan.sharding = model::Sharding::parameters;
  plan.overlap_data = true;
  const double one = static_cast<double>(forward(plan, 8, 0).compute.count()) / static_cast<double>(alone.count());
  EXPECT_GT(one, 1);
  EXPECT_LE(one, 1 + kOverlapSlowdown);
  TrainingPlan more = plan;
  more.micro_batch = 4;
  TrainingPlan more_alone = plan_of("llama-3.1-8b", 1);
  more_alone.micro_batch = 4;
  const double four = static_cast<double>(forward(more, 8, 0).compute.count()) /
                      static_cast<double>(forward(more_alone, 8, 0).compute.count());
  EXPECT_LT(four, one);
}

// Selective recomputation in PyTorch: of the 7 products of a Llama layer, wk, wo and w3 run again, with
// (1,024 + 4,096 + 14,336) of 53,248 columns; attention does not.
TEST_F(LayerOpsTest, SelectiveRecomputationOfOperations) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  plan.framework = model::Framework::compiled;
  const double without = backward(plan, 1, 0).flops;
  plan.recompute = model::Recompute::selective;
  const double more = backward(plan, 1, 0).flops - without;
  EXPECT_NEAR(more, 2.0 * plan.tokens() * 4096 * (1024 + 4096 + 14336), 1e-6 * more);
}

// Full recomputation repeats the forward pass, kernel for kernel.
TEST_F(LayerOpsTest, FullRecomputation) {
  TrainingPlan plan = plan_of("llama-3.1-8b", 1);
  const SimTime there = forward(plan, 2, 0).compute;
  EXPECT_EQ(backward(plan, 2, 0).recompute, SimTime(0));
  plan.recompute = model::Recompute::full;
  EXPECT_EQ(backward(plan, 2, 0).recompute, there);
}

}  // namespace
}  // namespace weft::workload
