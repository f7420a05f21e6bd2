// Alerts on the ports of hosts: link state, RDMA counters, error correction, and a whole leaf seen from its hosts.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

// A counter that fires above this limit within a window, from NVSentinel's table.
struct Counter {
  std::string_view alert;
  std::string_view metric;
  std::string_view function;  // rate or increase
  std::string_view window;
  int limit;
  std::string_view severity;
  std::string_view what;  // "{host} {device}: <what>"
  std::string_view action;
};

constexpr std::string_view kCable =
    "Reseat, then replace the cable or transceiver; if errors persist, replace the NIC. weft show cables lists "
    "both ends.";
constexpr std::string_view kReceiver =
    "The receiver is too slow or out of buffers: check CPU, PCIe and the job's receive queue depth.";

constexpr Counter kCounters[] = {
    {"RdmaLinkDowned", "node_infiniband_link_downed_total", "increase", "10m", 0, "critical", "link went down", kCable},
    {"RdmaBufferOverrun", "node_infiniband_excessive_buffer_overrun_errors_total", "increase", "10m", 0, "critical",
     "receive buffer overruns", kReceiver},
    {"RdmaLinkIntegrity", "node_infiniband_local_link_integrity_errors_total", "increase", "10m", 0, "critical",
     "too many physical errors", kCable},
    {"RdmaReceiverNotReady", "node_infiniband_rnr_nak_retry_packets_received_total", "increase", "10m", 0, "critical",
     "receiver-not-ready NAKs (RNR)", kReceiver},
    {"RdmaSymbolErrors", "node_infiniband_symbol_error_total", "increase", "1h", kSymbolErrorsPerHour, "critical",
     "symbol errors", kCable},
    {"RdmaSymbolErrorBurst", "node_infiniband_symbol_error_total", "rate", "5m", kSymbolErrorsPerSecond, "warning",
     "burst of symbol errors", kCable},
    {"RdmaLinkRecoveries", "node_infiniband_link_error_recovery_total", "increase", "1m", kLinkRecoveriesPerMinute,
     "warning", "link retraining", kCable},
    {"RdmaReceiveErrors", "node_infiniband_port_errors_received_total", "rate", "5m", kReceiveErrorsPerSecond,
     "warning", "receive errors", kCable},
    {"RdmaAckTimeouts", "node_infiniband_local_ack_timeout_errors_total", "rate", "5m", kAckTimeoutsPerSecond,
     "warning", "ACK timeouts", "Packet loss: check LosslessDrop on the path, or an unreachable peer."},
    {"RdmaTransmitDiscards", "node_infiniband_port_discards_transmitted_total", "rate", "5m",
     kTransmitDiscardsPerSecond, "warning", "transmit discards",
     "The port is down or paused: check PfcPauseStorm and the link state."},
    {"RoceSlowRestarts", "node_infiniband_roce_slow_restart_used_total", "rate", "5m", kSlowRestartsPerSecond,
     "warning", "RoCE slow restarts", "Packet loss: check LosslessDrop on the path."},
};

std::string selection(const Watch& watch) {
  std::string kinds;
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (watch.fabric(kind).present) kinds += (kinds.empty() ? "" : "|") + std::string(model::to_text(kind));
  }
  return kinds.empty() ? std::string() : fmt::format("{{fabric=~\"{}\"}}", kinds);
}

Labels rdma_example(const Watch& watch) {
  const bool backend = watch.fabric(model::FabricKind::backend).present;
  return {{"device", backend ? "mlx5_be1" : "mlx5_sto1"},
          {"fabric", backend ? "backend" : "storage"},
          {"instance", "host1"},
          {"job", "node"},
          {"port", "1"}};
}

void add_counter(const Counter& counter, const std::string& select, const Labels& labels, std::vector<Alert>& out) {
  // promtool has one sample per minute; a window of one minute contains a single sample and no increase.
  const bool short_window = counter.window == "1m";
  const std::string window(short_window ? "2m" : counter.window);
  const int limit = short_window ? 2 * counter.limit : counter.limit;
  const int bad = counter.function == "rate" ? 120 * (counter.limit + 1) : 2 * (counter.limit + 1);  // per minute
  const std::string series = std::string(counter.metric) + selector(labels);
  out.push_back(
      {.name = std::string(counter.alert),
       .expr = fmt::format("{}({}{}[{}]) > {}", counter.function, counter.metric, select, window, limit),
       .wait = "1m",
       .severity = std::string(counter.severity),
       .summary = fmt::format("{{{{ $labels.instance }}}} {{{{ $labels.device }}}}: {}", counter.what),
       .description = fmt::format("{{{{ $labels.instance }}}} {{{{ $labels.device }}}} on the "
                                  "{{{{ $labels.fabric }}}}: {} ({} over the last {}, limit {}).",
                                  counter.what, counter.function, window, limit),
       .action = std::string(counter.action),
       .cases = {fires({{series, fmt::format("0+{}x90", bad)}}, "12m", labels), silent({{series, "17+0x90"}}, "12m")}});
}

