// Alerts on the lifeline: BMCs, the out-of-band switches, power strips and feeds.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: redfish_exporter (github.com/jenningsloy318, redfish_system_health_state: 1 OK, 2 warning, 3 critical) "
    "or\n"
    "ipmi_exporter (prometheus-community, docs/metrics.md), snmp_exporter, blackbox_exporter. Power strips: "
    "PowerNet-MIB,\n"
    "rPDU2DeviceStatusPower in hundredths of a kilowatt. Ratings: the catalog, recording.yml.";

void add_managers(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "oob"}, {"instance", "train001"}, {"job", "bmc"}, {"rack", "r1"}};
  const std::string series = "up" + selector(labels);
  out.push_back(
      {.name = "BmcUnreachable",
       .expr = "up{job=\"bmc\"} == 0",
       .wait = "10m",
       .severity = "warning",
       .fabric = "oob",
       .summary = "The BMC of {{ $labels.instance }} does not answer",
       .description = "The BMC of {{ $labels.instance }} in {{ $labels.rack }} does not answer: should the server "
                      "hang, nobody gets at it.",
       .action = "Ping from the jump host; its port on the out-of-band leaf; ipmitool mc reset cold from the host. "
                 "More than one in the rack: OobRackDark.",
       .cases = {fires({{series, "1+0x5 0+0x60"}}, "30m", labels), silent({{series, "1+0x60"}}, "30m")}});
  const std::string health = "redfish_system_health_state" + selector(labels);
  out.push_back({.name = "HardwareFault",
                 .expr = "redfish_system_health_state >= 3 or ipmi_sensor_state == 2 or ipmi_temperature_state == 2",
                 .wait = "5m",
                 .severity = "critical",
                 .fabric = "oob",
                 .summary = "{{ $labels.instance }} reports a critical fault",
                 .description = "The BMC of {{ $labels.instance }} in {{ $labels.rack }} reports a critical state.",
                 .action = "The BMC's event log: fan, power supply, temperature, memory.",
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
       .summary = "Out-of-band switch {{ $labels.instance }} does not answer",
       .description = "{{ $labels.tier }} {{ $labels.instance }} of the out-of-band network does not answer: the way "
                      "to everything behind it is gone.",
       .action = "By hand: console port, power. Everything else can wait: without the lifeline a second fault "
                 "needs a person in the room.",
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
       .summary = "Most of {{ $labels.rack }} does not answer out of band",
       .description = "Less than half of what stands in {{ $labels.rack }} answers on the out-of-band network.",
       .action = "The rack's out-of-band leaf or its power feed. The other fabrics tell which: servers that still "
                 "answer on the frontend have power.",
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
  const std::int64_t rating = model->rating->count() / 1000;  // watts
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
                                  "{{{{ $value | printf \"%.0f\" }}}} W of {} W; the breaker goes next.",
                                  rating),
       .action = "Supplies that moved their load because another feed is gone: RackFeedDown. Otherwise cap the "
                 "GPUs of the rack (nvidia-smi -pl) and move a server.",
       .cases = {fires({{series, fmt::format("{}+0x60", rating / 10 * 95 / 100)}}, "20m", labels,
                       fmt::format("{}", rating / 10 * 95 / 100 * 10)),
                 silent({{series, fmt::format("{}+0x60", rating / 10 / 2)}}, "20m")}});
  const std::string up = "up" + selector(labels);
  out.push_back(
      {.name = "RackFeedDown",
       .expr = "up{job=\"pdu\"} == 0",
       .wait = "3m",
       .severity = "critical",
       .fabric = "oob",
       .summary = "Feed {{ $labels.feed }} of {{ $labels.rack }}: {{ $labels.instance }} does not answer",
       .description = "{{ $labels.instance }} on feed {{ $labels.feed }} does not answer; the supplies of "
                      "{{ $labels.rack }} may run on the others.",
       .action = "Power supplies in the BMCs of the rack tell whether the feed is gone or only its management.",
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
