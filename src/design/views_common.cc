#include "design/views_common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/human_format.h"

namespace weft::design::views {

std::uint64_t count_cables(const model::Cluster& cluster) {
  std::vector<std::uint32_t> assemblies;
  assemblies.reserve(cluster.cables().size());
  for (const model::Cable& cable : cluster.cables()) assemblies.push_back(cable.assembly);
  std::sort(assemblies.begin(), assemblies.end());
  return static_cast<std::uint64_t>(std::unique(assemblies.begin(), assemblies.end()) - assemblies.begin());
}

std::uint64_t count_links(const model::Cluster& cluster) { return cluster.cables().size(); }

Column left(std::string key, std::string title) {
  return Column{std::move(key), std::move(title), Column::Align::left, false};
}

Column right(std::string key, std::string title) {
  return Column{std::move(key), std::move(title), Column::Align::right, false};
}

Column wide(Column column) {
  column.wide = true;
  return column;
}

Cell speed_cell(BitRate speed) {
  if (speed.count() == 0) return {};
  return {speed.count(), to_text(speed)};
}

Cell power_cell(Power power) { return {(power.count() + 500) / 1000, about(power)}; }

Cell meters_cell(std::uint32_t length_mm) {
  const double meters = static_cast<double>(length_mm) / 1000.0;
  return {meters, fmt::format("{:g}", meters)};
}

Cell percent_cell(double percent) {
  const double steps = percent < 1.0 ? 100.0 : 10.0;
  const double rounded = std::round(percent * steps) / steps;
  return {rounded, fmt::format("{:g}%", rounded)};
}

Cell address_cell(Ipv4 address) {
  if (address.bits == 0) return {};
  return to_text(address);
}

Cell ordinal_cell(bool applies, std::uint32_t index) {
  if (!applies) return {};
  return std::int64_t{index} + 1;
}

Cell count_cell(std::uint64_t count) { return {count, group_digits(count)}; }

Cell text_cell(std::string text) {
  if (text.empty()) return {};
  return Cell(std::move(text));
}

FabricSettings settings_of(const model::Cluster& cluster, model::FabricKind fabric) {
  const model::FabricSpec* spec = cluster.find_fabric_spec(fabric);
  if (spec == nullptr) {
    const model::OobSpec& oob = *cluster.spec().fabrics->oob;
    return FabricSettings{*oob.mtu, oob.vrf->text};
  }
  FabricSettings settings;
  if (spec->mtu.has_value()) settings.mtu = *spec->mtu;
  if (spec->vrf.has_value()) settings.vrf = spec->vrf->text;
  return settings;
}

std::string_view prefix_of(model::FabricKind fabric) {
  switch (fabric) {
    case model::FabricKind::backend:
      return "BE";
    case model::FabricKind::storage:
      return "STO";
    case model::FabricKind::frontend:
      return "FE";
    case model::FabricKind::oob:
      break;
  }
  return "OOB";
}

std::string pool_name(const model::Cluster& cluster, int pool) {
  if (pool < 0) return "shared";
  return (*cluster.spec().pools)[static_cast<std::size_t>(pool)].name->text;
}

std::string unit_name(const model::Cluster& cluster, model::UnitId unit) {
  if (unit == model::kNone<model::UnitId>) return {};
  const model::Unit& which = cluster.units()[model::index_of(unit)];
  return fmt::format("{}-u{:03}", pool_name(cluster, which.pool), which.index + 1);
}

std::string rack_name(const model::Cluster& cluster, model::DeviceId device) {
  const model::RackId rack = cluster.device(device).rack;
  return rack == model::kNone<model::RackId> ? std::string() : cluster.rack(rack).name;
}

std::string model_id(const model::Cluster& cluster, model::DeviceId device) {
  const model::DeviceGroup& group = cluster.group_of(device);
  switch (group.kind) {
    case model::DeviceKind::server:
      return cluster.server_of(device).id->text;
    case model::DeviceKind::network_switch:
      return group.network_switch->id->text;
    case model::DeviceKind::pdu:
      return group.pdu->id->text;
    case model::DeviceKind::external:
      break;
  }
  return {};
}

std::string role_of(const model::Cluster& cluster, const model::DeviceGroup& group) {
  if (group.manager) return "manager";
  if (group.kind == model::DeviceKind::network_switch) return std::string(model::to_text(group.tier));
  if (group.kind != model::DeviceKind::server || group.pool < 0) return std::string(model::to_text(group.kind));
  return std::string(model::text_of(*(*cluster.spec().pools)[static_cast<std::size_t>(group.pool)].role));
}

std::int64_t height_of(const model::Cluster& cluster, model::DeviceId device) {
  const model::DeviceGroup& group = cluster.group_of(device);
  if (group.kind == model::DeviceKind::server) return *cluster.server_of(device).height;
  if (group.kind == model::DeviceKind::network_switch) return *group.network_switch->height;
  return 0;
}

std::int64_t gpus_of(const model::Cluster& cluster, model::DeviceId device) {
  return cluster.group_of(device).kind == model::DeviceKind::server ? *cluster.server_of(device).gpus : 0;
}

Supplies supplies_of(const model::Cluster& cluster, model::DeviceId device) {
  const model::DeviceGroup& group = cluster.group_of(device);
  if (group.kind == model::DeviceKind::server) {
    const model::ServerModel& server = cluster.server_of(device);
    const std::int64_t needed = server.psus_needed.has_value() ? *server.psus_needed : 1;
    return {static_cast<int>(*server.psus), static_cast<int>(needed)};
  }
  // One supply is enough for a switch: switches are sold with redundant ones.
  if (group.kind == model::DeviceKind::network_switch) return {static_cast<int>(*group.network_switch->psus), 1};
  return {};
}

bool falls_with_feed(const model::Cluster& cluster, model::DeviceId device, int feed) {
  const Supplies supplies = supplies_of(cluster, device);
  if (supplies.fitted == 0 || cluster.feed_of_psu(device, 0) < 0) return false;
  int others = 0;
  for (int psu = 0; psu < supplies.fitted; ++psu) others += cluster.feed_of_psu(device, psu) != feed ? 1 : 0;
  return others < supplies.needed;
}

std::string feed_name(int feed) { return std::string(1, static_cast<char>('A' + feed % 26)); }

std::string feeds_of(const model::Cluster& cluster, model::DeviceId device) {
  const Supplies supplies = supplies_of(cluster, device);
  std::string text;
  for (int psu = 0; psu < supplies.fitted; ++psu) {
    const int feed = cluster.feed_of_psu(device, psu);
    if (feed < 0) continue;  // its rack has no PDU
    const std::string name = feed_name(feed);
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

}  // namespace weft::design::views