void add_link_state(const std::string& select, const Labels& labels, std::vector<Alert>& out) {
  const std::string series = "node_infiniband_state_id" + selector(labels);
  out.push_back(
      {.name = "RdmaPortDown",
       .expr = fmt::format("node_infiniband_state_id{} != 4", select),
       .wait = "1m",
       .severity = "critical",
       .summary = "{{ $labels.instance }} {{ $labels.device }} is down",
       .description = "{{ $labels.instance }} {{ $labels.device }} on the {{ $labels.fabric }} is not active: jobs "
                      "on this server run on the other rails, slower, or stop.",
       .action =
           "Check ibstat or rdma link on the server, and the far end in weft show cables. LeafUnreachable fires if "
           "the leaf is down rather than the cable.",
       .cases = {fires({{series, "4+0x5 1+0x60"}}, "12m", labels), silent({{series, "4+0x60"}}, "12m")}});
  Labels second = labels;
  second[2].second = "host2";
  Labels told;
  for (const auto& [name, value] : labels) {
    if (name == "device" || name == "fabric") told.emplace_back(name, value);
  }
  out.push_back(
      {.name = "LeafUnreachable",
       .expr = fmt::format("count by (fabric, pool, unit, device) (node_infiniband_state_id{0} != 4)\n"
                           "== count by (fabric, pool, unit, device) (node_infiniband_state_id{0}) > 1",
                           select),
       .wait = "1m",
       .severity = "critical",
       .summary = "{{ $labels.fabric }} {{ $labels.unit }}: every server lost {{ $labels.device }}",
       .description = "All {{ $value | printf \"%.0f\" }} servers of {{ $labels.pool }} {{ $labels.unit }} lost "
                      "{{ $labels.device }}: their leaf is down. Alerts of the individual ports are inhibited.",
       .action = "weft show cables lists the leaf (far end of that port). Use console and power control over the "
                 "out-of-band network; weft trace recovery shows the access path. Jobs continue without the rail.",
       .cases = {
           fires({{series, "4+0x5 1+0x60"}, {"node_infiniband_state_id" + selector(second), "4+0x5 1+0x60"}}, "12m",
                 told, "2"),
           silent({{series, "4+0x5 1+0x60"}, {"node_infiniband_state_id" + selector(second), "4+0x60"}}, "12m")}});
}

void add_flaps(std::vector<Alert>& out) {
  const Labels labels = {{"device", "fe1"}, {"fabric", "frontend"}, {"instance", "host1"}, {"job", "node"}};
  const std::string series = "node_network_carrier_changes_total" + selector(labels);
  out.push_back(
      {.name = "LinkFlaps",
       .expr = fmt::format("increase(node_network_carrier_changes_total{{fabric!=\"\"}}[1h]) > {}", kCarrierChanges),
       .wait = "1m",
       .severity = "warning",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: link flaps",
       .description = "{{ $labels.instance }} {{ $labels.device }} on the {{ $labels.fabric }} changed state more "
                      "than twice within an hour.",
       .action = std::string(kCable),
       .cases = {fires({{series, "1+1x90"}}, "12m", labels), silent({{series, "1+0x90"}}, "12m")}});
}

// FEC of Ethernet ports: a link carries its nominal bit rate at all times, with or without traffic.
void add_correction(const Watch& watch, std::vector<Alert>& out) {
  std::vector<AlertCase> raw_cases;
  std::string raw;
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (!fabric.present || !fabric.ethernet || fabric.kind == model::FabricKind::oob || fabric.speed.count() == 0)
      continue;
    const std::string kind(model::to_text(fabric.kind));
    raw += fmt::format("{}rate(node_ethtool_received_corrected_bits_phy{{fabric=\"{}\"}}[15m]) / {} > {}",
                       raw.empty() ? "" : "\nor ", kind, fabric.speed.count(), kRawErrorRatio);
    const Labels labels = {{"device", "port1"}, {"fabric", kind}, {"instance", "host1"}, {"job", "node"}};
    const std::string series = "node_ethtool_received_corrected_bits_phy" + selector(labels);
    const std::int64_t at_limit = fabric.speed.count() / 100'000 * 24 / 10 * 60;  // bits per minute
    raw_cases.push_back(fires({{series, fmt::format("0+{}x60", at_limit * 2)}}, "20m", labels, "4.8e-05"));
    raw_cases.push_back(silent({{series, fmt::format("0+{}x60", at_limit / 10)}}, "20m"));
  }
  if (raw.empty()) return;
  out.push_back(
      {.name = "FecCorrectionsHigh",
       .expr = std::move(raw),
       .wait = "10m",
       .severity = "warning",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: high pre-FEC bit error rate",
       .description =
           "{{ $labels.instance }} {{ $labels.device }} on the {{ $labels.fabric }} has a pre-FEC bit error rate of "
           "{{ $value | printf \"%.1e\" }}, a tenth of what FEC can correct.",
       .action = std::string(kCable),
       .cases = std::move(raw_cases)});
  const Labels labels = {{"device", "be1"}, {"fabric", "backend"}, {"instance", "host1"}, {"job", "node"}};
  const std::string series = "node_ethtool_received_pcs_symbol_err_phy" + selector(labels);
  out.push_back({.name = "FecUncorrected",
                 .expr = "increase(node_ethtool_received_pcs_symbol_err_phy{fabric!=\"\"}[10m]) > 0",
                 .wait = "1m",
                 .severity = "critical",
                 .summary = "{{ $labels.instance }} {{ $labels.device }}: uncorrectable FEC errors",
                 .description = "{{ $labels.instance }} {{ $labels.device }} on the {{ $labels.fabric }} received "
                                "symbols that FEC could not correct; packets are lost.",
                 .action = std::string(kCable),
                 .cases = {fires({{series, "0+4x60"}}, "12m", labels), silent({{series, "4+0x60"}}, "12m")}});
}

}  // namespace

void add_port_alerts(const Watch& watch, std::vector<Alert>& out) {
  const std::string select = selection(watch);
  if (!select.empty()) {
    const Labels labels = rdma_example(watch);
    add_link_state(select, labels, out);
    for (const Counter& counter : kCounters) add_counter(counter, select, labels, out);
  }
  add_flaps(out);
  add_correction(watch, out);
}

}  // namespace weft::render::watch
