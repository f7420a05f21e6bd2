#include "render/switch_system.h"

#include <algorithm>

namespace weft {

const FabricSpec* switch_fabric(const Cluster& cluster, FabricKind kind) {
  const FabricsSpec& fabrics = cluster.spec().fabrics.value;
  switch (kind) {
    case FabricKind::backend:
      return &fabrics.backend.value;
    case FabricKind::storage:
      return &fabrics.storage.value;
    case FabricKind::frontend:
      return &fabrics.frontend.value;
    case FabricKind::oob:
      return nullptr;
  }
  return nullptr;
}

std::string_view system_of(const Cluster& cluster, const DeviceGroup& group) {
  if (group.kind != DeviceKind::network_switch || group.network_switch == nullptr) return {};
  const FabricSpec* fabric = switch_fabric(cluster, group.fabric);
  const Given<std::string>& wanted = fabric != nullptr ? fabric->system : cluster.spec().fabrics->oob->system;
  const std::vector<std::string>& able = group.network_switch->systems.value;
  if (able.empty() || std::find(able.begin(), able.end(), wanted.value) != able.end()) return wanted.value;
  return able.front();
}

std::string_view system_of(const Cluster& cluster, DeviceId device) {
  return system_of(cluster, cluster.group_of(device));
}

bool is_ethernet_switch_of(const Cluster& cluster, const DeviceGroup& group, std::string_view system) {
  return group.count > 0 && group.network_switch != nullptr &&
         group.network_switch->network.value == NetworkKind::ethernet && system_of(cluster, group) == system;
}

bool has_ethernet_switch_of(const Cluster& cluster, std::string_view system) {
  const auto groups = cluster.groups();
  return std::any_of(groups.begin(), groups.end(),
                     [&](const DeviceGroup& group) { return is_ethernet_switch_of(cluster, group, system); });
}

}  // namespace weft
