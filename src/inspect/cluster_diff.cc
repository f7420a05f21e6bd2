#include "inspect/cluster_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "design/cable_labels.h"
#include "design/views_common.h"

namespace weft::inspect {
namespace {

namespace views = design::views;

std::string model_of(const model::Cluster& cluster, model::DeviceId id) { return views::model_id(cluster, id); }

// Where a device is on the floor. PDUs have no rack unit: their number in the rack.
using FloorPosition = std::tuple<std::int32_t, std::int32_t, std::uint32_t, bool, std::string>;

FloorPosition position_of(const model::Cluster& cluster, model::DeviceId id) {
  const model::Device& device = cluster.device(id);
  const model::Rack& rack = cluster.rack(device.rack);
  const bool zero_u = device.rack_unit == 0;
  const std::uint32_t unit = zero_u ? model::index_of(id) - model::index_of(rack.first_pdu) : device.rack_unit;
  return {rack.row, rack.column, unit, zero_u, model_of(cluster, id)};
}

std::string rack_place(const model::Rack& rack) { return fmt::format("row {}, position {}", rack.row, rack.column); }

std::string address_text(const model::Cluster& cluster, const model::Port& port) {
  if (port.address.bits == 0) return {};
  if (port.subnet == model::kNone<model::SubnetId>) return weft::to_text(port.address);
  return fmt::format("{}/{}", weft::to_text(port.address), cluster.subnet(port.subnet).prefix.length);
}

std::string gateway_text(const model::Cluster& cluster, const model::Port& port) {
  if (port.subnet == model::kNone<model::SubnetId>) return {};
  const Ipv4 gateway = cluster.subnet(port.subnet).gateway;
  return gateway.bits == 0 ? std::string() : " via " + weft::to_text(gateway);
}

class Comparison {
 public:
  Comparison(const model::Cluster& before, const model::Cluster& after)
      : before_(before),
        after_(after),
        device_(before.devices().size(), model::kNone<model::DeviceId>),
        matched_(after.devices().size()),
        port_(before.ports().size(), model::kNone<model::PortId>),
        labels_before_(before),
        labels_after_(after) {}

  ClusterDiff run() {
    match_devices();
    compare_devices();
    match_ports();
    compare_cables();
    compare_addresses();
    compare_subnets();
    compare_racks();
    compare_boms();
    return std::move(diff_);
  }

 private:
  void match(model::DeviceId before, model::DeviceId after) {
    device_[model::index_of(before)] = after;
    matched_[model::index_of(after)] = true;
  }

  void match_devices() {
    for (std::uint32_t d = 0; d < device_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceId same = after_.find_device(before_.name_of(id));
      if (same != model::kNone<model::DeviceId>) match(id, same);
    }
    std::map<FloorPosition, model::DeviceId> places;
    for (std::uint32_t d = 0; d < matched_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      if (!matched_[d] && after_.device(id).rack != model::kNone<model::RackId>) places[position_of(after_, id)] = id;
    }
    for (std::uint32_t d = 0; d < device_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      if (device_[d] != model::kNone<model::DeviceId>) continue;
      const bool placed = before_.device(id).rack != model::kNone<model::RackId>;
      const auto found = placed ? places.find(position_of(before_, id)) : places.end();
      if (found == places.end() || matched_[model::index_of(found->second)]) {
        diff_.devices_removed.push_back(id);
        continue;
      }
      match(id, found->second);
      diff_.devices_renamed.push_back({id, found->second});
    }
    for (std::uint32_t d = 0; d < matched_.size(); ++d) {
      if (!matched_[d]) diff_.devices_added.push_back(static_cast<model::DeviceId>(d));
    }
  }

  static void note(std::vector<PropertyChange>& changes, const std::string& subject, std::string_view property,
                   const std::string& before, const std::string& after) {
    if (before != after) changes.push_back({subject, std::string(property), before, after});
  }

  static std::string location_of(const model::Cluster& cluster, model::DeviceId id) {
    const model::Device& device = cluster.device(id);
    if (device.rack == model::kNone<model::RackId>) return {};
    const std::string rack = cluster.rack(device.rack).name;
    return device.rack_unit == 0 ? rack : fmt::format("{} U{}", rack, device.rack_unit);
  }

