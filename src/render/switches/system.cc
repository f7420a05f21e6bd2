#include "render/switches/system.h"

#include <algorithm>

namespace weft::render {

const model::FabricSpec* switch_fabric(const model::Cluster& cluster, model::FabricKind kind) {
  const model::FabricsSpec& fabrics = cluster.spec().fabrics.value;
  switch (kind) {
    case model::FabricKind::backend:
      return &fabrics.backend.value;
    case model::FabricKind::storage:
      return &fabrics.storage.value;
    case model::FabricKind::frontend:
      return &fabrics.frontend.value;
    case model::FabricKind::oob:
      return nullptr;
  }
  return nullptr;
}

std::string_view system_of(const model::Cluster& cluster, const model::DeviceGroup& group) {
  if (group.kind != model::DeviceKind::network_switch || group.network_switch == nullptr) return {};
  const model::FabricSpec* fabric = switch_fabric(cluster, group.fabric);
  const model::Sourced<std::string>& wanted = fabric != nullptr ? fabric->system : cluster.spec().fabrics->oob->system;
  const std::vector<std::string>& able = group.network_switch->systems.value;
  if (able.empty() || std::find(able.begin(), able.end(), wanted.value) != able.end()) return wanted.value;
  return able.front();
}

std::string_view system_of(const model::Cluster& cluster, model::DeviceId device) {
  return system_of(cluster, cluster.group_of(device));
}

bool is_ethernet_switch_of(const model::Cluster& cluster, const model::DeviceGroup& group, std::string_view system) {
  return group.count > 0 && group.network_switch != nullptr &&
         group.network_switch->network.value == model::NetworkKind::ethernet && system_of(cluster, group) == system;
}

bool has_ethernet_switch_of(const model::Cluster& cluster, std::string_view system) {
  const auto groups = cluster.groups();
  return std::any_of(groups.begin(), groups.end(),
                     [&](const model::DeviceGroup& group) { return is_ethernet_switch_of(cluster, group, system); });
}

Stage stage_of(model::FabricKind fabric) {
  switch (fabric) {
    case model::FabricKind::backend:
      return Stage::backend;
    case model::FabricKind::storage:
      return Stage::storage;
    case model::FabricKind::frontend:
      return Stage::frontend;
    case model::FabricKind::oob:
      break;
  }
  return Stage::oob;
}

}  // namespace weft::render
