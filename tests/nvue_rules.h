// NVUE's constraints across several objects, for checking rendered files: ports that exist, members of bonds, complete
// QoS maps, access-list rules, neighbors, gateways of pairs. Sources as in nvue_grammar.h: Cumulus Linux 5 User Guide,
// "Switch Port Attributes", "Bonding", "Multi-Chassis Link Aggregation", "Quality of Service", "Access Control Lists",
// "Border Gateway Protocol", "Virtual Router Redundancy".
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nvue_grammar.h"

namespace weft::testing_nvue {
namespace detail {

using testing_grammar::Prefix;
using testing_grammar::prefix_of;

inline bool is_swp(const std::string& name) { return starts(name, "swp"); }
inline bool is_bundle(const std::string& name) { return starts(name, "bond") || name == "peerlink"; }

// Breakout ports exist if the port is split, and then the port itself has no other settings.
inline void check_split(const std::string& name, const Tree& port, const Tree& root, Complaints& out) {
  const std::size_t at = name.find('s', 3);
  const Names modes = root.keys("interface " + name.substr(0, at) + " link breakout");
  if (modes.size() > 1) out.add(port.line(), "the port is split in two ways");
  const std::uint64_t count = modes.empty() ? 1 : number_of(modes.front().substr(0, 1)).value_or(1);
  if (at == std::string::npos) {
    const bool other = port.below.size() > 1 || port.below.count("link") == 0 || port.below.at("link").below.size() > 1;
    if (count > 1 && other) out.add(port.line(), name + " is split: its parts have the settings");
    const std::string lanes = modes.empty() ? "1" : port.value("link breakout " + modes.front() + " lanes-per-port");
    if (count * number_of(lanes).value_or(9) > 8) out.add(port.line(), "a port has eight lanes");
  } else if (number_of(name.substr(at + 1)).value_or(9) >= count || count == 1) {
    out.add(port.line(), name + " is not a part of a split port");
  }
}

inline void check_ports(const Tree& root, Complaints& out) {
  std::map<std::string, std::string> bond_of;
  const Tree* all = root.find("interface");
  if (all == nullptr) return;
  for (const auto& [name, port] : all->below) {
    if (is_swp(name)) check_split(name, port, root, out);
    if (is_bundle(name) && port.find("bond member") == nullptr) out.add(port.line(), name + " has no members");
    if (starts(name, "vlan") && root.find("bridge domain br_default vlan " + name.substr(4)) == nullptr)
      out.add(port.line(), "vlan " + name.substr(4) + " is not defined");
    for (const std::string& member : port.keys("bond member")) {
      if (!bond_of.emplace(member, name).second) out.add(port.line(), member + " is a member of two bonds");
    }
    if (port.find("bridge") != nullptr && port.find("ip") != nullptr)
      out.add(port.line(), name + " is a port of the bridge and has an address");
    for (const std::string& domain : port.keys("bridge domain")) {
      const Tree& in = *port.find("bridge domain " + domain);
      if (in.below.count("access") + in.below.count("vlan") != 1)
        out.add(port.line(), name + " has either one VLAN or several");
    }
  }
  for (const auto& [member, bond] : bond_of) {
    const Tree* port = root.find("interface " + member);
    if (port == nullptr) continue;
    for (const char* key : {"bridge", "ip", "acl"}) {
      if (port->below.count(key) != 0) out.add(port->line(), member + " is a member of " + bond);
    }
  }
}

inline void check_mlag(const Tree& root, Complaints& out) {
  const Tree* mlag = root.find("mlag");
  std::set<std::string> ids;
  for (const std::string& name : root.keys("interface")) {
    const std::string id = root.value("interface " + name + " bond mlag id");
    if (id.empty()) continue;
    const Tree& port = *root.find("interface " + name);
    if (!ids.insert(id).second) out.add(port.line(), "mlag id " + id + " is of two bonds");
    if (mlag == nullptr) out.add(port.line(), "there is no mlag");
  }
  if (mlag == nullptr) return;
  for (const char* key : {"mac-address", "backup", "peer-ip"}) {
    if (mlag->below.count(key) == 0) out.add(mlag->line(), std::string("mlag has no ") + key);
  }
  if (root.find("interface peerlink") == nullptr) out.add(mlag->line(), "mlag has no peerlink");
}

inline void check_scheduler(const Tree& qos, Complaints& out) {
  std::uint64_t sum = 0;
  const std::string path = "egress-scheduler default-global traffic-class";
  for (const std::string& number : qos.keys(path)) {
    const Tree& entry = *qos.find(path + " " + number);
    const std::string percent = entry.value("bw-percent");
    sum += number_of(percent.empty() ? "0" : percent).value_or(0);
    if (entry.value("mode") == "dwrr" && percent.empty()) out.add(entry.line(), "a dwrr class has a share");
    if (entry.value("mode") != "dwrr" && !percent.empty()) out.add(entry.line(), "only a dwrr class has a share");
  }
  const Tree* scheduler = qos.find(path);
  if (scheduler == nullptr) return;
  if (scheduler->below.size() != 8) out.add(scheduler->line(), "not every traffic class has a mode");
  if (sum > 100) out.add(scheduler->line(), "shares add to " + std::to_string(sum) + " percent");
}

inline void check_marking(const Tree& qos, Complaints& out) {
  for (const std::string& profile : qos.keys("congestion-control")) {
    const std::string path = "congestion-control " + profile + " traffic-class";
    for (const std::string& number : qos.keys(path)) {
      const Tree& entry = *qos.find(path + " " + number);
      if (entry.value("ecn") != "enable") continue;
      const auto low = number_of(entry.value("min-threshold"));
      const auto high = number_of(entry.value("max-threshold"));
      if (!low || !high || entry.value("probability").empty()) {
        out.add(entry.line(), "marking has two thresholds and a probability");
      } else if (*low > *high) {
        out.add(entry.line(), "the minimum is above the maximum");
      }
    }
  }
}

// Every DSCP has a priority, every priority a queue; the lossless class is mapped explicitly, and is not the one that
// most DSCPs map to.
inline void check_mapping(const Tree& qos, Complaints& out) {
  const Tree* mapping = qos.find("mapping default-global");
  if (mapping == nullptr) return;
  const bool by_dscp = mapping->value("trust") == "l3";
  const std::string codes = by_dscp ? "dscp" : "pcp";
  std::map<std::string, std::size_t> used;
  for (const std::string& code : mapping->keys(codes)) ++used[mapping->value(codes + " " + code + " switch-priority")];
  if (mapping->keys(codes).size() != (by_dscp ? 64U : 8U))
    out.add(mapping->line(), "not every " + codes + " has a priority");
  if (qos.keys("egress-queue-mapping default-global switch-priority").size() != 8)
    out.add(mapping->line(), "not every switch priority has a traffic class");
  for (const std::string& priority : qos.keys("pfc default-global switch-priority")) {
    if (by_dscp && used[priority] > 8)
      out.add(mapping->line(), "most traffic is put into the lossless priority " + priority);
  }
}

inline void check_qos(const Tree& root, Complaints& out) {
  const Tree* qos = root.find("qos");
  if (qos != nullptr) {
    check_scheduler(*qos, out);
    check_marking(*qos, out);
    check_mapping(*qos, out);
  }
  for (const std::string& name : root.keys("interface")) {
    const Tree* watchdog = root.find("interface " + name + " qos pfc-watchdog");
    if (watchdog != nullptr && root.find("qos pfc") == nullptr) out.add(watchdog->line(), "a watchdog without PFC");
  }
}

inline void check_lists(const Tree& root, Complaints& out) {
  for (const std::string& acl : root.keys("acl")) {
    for (const std::string& number : root.keys("acl " + acl + " rule")) {
      const Tree& rule = *root.find("acl " + acl + " rule " + number);
      if (rule.below.count("match") == 0) out.add(rule.line(), "a rule matches something");
      if (rule.below.count("action") == 0) out.add(rule.line(), "a rule has an action");
      for (const char* protocol : {"tcp", "udp"}) {
        const bool ports = rule.find(std::string("match ip ") + protocol) != nullptr;
        if (ports && rule.value("match ip protocol") != protocol)
          out.add(rule.line(), std::string("ports of ") + protocol + " without the protocol");
      }
    }
  }
  for (const std::string& list : root.keys("router policy prefix-list")) {
    for (const std::string& number : root.keys("router policy prefix-list " + list + " rule")) {
      const Tree& rule = *root.find("router policy prefix-list " + list + " rule " + number);
      if (rule.below.count("match") == 0 || rule.below.count("action") == 0)
        out.add(rule.line(), "a rule has a match and an action");
    }
  }
}

inline std::string vrf_of(const Tree& port) {
  const std::string vrf = port.value("ip vrf");
  return vrf.empty() ? "default" : vrf;
}

}  // namespace detail

// Addresses by VRF, with the lines that set them.
using Addresses = std::map<std::string, std::map<testing_grammar::Prefix, Node>>;

[[nodiscard]] inline Addresses read_addresses(const Tree& root, Complaints& out) {
  Addresses all;
  const auto add = [&](const std::string& vrf, const Tree& at) {
    for (const auto& [text, tree] : at.below) {
      const auto net = testing_grammar::prefix_of(text);
      if (!net) continue;
      if (!all[vrf].emplace(*net, tree.line()).second) out.add(tree.line(), "the address of another interface");
      if (net->length + 1 < 8 * net->bytes.size() && net->network() == *net)
        out.add(tree.line(), "the address of the subnet itself");
    }
  };
  for (const std::string& name : root.keys("interface")) {
    const Tree& port = *root.find("interface " + name);
    if (const Tree* own = port.find("ip address")) add(detail::vrf_of(port), *own);
  }
  for (const std::string& vrf : root.keys("vrf")) {
    if (const Tree* own = root.find("vrf " + vrf + " loopback ip address")) add(vrf, *own);
  }
  return all;
}

namespace detail {

// The gateway shared by a pair is in a subnet where each of the two has its own address.
inline void check_vrr(const Tree& root, Complaints& out) {
  for (const std::string& name : root.keys("interface")) {
    const Tree& port = *root.find("interface " + name);
    const Tree* vrr = port.find("ip vrr");
    if (vrr == nullptr) continue;
    if (vrr->value("enable") != "on" || vrr->value("address").empty()) out.add(vrr->line(), "vrr is not in use");
    for (const std::string& text : vrr->keys("address")) {
      const auto shared = prefix_of(text);
      bool inside = false;
      for (const std::string& own : port.keys("ip address")) {
        const auto net = prefix_of(own);
        inside = inside || (net->network() == shared->network() && net->bytes != shared->bytes);
      }
      if (!inside) out.add(vrr->line(), text + " has no address of the switch's own beside it");
    }
  }
}

inline void check_neighbor(const Tree& root, const std::string& vrf, const std::string& peer,
                           const Addresses& addresses, Complaints& out) {
  const Tree& bgp = *root.find("vrf " + vrf + " router bgp");
  const Tree& neighbor = *bgp.find("neighbor " + peer);
  const bool numbered = !is_swp(peer);
  if (neighbor.value("type") != (numbered ? "numbered" : "unnumbered")) out.add(neighbor.line(), "is of another type");
  const std::string group = neighbor.value("peer-group");
  if (neighbor.value("remote-as").empty() && bgp.value("peer-group " + group + " remote-as").empty())
    out.add(neighbor.line(), "has no remote-as");
  if (!numbered) {
    const Tree* port = root.find("interface " + peer);
    if (port == nullptr || vrf_of(*port) != vrf) {
      out.add(neighbor.line(), "its interface is not of the VRF");
      return;
    }
    // An unnumbered session carries every address family of the VRF (RFC 8950); families other than IPv4 must be
    // enabled.
    const bool wanted = bgp.value("address-family ipv6-unicast enable") == "on";
    if (wanted && bgp.value("peer-group " + group + " address-family ipv6-unicast enable") != "on")
      out.add(neighbor.line(), "ipv6-unicast is not enabled");
    return;
  }
  const auto address = prefix_of(peer);
  const auto own = addresses.find(vrf);
  const bool near = own != addresses.end() && std::any_of(own->second.begin(), own->second.end(), [&](const auto& one) {
                      return one.first.network().contains(*address) && one.first.bytes != address->bytes;
                    });
  if (!near) out.add(neighbor.line(), "is in no subnet of the VRF");
}

inline void check_bgp(const Tree& root, const Addresses& addresses, Complaints& out) {
  for (const std::string& vrf : root.keys("vrf")) {
    const Tree* bgp = root.find("vrf " + vrf + " router bgp");
    if (bgp == nullptr) continue;
    if (root.value("router bgp enable") != "on") out.add(bgp->line(), "bgp is not enabled");
    if (bgp->value("autonomous-system").empty()) out.add(bgp->line(), "there is no autonomous-system");
    const auto id = prefix_of(bgp->value("router-id"));
    const auto own = addresses.find(vrf);
    if (!id || own == addresses.end() || own->second.count(*id) == 0)
      out.add(bgp->line(), "the router-id is no address of the VRF");
    for (const std::string& peer : bgp->keys("neighbor")) check_neighbor(root, vrf, peer, addresses, out);
  }
}

}  // namespace detail

// All problems of a file, and the addresses of the switch.
struct Judgment {
  Complaints complaints;
  Addresses addresses;
  std::string pair;  // the MAC address shared with the other switch of a pair
};

[[nodiscard]] inline Judgment judge_nvue(const std::string& text) {
  Judgment out;
  const Tree root = read_nvue_tree(text, out.complaints);
  detail::check_ports(root, out.complaints);
  detail::check_mlag(root, out.complaints);
  detail::check_qos(root, out.complaints);
  detail::check_lists(root, out.complaints);
  detail::check_vrr(root, out.complaints);
  out.addresses = read_addresses(root, out.complaints);
  detail::check_bgp(root, out.addresses, out.complaints);
  out.pair = root.value("mlag mac-address");
  return out;
}

}  // namespace weft::testing_nvue
