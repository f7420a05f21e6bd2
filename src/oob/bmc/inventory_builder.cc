#include "oob/bmc/inventory_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/enum_names.h"
#include "base/host_range.h"

namespace weft::oob {
namespace {

std::optional<LoginPolicy> login_policy_named(std::string_view text) {
  if (text == "auto") return LoginPolicy::automatic;
  if (text == "session") return LoginPolicy::session;
  if (text == "basic") return LoginPolicy::basic;
  return std::nullopt;
}

std::optional<Protocol> protocol_named(std::string_view text) {
  return find_enum({Protocol::none, Protocol::redfish, Protocol::ipmi}, text);
}

bool is_control(model::PoolRole role) {
  return role == model::PoolRole::management || role == model::PoolRole::infrastructure ||
         role == model::PoolRole::jump;
}

// Suite 0 means no authentication: it is never used, even if the file lists it.
std::vector<int> suites_of(const std::vector<std::int64_t>& numbers) {
  std::vector<int> suites;
  suites.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    if (number > 0 && number <= 255) suites.push_back(static_cast<int>(number));
  }
  return suites;
}

}  // namespace

void InventoryBuilder::add_cluster() {
  const std::size_t count = cluster_.devices().size();
  inventory_.targets_.reserve(count);
  // PDUs first: the others refer to them.
  for (const bool pdus : {true, false}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto id = static_cast<model::DeviceId>(i);
      if ((cluster_.group_of(id).kind == model::DeviceKind::pdu) == pdus) add_device(id);
    }
  }
  add_feeds();
}

void InventoryBuilder::add_device(model::DeviceId id) {
  const model::DeviceGroup& group = cluster_.group_of(id);
  const Ipv4 address = cluster_.oob_address(id);
  if (group.kind == model::DeviceKind::external || address == Ipv4{}) return;
  const model::OobSpec& oob = *cluster_.spec().fabrics->oob;
  Target target;
  target.name = cluster_.name_of(id);
  target.group = group.name;
  target.device = id;
  if (const model::RackId rack = cluster_.device(id).rack; rack != model::kNone<model::RackId>)
    target.rack = cluster_.rack(rack).name;
  target.endpoint.device = target.name;
  target.endpoint.host = weft::to_text(address);
  target.endpoint.tls.verify = *oob.bmc->verify_tls;
  target.endpoint.cipher_suites = suites_of(*oob.bmc->cipher_suites);
  if (group.kind == model::DeviceKind::server) {
    fill_server(id, target);
  } else if (group.kind == model::DeviceKind::network_switch) {
    fill_switch(id, target);
  } else {
    target.role = Role::pdu;
    target.model = group.pdu->id.value.text;
    target.feeds = {cluster_.feed_of_pdu(id)};
    target.rating = *group.pdu->rating;
  }
  inventory_.by_name_.emplace(target.name, static_cast<std::uint32_t>(inventory_.targets_.size()));
  inventory_.targets_.push_back(std::move(target));
}

void InventoryBuilder::fill_server(model::DeviceId id, Target& target) const {
  const model::DeviceGroup& group = cluster_.group_of(id);
  const model::ServerModel& server = cluster_.server_of(id);
  target.role = Role::server;
  target.model = server.id.value.text;
  target.power = *server.power;
  if (group.pool >= 0)
    target.control = is_control(*cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)].role);
  const std::vector<model::BmcProtocol>& known = *server.bmc;
  const bool redfish =
      known.empty() || std::find(known.begin(), known.end(), model::BmcProtocol::redfish) != known.end();
  target.endpoint.protocol = redfish ? Protocol::redfish : Protocol::ipmi;
  hang_on_power(id, static_cast<int>(*server.psus), target);
}

// The cluster file does not say whether a switch has a BMC beside its management port. Redfish is assumed; the
// endpoints file can override it.
void InventoryBuilder::fill_switch(model::DeviceId id, Target& target) const {
  const model::DeviceGroup& group = cluster_.group_of(id);
  target.role = Role::network_switch;
  target.model = group.network_switch->id.value.text;
  target.power = *group.network_switch->power;
  target.fabric = std::string(weft::model::to_text(group.fabric));
  target.spine = group.tier == model::Tier::spine || group.tier == model::Tier::core;
  hang_on_power(id, static_cast<int>(*group.network_switch->psus), target);
}

