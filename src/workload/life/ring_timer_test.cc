#include "workload/life/ring_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::workload {
namespace {

using netsim::Collective;

WorkloadMachine h100() {
  WorkloadMachine machine;
  machine.node_gpus = 8;
  machine.nvlink = 450e9;
  machine.nic = 50e9;
  return machine;
}

double seconds(SimTime time) { return static_cast<double>(time.count()) * 1e-12; }

constexpr double kNvlink = 450e9 * 20.6 / 25;

TEST(RingTimer, LargeCollectivesAreBandwidthBound) {
  RingTimer timer(h100());
  const Bytes size(1'000'000'000);
  const OpGroup node{"tensor", 8, 8, 1};
  const OpGroup job{"data", 64, 8, 1};
  const OpGroup rail{"data", 8, 1, 8};
  // Simple's base and steps, and the bytes: 2 (n - 1) / n of the buffer over every link.
  EXPECT_NEAR(seconds(timer.collective(Collective::all_reduce, size, node)), 8.4e-6 + 14 * 3.4e-6 + 1.75e9 / kNvlink,
              1e-9);
  // Between servers all eight NICs carry the ring, 400 GB/s, which is more than NVLink's rate.
  EXPECT_NEAR(seconds(timer.collective(Collective::all_reduce, size, job)),
              8.4e-6 + 112 * 3.4e-6 + 14 * 14e-6 + 126.0 / 64 * 1e9 / kNvlink, 1e-9);
  EXPECT_NEAR(seconds(timer.collective(Collective::all_gather, size, rail)), 8.4e-6 + 7 * 14e-6 + 0.875e9 / 50e9, 1e-9);
  EXPECT_NEAR(seconds(timer.collective(Collective::reduce_scatter, size, rail)), 8.4e-6 + 7 * 14e-6 + 0.875e9 / 50e9,
              1e-9);
  // 56 of 64 parts go through the NIC of each GPU, 7 over NVLink in parallel.
  EXPECT_NEAR(seconds(timer.collective(Collective::all_to_all, size, job)), 8.4e-6 + 14e-6 + 0.875e9 / 50e9, 1e-9);
  EXPECT_NEAR(seconds(timer.collective(Collective::all_to_all, size, node)), 8.4e-6 + 3.4e-6 + 0.875e9 / kNvlink, 1e-9);
  EXPECT_NEAR(seconds(timer.collective(Collective::broadcast, size, rail)), 8.4e-6 + 7 * 14e-6 + 1e9 / 50e9, 1e-9);
}

TEST(RingTimer, SmallCollectivesAreLatencyBound) {
  RingTimer timer(h100());
  EXPECT_NEAR(seconds(timer.collective(Collective::all_reduce, Bytes(4), {"tensor", 8, 8, 1})), 6.6e-6 + 14 * 0.6e-6,
              1e-9);
  EXPECT_NEAR(seconds(timer.message(Bytes(4), {"pipeline", 2, 1, 8})), 6.6e-6 + 2.7e-6, 1e-9);
  EXPECT_NEAR(seconds(timer.message(Bytes(1'000'000'000), {"pipeline", 2, 2, 1})), 8.4e-6 + 3.4e-6 + 1e9 / kNvlink,
              1e-9);
  EXPECT_EQ(timer.collective(Collective::all_reduce, Bytes(4), {"tensor", 1, 1, 1}), SimTime(0));
}

// Eight H100 of an HGX server, ring all-reduce of 2 GiB: about 10.1 ms on hardware, read from the plot on ASTRA-sim's
// validation page.
TEST(RingTimer, AgreesWithAMeasurement) {
  RingTimer timer(h100());
  EXPECT_NEAR(seconds(timer.collective(Collective::all_reduce, Bytes(std::int64_t{2} << 30), {"all", 8, 8, 1})),
              10.1e-3, 0.3e-3);
}

TEST(RingTimer, WithoutNvlinkAllTrafficUsesTheNics) {
  WorkloadMachine machine = h100();
  machine.nvlink = 0;
  machine.node_gpus = 1;
  RingTimer timer(machine);
  EXPECT_NEAR(seconds(timer.collective(Collective::all_gather, Bytes(1'000'000'000), {"t", 2, 1, 1})),
              8.4e-6 + 14e-6 + 0.5e9 / 50e9, 1e-9);
  EXPECT_NEAR(seconds(timer.message(Bytes(1'000'000'000), {"p", 2, 2, 1})), 8.4e-6 + 14e-6 + 1e9 / 50e9, 1e-9);
}

std::unique_ptr<model::Loaded> cluster_of(const std::string& name) {
  return model::load_cluster(source_dir() + "/examples/" + name, {});
}

TEST(WorkloadMachine, ReadsAnExampleCluster) {
  const std::unique_ptr<model::Loaded> loaded = cluster_of("pod32.yaml");
  ASSERT_NE(loaded->cluster, nullptr);
  const Result<WorkloadMachine> machine = workload_machine(*loaded->cluster);
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->gpu, "h100-sxm");
  EXPECT_EQ(machine->gpus, 256U);
  EXPECT_EQ(machine->node_gpus, 8U);
  // NVIDIA's H100 datasheet: 900 GB/s in both directions together, 989.4 TFLOP/s dense bf16, 3.35 TB/s; PCIe 5.0 x16.
  EXPECT_EQ(machine->nvlink, 450e9);
  EXPECT_EQ(machine->nic, 50e9);
  EXPECT_NEAR(machine->flops, 989e12, 1e12);
  EXPECT_NEAR(machine->memory, 3.35e12, 0.01e12);
  EXPECT_NEAR(machine->host_link, 63.0e9, 0.1e9);
  EXPECT_GT(make_communication_timer(*machine)->message(Bytes(1), {"p", 2, 1, 1}), SimTime(0));
}

}  // namespace
}  // namespace weft::workload
