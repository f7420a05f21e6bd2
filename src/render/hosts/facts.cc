// Facts about the cluster for the parts of the host target: ports, addresses, the names of switch ports.
#include <fmt/format.h>

#include <algorithm>

#include "render/hosts/parts.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

constexpr std::size_t kRelays = 2;

// Lanes before a cage, in SONiC's numbering across the whole switch.
struct CagePlace {
  std::uint32_t lanes_before = 0;
  std::uint32_t lanes = 1;
  bool pluggable_lanes = false;  // a cage of several lanes (QSFP, OSFP)
  std::int64_t ports_before = 0;
};

CagePlace place_of_cage(const model::SwitchModel& model, std::uint32_t cage) {
  CagePlace place;
  std::uint32_t first = 0;
  for (const model::CageGroup& row : model.cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    const auto lanes = static_cast<std::uint32_t>(row.lanes.value);
    place.lanes = lanes;
    place.pluggable_lanes = lanes > 1;
    if (cage < first + count) {
      place.lanes_before += (cage - first) * lanes;
      return place;
    }
    place.lanes_before += count * lanes;
    first += count;
  }
  return place;
}

// The port number that a subnet manager uses: counted across all cages, with one number per breakout port, or per port
// of the vendor's radix for cages without a cable (a QM9700's 32 cages are 64 ports).
std::uint32_t infiniband_number(const model::Cluster& cluster, const model::Port& port) {
  const model::SwitchModel& model = *cluster.group_of(port.device).network_switch;
  std::int64_t cages = 0;
  for (const model::CageGroup& row : model.cages.value) cages += row.count.value;
  const auto usual =
      static_cast<std::uint32_t>(std::max<std::int64_t>(model.radix.value / std::max<std::int64_t>(cages, 1), 1));
  std::uint32_t number = 0;
  std::uint32_t next = 0;  // cage
  for (const model::PortId id : cluster.ports_of(port.device)) {
    const model::Port& other = cluster.port(id);
    if (other.cage < next) continue;  // another breakout port of the same cage
    if (other.cage >= port.cage) break;
    number += (other.cage - next) * usual;
    number += std::max(place_of_cage(model, other.cage).lanes / std::max<std::uint32_t>(other.lanes, 1), 1U);
    next = other.cage + 1U;
  }
  number += (port.cage - next) * usual;
  return number + port.lane / std::max<std::uint32_t>(port.lanes, 1) + 1;
}

}  // namespace

bool host_fabric_is_infiniband(const model::Cluster& cluster, model::FabricKind fabric) {
  return fabric != model::FabricKind::oob && cluster.fabric(fabric).network == model::NetworkKind::infiniband;
}

model::DeviceId host_member(const model::DeviceGroup& group, std::uint32_t index) {
  return static_cast<model::DeviceId>(model::index_of(group.first) + index);
}

bool host_is_system_port(const model::Port& port) { return port.fabric != model::FabricKind::oob || port.rail > 0; }

bool host_has_fabric(const model::Cluster& cluster, const PoolPlan& pool, model::FabricKind fabric) {
  const auto ports = cluster.ports_of(pool.group->first);
  return std::any_of(ports.begin(), ports.end(), [&](model::PortId id) {
    return cluster.port(id).fabric == fabric && host_is_system_port(cluster.port(id));
  });
}

std::string_view host_role_name(model::PoolRole role) {
  for (const auto& [name, value] : model::choices_of(model::PoolRole{})) {
    if (value == role) return name;
  }
  return "";
}

Ipv4 host_jump_address(const model::Cluster& cluster, model::DeviceId server) {
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == model::FabricKind::oob && port.rail > 0 && port.address != Ipv4{}) return port.address;
  }
  return {};
}

Ipv4 host_management_address(const model::Cluster& cluster, const RenderPlan& plan, model::DeviceId server) {
  const Ipv4 frontend = plan.frontend_address(server);
  if (frontend != Ipv4{}) return frontend;
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == model::FabricKind::storage && port.address != Ipv4{}) return port.address;
  }
  return host_jump_address(cluster, server);
}

std::vector<model::DeviceId> host_relays(const RenderInput& input) {
  const PoolPlan* chosen = nullptr;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (!host_has_fabric(input.cluster, pool, model::FabricKind::frontend)) continue;
    if (!host_has_fabric(input.cluster, pool, model::FabricKind::storage)) continue;
    const bool login = pool.spec->role.value == model::PoolRole::login;
    if (chosen == nullptr || (login && chosen->spec->role.value != model::PoolRole::login)) chosen = &pool;
  }
  std::vector<model::DeviceId> relays;
  for (std::uint32_t i = 0; chosen != nullptr && i < chosen->group->count && relays.size() < kRelays; ++i) {
    relays.push_back(host_member(*chosen->group, i));
  }
  return relays;
}

std::vector<std::string> host_switch_port_names(const model::Cluster& cluster, model::PortId switch_port) {
  const model::Port& port = cluster.port(switch_port);
  const model::DeviceGroup& group = cluster.group_of(port.device);
  const std::string_view system = system_of(cluster, group);
  const CagePlace place = place_of_cage(*group.network_switch, port.cage);
  const unsigned cage = port.cage + 1U;
  const unsigned piece = port.lane / std::max<unsigned>(port.lanes, 1);
  const bool split = port.lanes != place.lanes;
  if (group.network_switch->network.value == model::NetworkKind::infiniband)
    return {std::to_string(infiniband_number(cluster, port))};
  if (system == "sonic") {
    const std::string alias = fmt::format("etp{}{}", cage, split ? std::string(1, static_cast<char>('a' + piece)) : "");
    return {fmt::format("Ethernet{}", place.lanes_before + port.lane), alias};
  }
  if (system == "cumulus") return {split ? fmt::format("swp{}s{}", cage, piece) : fmt::format("swp{}", cage)};
  if (system == "nxos")
    return {split ? fmt::format("Ethernet1/{}/{}", cage, piece + 1) : fmt::format("Ethernet1/{}", cage)};
  if (system == "eos") {
    if (!place.pluggable_lanes) return {fmt::format("Ethernet{}", cage)};
    std::vector<std::string> names{fmt::format("Ethernet{}/{}", cage, port.lane + 1U)};
    if (piece != port.lane) names.push_back(fmt::format("Ethernet{}/{}", cage, piece + 1));
    return names;
  }
  if (system == "junos") return {fmt::format("et-0/0/{}{}", cage - 1, split ? fmt::format(":{}", piece) : "")};
  return {cluster.port_name(switch_port)};
}

}  // namespace weft::render
