// NVUE commands as documented by NVIDIA, for checking rendered files without weft's own parser: the paths of the object
// model, and their allowed values. From the Cumulus Linux 5 User Guide, "NVUE Commands" and "NVUE Command Reference";
// where releases differ, the words are those of 5.6 to 5.14 (`on`/`off`, `service ntp`). Each file becomes the object
// tree that `nv config apply` would apply, and the tree is checked as a whole.
#pragma once

#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli_grammar.h"

namespace weft::testing_nvue {

using testing_grammar::Complaints;
using testing_grammar::Form;
using testing_grammar::Names;
using testing_grammar::Node;

// `kOne`: the path has one value; others have a list.
inline constexpr std::string_view kOne = "one";

inline std::vector<Form> interface_forms() {
  return {
      {"", "interface <swp> link breakout 1x|2x|4x|8x lanes-per-port 1|2|4|8", kOne},
      {"", "interface <swp> link speed auto|10M|100M|1G|10G|25G|40G|50G|100G|200G|400G|800G", kOne},
      {"", "interface <swp> link auto-negotiate on|off", kOne},
      {"", "interface <swp> link fec auto|baser|off|rs|driver-auto", kOne},
      {"", "interface <any-port> link mtu <552..9216>", kOne},
      {"", "interface <any-port> link state up|down", kOne},
      {"", "interface <any-port> description <value>", kOne},
      {"", "interface <bundle> bond member <swp>"},
      {"", "interface <bonds> bond mlag id <1..65535>", kOne},
      {"", "interface <bonds> bond lacp-bypass on|off", kOne},
      {"", "interface <bonds> bond lacp-rate fast|slow", kOne},
      {"", "interface <bridge-port> bridge domain <~bridge> access <~vlan>", kOne},
      {"", "interface <bridge-port> bridge domain <~bridge> untagged <~vlan>", kOne},
      {"", "interface <bridge-port> bridge domain <~bridge> vlan <~vlan:vlans>"},
      {"", "interface <bridge-port> bridge domain <~bridge> stp admin-edge on|off", kOne},
      {"", "interface <bridge-port> bridge domain <~bridge> stp bpdu-guard on|off", kOne},
      {"", "interface <swp> router adaptive-routing enable on|off", kOne},
      {"", "interface <any-port> ip vrf <~vrf>", kOne},
      {"", "interface <any-port> ip address <net>"},
      {"", "interface <any-port> ip address <net6>"},
      {"", "interface eth0 ip gateway <ip>", kOne},
      {"", "interface <~vlan:svi> ip vrr enable on|off", kOne},
      {"", "interface <~vlan:svi> ip vrr state up|down", kOne},
      {"", "interface <~vlan:svi> ip vrr mac-address <vrr-mac>", kOne},
      {"", "interface <~vlan:svi> ip vrr address <net>"},
      {"", "interface <~vlan:svi> ip vrr address <net6>"},
      {"", "interface <any-port> acl <~acl> inbound|outbound"},
      {"", "interface <swp> qos congestion-control profile <~congestion-profile>", kOne},
      {"", "interface <swp> qos pfc-watchdog state enable|disable", kOne},
      {"", "bridge domain <+bridge> vlan <+vlan:vlans>"},
      {"", "bridge domain <+bridge> stp priority <bridge-priority>", kOne},
      {"", "mlag mac-address <mlag-mac>", kOne},
      {"", "mlag backup <ip> vrf <~vrf>", kOne},
      {"", "mlag peer-ip linklocal", kOne},
      {"", "mlag peer-ip <ip>", kOne},
      {"", "mlag priority <0..65535>", kOne},
      {"", "mlag init-delay <1..900>", kOne},
  };
}

inline std::vector<Form> routing_forms() {
  return {
      {"", "vrf <+vrf>"},
      {"", "vrf <+vrf> loopback ip address <net>"},
      {"", "vrf <+vrf> router static <subnet> via <ip>"},
      {"", "vrf <+vrf> router static <subnet> via <~vlan:svi>"},
      {"", "router adaptive-routing enable on|off", kOne},
      {"", "router bgp enable on|off", kOne},
      {"", "router bgp autonomous-system <1..4294967295>", kOne},
      {"", "router bgp router-id <ip>", kOne},
      {"", "vrf <+vrf> router bgp autonomous-system <1..4294967295>", kOne},
      {"", "vrf <+vrf> router bgp router-id <ip>", kOne},
      {"", "vrf <+vrf> router bgp path-selection multipath aspath-ignore on|off", kOne},
      {"", "vrf <+vrf> router bgp address-family ipv4-unicast|ipv6-unicast enable on|off", kOne},
      {"", "vrf <+vrf> router bgp address-family ipv4-unicast|ipv6-unicast redistribute connected|static enable on|off",
       kOne},
      {"", "vrf <+vrf> router bgp address-family ipv4-unicast|ipv6-unicast multipaths ebgp|ibgp <1..128>", kOne},
      {"", "vrf <+vrf> router bgp peer-group <+peer-group> bfd enable on|off", kOne},
      {"", "vrf <+vrf> router bgp peer-group <+peer-group> remote-as <1..4294967295>", kOne},
      {"", "vrf <+vrf> router bgp peer-group <+peer-group> remote-as internal|external", kOne},
      {"", "vrf <+vrf> router bgp peer-group <+peer-group> passive-mode on|off", kOne},
      {"", "vrf <+vrf> router bgp peer-group <+peer-group> address-family ipv4-unicast|ipv6-unicast enable on|off",
       kOne},
      {"",
       "vrf <+vrf> router bgp peer-group <+peer-group> address-family ipv4-unicast|ipv6-unicast policy "
       "inbound|outbound "
       "prefix-list <~prefix-list>",
       kOne},
      {"", "vrf <+vrf> router bgp neighbor <peer> type numbered|unnumbered", kOne},
      {"", "vrf <+vrf> router bgp neighbor <peer> peer-group <~peer-group>", kOne},
      {"", "vrf <+vrf> router bgp neighbor <peer> remote-as <1..4294967295>", kOne},
      {"", "vrf <+vrf> router bgp neighbor <peer> remote-as internal|external", kOne},
      {"", "vrf <+vrf> router bgp neighbor <peer> description <value>", kOne},
      {"", "vrf <+vrf> router bgp dynamic-neighbor listen-range <subnet> peer-group <~peer-group>", kOne},
      {"", "router policy prefix-list <+prefix-list> rule <1..65535> action permit|deny", kOne},
      {"", "router policy prefix-list <+prefix-list> rule <1..65535> match <subnet> min-prefix-len <0..32>", kOne},
      {"", "router policy prefix-list <+prefix-list> rule <1..65535> match <subnet> max-prefix-len <0..32>", kOne},
  };
}

inline std::vector<Form> system_forms() {
  return {
      {"", "system hostname <hostname>", kOne},
      {"", "system forwarding hash-seed <0..4294967295>", kOne},
      {"", "service syslog <~vrf> server <host> port <1..32767>", kOne},
      {"", "service ntp <~vrf> server <host>"},
      {"", "service dns <~vrf> server <ip>"},
      {"", "acl <+acl> type ipv4|ipv6|mac", kOne},
      {"", "acl <acl> rule <1..65535> match ip source-ip|dest-ip <acl-address>", kOne},
      {"", "acl <acl> rule <1..65535> match ip protocol tcp|udp|ospf|pim|icmp|icmpv6|igmp", kOne},
      {"", "acl <acl> rule <1..65535> match ip tcp|udp source-port|dest-port <1..65535>"},
      {"", "acl <acl> rule <1..65535> action permit|deny", kOne},
      {"", "qos mapping <qos-global> trust l2|l3|port|both", kOne},
      {"", "qos mapping <qos-global> dscp <0..63> switch-priority <0..7>", kOne},
      {"", "qos mapping <qos-global> pcp <0..7> switch-priority <0..7>", kOne},
      {"", "qos egress-queue-mapping <qos-global> switch-priority <0..7> traffic-class <0..7>", kOne},
      {"", "qos egress-scheduler <qos-global> traffic-class <classes> mode dwrr|strict", kOne},
      {"", "qos egress-scheduler <qos-global> traffic-class <classes> bw-percent <1..100>", kOne},
      {"", "qos congestion-control <+congestion-profile> traffic-class <classes> ecn|red enable|disable", kOne},
      {"", "qos congestion-control <+congestion-profile> traffic-class <classes> min-threshold|max-threshold <bytes>",
       kOne},
      {"", "qos congestion-control <+congestion-profile> traffic-class <classes> probability <1..100>", kOne},
      {"", "qos pfc <qos-global> switch-priority <0..7>"},
      {"", "qos pfc <qos-global> tx|rx enable|disable", kOne},
      {"", "qos pfc <qos-global> cable-length <1..100000>", kOne},
      {"", "qos pfc-watchdog polling-interval <100..5000>", kOne},
      {"", "qos pfc-watchdog robustness <1..1000>", kOne},
  };
}

[[nodiscard]] inline const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> out;
    for (const auto& part : {interface_forms(), routing_forms(), system_forms()})
      out.insert(out.end(), part.begin(), part.end());
    return out;
  }();
  return all;
}

