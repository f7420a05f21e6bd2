// NVUE: interfaces, bridges and VLANs.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nvue_reader.h"

namespace weft::config::nvue {
namespace {

using Kind = InterfaceConfig::Kind;

constexpr std::size_t kMaxInterfaces = 8192;

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - from;
}

// "swp12s1": cage 12, breakout port 1.
void read_position(InterfaceConfig& interface) {
  const std::string_view name = interface.name;
  const std::size_t cage = digits_at(name, 3);
  interface.cage = static_cast<int>(parse_digits(name.substr(3, std::min<std::size_t>(cage, 6))).value_or(0));
  if (3 + cage < name.size() && name[3 + cage] == 's') {
    const std::size_t part = digits_at(name, 4 + cage);
    interface.part = static_cast<int>(parse_digits(name.substr(4 + cage, std::min<std::size_t>(part, 3))).value_or(0));
  }
}

Kind kind_of(std::string_view name) {
  if (name.substr(0, 3) == "swp" && digits_at(name, 3) > 0) {
    return name.find('.') == std::string_view::npos ? Kind::front_panel : Kind::other;
  }
  if (name.substr(0, 4) == "vlan" && digits_at(name, 4) > 0) return Kind::svi;
  if (name == "lo") return Kind::loopback;
  if (name.substr(0, 3) == "eth" && digits_at(name, 3) > 0) return Kind::management;
  if (name.substr(0, 4) == "bond" || name == "peerlink") return Kind::port_channel;
  return Kind::other;
}

// A number range inside a name: text[from..] starts with digits; "1-32" is parsed to 1 and 32.
bool read_range(std::string_view text, std::size_t& at, std::int64_t& first, std::int64_t& last) {
  const std::size_t count = digits_at(text, at);
  const auto low = parse_digits(text.substr(at, count));
  if (!low || *low > 100'000) return false;
  at += count;
  first = last = *low;
  if (at < text.size() && text[at] == '-' && digits_at(text, at + 1) > 0) {
    const std::size_t more = digits_at(text, at + 1);
    last = parse_digits(text.substr(at + 1, more)).value_or(-1);
    at += more + 1;
  }
  return last >= first && last - first < static_cast<std::int64_t>(kMaxInterfaces);
}

// "swp1-32", "swp1s0-1", "swp1-4s0-3"; any other name is kept unchanged.
bool expand_name(std::string_view piece, std::vector<std::string>& names) {
  std::size_t letters = 0;
  while (letters < piece.size() && (piece[letters] < '0' || piece[letters] > '9')) ++letters;
  const std::string_view stem = piece.substr(0, letters);
  const bool ranged = stem == "swp" || stem == "vlan" || stem == "bond" || stem == "eth";
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t at = letters;
  if (!ranged || letters == piece.size() || !read_range(piece, at, first, last)) {
    names.emplace_back(piece);
    return !ranged || letters == piece.size();
  }
  std::int64_t part_first = -1;
  std::int64_t part_last = -1;
  if (stem == "swp" && at < piece.size() && piece[at] == 's') {
    ++at;
    if (!read_range(piece, at, part_first, part_last)) return false;
  }
  const std::string_view rest = piece.substr(at);  // ".100" of a subinterface
  const auto parts = static_cast<std::size_t>(part_last - part_first + 1);
  if (static_cast<std::size_t>(last - first + 1) * parts + names.size() > kMaxInterfaces) return false;
  for (std::int64_t n = first; n <= last; ++n) {
    for (std::int64_t part = part_first; part <= part_last; ++part) {
      names.push_back(part < 0 ? fmt::format("{}{}{}", stem, n, rest) : fmt::format("{}{}s{}{}", stem, n, part, rest));
    }
  }
  return true;
}

std::string fec_of(std::string_view word) {
  if (word == "baser") return "fc";
  return word == "off" ? "none" : std::string(word);
}

}  // namespace

std::vector<std::string> Reader::interface_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view piece : split_text(text, ',', kMaxInterfaces)) {
    if (piece.empty() || !expand_name(piece, names)) return {};
  }
  return names;
}

std::size_t Reader::add_interface(const std::string& name, const SourceLocation& place) {
  const auto [known, added] = interfaces_.emplace(name, out_.interfaces.size());
  if (!added) return known->second;
  InterfaceConfig& made = out_.interfaces.emplace_back();
  interface_qos_.emplace_back();
  untagged_.emplace_back();
  tagged_known_.emplace_back();
  in_bridge_.push_back(false);
  made.name = name;
  made.place = place;
  made.kind = kind_of(name);
  if (made.kind == Kind::front_panel) read_position(made);
  if (made.kind == Kind::svi) {
    made.svi_vlan = static_cast<int>(parse_digits(std::string_view(name).substr(4, 5)).value_or(0));
  }
  return known->second;
}

