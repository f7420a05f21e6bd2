#include "check/qos/lossless_ports.h"

#include <algorithm>

#include "check/core/match.h"
#include "check/qos/intent_qos.h"

namespace weft::check {

namespace {

bool has_pausing_priority(const config::PortQos& qos) {
  return std::any_of(qos.pfc.begin(), qos.pfc.end(), [](const config::Setting<bool>& s) { return is_on(s); });
}

int data_queue(const config::PortQos& qos, std::int64_t dscp) {
  if (dscp < 0 || dscp >= config::kDscps) return -1;
  const config::Setting<int>& chosen = qos.dscp_to_class[static_cast<std::size_t>(dscp)];
  if (!chosen.known() || *chosen < 0 || *chosen >= config::kClasses) return -1;
  const config::Setting<int>& group = qos.class_to_group[static_cast<std::size_t>(*chosen)];
  if (!group.known() || *group < 0 || *group >= config::kClasses) return -1;
  if (!is_on(qos.groups[static_cast<std::size_t>(*group)].lossless)) return -1;  // reported by the trace
  const config::Setting<int>& queue = qos.class_to_queue[static_cast<std::size_t>(*chosen)];
  return queue.known() && *queue >= 0 && *queue < config::kClasses ? *queue : -1;
}

// Without a cluster: the queue that the first pausing priority stops.
int paused_queue(const config::PortQos& qos) {
  for (std::size_t p = 0; p < config::kClasses; ++p) {
    if (!is_on(qos.pfc[p])) continue;
    const int queue = qos.pfc_to_queue[p].known() ? *qos.pfc_to_queue[p] : static_cast<int>(p);
    return queue >= 0 && queue < config::kClasses ? queue : -1;
  }
  return -1;
}

LosslessPort base_of(const config::SwitchConfig& config, const config::InterfaceConfig& interface) {
  LosslessPort out;
  out.config = &config;
  out.interface = &interface;
  out.qos = &config.qos[interface.qos];
  out.speed = interface.speed.known() ? *interface.speed : BitRate();
  out.cable = interface.cable_length.known() ? *interface.cable_length : Length();
  out.mtu = interface.mtu.known() ? *interface.mtu : 9100;
  out.lanes = out.speed >= gigabits(800) ? 8 : 4;
  return out;
}

void add_device(const CheckInput& input, const config::SwitchConfig& config, model::DeviceId device,
                std::vector<LosslessPort>& out) {
  const model::Cluster& cluster = input.cluster();
  const model::FabricKind fabric = cluster.group_of(device).fabric;
  if (!has_lossless_class(cluster, fabric)) return;
  const std::int64_t dscp = *cluster.data_fabric_spec(fabric).qos->dscp;
  for (const config::InterfaceConfig& interface : config.interfaces) {
    if (interface.kind != config::InterfaceConfig::Kind::front_panel || interface.qos >= config.qos.size()) continue;
    const model::PortId id = port_of(cluster, device, interface);
    if (id == model::kNone<model::PortId> || cluster.port(id).fabric != fabric) continue;
    const model::Port& port = cluster.port(id);
    LosslessPort one = base_of(config, interface);
    one.device = device;
    one.port = id;
    one.fabric = fabric;
    one.name = cluster.name_of(device);
    if (one.speed.count() == 0) one.speed = port.speed();
    one.cable = Length(cluster.cable(port.cable).length_mm);
    one.lanes = port.lanes;
    one.queue = data_queue(*one.qos, dscp);
    out.push_back(std::move(one));
  }
}

}  // namespace

std::vector<LosslessPort> lossless_ports(const CheckInput& input) {
  std::vector<LosslessPort> out;
  for (const config::SwitchConfig& config : input.config().switches) {
    if (config.qos.empty()) continue;
    if (input.has_cluster()) {
      for (const model::DeviceId device : devices_of(input.cluster(), input.config(), config)) {
        add_device(input, config, device, out);
      }
      continue;
    }
    for (const config::InterfaceConfig& interface : config.interfaces) {
      if (interface.kind != config::InterfaceConfig::Kind::front_panel || interface.qos >= config.qos.size()) continue;
      LosslessPort one = base_of(config, interface);
      if (!has_pausing_priority(*one.qos)) continue;
      one.name = config.hostname.known() ? *config.hostname : input.sources().path(config.file);
      one.queue = paused_queue(*one.qos);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::optional<model::AsicHeadroom> asic_of(const CheckInput& input, const LosslessPort& port) {
  if (port.config->hardware.known()) {
    if (const auto found = model::asic_headroom(*port.config->hardware)) return found;
  }
  if (port.device == model::kNone<model::DeviceId>) return std::nullopt;
  return model::asic_headroom(*input.cluster().group_of(port.device).network_switch->asic);
}

std::int64_t port_count(const CheckInput& input, const LosslessPort& port) {
  if (port.device != model::kNone<model::DeviceId>)
    return static_cast<std::int64_t>(input.cluster().ports_of(port.device).size());
  return std::count_if(
      port.config->interfaces.begin(), port.config->interfaces.end(),
      [](const config::InterfaceConfig& i) { return i.kind == config::InterfaceConfig::Kind::front_panel; });
}

}  // namespace weft::check
