// Isolation as configured on switches, hosts and pods.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/host_range.h"
#include "check/core/match.h"
#include "check/rules/isolation.h"

namespace weft::check {
namespace {

constexpr int kFrontend = static_cast<int>(model::FabricKind::frontend);

bool is_management(std::string_view vrf) { return vrf == "mgmt" || vrf == "management"; }

// The fabric that a VLAN belongs to, -1 if none.
int fabric_of_vlan(const model::Cluster& cluster, int vlan) {
  const model::FabricsSpec& fabrics = *cluster.spec().fabrics;
  const auto within = [&](model::FabricKind kind, std::int64_t first, std::int64_t count) {
    const model::FabricPlan& plan = cluster.fabric(kind);
    return plan.present && plan.network == model::NetworkKind::ethernet && vlan >= first && vlan < first + count;
  };
  const auto rails = [&](model::FabricKind kind) { return std::int64_t{std::max(1U, cluster.fabric(kind).rails)}; };
  if (within(model::FabricKind::backend, *fabrics.backend->vlan, rails(model::FabricKind::backend))) return 0;
  if (within(model::FabricKind::storage, *fabrics.storage->vlan, rails(model::FabricKind::storage))) return 1;
  if (within(model::FabricKind::frontend, *fabrics.frontend->vlan, 1)) return 2;
  if (within(model::FabricKind::oob, *fabrics.oob->vlan, 1)) return 3;
  return -1;
}

// Where the VLANs of a switch appear: the declaration first, then ports that carry them.
std::vector<std::pair<int, SourceLocation>> vlans_of(const config::SwitchConfig& config) {
  std::vector<std::pair<int, SourceLocation>> out;
  for (const config::VlanConfig& vlan : config.vlans) out.emplace_back(vlan.id, vlan.place);
  for (const config::InterfaceConfig& interface : config.interfaces) {
    if (interface.access_vlan.given()) out.emplace_back(*interface.access_vlan, interface.access_vlan.place);
    for (const config::Setting<int>& vlan : interface.tagged_vlans) {
      if (vlan.given()) out.emplace_back(*vlan, vlan.place);
    }
  }
  return out;
}

struct Occurrence {
  SourceLocation place;
  std::vector<std::string> devices;
};

// Every scalar below a key with that name, in file order.
void find_scalars(const YamlNode& node, std::string_view key, std::vector<const YamlNode*>& out) {
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == key && entry.value.kind == YamlNode::Kind::scalar) out.push_back(&entry.value);
    find_scalars(entry.value, key, out);
  }
  for (const YamlNode& item : node.items) find_scalars(item, key, out);
}

bool contains_range(const ReachZone& zone, const Interval& range) {
  return std::any_of(zone.addresses.begin(), zone.addresses.end(),
                     [&](const Interval& own) { return own.low <= range.low && range.high <= own.high; });
}

bool touches(const ReachZone& zone, const Interval& range) {
  return std::any_of(zone.addresses.begin(), zone.addresses.end(),
                     [&](const Interval& own) { return own.low <= range.high && range.low <= own.high; });
}

}  // namespace

void check_foreign_vlan(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  const bool oob_on_frontend = *input.spec().fabrics->oob->uplink_to_frontend;
  std::map<std::pair<int, int>, Occurrence> found;  // by VLAN and the fabric of the switch
  for (const config::SwitchConfig& config : input.config().switches) {
    const std::vector<std::pair<int, SourceLocation>> vlans = vlans_of(config);
    for (const model::DeviceId id : devices_of(cluster, input.config(), config)) {
      if (cluster.group_of(id).kind != model::DeviceKind::network_switch) continue;
      const int own = static_cast<int>(cluster.group_of(id).fabric);
      for (const auto& [vlan, place] : vlans) {
        const int other = fabric_of_vlan(cluster, vlan);
        if (other < 0 || other == own) continue;
        if (oob_on_frontend && own == kFrontend && other == static_cast<int>(model::FabricKind::oob)) continue;
        Occurrence& seen = found[{vlan, own}];
        if (seen.devices.empty()) seen.place = place;
        seen.devices.push_back(cluster.name_of(id));
      }
    }
  }
  for (auto& [key, seen] : found) {
    const auto other = static_cast<model::FabricKind>(fabric_of_vlan(cluster, key.first));
    const auto own = static_cast<model::FabricKind>(key.second);
    report.add(fold_hosts(seen.devices), seen.place,
               fmt::format("VLAN {} of the {} fabric is on {} switches", key.first, model::to_text(other),
                           model::to_text(own)));
  }
}

