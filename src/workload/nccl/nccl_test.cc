#include "workload/nccl/nccl.h"

#include <gtest/gtest.h>

#include "workload/nccl/model.h"

namespace weft::workload {
namespace {

using netsim::Collective;

NcclMachine h100() {
  NcclMachine m;
  m.architecture = "hopper";
  m.nvlink = model::ByteRate{gigabytes(450)};
  m.nic = gigabits(400);
  m.infiniband = true;
  m.pcie = gigabits(512);
  return m;
}
NcclMachine a100() {
  NcclMachine m = h100();
  m.architecture = "ampere";
  m.nvlink = model::ByteRate{gigabytes(300)};
  m.multicast = false;
  m.nic = gigabits(200);
  m.pcie = gigabits(256);
  return m;
}
constexpr Bytes mebibytes(std::int64_t n) { return Bytes(n * 1024 * 1024); }

// nccl-tests issue 309: 8 B to 1 MiB ring LL, 2 MiB to 16 GiB NVLS Simple on 8 x H100; ml-engineering the same on H200,
// and a ring on 4 GPUs, NVLS on 5 and more.
TEST(NcclChoose, ChoosesAsNcclLogsShow) {
  for (std::int64_t bytes = 8; bytes <= 16LL << 30; bytes *= 2) {
    const NcclChoice choice = nccl_choose(h100(), Collective::all_reduce, Bytes(bytes), {8, 8});
    if (bytes <= 1 << 20) {
      EXPECT_EQ(choice.algorithm, NcclAlgorithm::ring) << bytes;
      EXPECT_EQ(choice.protocol, NcclProtocol::ll) << bytes;
    } else {
      EXPECT_EQ(choice.algorithm, NcclAlgorithm::nvls) << bytes;
      EXPECT_EQ(choice.protocol, NcclProtocol::simple) << bytes;
      EXPECT_EQ(choice.channels, 16U);
    }
  }
  for (std::uint32_t gpus = 2; gpus <= 8; ++gpus) {
    EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, mebibytes(8192), {gpus, gpus}).algorithm,
              gpus > 4 ? NcclAlgorithm::nvls : NcclAlgorithm::ring);
  }
  EXPECT_EQ(nccl_choose(h100(), Collective::all_gather, mebibytes(8192), {8, 8}).algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(nccl_choose(h100(), Collective::all_gather, mebibytes(8192), {8, 8}).channels, 24U);
  EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, mebibytes(1024), {16, 8}).algorithm, NcclAlgorithm::nvls_tree);
  EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, mebibytes(16384), {32, 8}).algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, Bytes(8), {256, 8}).algorithm, NcclAlgorithm::tree);
  EXPECT_EQ(nccl_choose(a100(), Collective::all_reduce, mebibytes(8192), {8, 8}).algorithm, NcclAlgorithm::ring);
}

// The values of NCCL's src/graph/tuning.cc, computed by hand.
TEST(NcclTuner, LatenciesFollowTheFormulas) {
  const NcclMachine machine = h100();
  const NcclCase one = nccl_case(machine, Collective::all_reduce, Bytes(8), {8, 8});
  EXPECT_DOUBLE_EQ(tuner_latency(one, NcclAlgorithm::ring, NcclProtocol::ll), 6.6 + 14 * 0.6);
  EXPECT_DOUBLE_EQ(tuner_latency(one, NcclAlgorithm::tree, NcclProtocol::simple), 8.4 + 2 * 7 * 4.0);
  EXPECT_DOUBLE_EQ(tuner_latency(one, NcclAlgorithm::nvls, NcclProtocol::simple), 25);
  const NcclCase many = nccl_case(machine, Collective::all_reduce, Bytes(8), {64, 8});
  EXPECT_DOUBLE_EQ(tuner_latency(many, NcclAlgorithm::ring, NcclProtocol::ll), 6.6 + (126 - 14) * 1.0 + 14 * 2.7);
  EXPECT_DOUBLE_EQ(tuner_latency(many, NcclAlgorithm::tree, NcclProtocol::ll), 6.8 + 2 * (7 * 0.6 + 3 * 5));
  EXPECT_DOUBLE_EQ(tuner_latency(many, NcclAlgorithm::nvls_tree, NcclProtocol::simple), 25 + 2 * 3 * 20.9);
  // 12 channels of 30 GB/s in a node, 8 of 48 between; NVLS 8 heads of 40 GB/s, 0.85, 7/8, twice.
  EXPECT_DOUBLE_EQ(tuner_rate(one, NcclAlgorithm::ring, NcclProtocol::simple), 360e3 * 8 / 14);
  EXPECT_DOUBLE_EQ(tuner_rate(many, NcclAlgorithm::ring, NcclProtocol::simple), 384e3 * 64 / 126);
  EXPECT_NEAR(tuner_rate(one, NcclAlgorithm::nvls, NcclProtocol::simple), 320e3 * 0.85 * 7 / 8 * 2 * 8 / 14, 1e-6);
}

