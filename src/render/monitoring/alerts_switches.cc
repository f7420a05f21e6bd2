// Alerts on switches and on paths through a fabric: sessions compared with the design, ports, probes.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

// A switch of an Ethernet fabric with sessions, for the tests; kNone if there is none.
model::DeviceId switch_with_sessions(const Watch& watch) {
  for (const model::DeviceGroup& group : watch.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.count == 0 || group.fabric == model::FabricKind::oob)
      continue;
    if (watch.fabric(group.fabric).ethernet && watch.designed_sessions(group.first) > 1) return group.first;
  }
  return model::kNone<model::DeviceId>;
}

void add_sessions(const Watch& watch, std::vector<Alert>& out) {
  const model::DeviceId id = switch_with_sessions(watch);
  if (id == model::kNone<model::DeviceId>) return;
  const model::DeviceGroup& group = watch.cluster().group_of(id);
  const std::string name = watch.cluster().name_of(id);
  const std::string kind(model::to_text(group.fabric));
  const std::uint32_t designed = watch.designed_sessions(id);
  const TestSeries target{
      "up" +
          selector({{"fabric", kind}, {"instance", name}, {"job", "snmp"}, {"sessions", fmt::format("{}", designed)}}),
      "1+0x60"};
  std::vector<TestSeries> every = {target};
  for (std::uint32_t i = 0; i < designed; ++i) {
    every.push_back({"frr_bgp_peer_state" + selector({{"afi", "ipv4"},
                                                      {"fabric", kind},
                                                      {"instance", name},
                                                      {"job", "frr"},
                                                      {"peer", fmt::format("peer{}", i)},
                                                      {"safi", "unicast"}}),
                     "1+0x60"});
  }
  std::vector<TestSeries> missing = every;
  missing.back().values = "1+0x5 0+0x60";
  const Labels told = {{"fabric", kind}, {"instance", name}};
  out.push_back({.name = "BgpSessionsMissing",
                 .expr = "weft:bgp_sessions:established < on (instance, fabric) weft:bgp_sessions:designed",
                 .wait = "2m",
                 .severity = "critical",
                 .summary = "{{ $labels.instance }}: BGP sessions missing",
                 .description = "{{ $labels.instance }} on the {{ $labels.fabric }} has {{ $value | printf \"%.0f\" }} "
                                "established BGP sessions, fewer than designed; hosts below it lose that bandwidth.",
                 .action =
                     "Run show bgp summary on the switch; find the missing neighbor and its cable in weft show "
                     "cables. If the link is up without a session: check ASN, address family, BFD timers (weft check "
                     "--config).",
                 .cases = {fires(std::move(missing), "12m", told, fmt::format("{}", designed - 1)),
                           silent(std::move(every), "12m")}});
  const Labels bfd = {
      {"fabric", kind}, {"instance", name}, {"job", "frr"}, {"local", "10.0.0.1"}, {"peer", "10.0.0.2"}};
  const std::string series = "frr_bfd_peer_state" + selector(bfd);
  out.push_back(
      {.name = "BfdSessionDown",
       .expr = "frr_bfd_peer_state == 0",
       .wait = "2m",
       .severity = "warning",
       .summary = "{{ $labels.instance }}: BFD to {{ $labels.peer }} is down",
       .description = "{{ $labels.instance }} on the {{ $labels.fabric }} lost its BFD session to {{ $labels.peer }}.",
       .action = "See BgpSessionsMissing.",
       .cases = {fires({{series, "1+0x5 0+0x60"}}, "12m", bfd), silent({{series, "1+0x60"}}, "12m")}});
}