  void compare_devices() {
    for (std::uint32_t d = 0; d < device_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceId now = device_[d];
      if (now == model::kNone<model::DeviceId>) continue;
      const std::string& name = after_.name_of(now);
      const auto text = [](std::uint32_t number) { return number == 0 ? std::string() : std::to_string(number); };
      const auto change = [&](std::string_view what, const std::string& old_value, const std::string& new_value) {
        note(diff_.device_changes, name, what, old_value, new_value);
      };
      change("model", model_of(before_, id), model_of(after_, now));
      change("location", location_of(before_, id), location_of(after_, now));
      change("power feeds", views::feeds_of(before_, id), views::feeds_of(after_, now));
      change("role", views::role_of(before_, before_.group_of(id)), views::role_of(after_, after_.group_of(now)));
      change("unit", views::unit_name(before_, before_.device(id).unit),
             views::unit_name(after_, after_.device(now).unit));
      change("operating system", std::string(before_.switch_os_of(id)), std::string(after_.switch_os_of(now)));
      change("ASN", text(before_.device(id).asn), text(after_.device(now).asn));
    }
  }

  void match_ports() {
    for (std::uint32_t d = 0; d < device_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceId now = device_[d];
      if (now == model::kNone<model::DeviceId>) continue;
      std::map<std::string, model::PortId> ports;
      for (const model::PortId port : after_.ports_of(now)) ports[after_.port_name(port)] = port;
      for (const model::PortId port : before_.ports_of(id)) {
        const auto found = ports.find(before_.port_name(port));
        if (found == ports.end()) {
          diff_.ports_removed.push_back(port);
          continue;
        }
        port_[model::index_of(port)] = found->second;
        const BitRate was = before_.port(port).speed();
        const BitRate is = after_.port(found->second).speed();
        if (was != is)
          note(diff_.port_changes, after_.full_port_name(found->second), "speed", weft::to_text(was),
               weft::to_text(is));
        ports.erase(found);
      }
      for (const auto& [name, port] : ports) diff_.ports_added.push_back(port);
    }
    std::sort(diff_.ports_added.begin(), diff_.ports_added.end());
  }

  [[nodiscard]] model::PortId port_after(model::PortId before) const { return port_[model::index_of(before)]; }

  [[nodiscard]] bool is_same_part(const model::Cable& before, const model::Cable& after) const {
    const model::Medium& old_medium = before_.media()[before.medium];
    const model::Medium& new_medium = after_.media()[after.medium];
    const auto same = [](const auto* a, const auto* b) {
      return (a == nullptr) == (b == nullptr) && (a == nullptr || a->id->text == b->id->text);
    };
    return same(old_medium.cable, new_medium.cable) && same(old_medium.at_a, new_medium.at_a) &&
           same(old_medium.at_b, new_medium.at_b) && before.length_mm == after.length_mm &&
           before_.port(before.a).speed_mbps == after_.port(after.a).speed_mbps;
  }

  void compare_cables() {
    std::vector<bool> kept(after_.cables().size());
    std::vector<model::CableId> gone;
    for (std::uint32_t c = 0; c < before_.cables().size(); ++c) {
      const auto id = static_cast<model::CableId>(c);
      const model::Cable& cable = before_.cable(id);
      const model::PortId a = port_after(cable.a);
      const model::PortId b = port_after(cable.b);
      const bool ends = a != model::kNone<model::PortId> && b != model::kNone<model::PortId>;
      if (!ends || after_.cable_of(a) != after_.cable_of(b) || after_.cable_of(a) == model::kNone<model::CableId>) {
        gone.push_back(id);
        continue;
      }
      const model::CableId now = after_.cable_of(a);
      kept[model::index_of(now)] = true;
      if (!is_same_part(cable, after_.cable(now))) diff_.cables_replaced.push_back({id, now});
      if (labels_before_.label(id) != labels_after_.label(now)) diff_.cables_relabeled.push_back({id, now});
    }
    // Moved: the end at the host stays, else the other end.
    for (const bool host_end : {true, false}) {
      std::erase_if(gone, [&](model::CableId id) {
        const model::PortId end = port_after(host_end ? before_.cable(id).a : before_.cable(id).b);
        const model::CableId now =
            end == model::kNone<model::PortId> ? model::kNone<model::CableId> : after_.cable_of(end);
        if (now == model::kNone<model::CableId> || kept[model::index_of(now)]) return false;
        if ((host_end ? after_.cable(now).a : after_.cable(now).b) != end) return false;
        kept[model::index_of(now)] = true;
        diff_.cables_moved.push_back({id, now});
        return true;
      });
    }
    diff_.cables_removed = std::move(gone);
    for (std::uint32_t c = 0; c < kept.size(); ++c) {
      if (!kept[c]) diff_.cables_added.push_back(static_cast<model::CableId>(c));
    }
  }

