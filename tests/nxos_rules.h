// NX-OS constraints across several lines, for checking rendered files: shares of a queuing policy, the order of lines
// of an interface, members of port channels, breakout ports, gateways, routes that BGP can announce. Sources as in
// nxos_grammar.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nxos_grammar.h"

namespace weft::testing_nxos {
namespace detail {

using testing_grammar::Prefix;
using testing_grammar::prefix_of;

inline std::uint64_t number_at(const std::string& text, std::size_t word) {
  const Names words = split(text, ' ');
  return word < words.size() ? number_of(words[word]).value_or(0) : 0;
}

inline std::string last_word(const std::string& text) { return text.substr(text.rfind(' ') + 1); }

inline bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

// "c-out-8q-q3" is group 3, "c-out-8q-q-default" group 0.
inline std::string group_of(const std::string& name) {
  return name.ends_with("-default") ? "0" : name.substr(name.size() - 1);
}

// Quality of Service guide, "Configuring Queuing and Scheduling": shares add up to at most 100; beside a strict queue
// they are of the remaining bandwidth.
inline void check_queuing(const Node& policy, Complaints& out) {
  std::uint64_t sum = 0;
  bool strict = false;
  bool absolute = false;
  std::set<std::string> seen;
  for (const Node& entry : policy.children) {
    if (!seen.insert(entry.text).second) out.add(entry, "the class stands twice in the policy");
    const bool priority = entry.has("priority level 1");
    if (priority && strict) out.add(entry, "a second class of priority level 1");
    strict = strict || priority;
    for (const Node& line : entry.children) {
      if (starts(line.text, "bandwidth ")) sum += number_of(last_word(line.text)).value_or(0);
      if (starts(line.text, "bandwidth ") && priority) out.add(line, "a strict class has no share");
      absolute = absolute || starts(line.text, "bandwidth percent ");
      if (starts(line.text, "random-detect ") && number_at(line.text, 2) > number_at(line.text, 5))
        out.add(line, "the minimum is above the maximum");
    }
  }
  if (sum > 100) out.add(policy, "shares add to " + std::to_string(sum) + " percent");
  if (strict && absolute) out.add(policy, "beside a strict class shares are of the remaining bandwidth");
}

// Every group that traffic is mapped to has its queue; unmatched traffic is not in a paused class.
inline void check_groups(const Node& root, Complaints& out) {
  std::set<std::string> paused;
  for (const Node* policy : root.all("policy-map type network-qos ")) {
    for (const Node& entry : policy->children) {
      if (!entry.value("pause pfc-cos").empty()) paused.insert(group_of(entry.text));
    }
  }
  for (const Node* policy : root.all("policy-map type qos ")) {
    for (const Node& entry : policy->children) {
      const std::string group = entry.value("set qos-group");
      if (entry.text == "class class-default" && paused.count(group) != 0)
        out.add(entry, "unmatched traffic is put into the lossless group " + group);
      for (const Node* queuing : root.all("policy-map type queuing ")) {
        const bool found = std::any_of(queuing->children.begin(), queuing->children.end(),
                                       [&](const Node& queue) { return group_of(queue.text) == group; });
        if (!group.empty() && !found) out.add(*queuing, "no class for qos-group " + group);
      }
    }
  }
}

inline bool is_routed_line(const std::string& text) {
  return starts(text, "ip address ") || starts(text, "ipv6 ") || starts(text, "vrf member ") || text == "ip forward" ||
         starts(text, "no ip ") || starts(text, "no ipv6 ") || starts(text, "ip access-group ");
}

// Lines are applied one by one: a port must be switched or routed before lines that need one of the two, and `vrf
// member` deletes existing addresses (Interfaces guide, "Configuring Layer 3 Interfaces"). A switched port has an MTU
// of 1500 or of the system's jumbo size ("Configuring Basic Interface Parameters").
inline void check_port(const Node& port, Complaints& out) {
  const bool panel = port.section == "ethernet" || port.section == "channel";
  enum class Layer { unknown, switched, routed } layer = panel ? Layer::unknown : Layer::routed;
  bool addressed = false;
  std::string mode;
  std::set<std::string> seen;
  for (const Node& line : port.children) {
    if (!seen.insert(line.text).second) out.add(line, "stands twice");
    if (line.text == "switchport") layer = Layer::switched;
    if (line.text == "no switchport") layer = Layer::routed;
    if (starts(line.text, "switchport mode ")) mode = last_word(line.text);
    const bool bridged = starts(line.text, "switchport ") || starts(line.text, "spanning-tree ") ||
                         starts(line.text, "ip port ") || starts(line.text, "vpc ");
    if (bridged && layer != Layer::switched) out.add(line, "on a port that is not switched");
    if (is_routed_line(line.text) && layer != Layer::routed) out.add(line, "on a port that is not routed");
    if (starts(line.text, "switchport access ") && mode != "access") out.add(line, "not in access mode");
    if (starts(line.text, "switchport trunk ") && mode != "trunk") out.add(line, "not in trunk mode");
    const std::uint64_t mtu = starts(line.text, "mtu ") ? number_at(line.text, 1) : 1500;
    if (layer == Layer::switched && mtu != 1500 && mtu != 9216) out.add(line, "not an MTU of a switched port");
    if (starts(line.text, "vrf member ") && addressed) out.add(line, "deletes the addresses before it");
    addressed = addressed || starts(line.text, "ip address ") || starts(line.text, "ipv6 address ");
  }
}

// Interfaces guide, "Configuring Port Channels" (compatibility requirements) and "Configuring vPCs".
inline void check_channels(const Node& root, Complaints& out) {
  std::map<std::string, const Node*> channels;
  std::set<std::string> used;
  std::size_t peer_links = 0;
  for (const Node* one : root.all("interface port-channel")) {
    channels.emplace(one->text.substr(std::string("interface port-channel").size()), one);
    peer_links += one->has("vpc peer-link") ? 1U : 0U;
    if (one->value("vpc").empty()) out.add(*one, "a bundle without a vPC number");
  }
  for (const Node* port : root.all("interface Ethernet")) {
    const std::string group = split(port->value("channel-group"), ' ').front();
    const auto found = channels.find(group);
    if (found == channels.end()) continue;
    used.insert(group);
    for (const char* same : {"switchport mode", "switchport access vlan", "switchport trunk allowed vlan", "speed"}) {
      if (port->value(same) != found->second->value(same)) out.add(*port, std::string(same) + " is not the bundle's");
    }
  }
  for (const auto& [number, one] : channels) {
    if (used.count(number) == 0) out.add(*one, "a bundle without members");
  }
  const auto domains = root.all("vpc domain ");
  if (domains.size() > 1) out.add(*domains.back(), "a second vPC domain");
  for (const Node* domain : domains) {
    if (peer_links != 1) out.add(*domain, "has " + std::to_string(peer_links) + " peer-links");
    if (domain->value("peer-keepalive").empty()) out.add(*domain, "has no peer-keepalive");
  }
  if (domains.empty() && !channels.empty()) out.add(*channels.begin()->second, "a vPC without a domain");
}

// Breakout ports exist after `interface breakout`, and then the whole port does not.
inline void check_breakouts(const Node& root, Complaints& out) {
  std::map<std::uint64_t, std::string> split_ports;  // port: map
  for (const Node& line : root.children) {
    const Names words = split(line.text, ' ');
    if (starts(line.text, "interface breakout ")) {
      for (const std::uint64_t port : ranges_of(words[5]).value_or(std::vector<std::uint64_t>{})) {
        if (!split_ports.emplace(port, words[7]).second) out.add(line, "splits a port twice");
      }
    }
    if (line.section != "ethernet") continue;
    const Names parts = split(words[1], '/');
    const auto found = split_ports.find(number_of(parts[1]).value_or(0));
    if ((parts.size() == 3) != (found != split_ports.end())) {
      out.add(line, "is not as `interface breakout` splits the port");
    } else if (parts.size() == 3) {
      const Names map = split(found->second, '-');  // 400g-2x
      const auto count = number_of(map[1].substr(0, map[1].size() - 1)).value_or(0);
      if (number_of(parts[2]).value_or(9) > count) out.add(line, "there are only " + std::to_string(count) + " parts");
      if (line.value("speed") != map[0].substr(0, map[0].size() - 1) + "000")
        out.add(line, "not the speed of its part");
    }
  }
}

// Unicast Routing guide, "Configuring HSRP": the virtual address is in a subnet of the interface and differs from its
// own addresses; groups above 255 and IPv6 need version 2.
inline void check_hsrp(const Node& svi, Complaints& out) {
  for (const Node& group : svi.children) {
    if (group.section != "hsrp" && group.section != "hsrp6") continue;
    if ((group.section == "hsrp6" || number_at(group.text, 1) > 255) && !svi.has("hsrp version 2"))
      out.add(group, "needs `hsrp version 2`");
    bool shared = false;
    for (const Node* line : group.all("ip ")) {
      const auto address = prefix_of(last_word(line->text));
      if (!address) continue;  // autoconfig
      shared = true;
      bool inside = false;
      for (const Node& own : svi.children) {
        const auto net = prefix_of(split(own.text + "  ", ' ')[2]);
        if (!net || own.text.find(" address ") == std::string::npos) continue;
        inside = inside || net->network().contains(*address);
        if (net->bytes == address->bytes) out.add(*line, "is the switch's own address");
      }
      if (!inside) out.add(*line, "is of no subnet of the interface");
    }
    if (!shared) out.add(group, "has no address");
  }
}

// Addresses of interfaces and static routes, by VRF.
struct Routes {
  std::map<std::string, std::set<Prefix>> addresses;
  std::map<std::string, std::set<Prefix>> statics;
};

inline Routes read_routes(const Node& root, Complaints& out) {
  Routes routes;
  for (const Node& one : root.children) {
    if (starts(one.text, "vrf context ")) {
      for (const Node* route : one.all("ip route ")) {
        if (const auto to = prefix_of(split(route->text, ' ')[2])) routes.statics[last_word(one.text)].insert(*to);
      }
    }
    if (!starts(one.text, "interface ") || one.section.empty()) continue;
    const std::string vrf = one.value("vrf member");
    for (const Node& line : one.children) {
      if (!starts(line.text, "ip address ") && !starts(line.text, "ipv6 address ")) continue;
      const auto net = prefix_of(split(line.text, ' ')[2]);
      if (!net) continue;
      if (!routes.addresses[vrf].insert(*net).second) out.add(line, "the address of another interface");
      if (!net->ipv6 && net->length < 31 && net->network() == *net) out.add(line, "the address of the subnet itself");
    }
  }
  return routes;
}

// Unicast Routing guide, "Configuring Basic BGP": `network` announces a route that the VRF has; a neighbor has an AS
// number and at least one address family.
inline void check_bgp_vrf(const Node& vrf, const Routes& routes, const Node& root, Complaints& out) {
  const std::string name = last_word(vrf.text);
  const auto own = routes.addresses.find(name);
  const std::set<Prefix> none;
  const std::set<Prefix>& addresses = own == routes.addresses.end() ? none : own->second;
  const auto fixed = routes.statics.find(name);
  for (const Node* family : vrf.all("address-family ")) {
    for (const Node* line : family->all("network ")) {
      const auto net = prefix_of(last_word(line->text));
      bool found = net && fixed != routes.statics.end() && fixed->second.count(*net) != 0;
      for (const Prefix& address : addresses) {
        const bool local = net && net->bytes == address.bytes && net->length == 8 * net->bytes.size();
        found = found || (net && address.network() == *net) || local;
      }
      if (!found) out.add(*line, "there is no such route in the VRF");
    }
  }
  std::set<std::string> seen;
  for (const Node* neighbor : vrf.all("neighbor ")) {
    const std::string peer = last_word(neighbor->text);
    if (!seen.insert(peer).second) out.add(*neighbor, "stands twice");
    if (neighbor->value("remote-as").empty()) out.add(*neighbor, "has no remote-as");
    if (neighbor->all("address-family ").empty()) out.add(*neighbor, "has no address family");
    for (const Node* port : root.all("interface " + peer)) {
      if (port->text != "interface " + peer) continue;
      if (!port->has("ipv6 address use-link-local-only")) out.add(*neighbor, "its interface has no link-local address");
      if (port->value("vrf member") != name) out.add(*neighbor, "its interface is of another VRF");
    }
    const auto address = prefix_of(peer);
    const bool near = address && std::any_of(addresses.begin(), addresses.end(), [&](const Prefix& one) {
                        return one.network().contains(*address) && one.bytes != address->bytes;
                      });
    if (address && !near) out.add(*neighbor, "is in no subnet of the VRF");
  }
  const auto id = prefix_of(vrf.value("router-id"));
  if (id && addresses.count(*id) == 0) out.add(vrf, "its router-id is no address of the VRF");
}

inline void check_access_list(const Node& list, Complaints& out) {
  std::uint64_t last = 0;
  for (const Node& line : list.children) {
    if (line.text == "statistics per-entry") continue;
    const std::uint64_t number = number_at(line.text, 0);
    if (number <= last) out.add(line, "not in order");
    last = number;
  }
}

}  // namespace detail

// All problems of a file.
[[nodiscard]] inline Complaints judge_nxos(const std::string& text) {
  Complaints out;
  const Node root = read_nxos_tree(text, out);
  for (const Node* policy : root.all("policy-map type queuing ")) detail::check_queuing(*policy, out);
  detail::check_groups(root, out);
  for (const Node* list : root.all("ip access-list ")) detail::check_access_list(*list, out);
  for (const Node* port : root.all("interface ")) {
    if (port->section.empty()) continue;  // a command, not a section
    detail::check_port(*port, out);
    if (port->section != "svi") continue;
    const std::string vlan = port->text.substr(std::string("interface Vlan").size());
    const auto vlans = root.all("vlan ");
    if (std::none_of(vlans.begin(), vlans.end(), [&](const Node* one) { return one->text == "vlan " + vlan; }))
      out.add(*port, "vlan " + vlan + " is not defined");
    detail::check_hsrp(*port, out);
  }
  detail::check_channels(root, out);
  detail::check_breakouts(root, out);
  const detail::Routes routes = detail::read_routes(root, out);
  for (const Node* bgp : root.all("router bgp ")) {
    for (const Node* vrf : bgp->all("vrf ")) detail::check_bgp_vrf(*vrf, routes, root, out);
  }
  return out;
}

}  // namespace weft::testing_nxos
