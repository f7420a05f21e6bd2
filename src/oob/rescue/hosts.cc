#include "oob/rescue/hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::oob {
namespace {

// In the order in which a site is brought up.
enum Class : std::size_t {
  oob_switches,
  jump_hosts,
  frontend_switches,
  control_servers,
  storage_switches,
  storage_servers,
  backend_switches,
  fabric_managers,
  gpu_servers,
  other_servers,
  no_class
};

void append_new(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& more) {
  std::vector<std::uint32_t> known = to;
  std::sort(known.begin(), known.end());
  for (const std::uint32_t one : more) {
    if (!std::binary_search(known.begin(), known.end(), one)) to.push_back(one);
  }
}

}  // namespace

const std::vector<std::string_view>& RescueHosts::class_names() {
  static const std::vector<std::string_view> names = {
      "oob switches",    "jump hosts",       "frontend switches", "control servers", "storage switches",
      "storage servers", "backend switches", "fabric managers",   "gpu servers",     "other servers"};
  return names;
}

RescueHosts::RescueHosts(const model::Cluster& cluster, const Inventory& inventory)
    : cluster_(cluster), inventory_(inventory), classes_(no_class), target_of_(cluster.devices().size(), kNoTarget) {
  const std::vector<Target>& targets = inventory.targets();
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    if (targets[i].device != model::kNone<model::DeviceId>) target_of_[model::index_of(targets[i].device)] = i;
    if (const std::size_t at = class_of(targets[i]); at != no_class) classes_[at].push_back(i);
  }
}

std::size_t RescueHosts::class_of(const Target& target) const {
  if (target.device == model::kNone<model::DeviceId>) return no_class;
  const model::DeviceGroup& group = cluster_.group_of(target.device);
  if (group.kind == model::DeviceKind::network_switch) {
    switch (group.fabric) {
      case model::FabricKind::oob:
        return oob_switches;
      case model::FabricKind::frontend:
        return frontend_switches;
      case model::FabricKind::storage:
        return storage_switches;
      case model::FabricKind::backend:
        break;
    }
    return backend_switches;
  }
  if (group.kind != model::DeviceKind::server) return no_class;
  if (group.manager) return fabric_managers;
  if (group.pool < 0) return other_servers;
  const model::PoolSpec& pool = cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)];
  const model::ControlPlaneSpec& control = cluster_.spec().control_plane.value;
  if (*pool.role == model::PoolRole::jump) return jump_hosts;
  if (control.pool.has_value()
          ? pool.name->text == *control.pool
          : *pool.role == model::PoolRole::infrastructure || *pool.role == model::PoolRole::management)
    return control_servers;
  if (*pool.role == model::PoolRole::storage) return storage_servers;
  return *cluster_.server_of(target.device).gpus > 0 ? gpu_servers : other_servers;
}

const std::vector<std::uint32_t>* RescueHosts::members(std::string_view name) const {
  const std::vector<std::string_view>& names = class_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return nullptr;
  return &classes_[static_cast<std::size_t>(found - names.begin())];
}

Result<std::vector<std::uint32_t>> RescueHosts::select(std::string_view expression) const {
  expression = trim(expression, " ");
  const bool first = expression.starts_with("first ");
  if (first) expression = trim(expression.substr(6), " ");
  const std::size_t but = expression.find(" but ");
  Result<std::vector<std::uint32_t>> chosen = select_items(expression.substr(0, but));
  if (!chosen.ok()) return chosen;
  if (but != std::string_view::npos) {
    Result<std::vector<std::uint32_t>> without = select_items(expression.substr(but + 5));
    if (!without.ok()) return without;
    std::erase_if(
        *chosen, [&](std::uint32_t one) { return std::find(without->begin(), without->end(), one) != without->end(); });
  }
  if (first && chosen->size() > 1) chosen->resize(1);
  return chosen;
}

Result<std::vector<std::uint32_t>> RescueHosts::select_items(std::string_view items) const {
  std::vector<std::uint32_t> chosen;
  for (const std::string_view item : split_outside_brackets(items)) {
    if (item.empty()) continue;  // left by a host list without members
    Result<std::vector<std::uint32_t>> more = select_item(item);
    if (!more.ok()) return more;
    append_new(chosen, *more);
  }
  return chosen;
}

Result<std::vector<std::uint32_t>> RescueHosts::select_item(std::string_view item) const {
  if (const std::vector<std::uint32_t>* all = members(item)) return *all;
  if (item.starts_with("behind ")) {
    Result<std::vector<std::uint32_t>> switches = inventory_.select(trim(item.substr(7), " "));
    if (!switches.ok()) return switches;
    std::vector<std::uint32_t> servers;
    for (const std::uint32_t one : *switches) append_new(servers, behind(one));
    std::sort(servers.begin(), servers.end());
    return servers;
  }
  if (item.find(' ') != std::string_view::npos) {
    const std::string hint = did_you_mean(item, class_names());
    return Error{ErrorCode::not_found,
                 fmt::format("{} is not a class of devices{}{}", in_backticks(item), hint.empty() ? "" : "; ", hint),
                 {}};
  }
  return inventory_.select(item);
}

std::vector<std::uint32_t> RescueHosts::behind(std::uint32_t target) const {
  std::vector<std::uint32_t> servers;
  const model::DeviceId device = inventory_.targets()[target].device;
  if (device == model::kNone<model::DeviceId>) return servers;
  for (const model::PortId port : cluster_.ports_of(device)) {
    const model::PortId peer = cluster_.peer_of(port);
    if (peer == model::kNone<model::PortId>) continue;
    const model::DeviceId other = cluster_.port(peer).device;
    if (cluster_.group_of(other).kind != model::DeviceKind::server || target_of_[model::index_of(other)] == kNoTarget)
      continue;
    servers.push_back(target_of_[model::index_of(other)]);
  }
  std::sort(servers.begin(), servers.end());
  servers.erase(std::unique(servers.begin(), servers.end()), servers.end());
  return servers;
}

Result<std::string> RescueHosts::address(std::uint32_t target, std::string_view at) const {
  const Target& host = inventory_.targets()[target];
  if (at == "bmc" || (at == "oob" && host.role != Role::server)) return host.endpoint.host;
  if (host.device != model::kNone<model::DeviceId>) {
    for (const model::PortId id : cluster_.ports_of(host.device)) {
      const model::Port& port = cluster_.port(id);
      // Rail 0 of a server's out-of-band ports is the BMC's.
      const bool wanted = at == "oob" ? port.fabric == model::FabricKind::oob && port.rail > 0
                                      : port.fabric == model::FabricKind::frontend && host.role == Role::server;
      if (wanted && port.address != Ipv4{}) return weft::to_text(port.address);
    }
  }
  return Error{ErrorCode::not_found,
               fmt::format("{} has no address on the {} network", host.name, at == "oob" ? "out-of-band" : at),
               {}};
}

std::vector<std::string> RescueHosts::names(const std::vector<std::uint32_t>& targets) const {
  std::vector<std::string> all;
  all.reserve(targets.size());
  for (const std::uint32_t target : targets) all.push_back(inventory_.targets()[target].name);
  return all;
}

std::string RescueHosts::fold(const std::vector<std::uint32_t>& targets) const { return fold_hosts(names(targets)); }

}  // namespace weft::oob
