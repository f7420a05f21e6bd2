// For tests and `make validate`: published measurements of collectives, one table each, with its source, and the
// model's error. The error of a table is the geometric mean over its rows: exp(mean |ln(model / measured)|) - 1. Rows
// are as published: size and time (us) or bus bandwidth (GB/s).
//
// Constants of the model come from the tables of 8 x H100, 8 x B200, 2, 4 and 8 x 8 x H100 and SimAI's rings, and from
// the largest sizes of the others. No constant comes from H800, the racks, 2 x 8 x B300, EFA, 1024 and 1984 GPUs and
// all-to-all; but the tables of the racks and of 1984 GPUs were consulted when the form of the NVLS rounds was chosen.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "workload/nccl/nccl.h"

namespace weft::workload {

struct CollectiveRow {
  double bytes;
  double value;
};
struct PublishedCollective {
  std::string name;
  NcclMachine machine;
  NcclGroup group_of_ranks;
  std::vector<CollectiveRow> rows;
  bool times = true;  // else bus bandwidth, GB/s
  netsim::Collective operation = netsim::Collective::all_reduce;
  NcclLimits limits = {};
  // Microseconds (--launch): a program that starts every collective separately, after a barrier, also measures what
  // nccl-tests hides behind the previous one: the launch on every rank and their skew.
  double launch = 0;
  std::string group = {};  // tables that share an error limit; empty: this one alone
};

inline constexpr double kNoBar = std::numeric_limits<double>::infinity();
// Allowed errors: geometric mean of the rows below 1 MiB and of those from 1 MiB, worst row.
struct CollectiveBars {
  double below = kNoBar;
  double above = kNoBar;
  double worst = kNoBar;
};

struct CollectiveTables {
  void add(PublishedCollective table, const CollectiveBars& bars) {
    if (table.group.empty()) table.group = table.name;
    all.emplace_back(std::move(table), bars);
  }
  std::vector<std::pair<PublishedCollective, CollectiveBars>> all;
};

struct CollectiveResult {
  NcclChoice choice;
  double value = 0;  // in the unit of the row
  double off = 0;    // logarithm of model / measured, of time
};
inline CollectiveResult model_of(const PublishedCollective& table, const CollectiveRow& row) {
  CollectiveResult result;
  result.choice =
      nccl_choose(table.machine, table.operation, Bytes(std::llround(row.bytes)), table.group_of_ranks, table.limits);
  const double us = netsim::in_microseconds(result.choice.time) + table.launch;
  const double bus = row.bytes / us * netsim::bus_factor(table.operation, table.group_of_ranks.ranks) / 1000;
  result.value = table.times ? us : bus;
  result.off = std::log(table.times ? us / row.value : row.value / bus);
  return result;
}

class CollectiveErrors {
 public:
  void add(const PublishedCollective& table) {
    for (const CollectiveRow& row : table.rows) {
      const double off = std::abs(model_of(table, row).off);
      const std::size_t which = row.bytes >= 1024.0 * 1024.0 ? 1 : 0;
      sum_[which] += off;
      count_[which] += 1;
      worst_ = std::max(worst_, std::exp(off) - 1);
    }
  }
  [[nodiscard]] double below() const { return count_[0] > 0 ? std::exp(sum_[0] / count_[0]) - 1 : 0; }
  [[nodiscard]] double above() const { return count_[1] > 0 ? std::exp(sum_[1] / count_[1]) - 1 : 0; }
  [[nodiscard]] double worst() const { return worst_; }

