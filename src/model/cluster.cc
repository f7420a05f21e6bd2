#include "model/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/server_ports.h"

namespace weft::model {

std::string_view to_text(FabricKind fabric) {
  static constexpr std::string_view kNames[] = {"backend", "storage", "frontend", "oob"};
  return kNames[static_cast<std::size_t>(fabric)];
}
std::string_view to_text(DeviceKind kind) {
  static constexpr std::string_view kNames[] = {"server", "switch", "pdu", "external"};
  return kNames[static_cast<std::size_t>(kind)];
}
std::string_view to_text(Tier tier) {
  static constexpr std::string_view kNames[] = {"none", "leaf", "spine", "core"};
  return kNames[static_cast<std::size_t>(tier)];
}
std::string_view to_text(CableRole role) {
  static constexpr std::string_view kNames[] = {"host-leaf", "manager-leaf", "leaf-spine",   "spine-core",  "peer",
                                                "external",  "oob-uplink",   "oob-frontend", "back-to-back"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string Cluster::port_name(PortId id) const {
  const Port& p = port(id);
  const DeviceGroup& group = group_of(p.device);
  switch (group.kind) {
    case DeviceKind::server: {
      if (p.fabric == FabricKind::oob) return p.rail == 0 ? "bmc" : fmt::format("mgmt{}", p.rail);
      static constexpr const char* kPrefix[] = {"be", "sto", "fe"};
      const PortUse use = group.manager ? PortUse::backend : static_cast<PortUse>(p.fabric);
      const PortGroup* ports = port_group(*group.server, use);
      const std::uint32_t planes = p.fabric == FabricKind::backend && !group.manager
                                       ? static_cast<std::uint32_t>(spec_.fabrics->backend->planes.value)
                                       : 1;
      const std::uint32_t number =
          (p.cage - first_cage(*group.server, ports)) * static_cast<std::uint32_t>(ports->per_cage.value) +
          p.lane / planes + 1;
      return fmt::format("{}{}{}", kPrefix[static_cast<std::size_t>(p.fabric)], number,
                         planes > 1 ? std::string(1, static_cast<char>('a' + p.plane)) : "");
    }
    case DeviceKind::pdu:
      return "mgmt";
    case DeviceKind::external:
      return fmt::format("x{}", p.cage + 1);
    case DeviceKind::network_switch:
      break;
  }
  std::uint32_t first = 0;
  for (const CageGroup& row : group.network_switch->cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    if (p.cage < first + count) {
      if (p.lanes == row.lanes.value) return fmt::format("p{}", p.cage + 1);
      return fmt::format("p{}/{}", p.cage + 1, p.lane / p.lanes + 1);
    }
    first += count;
  }
  return "mgmt";
}

std::string Cluster::full_port_name(PortId id) const { return name_of(port(id).device) + ":" + port_name(id); }

DeviceId Cluster::find_device(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNone<DeviceId> : found->second;
}

PortId Cluster::find_port(std::string_view full_name) const {
  const std::size_t colon = full_name.rfind(':');
  if (colon == std::string_view::npos) return kNone<PortId>;
  const DeviceId device_id = find_device(full_name.substr(0, colon));
  if (device_id == kNone<DeviceId>) return kNone<PortId>;
  for (const PortId id : ports_of(device_id)) {
    if (port_name(id) == full_name.substr(colon + 1)) return id;
  }
  return kNone<PortId>;
}

const FabricSpec* Cluster::find_fabric_spec(FabricKind kind) const {
  switch (kind) {
    case FabricKind::backend:
      return &*spec_.fabrics->backend;
    case FabricKind::storage:
      return &*spec_.fabrics->storage;
    case FabricKind::frontend:
      return &*spec_.fabrics->frontend;
    case FabricKind::oob:
      break;
  }
  return nullptr;
}

const FabricSpec& Cluster::data_fabric_spec(FabricKind kind) const {
  const FabricSpec* spec = find_fabric_spec(kind);
  CHECK(spec != nullptr, "data_fabric_spec() of the out-of-band network");
  return *spec;
}

std::string_view Cluster::switch_os_of(const DeviceGroup& group) const {
  if (group.kind != DeviceKind::network_switch || group.network_switch == nullptr) return {};
  const FabricSpec* fabric = find_fabric_spec(group.fabric);
  const std::string& wanted = fabric != nullptr ? fabric->system.value : spec_.fabrics->oob->system.value;
  const std::vector<std::string>& able = group.network_switch->systems.value;
  if (able.empty() || std::find(able.begin(), able.end(), wanted) != able.end()) return wanted;
  return able.front();
}

const ServerModel& Cluster::server_of(DeviceId id) const {
  if (!server_overrides_.empty()) {
    const auto found = server_overrides_.find(index_of(id));
    if (found != server_overrides_.end()) return *found->second;
  }
  const ServerModel* model = group_of(id).server;
  CHECK(model != nullptr, "server_of() of a device that is not a server");
  return *model;
}

std::span<const PortId> Cluster::ports_of(DeviceId id) const {
  const std::uint32_t first = port_offsets_[index_of(id)];
  return std::span(port_order_).subspan(first, port_offsets_[index_of(id) + 1] - first);
}

PortId Cluster::peer_of(PortId id) const {
  const Cable& c = cable(port(id).cable);
  return c.a == id ? c.b : c.a;
}

std::span<const DeviceId> Cluster::devices_in(RackId id) const {
  const std::uint32_t first = rack_offsets_[index_of(id)];
  return std::span(rack_order_).subspan(first, rack_offsets_[index_of(id) + 1] - first);
}

int Cluster::feed_of_pdu(DeviceId pdu) const {
  const Rack& r = rack(device(pdu).rack);
  return static_cast<int>((index_of(pdu) - index_of(r.first_pdu)) %
                          static_cast<std::uint32_t>(spec_.site->feeds.value));
}

int Cluster::feed_of_psu(DeviceId id, int psu) const {
  const RackId where = device(id).rack;
  if (where == kNone<RackId>) return -1;
  const Rack& r = rack(where);
  if (r.pdus == 0) return -1;
  return feed_of_pdu(static_cast<DeviceId>(index_of(r.first_pdu) + static_cast<std::uint32_t>(psu) % r.pdus));
}

Ipv6 Cluster::ipv6_of(PortId id) const {
  const Port& p = port(id);
  if (p.subnet == kNone<SubnetId> || p.address.bits == 0) return {};
  const Subnet& s = subnet(p.subnet);
  if (s.ipv6.length == 0) return {};
  // The IPv4 address in the last 32 bits: unique, and easy to derive one from the other.
  Ipv6 out = s.ipv6.base;
  out.groups[6] = static_cast<std::uint16_t>(p.address.bits >> 16U);
  out.groups[7] = static_cast<std::uint16_t>(p.address.bits & 0xFFFFU);
  return out;
}

Ipv4 Cluster::oob_address(DeviceId id) const {
  const DeviceGroup& group = group_of(id);
  if (group.kind == DeviceKind::network_switch && group.fabric == FabricKind::oob) return device(id).loopback;
  for (const PortId port_id : ports_of(id)) {
    const Port& p = port(port_id);
    if (p.fabric == FabricKind::oob && p.rail == 0) return p.address;
  }
  return {};
}

}  // namespace weft::model
