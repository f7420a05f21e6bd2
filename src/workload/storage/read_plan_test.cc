#include <gtest/gtest.h>

#include <cmath>

#include "workload/storage/fixture.h"
#include "workload/storage/io.h"
#include "workload/storage/reliability.h"

namespace weft::workload {
namespace {

const StorageOptions kAnalytic{netsim::Fidelity::analytic, 1, false, nullptr};

ReadPlan plan_or_fail(const Lab& lab, std::uint64_t samples, Bytes sample, const StorageOptions& options = kAnalytic) {
  const Result<ReadPlan> plan = plan_reads(lab.cluster(), *lab.job, lab.hosts, samples, sample, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().text());
  return plan.ok() ? *plan : ReadPlan();
}

double rate(const ReadPlan& plan) { return static_cast<double>(plan.available.per_second.count()); }
double seconds(SimTime time) { return static_cast<double>(time.count()) / 1e12; }

double limit(const ReadPlan& plan, const std::string& word) {
  for (const IoLimit& each : plan.limits) {
    if (each.what.find(word) != std::string::npos) return static_cast<double>(each.rate.per_second.count());
  }
  return 0;
}

// MLPerf Storage's unet3d: 7 samples of 146.6 MB per GPU and step, one file each. 8 servers have 400 GB/s of links, 4
// storage servers 320 GB/s of drives.
TEST(ReadPlan, DrivesLimitLargeSamples) {
  const Lab lab = make_lab(LabOptions{}, "  data: {file_samples: 1}\n");
  const ReadPlan plan = plan_or_fail(lab, 64 * 7, Bytes(146'600'628));
  EXPECT_TRUE(plan.any);
  EXPECT_EQ(plan.volume, "images");
  EXPECT_EQ(plan.protocol, "NVMe-oF/RDMA");
  EXPECT_EQ(plan.fabric, model::FabricKind::storage);
  EXPECT_EQ(plan.step_files, 448U);
  EXPECT_EQ(plan.step_bytes, Bytes(std::int64_t{448} * 146'600'628));
  EXPECT_DOUBLE_EQ(rate(plan), 320e9);
  EXPECT_EQ(plan.limits.front().what, "drives and controllers of pool `flash`, read");
  EXPECT_EQ(plan.limits.front().remedy, "pools.flash.count: 5") << "links carry a quarter more";
  EXPECT_DOUBLE_EQ(limit(plan, "storage links of pool `flash`"), 400e9);
  EXPECT_DOUBLE_EQ(limit(plan, "storage links of pool `train`"), 400e9);
  EXPECT_NEAR(plan.utilization, 0.8, 1e-9);
  EXPECT_NEAR(seconds(plan.step_time), 448 * 146'600'628.0 / 320e9 + 90e-6, 1e-9);
  // 64 GPUs need 3.18 GB/s each (203 GB/s): they are always busy. With a third of the storage rate they are not: 107
  // GB/s of 203 make 52 %.
  EXPECT_NEAR(448 * 146'600'628.0 / 0.323 / 64 / 1e9, 3.18, 0.005);
  EXPECT_EQ(accelerator_utilization(Duration(323'000'000), Duration(plan.step_time.count() / 1000)), 1);
  const Lab small = make_lab(LabOptions{.storage_more = "    read: 106.67GB/s\n"}, "  data: {file_samples: 1}\n");
  const ReadPlan less = plan_or_fail(small, 64 * 7, Bytes(146'600'628));
  EXPECT_NEAR(accelerator_utilization(Duration(323'000'000), Duration(less.step_time.count() / 1000)), 0.5245, 0.001);
  EXPECT_NE(less.limits.front().what.find("stated rate"), std::string::npos);
}

// 960,000 opens per second of 4 KiB each.
TEST(ReadPlan, MetadataLimitsSmallFiles) {
  const Lab lab = make_lab(LabOptions{}, "  data: {file_samples: 1}\n");
  const ReadPlan plan = plan_or_fail(lab, 4096, Bytes(4096));
  EXPECT_DOUBLE_EQ(rate(plan), 960'000.0 * 4096);
  EXPECT_EQ(plan.limits.front().remedy, "training.data.file_samples: 1000");
  const Lab one = make_lab(LabOptions{.storage_more = "    metadata_striping: false\n"}, "  data: {file_samples: 2}\n");
  const ReadPlan worse = plan_or_fail(one, 4096, Bytes(4096));
  // 10 TB of 8 KiB files: nearly every sample is in a file that is not open.
  EXPECT_NEAR(rate(worse), 240'000.0 * 4096, 0.01 * 240'000 * 4096);
  EXPECT_EQ(worse.limits.front().remedy, "storage.fast.metadata_striping: true");
}

// A file of 1,000 samples read in order is opened once.
TEST(ReadPlan, OrderedReadsOpenAFileOnce) {
  const Lab lab = make_lab(LabOptions{}, "  data: {file_samples: 1000, shuffle: false}\n");
  EXPECT_EQ(plan_or_fail(lab, 4096, Bytes(32'768)).step_files, 5U);
  // 2,048 files in total, of which a process keeps 1,024 open: half of the samples open a file.
  const Lab shuffled = make_lab(LabOptions{}, "  data: {file_samples: 1000, samples: 2048000}\n");
  EXPECT_EQ(plan_or_fail(shuffled, 4096, Bytes(32'768)).step_files, 2048U);
  const Lab few = make_lab(LabOptions{}, "  data: {file_samples: 1000, samples: 100000}\n");
  EXPECT_EQ(plan_or_fail(few, 4096, Bytes(32'768)).step_files, 5U);
}

// 64 loader processes wait 90 us for each 32 KiB sample and copy it at 6.5 GB/s.
TEST(ReadPlan, LoadersLimitShuffledTokens) {
  const Lab lab = make_lab(LabOptions{}, "  data: {workers: 1, samples: 1000000}\n");
  const ReadPlan plan = plan_or_fail(lab, 4096, Bytes(32'768));
  EXPECT_NEAR(rate(plan), 64 * 32'768 / (90e-6 + 32'768 / 6.5e9), 1);
  EXPECT_EQ(plan.limits.front().what, "loader processes, one sample at a time");
  EXPECT_EQ(plan.limits.front().remedy, "training.data.workers: 4");
  // In order, the client reads ahead: latency does not count, and links and drives are the limits.
  const Lab ordered = make_lab(LabOptions{}, "  data: {workers: 1, samples: 1000000, shuffle: false}\n");
  EXPECT_DOUBLE_EQ(rate(plan_or_fail(ordered, 4096, Bytes(32'768))), 320e9);
}

// 10 ms to decode a sample: 64 processes decode 6,400 samples per second, the 832 free cores of 8 servers 83,200.
TEST(ReadPlan, DecodingNeedsCores) {
  const Lab lab = make_lab(LabOptions{}, "  data: {workers: 1, decode: 10ms, shuffle: false}\n");
  EXPECT_NEAR(rate(plan_or_fail(lab, 4096, Bytes(114'660))), 6400 * 114'660.0, 0.003 * 6400 * 114'660);
  const Lab many = make_lab(LabOptions{}, "  data: {workers: 32, decode: 10ms, shuffle: false}\n");
  const ReadPlan plan = plan_or_fail(many, 4096, Bytes(114'660));
  EXPECT_NEAR(rate(plan), 83'200 * 114'660.0, 1);
  EXPECT_EQ(plan.limits.front().what, "decoding on 832 cores");
}

// Few open files use few targets: 8 loaders with one target each of 4 use 4 (1 - (3/4)^8) = 3.6 of them.
TEST(ReadPlan, FewFilesDoNotReachAllTargets) {
  const Lab lab =
      make_lab(LabOptions{.storage_more = "    stripe_count: 1\n"}, "  data: {workers: 1, shuffle: false}\n", 1);
  const ReadPlan plan = plan_or_fail(lab, 4096, Bytes(10'000'000));
  EXPECT_NEAR(limit(plan, "stripes"), 320e9 * (1 - std::pow(0.75, 8)), 1);
}

// Page cache: 95 % of 2 TB, minus 64 GiB of shared memory and 16 GB per rank. Local drives: 30.72 TB.
TEST(ReadPlan, CachesOnLaterEpochs) {
  const double page = 0.95 * 2e12 - 68'719'476'736.0 - 8 * 16e9;
  const auto cached = [](const std::string& data) {
    const Lab lab = make_lab(LabOptions{}, "  data: {" + data + "}\n");
    return plan_or_fail(lab, 4096, Bytes(1'000'000)).cached;
  };
  EXPECT_EQ(cached("cache: page"), 0) << "the run never comes back to a sample";
  EXPECT_NEAR(cached("samples: 8000000"), page / 8e12, 1e-9);
  EXPECT_EQ(cached("samples: 8000000, cache: none"), 0);
  EXPECT_EQ(cached("samples: 8000000, gpudirect: true"), 0) << "direct reads do not pass the page cache";
  EXPECT_EQ(cached("samples: 8000000, cache: local"), 1);
  EXPECT_EQ(cached("samples: 8000000, shuffle: false"), 1) << "1 TB of each server fits";
  EXPECT_EQ(cached("samples: 80000000, shuffle: false"), 0) << "10 TB do not, and what comes next is always dropped";
  EXPECT_NEAR(cached("samples: 491520000, cache: local, shuffle: false"), 0.5, 1e-9);
}

// Kernel sockets: 42 Gb/s per connection, one to each of 2 storage servers.
TEST(ReadPlan, SocketsCostBandwidth) {
  const Lab lab = make_lab(LabOptions{.store = 2}, "  data: {file_samples: 1}\n", 1);
  StorageOptions options = kAnalytic;
  options.tcp = true;
  const ReadPlan plan = plan_or_fail(lab, 56, Bytes(146'600'628), options);
  EXPECT_EQ(plan.protocol, "NVMe-oF/TCP");
  EXPECT_DOUBLE_EQ(rate(plan), 2 * 42e9 / 8);
  EXPECT_DOUBLE_EQ(rate(plan_or_fail(lab, 56, Bytes(146'600'628))), 50e9) << "over RDMA the server's links bound";
}

// Hashing and random targets reduce the rate; links are never exceeded.
TEST(ReadPlan, FabricAtFlowFidelityIsNoFasterThanItsLinks) {
  const Lab lab = make_lab(LabOptions{}, "  data: {file_samples: 1}\n");
  StorageOptions options;
  options.fidelity = netsim::Fidelity::flow;
  const ReadPlan plan = plan_or_fail(lab, 448, Bytes(146'600'628), options);
  const double fabric = limit(plan, "storage fabric with all servers reading");
  EXPECT_GT(fabric, 0.7 * 400e9);
  EXPECT_LT(fabric, 400e9);
  EXPECT_LE(rate(plan), fabric);
  EXPECT_EQ(rate(plan), rate(plan_or_fail(lab, 448, Bytes(146'600'628), options))) << "same seed, same bytes";
}

// 3FS (deepseek-ai/3FS): 180 storage servers with 2 x 200G, 500 clients with 200G, files on 16 drives per server at
// random; 6.6 TiB/s arrive. The servers' links alone would carry 9.0 TB/s; the fabric with hashing, 15 % less than
// measured.
TEST(ReadPlan, ThreeFs) {
  const std::string cluster =
      "weft: 1\nname: fs\nsite: {pdu: pdu-35kw}\npools:\n"
      "  - {name: train, server: hgx-h100, count: 500, links: {storage: 1}}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: store, role: storage, server: storage-nvme-2u, count: 180, links: {storage: 2}}\n"
      "fabrics:\n  storage: {speed: 200G, leaf: sn5600}\n  frontend: {subnets: [10.20.0.0/16]}\n"
      "storage:\n  - {name: fs, kind: beegfs, pool: store, stripe_count: 1, targets: 2880, stripe_size: 4MB}\n";
  const Lab lab = make_lab(cluster, "  data: {file_samples: 1}\n", 500);
  StorageOptions options;
  options.fidelity = netsim::Fidelity::flow;
  const ReadPlan plan = plan_or_fail(lab, 4000, Bytes(4'000'000), options);
  EXPECT_DOUBLE_EQ(limit(plan, "storage links of pool `store`"), 9.0e12);
  EXPECT_NEAR(rate(plan), 6.6 * 1.099511627776e12, 0.15 * 6.6e12);
}

// A hot tier on the job's own drives: 8 of 3.84 TB in each server, 6.8 GB/s each; no network, no metadata service.
TEST(ReadPlan, LocalDrives) {
  const Lab lab = make_lab(LabOptions{.more = "  - name: near\n    tier: hot\n    pool: train\n    volumes:\n"
                                              "      - {name: shards, purpose: dataset, size: 1TB}\n"},
                           "  data: {volume: shards, file_samples: 1}\n");
  const ReadPlan plan = plan_or_fail(lab, 448, Bytes(146'600'628), StorageOptions{});
  EXPECT_NEAR(rate(plan), 8 * 8 * 6.8e9, 1);
  EXPECT_EQ(plan.protocol, "NVMe (local drives)");
  EXPECT_EQ(plan.utilization, 0);
}

// GPU servers that are not on the storage fabric read through head nodes: three with 2 x 200G.
TEST(ReadPlan, SplitClustersReadThroughHeadNodes) {
  const Lab lab = make_lab(LabOptions{.profile = "split"}, "  data: {file_samples: 1}\n");
  const ReadPlan plan = plan_or_fail(lab, 448, Bytes(146'600'628));
  EXPECT_DOUBLE_EQ(rate(plan), 3 * 50e9);
  EXPECT_EQ(plan.limits.front().what, "storage links of head nodes (pool `infra`)");
  EXPECT_EQ(plan.limits.front().remedy, "pools.infra.count: 7");
}

TEST(ReadPlan, RejectsUnknownVolumesAndUnreachableStorage) {
  const Lab lab = make_lab(LabOptions{}, "  data: {volume: image}\n");
  const auto plan = plan_reads(lab.cluster(), *lab.job, lab.hosts, 1, Bytes(1), kAnalytic);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().text(), "training.data.volume: no volume `image`: volumes are images, state, copy");
  const Lab off = make_lab(LabOptions{.pool_more = ", links: {storage: 0}"}, "  data: {}\n");
  const auto none = plan_reads(off.cluster(), *off.job, off.hosts, 1, Bytes(1), kAnalytic);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("pools.train.links.storage: 2"), std::string::npos);
}

TEST(ReadPlan, NoStorageOrNoSamplesMeansNoPlan) {
  const std::string cluster =
      "weft: 1\nname: bare\nsite: {pdu: pdu-35kw}\npools:\n  - {name: train, server: hgx-h100, count: 2}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n";
  const Lab lab = make_lab(cluster, "  data: {}\n", 2);
  EXPECT_FALSE(plan_or_fail(lab, 100, Bytes(1000)).any);
  const Lab full = make_lab(LabOptions{}, "  data: {}\n");
  EXPECT_FALSE(plan_or_fail(full, 0, Bytes(1000)).any);
}

}  // namespace
}  // namespace weft::workload
