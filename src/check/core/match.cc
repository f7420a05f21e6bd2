#include "check/core/match.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/wildcard.h"

namespace weft::check {

namespace {

// A front-panel position. `lane` is used if the name refers to lanes (SONiC), `piece` otherwise.
struct PanelPlace {
  std::uint32_t cage = 0;  // from 0
  std::optional<std::uint32_t> piece;
  std::optional<std::uint32_t> lane;
};

// Numbers of a name after its letters: 1, 2, 3 for "Ethernet1/2/3". nullopt if it contains anything else.
struct PortNumbers {
  std::array<std::uint32_t, 3> value{};
  std::size_t count = 0;
};

std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > 100'000) return std::nullopt;
  return value;
}

std::optional<PortNumbers> numbers_of(std::string_view text, std::string_view separators) {
  PortNumbers numbers;
  while (true) {
    const std::size_t cut = text.find_first_of(separators);
    const auto value = to_number(text.substr(0, cut));
    if (!value || numbers.count == numbers.value.size()) return std::nullopt;
    numbers.value[numbers.count++] = *value;
    if (cut == std::string_view::npos) return numbers;
    text.remove_prefix(cut + 1);
  }
}

// SONiC numbers ports by lane across all cages: with 8 lanes per cage, Ethernet12 is the fifth lane of the second cage.
std::optional<PanelPlace> by_lane(const model::SwitchModel& model, std::uint32_t number) {
  std::uint32_t cage = 0;
  for (const model::CageGroup& row : *model.cages) {
    const auto lanes = static_cast<std::uint32_t>(*row.lanes);
    const auto count = static_cast<std::uint32_t>(*row.count);
    if (lanes == 0) return std::nullopt;
    if (number < lanes * count) return PanelPlace{cage + number / lanes, std::nullopt, number % lanes};
    number -= lanes * count;
    cage += count;
  }
  return std::nullopt;
}

std::optional<PanelPlace> cage_and_piece(std::uint32_t cage, std::uint32_t piece) {
  if (cage == 0 || piece == 0) return std::nullopt;
  return PanelPlace{cage - 1, piece - 1, std::nullopt};
}

// "etp2b", a SONiC alias: cage 2, second breakout port.
std::optional<PanelPlace> from_alias(std::string_view rest) {
  std::uint32_t piece = 1;
  if (!rest.empty() && rest.back() >= 'a' && rest.back() <= 'h') {
    piece = static_cast<std::uint32_t>(rest.back() - 'a') + 1;
    rest.remove_suffix(1);
  }
  const auto cage = to_number(rest);
  return cage ? cage_and_piece(*cage, piece) : std::nullopt;
}

// "swp2s1": cage 2, second breakout port (Cumulus counts them from 0).
std::optional<PanelPlace> from_swp(std::string_view rest) {
  const auto numbers = numbers_of(rest, "s");
  if (!numbers || numbers->count > 2) return std::nullopt;
  return cage_and_piece(numbers->value[0], numbers->value[1] + 1);
}

// "et-0/0/12:1" of Junos: all numbers start at 0.
std::optional<PanelPlace> from_junos(std::string_view rest) {
  const std::size_t colon = rest.find(':');
  const auto numbers = numbers_of(rest.substr(0, colon), "/");
  if (!numbers || numbers->count != 3) return std::nullopt;
  std::uint32_t piece = 0;
  if (colon != std::string_view::npos) {
    const auto given = to_number(rest.substr(colon + 1));
    if (!given) return std::nullopt;
    piece = *given;
  }
  return PanelPlace{numbers->value[2], piece, std::nullopt};
}

// The meaning of "Ethernet..." and its short forms depends on the system.
std::optional<PanelPlace> from_ethernet(std::string_view rest, std::string_view system,
                                        const model::SwitchModel& model) {
  const auto numbers = numbers_of(rest, "/");
  if (!numbers) return std::nullopt;
  const auto& n = numbers->value;
  if (numbers->count == 3) return cage_and_piece(n[1], n[2]);  // slot, cage, piece
  const bool slots = system != "eos" && (system != "sonic" || n[0] == 1);
  if (numbers->count == 2) return slots ? cage_and_piece(n[1], 1) : cage_and_piece(n[0], n[1]);
  if (system == "sonic") return by_lane(model, n[0]);
  return cage_and_piece(n[0], 1);
}

std::optional<PanelPlace> panel_place(std::string_view name, std::string_view system, const model::SwitchModel& model) {
  const std::string small = to_lower(name);
  const std::string_view text = small;
  const auto after = [&text](std::string_view prefix) -> std::optional<std::string_view> {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) return std::nullopt;
    return text.substr(prefix.size());
  };
  if (const auto rest = after("p")) {  // weft's own names
    const auto numbers = numbers_of(*rest, "/");
    if (!numbers || numbers->count > 2) return std::nullopt;
    return cage_and_piece(numbers->value[0], numbers->count == 2 ? numbers->value[1] : 1);
  }
  if (const auto rest = after("etp")) return from_alias(*rest);
  if (const auto rest = after("swp")) return from_swp(*rest);
  if (const auto rest = after("et-")) return from_junos(*rest);
  for (const std::string_view prefix : {"ethernet", "eth", "et", "e"}) {
    const auto rest = after(prefix);
    if (rest && rest->front() >= '0' && rest->front() <= '9') return from_ethernet(*rest, system, model);
  }
  return std::nullopt;
}