 private:
  std::array<double, 2> sum_{};
  std::array<double, 2> count_{};
  double worst_ = 0;
};

namespace published_collectives {

using netsim::Collective;

inline constexpr double kKi = 1024;
inline constexpr double kMi = 1024 * kKi;
inline constexpr double kGi = 1024 * kMi;

inline NcclMachine server(std::string architecture, std::int64_t nvlink_gb, std::int64_t nic_gb, bool infiniband) {
  NcclMachine m;
  m.architecture = std::move(architecture);
  m.nvlink = model::ByteRate{gigabytes(nvlink_gb)};
  m.multicast = m.architecture != "ampere";
  m.nic = gigabits(nic_gb);
  m.infiniband = infiniband;
  m.pcie = gigabits(m.architecture == "ampere" ? 256 : 512);
  return m;
}
inline NcclMachine a100() { return server("ampere", 300, 200, true); }
inline NcclMachine h100() { return server("hopper", 450, 400, true); }
inline NcclMachine b200() { return server("blackwell", 900, 400, false); }

// NVIDIA/dgxc-benchmarking nccl/README.md, all_reduce_perf, out of place; for 32 B and 4 KiB the in-place rows are
// used, because the out-of-place ones are five times and 1.4 times their neighbors.
inline void eight_h100(CollectiveTables& tables) {
  PublishedCollective table{
      "8 x H100, all_reduce_perf (dgxc-benchmarking)",
      h100(),
      {8, 8},
      {{8, 13.67},          {16, 13.00},        {32, 13.52},       {64, 14.92},       {128, 15.87},
       {256, 16.10},        {512, 16.70},       {kKi, 16.94},      {2 * kKi, 17.14},  {4 * kKi, 16.46},
       {8 * kKi, 17.40},    {16 * kKi, 17.93},  {32 * kKi, 19.33}, {64 * kKi, 19.54}, {128 * kKi, 19.89},
       {256 * kKi, 20.43},  {512 * kKi, 20.66}, {kMi, 27.37},      {2 * kMi, 42.21},  {4 * kMi, 54.19},
       {8 * kMi, 83.04},    {16 * kMi, 123.8},  {32 * kMi, 199.3}, {64 * kMi, 324.7}, {128 * kMi, 586.4},
       {256 * kMi, 1112.5}, {512 * kMi, 2151},  {kGi, 4029.4},     {2 * kGi, 7939.1}, {4 * kGi, 15749},
       {8 * kGi, 31307},    {16 * kGi, 62648}}};
  tables.add(table, {.below = 0.15, .above = 0.05});
}

// stas00/ml-engineering network/README.md, all_reduce_bench.py.
inline void eight_h200(CollectiveTables& tables) {
  PublishedCollective table{
      "8 x H200, all_reduce_bench.py (ml-engineering)",
      h100(),
      {8, 8},
      {{32 * kKi, 1.44},   {64 * kKi, 2.93},   {128 * kKi, 5.73},   {256 * kKi, 11.74},  {512 * kKi, 23.94},
       {kMi, 39.93},       {2 * kMi, 64.53},   {4 * kMi, 107.16},   {8 * kMi, 155.53},   {16 * kMi, 219.89},
       {32 * kMi, 275.84}, {64 * kMi, 346.51}, {128 * kMi, 401.93}, {256 * kMi, 436.15}, {512 * kMi, 450.29},
       {kGi, 463.58},      {2 * kGi, 469.17},  {4 * kGi, 473.10},   {8 * kGi, 477.45},   {16 * kGi, 482.26}},
      false,
      Collective::all_reduce,
      {},
      18};
  tables.add(table, {.below = 0.20, .above = 0.05});
}

// The same source, nccl-tests at 8 GiB and (operations) 16 GiB.
inline void parts_of_a_server(CollectiveTables& tables) {
  const std::vector<double> h200_on{363.3, 414.2, 435.6, 460.0, 473.1};
  const std::vector<double> h200_off{363.3, 364.4, 365.1, 365.7, 365.6};
  const std::vector<double> b200_on{673.2, 677.8, 778.2, 811.2, 838.0};
  const std::vector<double> b200_off{673.8, 677.8, 677.8, 680.5, 682.2};
  const auto of = [&](const NcclMachine& machine, bool nvls, const std::vector<double>& values, double worst) {
    NcclMachine m = machine;
    m.multicast = nvls;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      const std::string name =
          fmt::format("{} GPUs of 8, {}, NVLS {}", 4 + i, machine.architecture, nvls ? "on" : "off");
      tables.add({name, m, {4 + i, 4 + i}, {{8 * kGi, values[i]}}, false}, {.worst = worst});
    }
  };
  of(h100(), true, h200_on, 0.04);
  of(h100(), false, h200_off, 0.02);
  of(b200(), true, b200_on, 0.15);  // 6 GPUs: NVLS selected by another tuner (AWS)
  of(b200(), false, b200_off, 0.03);
  tables.add({"all-gather, 8 x H200", h100(), {8, 8}, {{16 * kGi, 361.4}}, false, Collective::all_gather},
             {.worst = 0.03});
  tables.add({"reduce-scatter, 8 x H200", h100(), {8, 8}, {{16 * kGi, 362.9}}, false, Collective::reduce_scatter},
             {.worst = 0.03});
}

// NVIDIA/nccl issue 1374: 215 GB/s on 8 x H800, whose NVLink is limited to 200 GB/s per direction; the size is not
// given.
inline void eight_h800(CollectiveTables& tables) {
  const NcclMachine h800 = server("hopper", 200, 400, true);
  tables.add({"8 x H800", h800, {8, 8}, {{8 * kGi, 215}}, false}, {.worst = 0.06});
}

// ml-engineering, all_reduce_bench.py on AWS P6-B200.
inline void eight_b200(CollectiveTables& tables) {
  PublishedCollective table{
      "8 x B200, all_reduce_bench.py (ml-engineering)",
      b200(),
      {8, 8},
      {{32 * kKi, 1.20},   {64 * kKi, 2.17},   {128 * kKi, 4.86},   {256 * kKi, 9.54},   {512 * kKi, 18.71},
       {kMi, 36.06},       {2 * kMi, 63.09},   {4 * kMi, 76.48},    {8 * kMi, 126.49},   {16 * kMi, 254.96},
       {32 * kMi, 325.97}, {64 * kMi, 400.60}, {128 * kMi, 568.38}, {256 * kMi, 646.11}, {512 * kMi, 688.99},
       {kGi, 723.34},      {2 * kGi, 734.97},  {4 * kGi, 740.64},   {8 * kGi, 839.07},   {16 * kGi, 845.67}},
      false,
      Collective::all_reduce,
      {},
      18};
  tables.add(table, {.above = 0.15});
}

// 4 of the same servers over EFA, whose latency differs from InfiniBand's: large sizes only.
inline void four_times_eight_b200(CollectiveTables& tables) {
  PublishedCollective table{
      "4 x 8 x B200 over EFA, all_reduce_bench.py (ml-engineering)",
      b200(),
      {32, 8},
      {{512 * kMi, 326.90}, {kGi, 361.99}, {2 * kGi, 372.42}, {4 * kGi, 377.34}, {8 * kGi, 380.39}, {16 * kGi, 381.80}},
      false,
      Collective::all_reduce,
      {NcclAlgorithm::ring, {}},
      18};
  tables.add(table, {.above = 0.05});
}

// The same source: one A100 node, one process for 8 GPUs, which launches them one after another. The
// second: facebookresearch/gcm, a test's sample of all_reduce_perf with one process per GPU.
inline void eight_a100(CollectiveTables& tables) {
  PublishedCollective one{"8 x A100, all_reduce_perf -g 8 (ml-engineering)",
                          a100(),
                          {8, 8},
                          {{8 * kMi, 133.5},
                           {16 * kMi, 276.6},
                           {32 * kMi, 424.0},
                           {64 * kMi, 684.6},
                           {128 * kMi, 1327.6},
                           {256 * kMi, 2420.6},
                           {512 * kMi, 4218.4},
                           {kGi, 8203.9},
                           {2 * kGi, 16240},
                           {4 * kGi, 32136},
                           {8 * kGi, 64074},
                           {16 * kGi, 127997}},
                          true,
                          Collective::all_reduce,
                          {},
                          24};
  tables.add(one, {.above = 0.16});
  PublishedCollective two{"8 x A100, all_reduce_perf (facebookresearch/gcm)",
                          a100(),
                          {8, 8},
                          {{32 * kMi, 344.8},
                           {64 * kMi, 557.4},
                           {128 * kMi, 1149.9},
                           {256 * kMi, 2106.1},
                           {512 * kMi, 4145.6},
                           {kGi, 8109.1}}};
  tables.add(two, {.above = 0.06});
}

inline void two_times_eight_a100(CollectiveTables& tables) {
  PublishedCollective one{"2 x 8 x A100, 8 x 200G InfiniBand (facebookresearch/gcm, NCCL 2.12)",
                          a100(),
                          {16, 8},
                          {{32 * kMi, 650.2},
                           {64 * kMi, 956.9},
                           {128 * kMi, 1740.3},
                           {256 * kMi, 2966.1},
                           {512 * kMi, 5693.6},
                           {kGi, 11013}},
                          true,
                          Collective::all_reduce,
                          {NcclAlgorithm::ring, {}}};
  tables.add(one, {.above = 0.25});
  PublishedCollective two{
      "2 x 8 x A100, 16 x 100G RoCE (oracle-quickstart)", a100(), {16, 8}, {{8 * kGi, 237.9}}, false};
  tables.add(two, {.worst = 0.05});
}

inline NcclMachine h100_of_2_26() {
  NcclMachine machine = h100();
  machine.version = 22'600;
  return machine;
}

// NVIDIA/nccl-tests issue 309, 8 x 400G InfiniBand, NCCL 2.26; in place, where the first runs of a size are not.
inline void two_times_eight_h100(CollectiveTables& tables) {
  PublishedCollective table{
      "2 x 8 x H100 (nccl-tests issue 309)",
      h100_of_2_26(),
      {16, 8},
      {{8, 24.70},        {64, 25.21},       {512, 26.31},       {kKi, 26.65},        {4 * kKi, 29.72},
       {16 * kKi, 32.24}, {64 * kKi, 33.08}, {128 * kKi, 38.12}, {256 * kKi, 46.79},  {512 * kKi, 70.33},
       {kMi, 71.47},      {2 * kMi, 76.62},  {4 * kMi, 94.22},   {8 * kMi, 131.4},    {16 * kMi, 183.8},
       {32 * kMi, 267.7}, {64 * kMi, 466.3}, {128 * kMi, 749.2}, {256 * kMi, 1276.0}, {512 * kMi, 2355.1},
       {kGi, 4470.2},     {2 * kGi, 8717.2}, {4 * kGi, 17284},   {8 * kGi, 34365},    {16 * kGi, 68668}}};
  tables.add(table, {.below = 0.15, .above = 0.08});
  // Another cluster in the same thread, with NCCL_ALGO=Ring and 24 channels.
  PublishedCollective ring{"2 x 8 x H100, NCCL_ALGO=Ring (nccl-tests issue 309)",
                           h100_of_2_26(),
                           {16, 8},
                           {{kMi, 156.9},
                            {2 * kMi, 156.6},
                            {4 * kMi, 178.1},
                            {8 * kMi, 177.8},
                            {16 * kMi, 199.3},
                            {32 * kMi, 274.2},
                            {64 * kMi, 433.8},
                            {128 * kMi, 795.8},
                            {256 * kMi, 1355.9},
                            {512 * kMi, 2649.9},
                            {kGi, 5236.2},
                            {2 * kGi, 10340},
                            {4 * kGi, 20575},
                            {8 * kGi, 41015}},
                           true,
                           Collective::all_reduce,
                           {NcclAlgorithm::ring, {}}};
  tables.add(ring, {.above = 0.10});
}

inline void more_times_eight_h100(CollectiveTables& tables) {
  PublishedCollective four{
      "4 x 8 x H100 (nccl-tests issue 309)",
      h100_of_2_26(),
      {32, 8},
      {{8, 34.75},        {64, 34.92},       {512, 36.72},        {kKi, 37.10},        {4 * kKi, 41.42},
       {16 * kKi, 46.39}, {64 * kKi, 47.60}, {128 * kKi, 55.06},  {256 * kKi, 66.86},  {512 * kKi, 72.78},
       {kMi, 82.21},      {2 * kMi, 132.2},  {4 * kMi, 154.0},    {8 * kMi, 202.4},    {16 * kMi, 258.3},
       {32 * kMi, 370.3}, {64 * kMi, 574.4}, {128 * kMi, 1013.1}, {256 * kMi, 1772.4}, {512 * kMi, 3111.7},
       {kGi, 5802.8},     {2 * kGi, 11501},  {4 * kGi, 22874},    {8 * kGi, 45573},    {16 * kGi, 91081}}};
  tables.add(four, {.below = 0.15, .above = 0.10});
  // Another cluster in the same thread; it reaches 321 GB/s where the first one reaches 366.
  PublishedCollective eight{"8 x 8 x H100 (nccl-tests issue 309)",
                            h100_of_2_26(),
                            {64, 8},
                            {{kMi, 115.7},
                             {2 * kMi, 143.3},
                             {4 * kMi, 203.8},
                             {8 * kMi, 321.4},
                             {16 * kMi, 373.5},
                             {32 * kMi, 508.2},
                             {64 * kMi, 709.2},
                             {128 * kMi, 1149.5},
                             {256 * kMi, 2028.1},
                             {512 * kMi, 3509.4},
                             {kGi, 7414.5},
                             {2 * kGi, 13300},
                             {4 * kGi, 26340},
                             {8 * kGi, 52754}}};
  tables.add(eight, {.above = 0.16});
  // AWS p5.48xlarge, 32 x 100G EFA: bandwidth only.
  PublishedCollective efa{"2 x 8 x H100 over EFA (aws-samples)",
                          h100(),
                          {16, 8},
                          {{kGi, 436.95}, {2 * kGi, 443.72}, {4 * kGi, 465.87}, {8 * kGi, 479.28}, {16 * kGi, 487.09}},
                          false};
  tables.add(efa, {.above = 0.05});
  // ml-engineering network/README.md: p5en.48xlarge, 4 GiB, NCCL_ALGO forced.
  PublishedCollective ring{"4 x 8 x H200, ring",     h100(), {32, 8},
                           {{4 * kGi, 364.65}},      false,  Collective::all_reduce,
                           {NcclAlgorithm::ring, {}}};
  tables.add(ring, {.worst = 0.05});
  PublishedCollective tree{"4 x 8 x H200, NVLS tree",     h100(), {32, 8},
                           {{4 * kGi, 310.07}},           false,  Collective::all_reduce,
                           {NcclAlgorithm::nvls_tree, {}}};
  tables.add(tree, {.worst = 0.12});
}

// NVIDIA/nccl-tests issue 322: 128 servers, ring, LL128, 32 channels.
inline void thousand_h100(CollectiveTables& tables) {
  PublishedCollective table{"1024 x H100, ring LL128 (nccl-tests issue 322)",
                            h100(),
                            {1024, 8},
                            {{kGi, 19355}, {2 * kGi, 20218}, {4 * kGi, 25377}, {8 * kGi, 47078}, {16 * kGi, 93457}},
                            true,
                            Collective::all_reduce,
                            {NcclAlgorithm::ring, NcclProtocol::ll128}};
  tables.add(table, {.above = 0.20});
}

// NVIDIA/nccl-tests issue 283: 248 servers of 8 x H200, 512 MiB, "typically around 350G, occasionally below 300G".
inline void two_thousand_h200(CollectiveTables& tables) {
  PublishedCollective table{"1984 x H200 (nccl-tests issue 283)", h100(), {1984, 8}, {{512 * kMi, 350}}, false};
  tables.add(table, {.worst = 0.30});
}

// oracle-quickstart: GB300 racks, 64 GPUs per NVLink domain, 400 Gb/s per GPU; GB200 the same.
inline void racks(CollectiveTables& tables) {
  NcclMachine rack = b200();
  rack.node_gpus = rack.nics = 72;
  PublishedCollective one{"64 x GB300, one rack", rack, {64, 64}, {{8 * kGi, 897.52}, {16 * kGi, 930.48}}, false};
  tables.add(one, {.worst = 0.20});
  PublishedCollective two{"2 x 64 x GB300", rack, {128, 64}, {{8 * kGi, 708.75}, {16 * kGi, 738.39}}, false};
  tables.add(two, {.worst = 0.20});
  PublishedCollective gb200{"2 x 64 x GB200",
                            rack,
                            {128, 64},
                            {{kMi, 291.13},
                             {4 * kMi, 314.13},
                             {16 * kMi, 394.98},
                             {64 * kMi, 654.11},
                             {256 * kMi, 1555.75},
                             {2 * kGi, 7758.06},
                             {4 * kGi, 13341.2},
                             {8 * kGi, 25812.5},
                             {16 * kGi, 50409.2}}};
  tables.add(gb200, {.above = 0.35});
  NcclMachine b300 = server("blackwell", 900, 800, false);
  b300.pcie = gigabits(1024);
  PublishedCollective servers{"2 x 8 x B300", b300, {16, 8}, {{8 * kGi, 766.54}, {16 * kGi, 766.84}}, false};
  tables.add(servers, {.worst = 0.15});
}

// SimAI astra-sim-alibabacloud/inputs/ratio/nic_ratio.csv: share of 8 x 400 Gb/s that a ring all-reduce reaches;
// columns are nodes of 8 GPUs.
inline void sim_ai_rings(CollectiveTables& tables) {
  const std::vector<std::uint32_t> nodes{2, 4, 8, 16, 32, 64, 128};
  const std::vector<std::vector<double>> shares{
      {.32, .24, .13, .05, .044, .021, .0087},   {.47, .38, .24, .11, .052, .042, .021225},
      {.5, .53, .39, .21, .106, .051, .04405},   {.67, .67, .54, .38, .205, .107, .0533},
      {.85, .77, .69, .57, .387, .209, .1027},   {.89, .85, .78, .73, .562, .384, .1902},
      {.92, .93, .9, .76, .74, .563, .314575},   {.94, .94, .94, .92, .758, .745, .553525},
      {.95, .95, .95, .95, .923, .755, .740175}, {.95, .96, .96, .96, .953, .914, .7648},
      {.96, .96, .96, .96, .957, .958, .919175}};
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    PublishedCollective table{fmt::format("{} x 8 GPUs, ring (SimAI nic_ratio)", nodes[n]),
                              h100(),
                              {nodes[n] * 8, 8},
                              {},
                              false,
                              Collective::all_reduce,
                              {NcclAlgorithm::ring, {}}};
    double bytes = 16 * kMi;
    for (const std::vector<double>& row : shares) {
      table.rows.push_back({bytes, row[n] * 400});
      bytes *= 2;
    }
    table.group = "SimAI rings";
    tables.add(table, {.above = 0.15});
  }
}

