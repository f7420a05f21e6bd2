// QO090 and up: PFC settings in a switch's own file, independent of its links. Ports of lossless fabrics are traced hop
// by hop in rules/qos_trace.cc; these rules also cover files without a cluster and ports that should not pause.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/core/match.h"
#include "check/qos/lossless_ports.h"
#include "check/rules/qos.h"

namespace weft::check {
namespace {

// Interfaces that belong to a lossless fabric of the cluster: their classes are traced.
std::set<const config::InterfaceConfig*> find_traced_interfaces(const CheckInput& input) {
  std::set<const config::InterfaceConfig*> interfaces;
  if (!input.has_cluster()) return interfaces;
  for (const LosslessPort& port : lossless_ports(input)) interfaces.insert(port.interface);
  return interfaces;
}

std::string name_of(const CheckInput& input, const config::SwitchConfig& config) {
  return config.hostname.known() ? *config.hostname : input.sources().path(config.file);
}

bool pauses_anything(const config::PortQos& qos) {
  return std::any_of(qos.pfc.begin(), qos.pfc.end(), [](const config::Setting<bool>& pfc) { return is_on(pfc); });
}

template <class Test>
void for_ports(const CheckInput& input, Test test) {
  for (const config::SwitchConfig& config : input.config().switches) {
    for (const config::InterfaceConfig& interface : config.interfaces) {
      if (interface.kind != config::InterfaceConfig::Kind::front_panel || interface.qos >= config.qos.size()) continue;
      test(config, interface, config.qos[interface.qos]);
    }
  }
}

void check_pfc_without_pausing_class(const CheckInput& input, Report& report) {
  FindingGroups lines;
  const std::set<const config::InterfaceConfig*> known = find_traced_interfaces(input);
  for_ports(input, [&](const config::SwitchConfig& config, const config::InterfaceConfig& interface,
                       const config::PortQos& qos) {
    if (known.count(&interface) > 0 || !qos.pfc_mode.given() || *qos.pfc_mode != model::PfcMode::on) return;
    if (pauses_anything(qos)) return;
    lines.add(fmt::format("nothing {}", config.file), name_of(input, config), qos.pfc_mode.place,
              fmt::format("{} has priority flow control enabled, but no class is configured to pause", interface.name));
  });
  lines.report(report);
}

void check_configured_watchdog_enabled(const CheckInput& input, Report& report) {
  FindingGroups lines;
  const std::set<const config::InterfaceConfig*> known = find_traced_interfaces(input);
  for_ports(input, [&](const config::SwitchConfig& config, const config::InterfaceConfig& interface,
                       const config::PortQos& qos) {
    if (known.count(&interface) > 0 || !qos.watchdog.on.given() || *qos.watchdog.on) return;
    lines.add(fmt::format("off {}", config.file), name_of(input, config), qos.watchdog.on.place,
              fmt::format("the PFC watchdog is disabled at {}", interface.name));
  });
  lines.report(report);
}

// Marking that starts at an empty queue, or ends at a length no queue reaches.
void check_ecn_threshold_reach(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    if (port.queue < 0 || port.speed.count() == 0) continue;
    const config::QueueQos& queue = port.qos->queues[static_cast<std::size_t>(port.queue)];
    if (queue.ecn_min.given() && queue.ecn_min.value.count() == 0) {
      lines.add(port.name, queue.ecn_min.place,
                "every packet of the data's queue is marked: marking starts at 0 bytes");
    }
    const Bytes most = bandwidth_delay(port.speed) * 16;
    if (queue.ecn_max.given() && *queue.ecn_max > most) {
      lines.add(
          port.name, queue.ecn_max.place,
          fmt::format(
              "marking of the data's queue reaches its maximum only at {}, more than 16 times what {} carries in 20us",
              to_text(*queue.ecn_max), to_text(port.speed)));
    }
  }
  lines.report(report);
}

void check_configured_watchdog_speed(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::Setting<Duration>& detection = port.qos->watchdog.detection;
    if (!is_on(port.qos->watchdog.on) || !detection.given()) continue;
    const Duration rule = model::watchdog_times(model::QosSpec{}, port_count(input, port)).detection;
    if (detection.value.count() <= 4 * rule.count()) continue;
    lines.add(port.name, detection.place,
              fmt::format("a stuck pause lasts {} before the watchdog acts; {} is sufficient for its ports",
                          to_text(*detection), to_text(rule)));
  }
  lines.report(report);
}