bool is_management_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {"eth0",        "mgmt0",       "mgmt1", "mgmt",
                                                             "management0", "management1", "em0",   "fxp0"};
  const std::string small = to_lower(name);
  return std::find(kNames.begin(), kNames.end(), small) != kNames.end();
}

std::uint32_t front_cages(const model::SwitchModel& model) {
  std::uint32_t count = 0;
  for (const model::CageGroup& row : *model.cages) count += static_cast<std::uint32_t>(*row.count);
  return count;
}

// Cumulus keeps `swp2` for the split cage besides `swp2s0` and `swp2s1`: it is a port only if the cage is not split.
bool is_split_parent(std::string_view name) {
  return name.starts_with("swp") && name.find('s', 1) == std::string_view::npos;
}

bool is_whole(const model::Cluster& cluster, model::PortId id) {
  return id == model::kNone<model::PortId> || cluster.port_name(id).find('/') == std::string::npos;
}

model::PortId port_at(const model::Cluster& cluster, model::DeviceId device, const PanelPlace& where) {
  const auto ports = cluster.ports_of(device);  // in cage order
  auto at = std::lower_bound(ports.begin(), ports.end(), where.cage,
                             [&](model::PortId id, std::uint32_t cage) { return cluster.port(id).cage < cage; });
  for (; at != ports.end() && cluster.port(*at).cage == where.cage; ++at) {
    const model::Port& port = cluster.port(*at);
    const std::uint32_t lanes = std::max<std::uint32_t>(port.lanes, 1);
    if (where.lane ? port.lane == *where.lane : port.lane / lanes == where.piece.value_or(0)) return *at;
  }
  return model::kNone<model::PortId>;
}

model::PortId management_port(const model::Cluster& cluster, model::DeviceId device, const model::SwitchModel& model) {
  const std::uint32_t front = front_cages(model);
  for (const model::PortId id : cluster.ports_of(device)) {
    if (cluster.port(id).cage >= front) return id;
  }
  return model::kNone<model::PortId>;
}

bool is_switch(const model::Cluster& cluster, model::DeviceId id) {
  return id != model::kNone<model::DeviceId> && cluster.group_of(id).kind == model::DeviceKind::network_switch;
}

// "configs/be-leaf1.running.json" may refer to be-leaf1.running or be-leaf1: the longest existing name wins.
model::DeviceId by_file_name(const model::Cluster& cluster, std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  while (!name.empty()) {
    const model::DeviceId found = cluster.find_device(name);
    if (is_switch(cluster, found)) return found;
    const std::size_t dot = name.find_last_of('.');
    if (dot == std::string_view::npos) break;
    name = name.substr(0, dot);
  }
  return model::kNone<model::DeviceId>;
}

}  // namespace

