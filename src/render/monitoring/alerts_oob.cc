// Alerts on the out-of-band network: BMCs, out-of-band switches, PDUs and power feeds.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: redfish_exporter (github.com/jenningsloy318, redfish_system_health_state: 1 OK, 2 warning, 3 critical) "
    "or\n"
    "ipmi_exporter (prometheus-community, docs/metrics.md), snmp_exporter, blackbox_exporter. PDUs: "
    "PowerNet-MIB,\n"
    "rPDU2DeviceStatusPower in units of 10 W. Ratings: catalog, recording.yml.";

void add_managers(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "oob"}, {"instance", "train001"}, {"job", "bmc"}, {"rack", "r1"}};
  const std::string series = "up" + selector(labels);
  out.push_back({.name = "BmcUnreachable",
                 .expr = "up{job=\"bmc\"} == 0",
                 .wait = "10m",
                 .severity = "warning",
                 .fabric = "oob",
                 .summary = "BMC of {{ $labels.instance }} is unreachable",
                 .description =
                     "The BMC of {{ $labels.instance }} in {{ $labels.rack }} does not respond: if the server "
                     "hangs, there is no remote access to it.",
                 .action = "Ping it from the jump host; check its port on the out-of-band leaf; run ipmitool mc reset "
                           "cold on the host. If several BMCs of the rack are affected, see OobRackDark.",
                 .cases = {fires({{series, "1+0x5 0+0x60"}}, "30m", labels), silent({{series, "1+0x60"}}, "30m")}});
  const std::string health = "redfish_system_health_state" + selector(labels);
  out.push_back(
      {.name = "HardwareFault",
       .expr = "redfish_system_health_state >= 3 or ipmi_sensor_state == 2 or ipmi_temperature_state == 2",
       .wait = "5m",
       .severity = "critical",
       .fabric = "oob",
       .summary = "{{ $labels.instance }} reports a critical hardware fault",
       .description = "The BMC of {{ $labels.instance }} in {{ $labels.rack }} reports a critical health state.",
       .action = "Check the BMC's event log: fan, power supply, temperature, memory.",
       .cases = {fires({{health, "1+0x5 3+0x60"}}, "20m", labels), silent({{health, "1+0x60"}}, "20m")}});
}

void add_network(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "oob"}, {"instance", "oob-leaf001"}, {"job", "snmp"}, {"tier", "leaf"}};
  const std::string series = "up" + selector(labels);
  out.push_back(
      {.name = "OobSwitchDown",
       .expr = "up{job=\"snmp\",fabric=\"oob\"} == 0",
       .wait = "3m",
       .severity = "critical",
       .fabric = "oob",
       .summary = "Out-of-band switch {{ $labels.instance }} is down",
       .description =
           "{{ $labels.tier }} {{ $labels.instance }} of the out-of-band network does not respond: there is no "
           "management access to the devices behind it.",
       .action = "On site: check console port and power. Fix this first: without out-of-band access, a second fault "
                 "needs on-site work.",
       .cases = {fires({{series, "1+0x5 0+0x60"}}, "20m", labels), silent({{series, "1+0x60"}}, "20m")}});
  std::vector<TestSeries> dark;
  std::vector<TestSeries> one;
  for (const char* name : {"a", "b", "c"}) {
    const std::string probe =
        "probe_success" + selector({{"fabric", "oob"}, {"instance", name}, {"job", "ping_oob"}, {"rack", "r1"}});
    dark.push_back({probe, "1+0x5 0+0x60"});
    one.push_back({probe, *name == 'a' ? "1+0x5 0+0x60" : "1+0x60"});
  }
  out.push_back(
      {.name = "OobRackDark",
       .expr = "avg by (rack) (probe_success{job=\"ping_oob\"}) < 0.5",
       .wait = "3m",
       .severity = "critical",
       .fabric = "oob",
       .summary = "Most of {{ $labels.rack }} is unreachable out of band",
       .description = "Less than half of the devices in {{ $labels.rack }} respond on the out-of-band network.",
       .action = "Check the rack's out-of-band leaf and its power feed. Servers that still "
                 "respond on the frontend have power.",
       .cases = {fires(std::move(dark), "20m", {{"rack", "r1"}}), silent(std::move(one), "20m")}});
}

void add_power(const Watch& watch, std::vector<Alert>& out) {
  const model::PduModel* model = nullptr;
  for (const model::DeviceGroup& group : watch.cluster().groups()) {
    if (group.kind != model::DeviceKind::pdu || group.count == 0) continue;
    model = group.pdu;
    break;
  }
  if (model == nullptr) return;
  const std::int64_t rating = model->rating->count() / 1000;  // from milliwatts to watts
  const Labels labels = {
      {"feed", "A"}, {"instance", "pdu1"}, {"job", "pdu"}, {"model", model->id->text}, {"rack", "r1"}};
  const std::string series = "rPDU2DeviceStatusPower" + selector(labels);
  out.push_back(
      {.name = "PduOverload",
       .expr = fmt::format("10 * rPDU2DeviceStatusPower > on (model) group_left () (0.{:02} * weft:pdu_rating:watts)",
                           kPduPercent),
       .wait = "5m",
       .severity = "critical",
       .fabric = "oob",
       .summary = "{{ $labels.instance }} (feed {{ $labels.feed }}) is close to its rating",
       .description = fmt::format("{{{{ $labels.instance }}}} in {{{{ $labels.rack }}}} carries "
                                  "{{{{ $value | printf \"%.0f\" }}}} W of {} W; the breaker may trip.",
                                  rating),
       .action = "If RackFeedDown fires too, the load moved from the failed feed. Otherwise cap the power of the "
                 "rack's GPUs (nvidia-smi -pl) and move a server.",
       .cases = {fires({{series, fmt::format("{}+0x60", rating / 10 * 95 / 100)}}, "20m", labels,
                       fmt::format("{}", rating / 10 * 95 / 100 * 10)),
                 silent({{series, fmt::format("{}+0x60", rating / 10 / 2)}}, "20m")}});
  const std::string up = "up" + selector(labels);
  out.push_back({.name = "RackFeedDown",
                 .expr = "up{job=\"pdu\"} == 0",
                 .wait = "3m",
                 .severity = "critical",
                 .fabric = "oob",
                 .summary = "Feed {{ $labels.feed }} of {{ $labels.rack }}: {{ $labels.instance }} is unreachable",
                 .description =
                     "{{ $labels.instance }} on feed {{ $labels.feed }} does not respond; the power supplies of "
                     "{{ $labels.rack }} may be running on the other feeds.",
                 .action = "Check the power supplies in the BMCs of the rack: either the feed failed or only the PDU's "
                           "management port.",
                 .cases = {fires({{up, "1+0x5 0+0x60"}}, "20m", labels), silent({{up, "1+0x60"}}, "20m")}});
}

}  // namespace

AlertGroup oob_alerts(const Watch& watch) {
  AlertGroup group{"oob", kSource, {}};
  add_managers(group.alerts);
  add_network(group.alerts);
  add_power(watch, group.alerts);
  return group;
}

}  // namespace weft::render::watch
