// Addresses of devices and the subnets they come from.
#include <fmt/format.h>

#include <utility>

#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::left;
using views::right;

bool any_ipv6(const model::Cluster& cluster) {
  for (const model::Subnet& subnet : cluster.subnets()) {
    if (subnet.ipv6.length > 0) return true;
  }
  return false;
}

bool has_rails(model::FabricKind fabric) {
  return fabric == model::FabricKind::backend || fabric == model::FabricKind::storage;
}

std::vector<Cell> address_row(const model::Cluster& cluster, model::PortId id, bool ipv6) {
  const model::Port& port = cluster.port(id);
  std::vector<Cell> row = {cluster.name_of(port.device), cluster.port_name(id), model::to_text(port.fabric)};
  const bool host = cluster.group_of(port.device).kind == model::DeviceKind::server;
  row.push_back(views::ordinal_cell(has_rails(port.fabric) && host, port.rail));
  row.push_back(views::address_cell(port.address));
  if (port.subnet == model::kNone<model::SubnetId>) {
    row.resize(row.size() + 3);
  } else {
    const model::Subnet& subnet = cluster.subnet(port.subnet);
    row.emplace_back(std::int64_t{subnet.prefix.length}, fmt::format("/{}", subnet.prefix.length));
    row.push_back(views::address_cell(subnet.gateway));
    row.push_back(subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell());
  }
  row.push_back(views::text_cell(views::settings_of(cluster, port.fabric).vrf));
  if (ipv6) {
    const Ipv6 address = cluster.ipv6_of(id);
    row.push_back(address == Ipv6{} ? Cell() : Cell(to_text(address)));
  }
  return row;
}

std::vector<Cell> loopback_row(const model::Cluster& cluster, model::DeviceId id, bool ipv6) {
  const model::DeviceGroup& group = cluster.group_of(id);
  std::vector<Cell> row = {cluster.name_of(id),
                           "lo",
                           model::to_text(group.fabric),
                           Cell(),
                           views::address_cell(cluster.device(id).loopback),
                           Cell(std::int64_t{32}, "/32"),
                           Cell(),
                           Cell(),
                           views::text_cell(views::settings_of(cluster, group.fabric).vrf)};
  if (ipv6) row.emplace_back();
  return row;
}

}  // namespace

Document addresses_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric) {
  Document document;
  document.kind = "addresses";
  TableSection table{"addresses", "Addresses", {}, {}};
  table.columns = {left("host", "Host"),       left("port", "Port"),       left("fabric", "Fabric"),
                   right("rail", "Rail"),      left("address", "Address"), right("prefix_length", "Prefix"),
                   left("gateway", "Gateway"), right("vlan", "VLAN"),      left("vrf", "VRF")};
  const bool ipv6 = any_ipv6(cluster);
  if (ipv6) table.columns.push_back(left("ipv6_address", "IPv6 address"));
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto device = static_cast<model::DeviceId>(d);
    if (cluster.device(device).loopback.bits != 0 && (!fabric || cluster.group_of(device).fabric == *fabric)) {
      table.rows.push_back(loopback_row(cluster, device, ipv6));
    }
    for (const model::PortId id : cluster.ports_of(device)) {
      const model::Port& port = cluster.port(id);
      if (port.address.bits == 0 || (fabric && port.fabric != *fabric)) continue;
      table.rows.push_back(address_row(cluster, id, ipv6));
    }
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

Document subnets_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "subnets";
  TableSection table{"subnets", "Subnets", {}, {}};
  table.columns = {left("subnet", "Subnet"),
                   left("fabric", "Fabric"),
                   right("rail", "Rail"),
                   left("unit", "Unit"),
                   left("prefix", "Prefix"),
                   left("gateway", "Gateway"),
                   right("vlan", "VLAN"),
                   left("vrf", "VRF"),
                   right("used", "Used"),
                   right("size", "Addresses total"),
                   left("ipv6_prefix", "IPv6 prefix")};
  const bool ipv6 = any_ipv6(cluster);
  if (!ipv6) table.columns.pop_back();
  std::vector<std::uint64_t> used(cluster.subnets().size());
  for (const model::Port& port : cluster.ports()) {
    if (port.address.bits != 0 && port.subnet != model::kNone<model::SubnetId>) ++used[model::index_of(port.subnet)];
  }
  for (std::size_t s = 0; s < used.size(); ++s) {
    const model::Subnet& subnet = cluster.subnets()[s];
    std::vector<Cell> row = {subnet.name,
                             model::to_text(subnet.fabric),
                             views::ordinal_cell(has_rails(subnet.fabric), subnet.rail),
                             views::text_cell(views::unit_name(cluster, subnet.unit)),
                             to_text(subnet.prefix),
                             views::address_cell(subnet.gateway),
                             subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell(),
                             views::text_cell(views::settings_of(cluster, subnet.fabric).vrf),
                             views::count_cell(used[s]),
                             views::count_cell(subnet.prefix.size())};
    if (ipv6) row.push_back(subnet.ipv6.length > 0 ? Cell(to_text(subnet.ipv6)) : Cell());
    table.rows.push_back(std::move(row));
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::design
