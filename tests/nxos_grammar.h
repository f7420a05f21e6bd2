// NX-OS commands as documented by Cisco, for checking rendered files without weft's own parser. Forms and ranges are
// those of the Cisco Nexus 9000 Series NX-OS guides, release 10.4(x): Fundamentals, System Management, Security,
// Quality of Service, Interfaces, Layer 2 Switching and Unicast Routing Configuration Guides, and the Nexus 9000
// command reference. Batfish's NX-OS grammar and public sample configurations agree with the forms.
#pragma once

#include <string>
#include <vector>

#include "cli_grammar.h"

namespace weft::testing_nxos {

using testing_grammar::Complaints;
using testing_grammar::Form;
using testing_grammar::Names;
using testing_grammar::Node;

// Fundamentals and System Management guides ("Configuring System Message Logging", "Configuring NTP"); Unicast Routing
// guide ("Configuring DNS", "Managing the Unicast RIB and FIB"); Interfaces guide ("Configuring Bidirectional
// Forwarding Detection"); Layer 2 guide ("Configuring Rapid PVST+"); Security guide ("Configuring IP ACLs").
inline std::vector<Form> global_forms() {
  return {
      {"", "hostname <hostname>"},
      {"", "feature <+feature>"},
      {"", "aaa authentication login default local"},
      {"", "ip domain-name <hostname>"},
      {"", "ip name-server <ip> use-vrf <~vrf>"},
      {"", "logging server <host> <0..7> use-vrf <~vrf>"},
      {"", "logging source-interface mgmt0"},
      {"", "logging source-interface <~svi>", "", "interface-vlan"},
      {"", "ntp server <ip> use-vrf <~vrf>"},
      {"", "ip load-sharing address source-destination port source-destination"},
      {"", "ip load-sharing address source-destination port source-destination universal-id <1..4294967295>"},
      {"", "bfd interval <50..999> min_rx <50..999> multiplier <1..50>", "", "bfd"},
      {"", "spanning-tree vlan <~vlan:vlans> priority <bridge-priority>"},
      {"", "hardware access-list tcam region ing-racl|ing-ifacl|egr-racl|ing-l2-qos <tcam-size>"},
      {"", "ip access-list <+acl>", "ip access-list"},
      {"ip access-list", "statistics per-entry"},
      {"ip access-list", "<1..4294967295> remark <text>"},
      {"ip access-list", "<1..4294967295> permit|deny ip <end> <end> [log]"},
      {"ip access-list", "<1..4294967295> permit|deny udp|tcp <end> <end> [log]"},
      {"ip access-list", "<1..4294967295> permit|deny udp|tcp <end> eq <1..65535> <end> [log]"},
      {"ip access-list", "<1..4294967295> permit|deny udp|tcp <end> <end> eq <1..65535> [log]"},
      {"ip access-list", "<1..4294967295> permit|deny udp|tcp <end> eq <1..65535> <end> eq <1..65535> [log]"},
      {"", "vlan <+vlan>", "vlan"},
      {"vlan", "name <name32>"},
      {"", "vrf context <+vrf>", "vrf context"},
      {"vrf context", "ip route <subnet> <~svi> <ip> [<1..255>]", "", "interface-vlan"},
      {"", "ip prefix-list <+prefix-list> seq <1..4294967294> permit|deny <subnet>"},
      {"", "ip prefix-list <+prefix-list> seq <1..4294967294> permit|deny <subnet> ge|le <1..32>"},
  };
}

// Quality of Service guide: "Configuring Classification", "Configuring Marking" (qos-group 0 to 7), "Configuring
// Network QoS" (MTU 576 to 9216, classes c-8q-nq1 to 7 and c-8q-nq-default), "Configuring Queuing and Scheduling"
// (classes c-out-8q-q1 to 7 and c-out-8q-q-default), "Configuring Priority Flow Control" (watchdog: interval 100 to
// 1000 ms, shutdown multiplier 1 to 10, restore multiplier 0 to 100).
inline std::vector<Form> qos_forms() {
  return {
      {"", "priority-flow-control watch-dog-interval on|off"},
      {"", "priority-flow-control watch-dog interval <100..1000>"},
      {"", "priority-flow-control watch-dog shutdown-multiplier <1..10>"},
      {"", "priority-flow-control auto-restore multiplier <0..100>"},
      {"", "class-map type qos match-all|match-any <+class-map>", "class-map"},
      {"class-map", "match dscp <0..63>"},
      {"class-map", "match cos <0..7>"},
      {"", "policy-map type qos <+qos-policy>", "policy-map qos"},
      {"policy-map qos", "class <=class-map>", "policy-map qos class"},
      {"policy-map qos class", "set qos-group <0..7>"},
      {"", "policy-map type network-qos <+network-qos-policy>", "policy-map network-qos"},
      {"policy-map network-qos", "class type network-qos <network-class>", "policy-map network-qos class"},
      {"policy-map network-qos class", "mtu <576..9216>"},
      {"policy-map network-qos class", "pause pfc-cos <0..7>"},
      {"", "policy-map type queuing <+queuing-policy>", "policy-map queuing"},
      {"policy-map queuing", "class type queuing <queuing-class>", "policy-map queuing class"},
      {"policy-map queuing class", "priority level 1"},
      {"policy-map queuing class", "bandwidth percent <0..100>"},
      {"policy-map queuing class", "bandwidth remaining percent <0..100>"},
      {"policy-map queuing class",
       "random-detect minimum-threshold <1..1000000> kbytes maximum-threshold <1..1000000> kbytes drop-probability "
       "<1..100> "
       "weight <0..15> ecn"},
      {"", "system qos", "system qos"},
      {"system qos", "service-policy type network-qos <=network-qos-policy>"},
      {"system qos", "service-policy type queuing output <=queuing-policy>"},
      {"ethernet|channel", "priority-flow-control mode auto|on|off"},
      {"ethernet", "priority-flow-control watch-dog-interval on|off"},
      {"ethernet|channel", "service-policy type qos input <=qos-policy>"},
      {"ethernet|channel", "service-policy type queuing output <=queuing-policy>"},
  };
}

// Interfaces guide: "Configuring Basic Interface Parameters" (MTU, speed, description), "Configuring Layer 2
// Interfaces", "Configuring Layer 3 Interfaces", "Configuring Port Channels", "Configuring vPCs" (domain 1 to 1000,
// vPC 1 to 4096, role priority 1 to 65535), breakout; Unicast Routing guide: "Configuring IPv4", "Configuring IPv6",
// "Configuring HSRP" (version 2: groups 0 to 4095); Layer 2 guide: "Configuring STP Extensions".
inline std::vector<Form> interface_forms() {
  return {
      {"", "interface breakout module 1 port <ports> map <breakout-map>"},
      {"", "interface <+ethernet>", "ethernet"},
      {"", "interface <+channel>", "channel", "lacp"},
      {"", "interface <+svi>", "svi", "interface-vlan"},
      {"", "interface <+loopback>", "loopback"},
      {"", "interface mgmt0", "mgmt"},
      {"ethernet|channel|svi|loopback|mgmt", "description <text>"},
      {"ethernet|channel|svi", "no shutdown"},
      {"ethernet|channel", "mtu <576..9216>"},
      {"svi", "mtu <68..9216>"},
      {"ethernet|channel", "speed 100|1000|10000|25000|40000|50000|100000|200000|400000|800000|auto"},
      {"ethernet|channel", "switchport"},
      {"ethernet|channel", "no switchport"},
      {"ethernet|channel", "switchport mode access|trunk"},
      {"ethernet|channel", "switchport access vlan <=vlan>"},
      {"ethernet|channel", "switchport trunk allowed vlan <=vlan:vlans>"},
      {"ethernet|channel", "spanning-tree port type edge|network|normal"},
      {"ethernet|channel", "spanning-tree bpduguard enable|disable"},
      {"ethernet", "channel-group <=channel:channel-number> mode active|passive", "", "lacp"},
      {"channel", "no lacp suspend-individual", "", "lacp"},
      {"channel", "vpc <+vpc:channel-number>", "", "vpc"},
      {"channel", "vpc peer-link", "", "vpc"},
      {"ethernet|channel|svi|loopback|mgmt", "vrf member <=vrf>"},
      {"ethernet|channel|svi", "no ip redirects"},
      {"ethernet|channel|svi", "no ipv6 redirects"},
      {"ethernet|channel|svi|loopback|mgmt", "ip address <net>"},
      {"ethernet|channel|svi|loopback", "ip address <net> secondary"},
      {"ethernet|channel|svi|loopback|mgmt", "ipv6 address <net6>"},
      {"ethernet|channel|svi", "ipv6 address use-link-local-only"},
      {"ethernet|channel|svi", "ipv6 link-local use-bia"},
      {"ethernet|channel|svi", "ip forward"},
      {"ethernet|channel|svi", "ip local-proxy-arp"},
      {"ethernet|channel|svi|mgmt", "ip access-group <=acl> in|out"},
      {"ethernet|channel", "ip port access-group <=acl> in"},
      {"svi", "hsrp version 1|2", "", "hsrp"},
      {"svi", "hsrp <0..4095>", "hsrp", "hsrp"},
      {"svi", "hsrp <0..4095> ipv6", "hsrp6", "hsrp"},
      {"hsrp|hsrp6", "preempt"},
      {"hsrp|hsrp6", "priority <0..255>"},
      {"hsrp", "ip <ip>"},
      {"hsrp6", "ip autoconfig"},
      {"hsrp6", "ip <ip6>"},
      {"", "vpc domain <1..1000>", "vpc domain", "vpc"},
      {"vpc domain", "peer-switch"},
      {"vpc domain", "peer-gateway"},
      {"vpc domain", "layer3 peer-router"},
      {"vpc domain", "auto-recovery"},
      {"vpc domain", "ip arp synchronize"},
      {"vpc domain", "role priority <1..65535>"},
      {"vpc domain", "delay restore <1..3600>"},
      {"vpc domain", "peer-keepalive destination <ip> source <ip> vrf <=vrf>"},
  };
}

// Unicast Routing guide: "Configuring Basic BGP", "Configuring Advanced BGP" (interface peering via IPv6 link-local,
// prefix peering, maximum-paths 1 to 64, ebgp-multihop 2 to 255).
inline std::vector<Form> bgp_forms() {
  return {
      {"", "router bgp <1..4294967295>", "bgp", "bgp"},
      {"bgp", "log-neighbor-changes"},
      {"bgp", "router-id <ip>"},
      {"bgp", "vrf <=vrf>", "bgp vrf"},
      {"bgp vrf", "router-id <ip>"},
      {"bgp vrf", "bestpath as-path multipath-relax"},
      {"bgp vrf", "address-family ipv4 unicast", "bgp ipv4"},
      {"bgp vrf", "address-family ipv6 unicast", "bgp ipv6"},
      {"bgp ipv4", "network <subnet>"},
      {"bgp ipv6", "network <subnet6>"},
      {"bgp ipv4|bgp ipv6", "maximum-paths <1..64>"},
      {"bgp vrf", "neighbor <=ethernet>", "neighbor"},
      {"bgp vrf", "neighbor <ip>", "neighbor"},
      {"bgp vrf", "neighbor <subnet>", "neighbor"},
      {"neighbor", "bfd", "", "bfd"},
      {"neighbor", "remote-as <1..4294967295>"},
      {"neighbor", "description <text>"},
      {"neighbor", "ebgp-multihop <2..255>"},
      {"neighbor", "address-family ipv4|ipv6 unicast", "neighbor family"},
      {"neighbor family", "prefix-list <=prefix-list> in|out"},
  };
}

namespace detail {

using testing_grammar::is_between;
using testing_grammar::is_name;
using testing_grammar::number_of;
using testing_grammar::ranges_of;
using testing_grammar::split;

inline std::optional<Names> one_of(const std::string& word, std::string_view choices) {
  const Names all = split(choices, ' ');
  return std::find(all.begin(), all.end(), word) == all.end() ? std::optional<Names>() : Names{word};
}

// A word with this prefix and a number within limits; denotes the number.
inline std::optional<Names> numbered(const std::string& word, std::string_view start, std::uint64_t low,
                                     std::uint64_t high) {
  if (word.rfind(start, 0) != 0 || !is_between(word.substr(start.size()), low, high)) return {};
  return Names{word.substr(start.size())};
}

inline std::optional<Names> read_number_list(const std::string& word, std::uint64_t low, std::uint64_t high) {
  const auto numbers = ranges_of(word);
  if (!numbers || numbers->front() < low || numbers->back() > high) return {};
  Names out;
  for (const std::uint64_t one : *numbers) out.push_back(std::to_string(one));
  return out;
}

// VLANs 3968 to 4095 are reserved by the switch (Layer 2 guide, "Configuring VLANs").
constexpr std::uint64_t kMaxVlan = 3967;

// Ethernet1/3, or Ethernet1/3/2 for a breakout port.
inline std::optional<Names> read_ethernet(const std::string& word) {
  const Names parts = split(word, '/');
  const bool valid = (parts.size() == 2 || parts.size() == 3) && parts[0] == "Ethernet1" &&
                     is_between(parts[1], 1, 64) && (parts.size() == 2 || is_between(parts[2], 1, 8));
  return valid ? std::optional<Names>(Names{word}) : std::nullopt;
}

inline std::optional<Names> read_tcam_size(const std::string& word) {
  const auto size = number_of(word);
  if (!size || (*size != 256 && *size % 512 != 0)) return {};
  return Names{word};
}

inline std::optional<Names> read_bridge_priority(const std::string& word) {
  return is_between(word, 0, 61440) && *number_of(word) % 4096 == 0 ? std::optional<Names>(Names{word}) : std::nullopt;
}

}  // namespace detail

inline testing_grammar::ValueTypes value_types() {
  using testing_grammar::read_name;
  testing_grammar::ValueTypes types = testing_grammar::address_types();
  const auto add = [&](const char* name, testing_grammar::ValueReader reader) { types.emplace(name, reader); };
  add("hostname", read_name<63>);
  add("host", read_name<255>);
  add("name32", read_name<32>);
  add("vrf", read_name<32>);
  add("acl", read_name<64>);
  add("prefix-list", read_name<63>);
  add("class-map", read_name<40>);
  add("qos-policy", read_name<40>);
  add("network-qos-policy", read_name<40>);
  add("queuing-policy", read_name<40>);
  add("feature", [](const std::string& word) {
    return detail::one_of(word, "bfd bgp hsrp interface-vlan lacp lldp ospf udld vpc vrrp");
  });
  add("network-class", [](const std::string& word) {
    return word == "c-8q-nq-default" ? Names{"0"} : detail::numbered(word, "c-8q-nq", 1, 7);
  });
  add("queuing-class", [](const std::string& word) {
    return word == "c-out-8q-q-default" ? Names{"0"} : detail::numbered(word, "c-out-8q-q", 1, 7);
  });
  add("vlan", [](const std::string& word) { return detail::numbered(word, "", 1, detail::kMaxVlan); });
  add("vlans", [](const std::string& word) { return detail::read_number_list(word, 1, detail::kMaxVlan); });
  add("ports", [](const std::string& word) { return detail::read_number_list(word, 1, 64); });
  add("svi", [](const std::string& word) { return detail::numbered(word, "Vlan", 1, detail::kMaxVlan); });
  add("loopback", [](const std::string& word) { return detail::numbered(word, "loopback", 0, 1023); });
  add("channel", [](const std::string& word) { return detail::numbered(word, "port-channel", 1, 4096); });
  add("channel-number", [](const std::string& word) { return detail::numbered(word, "", 1, 4096); });
  add("ethernet", detail::read_ethernet);
  add("tcam-size", detail::read_tcam_size);
  add("bridge-priority", detail::read_bridge_priority);
  add("breakout-map", [](const std::string& word) {
    return detail::one_of(word, "10g-4x 25g-4x 50g-2x 50g-4x 50g-8x 100g-2x 100g-4x 100g-8x 200g-2x 200g-4x 400g-2x");
  });
  // An endpoint of an access-list entry is two words for a host: see join_hosts().
  add("end", [](const std::string& word) -> std::optional<Names> {
    if (word == "any") return Names{word};
    if (word.rfind("host:", 0) == 0) return testing_grammar::read_address<false, false, false>(word.substr(5));
    return testing_grammar::read_address<false, true, true>(word);
  });
  return types;
}

// The whole table of forms.
[[nodiscard]] inline const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> out;
    for (const auto& part : {global_forms(), qos_forms(), interface_forms(), bgp_forms()})
      out.insert(out.end(), part.begin(), part.end());
    return out;
  }();
  return all;
}

