// Racks, units and pools, and what the cluster file defines on top of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "design/views_common.h"
#include "inspect/describer.h"

namespace weft::inspect {

namespace views = design::views;
using views::left;
using views::right;
using views::text_cell;

void Describer::add_rack(model::RackId id, Document& document) {
  const model::Rack& rack = cluster_.rack(id);
  const std::span<const model::DeviceId> devices = cluster_.devices_in(id);
  FactList facts("rack", "Rack");
  facts.add("name", "Name", rack.name);
  facts.add("row", "Row", rack.row);
  facts.add("position", "Position", rack.column);
  facts.add("pool", "Pool", rack.pool >= 0 ? views::pool_name(cluster_, rack.pool) : std::string("service"));
  facts.add("model", "Model", model_text(*rack.model));
  facts.add("devices", "Devices", devices.size() - rack.pdus);
  const std::int64_t height = *rack.model->height;
  facts.add("units_used", "Rack units",
            {std::int64_t{rack.used_units}, fmt::format("{} of {} used", rack.used_units, height)});
  facts.add("power_w", "Power, maximum", views::power_cell(rack.power));
  if (rack.limit.count() > 0) {
    const double share = static_cast<double>(rack.power.count()) / static_cast<double>(rack.limit.count());
    facts.add("limit_w", "Power limit", views::power_cell(rack.limit));
    facts.add("power_percent", "Power of limit", views::percent_cell(100.0 * share));
  }
  std::vector<std::string> pdus;
  for (std::uint32_t p = 0; p < rack.pdus; ++p) {
    const auto pdu = static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + p);
    pdus.push_back(fmt::format("{} (feed {})", cluster_.name_of(pdu), views::feed_name(cluster_.feed_of_pdu(pdu))));
  }
  facts.add("pdus", "PDUs", text_cell(join(pdus, ", ")));
  facts.add("if_it_fails", "If it fails", impact(devices));
  document.sections.emplace_back(facts.take_section());
  document.sections.emplace_back(rack_devices(id));
  if (TableSection cables = leaving_cables(id); !cables.rows.empty()) document.sections.emplace_back(std::move(cables));
}

TableSection Describer::rack_devices(model::RackId id) const {
  TableSection table{"devices", "Devices, from the top", {}, {}};
  table.columns = {left("rack_units", "Rack units"),
                   left("device", "Device"),
                   left("role", "Role"),
                   left("model", "Model"),
                   right("power_w", "Power, maximum"),
                   left("feeds", "Feeds"),
                   left("management", "BMC or OOB address")};
  const std::span<const model::DeviceId> devices = cluster_.devices_in(id);  // from the bottom, PDUs last
  std::vector<model::DeviceId> order(devices.begin(), devices.end());
  std::stable_sort(order.begin(), order.end(), [&](model::DeviceId a, model::DeviceId b) {
    return cluster_.device(a).rack_unit > cluster_.device(b).rack_unit;
  });
  for (const model::DeviceId device : order) {
    const model::DeviceGroup& group = cluster_.group_of(device);
    Cell power;
    if (group.kind == model::DeviceKind::server) power = views::power_cell(*cluster_.server_of(device).power);
    if (group.kind == model::DeviceKind::network_switch) power = views::power_cell(*group.network_switch->power);
    const bool pdu = group.kind == model::DeviceKind::pdu;
    table.rows.push_back(
        {text_cell(units_text(cluster_, device)), cluster_.name_of(device), views::role_of(cluster_, group),
         views::model_id(cluster_, device), power,
         text_cell(pdu ? views::feed_name(cluster_.feed_of_pdu(device)) : views::feeds_of(cluster_, device)),
         views::address_cell(cluster_.oob_address(device))});
  }
  return table;
}