void add_switch_state(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "backend"}, {"instance", "leaf1"}, {"job", "snmp"}, {"tier", "leaf"}};
  const std::string series = "up" + selector(labels);
  out.push_back({.name = "SwitchDown",
                 .expr = "up{job=\"snmp\",fabric!=\"oob\"} == 0",
                 .wait = "3m",
                 .severity = "critical",
                 .summary = "{{ $labels.instance }} is unreachable",
                 .description =
                     "{{ $labels.tier }} {{ $labels.instance }} of the {{ $labels.fabric }} does not respond on the "
                     "out-of-band network.",
                 .action = "Check the console over the out-of-band network, the PDU outlet, then the switch. If "
                           "OobRackDark fires at the same time, the out-of-band leaf failed, not this switch.",
                 .cases = {fires({{series, "1+0x5 0+0x60"}}, "12m", labels), silent({{series, "1+0x60"}}, "12m")}});
  const Labels exporter = {{"fabric", "backend"}, {"instance", "leaf1"}, {"job", "frr"}};
  const std::string scraped = "up" + selector(exporter);
  out.push_back({.name = "SwitchExporterDown",
                 .expr = "up{job=~\"sonic|frr\"} == 0",
                 .wait = "10m",
                 .severity = "warning",
                 .summary = "{{ $labels.job }} of {{ $labels.instance }} is not scraped",
                 .description = "No {{ $labels.job }} metrics from {{ $labels.instance }} of the {{ $labels.fabric }}: "
                                "its alerts cannot fire.",
                 .action = "If SwitchDown fires too, check the switch. Otherwise check the exporter's container on it.",
                 .cases = {fires({{scraped, "1+0x5 0+0x60"}}, "20m", exporter), silent({{scraped, "1+0x60"}}, "20m")}});
  const Labels port = {{"fabric", "backend"}, {"ifName", "Ethernet0"}, {"instance", "leaf1"}, {"job", "snmp"}};
  const std::string state = "ifOperStatus" + selector(port);
  out.push_back(
      {.name = "SwitchPortFlaps",
       .expr = fmt::format("changes(ifOperStatus[1h]) > {}", kCarrierChanges),
       .wait = "1m",
       .severity = "warning",
       .summary = "{{ $labels.instance }} {{ $labels.ifName }}: link flaps",
       .description = "{{ $labels.instance }} {{ $labels.ifName }} on the {{ $labels.fabric }} changed state "
                      "{{ $value | printf \"%.0f\" }} times within an hour.",
       .action = "Check cable and transceiver of the port (weft show cables) and the FEC counters of both ends.",
       .cases = {fires({{state, "1 2 1 2 1+0x90"}}, "20m", port, "4"), silent({{state, "1+0x90"}}, "20m")}});
  const std::string errors = "ifInErrors" + selector(port);
  out.push_back({.name = "SwitchPortErrors",
                 .expr = "rate(ifInErrors[10m]) > 1",
                 .wait = "5m",
                 .severity = "warning",
                 .summary = "{{ $labels.instance }} {{ $labels.ifName }}: receive errors",
                 .description = "{{ $labels.instance }} {{ $labels.ifName }} on the {{ $labels.fabric }}: "
                                "{{ $value | printf \"%.0f\" }} frames with errors per second.",
                 .action = "Check cable and transceiver of the port (weft show cables).",
                 .cases = {fires({{errors, "0+300x60"}}, "20m", port, "5"), silent({{errors, "300+0x60"}}, "20m")}});
}

void add_infiniband(const Watch& watch, std::vector<Alert>& out) {
  bool any = false;
  for (const FabricWatch& fabric : watch.fabrics()) any = any || (fabric.present && !fabric.ethernet);
  if (!any) return;
  const Labels labels = {{"fabric", "backend"},   {"instance", "host1"}, {"job", "infiniband"},
                         {"local_name", "leaf1"}, {"local_port", "3"},   {"remote_name", "spine1"}};
  const std::string downed = "infiniband_linkdownedcounter_total" + selector(labels);
  out.push_back(
      {.name = "IbSwitchLinkDowned",
       .expr = "increase(infiniband_linkdownedcounter_total[15m]) > 0",
       .wait = "1m",
       .severity = "critical",
       .summary = "{{ $labels.local_name }} port {{ $labels.local_port }} went down",
       .description = "{{ $labels.local_name }} port {{ $labels.local_port }} to {{ $labels.remote_name }} on the "
                      "{{ $labels.fabric }} lost its link.",
       .action = "Run iblinkinfo and ibdiagnet on the subnet manager; check cable and transceiver of that port.",
       .cases = {fires({{downed, "0+1x60"}}, "20m", labels), silent({{downed, "1+0x60"}}, "20m")}});
  const std::string symbols = "infiniband_symbolerrorcounter_total" + selector(labels);
  out.push_back({.name = "IbSwitchSymbolErrors",
                 .expr = fmt::format("increase(infiniband_symbolerrorcounter_total[1h]) > {}", kSymbolErrorsPerHour),
                 .wait = "1m",
                 .severity = "warning",
                 .summary = "{{ $labels.local_name }} port {{ $labels.local_port }}: symbol errors",
                 .description =
                     "{{ $labels.local_name }} port {{ $labels.local_port }} to {{ $labels.remote_name }} on the "
                     "{{ $labels.fabric }} has symbol errors: cable or transceiver is degrading.",
                 .action = "Run ibdiagnet --pc, then check cable and transceiver of that port.",
                 .cases = {fires({{symbols, "0+5x90"}}, "40m", labels), silent({{symbols, "0+1x90"}}, "40m")}});
}

void add_probes(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "backend"}, {"from", "host1"}, {"instance", "host2"}, {"job", "ping_backend"}};
  const std::string series = "probe_success" + selector(labels);
  out.push_back({.name = "FabricPathLost",
                 .expr = "probe_success{job=~\"ping_(backend|storage|frontend)\"} == 0",
                 .wait = "3m",
                 .severity = "warning",
                 .summary = "{{ $labels.from }} does not reach {{ $labels.instance }} on the {{ $labels.fabric }}",
                 .description =
                     "{{ $labels.from }} does not reach {{ $labels.instance }} on the {{ $labels.fabric }} with "
                     "packets of the fabric's MTU.",
                 .action = "If small packets pass, check the MTU (ping -M do -s). If none pass, check link, VLAN, "
                           "route; run weft trace reach.",
                 .cases = {fires({{series, "1+0x5 0+0x60"}}, "12m", labels), silent({{series, "1+0x60"}}, "12m")}});
}

}  // namespace

void add_switch_alerts(const Watch& watch, std::vector<Alert>& out) {
  add_switch_state(out);
  add_sessions(watch, out);
  add_infiniband(watch, out);
  add_probes(out);
}

}  // namespace weft::render::watch
