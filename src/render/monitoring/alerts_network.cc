// Alerts on the lossless class of the fabrics (pauses, drops, marks). Ports and switches have files of their own.
#include <fmt/format.h>

#include "base/text.h"
#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: node_exporter, collectors infiniband (collector/infiniband_linux.go) and ethtool (collector/\n"
    "ethtool_linux.go turns rx_ into received_, tx_ into transmitted_); counters of ConnectX: kernel.org,\n"
    "networking/device_drivers/ethernet/mellanox/mlx5/counters.rst. Switches: snmp_exporter with IF-MIB and\n"
    "CISCO-PFC-EXT-MIB, which SONiC supports too (SONiC wiki, PFC and Queue SNMP counters), github.com/vinted/\n"
    "sonic-exporter, github.com/tynany/frr_exporter, github.com/guilbaults/infiniband-exporter. The label fabric of\n"
    "host series is derived from the interface name at scrape time. Limits of RDMA counters: NVSentinel. A\n"
    "pause frame stops a port for at most 65535 x 512 bit times (IEEE 802.3 annex 31B), which converts frames per "
    "second\n"
    "to a fraction of time.";

struct Example {
  Labels port;     // labels of a host's netdev series
  Labels rdma;     // labels of the same port's RDMA device
  Labels at_leaf;  // labels of a switch port
};

Example example_of(const Watch& watch, const FabricWatch& fabric) {
  const std::string kind(model::to_text(fabric.kind));
  const std::string device = fabric.kind == model::FabricKind::backend ? "be1" : "sto1";
  return {{{"device", device}, {"fabric", kind}, {"instance", "host1"}, {"job", "node"}},
          {{"device", "mlx5_" + device}, {"fabric", kind}, {"instance", "host1"}, {"job", "node"}, {"port", "1"}},
          {{"cpfcIfPriorityValue", fmt::format("{}", fabric.priority)},
           {"fabric", kind},
           {"ifName", "port1"},
           {"instance", fmt::format("{}-leaf", watch.cluster().name())},
           {"job", "snmp"}}};
}

Labels with(Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

std::vector<FabricWatch> lossless_fabrics(const Watch& watch) {
  std::vector<FabricWatch> out;
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (fabric.present && fabric.lossless) out.push_back(fabric);
  }
  return out;
}

bool has_pfc_mib(const FabricWatch& fabric) { return fabric.system == "sonic" || fabric.system == "nxos"; }

void add_host_pauses(const Watch& watch, const std::vector<FabricWatch>& fabrics, std::vector<Alert>& out) {
  std::vector<AlertCase> paused;
  std::vector<AlertCase> pausing;
  for (const FabricWatch& fabric : fabrics) {
    const Labels port = example_of(watch, fabric).port;
    const std::string priority = fmt::format("{}", fabric.priority);
    const Labels told = with(port, "priority", priority);
    const std::string received = fmt::format("node_ethtool_received_prio{}_pause_duration", priority) + selector(port);
    const std::string sent = fmt::format("node_ethtool_transmitted_prio{}_pause_duration", priority) + selector(port);
    // Microseconds of pause: 15 s of every minute, and 0.6 s.
    paused.push_back(fires({{received, "0+15000000x60"}}, "12m", told, "25%"));
    paused.push_back(silent({{received, "0+600000x60"}}, "12m"));
    pausing.push_back(fires({{sent, "0+15000000x60"}}, "12m", told, "25%"));
    pausing.push_back(silent({{sent, "0+600000x60"}}, "12m"));
  }
  out.push_back({.name = "PfcPauseStorm",
                 .expr = fmt::format("weft:pfc_paused:ratio > 0.{:02}", kStormPercent),
                 .wait = "2m",
                 .severity = "critical",
                 .summary = "{{ $labels.instance }} {{ $labels.device }}: PFC pause storm on the {{ $labels.fabric }}",
                 .description = "{{ $labels.instance }} {{ $labels.device }} received PFC pauses for priority "
                                "{{ $labels.priority }} for {{ $value | humanizePercentage }} of the last 5 minutes.",
                 .action =
                     "Find the port that sends pauses but receives none (dashboard backend, PFC by port): its host is "
                     "the source. Drain that host, reset its NIC; if no host is found, shut down the leaf port. If ECN "
                     "marks are absent while pauses are high, the WRED profile is not bound (weft check --config).",
                 .cases = std::move(paused)});
  out.push_back(
      {.name = "PfcSlowReceiver",
       .expr = fmt::format("weft:pfc_pausing:ratio > 0.{:02}", kStormPercent),
       .wait = "2m",
       .severity = "critical",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: slow receiver",
       .description = "{{ $labels.instance }} {{ $labels.device }} sent pauses for priority "
                      "{{ $labels.priority }} for {{ $value | humanizePercentage }} of the last 5 minutes: it "
                      "receives more slowly than its leaf sends.",
       .action = "Check PCIe width and speed of the NIC (lspci -vv), IOMMU, NUMA placement of the job, relaxed "
                 "ordering. Drain the host: slow receivers cause pause storms.",
       .cases = std::move(pausing)});
}