// Cables to other racks, by fabric, role and the rack they go to.
TableSection Describer::leaving_cables(model::RackId id) const {
  struct Bundle {
    std::int64_t cables = 0;
    std::uint32_t shortest_mm = UINT32_MAX;
    std::uint32_t longest_mm = 0;
  };
  std::map<std::tuple<model::FabricKind, model::CableRole, std::string>, Bundle> bundles;
  for (const model::DeviceId device : cluster_.devices_in(id)) {
    for (const model::PortId port : cluster_.ports_of(device)) {
      if (cluster_.cable_of(port) == model::kNone<model::CableId>) continue;
      const model::Cable& cable = cluster_.cable(cluster_.cable_of(port));
      const model::DeviceId peer = cluster_.port(cluster_.peer_of(port)).device;
      if (cluster_.device(peer).rack == id) continue;
      Bundle& bundle = bundles[{cable.fabric, cable.role, views::rack_name(cluster_, peer)}];
      ++bundle.cables;
      bundle.shortest_mm = std::min(bundle.shortest_mm, cable.length_mm);
      bundle.longest_mm = std::max(bundle.longest_mm, cable.length_mm);
    }
  }
  TableSection table{"leaving", "Links to other racks", {}, {}};
  table.columns = {left("fabric", "Fabric"),
                   left("role", "Role"),
                   left("to_rack", "To"),
                   right("links", "Links"),
                   right("shortest_m", "Shortest (m)"),
                   right("longest_m", "Longest (m)")};
  for (const auto& [key, bundle] : bundles) {
    const auto& [fabric, role, rack] = key;
    table.rows.push_back({model::to_text(fabric), model::to_text(role), rack.empty() ? Cell("outside") : Cell(rack),
                          bundle.cables, views::meters_cell(bundle.shortest_mm),
                          views::meters_cell(bundle.longest_mm)});
  }
  return table;
}

void Describer::add_unit(model::UnitId id, Document& document) {
  const model::Unit& unit = cluster_.units()[model::index_of(id)];
  std::vector<model::DeviceId> leaves;
  std::vector<std::string> leaf_names;
  for (std::uint32_t i = 0; i < unit.leaves; ++i) {
    leaves.push_back(static_cast<model::DeviceId>(model::index_of(unit.first_leaf) + i));
    leaf_names.push_back(cluster_.name_of(leaves.back()));
  }
  std::vector<std::string> servers;
  for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
    const auto device = static_cast<model::DeviceId>(d);
    const bool server = cluster_.group_of(device).kind == model::DeviceKind::server;
    if (server && cluster_.device(device).unit == id) servers.push_back(cluster_.name_of(device));
  }
  FactList facts("unit", "Unit");
  facts.add("name", "Name", views::unit_name(cluster_, id));
  facts.add("fabric", "Fabric", model::to_text(unit.fabric));
  facts.add("pool", "Pool", views::pool_name(cluster_, unit.pool));
  facts.add("servers", "Servers",
            {std::int64_t{unit.servers}, fmt::format("{} of {} positions", unit.servers, unit.capacity)});
  facts.add("hosts", "Hosts", text_cell(fold_hosts(std::move(servers))));
  facts.add("leaves", "Leaves", text_cell(fold_hosts(std::move(leaf_names))));
  facts.add("pod", "Pod", views::ordinal_cell(cluster_.fabric(unit.fabric).tiers >= 3, unit.pod));
  facts.add("if_it_fails", "If its leaves fail", impact(leaves));
  document.sections.emplace_back(facts.take_section());
  TableSection table{"subnets", "Subnets", {}, {}};
  table.columns = {left("subnet", "Subnet"), left("prefix", "Prefix"), left("gateway", "Gateway"),
                   right("vlan", "VLAN")};
  for (const model::Subnet& subnet : cluster_.subnets()) {
    if (subnet.unit != id) continue;
    table.rows.push_back({subnet.name, weft::to_text(subnet.prefix), views::address_cell(subnet.gateway),
                          subnet.vlan > 0 ? Cell(std::int64_t{subnet.vlan}) : Cell()});
  }
  if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
}