void Reader::take_interface(const Command& command) {
  const std::vector<std::string> names = interface_names(command.at(1));
  if (names.empty()) {
    warn(command.place(1), fmt::format("{} is not an interface name", in_backticks(command.at(1))));
    return;
  }
  if (!spend(names.size(), command.place(0))) return;
  bool known = true;
  for (const std::string& name : names) {
    if (out_.interfaces.size() >= kMaxInterfaces && interfaces_.find(name) == interfaces_.end()) break;
    known = set_interface(command, add_interface(name, command.place(1))) && known;
  }
  if (!known) ++out_.skipped;
}

bool Reader::set_interface(const Command& command, std::size_t index) {
  InterfaceConfig& to = out_.interfaces[index];
  const std::string_view what = command.at(2);
  if (command.size() <= 2) return true;
  if (what == "description") {
    to.description = {std::string(command.at(3)), command.place(3), "description"};
    return true;
  }
  if (what == "link") {
    if (command.is(3, {"breakout"})) {
      const std::string_view pieces = command.at(4);
      const auto count =
          pieces.empty() || pieces[0] < '0' || pieces[0] > '9' ? std::nullopt : parse_digits(pieces.substr(0, 1));
      if (count && to.cage > 0) breakout_[to.cage] = static_cast<int>(*count);
      return true;
    }
    return set_link(command, to);
  }
  if (command.is(2, {"ip", "address"})) {
    const std::string_view text = command.at(4);
    if (text == "dhcp" || text.find(':') != std::string_view::npos) return true;
    const std::size_t slash = text.find('/');
    const auto address = parse_ipv4(text.substr(0, slash));
    const auto length =
        slash == std::string_view::npos ? std::optional<std::int64_t>(32) : parse_digits(text.substr(slash + 1));
    if (!address.ok() || !length || *length > 32) {
      warn(command.place(4), fmt::format("{} is not an address with a prefix length", in_backticks(text)));
      return true;
    }
    const auto mask = *length == 0 ? 0U : 0xFFFFFFFFU << (32U - static_cast<unsigned>(*length));
    if (to.addresses.size() < 256) {
      to.addresses.emplace_back(Ipv4Prefix{Ipv4{address.value().bits & mask}, static_cast<std::uint8_t>(*length)},
                                command.place(4), "ip address");
      to.own.push_back(address.value());
    }
    return true;
  }
  if (command.is(2, {"ip", "vrf"})) {
    if (command.at(4) != "default") to.vrf = {std::string(command.at(4)), command.place(4), "ip vrf"};
    return true;
  }
  if (what == "vlan") {
    if (const auto id = number(command, 3, 1, 4094)) to.svi_vlan = static_cast<int>(*id);
    return true;
  }
  if (command.is(2, {"bond", "member"})) {
    to.kind = Kind::port_channel;
    const Setting<std::string> bundle(to.name, command.place(4), "bond member");
    for (const std::string& member : interface_names(command.at(4))) {
      if (!spend(1, command.place(4))) break;
      out_.interfaces[add_interface(member, command.place(4))].port_channel = bundle;
    }
    return true;
  }
  if (command.is(2, {"bridge", "domain"})) return set_bridge(command, index);
  if (what == "acl") {
    const Setting<std::string> list(std::string(command.at(3)), command.place(3), "interface acl");
    if (command.at(4) == "inbound" && command.at(5) != "control-plane") to.acl_in = list;
    if (command.at(4) == "outbound" && command.at(5) != "control-plane") to.acl_out = list;
    return true;
  }
  if (what == "qos") return set_interface_qos(command, interface_qos_[index], to);
  return what == "type" || what == "router" || what == "evpn";
}

bool Reader::set_link(const Command& command, InterfaceConfig& to) {
  const std::string_view what = command.at(3);
  const std::string_view value = command.at(4);
  const SourceLocation place = command.place(4);
  if (what == "mtu") {
    if (const auto mtu = number(command, 4, 552, 9216)) to.mtu = {mtu.value_or(0), place, "link mtu"};
    return true;
  }
  if (what == "speed") {
    const auto rate = parse_bit_rate(std::string(value));
    if (rate.ok()) {
      to.speed = {rate.value(), place, "link speed"};
    } else if (value != "auto") {
      warn(place, fmt::format("unsupported speed {}", in_backticks(value)));
    }
    return true;
  }
  if (what == "fec") {
    to.fec = {fec_of(value), place, "link fec"};
    return true;
  }
  if (what == "auto-negotiate") {
    to.autoneg = {is_on(value), place, "link auto-negotiate"};
    return true;
  }
  if (what == "state") {
    to.enabled = {value == "up", place, "link state"};
    return true;
  }
  return what == "lanes" || what == "lldp";
}

