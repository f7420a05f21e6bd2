// What the metrics of dcgm-exporter, node_exporter and RDMA exporters mean: a table from the name of a metric to the
// name of a signal, and from its labels to the node and the part of it.
//
// dcgm-exporter names metrics after DCGM's fields as its list of counters spells them, so the names of DCGM 3 and those
// that DCGM 4 introduced (`_CELSIUS`, `_TOTAL`, `_RATIO`) both occur and mean the same field.
// Sources: NVIDIA/DCGM 72fa3fe dcgmlib/dcgm_fields.h; NVIDIA/dcgm-exporter d5e5f51 etc/default-counters.csv and
// internal/pkg/rendermetrics; prometheus/node_exporter a7dcc3a collector/infiniband_linux.go and
// collector/fixtures/e2e-output.txt; yuuki/rdma_exporter README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "health/core/signal.h"

namespace weft::health {

// What the labels name.
enum class PartKind : std::uint8_t {
  node,               // the node itself
  gpu,                // "GPU 0000:3b:00", "GPU 0" without a PCI address, "GPU 0000:3b:00 link 4", "NVSwitch 1"
  whole_gpu,          // the same, for values that differ between MIG instances: those of instances are left out
  ib_port,            // "mlx5_0/1"
  network_device,     // "ens1f0"; not virtual ones
  memory_controller,  // "mc0"
  filesystem          // its mount point; not those that are read-only by nature
};

enum class MetricKind : std::uint8_t {
  measurement,
  nvlink_ber,  // a bit error rate as NVML encodes it
  last_xid,    // the code of the last Xid: an event "xid:CODE" when it changes
  last_sxid    // of an NVSwitch: "sxid:CODE"
};

struct MetricMeaning {
  std::string_view metric;
  std::string_view signal;  // of an event: its family
  PartKind part = PartKind::node;
  MetricKind kind = MetricKind::measurement;
  SignalSource source = SignalSource::other;

  [[nodiscard]] bool is_event() const { return kind == MetricKind::last_xid || kind == MetricKind::last_sxid; }
};

// Sorted by `metric`.
[[nodiscard]] std::span<const MetricMeaning> known_metrics();
// nullptr: it says nothing about health.
[[nodiscard]] const MetricMeaning* find_metric(std::string_view name);

struct MetricPlace {
  std::string node;  // "": no label says so
  std::string part;
};
// nullopt: the metric of these labels is left out.
[[nodiscard]] std::optional<MetricPlace> find_place(const MetricMeaning& meaning, std::string_view labels);

// nullopt: the source has no value, which DCGM expresses by numbers near 2^47 and 2^63, and others by NaN.
[[nodiscard]] std::optional<double> decode_value(MetricKind kind, double value);

// "10.0.0.1:9400" is "10.0.0.1", "[fd00::1]:9400" is "fd00::1".
[[nodiscard]] std::string_view without_port(std::string_view instance);
// DCGM's "00000000:3B:00.0" as the kernel writes it: "0000:3b:00". "" if it is not a PCI address.
[[nodiscard]] std::string kernel_pci_address(std::string_view bus_id);

}  // namespace weft::health
