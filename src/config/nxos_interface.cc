// NX-OS: interface blocks.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nxos_reader.h"

namespace weft::config::nxos {
namespace {

using Kind = InterfaceConfig::Kind;

constexpr std::size_t kMaxInterfaces = 8192;
constexpr std::size_t kMaxListedVlans = 256;

struct Family {
  std::string_view name;  // as NX-OS writes it
  std::size_t least;      // minimum letters of an abbreviation
  Kind kind;
};

constexpr Family kFamilies[] = {
    {"Ethernet", 1, Kind::front_panel}, {"port-channel", 2, Kind::port_channel}, {"Vlan", 2, Kind::svi},
    {"loopback", 2, Kind::loopback},    {"mgmt", 1, Kind::management},           {"nve", 3, Kind::other},
    {"Tunnel", 2, Kind::other}};

const Family* family_of(std::string_view letters) {
  for (const Family& family : kFamilies) {
    if (abbreviates(letters, family.name, family.least)) return &family;
  }
  return nullptr;
}

Kind kind_of(std::string_view name) {
  std::size_t letters = 0;
  while (letters < name.size() && (name[letters] < '0' || name[letters] > '9')) ++letters;
  const Family* family = family_of(name.substr(0, letters));
  return family == nullptr ? Kind::other : family->kind;
}

std::optional<BitRate> speed_of(std::string_view text) {
  if (const auto mbps = parse_digits(text)) {
    return *mbps > 0 && *mbps <= 10'000'000 ? std::optional(BitRate(*mbps * 1'000'000)) : std::nullopt;
  }
  const auto rate = parse_bit_rate(std::string(text));
  if (rate.ok()) return rate.value();
  std::string upper(text);
  if (!upper.empty() && upper.back() == 'g') upper.back() = 'G';
  const auto again = parse_bit_rate(upper);
  return again.ok() ? std::optional(again.value()) : std::nullopt;
}

std::string fec_of(std::string_view word) {
  if (word.substr(0, 2) == "rs") return "rs";
  if (word.substr(0, 2) == "fc") return "fc";
  return word == "off" ? "none" : std::string(word);
}

}  // namespace

std::optional<Ipv4Prefix> prefix_of(std::string_view text, Ipv4* own) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto length = slash == std::string_view::npos ? std::nullopt : parse_digits(text.substr(slash + 1));
  if (!address.ok() || !length || *length > 32) return std::nullopt;
  if (own != nullptr) *own = address.value();
  const auto mask = *length == 0 ? 0U : 0xFFFFFFFFU << (32U - static_cast<unsigned>(*length));
  return Ipv4Prefix{Ipv4{address.value().bits & mask}, static_cast<std::uint8_t>(*length)};
}

std::optional<Ipv4Prefix> prefix_of_mask(std::string_view address, std::string_view mask, bool wildcard, Ipv4* own) {
  const auto base = parse_ipv4(address);
  const auto given = parse_ipv4(mask);
  if (!base.ok() || !given.ok()) return std::nullopt;
  const std::uint32_t bits = wildcard ? ~given.value().bits : given.value().bits;
  int length = 0;
  while (length < 32 && ((bits >> (31U - static_cast<unsigned>(length))) & 1U) != 0) ++length;
  const std::uint32_t whole = length == 0 ? 0U : 0xFFFFFFFFU << (32U - static_cast<unsigned>(length));
  if (bits != whole) return std::nullopt;  // not contiguous
  if (own != nullptr) *own = base.value();
  return Ipv4Prefix{Ipv4{base.value().bits & whole}, static_cast<std::uint8_t>(length)};
}