// Unmarked traffic must be in a lossy class: it has no congestion control and would pause all other traffic.
void check_unmarked_traffic_class(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::Setting<int>& entry = port.qos->dscp_to_class[0];
    if (!entry.given() || *entry < 0 || *entry >= config::kClasses) continue;
    const config::Setting<int>& group = port.qos->class_to_group[static_cast<std::size_t>(*entry)];
    if (!group.known() || *group < 0 || *group >= config::kClasses) continue;
    if (!is_on(port.qos->groups[static_cast<std::size_t>(*group)].lossless)) continue;
    lines.add(port.name, entry.place, fmt::format("unmarked traffic (DSCP 0) is in the lossless class {}", *entry));
  }
  lines.report(report);
}

}  // namespace

std::vector<Rule> qos_switch_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "QO090",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "priority flow control is enabled but no class pauses",
       .reason =
           "The mode of a port only allows pauses; the classes that pause are configured elsewhere (a network-qos "
           "policy on NX-OS). Without it every packet can be dropped while the port reports flow control as on.",
       .source = "Cisco NX-OS QoS configuration guide: network-qos policies; Building Enterprise AI Infrastructure "
                 "(Pabba, 2026), Nexus example",
       .fix = "bind a network-qos policy with `pause pfc-cos` for the lossless class, or disable the mode",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "interface Ethernet1/48\n  priority-flow-control mode on\n"},
       .run = check_pfc_without_pausing_class},
      {.id = "QO091",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the PFC watchdog is disabled",
       .reason = "A NIC that hangs sends pauses forever; the watchdog prevents it from stopping the fabric.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): enable the PFC watchdog; the Nexus "
                 "example in Building Enterprise AI Infrastructure (Pabba, 2026) disables it",
       .fix = "enable the watchdog",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "interface Ethernet1/48\n  priority-flow-control watch-dog-interval off\n"},
       .run = check_configured_watchdog_enabled},
      {.id = "QO093",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "ECN thresholds are out of range",
       .reason = "Marking from an empty queue slows down every sender without need; marking that reaches its maximum "
                 "only beyond the queue's capacity leaves congestion to PFC.",
       .source = "published thresholds are between a fraction and ten times the bandwidth-delay product (HPCC, SimAI, "
                 "Cumulus, SONiC, Huawei)",
       .fix = "set the minimum near 2 KB per Gb/s and the maximum near four times that",
       .example = {.file = "running/be-train-u001-leaf1.json",
                   .from = "\"green_min_threshold\": \"800000\"",
                   .to = "\"green_min_threshold\": \"0\""},
       .run = check_ecn_threshold_reach},
      {.id = "QO094",
       .severity = Severity::note,
       .needs = RuleNeeds::config,
       .title = "the PFC watchdog acts too late",
       .reason = "While a pause is stuck, every sender on the path is stopped; jobs fail after seconds of that.",
       .source = "sonic-utilities, pfcwd start_default: 200 ms per 32 ports",
       .fix = "lower the detection time",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "qos pfc-watchdog robustness 2",
                   .to = "qos pfc-watchdog robustness 40"},
       .run = check_configured_watchdog_speed},
      {.id = "QO095",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "unmarked traffic is in a lossless class",
       .reason = "Best-effort traffic does not react to DCQCN: it fills the lossless queue and pauses RDMA senders "
                 "that keep to their rates.",
       .source = "Container Networking Architecture for AI Workloads (Patel): PFC on the training class only",
       .fix = "map DSCP 0 to a lossy class",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "dscp 34 switch-priority 4",
                   .to = "dscp 0,34 switch-priority 4"},
       .run = check_unmarked_traffic_class},
  };
}

}  // namespace weft::check
