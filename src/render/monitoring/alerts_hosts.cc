// Alerts on servers, their exporters, certificates and the load balancers in front of services.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: node_exporter (default collectors, timex, edac), blackbox_exporter (probe_ssl_earliest_cert_expiry),\n"
    "HAProxy's built-in exporter (addons/promex).";

void add_server_state(std::vector<Alert>& out) {
  const Labels labels = {{"instance", "train001"}, {"job", "node"}, {"pool", "train"}, {"rack", "r1"}};
  const std::string series = "up" + selector(labels);
  out.push_back({.name = "ServerDown",
                 .expr = "up{job=\"node\"} == 0",
                 .wait = "3m",
                 .severity = "critical",
                 .fabric = "frontend",
                 .summary = "{{ $labels.instance }} is down",
                 .description =
                     "{{ $labels.instance }} of {{ $labels.pool }} in {{ $labels.rack }} does not respond on the "
                     "frontend.",
                 .action = "If BmcUnreachable fires too, check power and rack. If the BMC responds: console, event "
                           "log, power-cycle. The scheduler drains the server automatically. weft trace recovery shows "
                           "the access path.",
                 .cases = {fires({{series, "1+0x5 0+0x60"}}, "20m", labels), silent({{series, "1+0x60"}}, "20m")}});
  const Labels exporter = {{"instance", "train001"}, {"job", "dcgm"}, {"pool", "train"}};
  const std::string down = "up" + selector(exporter);
  out.push_back({.name = "ExporterDown",
                 .expr = "up{job!~\"node|storage|snmp|bmc|pdu|sonic|frr\"} == 0",
                 .wait = "10m",
                 .severity = "warning",
                 .fabric = "frontend",
                 .summary = "{{ $labels.job }} of {{ $labels.instance }} is not scraped",
                 .description = "Prometheus gets no {{ $labels.job }} metrics from {{ $labels.instance }}: its alerts "
                                "cannot fire.",
                 .action = "Check the exporter's systemd unit or pod on that host; for dcgm also nv-hostengine.",
                 .cases = {fires({{down, "1+0x5 0+0x60"}}, "30m", exporter), silent({{down, "1+0x60"}}, "30m")}});
}

void add_system(std::vector<Alert>& out) {
  const Labels host = {{"instance", "train001"}, {"job", "node"}};
  const Labels root = {
      {"device", "/dev/nvme0n1p2"}, {"fstype", "ext4"}, {"instance", "train001"}, {"job", "node"}, {"mountpoint", "/"}};
  const std::string left = "node_filesystem_avail_bytes" + selector(root);
  const TestSeries size{"node_filesystem_size_bytes" + selector(root), "1000+0x60"};
  out.push_back(
      {.name = "LocalDiskFull",
       .expr = fmt::format("100 * node_filesystem_avail_bytes{{fstype=~\"ext4|xfs|btrfs\"}}\n"
                           "/ node_filesystem_size_bytes < {}",
                           kFilesystemPercent),
       .wait = "15m",
       .severity = "warning",
       .fabric = "host",
       .summary = "{{ $labels.instance }}: {{ $labels.mountpoint }} is nearly full",
       .description = "{{ $labels.instance }}: {{ $value | printf \"%.0f\" }} % of {{ $labels.mountpoint }} is left.",
       .action = "Scratch: check the epilog that purges it. Root: remove logs and images (crictl rmi --prune).",
       .cases = {fires({{left, "40+0x60"}, size}, "40m", root, "4"), silent({{left, "400+0x60"}, size}, "40m")}});
  const std::string offset = "node_timex_offset_seconds" + selector(host);
  out.push_back(
      {.name = "ClockOff",
       .expr = "abs(node_timex_offset_seconds) > 0.05",
       .wait = "10m",
       .severity = "warning",
       .fabric = "host",
       .summary = "{{ $labels.instance }}: clock offset",
       .description = "{{ $labels.instance }} is {{ $value | printf \"%.2f\" }} s off; MUNGE, TLS and logs need "
                      "synchronized clocks.",
       .action = "Check chronyc sources on the host and the NTP servers of the out-of-band network.",
       .cases = {fires({{offset, "0.2+0x60"}}, "30m", host, "0.20"), silent({{offset, "0.001+0x60"}}, "30m")}});
  const Labels memory = {{"controller", "0"}, {"instance", "train001"}, {"job", "node"}};
  const std::string errors = "node_edac_uncorrectable_errors_total" + selector(memory);
  out.push_back({.name = "HostMemoryError",
                 .expr = "increase(node_edac_uncorrectable_errors_total[1h]) > 0",
                 .wait = "1m",
                 .severity = "critical",
                 .fabric = "host",
                 .summary = "{{ $labels.instance }}: uncorrectable memory error",
                 .description = "{{ $labels.instance }}: memory controller {{ $labels.controller }} reported an "
                                "uncorrectable error.",
                 .action = "Drain the server and replace the DIMM that the BMC's event log lists.",
                 .cases = {fires({{errors, "0+0x30 1+0x60"}}, "40m", memory), silent({{errors, "1+0x60"}}, "40m")}});
}

void add_services(std::vector<Alert>& out) {
  const Labels site = {{"instance", "https://chat.internal"}, {"job", "https"}};
  const std::string series = "probe_ssl_earliest_cert_expiry" + selector(site);
  // promtool's clock starts at 0: a certificate that expires after 10 days, and one after 90.
  out.push_back(
      {.name = "CertificateExpires",
       .expr = fmt::format("(probe_ssl_earliest_cert_expiry - time()) / 86400 < {}", kCertificateDays),
       .wait = "1h",
       .severity = "warning",
       .fabric = "frontend",
       .summary = "Certificate of {{ $labels.instance }} expires soon",
       .description = "The certificate of {{ $labels.instance }} expires in {{ $value | printf \"%.0f\" }} days.",
       .action = "Check why automatic renewal failed: kubectl describe certificate, or the ACME client's log.",
       .cases = {fires({{series, "864000+0x200"}}, "2h", site, "10"), silent({{series, "7776000+0x200"}}, "2h")}});
  const Labels balancer = {{"instance", "infra001"}, {"job", "haproxy"}, {"proxy", "chat"}};
  const std::string active = "haproxy_backend_active_servers" + selector(balancer);
  out.push_back(
      {.name = "ServiceWithoutServers",
       .expr = "haproxy_backend_active_servers == 0",
       .wait = "1m",
       .severity = "critical",
       .fabric = "frontend",
       .summary = "No healthy server for {{ $labels.proxy }}",
       .description = "{{ $labels.instance }} has no healthy server for {{ $labels.proxy }}; clients get errors.",
       .action =
           "Check the health checks of the replicas (/health), their pods or units, and the capacity of the pool.",
       .cases = {fires({{active, "2+0x5 0+0x60"}}, "20m", balancer), silent({{active, "2+0x60"}}, "20m")}});
}

}  // namespace

AlertGroup host_alerts(const Watch& watch) {
  AlertGroup group{"hosts", kSource, {}};
  add_server_state(group.alerts);
  add_system(group.alerts);
  if (!watch.cluster().spec().services->empty()) add_services(group.alerts);
  return group;
}

}  // namespace weft::render::watch
