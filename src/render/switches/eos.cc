// EOS: one file for each switch, and what belongs to the switch as a whole.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/switches/eos_config.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

constexpr std::string_view kManagementVrf = "MGMT";

std::string management_interface(const EosInput& input) {
  return input.view.is_oob() ? fmt::format("Vlan{}", input.survey.oob().vlan.value) : std::string("Management1");
}

// "Domain Name System", "Network Time Protocol", "Logging" of the manual.
void services(CliWriter& out, const EosInput& input) {
  const std::string vrf = input.management_vrf();
  const std::string source = management_interface(input);
  out.separate();
  out.line({"hostname", input.view.name});
  if (const Ipv4 names = input.survey.name_server(); names.bits != 0)
    out.line({"ip", "name-server", "vrf", vrf, names});
  out.line({"dns", "domain", input.cluster().spec().site->domain.value});
  if (const std::string syslog = input.survey.syslog(); !syslog.empty()) {
    out.separate();
    out.line({"logging", "trap", "informational"});
    out.line({"logging", "vrf", vrf, "host", syslog});
    out.line({"logging", "vrf", vrf, "source-interface", source});
  }
  if (const Ipv4 time = input.survey.time_server(); time.bits != 0) {
    out.separate();
    out.line({"ntp", "local-interface", "vrf", vrf, source});
    out.line({"ntp", "server", "vrf", vrf, time});
  }
}

void accounts(CliWriter& out, const EosInput& input) {
  const model::OobSpec& oob = input.survey.oob();
  const std::string from = oob.credentials.has_value() ? oob.credentials.value : std::string("the site's secret store");
  out.separate();
  out.comment(fmt::format("Accounts are not in this file. Their keys and secrets come from {}.", from));
  out.line({"aaa", "authentication", "login", "default", "local"});
  out.line({"aaa", "authorization", "exec", "default", "local"});
}

void spanning_tree(CliWriter& out, const EosInput& input) {
  out.separate();
  // What NX-OS speaks too: the switches of a network need not be of one make.
  out.line({"spanning-tree", "mode", "rapid-pvst"});
  if (input.view.mate != model::kNone<model::DeviceId>) out.line({"no", "spanning-tree", "vlan-id", input.pair_vlan()});
  if (const int priority = input.view.root_priority(); priority != 0)
    out.line({"spanning-tree", "vlan-id", input.survey.oob().vlan.value, "priority", priority});
}

}  // namespace

std::string EosInput::vrf() const { return view.is_oob() ? survey.oob().vrf->text : view.fabric->vrf->text; }

std::string EosInput::management_vrf() const { return view.is_oob() ? vrf() : std::string(kManagementVrf); }

std::uint32_t EosInput::pair_vlan() const {
  std::uint32_t vlan = 4094;
  for (auto segment = view.segments.rbegin(); segment != view.segments.rend(); ++segment) {
    if (segment->vlan == vlan) --vlan;  // they are in order
  }
  return vlan;
}

void eos_system(CliWriter& out, const EosInput& input) {
  if (input.view.routed() || input.view.node_asn != 0) {
    out.separate();
    out.line({"service", "routing", "protocols", "model", "multi-agent"});
  }
  services(out, input);
  spanning_tree(out, input);
  accounts(out, input);
}

// "ACLs and Route Maps" of the manual.
void eos_guard(CliWriter& out, const EosInput& input) {
  if (!input.view.is_oob() || !input.survey.guarded()) return;
  const auto list = out.section({"ip", "access-list", kEosGuard});
  out.line({"counters", "per-entry"});
  int sequence = 10;
  out.line({sequence, "remark", CliToken::rest("jump hosts alone reach what is managed here")});
  const auto end = [](const Ipv4Prefix& prefix) {
    return prefix.length == 32 ? fmt::format("host {}", to_text(prefix.base)) : to_text(prefix);
  };
  for (const GuardRule& rule : input.survey.guard_of(input.view)) {
    std::string text = end(rule.source);
    if (rule.source_port != 0) text += fmt::format(" eq {}", rule.source_port);
    text += " " + end(rule.destination);
    if (rule.destination_port != 0) text += fmt::format(" eq {}", rule.destination_port);
    sequence += 10;
    out.line({sequence, "permit", rule.udp ? "udp" : "ip", CliToken::rest(text)});
  }
  out.line({sequence + 10, "deny", "ip", "any", "any", "log"});
}

namespace {

void write_eos(CliWriter& out, const SwitchView& view, const SwitchSurvey& survey) {
  const EosInput input{view, survey};
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
