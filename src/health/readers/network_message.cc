// What drivers of NICs, bonds and InfiniBand adapters report.
#include <array>

#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"
#include "health/readers/pci_address.h"

namespace weft::health {
namespace {

constexpr std::string_view kInterfaceOthers = "_-.@";

Signal make_network_signal(std::string_view name, std::string_view part) {
  Signal signal;
  signal.name = name;
  signal.part = printable(part, kMaxKernelDetail);
  return signal;
}

// "Down", "down", "DOWN", "is Down - ..." and the same of "up"; empty: neither. IFNAMSIZ ends names, not states.
std::string_view link_state(std::string_view text) {
  (void)take(text, "is ");
  const std::string_view word = leading_word(text, "/");
  if (equals_ignoring_case(word, "down")) return "link:down";
  return equals_ignoring_case(word, "up") ? "link:up" : std::string_view();
}

// Names that Linux and common tools give to ports; needed where nothing else says that a line is about one.
bool is_port_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"eth", "en", "ib", "hsn", "em"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) return true;
  }
  return false;
}

// One step behind a ": ": `before` ends with the interface, or `text` begins with it ("igb: eth0 NIC Link is Down").
std::optional<Signal> read_link_step(std::string_view before, std::string_view text, bool has_device) {
  std::string_view name = before.substr(before.rfind(' ') + 1);
  std::string_view rest = text;
  bool nic = take(rest, "NIC ");
  if (!nic) {
    const std::string_view first = leading_word(text, kInterfaceOthers);
    std::string_view after = text.substr(first.size());
    if (!first.empty() && take(after, " NIC ")) {
      name = first;
      rest = after;
      nic = true;
    }
  }
  if (!take(rest, "Link ") && !take(rest, "link ")) return std::nullopt;
  const std::string_view state = link_state(rest);
  const bool is_name = !name.empty() && is_letter(name.front()) && leading_word(name, kInterfaceOthers) == name;
  if (state.empty() || !is_name || !(nic || has_device || is_port_name(name))) return std::nullopt;
  return make_network_signal(state, name);
}

// "mlx5_core 0000:98:00.0 ens1f0np0: Link down", "igb 0000:00:14.0 eth0: igb: eth0 NIC Link is Down", "eth0: link up"
std::optional<Signal> read_link(std::string_view message, bool has_device) {
  std::string_view before;
  std::string_view rest = message;
  for (int step = 0; step < 4 && !rest.empty(); ++step) {
    before = take_until(rest, ": ");
    if (rest.empty()) return std::nullopt;
    if (auto signal = read_link_step(before, rest, has_device)) return signal;
  }
  return std::nullopt;
}

// "bond0: (slave eth0): link status definitely down, disabling slave"; before 5.3 "bond0: link status definitely down
// for interface ens4f0, disabling it"
std::optional<Signal> read_bond(std::string_view message) {
  const auto state = find_after(message, ": link status definitely ");
  if (!state) return std::nullopt;
  const std::string_view name = link_state(*state);
  if (name.empty()) return std::nullopt;
  std::string_view rest = message;
  const std::string_view bond = take_until(rest, ":");
  std::string_view port;
  if (auto slave = find_after(message, "(slave ")) {
    port = take_until(*slave, ")");
  } else if (const auto interface = find_after(*state, "for interface ")) {
    port = leading_word(*interface, kInterfaceOthers);
  }
  Signal signal = make_network_signal(name, port);
  add_detail(signal, "bond", bond);
  return signal;
}

// "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 0 timed out"; since 6.7 "mlx5_core 0000:98:00.0 eth0: NETDEV
// WATCHDOG: CPU: 3: transmit queue 5 timed out 5120 ms"; before 2.6.31 "NETDEV WATCHDOG: eth0: transmit timed out"
std::optional<Signal> read_watchdog(std::string_view message) {
  std::string_view rest = message;
  std::string_view before = take_until(rest, "NETDEV WATCHDOG: ");
  if (!contains(rest, "timed out")) return std::nullopt;
  std::string_view name = rest.substr(0, rest.find_first_of(" :"));
  std::string_view driver;
  if (!before.empty()) {
    before = trim_end(before, ": ");
    name = before.substr(before.rfind(' ') + 1);
    driver = before.substr(0, before.find(' '));
  } else if (auto after = find_after(rest, " (")) {
    driver = take_until(*after, ")");
  }
  Signal signal = make_network_signal("nic:tx_timeout", name);
  add_detail(signal, "driver", driver);
  add_detail(signal, "queue", find_number(rest, "transmit queue "));
  return signal;
}

