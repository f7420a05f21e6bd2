#include "inspect/things.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "base/text.h"
#include "design/cable_labels.h"
#include "design/views_common.h"

namespace weft::inspect {
namespace {

constexpr std::array<std::string_view, kThingKinds> kKindNames = {
    "device", "port", "cable",     "splitter", "address", "subnet", "rack",
    "unit",   "pool", "partition", "tenant",   "storage", "service"};

// "rack/svc-r01" is a rack; a port ("leaf1:p1/2") and a subnet ("10.0.0.0/24") have a slash too.
std::optional<ThingKind> kind_before_slash(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto* found = std::find(kKindNames.begin(), kKindNames.end(), name.substr(0, slash));
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<ThingKind>(found - kKindNames.begin());
}

class NameLookup {
 public:
  NameLookup(const model::Cluster& cluster, std::optional<ThingKind> only) : cluster_(cluster), only_(only) {}

  std::vector<Thing> find(std::string_view name, bool exact) {
    found_.clear();
    for_each_thing(cluster_, [&](Thing thing) {
      if (exact ? thing.name == name : equals_ignoring_case(thing.name, name)) add(std::move(thing));
    });
    find_port(name, exact);
    find_cable(name);
    find_address(name);
    find_prefix(name);
    std::stable_sort(found_.begin(), found_.end(), [](const Thing& a, const Thing& b) { return a.kind < b.kind; });
    return std::move(found_);
  }

 private:
  void add(Thing thing) {
    const bool known = std::any_of(found_.begin(), found_.end(), [&](const Thing& other) {
      return other.kind == thing.kind && other.index == thing.index && thing.kind != ThingKind::address;
    });
    if (!known && (!only_ || *only_ == thing.kind)) found_.push_back(std::move(thing));
  }

  void find_port(std::string_view name, bool exact) {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string_view::npos) return;
    const std::string_view host = name.substr(0, colon);
    model::DeviceId device = cluster_.find_device(host);
    for (std::uint32_t d = 0; !exact && d < cluster_.devices().size() && device == model::kNone<model::DeviceId>; ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      if (equals_ignoring_case(cluster_.name_of(id), host)) device = id;
    }
    if (device == model::kNone<model::DeviceId>) return;
    for (const model::PortId id : cluster_.ports_of(device)) {
      const std::string port = cluster_.port_name(id);
      if (exact ? port == name.substr(colon + 1) : equals_ignoring_case(port, name.substr(colon + 1))) {
        add({ThingKind::port, model::index_of(id), cluster_.full_port_name(id)});
      }
    }
  }

  void find_cable(std::string_view name) {
    const design::CableLabels labels(cluster_);
    const model::CableId cable = labels.find(name);
    if (cable != model::kNone<model::CableId>) add({ThingKind::cable, model::index_of(cable), labels.label(cable)});
    const model::CableId first = labels.find_splitter(name);
    if (first != model::kNone<model::CableId>) {
      add({ThingKind::splitter, model::index_of(first), labels.splitter(first)});
    }
  }

  void find_address(std::string_view name) {
    if (const Result<Ipv4> address = parse_ipv4(name); address.ok()) {
      if (is_in_plan(*address)) add({ThingKind::address, 0, weft::to_text(*address)});
    } else if (const Result<Ipv6> ipv6 = parse_ipv6(name); ipv6.ok()) {
      const bool in_plan =
          std::any_of(cluster_.subnets().begin(), cluster_.subnets().end(),
                      [&](const model::Subnet& subnet) { return prefix_contains(subnet.ipv6, *ipv6); });
      if (in_plan) add({ThingKind::address, 0, weft::to_text(*ipv6)});
    }
  }

  [[nodiscard]] bool is_in_plan(Ipv4 address) const {
    const auto in_subnet = [&](const model::Subnet& subnet) { return subnet.prefix.contains(address); };
    const std::vector<AddressRange> ranges = address_ranges(cluster_);
    return std::any_of(cluster_.subnets().begin(), cluster_.subnets().end(), in_subnet) ||
           std::any_of(ranges.begin(), ranges.end(),
                       [&](const AddressRange& range) { return range.prefix.contains(address); }) ||
           !owners_of(cluster_, address).empty();
  }

  void find_prefix(std::string_view name) {
    const Result<Ipv4Prefix> prefix = parse_ipv4_prefix(name);
    const Result<Ipv6Prefix> ipv6 = parse_ipv6_prefix(name);
    if (!prefix.ok() && !ipv6.ok()) return;
    for (std::uint32_t s = 0; s < cluster_.subnets().size(); ++s) {
      const model::Subnet& subnet = cluster_.subnets()[s];
      const bool same = prefix.ok() ? subnet.prefix == *prefix : subnet.ipv6.length > 0 && subnet.ipv6 == *ipv6;
      if (same) add({ThingKind::subnet, s, subnet.name});
    }
  }

  const model::Cluster& cluster_;
  std::optional<ThingKind> only_;
  std::vector<Thing> found_;
};

// Users copy names from prompts and DNS: train001.pod16.internal.
std::string_view without_domain(const model::Cluster& cluster, std::string_view name) {
  const std::string& domain = *cluster.spec().site->domain;
  const std::size_t size = domain.size() + 1;
  if (domain.empty() || name.size() <= size) return name;
  const std::string_view end = name.substr(name.size() - size);
  return end.front() == '.' && equals_ignoring_case(end.substr(1), domain) ? name.substr(0, name.size() - size) : name;
}

template <class Specs>
void add_specs(ThingKind kind, const Specs& specs, const std::function<void(Thing)>& note) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    note({kind, static_cast<std::uint32_t>(i), specs[i].name->text});
  }
}

}  // namespace

