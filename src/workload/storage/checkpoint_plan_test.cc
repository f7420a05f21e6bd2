#include <gtest/gtest.h>

#include "workload/storage/fixture.h"
#include "workload/storage/io.h"

namespace weft::workload {
namespace {

const StorageOptions kAnalytic{netsim::Fidelity::analytic, 1, false, nullptr};

CheckpointPlan plan_or_fail(const Lab& lab, Bytes size, std::uint64_t writers, const ReadPlan& reads = {},
                            const StorageOptions& options = kAnalytic) {
  const Bytes largest(size.count() / static_cast<std::int64_t>(writers));
  const auto plan = plan_checkpoint(lab.cluster(), *lab.job, lab.hosts, size, largest, writers, reads, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().text());
  return plan.ok() ? *plan : CheckpointPlan();
}

double rate(const CheckpointPlan& plan) { return static_cast<double>(plan.available.per_second.count()); }
double seconds(SimTime time) { return static_cast<double>(time.count()) / 1e12; }

// MLPerf Storage's 70B checkpoint: 912 GB of 64 ranks. Each process serializes 1.4 GB/s, 64 of them 89.6 GB/s; drives
// write 160 GB/s.
TEST(CheckpointPlan, SerializationIsTheBottleneck) {
  const Lab lab = make_lab(LabOptions{}, "  checkpoint: {}\n");
  const CheckpointPlan plan = plan_or_fail(lab, gigabytes(912), 64);
  EXPECT_TRUE(plan.any);
  EXPECT_EQ(plan.volume, "state");
  EXPECT_EQ(plan.files, 65U);
  EXPECT_EQ(plan.largest_rank, Bytes(14'250'000'000));
  EXPECT_DOUBLE_EQ(rate(plan), 64 * 1.4e9);
  EXPECT_EQ(plan.limits.front().remedy, "training.checkpoint.gpudirect: true");
  EXPECT_NEAR(seconds(plan.copy_time), 14.25 / 55.2, 1e-4);
  EXPECT_NEAR(seconds(plan.rename_time), 3 * 65 / 960'000.0 + 2 * 90e-6, 1e-9);
  EXPECT_NEAR(seconds(plan.write_time), 912 / 89.6 + seconds(plan.rename_time), 1e-6);
  EXPECT_EQ(plan.stall, plan.copy_time + plan.write_time);
  EXPECT_NEAR(seconds(plan.load_time), 912 / (64 * 1.3), 0.001);
  EXPECT_FALSE(plan.shares_reads);
}

// With GPUDirect the drives are the bottleneck; their rate is halved if every byte is stored twice.
TEST(CheckpointPlan, DrivesAreTheBottleneckWithGpudirect) {
  const Lab direct = make_lab(LabOptions{}, "  checkpoint: {gpudirect: true}\n");
  const CheckpointPlan plan = plan_or_fail(direct, gigabytes(912), 64);
  EXPECT_DOUBLE_EQ(rate(plan), 160e9);
  EXPECT_EQ(plan.copy_time, SimTime(0));
  EXPECT_EQ(plan.limits.front().what, "drives and controllers of pool `flash`, written");
  const Lab twice = make_lab(LabOptions{.volume_more = ", replicas: 2"}, "  checkpoint: {gpudirect: true}\n");
  EXPECT_DOUBLE_EQ(rate(plan_or_fail(twice, gigabytes(912), 64)), 80e9);
}

TEST(CheckpointPlan, AsynchronousWaitsOnlyForTheCopy) {
  const Lab lab = make_lab(LabOptions{}, "  checkpoint: {mode: asynchronous}\n");
  const CheckpointPlan plan = plan_or_fail(lab, gigabytes(912), 64);
  EXPECT_EQ(plan.stall, plan.copy_time);
  EXPECT_GT(plan.write_time, plan.copy_time);
  // 14 TB do not fit into 8 x 2 TB of memory next to the job: training waits.
  const CheckpointPlan huge = plan_or_fail(lab, gigabytes(14'000), 64);
  EXPECT_EQ(huge.stall, huge.copy_time + huge.write_time);
}

// One rank writes everything: one process, one server's links.
TEST(CheckpointPlan, RankZeroWritesAlone) {
  const Lab lab = make_lab(LabOptions{}, "  checkpoint: {layout: rank0}\n");
  const CheckpointPlan plan = plan_or_fail(lab, gigabytes(105), 1);
  EXPECT_DOUBLE_EQ(rate(plan), 1.4e9);
  EXPECT_EQ(plan.limits.front().remedy, "training.checkpoint.layout: sharded");
  EXPECT_EQ(plan.files, 2U);
  EXPECT_NEAR(plan.utilization, 1.4 / 50, 1e-9);
  const Lab direct = make_lab(LabOptions{}, "  checkpoint: {layout: rank0, gpudirect: true}\n");
  EXPECT_DOUBLE_EQ(rate(plan_or_fail(direct, gigabytes(105), 1)), 50e9) << "two links of 200G";
}

TEST(CheckpointPlan, SecondVolumeIsWrittenAfterTheFirst) {
  const Lab one = make_lab(LabOptions{}, "  checkpoint: {}\n");
  const Lab two = make_lab(LabOptions{}, "  checkpoint: {second: copy}\n");
  EXPECT_NEAR(seconds(plan_or_fail(two, gigabytes(912), 64).write_time),
              2 * seconds(plan_or_fail(one, gigabytes(912), 64).write_time), 1e-9);
  const Lab sealed = make_lab(LabOptions{}, "  checkpoint: {volume: images}\n");
  const auto refused =
      plan_checkpoint(sealed.cluster(), *sealed.job, sealed.hosts, gigabytes(1), gigabytes(1), 1, {}, kAnalytic);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(), "training.checkpoint.volume: volume `images` is read-only");
  const Lab wrong = make_lab(LabOptions{}, "  checkpoint: {second: nowhere}\n");
  const auto plan =
      plan_checkpoint(wrong.cluster(), *wrong.job, wrong.hosts, gigabytes(1), gigabytes(1), 1, {}, kAnalytic);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().text().find("training.checkpoint.second: no volume `nowhere`"), std::string::npos);
}

// Samples come from the same drives: of 320 GB/s, a write of 89.6 of 160 GB/s leaves 44 %; reads lose at most half.
TEST(CheckpointPlan, SlowsReadsOnSharedDrives) {
  const Lab lab = make_lab(LabOptions{}, "  data: {file_samples: 1}\n  checkpoint: {}\n");
  const auto reads = plan_reads(lab.cluster(), *lab.job, lab.hosts, 448, Bytes(146'600'628), kAnalytic);
  ASSERT_TRUE(reads.ok());
  const CheckpointPlan plan = plan_or_fail(lab, gigabytes(912), 64, *reads);
  EXPECT_TRUE(plan.shares_reads);
  EXPECT_NEAR(plan.read_share, 0.5, 1e-9) << "drives would leave 44 %, but they serve both in turn";
  ReadPlan slow = *reads;
  slow.available.per_second = gigabytes(100);
  EXPECT_EQ(plan_or_fail(lab, gigabytes(912), 64, slow).read_share, 1) << "140 GB/s are left";
}

// BLOOM-176B: 2.3 TB in 40 s from 384 processes (48 servers), which is 57.5 GB/s of a file system. With a system of
// that write rate, the plan takes that time; all ranks could serialize 538 GB/s.
TEST(CheckpointPlan, Bloom) {
  std::string cluster = lab_cluster(LabOptions{.storage_more = "    write: 57.5GB/s\n"});
  cluster.replace(cluster.find("count: 16, unit: 16"), 19, "count: 48, unit: 16");
  const Lab lab = make_lab(cluster, "  checkpoint: {}\n", 48);
  EXPECT_NEAR(seconds(plan_or_fail(lab, gigabytes(2300), 384).write_time), 40, 0.01);
}

TEST(CheckpointPlan, IncastAtFlowFidelity) {
  const Lab lab = make_lab(LabOptions{.store = 2}, "  checkpoint: {gpudirect: true}\n");
  StorageOptions options;
  options.fidelity = netsim::Fidelity::flow;
  const CheckpointPlan plan = plan_or_fail(lab, gigabytes(912), 64, {}, options);
  double fabric = 0;
  for (const IoLimit& limit : plan.limits) {
    if (limit.what == "storage fabric with all ranks writing") {
      fabric = static_cast<double>(limit.rate.per_second.count());
    }
  }
  EXPECT_GT(fabric, 0.7 * 200e9) << "8 servers of 50 GB/s into 2 of 100 GB/s";
  EXPECT_LT(fabric, 200e9);
}

}  // namespace
}  // namespace weft::workload
