// EOS: one file per switch, and its system-wide settings.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/switches/eos_config.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

constexpr std::string_view kManagementVrf = "MGMT";

std::string management_interface(const CliSwitch& input) {
  return input.plan.oob() ? fmt::format("Vlan{}", input.oob().vlan.value) : std::string("Management1");
}

// "Domain Name System", "Network Time Protocol", "Logging" of the manual.
void services(CliWriter& out, const CliSwitch& input) {
  const std::string vrf = eos_management_vrf(input.plan);
  const std::string source = management_interface(input);
  out.separate();
  out.line({"hostname", input.plan.name});
  if (const Ipv4 names = input.services.dns; names.bits != 0) out.line({"ip", "name-server", "vrf", vrf, names});
  out.line({"dns", "domain", input.cluster().spec().site->domain.value});
  if (const std::string& syslog = input.services.syslog; !syslog.empty()) {
    out.separate();
    out.line({"logging", "trap", "informational"});
    out.line({"logging", "vrf", vrf, "host", syslog});
    out.line({"logging", "vrf", vrf, "source-interface", source});
  }
  if (const Ipv4 time = input.services.time; time.bits != 0) {
    out.separate();
    out.line({"ntp", "local-interface", "vrf", vrf, source});
    out.line({"ntp", "server", "vrf", vrf, time});
  }
}

void accounts(CliWriter& out, const CliSwitch& input) {
  const model::OobSpec& oob = input.oob();
  const std::string from = oob.credentials.has_value() ? oob.credentials.value : std::string("the site's secret store");
  out.separate();
  out.comment(fmt::format("User accounts are not in this file; their keys and secrets come from {}.", from));
  out.line({"aaa", "authentication", "login", "default", "local"});
  out.line({"aaa", "authorization", "exec", "default", "local"});
}

void spanning_tree(CliWriter& out, const CliSwitch& input) {
  out.separate();
  // Also supported by NX-OS: the switches of a network may be from different vendors.
  out.line({"spanning-tree", "mode", "rapid-pvst"});
  if (input.plan.has_pair()) out.line({"no", "spanning-tree", "vlan-id", eos_pair_vlan(input.plan)});
  if (const int priority = input.plan.spanning_tree_priority(); priority != 0)
    out.line({"spanning-tree", "vlan-id", input.oob().vlan.value, "priority", priority});
}

}  // namespace

std::string eos_management_vrf(const SwitchPlan& plan) { return plan.oob() ? plan.vrf : std::string(kManagementVrf); }

std::uint32_t eos_pair_vlan(const SwitchPlan& plan) {
  std::uint32_t free = 4094;
  for (auto one = plan.vlans.rbegin(); one != plan.vlans.rend(); ++one) {
    if (one->id == free) --free;  // they are in order
  }
  return free;
}

void eos_system(CliWriter& out, const CliSwitch& input) {
  if (input.plan.has_fabric_links() || input.plan.nodes.asn != 0) {
    out.separate();
    out.line({"service", "routing", "protocols", "model", "multi-agent"});
  }
  services(out, input);
  spanning_tree(out, input);
  accounts(out, input);
}

// "ACLs and Route Maps" of the manual.
void eos_guard(CliWriter& out, const CliSwitch& input) {
  if (!input.plan.oob() || input.guard.empty()) return;
  const auto list = out.section({"ip", "access-list", kEosGuard});
  out.line({"counters", "per-entry"});
  int sequence = 10;
  out.line({sequence, "remark", CliToken::rest("only jump hosts reach managed devices")});
  for (const GuardRule& rule : input.guard) {
    sequence += 10;
    out.line({sequence, "permit", CliToken::rest(guard_text(rule))});
  }
  out.line({sequence + 10, "deny", "ip", "any", "any", "log"});
}

namespace {

void write_eos(CliWriter& out, const CliSwitch& input) {
  eos_system(out, input);
  eos_qos(out, input);
  eos_vlans(out, input);
  eos_interfaces(out, input);
  eos_guard(out, input);
  eos_pair(out, input);
  eos_routing(out, input);
  out.separate();
  out.line({"end"});
}

}  // namespace

bool applies_eos(const RenderInput& input) { return has_ethernet_switch_of(input.cluster, "eos"); }

void render_eos(const RenderInput& input, FileSink& sink) {
  render_switches(input, sink, {"eos", "EOS", "flash", kEosStyle, write_eos});
}

}  // namespace weft::render