  using AddressKey = std::pair<model::FabricKind, Ipv4>;  // networks of different fabrics may overlap
  using AddressOwners = std::map<AddressKey, std::pair<model::DeviceId, std::string>>;

  [[nodiscard]] AddressOwners old_owners() const {
    AddressOwners owners;
    for (std::uint32_t d = 0; d < before_.devices().size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const Ipv4 loopback = before_.device(id).loopback;
      if (loopback.bits != 0) owners[{before_.group_of(id).fabric, loopback}] = {id, "lo"};
    }
    for (std::uint32_t p = 0; p < before_.ports().size(); ++p) {
      const model::Port& port = before_.ports()[p];
      if (port.address.bits == 0) continue;
      owners[{port.fabric, port.address}] = {port.device, before_.port_name(static_cast<model::PortId>(p))};
    }
    return owners;
  }

  void note_address(AddressDifference difference, AddressKey address, const AddressOwners& owners) {
    const auto found = address.second.bits == 0 ? owners.end() : owners.find(address);
    if (found != owners.end()) {
      const auto& [device, port] = found->second;
      const bool same = device_[model::index_of(device)] == difference.device && port == difference.port;
      if (!same) difference.held_by = before_.name_of(device) + ":" + port;
    }
    diff_.addresses.push_back(std::move(difference));
  }

  static AddressChange kind_of(Ipv4 before, Ipv4 after) {
    if (before.bits == 0) return AddressChange::assigned;
    if (after.bits == 0) return AddressChange::released;
    return before == after ? AddressChange::mask_or_gateway : AddressChange::renumbered;
  }

  void compare_addresses() {
    const AddressOwners owners = old_owners();
    for (std::uint32_t d = 0; d < device_.size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceId now = device_[d];
      if (now == model::kNone<model::DeviceId>) continue;
      const Ipv4 was = before_.device(id).loopback;
      const Ipv4 is = after_.device(now).loopback;
      const auto text = [](Ipv4 address) { return address.bits == 0 ? std::string() : weft::to_text(address); };
      if (was != is) {
        note_address({kind_of(was, is), now, "lo", text(was), text(is), {}}, {after_.group_of(now).fabric, is}, owners);
      }
      for (const model::PortId port_id : before_.ports_of(id)) {
        if (port_after(port_id) == model::kNone<model::PortId>) continue;
        const model::Port& old_port = before_.port(port_id);
        const model::Port& new_port = after_.port(port_after(port_id));
        const std::string old_ipv6 = ipv6_text(before_, port_id);
        const std::string new_ipv6 = ipv6_text(after_, port_after(port_id));
        std::string old_text = address_text(before_, old_port);
        std::string new_text = address_text(after_, new_port);
        const std::string old_gateway = gateway_text(before_, old_port);
        const std::string new_gateway = gateway_text(after_, new_port);
        if (old_text == new_text && old_gateway == new_gateway && old_ipv6 == new_ipv6) continue;
        AddressChange change = kind_of(old_port.address, new_port.address);
        if (old_port.address.bits == 0 && new_port.address.bits == 0) continue;  // in a subnet without an address
        if (change == AddressChange::mask_or_gateway && old_ipv6 != new_ipv6) {
          change = old_ipv6.empty()   ? AddressChange::assigned
                   : new_ipv6.empty() ? AddressChange::released
                                      : AddressChange::renumbered;
          old_text += old_ipv6.empty() ? "" : " " + old_ipv6;
          new_text += new_ipv6.empty() ? "" : " " + new_ipv6;
        }
        if (old_gateway != new_gateway && !old_text.empty()) old_text += old_gateway;
        if (old_gateway != new_gateway && !new_text.empty()) new_text += new_gateway;
        note_address({change, now, after_.port_name(port_after(port_id)), old_text, new_text, {}},
                     {new_port.fabric, new_port.address}, owners);
      }
    }
  }

  static std::string ipv6_text(const model::Cluster& cluster, model::PortId id) {
    const Ipv6 address = cluster.ipv6_of(id);
    return address == Ipv6{} ? std::string() : weft::to_text(address);
  }

