// Dashboards of the four fabrics.
#include <fmt/format.h>

#include "render/monitoring/dashboards.h"

namespace weft::render::watch {
namespace {

Panel series(std::string title, std::string unit, std::vector<Query> queries) {
  return {.title = std::move(title), .type = "timeseries", .unit = std::move(unit), .queries = std::move(queries)};
}

Panel with_limit(Panel panel, double limit, bool below = false) {
  panel.limited = true;
  panel.limit = limit;
  panel.below = below;
  return panel;
}

std::string select(model::FabricKind fabric, std::string_view more = {}) {
  return fmt::format("{{fabric=\"{}\",instance=~\"$instance\"{}}}", model::to_text(fabric), more);
}

std::string per_second(std::string_view metric, const std::string& selection) {
  return fmt::format("rate({}{}[$__rate_interval])", metric, selection);
}

std::string name_of(const Watch& watch, std::string_view what) {
  return fmt::format("{}: {}", watch.cluster().name(), what);
}

void add_pauses(const FabricWatch& fabric, Dashboard& out) {
  const std::string where = select(fabric.kind);
  const std::string legend = "{{instance}} {{device}}";
  out.row("Lossless class");
  out.add(with_limit(series("PFC pause time, received", "percentunit", {{"weft:pfc_paused:ratio" + where, legend}}),
                     kStormPercent / 100.0));
  out.add(with_limit(series("PFC pause time, sent", "percentunit", {{"weft:pfc_pausing:ratio" + where, legend}}),
                     kStormPercent / 100.0));
  Panel marks = series("ECN-marked packets", "percentunit", {{"weft:ecn_marked:ratio" + where, legend}});
  if (fabric.ecn_percent > 0) marks = with_limit(std::move(marks), static_cast<double>(fabric.ecn_percent) / 100.0);
  out.add(std::move(marks));
  out.add(with_limit(
      series("Drops in the lossless class", "pps",
             {{per_second(fmt::format("node_ethtool_received_prio{}_discards", fabric.priority), where), legend}}),
      1));
}

}  // namespace

void add_rdma_panels(const Watch& watch, model::FabricKind kind, Dashboard& out) {
  const FabricWatch& fabric = watch.fabric(kind);
  const std::string where = select(kind);
  const std::string legend = "{{instance}} {{device}}";
  out.row("Traffic");
  out.add(series("Received", "Bps", {{per_second("node_infiniband_port_data_received_bytes_total", where), legend}}));
  out.add(series("Sent", "Bps", {{per_second("node_infiniband_port_data_transmitted_bytes_total", where), legend}}));
  out.add(series("Port utilization, received", "percentunit", {{"weft:port_receive:ratio" + where, legend}}));
  out.add(
      with_limit(series("Ports down", "short",
                        {{fmt::format("count by (device) (node_infiniband_state_id{} != 4)", where), "{{device}}"}}),
                 1));
  if (fabric.lossless) add_pauses(fabric, out);
  out.row("Errors");
  out.add(with_limit(series("Symbol errors per hour", "short",
                            {{fmt::format("increase(node_infiniband_symbol_error_total{}[1h])", where), legend}}),
                     kSymbolErrorsPerHour));
  out.add(with_limit(
      series("Receive errors", "pps", {{per_second("node_infiniband_port_errors_received_total", where), legend}}),
      kReceiveErrorsPerSecond));
  out.add(with_limit(series("Transmit discards", "pps",
                            {{per_second("node_infiniband_port_discards_transmitted_total", where), legend}}),
                     kTransmitDiscardsPerSecond));
  out.add(with_limit(
      series("ACK timeouts", "cps", {{per_second("node_infiniband_local_ack_timeout_errors_total", where), legend}}),
      kAckTimeoutsPerSecond));
  out.add(with_limit(series("Link downs per hour", "short",
                            {{fmt::format("increase(node_infiniband_link_downed_total{}[1h])", where), legend}}),
                     1));
  if (!fabric.ethernet) return;
  out.add(with_limit(
      series("Pre-FEC bit error rate", "none",
             {{fmt::format("rate(node_ethtool_received_corrected_bits_phy{}[15m]) / {}", where, fabric.speed.count()),
               legend}}),
      2.4e-5));
  out.add(with_limit(
      series("Paths lost", "short",
             {{fmt::format("count by (from, instance) (probe_success{{job=\"ping_{}\"}} == 0)", model::to_text(kind)),
               "{{from}} to {{instance}}"}}),
      1));
}

Dashboard fabric_dashboard(const Watch& watch, model::FabricKind kind) {
  const std::string name(model::to_text(kind));
  Dashboard out("weft-" + name, name_of(watch, name));
  out.variable("instance", "Server", "up{job=\"node\"}");
  if (kind == model::FabricKind::backend) {
    add_rdma_panels(watch, kind, out);
    return out;
  }
  const std::string where = select(kind);
  const std::string legend = "{{instance}} {{device}}";
  out.row("Servers");
  out.add(series("Received", "Bps", {{per_second("node_network_receive_bytes_total", where), legend}}));
  out.add(series("Sent", "Bps", {{per_second("node_network_transmit_bytes_total", where), legend}}));
  out.add(with_limit(series("Carrier changes per hour", "short",
                            {{fmt::format("increase(node_network_carrier_changes_total{}[1h])", where), legend}}),
                     kCarrierChanges));
  out.add(series(
      "Round-trip time", "s",
      {{"probe_icmp_duration_seconds{job=\"ping_frontend\",phase=\"rtt\",instance=~\"$instance\"}", "{{instance}}"}}));
  out.add(with_limit(series("Servers down", "short", {{"count by (pool) (up{job=\"node\"} == 0)", "{{pool}}"}}), 1));
  out.add(with_limit(
      series("Clock offset", "s", {{"abs(node_timex_offset_seconds{instance=~\"$instance\"})", "{{instance}}"}}),
      0.05));
  if (!watch.cluster().spec().services->empty()) {
    out.row("Services");
    out.add(with_limit(
        series("Healthy servers per service", "short", {{"haproxy_backend_active_servers", "{{proxy}}"}}), 1, true));
    out.add(series("Requests", "reqps",
                   {{"sum by (proxy, code) (rate(haproxy_backend_http_responses_total[$__rate_interval]))",
                     "{{proxy}} {{code}}"}}));
    out.add(with_limit(series("Days until certificates expire", "short",
                              {{"(probe_ssl_earliest_cert_expiry - time()) / 86400", "{{instance}}"}}),
                       kCertificateDays, true));
  }
  return out;
}

Dashboard storage_dashboard(const Watch& watch) {
  Dashboard out("weft-storage", name_of(watch, "storage"));
  out.variable("instance", "Server", "up{job=~\"node|storage\"}");
  const std::string some = "{instance=~\"$instance\"}";
  out.row("Client throughput and latency");
  out.add(series("Block reads", "Bps",
                 {{"sum by (instance) "
                   "(rate(node_disk_read_bytes_total{device=~\"nvme.+\",instance=~\"$instance\"}[$__rate_interval]))",
                   "{{instance}}"}}));
  out.add(
      series("Block writes", "Bps",
             {{"sum by (instance) "
               "(rate(node_disk_written_bytes_total{device=~\"nvme.+\",instance=~\"$instance\"}[$__rate_interval]))",
               "{{instance}}"}}));
  out.add(with_limit(
      series("Read latency", "ms",
             {{"1000 * "
               "rate(node_disk_read_time_seconds_total{device=~\"nvme.+\",instance=~\"$instance\"}[$__rate_interval]) "
               "/ rate(node_disk_reads_completed_total{device=~\"nvme.+\",instance=~\"$instance\"}[$__rate_interval])",
               "{{instance}} {{device}}"}}),
      kBlockLatencyMillis));
  out.add(with_limit(series("NFS latency", "ms",
                            {{"1000 * "
                              "rate(node_mountstats_nfs_operations_response_time_seconds_total{operation=~\"READ|"
                              "WRITE\",instance=~\"$instance\"}[$__rate_interval]) / "
                              "rate(node_mountstats_nfs_operations_requests_total{operation=~\"READ|WRITE\",instance=~"
                              "\"$instance\"}[$__rate_interval])",
                              "{{instance}} {{export}} {{operation}}"}}),
                     kFileLatencyMillis));
  out.add(series("NFS operations by kind", "ops",
                 {{"sum by (operation) "
                   "(rate(node_mountstats_nfs_operations_requests_total{instance=~\"$instance\"}[$__rate_interval]))",
                   "{{operation}}"}}));
  out.add(with_limit(series("Free space", "percent",
                            {{"100 * node_filesystem_avail_bytes{fstype=~\"nfs.*|lustre|gpfs|beegfs.*|wekafs\"} / "
                              "node_filesystem_size_bytes",
                              "{{mountpoint}}"}}),
                     kFilesystemPercent, true));
  out.row("Paths");
  out.add(series("Live paths", "short", {{"node_nvmesubsystem_paths_live" + some, "{{instance}} {{subsystem}}"}}));
  out.add(with_limit(
      series("Storage servers down", "short", {{"count(up{job=\"storage\"} == 0) or vector(0)", "servers"}}), 1));
  add_rdma_panels(watch, model::FabricKind::storage, out);
  return out;
}

Dashboard oob_dashboard(const Watch& watch) {
  Dashboard out("weft-oob", name_of(watch, "out-of-band, switches, power"));
  out.variable("fabric", "Fabric", "up{job=\"snmp\"}");
  const std::string some = "{fabric=~\"$fabric\"}";
  out.row("Out-of-band network");
  out.add(with_limit(
      series("BMCs that do not answer", "short", {{"count by (rack) (up{job=\"bmc\"} == 0)", "{{rack}}"}}), 1));
  out.add(with_limit(series("Out-of-band reachability by rack", "percentunit",
                            {{"avg by (rack) (probe_success{job=\"ping_oob\"})", "{{rack}}"}}),
                     0.5, true));
  out.add(with_limit(series("Unreachable switches", "short",
                            {{"count by (fabric, tier) (up{job=\"snmp\"} == 0)", "{{fabric}} {{tier}}"}}),
                     1));
  out.add(with_limit(series("Hardware health (3 critical)", "short",
                            {{"max by (instance) (redfish_system_health_state)", "{{instance}}"}}),
                     3));
  out.row("Power");
  out.add(with_limit(
      series("PDU load", "percent",
             {{"1000 * rPDU2DeviceStatusPower / on (model) group_left () weft:pdu_rating:watts", "{{rack}} {{feed}}"}}),
      kPduPercent));
  out.add(series("Power by rack", "watt", {{"10 * sum by (rack) (rPDU2DeviceStatusPower)", "{{rack}}"}}));
  out.row("Switches");
  out.add(series("Port traffic, sent", "bps",
                 {{"8 * rate(ifHCOutOctets" + some + "[$__rate_interval])", "{{instance}} {{ifName}}"}}));
  out.add(with_limit(series("Frames with errors", "pps",
                            {{"rate(ifInErrors" + some + "[$__rate_interval])", "{{instance}} {{ifName}}"}}),
                     1));
  out.add(series("Pause frames received", "pps",
                 {{"rate(cpfcIfPriorityIndications" + some + "[$__rate_interval])",
                   "{{instance}} {{ifName}} {{cpfcIfPriorityValue}}"}}));
  out.add(with_limit(
      series("BGP sessions missing", "short",
             {{"weft:bgp_sessions:designed" + some + " - on (instance, fabric) weft:bgp_sessions:established",
               "{{instance}}"}}),
      1));
  out.add(series("Queue watermarks (SONiC)", "bytes",
                 {{"sonic_queue_watermark_bytes_total" + some, "{{instance}} {{device}} {{queue}}"}}));
  out.add(with_limit(series("Queue drops (SONiC)", "pps",
                            {{"rate(sonic_queue_dropped_packets_total" + some + "[$__rate_interval])",
                              "{{instance}} {{device}} {{queue}}"}}),
                     1));
  return out;
}

}  // namespace weft::render::watch
