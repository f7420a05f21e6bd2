#include "check/live/names.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "check/core/match.h"
#include "model/infiniband.h"

namespace weft::check {
namespace {

// Accepts sixteen-bit groups (Cisco) and colons: returns twelve hexadecimal digits, or "".
std::string mac_digits(std::string_view text) {
  std::string digits;
  for (const char c : to_lower(text)) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
      digits += c;
    } else if (c != ':' && c != '.' && c != '-') {
      return {};
    }
  }
  return digits.size() == 12 ? digits : std::string();
}

std::optional<int> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

LiveNames::LiveNames(const model::Cluster& cluster, const config::ConfigSet& config)
    : cluster_(cluster), config_(config) {
  for (const config::HostFacts& facts : config.hosts) {
    LiveHost host;
    host.facts = &facts;
    host.device = device_of_file(facts.file, facts.host);
    const bool server =
        host.device != model::kNone<model::DeviceId> && cluster.group_of(host.device).kind == model::DeviceKind::server;
    if (server) host.guesses = classify(cluster, host.device, facts, false);
    if (!server) host.device = model::kNone<model::DeviceId>;
    index_addresses(host);
    hosts_.push_back(std::move(host));
  }
}

void LiveNames::index_addresses(const LiveHost& host) {
  for (const InterfaceGuess& guess : host.guesses) {
    if (guess.port == model::kNone<model::PortId>) continue;
    const config::HostInterface& interface = host.facts->interfaces[guess.interface];
    interfaces_.try_emplace({host.device, interface.name}, guess.port);
    if (!interface.rdma_device.empty()) interfaces_.try_emplace({host.device, interface.rdma_device}, guess.port);
    if (const std::string mac = mac_digits(interface.address); !mac.empty()) by_mac_.try_emplace(mac, guess.port);
  }
}

model::DeviceId LiveNames::device(std::string_view system) const {
  model::DeviceId found = cluster_.find_device(system);
  if (found != model::kNone<model::DeviceId>) return found;
  const std::string small = to_lower(system.substr(0, system.find('.')));
  return small.empty() ? model::kNone<model::DeviceId> : cluster_.find_device(small);
}

model::DeviceId LiveNames::device_of_file(FileId file, std::string_view system) const {
  const config::ConfigSet::File* entry = config_.file(file);
  if (entry != nullptr && !entry->applies_to.empty() && entry->applies_to.find_first_of("*?") == std::string::npos) {
    return device(entry->applies_to);
  }
  return device(system);
}

model::PortId LiveNames::port(model::DeviceId device, std::initializer_list<std::string_view> names) const {
  if (device == model::kNone<model::DeviceId>) return model::kNone<model::PortId>;
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const auto learnt = interfaces_.find(std::pair(device, std::string(name)));
    if (learnt != interfaces_.end()) return learnt->second;
    const model::PortId named = port_named(cluster_, device, name);
    if (named != model::kNone<model::PortId>) return named;
    if (const auto mac = by_mac_.find(mac_digits(name)); mac != by_mac_.end()) {
      if (cluster_.port(mac->second).device == device) return mac->second;
    }
  }
  return model::kNone<model::PortId>;
}

model::PortId LiveNames::switch_port(model::DeviceId device, int number) const {
  const auto [at, fresh] = numbered_.try_emplace(model::index_of(device));
  if (fresh) at->second = model::infiniband_ports(cluster_, device);
  const auto index = static_cast<std::size_t>(number) - 1;
  return number < 1 || index >= at->second.size() ? model::kNone<model::PortId> : at->second[index];
}

model::PortId LiveNames::adapter_port(model::DeviceId device, std::string_view adapter, int port) const {
  const auto learnt = interfaces_.find(std::pair(device, std::string(adapter)));
  if (learnt != interfaces_.end()) return learnt->second;
  int number = -1;
  if (const auto mlx = number_after(adapter, "mlx5_")) number = *mlx;
  if (const auto hca = number_after(adapter, "HCA-")) number = *hca - 1;
  const std::vector<model::PortId> ports = model::infiniband_adapters(cluster_, device);
  // An adapter renamed after its planned port: mlx5_be1.
  for (const model::PortId id : ports) {
    if (adapter == "mlx5_" + cluster_.port_name(id)) return id;
  }
  if (number < 0 && ports.size() == 1) number = 0;
  // The second port of a dual-port adapter is the next index.
  const std::int64_t index = std::int64_t{number} + std::max(port, 1) - 1;
  if (number < 0 || index >= static_cast<std::int64_t>(ports.size())) return model::kNone<model::PortId>;
  return ports[static_cast<std::size_t>(index)];
}

LiveEnd LiveNames::infiniband_end(const config::IbEnd& end) const {
  LiveEnd out;
  std::string_view node = end.node;
  if (end.is_switch) {
    // The name of a managed switch is "MF0;name:MODEL/U1".
    if (node.starts_with("MF0;"))
      node = node.substr(4, node.find(':') == std::string_view::npos ? node.size() : node.find(':') - 4);
    out.system = std::string(node);
    out.name = "port " + std::to_string(end.port);
    out.device = device(node);
    if (out.device != model::kNone<model::DeviceId> &&
        cluster_.group_of(out.device).kind == model::DeviceKind::network_switch) {
      out.port = switch_port(out.device, end.port);
    }
    return out;
  }
  const std::size_t blank = node.find(' ');
  const std::string_view adapter = blank == std::string_view::npos ? std::string_view() : node.substr(blank + 1);
  out.system = std::string(node.substr(0, blank));
  out.name = adapter.empty() ? "port " + std::to_string(end.port) : std::string(adapter);
  out.device = device(out.system);
  if (out.device != model::kNone<model::DeviceId> && cluster_.group_of(out.device).kind == model::DeviceKind::server) {
    out.port = adapter_port(out.device, adapter, end.port);
  }
  return out;
}

}  // namespace weft::check