namespace detail {

using testing_grammar::is_between;
using testing_grammar::is_name;
using testing_grammar::number_of;
using testing_grammar::ranges_of;
using testing_grammar::split;

inline bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

// "7" or "3-5" within limits.
inline std::vector<std::uint64_t> span_of(const std::string& text, std::uint64_t low, std::uint64_t high) {
  const auto numbers = ranges_of(text);
  const bool valid =
      text.find(',') == std::string::npos && numbers && numbers->front() >= low && numbers->back() <= high;
  return valid ? *numbers : std::vector<std::uint64_t>{};
}

// swp7, swp1-4, swp1s0-3, swp1-4s0-1 and lists of them; no port twice.
inline std::optional<Names> read_swp(const std::string& word) {
  Names out;
  for (const std::string& part : split(word, ',')) {
    if (!starts(part, "swp")) return {};
    const Names halves = split(part.substr(3), 's');
    const auto cages = span_of(halves.front(), 1, 130);
    const auto pieces = halves.size() == 2 ? span_of(halves.back(), 0, 7) : std::vector<std::uint64_t>{};
    if (cages.empty() || halves.size() > 2 || (halves.size() == 2 && pieces.empty())) return {};
    for (const std::uint64_t cage : cages) {
      if (halves.size() == 1) out.push_back("swp" + std::to_string(cage));
      for (const std::uint64_t piece : pieces)
        out.push_back("swp" + std::to_string(cage) + "s" + std::to_string(piece));
    }
  }
  Names sorted = out;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? std::optional<Names>(out) : std::nullopt;
}

inline std::optional<Names> read_bonds(const std::string& word) {
  for (const std::string& part : split(word, ',')) {
    if (!starts(part, "bond") || !is_between(part.substr(4), 1, 4096)) return {};
  }
  return split(word, ',');
}

// vlan600 denotes VLAN 600.
inline std::optional<Names> read_svi(const std::string& word) {
  if (!starts(word, "vlan") || !is_between(word.substr(4), 1, 4094)) return {};
  return Names{word.substr(4)};
}

inline std::optional<Names> read_numbers(const std::string& word, std::uint64_t low, std::uint64_t high) {
  const auto numbers = ranges_of(word);
  if (!numbers || numbers->front() < low || numbers->back() > high) return {};
  Names out;
  for (const std::uint64_t one : *numbers) out.push_back(std::to_string(one));
  return out;
}

inline std::optional<Names> read_mac(const std::string& word, std::string_view start) {
  const Names bytes = split(word, ':');
  const auto is_byte = [](const std::string& byte) {
    return byte.size() == 2 && byte.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  };
  if (bytes.size() != 6 || !std::all_of(bytes.begin(), bytes.end(), is_byte) || !starts(word, start)) return {};
  return Names{word};
}

inline std::optional<Names> if_valid(bool valid, const std::string& word) {
  return valid ? std::optional<Names>(Names{word}) : std::nullopt;
}

inline std::optional<Names> read_any_port(const std::string& word) {
  if (word == "eth0" || word == "lo" || word == "peerlink") return Names{word};
  if (read_svi(word)) return Names{word};
  const auto bonds = read_bonds(word);
  return bonds ? bonds : read_swp(word);
}

}  // namespace detail