void Describer::add_pool(std::size_t index, Document& document) {
  const model::PoolSpec& pool = (*cluster_.spec().pools)[index];
  std::map<std::string, std::vector<std::string>> by_rack;
  std::vector<std::string> hosts;
  std::set<std::string> units;
  std::int64_t gpus = 0;
  Power power;
  for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
    const auto device = static_cast<model::DeviceId>(d);
    const model::DeviceGroup& group = cluster_.group_of(device);
    if (group.kind != model::DeviceKind::server || group.pool != static_cast<int>(index)) continue;
    hosts.push_back(cluster_.name_of(device));
    by_rack[views::rack_name(cluster_, device)].push_back(cluster_.name_of(device));
    const std::string unit = views::unit_name(cluster_, cluster_.device(device).unit);
    if (!unit.empty()) units.insert(unit);
    gpus += views::gpus_of(cluster_, device);
    power += *cluster_.server_of(device).power;
  }
  std::vector<std::string> racks;
  racks.reserve(by_rack.size());
  for (const auto& [rack, members] : by_rack) racks.push_back(rack);
  const std::vector<std::string> partitions = partitions_of(pool.name->text);
  FactList facts("pool", "Pool");
  facts.add("name", "Name", pool.name->text);
  facts.add("role", "Role", model::text_of(*pool.role));
  facts.add("server", "Server", text_cell(*pool.server));
  facts.add("count", "Servers", hosts.size());
  facts.add("hosts", "Hosts", text_cell(fold_hosts(hosts)));
  facts.add("gpus", "GPUs", gpus > 0 ? views::count_cell(static_cast<std::uint64_t>(gpus)) : Cell());
  facts.add("power_w", "Power, maximum", views::power_cell(power));
  facts.add("racks", "Racks", text_cell(fold_hosts(std::move(racks))));
  facts.add("units", "Units", text_cell(fold_hosts({units.begin(), units.end()})));
  facts.add("spares", "Spares", *pool.spares > 0 ? Cell(*pool.spares) : Cell());
  facts.add("partitions", "Partitions", text_cell(join(partitions, ", ")));
  facts.add("tenants", "Tenants", text_cell(tenants_of(partitions)));
  facts.add("storage", "Storage system", text_cell(join(storage_on(pool.name->text), ", ")));
  document.sections.emplace_back(facts.take_section());
  TableSection table{"members", "Servers by rack", {}, {}};
  table.columns = {left("rack", "Rack"), right("servers", "Servers"), left("hosts", "Hosts")};
  for (const auto& [rack, members] : by_rack) {
    table.rows.push_back({text_cell(rack), members.size(), fold_hosts(members)});
  }
  document.sections.emplace_back(std::move(table));
}

