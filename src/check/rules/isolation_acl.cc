// Access lists: rules that never match, lists without effect, lists that permit too much traffic to the BMCs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "check/core/match.h"
#include "check/rules/isolation.h"

namespace weft::check {
namespace {

std::string subject_of(const CheckInput& input, const config::SwitchConfig& config) {
  if (input.has_cluster()) {
    std::vector<std::string> names;
    for (const model::DeviceId id : devices_of(input.cluster(), input.config(), config)) {
      names.push_back(input.cluster().name_of(id));
    }
    if (!names.empty()) return fold_hosts(std::move(names));
  }
  return config.hostname.known() ? *config.hostname : input.sources().path(config.file);
}

const config::AclConfig* find_acl(const config::SwitchConfig& config, const std::string& name) {
  for (const config::AclConfig& acl : config.acls) {
    if (acl.name == name) return &acl;
  }
  return nullptr;
}

bool is_name_part(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

// Whether a file references the list outside its own definition: on an interface, a line, a class map, SNMP.
bool named_elsewhere(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool whole = (at == 0 || !is_name_part(text[at - 1])) &&
                       (at + name.size() == text.size() || !is_name_part(text[at + name.size()]));
    if (!whole) continue;
    const std::size_t start = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::string_view before = text.substr(start, at - start);
    if (!before.starts_with("ip access-list ")) return true;
  }
  return false;
}

bool is_oob_switch(const CheckInput& input, const config::SwitchConfig& config) {
  const std::vector<model::DeviceId> devices = devices_of(input.cluster(), input.config(), config);
  return std::any_of(devices.begin(), devices.end(), [&](model::DeviceId id) {
    const model::DeviceGroup& group = input.cluster().group_of(id);
    return group.kind == model::DeviceKind::network_switch && group.fabric == model::FabricKind::oob;
  });
}

bool on_oob_subnet(const CheckInput& input, const config::InterfaceConfig& interface) {
  const Ipv4Prefix& subnet = *input.spec().fabrics->oob->subnet;
  const bool addressed =
      std::any_of(interface.own.begin(), interface.own.end(), [&](Ipv4 address) { return subnet.contains(address); });
  return addressed && interface.kind != config::InterfaceConfig::Kind::management &&
         interface.kind != config::InterfaceConfig::Kind::loopback;
}

// Packets from outside the out-of-band network to the devices it manages.
PacketSet packets_from_outside(const CheckInput& input) {
  const Ipv4Prefix& subnet = *input.spec().fabrics->oob->subnet;
  for (const ReachZone& zone : input.reachability().zones()) {
    if (zone.kind == ZoneKind::oob) return PacketSet::between(complement({interval_of(subnet)}), zone.addresses);
  }
  return {};
}

}  // namespace

void check_shadowed_acl_rules(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    for (const config::AclConfig& acl : config.acls) {
      for (const ShadowedRule& shadowed : shadowed_rules(acl)) {
        const config::AclRule& rule = acl.rules[shadowed.rule];
        const config::AclRule& by = acl.rules[shadowed.by];
        Finding& finding =
            report.add(subject_of(input, config), rule.place,
                       fmt::format("`{}` rule {} never matches: rule {} {} those packets first", acl.name,
                                   rule.sequence, by.sequence, by.permit ? "permits" : "denies"));
        finding.related.push_back({by.place, fmt::format("rule {} of `{}`", by.sequence, acl.name)});
      }
    }
  }
}

void check_unused_acl(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    if (config.dialect != config::Dialect::nxos) continue;
    const std::string_view text = input.sources().text(config.file);
    for (const config::AclConfig& acl : config.acls) {
      if (named_elsewhere(text, acl.name)) continue;
      // A missing list between the gateway and the BMCs is a separate finding.
      const bool gateway_open = input.has_cluster() && is_oob_switch(input, config) &&
                                std::any_of(config.interfaces.begin(), config.interfaces.end(), [&](const auto& one) {
                                  return on_oob_subnet(input, one) && !one.acl_in.known() && !one.acl_out.known();
                                });
      if (gateway_open) continue;
      report.add(subject_of(input, config), acl.place,
                 fmt::format("access list `{}` is not applied to any interface", acl.name));
    }
  }
}

void check_missing_acl(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    std::set<std::string> told;
    for (const config::InterfaceConfig& interface : config.interfaces) {
      for (const config::Setting<std::string>* use : {&interface.acl_in, &interface.acl_out}) {
        if (!use->given() || find_acl(config, **use) != nullptr || !told.insert(**use).second) continue;
        report.add(subject_of(input, config), use->place,
                   fmt::format("{} applies access list `{}`, which is not defined", interface.name, **use));
      }
    }
  }
}

void check_oob_acl_sources(const CheckInput& input, Report& report) {
  if (!*input.spec().fabrics->oob->jump_only) return;
  const PacketSet outside = packets_from_outside(input);
  for (const config::SwitchConfig& config : input.config().switches) {
    if (config.acls.empty() || !is_oob_switch(input, config)) continue;
    std::set<const config::AclConfig*> told;
    for (const config::InterfaceConfig& interface : config.interfaces) {
      if (!on_oob_subnet(input, interface)) continue;
      for (const config::Setting<std::string>* use : {&interface.acl_in, &interface.acl_out}) {
        const config::AclConfig* acl = use->known() ? find_acl(config, **use) : nullptr;
        if (acl == nullptr || !told.insert(acl).second) continue;
        const auto packet = apply_acl(*acl, outside).pick({{Ipv4{0xC6336401U}}, {}});  // RFC 5737
        if (!packet) continue;
        const config::AclRule* rule = deciding_rule(*acl, *packet);
        Finding& finding = report.add(
            subject_of(input, config), rule != nullptr ? rule->place : acl->place,
            fmt::format("access list `{}` permits hosts other than the jump hosts to reach the BMCs", acl->name));
        finding.related.push_back({use->place, "applied here: passes " + to_text(*packet)});
      }
    }
  }
}

void check_oob_gateway_acl(const CheckInput& input, Report& report) {
  if (!*input.spec().fabrics->oob->jump_only) return;
  for (const config::SwitchConfig& config : input.config().switches) {
    if (!is_oob_switch(input, config)) continue;
    for (const config::InterfaceConfig& interface : config.interfaces) {
      if (!on_oob_subnet(input, interface) || interface.acl_in.known() || interface.acl_out.known()) continue;
      if (interface.enabled.known() && !*interface.enabled) continue;
      const std::string subject = subject_of(input, config);
      Finding& finding =
          report.add(subject, interface.place,
                     fmt::format("{} routes for the BMCs without an access list, but the design sets `jump_only`",
                                 interface.name));
      const SourceLocation& asked = input.spec().fabrics->oob->jump_only.place;
      if (asked.known()) finding.related.push_back({asked, "`jump_only`"});
    }
  }
}

}  // namespace weft::check