inline testing_grammar::ValueTypes value_types() {
  using testing_grammar::read_name;
  testing_grammar::ValueTypes types = testing_grammar::address_types();
  const auto add = [&](const char* name, testing_grammar::ValueReader reader) { types.emplace(name, reader); };
  add("hostname", read_name<63>);
  add("host", read_name<255>);
  add("vrf", read_name<15>);  // a kernel device: IFNAMSIZ without the terminating zero
  for (const char* name : {"acl", "peer-group", "prefix-list", "congestion-profile"}) add(name, read_name<63>);
  add("bridge", [](const std::string& word) { return detail::if_valid(word == "br_default", word); });
  add("qos-global", [](const std::string& word) { return detail::if_valid(word == "default-global", word); });
  add("vlan", [](const std::string& word) { return detail::if_valid(detail::is_between(word, 1, 4094), word); });
  add("vlans", [](const std::string& word) { return detail::read_numbers(word, 1, 4094); });
  add("classes", [](const std::string& word) { return detail::read_numbers(word, 0, 7); });
  add("bytes", [](const std::string& word) { return detail::if_valid(detail::is_between(word, 1, 4294967295), word); });
  add("swp", detail::read_swp);
  add("bonds", detail::read_bonds);
  add("svi", detail::read_svi);
  add("any-port", detail::read_any_port);
  add("bundle", [](const std::string& word) {
    return word == "peerlink" ? std::optional<Names>(Names{word}) : detail::read_bonds(word);
  });
  add("bridge-port", [](const std::string& word) {
    return detail::starts(word, "vlan") || word == "eth0" ? std::nullopt : detail::read_any_port(word);
  });
  // A neighbor is one address or one interface.
  add("peer", [](const std::string& word) {
    const auto ports = detail::read_swp(word);
    const bool port = ports && ports->size() == 1 && ports->front() == word;
    return port ? ports : testing_grammar::read_address<false, false, false>(word);
  });
  add("bridge-priority", [](const std::string& word) {
    return detail::if_valid(detail::is_between(word, 4096, 61440) && *detail::number_of(word) % 4096 == 0, word);
  });
  // Ranges reserved for MLAG and for VRR ("Multi-Chassis Link Aggregation", "Virtual Router Redundancy").
  add("mlag-mac", [](const std::string& word) { return detail::read_mac(word, "44:38:39:ff:"); });
  add("vrr-mac", [](const std::string& word) { return detail::read_mac(word, "00:00:5e:00:01:"); });
  add("acl-address", [](const std::string& word) {
    return word == "ANY" ? std::optional<Names>(Names{word}) : testing_grammar::read_address<false, true, true>(word);
  });
  add("value", [](const std::string& word) { return detail::if_valid(!word.empty() && word.size() <= 255, word); });
  return types;
}