// "Port module event[error]: module 0, Cable error, High Temperature", "Port module event: module 1, Cable unplugged"
std::optional<Signal> read_module_event(std::string_view text, std::string_view part) {
  auto event = find_after(text, "Port module event");
  if (!event) return std::nullopt;
  const auto module = find_number(*event, "module ");
  std::string_view status = *event;
  (void)take_until(status, ", ");
  std::string_view name;
  if (contains(status, "High Temperature")) {
    name = "nic:module_temperature";
  } else if (status.starts_with("Cable unplugged")) {
    name = "nic:cable_unplugged";
  } else if (status.starts_with("Cable error")) {
    name = "nic:module_error";
  } else {
    return std::nullopt;  // plugged
  }
  Signal signal = make_network_signal(name, part);
  add_detail(signal, "module", module);
  if (const auto error = find_after(status, "Cable error, ")) add_detail(signal, "error", *error);
  return signal;
}

// "Port: 1 Link DOWN" of the InfiniBand device mlx5_5. INIT and ARMED are steps on the way up.
std::optional<Signal> read_infiniband_port(std::string_view text, std::string_view device) {
  if (!take(text, "Port: ")) return std::nullopt;
  const auto port = take_number(text);
  if (!port || !take(text, " Link ")) return std::nullopt;
  const std::string_view state = leading_word(text, "");
  if (state != "DOWN" && state != "ACTIVE") return std::nullopt;
  return make_network_signal(state == "DOWN" ? "link:down" : "link:up",
                             std::string(device) + "/" + std::to_string(*port));
}

bool is_fatal_mlx5(std::string_view text) {
  return contains(text, "health compromised") || contains(text, "health poll failed") ||
         (contains(text, "Fatal error ") && contains(text, "detected"));
}

// "mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"
std::optional<Signal> read_mlx5(std::string_view message) {
  std::string_view rest = message;
  (void)take_until(rest, " ");
  const std::optional<PciAddress> address = take_pci_address(rest);
  std::string_view name;  // of the interface or the InfiniBand device
  if (address && take(rest, " ")) name = take_until(rest, ":");
  if (address && name.empty()) (void)take(rest, ":");
  if (!address) rest = message;
  skip_spaces(rest);
  std::string part(name);
  if (part.empty() && address) part = "PCI " + format_pci_function(*address);
  if (auto signal = read_infiniband_port(rest, name)) return signal;
  if (contains(rest, "TX timeout detected")) return make_network_signal("nic:tx_timeout", part);
  if (is_fatal_mlx5(rest)) {
    Signal signal = make_network_signal("nic:fatal", part);
    add_detail(signal, "code", find_number(rest, "Fatal error "));
    return signal;
  }
  if (contains(rest, "insufficient power on the PCIe slot")) {
    Signal signal = make_network_signal("nic:slot_power", part);
    add_detail(signal, "watts", find_number(rest, "PCIe slot ("));
    return signal;
  }
  return read_module_event(rest, part);
}

bool has_pci_device(std::string_view message) {
  (void)take_until(message, " ");
  return take_pci_address(message).has_value();
}

}  // namespace

std::optional<Signal> read_network_message(std::string_view message) {
  if (message.starts_with("mlx5_")) {
    if (auto signal = read_mlx5(message)) return signal;
  }
  if (contains(message, "NETDEV WATCHDOG: ")) return read_watchdog(message);
  if (auto signal = read_bond(message)) return signal;
  return read_link(message, has_pci_device(message));
}

}  // namespace weft::health