void check_host_forwarding(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::forwarding_host, true);
}

void check_pod_forwarding(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::forwarding_pod, true);
}

void check_static_routes_between_fabrics(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::static_route, true);
}

void check_vrf_route_imports(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::vrf_import, true);
}

void check_interface_vrf(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::foreign_address, true);
}

void check_bgp_between_fabrics(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::bgp_session, true);
}

void check_management_vrf(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::management_port, true);
}

void check_configured_default_routes(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  const std::string& frontend = input.spec().fabrics->frontend->vrf->text;
  for (const config::SwitchConfig& config : input.config().switches) {
    std::map<model::FabricKind, std::vector<std::string>> devices;
    for (const model::DeviceId id : devices_of(cluster, input.config(), config)) {
      const model::DeviceGroup& group = cluster.group_of(id);
      if (group.kind == model::DeviceKind::network_switch) devices[group.fabric].push_back(cluster.name_of(id));
    }
    devices.erase(model::FabricKind::frontend);
    for (const config::RouteConfig& route : config.routes) {
      if (route.prefix.length != 0 || is_management(route.vrf) || route.vrf == frontend) continue;
      for (const auto& [fabric, names] : devices) {
        Finding& finding =
            report.add(fold_hosts(names), route.place,
                       fmt::format("default route on a switch of the {} fabric", model::to_text(fabric)));
        const Reachability& reachability = input.reachability();
        for (std::uint32_t i = 0; i < reachability.crossings().size(); ++i) {
          const Crossing& crossing = reachability.crossings()[i];
          if (crossing.kind != CrossingKind::default_route || crossing.members.front().place != route.place) continue;
          const auto proof = reachability.proof(i, 1);
          if (!proof.empty()) add_path(finding, reachability, proof.front());
        }
      }
    }
  }
}

// A secondary network of pods belongs to either the backend or storage, never both.
void check_attachment_fabric(const CheckInput& input, Report& report) {
  const std::vector<ReachZone>& zones = input.reachability().zones();
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    std::vector<std::string> on;
    const config::Setting<Ipv4Prefix>* wrong = nullptr;
    for (const config::Setting<Ipv4Prefix>& subnet : attachment.subnets) {
      for (const ReachZone& zone : zones) {
        const bool fabric = zone.kind != ZoneKind::pods && zone.kind != ZoneKind::jump && zone.kind != ZoneKind::site;
        if (!fabric || !touches(zone, interval_of(*subnet))) continue;
        if (std::find(on.begin(), on.end(), zone.name) != on.end()) continue;
        on.push_back(zone.name);
        const bool rdma = zone.kind == ZoneKind::backend || zone.kind == ZoneKind::storage;
        if (wrong == nullptr && (!rdma || on.size() > 1)) wrong = &subnet;
      }
    }
    if (wrong == nullptr) continue;
    report.add(attachment.name, wrong->place,
               fmt::format("subnet {} of the pod network `{}` is in the address plan of {}", to_text(**wrong),
                           attachment.name, fmt::join(on, " and ")));
  }
}

void check_network_policy_on_rdma_subnet(const CheckInput& input, Report& report) {
  const std::vector<ReachZone>& zones = input.reachability().zones();
  for (const config::KubeObject& object : input.config().objects) {
    if (!object.kind.ends_with("NetworkPolicy")) continue;
    std::vector<const YamlNode*> ranges;
    find_scalars(object.tree, "cidr", ranges);
    for (const YamlNode* range : ranges) {
      const auto prefix = parse_ipv4_prefix(range->scalar);
      if (!prefix.ok()) continue;
      const auto inside = std::find_if(zones.begin(), zones.end(), [&](const ReachZone& zone) {
        const bool rdma = zone.kind == ZoneKind::backend || zone.kind == ZoneKind::storage;
        return rdma && contains_range(zone, interval_of(*prefix));
      });
      if (inside == zones.end()) continue;
      report.add(object.name, range->place,
                 fmt::format("{} `{}` is meant to restrict {} of the {} fabric, where RDMA bypasses it", object.kind,
                             object.name, to_text(*prefix), inside->name));
      break;
    }
  }
}

}  // namespace weft::check
