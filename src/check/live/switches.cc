// Compares switch configurations with the model: host name, AS number, and the settings of each cabled port. QoS and
// isolation have their own analyses.
#include <fmt/format.h>

#include <unordered_map>

#include "check/core/match.h"
#include "check/live/internal.h"

namespace weft::check {
namespace {

class SwitchComparison {
 public:
  SwitchComparison(const LiveContext& parts, const config::SwitchConfig& config, model::DeviceId device)
      : parts_(parts), cluster_(parts.cluster), config_(config), device_(device) {}

  void compare(bool several) {
    if (!several) compare_identity();
    for (const config::InterfaceConfig& interface : config_.interfaces) {
      const model::PortId port = port_of(cluster_, device_, interface);
      if (port == model::kNone<model::PortId>) continue;
      by_name_.try_emplace(interface.name, port);
      compare_interface(interface, port);
    }
    if (!several) compare_neighbors();
  }

 private:
  template <class T>
  LiveDifference& add_difference(LiveKind kind, const config::Setting<T>& setting, const std::string& port,
                                 std::string planned, std::string seen, std::string what) {
    LiveDifference difference;
    difference.kind = kind;
    difference.confidence = Confidence::certain;
    difference.device = cluster_.name_of(device_);
    difference.port = port;
    difference.planned = std::move(planned);
    difference.seen = std::move(seen);
    difference.what = std::move(what);
    difference.message = fmt::format("{}{}{} {}", difference.device, port.empty() ? "" : ":", port, difference.what);
    difference.place = setting.place;
    parts_.differences.push_back(std::move(difference));
    return parts_.differences.back();
  }

  void compare_identity() {
    const std::string& name = cluster_.name_of(device_);
    if (config_.hostname.given() && *config_.hostname != name) {
      add_difference(LiveKind::configured_name, config_.hostname, "", name, *config_.hostname,
                     fmt::format("has the host name `{}`", *config_.hostname));
    }
    const std::int64_t asn = cluster_.device(device_).asn;
    if (config_.asn.given() && asn != 0 && *config_.asn != asn) {
      add_difference(LiveKind::configured_asn, config_.asn, "", std::to_string(asn), std::to_string(*config_.asn),
                     fmt::format("is AS {} instead of {}", *config_.asn, asn));
    }
  }

  void compare_interface(const config::InterfaceConfig& interface, model::PortId id) {
    const model::Port& port = cluster_.port(id);
    const std::string name = cluster_.port_name(id);
    if (interface.kind != config::InterfaceConfig::Kind::front_panel) return;
    if (interface.enabled.given() && !*interface.enabled) {
      add_difference(LiveKind::port_off, interface.enabled, name, "up", "administratively down",
                     "is administratively down, but a cable is planned on it");
    }
    if (interface.speed.given() && interface.speed.value.count() != 0 && *interface.speed != port.speed()) {
      add_difference(
          LiveKind::configured_speed, interface.speed, name, to_text(port.speed()), to_text(*interface.speed),
          fmt::format("is configured for {} instead of {}", to_text(*interface.speed), to_text(port.speed())));
    }
    compare_mtu(interface, port, name);
    compare_vlan(interface, id, name);
    compare_description(interface, id, name);
  }

  void compare_mtu(const config::InterfaceConfig& interface, const model::Port& port, const std::string& name) {
    if (!interface.mtu.given() || port.fabric == model::FabricKind::oob) return;
    const model::FabricSpec& fabric = cluster_.data_fabric_spec(port.fabric);
    if (*interface.mtu >= *fabric.switch_mtu || *interface.mtu < *fabric.mtu) return;  // QO081: what affects hosts
    add_difference(LiveKind::configured_mtu, interface.mtu, name, std::to_string(*fabric.switch_mtu),
                   std::to_string(*interface.mtu),
                   fmt::format("has an MTU of {} bytes instead of {}", *interface.mtu, *fabric.switch_mtu));
  }

  void compare_vlan(const config::InterfaceConfig& interface, model::PortId id, const std::string& name) {
    const model::PortId far = cluster_.peer_of(id);
    if (cluster_.group_of(cluster_.port(far).device).kind == model::DeviceKind::network_switch) return;
    const model::SubnetId subnet = cluster_.port(far).subnet;
    if (!interface.access_vlan.given() || subnet == model::kNone<model::SubnetId>) return;
    const int planned = cluster_.subnet(subnet).vlan;
    if (planned == 0 || *interface.access_vlan == planned) return;
    add_difference(
        LiveKind::configured_vlan, interface.access_vlan, name, std::to_string(planned),
        std::to_string(*interface.access_vlan),
        fmt::format("is in VLAN {}; the port at the other end is in VLAN {}", *interface.access_vlan, planned));
  }

  // A description is free text; it is wrong only if it names a device of the design other than the planned one.
  void compare_description(const config::InterfaceConfig& interface, model::PortId id, const std::string& name) {
    if (!interface.description.given()) return;
    const model::DeviceId far = cluster_.port(cluster_.peer_of(id)).device;
    model::DeviceId named = model::kNone<model::DeviceId>;
    std::string_view rest = *interface.description;
    while (!rest.empty()) {
      const std::size_t end = rest.find_first_of(" \t,;:()[]<>_\"'/|=");
      const model::DeviceId found = cluster_.find_device(rest.substr(0, end));
      if (found == far) return;
      if (found != model::kNone<model::DeviceId> && found != device_) named = found;
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (named == model::kNone<model::DeviceId>) return;
    LiveDifference& difference =
        add_difference(LiveKind::description, interface.description, name,
                       cluster_.full_port_name(cluster_.peer_of(id)), *interface.description, "");
    difference.message = fmt::format("{}:{} describes its neighbor as {}, but is planned to connect to {}",
                                     difference.device, name, cluster_.name_of(named), difference.planned);
  }

  // Peers given by interface: the far end's AS number is known from the plan.
  void compare_neighbors() {
    for (const config::NeighborConfig& neighbor : config_.neighbors) {
      if (!neighbor.remote_asn.given()) continue;
      const auto at = by_name_.find(neighbor.peer);
      if (at == by_name_.end()) continue;
      const model::PortId far = cluster_.peer_of(at->second);
      const std::int64_t asn = cluster_.device(cluster_.port(far).device).asn;
      if (asn == 0 || asn == *neighbor.remote_asn) continue;
      add_difference(LiveKind::configured_asn, neighbor.remote_asn, cluster_.port_name(at->second), std::to_string(asn),
                     std::to_string(*neighbor.remote_asn),
                     fmt::format("expects AS {} from {}, which has {}", *neighbor.remote_asn,
                                 cluster_.name_of(cluster_.port(far).device), asn));
    }
  }

  const LiveContext& parts_;
  const model::Cluster& cluster_;
  const config::SwitchConfig& config_;
  model::DeviceId device_;
  std::unordered_map<std::string_view, model::PortId> by_name_;
};

}  // namespace

void compare_switches(const LiveContext& parts) {
  for (const config::SwitchConfig& config : parts.config.switches) {
    const auto devices = devices_of(parts.cluster, parts.config, config);
    for (const model::DeviceId device : devices) SwitchComparison(parts, config, device).compare(devices.size() > 1);
  }
}

}  // namespace weft::check