// Objects by path, as on a device; values are the last keys.
struct Tree {
  std::map<std::string, Tree> below{};
  std::shared_ptr<const Node> command{};  // that created it

  [[nodiscard]] const Node& line() const { return *command; }

  [[nodiscard]] const Tree* find(const std::string& path) const {
    const Tree* at = this;
    for (const std::string& key : testing_grammar::split(path, ' ')) {
      const auto found = at->below.find(key);
      if (found == at->below.end()) return nullptr;
      at = &found->second;
    }
    return at;
  }
  // Keys below a path; none if it is not there.
  [[nodiscard]] Names keys(const std::string& path) const {
    Names out;
    const Tree* at = find(path);
    if (at == nullptr) return out;
    for (const auto& [key, tree] : at->below) out.push_back(key);
    return out;
  }
  // The one value of a path; "" if it has none.
  [[nodiscard]] std::string value(const std::string& path) const {
    const Names all = keys(path);
    return all.empty() ? std::string() : all.front();
  }
};

// Words of a line as split by a shell; none if the shell would do more than pass them on.
inline std::optional<Names> shell_words(const std::string& line) {
  Names out{""};
  bool quoted = false;
  bool escaped = false;
  for (const char c : line) {
    if (escaped) {
      out.back() += c;
      escaped = false;
    } else if (c == '\\' && !quoted) {
      escaped = true;
    } else if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      out.emplace_back();
    } else if (quoted || std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-_.,:/").find(c) != std::string_view::npos) {
      out.back() += c;
    } else {
      return std::nullopt;
    }
  }
  if (quoted || escaped) return std::nullopt;
  return out;
}

namespace detail {

// Adds every path that a command with lists expands to.
inline void grow(Tree& tree, const std::vector<Names>& words, std::size_t at, const testing_grammar::Match& match,
                 const std::shared_ptr<const Node>& command, Complaints& out) {
  const bool last = at + 1 == words.size();
  for (const std::string& key : words[at]) {
    if (last && match.form->opens == kOne && !tree.below.empty() && tree.below.count(key) == 0)
      out.add(*command, "has another value already: " + tree.below.begin()->first);
    Tree& next = tree.below[key];
    next.command = command;
    if (!last) grow(next, words, at + 1, match, command, out);
  }
}

}  // namespace detail

// Parses a file into its tree and checks every command by itself: its path, its values, the names it uses.
inline Tree read_nvue_tree(const std::string& text, Complaints& out) {
  static const testing_grammar::Grammar kGrammar(forms(), value_types());
  Tree root;
  testing_grammar::NameTable names;
  for (const char* vrf : {"default", "mgmt"}) names.define("vrf", vrf);  // every switch has them
  names.define("bridge", "br_default");
  names.define("congestion-profile", "default-global");
  std::istringstream lines(text);
  Node at;
  while (std::getline(lines, at.text)) {
    ++at.number;
    if (at.text.empty() || at.text.front() == '#') continue;
    auto words = shell_words(at.text);
    if (!words || words->size() < 3 || (*words)[0] != "nv" || (*words)[1] != "set") {
      out.add(at, "is not an `nv set` command");
      continue;
    }
    words->erase(words->begin(), words->begin() + 2);
    const auto match = kGrammar.match_words("", *words);
    if (!match) {
      out.add(at, "is not a path of the object model, or not a value of it");
      continue;
    }
    for (const auto& mention : match->mentions) names.mention(mention, at, false, out);
    std::vector<Names> keys = match->words;
    if (keys.size() > 1 && (*words)[0] == "interface" && (*words)[1].rfind("vlan", 0) == 0) keys[1] = {(*words)[1]};
    detail::grow(root, keys, 0, *match, std::make_shared<const Node>(at), out);
  }
  names.finish(out);
  return root;
}

}  // namespace weft::testing_nvue