void add_switch_pauses(const Watch& watch, const std::vector<FabricWatch>& fabrics, std::vector<Alert>& out) {
  std::vector<std::string> parts;
  std::vector<AlertCase> cases;
  for (const FabricWatch& fabric : fabrics) {
    if (!has_pfc_mib(fabric)) continue;
    const std::string select =
        fmt::format("{{fabric=\"{}\",cpfcIfPriorityValue=\"{}\"}}", model::to_text(fabric.kind), fabric.priority);
    parts.push_back(fmt::format("rate(cpfcIfPriorityIndications{}[5m]) > {}", select, fabric.storm_frames()));
    const Labels labels = example_of(watch, fabric).at_leaf;
    const std::string series = "cpfcIfPriorityIndications" + selector(labels);
    const std::int64_t a_minute = fabric.storm_frames() * 60;
    cases.push_back(fires({{series, fmt::format("0+{}x60", a_minute * 2)}}, "12m", labels,
                          fmt::format("{}", fabric.storm_frames() * 2)));
    cases.push_back(silent({{series, fmt::format("0+{}x60", a_minute / 4)}}, "12m"));
  }
  if (parts.empty()) return;
  out.push_back(
      {.name = "SwitchPfcPauseStorm",
       .expr = join(parts, "\nor "),
       .wait = "2m",
       .severity = "critical",
       .summary = "{{ $labels.instance }} {{ $labels.ifName }}: pause storm on the {{ $labels.fabric }}",
       .description = "{{ $labels.instance }} {{ $labels.ifName }} receives {{ $value | printf \"%.0f\" }} pause "
                      "frames per second of priority {{ $labels.cpfcIfPriorityValue }}.",
       .action =
           "Trace the pauses to the port that receives pauses and forwards none: the attached device is "
           "the source (a host, or a spine with a blocked port). Shut down that port; the PFC watchdog should have "
           "triggered already (show pfcwd stats).",
       .cases = std::move(cases)});
}

void add_drops(const Watch& watch, const std::vector<FabricWatch>& fabrics, std::vector<Alert>& out) {
  std::vector<std::string> parts;
  std::vector<AlertCase> cases;
  for (const FabricWatch& fabric : fabrics) {
    const std::string kind(model::to_text(fabric.kind));
    const std::string host = fmt::format("node_ethtool_received_prio{}_discards", fabric.priority);
    parts.push_back(fmt::format("increase({}{{fabric=\"{}\"}}[10m]) > 0", host, kind));
    const Labels port = example_of(watch, fabric).port;
    cases.push_back(fires({{host + selector(port), "0+5x60"}}, "12m", port));
    cases.push_back(silent({{host + selector(port), "9+0x60"}}, "12m"));
    if (fabric.system != "sonic") continue;
    parts.push_back(fmt::format("increase(sonic_queue_dropped_packets_total{{fabric=\"{}\",queue=\"{}\"}}[10m]) > 0",
                                kind, fabric.priority));
    const Labels queue = {{"device", "Ethernet0"},
                          {"fabric", kind},
                          {"instance", "leaf1"},
                          {"job", "sonic"},
                          {"queue", fmt::format("{}", fabric.priority)}};
    cases.push_back(fires({{"sonic_queue_dropped_packets_total" + selector(queue), "0+5x60"}}, "12m", queue));
    cases.push_back(silent({{"sonic_queue_dropped_packets_total" + selector(queue), "5+0x60"}}, "12m"));
  }
  out.push_back(
      {.name = "LosslessDrop",
       .expr = join(parts, "\nor "),
       .wait = "1m",
       .severity = "critical",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: drops in the lossless class",
       .description = "{{ $labels.instance }} {{ $labels.device }} dropped packets of the lossless class of the "
                      "{{ $labels.fabric }}: headroom is too small, PFC is not on at one end, or the watchdog "
                      "dropped them.",
       .action = "Run weft check --config on the running config; compare the port's headroom with cable "
                 "length and speed; check show pfcwd stats. RDMA retransmits from each lost packet (go-back-N).",
       .cases = std::move(cases)});
}

