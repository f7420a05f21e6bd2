#include "health/readers/metric_names.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "health/core/rules.h"

namespace weft::health {
namespace {

std::string signal_of(std::string_view metric) {
  const MetricMeaning* const meaning = find_metric(metric);
  return meaning == nullptr ? "" : std::string(meaning->signal);
}

// "node|part", or "left out".
std::string place_of(std::string_view metric, std::string_view labels) {
  const MetricMeaning* const meaning = find_metric(metric);
  if (meaning == nullptr) return "unknown";
  const std::optional<MetricPlace> place = find_place(*meaning, labels);
  return place ? place->node + "|" + place->part : "left out";
}

TEST(MetricNames, AreSortedAndNameSignals) {
  std::string_view before;
  for (const MetricMeaning& each : known_metrics()) {
    EXPECT_LT(before, each.metric);
    before = each.metric;
    EXPECT_EQ(find_metric(each.metric), &each);
    const std::string signal = each.is_event() ? std::string(each.signal) + ":1" : std::string(each.signal);
    EXPECT_TRUE(parse_pattern(signal).has_value()) << signal;
  }
}

// Pairs of the block of old names at the end of dcgm_fields.h (NVIDIA/DCGM 72fa3fe).
TEST(MetricNames, KnowBothNamesOfAField) {
  const std::pair<const char*, const char*> names[] = {
      {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"},
      {"DCGM_FI_DEV_GPU_TEMP_LIMIT", "DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS"},
      {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},
      {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED"},
      {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_PCIE_REPLAY_TOTAL"},
      {"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"},
      {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL"},
      {"DCGM_FI_DEV_THRESHOLD_SRM", "DCGM_FI_DEV_SRAM_EXCEEDED"},
      {"DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "DCGM_FI_DEV_GPU_RECOVERY_ACTION"},
      {"DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER", "DCGM_FI_DEV_NVLINK_EFFECTIVE_BER_RAW"},
      {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL"}};
  for (const auto& [before, after] : names) {
    EXPECT_NE(signal_of(before), "") << before;
    EXPECT_EQ(signal_of(before), signal_of(after)) << before;
  }
  EXPECT_EQ(signal_of("DCGM_FI_DEV_ROW_REMAP_FAILURE"), "dcgm:remap_failed");
  EXPECT_EQ(signal_of("node_infiniband_port_errors_received_total"), "ib:port_rcv_errors");
  EXPECT_EQ(signal_of("rdma_port_rcv_errors_total"), "ib:port_rcv_errors");
  EXPECT_EQ(signal_of("DCGM_FI_DEV_FB_USED"), "");
  EXPECT_EQ(signal_of(""), "");
}

TEST(MetricNames, NameTheGpuAsTheKernelDoes) {
  // The form of dcgm-exporter 4.4 (internal/pkg/rendermetrics/render_metrics.go) with Kubernetes labels.
  EXPECT_EQ(
      place_of("DCGM_FI_DEV_XID_ERRORS",
               R"({gpu="0",UUID="GPU-a0acdf3c-24b2-4dcd-853c-b19000000000",pci_bus_id="00000000:3B:00.0",)"
               R"(device="nvidia0",modelName="NVIDIA H100-20C",Hostname="gpu-17",DCGM_FI_DRIVER_VERSION="580.95.05",)"
               R"(container="cuda",err_code="0",err_msg="No Error",namespace="default",pod="cuda-75454ffb9f-jpwkc"})"),
      "gpu-17|GPU 0000:3b:00");
  EXPECT_EQ(place_of("DCGM_FI_DEV_GPU_TEMP", R"({gpu="3",UUID="GPU-1",pci_bus_id="",hostname="n1"})"), "n1|GPU 3");
  EXPECT_EQ(place_of("DCGM_FI_DEV_GPU_TEMP", R"({gpu="0", UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52"})"),
            "|GPU 0");
  EXPECT_EQ(place_of("DCGM_FI_DEV_GPU_TEMP", ""), "|");
  EXPECT_EQ(place_of("DCGM_FI_DEV_NVLINK_SYMBOL_BER_RAW", R"({nvlink="4",gpu="0",pci_bus_id="00000008:01:00.0"})"),
            "|GPU 0008:01:00 link 4");
  EXPECT_EQ(place_of("DCGM_FI_DEV_SXID_FATAL_ERROR", R"({nvswitch="2",hostname="n1"})"), "n1|NVSwitch 2");
}

TEST(MetricNames, KeepMigInstancesApart) {
  const char* const instance = R"({gpu="0",UUID="GPU-1f02",GPU_I_PROFILE="2g.20gb",GPU_I_ID="3",Hostname="n1"})";
  EXPECT_EQ(place_of("DCGM_FI_DEV_XID_ERRORS", instance), "n1|GPU 0");
  EXPECT_EQ(place_of("DCGM_FI_PROF_SM_ACTIVE", instance), "left out");
}

TEST(MetricNames, NamePortsAndDevices) {
  EXPECT_EQ(place_of("node_infiniband_link_downed_total", R"({device="mlx5_0",port="1"})"), "|mlx5_0/1");
  EXPECT_EQ(place_of("rdma_symbol_error_total", R"({device="mlx5_0",instance="10.0.0.1:9879",port="1"})"),
            "10.0.0.1|mlx5_0/1");
  EXPECT_EQ(place_of("node_network_carrier", R"({device="ens1f0np0"})"), "|ens1f0np0");
  for (const char* const device : {"lo", "veth12ab", "cali8d1", "docker0", "br-1a2b", "cilium_host"}) {
    EXPECT_EQ(place_of("node_network_up", "{device=\"" + std::string(device) + "\"}"), "left out") << device;
  }
  EXPECT_EQ(place_of("node_network_carrier_changes_total", R"({device="bond0"})"), "|bond0");
  EXPECT_EQ(place_of("node_edac_correctable_errors_total", R"({controller="0"})"), "|mc0");
  EXPECT_EQ(place_of("node_filesystem_readonly", R"({device="/dev/nvme0n1p2",fstype="ext4",mountpoint="/"})"), "|/");
  EXPECT_EQ(place_of("node_filesystem_readonly", R"({device="/dev/loop0",fstype="squashfs",mountpoint="/snap/x"})"),
            "left out");
  EXPECT_EQ(place_of("node_boot_time_seconds", ""), "|");
}

TEST(MetricNames, TakeTheSurestNameOfANode) {
  const char* const metric = "node_boot_time_seconds";
  EXPECT_EQ(place_of(metric, R"({instance="10.0.0.1:9400",node="n1",Hostname="h1"})"), "h1|");
  EXPECT_EQ(place_of(metric, R"({instance="10.0.0.1:9400",node="n1"})"), "n1|");
  EXPECT_EQ(place_of(metric, R"({Hostname="",instance="n2.example:9100"})"), "n2.example|");
  EXPECT_EQ(place_of(metric, "{node=\"a\xff\\nb\"}"), "a??b|");  // safe to print
  EXPECT_EQ(place_of(metric, "{node=\"" + std::string(5000, 'x') + "\"}").size(), 257U);
}

TEST(MetricNames, CutThePort) {
  EXPECT_EQ(without_port("10.0.0.1:9400"), "10.0.0.1");
  EXPECT_EQ(without_port("n1"), "n1");
  EXPECT_EQ(without_port("[fd00::1]:9400"), "fd00::1");
  EXPECT_EQ(without_port("[fd00::1"), "[fd00::1");
  EXPECT_EQ(without_port("fd00::1"), "fd00::1");
  EXPECT_EQ(without_port(""), "");
}

TEST(MetricNames, ReadPciAddresses) {
  EXPECT_EQ(kernel_pci_address("00000000:3B:00.0"), "0000:3b:00");
  EXPECT_EQ(kernel_pci_address("0000:3b:00.0"), "0000:3b:00");
  EXPECT_EQ(kernel_pci_address("00010000:C1:1F.7"), "10000:c1:1f");
  for (const char* const bad : {"", "3B:00.0", "00000000:0000:0000.0", "g000:3b:00.0", "0000:3b:00:1", "000:3b:00.0"}) {
    EXPECT_EQ(kernel_pci_address(bad), "") << bad;
  }
}

// DCGM_INT64_BLANK and DCGM_FP64_BLANK of dcgm_structs.h; the first is in the README of dcgm-exporter.
TEST(MetricNames, LeaveOutBlankValues) {
  const auto decode = [](double value) { return decode_value(MetricKind::measurement, value); };
  EXPECT_EQ(decode(9223372036854775794.0), std::nullopt);
  EXPECT_EQ(decode(140737488355328.0), std::nullopt);
  EXPECT_EQ(decode(140737488355330.0), std::nullopt);
  EXPECT_EQ(decode(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(decode(std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(decode(140737488355327.0), 140737488355327.0);
  EXPECT_EQ(decode(0), 0);
}

// NvmlBerParser of NVIDIA/DCGM common/DcgmUtilities.cpp: mantissa * 10^-exponent, of bits 8-11 and 0-7.
TEST(MetricNames, DecodeBitErrorRates) {
  const auto decode = [](int raw) { return decode_value(MetricKind::nvlink_ber, raw); };
  EXPECT_EQ(decode((1 << 8) | 12), 1e-12);
  EXPECT_EQ(decode((2 << 8) | 9), 2e-9);
  EXPECT_EQ(decode((15 << 8) | 255), 0);
  EXPECT_EQ(decode(0), 0);
}

}  // namespace
}  // namespace weft::health