TEST(NcclChoose, LimitsAreAppliedIfPossible) {
  const NcclMachine machine = h100();
  const NcclGroup group{16, 8};
  const NcclChoice ring =
      nccl_choose(machine, Collective::all_reduce, mebibytes(64), group, {NcclAlgorithm::ring, NcclProtocol::ll128});
  EXPECT_EQ(ring.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(ring.protocol, NcclProtocol::ll128);
  // NVLS tree has no LL: the protocol is dropped. There is no tree all-gather: the algorithm is dropped.
  const NcclChoice nvls =
      nccl_choose(machine, Collective::all_reduce, mebibytes(64), group, {NcclAlgorithm::nvls_tree, NcclProtocol::ll});
  EXPECT_EQ(nvls.algorithm, NcclAlgorithm::nvls_tree);
  EXPECT_EQ(nvls.protocol, NcclProtocol::simple);
  const NcclChoice gather =
      nccl_choose(machine, Collective::all_gather, mebibytes(64), group, {NcclAlgorithm::tree, NcclProtocol::ll});
  EXPECT_EQ(gather.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(gather.protocol, NcclProtocol::ll);
}

TEST(NcclChoose, CountsBytesPerGpu) {
  const std::int64_t size = 1 << 30;
  const NcclChoice ring =
      nccl_choose(a100(), Collective::all_reduce, Bytes(size), {32, 8}, {NcclAlgorithm::ring, NcclProtocol::simple});
  EXPECT_EQ(ring.nic_bytes.count(), size * 2 * 31 / 32 / 8);
  EXPECT_EQ((ring.nic_bytes + ring.nvlink_bytes).count(), size * 2 * 31 / 32);
  const NcclChoice nvls = nccl_choose(h100(), Collective::all_reduce, Bytes(size), {8, 8});
  EXPECT_EQ(nvls.nvlink_bytes.count(), size / 8 * 9);
  EXPECT_EQ(nvls.nic_bytes.count(), 0);
  const NcclChoice pairs = nccl_choose(h100(), Collective::all_to_all, Bytes(size), {32, 8});
  EXPECT_EQ(pairs.algorithm, NcclAlgorithm::pairs);
  EXPECT_EQ(pairs.nic_bytes.count(), size / 32 * 24);
}

TEST(NcclChoose, GrowsWithSizeAndNodes) {
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                     Collective::broadcast, Collective::all_to_all, Collective::send_recv}) {
    for (std::uint32_t nodes = 1; nodes <= 1024; nodes *= 4) {
      const NcclChoice small = nccl_choose(h100(), operation, mebibytes(1), {8 * nodes, 8});
      const NcclChoice large = nccl_choose(h100(), operation, mebibytes(4096), {8 * nodes, 8});
      EXPECT_GT(small.latency, SimTime(0));
      EXPECT_LE(small.latency, small.time);
      EXPECT_GT(large.time, small.time);
      EXPECT_GT(large.bus_bandwidth, small.bus_bandwidth);
      const double most = nodes == 1 ? 490e9 : (operation == Collective::all_reduce ? 480e9 : 410e9);
      EXPECT_LT(large.bus_bandwidth, most) << netsim::to_text(operation) << " " << nodes;
    }
  }
}

TEST(NcclChoose, OneGpuPerNode) {
  const NcclChoice pat = nccl_choose(h100(), Collective::all_gather, mebibytes(1), {64, 1});
  EXPECT_EQ(pat.algorithm, NcclAlgorithm::pat);
  EXPECT_EQ(pat.nvlink_bytes.count(), 0);
  const NcclChoice reduce = nccl_choose(h100(), Collective::all_reduce, mebibytes(4096), {64, 1});
  EXPECT_LT(reduce.bus_bandwidth, 50e9);
  EXPECT_GT(reduce.bus_bandwidth, 20e9);
}

TEST(NcclChoose, HandlesUnusualInputs) {
  EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, mebibytes(1), {1, 8}).time, SimTime(0));
  EXPECT_EQ(nccl_choose(h100(), Collective::all_reduce, mebibytes(1), {0, 0}).time, SimTime(0));
  EXPECT_GT(nccl_choose(h100(), Collective::all_reduce, Bytes(0), {8, 8}).time, SimTime(0));
  EXPECT_GT(nccl_choose(h100(), Collective::all_reduce, Bytes(1), {20, 8}).time, SimTime(0));
  NcclMachine bare;
  bare.pcie = gigabits(256);
  bare.nic = gigabits(100);
  const NcclChoice pcie = nccl_choose(bare, Collective::all_reduce, mebibytes(1024), {8, 8});
  EXPECT_LT(pcie.bus_bandwidth, 32e9);
  EXPECT_GT(pcie.bus_bandwidth, 16e9);
  EXPECT_NE(pcie.protocol, NcclProtocol::ll128);
}

// nccl-tests issue 309, NCCL 2.26: on 4 servers times jump from 82 us at 1 MiB to 132 us at 2 MiB and then grow by 11
// us per MiB, as NVLS trees do. Since 2.28.9 NCCL assumes a longer latency for them and changes over later.
TEST(NcclChoice, DependsOnTheVersion) {
  NcclMachine machine;
  machine.architecture = "hopper";
  machine.nvlink.per_second = Bytes(450'000'000'000);
  machine.nic = gigabits(400);
  machine.pcie = gigabits(512);
  machine.infiniband = true;
  const auto algorithm = [&](std::uint32_t version, std::int64_t mib) {
    machine.version = version;
    return nccl_choose(machine, netsim::Collective::all_reduce, Bytes(mib << 20), {32, 8}).algorithm;
  };
  EXPECT_EQ(algorithm(22'600, 1), NcclAlgorithm::tree);
  EXPECT_EQ(algorithm(22'600, 2), NcclAlgorithm::nvls_tree);
  EXPECT_EQ(algorithm(22'809, 2), NcclAlgorithm::tree);
  EXPECT_EQ(algorithm(22'809, 64), NcclAlgorithm::nvls_tree);
}

}  // namespace
}  // namespace weft::workload
