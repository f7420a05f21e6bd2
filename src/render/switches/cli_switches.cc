#include "render/switches/cli_switches.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/switches/system.h"

namespace weft::render {
namespace {

bool has_external_links(const model::Cluster& cluster, model::DeviceId device) {
  const auto ports = cluster.ports_of(device);
  return std::any_of(ports.begin(), ports.end(), [&](model::PortId id) {
    return cluster.cable(cluster.cable_of(id)).role == model::CableRole::external;
  });
}

// What the files of a group of switches cannot express, as notes for the operator.
void note_group(const SwitchPlanner& planner, const model::DeviceGroup& group, bool guarded, FileSink& sink) {
  const model::FabricSpec* fabric = switch_fabric(planner.cluster(), group.fabric);
  if (has_external_links(planner.cluster(), group.first)) {
    sink.note(fmt::format(
        "{}: uplinks to the site have no addresses and no BGP sessions; add them when the site's settings are known",
        group.name));
  }
  if (group.fabric == model::FabricKind::frontend && fabric->ipv6.has_value() && planner.is_stretched(group.fabric)) {
    sink.note(fmt::format(
        "{}: a subnet spans several leaf pairs: host routes are announced for IPv4 only, so IPv6 stays within a pair",
        group.name));
  }
  if (guarded && planner.render_plan().jump_hosts().empty()) {
    sink.note(fmt::format(
        "{}: `jump_only` without a jump host: the access list allows traffic between the devices of this network",
        group.name));
  }
  if (fabric == nullptr && planner.oob().gateway.value != model::Whereabouts::none) {
    sink.note(fmt::format(
        "{}: the uplink of the out-of-band network ({}) is not configured: its next hop belongs to the site",
        group.name, to_text(planner.oob().subnet.value)));
  }
  if (fabric != nullptr && fabric->load_balancing.value != model::LoadBalancing::ecmp) {
    sink.left_out(fmt::format(
        "{}: adaptive routing and packet spraying are not configured: the commands depend on the release", group.name));
  }
}

RenderedFile describe_file(const SwitchDialect& dialect, const SwitchPlan& plan) {
  RenderedFile file;
  file.path = fmt::format("{}/{}.cfg", dialect.system, plan.name);
  file.device = plan.name;
  file.consumer = dialect.title;
  file.install = fmt::format("{}:{}.cfg", dialect.storage, plan.name);
  file.apply = fmt::format("copy {} running-config", file.install);
  file.risk = Risk::traffic;
  file.stage = stage_of(plan.group->fabric);
  file.sources = {fabric_source(plan.group->fabric)};
  if (!plan.oob()) file.sources.emplace_back("fabrics.oob");
  return file;
}

}  // namespace

std::uint32_t channel_of(const SwitchPort& port) {
  return port.use == SwitchPort::Use::pair_link ? kPairChannel : port.bond;
}

int hash_seed(const SwitchPlan& plan) { return static_cast<int>(plan.group->tier); }

std::uint32_t equal_paths(const SwitchPlan& plan) {
  constexpr std::uint32_t kMax = 64;  // limit of both systems
  constexpr std::uint32_t kNodes = 16;
  return std::clamp<std::uint32_t>(std::max(plan.fabric_links(), plan.nodes.asn != 0 ? kNodes : 1U), 1, kMax);
}

std::string guard_text(const GuardRule& rule) {
  const auto end = [](const Ipv4Prefix& prefix, int port) {
    std::string text = prefix.length == 32 ? fmt::format("host {}", to_text(prefix.base)) : to_text(prefix);
    if (port != 0) text += fmt::format(" eq {}", port);
    return text;
  };
  const std::string_view protocol = rule.protocol == GuardRule::Protocol::udp   ? "udp"
                                    : rule.protocol == GuardRule::Protocol::tcp ? "tcp"
                                                                                : "ip";
  return fmt::format("{} {} {}", protocol, end(rule.source, rule.source_port),
                     end(rule.destination, rule.destination_port));
}

void render_switches(const RenderInput& input, FileSink& sink, const SwitchDialect& dialect) {
  const SwitchPlanner planner(input.plan);
  const SwitchServices services = switch_services(input.cluster);
  for (const model::DeviceGroup& group : input.cluster.groups()) {
    if (!is_ethernet_switch_of(input.cluster, group, dialect.system)) continue;
    bool guarded = false;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const SwitchPlan plan = planner.plan(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      const std::vector<GuardRule> guard = guard_rules(input.plan, plan);
      guarded = guarded || !guard.empty();
      CliWriter out(dialect.style);
      out.comment(heading(input.cluster, fmt::format("{} configuration of {}", dialect.title, plan.name)));
      dialect.write(out, CliSwitch{plan, planner, services, guard});
      RenderedFile file = describe_file(dialect, plan);
      for (const std::string& line : out.refused()) {
        sink.left_out(fmt::format("{}: omitted a line that contains a line break: {}", file.path, line));
      }
      file.content = out.take();
      sink.add(std::move(file));
    }
    note_group(planner, group, guarded, sink);
  }
}

}  // namespace weft::render
