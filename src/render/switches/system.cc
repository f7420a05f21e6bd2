#include "render/switches/system.h"

#include <algorithm>

namespace weft::render {

const model::FabricSpec* switch_fabric(const model::Cluster& cluster, model::FabricKind kind) {
  return cluster.find_fabric_spec(kind);
}

std::string_view system_of(const model::Cluster& cluster, const model::DeviceGroup& group) {
  return cluster.switch_os_of(group);
}

std::string_view system_of(const model::Cluster& cluster, model::DeviceId device) {
  return cluster.switch_os_of(device);
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