void Describer::add_partition(std::size_t index, Document& document) const {
  const model::PartitionSpec& partition = (*cluster_.spec().partitions)[index];
  FactList facts("partition", "Partition");
  facts.add("name", "Name", partition.name->text);
  facts.add("pools", "Pools", text_cell(join(*partition.pools, ", ")));
  facts.add("priority", "Priority", partition.priority.has_value() ? Cell(*partition.priority) : Cell());
  facts.add("time_limit_s", "Time limit",
            partition.time_limit.has_value()
                ? Cell(partition.time_limit->count() / 1'000'000'000, format_duration(*partition.time_limit))
                : Cell());
  facts.add("constraints", "Constraints", text_cell(join(*partition.constraints, ", ")));
  facts.add("tenants", "Tenants", text_cell(tenants_of({partition.name->text})));
  document.sections.emplace_back(facts.take_section());
}

void Describer::add_tenant(std::size_t index, Document& document) const {
  const model::TenantSpec& tenant = (*cluster_.spec().tenants)[index];
  const model::QuotaSpec& quota = *tenant.quota;
  FactList facts("tenant", "Tenant");
  facts.add("name", "Name", tenant.name->text);
  facts.add("partitions", "Partitions", text_cell(join(*tenant.partitions, ", ")));
  facts.add("priority", "Priority", tenant.priority.has_value() ? Cell(*tenant.priority) : Cell());
  facts.add("quota_gpus", "GPU quota", quota.gpus.has_value() ? Cell(*quota.gpus) : Cell());
  facts.add("quota_cpus", "CPU quota", quota.cpus.has_value() ? Cell(*quota.cpus) : Cell());
  facts.add("quota_memory_bytes", "Memory quota",
            quota.memory.has_value() ? Cell(quota.memory->count(), format_bytes(*quota.memory)) : Cell());
  facts.add("quota_storage_bytes", "Storage quota",
            quota.storage.has_value() ? Cell(quota.storage->count(), format_bytes(*quota.storage)) : Cell());
  std::vector<std::string> services;
  for (const model::ServiceSpec& service : *cluster_.spec().services) {
    if (service.tenant.has_value() && *service.tenant == tenant.name->text) services.push_back(service.name->text);
  }
  facts.add("services", "Services", text_cell(join(services, ", ")));
  document.sections.emplace_back(facts.take_section());
}

void Describer::add_storage(std::size_t index, Document& document) const {
  const model::StorageSpec& system = (*cluster_.spec().storage)[index];
  FactList facts("storage", "Storage system");
  facts.add("name", "Name", system.name->text);
  facts.add("kind", "Kind", model::text_of(*system.kind));
  facts.add("tier", "Tier", model::text_of(*system.tier));
  facts.add("pool", "Pool", system.pool.has_value() ? Cell(*system.pool) : Cell());
  std::vector<std::string> hosts;
  for (const model::DeviceGroup& group : cluster_.groups()) {
    const bool mine = group.kind == model::DeviceKind::server && group.pool >= 0 && system.pool.has_value() &&
                      group.name == *system.pool;
    for (std::uint32_t i = 0; mine && i < group.count; ++i) {
      hosts.push_back(cluster_.name_of(static_cast<model::DeviceId>(model::index_of(group.first) + i)));
    }
  }
  facts.add("hosts", "Servers", text_cell(fold_hosts(std::move(hosts))));
  facts.add("security", "Security", model::text_of(*system.security));
  document.sections.emplace_back(facts.take_section());
  TableSection table{"volumes", "Volumes", {}, {}};
  table.columns = {left("volume", "Volume"), left("purpose", "Purpose"), right("size_bytes", "Size"),
                   left("read_only", "Read-only")};
  for (const model::VolumeSpec& volume : *system.volumes) {
    table.rows.push_back({volume.name->text, model::text_of(*volume.purpose),
                          volume.size.has_value() ? Cell(volume.size->count(), format_bytes(*volume.size)) : Cell(),
                          *volume.read_only});
  }
  if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
}

void Describer::add_service(std::size_t index, Document& document) const {
  const model::ServiceSpec& service = (*cluster_.spec().services)[index];
  FactList facts("service", "Service");
  facts.add("name", "Name", service.name->text);
  facts.add("pool", "Pool", service.pool.has_value() ? Cell(*service.pool) : Cell());
  facts.add("tenant", "Tenant", service.tenant.has_value() ? Cell(*service.tenant) : Cell());
  facts.add("gpus", "GPUs per replica", service.gpus.has_value() ? Cell(*service.gpus) : Cell());
  facts.add("mig", "MIG profile", service.mig.has_value() ? Cell(*service.mig) : Cell());
  facts.add("replicas", "Replicas", fmt::format("{} to {}", *service.min_replicas, *service.max_replicas));
  facts.add("port", "Port", *service.port);
  facts.add("host", "Host name", service.host.has_value() ? Cell(*service.host) : Cell());
  facts.add("priority", "Priority", service.priority.has_value() ? Cell(*service.priority) : Cell());
  document.sections.emplace_back(facts.take_section());
}

}  // namespace weft::inspect
