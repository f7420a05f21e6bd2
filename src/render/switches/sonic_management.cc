// SONiC: management access and services of a switch.
#include <fmt/format.h>

#include "render/switches/sonic_tables.h"

namespace weft::render::sonic_render {
namespace {

Value state(bool on) {
  Value row = Value::map();
  row.put("state", on ? "enabled" : "disabled");
  row.put("auto_restart", "enabled");
  return row;
}

}  // namespace

// Switches of data fabrics are managed through their management port, in its own VRF; out-of-band switches through
// their VLAN.
void add_management(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  const bool port = !plan.oob() && plan.management != Ipv4{};
  const std::string_view vrf = port ? "mgmt" : "default";
  if (port) {
    Value enabled = Value::map();
    enabled.put("mgmtVrfEnabled", "true");
    tables.root["MGMT_VRF_CONFIG"].put("vrf_global", std::move(enabled));
    Value eth = Value::map();
    eth.put("alias", "eth0");
    eth.put("admin_status", "up");
    tables.root["MGMT_PORT"].put("eth0", std::move(eth));
    Value gateway = Value::map();
    gateway.put("gwaddr", to_text(plan.management_gateway));
    tables.root["MGMT_INTERFACE"].put(
        fmt::format("eth0|{}/{}", to_text(plan.management), plan.management_subnet.length), std::move(gateway));
  }
  const SwitchServices services = switch_services(tables.cluster());
  if (is_host_text(services.syslog)) {
    Value row = Value::map();
    row.put("vrf", vrf);
    tables.root["SYSLOG_SERVER"].put(services.syslog, std::move(row));
  }
  if (services.time != Ipv4{}) {
    Value global = Value::map();
    global.put("vrf", vrf);
    global.put("admin_state", "enabled");
    global.put("dhcp", "disabled");
    global.put("server_role", "disabled");
    tables.root["NTP"].put("global", std::move(global));
    Value server = Value::map();
    server.put("iburst", "on");
    tables.root["NTP_SERVER"].put(to_text(services.time), std::move(server));
  }
  if (services.dns != Ipv4{}) tables.root["DNS_NAMESERVER"].put(to_text(services.dns), Value::map());
  Value features = Value::map();
  features.put("bgp", state(plan.routes()));
  if (plan.has_pair()) features.put("iccpd", state(true));
  features.put("lldp", state(true));
  if (tables.root.find("STP") != nullptr) features.put("stp", state(true));
  tables.root.put("FEATURE", std::move(features));
}

}  // namespace weft::render::sonic_render