std::string_view to_text(ThingKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::vector<Thing> find_things(const model::Cluster& cluster, std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return {};
  const std::optional<ThingKind> only = kind_before_slash(name);
  if (only) name.remove_prefix(name.find('/') + 1);
  NameLookup lookup(cluster, only);
  std::vector<Thing> found = lookup.find(name, true);
  if (found.empty()) found = lookup.find(name, false);
  if (found.empty()) {
    const std::string_view host = without_domain(cluster, name);
    if (host.size() < name.size()) found = lookup.find(host, false);
  }
  return found;
}

std::string nearest_name(const model::Cluster& cluster, std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return {};
  const std::size_t colon = name.rfind(':');
  const model::DeviceId device =
      colon == std::string_view::npos ? model::kNone<model::DeviceId> : cluster.find_device(name.substr(0, colon));
  std::vector<std::string> names;
  if (device != model::kNone<model::DeviceId>) {
    for (const model::PortId port : cluster.ports_of(device)) names.push_back(cluster.full_port_name(port));
  } else {
    for_each_thing(cluster, [&](Thing thing) { names.push_back(std::move(thing.name)); });
  }
  return std::string(nearest(name, {names.begin(), names.end()}));
}

void for_each_thing(const model::Cluster& cluster, const std::function<void(Thing)>& note) {
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    note({ThingKind::device, d, cluster.name_of(static_cast<model::DeviceId>(d))});
  }
  for (std::uint32_t s = 0; s < cluster.subnets().size(); ++s) note({ThingKind::subnet, s, cluster.subnets()[s].name});
  for (std::uint32_t r = 0; r < cluster.racks().size(); ++r) note({ThingKind::rack, r, cluster.racks()[r].name});
  for (std::uint32_t u = 0; u < cluster.units().size(); ++u) {
    note({ThingKind::unit, u, design::views::unit_name(cluster, static_cast<model::UnitId>(u))});
  }
  const model::Spec& spec = cluster.spec();
  add_specs(ThingKind::pool, *spec.pools, note);
  add_specs(ThingKind::partition, *spec.partitions, note);
  add_specs(ThingKind::tenant, *spec.tenants, note);
  add_specs(ThingKind::storage, *spec.storage, note);
  add_specs(ThingKind::service, *spec.services, note);
}

std::vector<AddressRange> address_ranges(const model::Cluster& cluster) {
  std::vector<AddressRange> ranges;
  for (int f = 0; f < model::kFabrics; ++f) {
    const auto kind = static_cast<model::FabricKind>(f);
    const model::FabricSpec* fabric = cluster.find_fabric_spec(kind);
    if (fabric == nullptr || !cluster.fabric(kind).present) continue;
    const std::string name(model::to_text(kind));
    if (fabric->loopbacks.has_value()) ranges.push_back({name + " loopbacks", *fabric->loopbacks});
    const bool numbered = *fabric->switch_links == model::LinkAddressing::numbered;
    if (numbered && fabric->switch_link_subnet.has_value()) {
      ranges.push_back({name + " links between switches", *fabric->switch_link_subnet});
    }
  }
  const model::ControlPlaneSpec& control = *cluster.spec().control_plane;
  if (control.pod_subnet.has_value()) ranges.push_back({"Kubernetes pods", *control.pod_subnet});
  if (control.service_subnet.has_value()) ranges.push_back({"Kubernetes services", *control.service_subnet});
  return ranges;
}

bool prefix_contains(const Ipv6Prefix& prefix, const Ipv6& address) {
  if (prefix.length == 0) return false;  // none
  for (unsigned bit = 0; bit < prefix.length; bit += 16) {
    const unsigned left = prefix.length - bit;
    const auto mask = static_cast<std::uint16_t>(left >= 16 ? 0xFFFFU : 0xFFFFU << (16 - left));
    const std::size_t group = bit / 16;
    if (((prefix.base.groups[group] ^ address.groups[group]) & mask) != 0) return false;
  }
  return true;
}

std::string AddressOwner::name(const model::Cluster& cluster) const {
  return port == model::kNone<model::PortId> ? cluster.name_of(device) + ":lo" : cluster.full_port_name(port);
}

std::vector<AddressOwner> owners_of(const model::Cluster& cluster, Ipv4 address) {
  std::vector<AddressOwner> owners;
  if (address.bits == 0) return owners;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    if (cluster.devices()[d].loopback == address) owners.push_back({static_cast<model::DeviceId>(d)});
  }
  for (std::uint32_t p = 0; p < cluster.ports().size(); ++p) {
    if (cluster.ports()[p].address == address)
      owners.push_back({cluster.ports()[p].device, static_cast<model::PortId>(p)});
  }
  return owners;
}

std::vector<AddressOwner> owners_of(const model::Cluster& cluster, const Ipv6& address) {
  std::vector<AddressOwner> owners;
  if (address == Ipv6{}) return owners;
  for (std::uint32_t p = 0; p < cluster.ports().size(); ++p) {
    const auto id = static_cast<model::PortId>(p);
    if (cluster.ipv6_of(id) == address) owners.push_back({cluster.ports()[p].device, id});
  }
  return owners;
}

}  // namespace weft::inspect