void InventoryBuilder::hang_on_power(model::DeviceId id, int psus, Target& target) const {
  const model::RackId rack_id = cluster_.device(id).rack;
  if (rack_id == model::kNone<model::RackId>) return;
  const model::Rack& rack = cluster_.rack(rack_id);
  if (rack.pdus == 0) return;
  for (int psu = 0; psu < psus; ++psu) {
    const int feed = cluster_.feed_of_psu(id, psu);
    if (std::find(target.feeds.begin(), target.feeds.end(), feed) == target.feeds.end()) target.feeds.push_back(feed);
    // Same distribution as Cluster::feed_of_psu.
    const auto pdu =
        static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + static_cast<std::uint32_t>(psu) % rack.pdus);
    const std::optional<std::uint32_t> at = inventory_.find(cluster_.name_of(pdu));
    if (at && std::find(target.pdus.begin(), target.pdus.end(), *at) == target.pdus.end()) target.pdus.push_back(*at);
  }
  std::sort(target.feeds.begin(), target.feeds.end());
}

void InventoryBuilder::add_feeds() {
  const auto feeds = static_cast<int>(*cluster_.spec().site->feeds);
  for (int feed = 0; feed < feeds; ++feed) inventory_.feeds_.push_back({feed, Power(0)});
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::pdu) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const int feed = cluster_.feed_of_pdu(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      if (feed >= 0 && feed < feeds) inventory_.feeds_[static_cast<std::size_t>(feed)].rating += *group.pdu->rating;
    }
  }
}

void InventoryBuilder::apply(const EndpointsFile& file) {
  if (file.defaults.from_file()) {
    for (Target& target : inventory_.targets_) overlay(*file.defaults, 0, target);
  }
  for (const auto& [hosts, spec] : *file.endpoints) {
    if (diagnostics_.error_count() >= Diagnostics::kMaxKept) return;
    if (spec->role.has_value()) {
      add_chassis(hosts, spec);
      if (file.defaults.from_file() && !inventory_.targets_.empty())
        overlay(*file.defaults, 0, inventory_.targets_.back());
    }
    apply_one(hosts, spec);
  }
}

void InventoryBuilder::add_chassis(const std::string& name, const model::Sourced<EndpointSpec>& spec) {
  if (*spec->role != "chassis") {
    diagnostics_.error(spec->role.place, fmt::format("unknown role `{}`", *spec->role), "the only one is `chassis`",
                       spec->role->size());
    return;
  }
  if (inventory_.find(name)) {
    diagnostics_.error(spec.place, fmt::format("`{}` is a device of the cluster already", name), {}, name.size());
    return;
  }
  const auto index = static_cast<std::uint32_t>(inventory_.targets_.size());
  Target chassis;
  chassis.name = name;
  chassis.role = Role::chassis;
  chassis.group = "chassis";
  chassis.endpoint.device = name;
  if (spec->power.has_value()) chassis.power = *spec->power;
  inventory_.by_name_.emplace(name, index);
  inventory_.targets_.push_back(std::move(chassis));
  if (!spec->holds.has_value()) return;
  const Result<std::vector<std::string>> held = expand_hosts(*spec->holds);
  if (!held.ok()) {
    diagnostics_.error(spec->holds.place, held.error().message, {}, spec->holds->size());
    return;
  }
  for (const std::string& host : *held) {
    const std::uint32_t at = find_or_report(host, spec->holds.place);
    if (at == kNoTarget || at == index) continue;
    Target& target = inventory_.targets_[at];
    if (target.parent != kNoTarget) {
      diagnostics_.error(spec->holds.place, fmt::format("`{}` sits in two chassis", host), {}, spec->holds->size());
      return;
    }
    target.parent = index;
    inventory_.targets_[index].rack = target.rack;
  }
}

std::uint32_t InventoryBuilder::find_or_report(const std::string& name, const SourceLocation& place) {
  const std::optional<std::uint32_t> at = inventory_.find(name);
  if (at) return *at;
  std::vector<std::string_view> names;
  names.reserve(inventory_.targets_.size());
  for (const Target& target : inventory_.targets_) names.emplace_back(target.name);
  diagnostics_.error(place, fmt::format("the cluster has no device `{}` with an out-of-band address", name),
                     did_you_mean(name, names));
  return kNoTarget;
}

