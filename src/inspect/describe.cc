#include "inspect/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "design/views_common.h"
#include "inspect/describer.h"

namespace weft::inspect {

namespace views = design::views;

void Describer::add(const Thing& thing, Document& document) {
  switch (thing.kind) {
    case ThingKind::device:
      return add_device(thing.id<model::DeviceId>(), document);
    case ThingKind::port:
      return add_port(thing.id<model::PortId>(), document);
    case ThingKind::cable:
      return add_cable(thing.id<model::CableId>(), document);
    case ThingKind::splitter:
      return add_splitter(thing.id<model::CableId>(), document);
    case ThingKind::address:
      return add_address(thing.name, document);
    case ThingKind::subnet:
      return add_subnet(thing.id<model::SubnetId>(), document);
    case ThingKind::rack:
      return add_rack(thing.id<model::RackId>(), document);
    case ThingKind::unit:
      return add_unit(thing.id<model::UnitId>(), document);
    case ThingKind::pool:
      return add_pool(thing.index, document);
    case ThingKind::partition:
      return add_partition(thing.index, document);
    case ThingKind::tenant:
      return add_tenant(thing.index, document);
    case ThingKind::storage:
      return add_storage(thing.index, document);
    case ThingKind::service:
      return add_service(thing.index, document);
  }
}

std::string Describer::impact(std::span<const model::DeviceId> failed, std::span<const model::CableId> cut) {
  if (meter_ == nullptr) meter_ = std::make_unique<design::LossMeter>(cluster_);
  const design::Loss loss = meter_->measure_loss(failed, cut);
  std::vector<std::string> effects;
  if (loss.servers > 0) {
    effects.push_back(fmt::format("{} lost", plural(loss.servers, "server")) +
                      (loss.gpus > 0 ? fmt::format(" ({})", plural(loss.gpus, "GPU")) : ""));
  }
  if (loss.degraded > 0) effects.push_back(fmt::format("{} degraded", plural(loss.degraded, "server")));
  if (loss.unmanaged > 0) effects.push_back(fmt::format("{} unmanaged", plural(loss.unmanaged, "device")));
  // The links of servers that fail themselves are not a loss of the network.
  const bool servers = std::any_of(failed.begin(), failed.end(), [&](model::DeviceId id) {
    return cluster_.group_of(id).kind == model::DeviceKind::server;
  });
  for (int f = 0; f < model::kFabrics && !servers; ++f) {
    const auto fabric = static_cast<model::FabricKind>(f);
    if (loss.lost_of(fabric) <= 0) continue;
    effects.push_back(fmt::format("{} loses {} of its bandwidth", model::to_text(fabric),
                                  views::percent_cell(loss.lost_of(fabric)).shown));
  }
  return effects.empty() ? std::string("no server is lost or degraded") : join(effects, ", ");
}

int Describer::supplies_on(model::DeviceId device, model::DeviceId pdu) const {
  const model::RackId where = cluster_.device(device).rack;
  if (where == model::kNone<model::RackId> || where != cluster_.device(pdu).rack) return 0;
  const model::Rack& rack = cluster_.rack(where);
  const auto number = static_cast<int>(model::index_of(pdu) - model::index_of(rack.first_pdu));
  int supplies = 0;
  for (int psu = 0; psu < views::supplies_of(cluster_, device).fitted; ++psu) {
    supplies += psu % static_cast<int>(rack.pdus) == number ? 1 : 0;  // as feed_of_psu() distributes them
  }
  return supplies;
}

std::vector<model::DeviceId> Describer::lost_with_pdu(model::DeviceId pdu) const {
  std::vector<model::DeviceId> lost{pdu};
  const model::RackId rack = cluster_.device(pdu).rack;
  if (rack == model::kNone<model::RackId>) return lost;
  for (const model::DeviceId id : cluster_.devices_in(rack)) {
    const views::Supplies supplies = views::supplies_of(cluster_, id);
    if (supplies.fitted > 0 && supplies.fitted - supplies_on(id, pdu) < supplies.needed) lost.push_back(id);
  }
  return lost;
}

model::SubnetId Describer::subnet_of(model::PortId id) const {
  const model::Port& port = cluster_.port(id);
  if (port.subnet != model::kNone<model::SubnetId> || port.cable == model::kNone<model::CableId>) return port.subnet;
  return cluster_.port(cluster_.peer_of(id)).subnet;
}

std::vector<std::string> Describer::partitions_of(const std::string& pool) const {
  std::vector<std::string> names;
  for (const model::PartitionSpec& partition : *cluster_.spec().partitions) {
    const std::vector<std::string>& pools = *partition.pools;
    if (std::find(pools.begin(), pools.end(), pool) != pools.end()) names.push_back(partition.name->text);
  }
  return names;
}

std::string Describer::tenants_of(const std::vector<std::string>& partitions) const {
  std::vector<std::string> names;
  for (const model::TenantSpec& tenant : *cluster_.spec().tenants) {
    const bool uses = std::any_of(tenant.partitions->begin(), tenant.partitions->end(), [&](const std::string& one) {
      return std::find(partitions.begin(), partitions.end(), one) != partitions.end();
    });
    if (uses) names.push_back(tenant.name->text);
  }
  return join(names, ", ");
}

std::vector<std::string> Describer::storage_on(const std::string& pool) const {
  std::vector<std::string> names;
  for (const model::StorageSpec& system : *cluster_.spec().storage) {
    if (system.pool.has_value() && *system.pool == pool) names.push_back(system.name->text);
  }
  return names;
}

std::string_view direction_of(const model::Cluster& cluster, model::PortId id) {
  const model::Port& port = cluster.port(id);
  if (port.cable == model::kNone<model::CableId>) return "";
  const model::Cable& cable = cluster.cable(port.cable);
  const model::DeviceGroup& group = cluster.group_of(port.device);
  if (cable.role == model::CableRole::peer || cable.role == model::CableRole::back_to_back) return "peer";
  if (cable.role == model::CableRole::external) return "external";
  if (cable.a != id) return "down";
  if (cable.role != model::CableRole::host_leaf || port.fabric != model::FabricKind::oob) return "up";
  return group.kind == model::DeviceKind::server && port.rail == 0 ? "bmc" : "management";
}

std::string port_range(const std::vector<std::string>& ports) {
  if (ports.size() <= 2) return join(ports, " ");
  return fmt::format("{} to {}", ports.front(), ports.back());
}

std::string units_text(const model::Cluster& cluster, model::DeviceId id) {
  const std::uint16_t first = cluster.device(id).rack_unit;
  const std::int64_t height = views::height_of(cluster, id);
  if (first == 0) return {};
  return height > 1 ? fmt::format("U{}-U{}", first, first + height - 1) : fmt::format("U{}", first);
}

namespace {

std::string& key_of(std::variant<FactsSection, TableSection>& section) {
  if (auto* table = std::get_if<TableSection>(&section)) return table->key;
  return std::get_if<FactsSection>(&section)->key;
}

}  // namespace

Document describe(const model::Cluster& cluster, const std::vector<Thing>& things) {
  Document document;
  document.kind = "description";
  Describer describer(cluster);
  std::vector<std::string> forms;
  for (const Thing& thing : things) {
    const std::size_t first = document.sections.size();
    describer.add(thing, document);
    forms.push_back(fmt::format("{}/{}", to_text(thing.kind), thing.name));
    if (things.size() < 2) continue;
    const auto same =
        std::count_if(things.data(), &thing, [&](const Thing& other) { return other.kind == thing.kind; });
    const std::string number = same > 0 ? std::to_string(same + 1) : std::string();
    for (std::size_t s = first; s < document.sections.size(); ++s) {
      std::string& key = key_of(document.sections[s]);
      key = s == first ? fmt::format("{}{}", key, number) : fmt::format("{}{}_{}", to_text(thing.kind), number, key);
    }
  }
  std::vector<std::string> distinct = forms;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() > 1) {
    document.notes.insert(document.notes.begin(), fmt::format("{} things have this name. To describe one: {}",
                                                              things.size(), join(distinct, ", ", " or ")));
  }
  return document;
}

void limit_rows(Document& document, std::size_t max_rows) {
  for (auto& section : document.sections) {
    auto* table = std::get_if<TableSection>(&section);
    if (table == nullptr || table->rows.size() <= max_rows) continue;
    document.notes.push_back(fmt::format("{}: {} of {} rows; --all shows the rest.", table->title, max_rows,
                                         group_digits(table->rows.size())));
    table->rows.resize(max_rows);
  }
}

}  // namespace weft::inspect