  void compare_subnets() {
    std::map<std::string, const model::Subnet*> now;
    for (const model::Subnet& subnet : after_.subnets()) now[subnet.name] = &subnet;
    for (const model::Subnet& old_subnet : before_.subnets()) {
      const auto found = now.find(old_subnet.name);
      if (found == now.end()) {
        diff_.subnets_removed.push_back(old_subnet.name);
        continue;
      }
      const model::Subnet& subnet = *found->second;
      const auto change = [&](std::string_view what, const std::string& was, const std::string& is) {
        note(diff_.subnet_changes, subnet.name, what, was, is);
      };
      const auto address = [](Ipv4 one) { return one.bits == 0 ? std::string() : weft::to_text(one); };
      const auto ipv6 = [](const Ipv6Prefix& one) { return one.length == 0 ? std::string() : weft::to_text(one); };
      const auto pods = [&](const model::Subnet& one) {
        return one.pods_first.bits == 0 ? std::string() : address(one.pods_first) + " to " + address(one.pods_last);
      };
      change("prefix", weft::to_text(old_subnet.prefix), weft::to_text(subnet.prefix));
      change("gateway", address(old_subnet.gateway), address(subnet.gateway));
      change("VLAN", std::to_string(old_subnet.vlan), std::to_string(subnet.vlan));
      change("IPv6 prefix", ipv6(old_subnet.ipv6), ipv6(subnet.ipv6));
      change("reserved for pods", pods(old_subnet), pods(subnet));
      change("VRF", views::settings_of(before_, old_subnet.fabric).vrf, views::settings_of(after_, subnet.fabric).vrf);
      now.erase(found);
    }
    for (const model::Subnet& subnet : after_.subnets()) {
      if (now.contains(subnet.name)) diff_.subnets_added.push_back(subnet.name);
    }
  }

  void compare_racks() {
    std::map<std::string, const model::Rack*> now;
    for (const model::Rack& rack : after_.racks()) now[rack.name] = &rack;
    for (const model::Rack& old_rack : before_.racks()) {
      const auto found = now.find(old_rack.name);
      if (found == now.end()) {
        diff_.racks_removed.push_back(old_rack.name);
        continue;
      }
      const model::Rack& rack = *found->second;
      const auto change = [&](std::string_view what, const std::string& was, const std::string& is) {
        note(diff_.rack_changes, rack.name, what, was, is);
      };
      change("place", rack_place(old_rack), rack_place(rack));
      change("model", old_rack.model->id->text, rack.model->id->text);
      change("PDUs", std::to_string(old_rack.pdus), std::to_string(rack.pdus));
      change("rack units used", std::to_string(old_rack.used_units), std::to_string(rack.used_units));
      change("power", weft::to_text(old_rack.power), weft::to_text(rack.power));
      change("power limit", weft::to_text(old_rack.limit), weft::to_text(rack.limit));
      now.erase(found);
    }
    for (const model::Rack& rack : after_.racks()) {
      if (now.contains(rack.name)) diff_.racks_added.push_back(rack.name);
    }
  }

  void compare_boms() {
    using Key = std::tuple<design::BomPhase, std::string, std::optional<model::FabricKind>, std::string, std::string>;
    std::map<Key, BomDifference> lines;
    const auto add = [&](const model::Cluster& cluster, std::int64_t BomDifference::*count) {
      for (design::BomLine& line : design::make_bom(cluster, nullptr).lines) {
        BomDifference& difference = lines[{line.phase, line.category, line.fabric, line.item, line.purpose}];
        difference.*count += line.count;
        if (difference.line.item.empty()) difference.line = std::move(line);
      }
    };
    add(before_, &BomDifference::before);
    add(after_, &BomDifference::after);
    for (auto& [key, difference] : lines) {
      if (difference.before != difference.after) diff_.bom.push_back(std::move(difference));
    }
  }

  const model::Cluster& before_;
  const model::Cluster& after_;
  std::vector<model::DeviceId> device_;  // of each old device: the same in the new cluster
  std::vector<bool> matched_;            // new devices
  std::vector<model::PortId> port_;      // of each old port
  design::CableLabels labels_before_;
  design::CableLabels labels_after_;
  ClusterDiff diff_;
};

}  // namespace

std::string_view to_text(AddressChange change) {
  static constexpr std::string_view kNames[] = {"renumbered", "assigned", "released", "mask or gateway"};
  return kNames[static_cast<std::size_t>(change)];
}

bool ClusterDiff::empty() const {
  return devices_added.empty() && devices_removed.empty() && devices_renamed.empty() && device_changes.empty() &&
         ports_added.empty() && ports_removed.empty() && port_changes.empty() && cables_added.empty() &&
         cables_removed.empty() && cables_moved.empty() && cables_replaced.empty() && cables_relabeled.empty() &&
         addresses.empty() && subnets_added.empty() && subnets_removed.empty() && subnet_changes.empty() &&
         racks_added.empty() && racks_removed.empty() && rack_changes.empty() && bom.empty();
}

ClusterDiff compare_clusters(const model::Cluster& before, const model::Cluster& after) {
  return Comparison(before, after).run();
}

}  // namespace weft::inspect
