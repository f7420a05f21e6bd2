// NX-OS: one file for each switch, and what belongs to the switch as a whole.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/switches/nxos_config.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

void features(CliWriter& out, const SwitchView& view) {
  out.separate();
  if (view.routed() || view.node_asn != 0) out.line({"feature", "bgp"});
  if (!view.segments.empty()) out.line({"feature", "interface-vlan"});
  out.line({"feature", "lldp"});
  if (view.mate != model::kNone<model::DeviceId>) {
    out.line({"feature", "hsrp"});
    out.line({"feature", "lacp"});
    out.line({"feature", "vpc"});
  }
  if (view.routed() && view.fabric->bfd.value) out.line({"feature", "bfd"});
}

// Where secrets come from; they never stand in the file.
void accounts(CliWriter& out, const NxosInput& input) {
  out.separate();
  const model::OobSpec& oob = input.survey.oob();
  const std::string from = oob.credentials.has_value() ? oob.credentials.value : std::string("the site's secret store");
  out.comment(fmt::format("Accounts are not in this file. Their keys and secrets come from {}.", from));
  out.line({"aaa", "authentication", "login", "default", "local"});
}

void services(CliWriter& out, const NxosInput& input) {
  const std::string vrf = input.management_vrf();
  out.separate();
  out.line({"ip", "domain-name", input.cluster().spec().site->domain.value});
  if (const std::string syslog = input.survey.syslog(); !syslog.empty()) {
    out.line({"logging", "server", syslog, 6, "use-vrf", vrf});  // 6: informational and worse
    out.line({"logging", "source-interface",
              input.view.is_oob() ? fmt::format("Vlan{}", input.survey.oob().vlan.value) : std::string("mgmt0")});
  }
  if (const Ipv4 time = input.survey.time_server(); time.bits != 0) out.line({"ntp", "server", time, "use-vrf", vrf});
  if (const Ipv4 names = input.survey.name_server(); names.bits != 0)
    out.line({"ip", "name-server", names, "use-vrf", vrf});
}

}  // namespace

std::string NxosInput::vrf() const { return view.is_oob() ? survey.oob().vrf->text : view.fabric->vrf->text; }

std::string NxosInput::management_vrf() const { return view.is_oob() ? vrf() : std::string("management"); }

// Fundamentals and System Management Configuration Guides; Unicast Routing Configuration Guide, "Managing the Unicast
// RIB and FIB" (load sharing).
void nxos_system(CliWriter& out, const NxosInput& input) {
  const SwitchView& view = input.view;
  out.separate();
  out.line({"hostname", view.name});
  features(out, view);
  accounts(out, input);
  services(out, input);
  if (view.routed()) {
    out.separate();
    if (view.fabric->hash_seeds.value) {
      out.comment("Each tier hashes with a seed of its own");
      out.line({"ip", "load-sharing", "address", "source-destination", "port", "source-destination", "universal-id",
                view.hash_seed()});
    } else {
      out.line({"ip", "load-sharing", "address", "source-destination", "port", "source-destination"});
    }
    if (view.fabric->bfd.value) out.line({"bfd", "interval", 100, "min_rx", 100, "multiplier", 3});
  }
  if (const int priority = view.root_priority(); priority != 0) {
    out.separate();
    out.line({"spanning-tree", "vlan", input.survey.oob().vlan.value, "priority", priority});
  }
}

// Security Configuration Guide, "Configuring IP ACLs".
void nxos_guard(CliWriter& out, const NxosInput& input) {
  if (!input.view.is_oob() || !input.survey.guarded()) return;
  if (input.view.group->tier == model::Tier::leaf) {
    out.separate();
    out.comment("Room for port access lists; takes effect with the next reload");
    out.line({"hardware", "access-list", "tcam", "region", "ing-racl", 1536});
    out.line({"hardware", "access-list", "tcam", "region", "ing-ifacl", 256});
  }
  out.separate();
  out.comment("Jump hosts alone reach what is managed here; it asks the services of this network alone");
  const auto list = out.section({"ip", "access-list", kNxosGuard});
  out.line({"statistics", "per-entry"});
  int sequence = 10;
  const auto end = [](const Ipv4Prefix& prefix) {
    return prefix.length == 32 ? fmt::format("host {}", to_text(prefix.base)) : to_text(prefix);
  };
  for (const GuardRule& rule : input.survey.guard_of(input.view)) {
    std::string text = end(rule.source);
    if (rule.source_port != 0) text += fmt::format(" eq {}", rule.source_port);
    text += " " + end(rule.destination);
    if (rule.destination_port != 0) text += fmt::format(" eq {}", rule.destination_port);
    out.line({sequence, "permit", rule.udp ? "udp" : "ip", CliToken::rest(text)});
    sequence += 10;
  }
  out.line({sequence, "deny", "ip", "any", "any", "log"});
}

namespace {

void write_nxos(CliWriter& out, const SwitchView& view, const SwitchSurvey& survey) {
  const NxosInput input{view, survey};
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