std::vector<model::DeviceId> devices_of(const model::Cluster& cluster, const config::ConfigSet& set,
                                        const config::SwitchConfig& config) {
  const config::ConfigSet::File* file = set.file(config.file);
  const std::string_view pattern = file != nullptr ? std::string_view(file->applies_to) : std::string_view();
  std::vector<model::DeviceId> found;
  if (!pattern.empty()) {
    if (pattern.find_first_of("*?") == std::string_view::npos) {
      const model::DeviceId id = cluster.find_device(pattern);
      if (is_switch(cluster, id)) found.push_back(id);
      return found;
    }
    for (const model::DeviceGroup& group : cluster.groups()) {
      if (group.kind != model::DeviceKind::network_switch) continue;
      for (std::uint32_t i = 0; i < group.count; ++i) {
        const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
        if (wildcard_match(pattern, cluster.name_of(id))) found.push_back(id);
      }
    }
    return found;
  }
  if (config.hostname.given()) {
    const model::DeviceId id = cluster.find_device(*config.hostname);
    if (is_switch(cluster, id)) found.push_back(id);
  }
  if (found.empty() && file != nullptr && !file->path.empty()) {
    const model::DeviceId id = by_file_name(cluster, file->path);
    if (id != model::kNone<model::DeviceId>) found.push_back(id);
  }
  return found;
}

model::PortId port_of(const model::Cluster& cluster, model::DeviceId device, const config::InterfaceConfig& interface) {
  if (!is_switch(cluster, device)) return port_named(cluster, device, interface.name);
  if (interface.kind == config::InterfaceConfig::Kind::management) {
    return management_port(cluster, device, *cluster.group_of(device).network_switch);
  }
  if (interface.kind != config::InterfaceConfig::Kind::front_panel) return model::kNone<model::PortId>;
  if (interface.cage <= 0 || interface.part < 0) return port_named(cluster, device, interface.name);
  const model::PortId found = port_at(cluster, device,
                                      PanelPlace{static_cast<std::uint32_t>(interface.cage - 1),
                                                 static_cast<std::uint32_t>(interface.part), std::nullopt});
  return is_split_parent(interface.name) && !is_whole(cluster, found) ? model::kNone<model::PortId> : found;
}

model::PortId port_named(const model::Cluster& cluster, model::DeviceId device, std::string_view name) {
  if (device == model::kNone<model::DeviceId>) return model::kNone<model::PortId>;
  if (!is_switch(cluster, device)) {
    for (const model::PortId id : cluster.ports_of(device)) {
      if (cluster.port_name(id) == name) return id;
    }
    return model::kNone<model::PortId>;
  }
  const model::DeviceGroup& group = cluster.group_of(device);
  if (is_management_name(name)) return management_port(cluster, device, *group.network_switch);
  const auto where = panel_place(name, cluster.switch_os_of(group), *group.network_switch);
  const model::PortId found = where ? port_at(cluster, device, *where) : model::kNone<model::PortId>;
  return is_split_parent(name) && !is_whole(cluster, found) ? model::kNone<model::PortId> : found;
}

const config::InterfaceConfig* interface_of(const model::Cluster& cluster, model::DeviceId device,
                                            const config::SwitchConfig& config, model::PortId port) {
  if (port == model::kNone<model::PortId>) return nullptr;
  for (const config::InterfaceConfig& interface : config.interfaces) {
    const bool possible = interface.kind == config::InterfaceConfig::Kind::front_panel ||
                          interface.kind == config::InterfaceConfig::Kind::management;
    if (!possible) continue;
    if (interface.kind == config::InterfaceConfig::Kind::front_panel && interface.cage > 0 &&
        interface.cage != cluster.port(port).cage + 1) {
      continue;
    }
    if (port_of(cluster, device, interface) == port) return &interface;
  }
  return nullptr;
}

}  // namespace weft::check
