// QO090 on: what a switch's own file says about pauses, wherever its ports lead. Ports of lossless fabrics are followed
// hop by hop in rules_qos_trace.cc; these rules also see files without a cluster and ports that should not pause.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/lossless_ports.h"
#include "check/match.h"
#include "check/rules_qos.h"

namespace weft {
namespace {

// Interfaces that belong to a lossless fabric of the cluster: their classes are traced.
std::set<const InterfaceConfig*> traced(const CheckInput& input) {
  std::set<const InterfaceConfig*> interfaces;
  if (!input.has_cluster()) return interfaces;
  for (const LosslessPort& port : lossless_ports(input)) interfaces.insert(port.interface);
  return interfaces;
}

std::string name_of(const CheckInput& input, const SwitchConfig& config) {
  return config.hostname.known() ? *config.hostname : input.sources().path(config.file);
}

bool pauses_anything(const PortQos& qos) {
  return std::any_of(qos.pfc.begin(), qos.pfc.end(), [](const Setting<bool>& pfc) { return is_on(pfc); });
}

template <class Test>
void for_ports(const CheckInput& input, Test test) {
  for (const SwitchConfig& config : input.config().switches) {
    for (const InterfaceConfig& interface : config.interfaces) {
      if (interface.kind == InterfaceConfig::Kind::front_panel) test(config, interface, config.qos[interface.qos]);
    }
  }
}

void pauses_nothing(const CheckInput& input, Report& report) {
  Grouped lines;
  const std::set<const InterfaceConfig*> known = traced(input);
  for_ports(input, [&](const SwitchConfig& config, const InterfaceConfig& interface, const PortQos& qos) {
    if (known.count(&interface) > 0 || !qos.pfc_mode.given() || *qos.pfc_mode != PfcMode::on) return;
    if (pauses_anything(qos)) return;
    lines.add(fmt::format("nothing {}", config.file), name_of(input, config), qos.pfc_mode.place,
              fmt::format("{} has priority flow control on, but no class that pauses", interface.name));
  });
  lines.report(report);
}

void watchdog_off(const CheckInput& input, Report& report) {
  Grouped lines;
  const std::set<const InterfaceConfig*> known = traced(input);
  for_ports(input, [&](const SwitchConfig& config, const InterfaceConfig& interface, const PortQos& qos) {
    if (known.count(&interface) > 0 || !qos.watchdog.on.given() || *qos.watchdog.on) return;
    lines.add(fmt::format("off {}", config.file), name_of(input, config), qos.watchdog.on.place,
              fmt::format("the PFC watchdog is switched off at {}", interface.name));
  });
  lines.report(report);
}

void watchdog_absent(const CheckInput& input, Report& report) {
  Grouped lines;
  for_ports(input, [&](const SwitchConfig& config, const InterfaceConfig& interface, const PortQos& qos) {
    if (config.dialect != Dialect::sonic || qos.watchdog.on.known() || !pauses_anything(qos)) return;
    const auto paused = std::find_if(qos.pfc.begin(), qos.pfc.end(), [](const auto& pfc) { return is_on(pfc); });
    lines.add(fmt::format("absent {}", config.file), name_of(input, config),
              paused->place.known() ? paused->place : interface.place,
              fmt::format("{} pauses priority {}, and no PFC_WD entry watches it", interface.name,
                          paused - qos.pfc.begin()));
  });
  lines.report(report);
}

}  // namespace

std::vector<Rule> qos_switch_rules() {
  return {
      {"QO090", Severity::error, RuleNeeds::config, "priority flow control is on and no class pauses",
       "The mode of a port only allows pauses; which class may pause is said elsewhere (a network-qos policy on NX-OS). "
       "Without it every packet is droppable while the port reports that flow control is on.",
       "Cisco NX-OS QoS configuration guide: network-qos policies; enterprise AI architecture, Nexus example",
       "bind a network-qos policy with `pause pfc-cos` for the lossless class, or turn the mode off",
       {"running/oob-leaf001.cfg", "", "interface Ethernet1/48\n  priority-flow-control mode on\n"}, pauses_nothing},
      {"QO091", Severity::warning, RuleNeeds::config, "the PFC watchdog is switched off",
       "A NIC that hangs sends pauses for ever; the watchdog is what keeps one of them from stopping the fabric.",
       "four-fabric hardening guide: enable the PFC watchdog; the Nexus example of the architecture guide turns it off",
       "turn the watchdog on",
       {"running/oob-leaf001.cfg", "", "interface Ethernet1/48\n  priority-flow-control watch-dog-interval off\n"},
       watchdog_off},
      {"QO092", Severity::warning, RuleNeeds::config, "pauses without a watchdog",
       "SONiC watches only ports that PFC_WD names. One stuck NIC then pauses its leaf, the leaf its spines, and the "
       "spines everyone.",
       "sonic-utilities, pfcwd start_default; four-fabric hardening guide: PFC watchdog to detect stuck pauses",
       "run `pfcwd start_default`, or add the port to PFC_WD",
       {"running/be-train-u001-leaf1.json", "\"PFC_WD\": {", "\"PFC_WD_OLD\": {"}, watchdog_absent},
  };
}

}  // namespace weft