// SimAI ata_ratio.csv: share of a NIC's rate (one node: of NVLink's) that all-to-all reaches for the traffic that
// leaves the node. oracle-quickstart, 8 x B300 with 800 Gb/s per GPU: 675.55 GB/s in one server, 180.98 in two.
inline void all_to_all(CollectiveTables& tables) {
  const std::vector<std::uint32_t> nodes{2, 4, 8, 16};
  const std::vector<std::vector<double>> shares{{.52, .67, .64, .62}, {.63, .68, .67, .66}, {.72, .83, .82, .66},
                                                {.76, .9, .85, .72},  {.79, .92, .87, .75}, {.8, .94, .89, .81},
                                                {.81, .94, .92, .85}, {.81, .95, .93, .88}, {.8, .95, .94, .89},
                                                {.8, .95, .94, .9},   {.8, .95, .94, .9}};
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const double ranks = nodes[n] * 8;
    PublishedCollective table{fmt::format("all-to-all, {} x 8 GPUs (SimAI ata_ratio)", nodes[n]),
                              h100(),
                              {nodes[n] * 8, 8},
                              {},
                              false,
                              Collective::all_to_all};
    double bytes = 16 * kMi;
    for (const std::vector<double>& row : shares) {
      table.rows.push_back({bytes, row[n] * 50 * (ranks - 1) / (ranks - 8)});
      bytes *= 2;
    }
    tables.add(table, {.above = 0.25});
  }
  const NcclMachine b300 = server("blackwell", 900, 800, false);
  tables.add({"all-to-all, 8 x B300", b300, {8, 8}, {{8 * kGi, 675.55}}, false, Collective::all_to_all},
             {.worst = 0.05});
  NcclMachine two = b300;
  two.pcie = gigabits(1024);  // ConnectX-8 has its own PCIe 6 switch
  tables.add({"all-to-all, 2 x 8 x B300", two, {16, 8}, {{8 * kGi, 180.98}}, false, Collective::all_to_all},
             {.worst = 0.05});
}

}  // namespace published_collectives

inline CollectiveTables read_published_collectives() {
  CollectiveTables tables;
  published_collectives::eight_h100(tables);
  published_collectives::eight_h200(tables);
  published_collectives::parts_of_a_server(tables);
  published_collectives::eight_h800(tables);
  published_collectives::eight_b200(tables);
  published_collectives::four_times_eight_b200(tables);
  published_collectives::eight_a100(tables);
  published_collectives::two_times_eight_a100(tables);
  published_collectives::two_times_eight_h100(tables);
  published_collectives::more_times_eight_h100(tables);
  published_collectives::thousand_h100(tables);
  published_collectives::two_thousand_h200(tables);
  published_collectives::racks(tables);
  published_collectives::sim_ai_rings(tables);
  published_collectives::all_to_all(tables);
  return tables;
}

}  // namespace weft::workload
