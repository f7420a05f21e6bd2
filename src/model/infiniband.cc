#include "model/infiniband.h"

#include <algorithm>

namespace weft::model {

namespace {

// Numbers of one cage: one per port; free lanes get as many as ports of the same width would have.
void number_cage(const Cluster& cluster, std::span<const PortId> ports, std::uint32_t lanes, std::uint32_t usual_width,
                 std::vector<PortId>& numbered) {
  std::uint32_t width = ports.empty() ? usual_width : cluster.port(ports.front()).lanes;
  std::size_t next = 0;
  for (std::uint32_t lane = 0; lane < lanes; lane += std::max(width, 1U)) {
    const bool cabled = next < ports.size() && cluster.port(ports[next]).lane <= lane;
    if (cabled) width = cluster.port(ports[next]).lanes;
    numbered.push_back(cabled ? ports[next++] : kNone<PortId>);
  }
}

}  // namespace

std::vector<PortId> infiniband_ports(const Cluster& cluster, DeviceId network_switch) {
  const SwitchModel& model = *cluster.group_of(network_switch).network_switch;
  std::int64_t cages = 0;
  for (const CageGroup& row : *model.cages) cages += *row.count;
  const std::int64_t usual = cages == 0 ? 1 : std::max<std::int64_t>(*model.radix / cages, 1);
  const auto ports = cluster.ports_of(network_switch);
  std::vector<PortId> numbered;
  std::uint32_t cage = 0;
  std::size_t at = 0;  // ports are in cage order
  for (const CageGroup& row : *model.cages) {
    const auto lanes = static_cast<std::uint32_t>(*row.lanes);
    for (std::int64_t i = 0; i < *row.count; ++i, ++cage) {
      while (at < ports.size() && cluster.port(ports[at]).cage < cage) ++at;
      const std::size_t first = at;
      while (at < ports.size() && cluster.port(ports[at]).cage == cage) ++at;
      number_cage(cluster, ports.subspan(first, at - first), lanes, lanes / static_cast<std::uint32_t>(usual),
                  numbered);
    }
  }
  return numbered;
}

std::vector<PortId> infiniband_adapters(const Cluster& cluster, DeviceId server) {
  std::vector<PortId> adapters;
  for (const FabricKind fabric : {FabricKind::backend, FabricKind::storage}) {
    const FabricPlan& plan = cluster.fabric(fabric);
    if (!plan.present || plan.network != NetworkKind::infiniband) continue;
    for (const PortId id : cluster.ports_of(server)) {
      if (cluster.port(id).fabric == fabric) adapters.push_back(id);
    }
  }
  return adapters;
}

}  // namespace weft::model