void add_watchdog(const Watch& watch, const std::vector<FabricWatch>& fabrics, std::vector<Alert>& out) {
  const Labels port = example_of(watch, fabrics.front()).port;
  const std::string host = "node_ethtool_transmitted_pause_storm_error_events" + selector(port);
  Labels queue = example_of(watch, fabrics.front()).at_leaf;
  queue[0] = {"cpfcWatchdogIfQueueNumber", fmt::format("{}", fabrics.front().priority)};
  const std::string at_switch = "cpfcWatchdogIfQueueShutdowns" + selector(queue);
  Labels told = queue;
  out.push_back({.name = "PfcWatchdogFired",
                 .expr = "increase(cpfcWatchdogIfQueueShutdowns[10m]) > 0\n"
                         "or increase(node_ethtool_transmitted_pause_storm_error_events[10m]) > 0",
                 .wait = "1m",
                 .severity = "critical",
                 .summary = "{{ $labels.instance }}: PFC watchdog triggered on the {{ $labels.fabric }}",
                 .description =
                     "{{ $labels.instance }} {{ $labels.ifName }}{{ $labels.device }}: the watchdog stopped "
                     "honoring pauses; packets of the lossless class are dropped until it restores the queue.",
                 .action = "See PfcPauseStorm: the watchdog treats only the symptom. If it triggers again within "
                           "minutes, shut down the port.",
                 .cases = {fires({{at_switch, "0+1x60"}}, "12m", told), fires({{host, "0+1x60"}}, "12m", port),
                           silent({{at_switch, "3+0x60"}, {host, "3+0x60"}}, "12m")}});
}

void add_marks(const Watch& watch, std::vector<Alert>& out) {
  std::vector<std::string> parts;
  std::vector<AlertCase> cases;
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (!fabric.present || fabric.ecn_percent == 0) continue;
    parts.push_back(fmt::format("weft:ecn_marked:ratio{{fabric=\"{}\"}} > {}", model::to_text(fabric.kind),
                                static_cast<double>(fabric.ecn_percent) / 100.0));
    const Labels labels = example_of(watch, fabric).rdma;
    const TestSeries packets{"node_infiniband_port_packets_received_total" + selector(labels), "0+6000000x60"};
    const std::string marked = "node_infiniband_np_ecn_marked_roce_packets_received_total" + selector(labels);
    const std::int64_t limit = 60000 * fabric.ecn_percent;  // of 6,000,000 per minute
    const std::int64_t share = std::min<std::int64_t>(fabric.ecn_percent * 2, 100);
    if (share > fabric.ecn_percent) {
      cases.push_back(
          fires({packets, {marked, fmt::format("0+{}x60", share * 60000)}}, "12m", labels, fmt::format("{}%", share)));
    }
    cases.push_back(silent({packets, {marked, fmt::format("0+{}x60", limit / 4)}}, "12m"));
  }
  if (parts.empty()) return;
  out.push_back(
      {.name = "EcnMarksHigh",
       .expr = join(parts, "\nor "),
       .wait = "10m",
       .severity = "warning",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: sustained ECN marking",
       .description = "{{ $labels.instance }} {{ $labels.device }}: {{ $value | humanizePercentage }} of its "
                      "packets are ECN-marked, more than the marking probability at the upper threshold: queues "
                      "on the {{ $labels.fabric }} stay above it.",
       .action = "Sustained congestion: look for ECMP collisions (uneven load on the uplinks of a leaf), incast "
                 "on storage, or hosts with congestion control disabled (rp_cnp_handled does not increase).",
       .cases = std::move(cases)});
}

}  // namespace

void add_pause_alerts(const Watch& watch, std::vector<Alert>& out) {
  const std::vector<FabricWatch> fabrics = lossless_fabrics(watch);
  if (!fabrics.empty()) {
    add_host_pauses(watch, fabrics, out);
    add_switch_pauses(watch, fabrics, out);
    add_drops(watch, fabrics, out);
    add_watchdog(watch, fabrics, out);
  }
  add_marks(watch, out);
}

AlertGroup network_alerts(const Watch& watch) {
  AlertGroup group{"network", kSource, {}};
  add_pause_alerts(watch, group.alerts);
  add_port_alerts(watch, group.alerts);
  add_switch_alerts(watch, group.alerts);
  return group;
}

}  // namespace weft::render::watch
