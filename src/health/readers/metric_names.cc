#include "health/readers/metric_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "health/readers/exposition.h"

namespace weft::health {
namespace {

constexpr std::size_t kMaxNameBytes = 256;  // of a node or a part

constexpr MetricMeaning dcgm(std::string_view metric, std::string_view signal, PartKind part = PartKind::gpu,
                             MetricKind kind = MetricKind::measurement) {
  return {metric, signal, part, kind, SignalSource::gpu};
}
constexpr MetricMeaning ib(std::string_view metric, std::string_view signal) {
  return {metric, signal, PartKind::ib_port, MetricKind::measurement, SignalSource::network};
}
constexpr MetricMeaning net(std::string_view metric, std::string_view signal) {
  return {metric, signal, PartKind::network_device, MetricKind::measurement, SignalSource::network};
}
constexpr MetricMeaning host(std::string_view metric, std::string_view signal, PartKind part) {
  return {metric, signal, part, MetricKind::measurement, SignalSource::host};
}

// By field of DCGM: the name of DCGM 3, then that of DCGM 4.
constexpr MetricMeaning kDcgm[] = {
    dcgm("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "dcgm:clock_reasons"),  // 112
    dcgm("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "dcgm:clock_reasons"),
    dcgm("DCGM_FI_DEV_MEMORY_TEMP", "dcgm:memory_temp"),  // 140
    dcgm("DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", "dcgm:memory_temp"),
    dcgm("DCGM_FI_DEV_GPU_TEMP", "dcgm:gpu_temp"),  // 150
    dcgm("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "dcgm:gpu_temp"),
    dcgm("DCGM_FI_DEV_MEM_MAX_OP_TEMP", "dcgm:memory_max_op_temp"),  // 151
    dcgm("DCGM_FI_DEV_MEMORY_MAX_OP_TEMP_CELSIUS", "dcgm:memory_max_op_temp"),
    dcgm("DCGM_FI_DEV_GPU_MAX_OP_TEMP", "dcgm:gpu_max_op_temp"),  // 152
    dcgm("DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS", "dcgm:gpu_max_op_temp"),
    dcgm("DCGM_FI_DEV_GPU_TEMP_LIMIT", "dcgm:temp_margin"),  // 153: distance to the nearest slowdown threshold
    dcgm("DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS", "dcgm:temp_margin"),
    dcgm("DCGM_FI_DEV_POWER_USAGE", "dcgm:power"),  // 155
    dcgm("DCGM_FI_DEV_BOARD_POWER_WATTS", "dcgm:power"),
    dcgm("DCGM_FI_DEV_SLOWDOWN_TEMP", "dcgm:slowdown_temp"),  // 158
    dcgm("DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS", "dcgm:slowdown_temp"),
    dcgm("DCGM_FI_DEV_SHUTDOWN_TEMP", "dcgm:shutdown_temp"),  // 159
    dcgm("DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS", "dcgm:shutdown_temp"),
    // 170: 0 not supported, 1 not started, 2 in progress, 3 success, 4 failure, 5 unrecognized, 6 NVML too old
    dcgm("DCGM_FI_DEV_FABRIC_MANAGER_STATUS", "dcgm:fabric_manager"),
    dcgm("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "dcgm:pcie_replay"),  // 202
    dcgm("DCGM_FI_DEV_PCIE_REPLAY_TOTAL", "dcgm:pcie_replay"),
    dcgm("DCGM_FI_DEV_GPU_UTIL", "dcgm:gpu_util", PartKind::whole_gpu),  // 203, in percent
    dcgm("DCGM_FI_DEV_GPU_UTIL_RATIO", "dcgm:gpu_util", PartKind::whole_gpu),
    dcgm("DCGM_FI_DEV_XID_ERRORS", "xid", PartKind::gpu, MetricKind::last_xid),  // 230
    dcgm("DCGM_FI_DEV_XID_ERROR", "xid", PartKind::gpu, MetricKind::last_xid),
    dcgm("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "dcgm:pcie_max_gen"),       // 235
    dcgm("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "dcgm:pcie_max_width"),   // 236
    dcgm("DCGM_FI_DEV_PCIE_LINK_GEN", "dcgm:pcie_gen"),               // 237
    dcgm("DCGM_FI_DEV_PCIE_LINK_WIDTH", "dcgm:pcie_width"),           // 238
    dcgm("DCGM_FI_DEV_POWER_VIOLATION", "dcgm:power_violation"),      // 240, in ns
    dcgm("DCGM_FI_DEV_THERMAL_VIOLATION", "dcgm:thermal_violation"),  // 241, in ns
    dcgm("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "dcgm:ecc_sbe"),            // 310
    dcgm("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "dcgm:ecc_dbe"),            // 311
    dcgm("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "dcgm:ecc_sbe_aggregate"),  // 312
    dcgm("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "dcgm:ecc_dbe_aggregate"),  // 313
    dcgm("DCGM_FI_DEV_THRESHOLD_SRM", "dcgm:sram_threshold"),         // 346: 1 if exceeded
    dcgm("DCGM_FI_DEV_SRAM_EXCEEDED", "dcgm:sram_threshold"),
    dcgm("DCGM_FI_DEV_BANKS_REMAP_ROWS_AVAIL_NONE", "dcgm:banks_without_spare"),  // 389
    dcgm("DCGM_FI_DEV_BANK_REMAP_AVAIL_NONE", "dcgm:banks_without_spare"),
    dcgm("DCGM_FI_DEV_RETIRED_SBE", "dcgm:retired_sbe"),  // 390
    dcgm("DCGM_FI_DEV_PAGE_RETIRED_SBE_TOTAL", "dcgm:retired_sbe"),
    dcgm("DCGM_FI_DEV_RETIRED_DBE", "dcgm:retired_dbe"),  // 391
    dcgm("DCGM_FI_DEV_PAGE_RETIRED_DBE_TOTAL", "dcgm:retired_dbe"),
    dcgm("DCGM_FI_DEV_RETIRED_PENDING", "dcgm:retired_pending"),  // 392
    dcgm("DCGM_FI_DEV_PAGE_RETIRED_PENDING", "dcgm:retired_pending"),
    dcgm("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "dcgm:remapped_uncorrectable"),  // 393
    dcgm("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", "dcgm:remapped_uncorrectable"),
    dcgm("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "dcgm:remapped_correctable"),  // 394
    dcgm("DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL", "dcgm:remapped_correctable"),
    dcgm("DCGM_FI_DEV_ROW_REMAP_FAILURE", "dcgm:remap_failed"),  // 395
    dcgm("DCGM_FI_DEV_ROW_REMAP_FAILED", "dcgm:remap_failed"),
    dcgm("DCGM_FI_DEV_ROW_REMAP_PENDING", "dcgm:remap_pending"),               // 396
    dcgm("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "dcgm:nvlink_crc"),  // 409
    dcgm("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", "dcgm:nvlink_crc"),
    dcgm("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "dcgm:nvlink_crc_data"),  // 419
    dcgm("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", "dcgm:nvlink_crc_data"),
    dcgm("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "dcgm:nvlink_replay"),  // 429
    dcgm("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", "dcgm:nvlink_replay"),
    dcgm("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "dcgm:nvlink_recovery"),  // 439
    dcgm("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", "dcgm:nvlink_recovery"),
    dcgm("DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS", "sxid", PartKind::gpu, MetricKind::last_sxid),  // 856
    dcgm("DCGM_FI_DEV_SXID_FATAL_ERROR", "sxid", PartKind::gpu, MetricKind::last_sxid),
    dcgm("DCGM_FI_PROF_SM_ACTIVE", "dcgm:sm_active", PartKind::whole_gpu),  // 1002, from 0 to 1
    dcgm("DCGM_FI_PROF_SM_UTIL_RATIO", "dcgm:sm_active", PartKind::whole_gpu),
    dcgm("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "dcgm:tensor_active", PartKind::whole_gpu),  // 1004, from 0 to 1
    dcgm("DCGM_FI_PROF_TENSOR_UTIL_RATIO", "dcgm:tensor_active", PartKind::whole_gpu),
    dcgm("DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", "dcgm:nvlink_recovery_failed"),  // 1212
    dcgm("DCGM_FI_DEV_NVLINK_RECOVERY_FAILED_TOTAL", "dcgm:nvlink_recovery_failed"),
    // 1215 and 1217 as NVML encodes them. dcgm-exporter prints 1216 and 1218, the same as a number, with six decimals
    // (`%f` in gpu_collector.go), so that 1e-12 reads as 0: they are left out.
    dcgm("DCGM_FI_DEV_NVLINK_COUNT_SYMBOL_BER", "dcgm:nvlink_symbol_ber", PartKind::gpu, MetricKind::nvlink_ber),
    dcgm("DCGM_FI_DEV_NVLINK_SYMBOL_BER_RAW", "dcgm:nvlink_symbol_ber", PartKind::gpu, MetricKind::nvlink_ber),
    dcgm("DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER", "dcgm:nvlink_effective_ber", PartKind::gpu, MetricKind::nvlink_ber),
    dcgm("DCGM_FI_DEV_NVLINK_EFFECTIVE_BER_RAW", "dcgm:nvlink_effective_ber", PartKind::gpu, MetricKind::nvlink_ber),
    // 1523: 0 none, 1 reset GPU, 2 reboot node, 3 drain P2P, 4 drain and reset
    dcgm("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "dcgm:recovery_action"),
    dcgm("DCGM_FI_DEV_GPU_RECOVERY_ACTION", "dcgm:recovery_action"),
};

// node_exporter, then rdma_exporter, which keeps the kernel's names of counters.
constexpr MetricMeaning kHost[] = {
    ib("node_infiniband_link_downed_total", "ib:link_downed"),
    ib("node_infiniband_symbol_error_total", "ib:symbol_error"),
    ib("node_infiniband_link_error_recovery_total", "ib:link_error_recovery"),
    ib("node_infiniband_port_errors_received_total", "ib:port_rcv_errors"),
    ib("node_infiniband_port_receive_remote_physical_errors_total", "ib:port_rcv_remote_physical_errors"),
    ib("node_infiniband_excessive_buffer_overrun_errors_total", "ib:excessive_buffer_overrun_errors"),
    ib("node_infiniband_local_link_integrity_errors_total", "ib:local_link_integrity_errors"),
    ib("node_infiniband_port_discards_transmitted_total", "ib:port_xmit_discards"),
    ib("node_infiniband_state_id", "ib:port_state"),                    // 1 down, 2 init, 3 armed, 4 active
    ib("node_infiniband_physical_state_id", "ib:port_physical_state"),  // 2 polling, 3 disabled, 5 link up
    ib("node_infiniband_rnr_nak_retry_packets_received_total", "ib:rnr_nak_retry_err"),
    ib("node_infiniband_local_ack_timeout_errors_total", "ib:local_ack_timeout_err"),
    ib("node_infiniband_packet_sequence_errors_total", "ib:packet_seq_err"),
    ib("node_infiniband_roce_slow_restart_total", "ib:roce_slow_restart"),
    net("node_network_carrier", "net:carrier"),
    net("node_network_up", "net:up"),
    net("node_network_carrier_changes_total", "net:carrier_changes"),
    host("node_edac_correctable_errors_total", "edac:corrected_count", PartKind::memory_controller),
    host("node_edac_uncorrectable_errors_total", "edac:uncorrected_count", PartKind::memory_controller),
    host("node_filesystem_readonly", "host:fs_readonly", PartKind::filesystem),
    host("node_filesystem_device_error", "host:fs_device_error", PartKind::filesystem),
    host("node_boot_time_seconds", "host:boot_time", PartKind::node),
    ib("rdma_link_downed_total", "ib:link_downed"),
    ib("rdma_symbol_error_total", "ib:symbol_error"),
    ib("rdma_link_error_recovery_total", "ib:link_error_recovery"),
    ib("rdma_port_rcv_errors_total", "ib:port_rcv_errors"),
    ib("rdma_port_rcv_remote_physical_errors_total", "ib:port_rcv_remote_physical_errors"),
    ib("rdma_excessive_buffer_overrun_errors_total", "ib:excessive_buffer_overrun_errors"),
    ib("rdma_local_link_integrity_errors_total", "ib:local_link_integrity_errors"),
    ib("rdma_port_xmit_discards_total", "ib:port_xmit_discards"),
    ib("rdma_rnr_nak_retry_err_total", "ib:rnr_nak_retry_err"),
    ib("rdma_local_ack_timeout_err_total", "ib:local_ack_timeout_err"),
    ib("rdma_packet_seq_err_total", "ib:packet_seq_err"),
    ib("rdma_roce_slow_restart_total", "ib:roce_slow_restart"),
};

// From the surest to the least sure: names that exporters and relabeling give to a node, then the address of the
// target.
constexpr std::string_view kNodeLabels[] = {"Hostname", "hostname", "nodename", "node", "kubernetes_node", "instance"};

// The labels that say where a metric belongs; "" for those that are missing.
struct PlaceLabels {
  std::array<std::string, std::size(kNodeLabels)> nodes;
  std::string gpu;
  std::string bus_id;
  std::string device;
  std::string mig_instance;
  std::string nvlink;
  std::string nvswitch;
  std::string port;
  std::string controller;
  std::string mount_point;
  std::string filesystem_type;
};

std::string* find_slot(PlaceLabels& labels, std::string_view name) {
  const auto* const node = std::find(std::begin(kNodeLabels), std::end(kNodeLabels), name);
  if (node != std::end(kNodeLabels)) return &labels.nodes[static_cast<std::size_t>(node - std::begin(kNodeLabels))];
  if (name == "gpu") return &labels.gpu;
  if (name == "pci_bus_id") return &labels.bus_id;
  if (name == "device") return &labels.device;
  if (name == "GPU_I_ID") return &labels.mig_instance;
  if (name == "nvlink") return &labels.nvlink;
  if (name == "nvswitch") return &labels.nvswitch;
  if (name == "port") return &labels.port;
  if (name == "controller") return &labels.controller;
  if (name == "mountpoint") return &labels.mount_point;
  if (name == "fstype") return &labels.filesystem_type;
  return nullptr;
}

PlaceLabels read_labels(std::string_view text) {
  PlaceLabels labels;
  LabelReader reader(text);
  MetricLabel label;
  std::string buffer;
  while (reader.next(label)) {
    std::string* const slot = find_slot(labels, label.name);
    // These become names in messages and tables.
    if (slot != nullptr) *slot = printable(label.value(buffer).substr(0, kMaxNameBytes));
  }
  return labels;
}

std::string find_node(const PlaceLabels& labels) {
  for (const std::string& each : labels.nodes) {
    if (!each.empty()) return &each == &labels.nodes.back() ? std::string(without_port(each)) : each;
  }
  return {};
}

std::string describe_gpu(const PlaceLabels& labels) {
  const std::string address = kernel_pci_address(labels.bus_id);
  const std::string link = labels.nvlink.empty() ? "" : " link " + labels.nvlink;
  if (!address.empty()) return "GPU " + address + link;
  if (!labels.gpu.empty()) return "GPU " + labels.gpu + link;
  if (!labels.nvswitch.empty()) return "NVSwitch " + labels.nvswitch + link;
  return {};
}

// Those of containers and of the kernel itself, which come and go.
bool is_virtual(std::string_view device) {
  static constexpr std::string_view kPrefixes[] = {"veth", "cali",    "cilium",    "lxc",  "docker",
                                                   "cni",  "flannel", "virbr",     "vnet", "tap",
                                                   "tun",  "dummy",   "kube-ipvs", "br-",  "nodelocaldns"};
  const auto begins = [&](std::string_view prefix) { return device.starts_with(prefix); };
  return device == "lo" || std::any_of(std::begin(kPrefixes), std::end(kPrefixes), begins);
}

bool is_read_only_by_nature(std::string_view type) {
  return type == "squashfs" || type == "iso9660" || type == "erofs" || type == "cramfs" || type == "udf";
}

// nullopt: left out.
std::optional<std::string> describe_part(PartKind part, const PlaceLabels& labels) {
  switch (part) {
    case PartKind::node:
      return std::string();
    case PartKind::whole_gpu:
      if (!labels.mig_instance.empty()) return std::nullopt;
      return describe_gpu(labels);
    case PartKind::gpu:
      return describe_gpu(labels);
    case PartKind::ib_port:
      return labels.port.empty() ? labels.device : labels.device + "/" + labels.port;
    case PartKind::network_device:
      if (is_virtual(labels.device)) return std::nullopt;
      return labels.device;
    case PartKind::memory_controller:
      return labels.controller.empty() ? std::string() : "mc" + labels.controller;
    case PartKind::filesystem:
      if (is_read_only_by_nature(labels.filesystem_type)) return std::nullopt;
      return labels.mount_point;
  }
  return std::nullopt;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// NVML_NVLINK_ERROR_COUNTER_BER_GET of nvml.h: bits 0-7 are the exponent, bits 8-11 the mantissa; 15 and 255 mean zero.
double decode_ber(double value) {
  if (value < 0 || value > 0xFFF) return value;
  const auto bits = static_cast<unsigned>(value);
  const unsigned mantissa = bits >> 8U;
  const unsigned exponent = bits & 0xFFU;
  if (mantissa == 15 && exponent == 255) return 0;
  const std::string text = std::to_string(mantissa) + "e-" + std::to_string(exponent);
  double decoded = 0;
  std::from_chars(text.data(), text.data() + text.size(), decoded);
  return decoded;
}

}  // namespace

std::span<const MetricMeaning> known_metrics() {
  static const std::vector<MetricMeaning> sorted = [] {
    std::vector<MetricMeaning> all(std::begin(kDcgm), std::end(kDcgm));
    all.insert(all.end(), std::begin(kHost), std::end(kHost));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.metric < b.metric; });
    return all;
  }();
  return sorted;
}

const MetricMeaning* find_metric(std::string_view name) {
  const std::span<const MetricMeaning> all = known_metrics();
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const MetricMeaning& each, std::string_view wanted) { return each.metric < wanted; });
  return found != all.end() && found->metric == name ? &*found : nullptr;
}

std::optional<MetricPlace> find_place(const MetricMeaning& meaning, std::string_view labels) {
  const PlaceLabels read = read_labels(labels);
  std::optional<std::string> part = describe_part(meaning.part, read);
  if (!part) return std::nullopt;
  return MetricPlace{find_node(read), *std::move(part)};
}

std::optional<double> decode_value(MetricKind kind, double value) {
  constexpr double kBlankInteger = 9223372036854775808.0;  // DCGM_INT64_BLANK and its neighbors, as a double
  constexpr double kBlankNumber = 140737488355328.0;       // DCGM_FP64_BLANK; its neighbors are 1 to 5 more
  if (!std::isfinite(value) || value >= kBlankInteger) return std::nullopt;
  if (value >= kBlankNumber && value < kBlankNumber + 16) return std::nullopt;
  return kind == MetricKind::nvlink_ber ? decode_ber(value) : value;
}

std::string_view without_port(std::string_view instance) {
  if (instance.starts_with('[')) {
    const std::size_t close = instance.find(']');
    return close == std::string_view::npos ? instance : instance.substr(1, close - 1);
  }
  const std::size_t colon = instance.find(':');
  // More than one colon: an IPv6 address without a port.
  return instance.find(':', colon + 1) == std::string_view::npos ? instance.substr(0, colon) : instance;
}

std::string kernel_pci_address(std::string_view bus_id) {
  const std::string lower = to_lower(bus_id);
  const std::vector<std::string_view> fields = split(lower, ':');
  if (fields.size() != 3) return {};
  std::string_view domain = fields[0];
  const std::string_view bus = fields[1];
  const std::string_view slot = fields[2].substr(0, fields[2].find('.'));
  if (domain.size() < 4 || domain.size() > 8 || bus.size() != 2 || slot.size() != 2) return {};
  if (!is_hex(domain) || !is_hex(bus) || !is_hex(slot)) return {};
  while (domain.size() > 4 && domain.front() == '0') domain.remove_prefix(1);
  return std::string(domain) + ":" + std::string(bus) + ":" + std::string(slot);
}

}  // namespace weft::health
