// NX-OS: one file per switch, and its system-wide settings.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/switches/nxos_config.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

void features(CliWriter& out, const SwitchPlan& plan) {
  out.separate();
  if (plan.has_fabric_links() || plan.nodes.asn != 0) out.line({"feature", "bgp"});
  if (!plan.vlans.empty()) out.line({"feature", "interface-vlan"});
  out.line({"feature", "lldp"});
  if (plan.has_pair()) {
    out.line({"feature", "hsrp"});
    out.line({"feature", "lacp"});
    out.line({"feature", "vpc"});
  }
  if (plan.has_fabric_links() && plan.fabric->bfd.value) out.line({"feature", "bfd"});
}

// Where secrets come from; they are never in the file.
void accounts(CliWriter& out, const CliSwitch& input) {
  out.separate();
  const model::OobSpec& oob = input.oob();
  const std::string from = oob.credentials.has_value() ? oob.credentials.value : std::string("the site's secret store");
  out.comment(fmt::format("User accounts are not in this file; their keys and secrets come from {}.", from));
  out.line({"aaa", "authentication", "login", "default", "local"});
}

void services(CliWriter& out, const CliSwitch& input) {
  const std::string vrf = nxos_management_vrf(input.plan);
  out.separate();
  out.line({"ip", "domain-name", input.cluster().spec().site->domain.value});
  if (const std::string& syslog = input.services.syslog; !syslog.empty()) {
    out.line({"logging", "server", syslog, 6, "use-vrf", vrf});  // 6: informational and worse
    out.line({"logging", "source-interface",
              input.plan.oob() ? fmt::format("Vlan{}", input.oob().vlan.value) : std::string("mgmt0")});
  }
  if (const Ipv4 time = input.services.time; time.bits != 0) out.line({"ntp", "server", time, "use-vrf", vrf});
  if (const Ipv4 names = input.services.dns; names.bits != 0) out.line({"ip", "name-server", names, "use-vrf", vrf});
}

}  // namespace

std::string nxos_management_vrf(const SwitchPlan& plan) { return plan.oob() ? plan.vrf : std::string("management"); }

// Fundamentals and System Management Configuration Guides; Unicast Routing Configuration Guide, "Managing the Unicast
// RIB and FIB" (load sharing).
void nxos_system(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  out.separate();
  out.line({"hostname", plan.name});
  features(out, plan);
  accounts(out, input);
  services(out, input);
  if (plan.has_fabric_links()) {
    out.separate();
    if (plan.fabric->hash_seeds.value) {
      out.comment("Each tier has its own hash seed");
      out.line({"ip", "load-sharing", "address", "source-destination", "port", "source-destination", "universal-id",
                hash_seed(plan)});
    } else {
      out.line({"ip", "load-sharing", "address", "source-destination", "port", "source-destination"});
    }
    if (plan.fabric->bfd.value) out.line({"bfd", "interval", 100, "min_rx", 100, "multiplier", 3});
  }
  if (const int priority = plan.spanning_tree_priority(); priority != 0) {
    out.separate();
    out.line({"spanning-tree", "vlan", input.oob().vlan.value, "priority", priority});
  }
}

// Security Configuration Guide, "Configuring IP ACLs".
void nxos_guard(CliWriter& out, const CliSwitch& input) {
  if (!input.plan.oob() || input.guard.empty()) return;
  if (input.plan.group->tier == model::Tier::leaf) {
    out.separate();
    out.comment("TCAM space for port access lists; takes effect after a reload");
    out.line({"hardware", "access-list", "tcam", "region", "ing-racl", 1536});
    out.line({"hardware", "access-list", "tcam", "region", "ing-ifacl", 256});
  }
  out.separate();
  out.comment("Managed devices are reached only from jump hosts and reach only services of this network");
  const auto list = out.section({"ip", "access-list", kNxosGuard});
  out.line({"statistics", "per-entry"});
  int sequence = 10;
  for (const GuardRule& rule : input.guard) {
    out.line({sequence, "permit", CliToken::rest(guard_text(rule))});
    sequence += 10;
  }
  out.line({sequence, "deny", "ip", "any", "any", "log"});
}

namespace {

void write_nxos(CliWriter& out, const CliSwitch& input) {
  nxos_system(out, input);
  nxos_guard(out, input);
  nxos_qos(out, input);
  nxos_vlans(out, input);
  nxos_pair(out, input);
  nxos_interfaces(out, input);
  nxos_bgp(out, input);
}

}  // namespace

bool applies_nxos(const RenderInput& input) { return has_ethernet_switch_of(input.cluster, "nxos"); }

void render_nxos(const RenderInput& input, FileSink& sink) {
  render_switches(input, sink, {"nxos", "NX-OS", "bootflash", kNxosStyle, write_nxos});
}

}  // namespace weft::render