// interface swp1 bridge domain br_default [access 10 | untagged 10 | vlan 10,20-30 | vlan all]
bool Reader::set_bridge(const Command& command, std::size_t index) {
  InterfaceConfig& to = out_.interfaces[index];
  in_bridge_[index] = true;
  const std::string_view what = command.at(5);
  if (what == "access" || what == "untagged") {
    if (command.at(6) == "none") return true;
    if (const auto id = number(command, 6, 1, 4094)) {
      untagged_[index] = {static_cast<int>(id.value_or(0)), command.place(6), fmt::format("bridge domain {}", what)};
    }
    return true;
  }
  if (what != "vlan") return true;
  if (command.at(6) == "all") {
    to.trunk_all = true;
    return true;
  }
  for (const int id : list(command, 6, 1, 4094)) {
    if (!spend(1, command.place(6))) break;
    if (tagged_known_[index].insert(id).second) to.tagged_vlans.emplace_back(id, command.place(6), "bridge vlan");
  }
  return true;
}

bool Reader::set_interface_qos(const Command& command, InterfaceQos& to, InterfaceConfig&) {
  const std::string_view what = command.at(3);
  if (what == "pfc-watchdog") {
    const bool worded = command.at(4) == "state" || command.at(4) == "enable";
    to.watchdog = {is_on(command.at(worded ? 5 : 4)), command.last(), "qos pfc-watchdog"};
    return true;
  }
  if (command.at(4) != "profile") return what == "roce";
  const Setting<std::string> named(std::string(command.at(5)), command.place(5), fmt::format("qos {} profile", what));
  if (what == "mapping") to.mapping = named;
  if (what == "pfc") to.pfc = named;
  if (what == "congestion-control") to.congestion = named;
  if (what == "egress-scheduler") to.scheduler = named;
  if (what == "egress-queue-mapping") to.queues = named;
  if (what == "remark") to.remark = named;
  if (what == "link-pause") to.pause = named;
  return true;
}

void Reader::add_vlans(const std::vector<int>& ids, const SourceLocation& place) {
  for (const int id : ids) {
    if (vlans_.insert(id).second) out_.vlans.push_back({id, {}, place});
  }
}

// bridge domain br_default vlan 10,20-30
void Reader::take_bridge(const Command& command) {
  if (command.at(1) != "domain") {
    ++out_.skipped;
    return;
  }
  if (command.at(3) == "vlan" && spend(4094, command.place(3))) add_vlans(list(command, 4, 1, 4094), command.place(4));
  if (command.at(3) == "untagged" && command.at(4) != "none") {
    if (const auto id = number(command, 4, 1, 4094)) {
      bridge_untagged_ = {static_cast<int>(id.value_or(0)), command.place(4), "bridge domain untagged"};
    }
  }
}

void Reader::finish_interfaces() {
  std::map<int, int> pieces = breakout_;
  for (const InterfaceConfig& interface : out_.interfaces) {
    if (interface.kind == Kind::front_panel && interface.name.find('s', 3) != std::string::npos) {
      int& most = pieces[interface.cage];
      most = std::max(most, interface.part + 1);
    }
  }
  for (std::size_t i = 0; i < out_.interfaces.size(); ++i) {
    InterfaceConfig& interface = out_.interfaces[i];
    const auto split = pieces.find(interface.cage);
    if (interface.kind == Kind::front_panel && split != pieces.end()) interface.parts = std::max(1, split->second);
    if (!interface.enabled.known())
      interface.enabled = vendor_default(true, "an interface in the configuration is up by default");
    if (interface.kind == Kind::front_panel && !interface.mtu.known()) {
      interface.mtu = vendor_default<std::int64_t>(9216, "Cumulus sets switch ports to an MTU of 9216 by default");
    }
    if (interface.kind == Kind::svi && interface.svi_vlan > 0) add_vlans({interface.svi_vlan}, interface.place);
    if (!in_bridge_[i]) continue;
    // By default a bridge port carries the bridge's untagged VLAN, and all of its VLANs tagged.
    interface.access_vlan = untagged_[i].known() ? untagged_[i]
                            : bridge_untagged_.known()
                                ? bridge_untagged_
                                : vendor_default(1, "a bridge port is untagged in VLAN 1 by default");
    const bool access_only = untagged_[i].known() && untagged_[i].path == "bridge domain access";
    if (!access_only && interface.tagged_vlans.empty()) interface.trunk_all = true;
  }
  std::sort(out_.vlans.begin(), out_.vlans.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

}  // namespace weft::config::nvue