void InventoryBuilder::apply_one(const std::string& hosts, const model::Sourced<EndpointSpec>& spec) {
  const Result<std::vector<std::string>> names = expand_hosts(hosts);
  if (!names.ok()) {
    diagnostics_.error(spec.place, names.error().message, {}, hosts.size());
    return;
  }
  for (std::uint32_t n = 0; n < names->size(); ++n) {
    const std::uint32_t at = find_or_report((*names)[n], spec.place);
    if (at == kNoTarget) return;
    const std::size_t before = diagnostics_.error_count();
    overlay(*spec, n, inventory_.targets_[at]);
    if (diagnostics_.error_count() != before) return;
  }
}

bool InventoryBuilder::overlay_place(const EndpointSpec& spec, std::uint32_t n, Endpoint& endpoint) {
  if (spec.host.has_value()) {
    const Result<Ipv4> address = parse_ipv4(*spec.host);
    const std::uint64_t further = std::uint64_t{n} * static_cast<std::uint64_t>(*spec.step);
    if (!address.ok() && n > 0 && *spec.step > 0) {
      diagnostics_.error(spec.host.place, "a range of devices needs an IPv4 address to count on from, not a name",
                         "give `step: 0` where they share one name and differ by port");
      return false;
    }
    if (address.ok() && address->bits + further > std::numeric_limits<std::uint32_t>::max()) {
      diagnostics_.error(spec.host.place, "the range runs out of addresses");
      return false;
    }
    endpoint.host =
        address.ok() ? weft::to_text(Ipv4{address->bits + static_cast<std::uint32_t>(further)}) : *spec.host;
  }
  if (spec.port.has_value()) {
    const std::int64_t port = *spec.port + std::int64_t{n} * *spec.port_step;
    if (port > 65'535) {
      diagnostics_.error(spec.port.place, "the range runs out of ports");
      return false;
    }
    endpoint.port = static_cast<std::uint16_t>(port);
  }
  return true;
}

void InventoryBuilder::overlay(const EndpointSpec& spec, std::uint32_t n, Target& target) {
  Endpoint& endpoint = target.endpoint;
  if (!overlay_place(spec, n, endpoint)) return;
  if (spec.protocol.has_value()) {
    const std::optional<Protocol> protocol = protocol_named(*spec.protocol);
    if (!protocol) {
      diagnostics_.error(spec.protocol.place, fmt::format("unknown protocol `{}`", *spec.protocol),
                         "redfish, ipmi or none", spec.protocol->size());
      return;
    }
    endpoint.protocol = *protocol;
  }
  if (spec.ca.has_value()) endpoint.tls.ca_file = *spec.ca;
  if (spec.pin.has_value()) endpoint.tls.pin = *spec.pin;
  if (spec.verify.has_value()) endpoint.tls.verify = *spec.verify;
  if (spec.login.has_value()) {
    const std::optional<LoginPolicy> login = login_policy_named(*spec.login);
    if (!login) {
      diagnostics_.error(spec.login.place, fmt::format("unknown login `{}`", *spec.login), "auto, session or basic",
                         spec.login->size());
      return;
    }
    endpoint.login = *login;
  }
  if (spec.proxy.has_value()) endpoint.proxy = *spec.proxy;
  if (spec.ciphers.has_value()) {
    for (const std::int64_t suite : *spec.ciphers) {
      if (suite > 0 && suite <= 255) continue;
      diagnostics_.error(spec.ciphers.place, fmt::format("cipher suite {} is never used", suite),
                         "use 17, or 3 for BMCs that do not support it");
      return;
    }
    endpoint.cipher_suites = suites_of(*spec.ciphers);
  }
  if (spec.workarounds.has_value()) endpoint.workarounds = *spec.workarounds;
  if (spec.console.has_value()) endpoint.console = *spec.console;
  if (spec.connect_limit.has_value()) endpoint.connect_limit = *spec.connect_limit;
  if (spec.request_limit.has_value()) endpoint.request_limit = *spec.request_limit;
}

Inventory InventoryBuilder::finish() { return std::move(inventory_); }

}  // namespace weft::oob