// "host 10.0.0.1" as one word.
inline std::string join_hosts(std::string line) {
  for (std::size_t at = line.find(" host "); at != std::string::npos; at = line.find(" host ")) line[at + 5] = ':';
  return line;
}

// Parses a file into a tree and checks every line by itself: its form, the names it uses, the features it needs.
inline Node read_nxos_tree(const std::string& text, Complaints& out) {
  static const testing_grammar::Grammar kGrammar(forms(), value_types());
  Node root;
  testing_grammar::NameTable names;
  for (const char* vrf : {"default", "management"}) names.define("vrf", vrf);  // every switch has them
  names.define("vlan", "1");
  names.define("class-map", "class-default");
  std::vector<Node*> open{&root};
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line[indent] == '!') continue;
    Node node{line.substr(indent), {}, number};
    const std::size_t depth = indent / 2;
    if (indent % 2 != 0 || depth >= open.size() || (depth > 0 && open[depth]->section.empty())) {
      out.add(node, "wrong indentation");
      continue;
    }
    open.resize(depth + 1);
    const bool in_list = open.back()->section == "ip access-list";
    const auto match = kGrammar.match(open.back()->section, in_list ? join_hosts(node.text) : node.text);
    if (!match) {
      out.add(node, "is not a command of [" + open.back()->section + "]");
    } else {
      node.section = match->form->opens;
      const std::string feature(match->form->feature);
      if (!feature.empty() && !names.has("feature", feature)) out.add(node, "needs `feature " + feature + "`");
      for (const auto& mention : match->mentions) {
        const bool once = mention.kind != "vrf" && mention.kind != "prefix-list";
        names.mention(mention, node, once, out);
      }
    }
    open.back()->children.push_back(std::move(node));
    open.push_back(&open.back()->children.back());
  }
  names.finish(out);
  return root;
}

}  // namespace weft::testing_nxos