std::size_t Reader::add_interface(const std::string& name, const SourceLocation& place) {
  const auto [known, added] = interfaces_.emplace(name, out_.interfaces.size());
  if (!added) return known->second;
  InterfaceConfig& made = out_.interfaces.emplace_back();
  interface_qos_.emplace_back();
  switchports_.emplace_back();
  made.name = name;
  made.place = place;
  made.kind = kind_of(name);
  if (made.kind == Kind::svi) made.svi_vlan = static_cast<int>(parse_digits(name.substr(4)).value_or(0));
  if (made.kind == Kind::front_panel) {
    const auto numbers = split_text(std::string_view(name).substr(8), '/', 4);  // slot/cage[/piece]
    if (numbers.size() >= 2) made.cage = static_cast<int>(parse_digits(numbers[1]).value_or(0));
    if (numbers.size() >= 3) made.part = static_cast<int>(parse_digits(numbers[2]).value_or(1)) - 1;
  }
  return known->second;
}

// One comma-separated item: "Ethernet1/1-48", "1/7", "Ethernet1/12/1-4", "Ethernet1/1-Ethernet1/4", "Vlan100-103".
bool Reader::add_interface_piece(std::string_view piece, std::string& family, std::vector<std::string>& names) {
  std::size_t letters = 0;
  while (letters < piece.size() && (piece[letters] < '0' || piece[letters] > '9')) ++letters;
  if (letters > 0) {
    const Family* found = family_of(trim(piece.substr(0, letters)));
    if (found == nullptr) return false;
    family = found->name;
  }
  const std::string_view numbers = piece.substr(letters);
  if (family.empty() || numbers.empty()) return false;
  const std::size_t dash = numbers.find('-');
  const std::string_view first_path = trim(numbers.substr(0, dash));
  const std::size_t slash = first_path.rfind('/');
  const std::string_view stem = slash == std::string_view::npos ? std::string_view() : first_path.substr(0, slash + 1);
  if (first_path.find_first_not_of("0123456789/.") != std::string_view::npos) return false;
  const auto first = parse_digits(first_path.substr(stem.size()));
  if (dash == std::string_view::npos) {
    names.push_back(family + std::string(first_path));
    return true;
  }
  std::string_view last_text = numbers.substr(dash + 1);
  last_text = last_text.substr(last_text.rfind('/') == std::string_view::npos ? 0 : last_text.rfind('/') + 1);
  const auto last = parse_digits(trim(last_text));
  if (!first || !last || *last < *first || *last > 100'000) return false;
  if (*last - *first >= static_cast<std::int64_t>(kMaxInterfaces - std::min(kMaxInterfaces, names.size())))
    return false;
  for (std::int64_t n = *first; n <= *last; ++n) names.push_back(fmt::format("{}{}{}", family, stem, n));
  return true;
}

std::vector<std::string> Reader::interface_names(std::string_view text) {
  std::vector<std::string> names;
  std::string family;
  for (const std::string_view piece : split_text(text, ',', kMaxInterfaces)) {
    if (!add_interface_piece(piece, family, names)) return {};
  }
  return names;
}

bool Reader::open_interface(const ConfigLine& line) {
  if (line.at(1) == "breakout") {
    take_breakout(line);
    return true;
  }
  const std::vector<std::string> names = interface_names(line.rest(1));
  current_.clear();
  block_ = Block::interface;
  if (names.empty()) {
    warn(line, 1, fmt::format("{} is not an interface name", in_backticks(line.rest(1))));
    return true;
  }
  if (!spend(names.size(), line)) return true;
  for (const std::string& name : names) {
    if (out_.interfaces.size() >= kMaxInterfaces && interfaces_.find(name) == interfaces_.end()) {
      warn(line, 1, fmt::format("more than {} interfaces; the rest is ignored", kMaxInterfaces));
      break;
    }
    current_.push_back(add_interface(name, line.place()));
  }
  return true;
}

// interface breakout module 1 port 1-4 map 100g-4x
void Reader::take_breakout(const ConfigLine& line) {
  const auto after = [&](std::string_view word) {
    const auto found = std::find(line.words.begin(), line.words.end(), word);
    return found == line.words.end() || found + 1 == line.words.end() ? std::string_view() : *(found + 1);
  };
  const auto ports = parse_number_list(after("port"), 1, 1024);
  const std::string_view map = after("map");
  const std::size_t dash = map.rfind('-');
  const auto pieces = dash == std::string_view::npos || map.back() != 'x'
                          ? std::nullopt
                          : parse_digits(map.substr(dash + 1, map.size() - dash - 2));
  if (!ports || !pieces || *pieces < 1 || *pieces > 8) {
    warn(line, 1, "invalid breakout: expected `port N map SPEED-Nx`");
    return;
  }
  for (const int port : *ports) breakout_[port] = static_cast<int>(*pieces);
}

template <class Use>
void Reader::each_interface(const ConfigLine& line, Use use) {
  if (!spend(current_.size(), line)) return;
  for (const std::size_t index : current_) use(out_.interfaces[index], index);
}

bool Reader::take_interface(const ConfigLine& line) {
  const bool no = line.at(0) == "no";
  const std::size_t at = no ? 1 : 0;
  const std::string_view word = line.at(at);
  if (abbreviates(word, "description", 4)) {
    if (no) return true;
    each_interface(line, [&](InterfaceConfig& to, std::size_t) {
      to.description = {std::string(line.rest(1)), line.place(), "description"};
    });
    return true;
  }
  if (abbreviates(word, "shutdown", 4)) {
    each_interface(line, [&](InterfaceConfig& to, std::size_t) {
      to.enabled = {no, line.place(), no ? "no shutdown" : "shutdown"};
    });
    return true;
  }
  if (word == "ip" && line.at(at + 1) == "address") return no || take_address(line);
  if (word == "ip" && (line.at(1) == "access-group" || (line.at(1) == "port" && line.at(2) == "access-group"))) {
    const std::size_t name = line.at(1) == "port" ? 3 : 2;
    const std::string_view direction = line.at(name + 1);
    if (direction != "in" && direction != "out") {
      warn(line, name, "expected `ip access-group NAME in|out`");
      return true;
    }
    const Setting<std::string> list(std::string(line.at(name)), line.place(), "ip access-group");
    each_interface(line,
                   [&](InterfaceConfig& to, std::size_t) { (direction == "in" ? to.acl_in : to.acl_out) = list; });
    return true;
  }
  if (word == "vrf" && line.at(at + 1) == "member") {
    Setting<std::string> set;
    if (!no) set = {std::string(line.at(2)), line.place(), "vrf member"};
    each_interface(line, [&](InterfaceConfig& to, std::size_t) { to.vrf = set; });
    return true;
  }
  if (abbreviates(word, "switchport", 2)) return take_switchport(line, no);
  if (word == "priority-flow-control") return take_pfc(line, no);
  if (word == "service-policy") {
    each_interface(line, [&](InterfaceConfig&, std::size_t index) {
      (void)take_service_policy(line, interface_qos_[index].policies);
    });
    return true;
  }
  if (word == "channel-group") {
    each_interface(line, [&](InterfaceConfig& to, std::size_t) {
      to.port_channel = {fmt::format("port-channel{}", line.at(1)), line.place(), "channel-group"};
    });
    return true;
  }
  return take_link(line, at, no);
}

bool Reader::take_link(const ConfigLine& line, std::size_t at, bool no) {
  const std::string_view word = line.at(at);
  const std::string_view value = line.at(at + 1);
  if ((word == "mtu" || word == "speed") && (no || value == "auto")) return true;
  if (word == "mtu") {
    const std::int64_t mtu = parse_digits(value).value_or(0);
    if (mtu < 576 || mtu > 9216) {
      warn(line, at + 1, fmt::format("MTU {} is not between 576 and 9216", in_backticks(value)));
      return true;
    }
    each_interface(line, [&](InterfaceConfig& to, std::size_t) { to.mtu = {mtu, line.place(at + 1), "mtu"}; });
    return true;
  }
  if (word == "speed") {
    const BitRate speed = speed_of(value).value_or(BitRate());
    if (speed.count() == 0) {
      warn(line, at + 1, fmt::format("unsupported speed {}", in_backticks(value)));
      return true;
    }
    each_interface(line, [&](InterfaceConfig& to, std::size_t) { to.speed = {speed, line.place(at + 1), "speed"}; });
    return true;
  }
  if (word == "flowcontrol") {
    if (no || value.empty()) return true;
    const bool on = line.at(at + 2) == "on" || line.at(at + 2) == "desired";
    each_interface(line, [&](InterfaceConfig& to, std::size_t) {
      if (on || !to.global_pause.value) to.global_pause = {on, line.place(), fmt::format("flowcontrol {}", value)};
    });
    return true;
  }
  if (word == "fec" && !no) {
    each_interface(line, [&](InterfaceConfig& to, std::size_t) { to.fec = {fec_of(value), line.place(), "fec"}; });
    return true;
  }
  if (word == "negotiate" && value == "auto") {
    each_interface(line, [&](InterfaceConfig& to, std::size_t) { to.autoneg = {!no, line.place(), "negotiate auto"}; });
    return true;
  }
  return false;
}

bool Reader::take_address(const ConfigLine& line) {
  Ipv4 own;
  const std::string_view text = line.at(2);
  if (text == "dhcp") return true;
  const bool masked = text.find('/') == std::string_view::npos;
  const auto prefix = masked ? prefix_of_mask(text, line.at(3), false, &own) : prefix_of(text, &own);
  if (!prefix) {
    warn(line, 2, fmt::format("{} is not an address with a prefix length", in_backticks(text)));
    return true;
  }
  each_interface(line, [&](InterfaceConfig& to, std::size_t) {
    if (to.addresses.size() >= 256) return;
    to.addresses.emplace_back(*prefix, line.place(2), "ip address");
    to.own.push_back(own);
  });
  return true;
}

bool Reader::take_switchport(const ConfigLine& line, bool no) {
  if (no) {
    if (line.size() > 2) return false;
    each_interface(line, [&](InterfaceConfig&, std::size_t index) { switchports_[index].routed = true; });
    return true;
  }
  const std::string_view what = line.at(1);
  if (what == "mode") {
    const bool access = line.at(2) == "access";
    const bool trunk = line.at(2) == "trunk";
    each_interface(line, [&](InterfaceConfig&, std::size_t index) {
      switchports_[index].access = access;
      switchports_[index].trunk = trunk;
    });
    return true;
  }
  const bool access = what == "access" && line.at(2) == "vlan";
  const bool native = what == "trunk" && line.at(2) == "native" && line.at(3) == "vlan";
  if (what == "trunk" && line.at(2) == "allowed" && line.at(3) == "vlan") return take_allowed_vlans(line);
  if (!access && !native) return line.size() == 1;
  const std::size_t word = access ? 3 : 4;
  const auto id = parse_digits(line.at(word));
  if (!id || *id < 1 || *id > 4094) {
    warn(line, word, fmt::format("{} is not a VLAN id between 1 and 4094", in_backticks(line.at(word))));
    return true;
  }
  const Setting<int> vlan(static_cast<int>(id.value_or(0)), line.place(word),
                          access ? "switchport access vlan" : "switchport trunk native vlan");
  each_interface(line, [&](InterfaceConfig&, std::size_t index) {
    (access ? switchports_[index].access_vlan : switchports_[index].native_vlan) = vlan;
  });
  return true;
}

bool Reader::take_allowed_vlans(const ConfigLine& line) {
  std::string_view mode = line.at(4);
  const bool worded = mode == "add" || mode == "remove" || mode == "except";
  const bool all = mode == "all";
  const bool none = mode == "none";
  const auto ids = all || none ? std::vector<int>() : parse_number_list(line.rest(worded ? 5 : 4), 1, 4094);
  if (!ids) {
    warn(line, worded ? 5 : 4, fmt::format("{} is not a list of VLANs", in_backticks(line.rest(worded ? 5 : 4))));
    return true;
  }
  if (!spend(current_.size() * 4095, line)) return true;
  each_interface(line, [&](InterfaceConfig&, std::size_t index) {
    Switchport& port = switchports_[index];
    const bool keep = (mode == "add" || mode == "remove") && port.has_allowed;
    const bool start = mode == "remove" || mode == "except";  // before any list, a trunk carries every VLAN
    if (!keep) port.allowed.assign(4095, start);
    for (const int id : *ids) port.allowed[static_cast<std::size_t>(id)] = !start;
    port.has_allowed = !all;
    port.allowed_place = line.place(4);
  });
  return true;
}

bool Reader::take_pfc(const ConfigLine& line, bool no) {
  const std::size_t at = no ? 2 : 1;
  const std::string_view value = line.at(at + 1);
  if (line.at(at) == "mode") {
    if (!no && value != "on" && value != "off" && value != "auto") {
      warn(line, at + 1, fmt::format("unsupported PFC mode {}: expected on, off or auto", in_backticks(value)));
      return true;
    }
    const model::PfcMode mode = value == "on"    ? model::PfcMode::on
                                : value == "off" ? model::PfcMode::off
                                                 : model::PfcMode::automatic;
    Setting<model::PfcMode> set;
    if (!no) set = {mode, line.place(), "priority-flow-control mode"};
    each_interface(line, [&](InterfaceConfig&, std::size_t index) { interface_qos_[index].pfc_mode = set; });
    return true;
  }
  if (line.at(at) == "watch-dog-interval" || line.at(at) == "watch-dog") {
    const bool on = !no && (value == "on" || parse_digits(value).has_value() || value == "interval");
    each_interface(line, [&](InterfaceConfig&, std::size_t index) {
      interface_qos_[index].watchdog = {on, line.place(), "priority-flow-control watch-dog-interval"};
    });
    return true;
  }
  return false;
}

void Reader::finish_interfaces() {
  std::map<int, int> pieces = breakout_;
  for (const InterfaceConfig& interface : out_.interfaces) {
    if (interface.kind == Kind::front_panel && std::count(interface.name.begin(), interface.name.end(), '/') == 2) {
      int& most = pieces[interface.cage];
      most = std::max(most, interface.part + 1);
    }
  }
  for (std::size_t i = 0; i < out_.interfaces.size(); ++i) {
    InterfaceConfig& interface = out_.interfaces[i];
    const auto split = pieces.find(interface.cage);
    if (interface.kind == Kind::front_panel && split != pieces.end()) interface.parts = std::max(1, split->second);
    if (!interface.enabled.known()) {
      const bool svi = interface.kind == Kind::svi;
      interface.enabled = vendor_default(!svi, svi ? "a VLAN interface is shut down until `no shutdown`"
                                                   : "an interface is up unless `shutdown` is set");
    }
    finish_switchport(i);
  }
}

void Reader::finish_switchport(std::size_t index) {
  InterfaceConfig& interface = out_.interfaces[index];
  const Switchport& port = switchports_[index];
  if (port.routed) return;
  if (!port.trunk) {
    interface.access_vlan = port.access_vlan;
    if (!interface.access_vlan.known() && port.access) {
      interface.access_vlan = vendor_default(1, "an access port without `switchport access vlan` is in VLAN 1");
    }
    return;
  }
  interface.access_vlan =
      port.native_vlan.known() ? port.native_vlan : vendor_default(1, "the native VLAN of a trunk is 1 by default");
  interface.trunk_all = !port.has_allowed;
  if (!port.has_allowed) return;
  const auto listed = static_cast<std::size_t>(std::count(port.allowed.begin(), port.allowed.end(), true));
  // A trunk carries only VLANs that exist on the switch: a long list ("1-4094") is reduced to those, and one that
  // includes all of them is a trunk of all VLANs.
  const bool is_long = listed > kMaxListedVlans;
  const auto carried = [&](const VlanConfig& vlan) { return port.allowed[static_cast<std::size_t>(vlan.id)]; };
  interface.trunk_all = is_long && std::all_of(out_.vlans.begin(), out_.vlans.end(), carried);
  if (interface.trunk_all) return;
  for (std::size_t id = 1; id < port.allowed.size(); ++id) {
    if (!port.allowed[id]) continue;
    if (is_long && vlan_index_.find(static_cast<int>(id)) == vlan_index_.end()) continue;
    interface.tagged_vlans.emplace_back(static_cast<int>(id), port.allowed_place, "allowed vlan");
  }
}

}  // namespace weft::config::nxos
