// NVUE: access lists, VRFs, routes, BGP, MLAG, and management.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nvue_reader.h"

namespace weft::config::nvue {
namespace {

constexpr std::size_t kMaxObjects = 100'000;

std::optional<Ipv4Prefix> loose_prefix(std::string_view text) {
  if (equals_ignoring_case(text, "any")) return Ipv4Prefix{};
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto length =
      slash == std::string_view::npos ? std::optional<std::int64_t>(32) : parse_digits(text.substr(slash + 1));
  if (!address.ok() || !length || *length > 32) return std::nullopt;
  const auto mask = *length == 0 ? 0U : 0xFFFFFFFFU << (32U - static_cast<unsigned>(*length));
  return Ipv4Prefix{Ipv4{address.value().bits & mask}, static_cast<std::uint8_t>(*length)};
}

int protocol_of(std::string_view word) {
  if (word == "tcp") return 6;
  if (word == "udp") return 17;
  if (word == "icmp") return 1;
  if (word == "ospf") return 89;
  if (word == "pim") return 103;
  if (word == "igmp") return 2;
  const auto number = parse_digits(word);
  return number && *number <= 255 ? static_cast<int>(*number) : -1;
}

int port_named(std::string_view word) {
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"ssh", 22},   {"telnet", 23}, {"domain", 53}, {"http", 80},    {"ntp", 123},
      {"snmp", 161}, {"bgp", 179},   {"https", 443}, {"syslog", 514}, {"tacacs", 49}};
  for (const auto& [name, port] : kNames) {
    if (word == name) return port;
  }
  const auto number = parse_digits(word);
  return number && *number <= 65535 ? static_cast<int>(*number) : -1;
}

std::string vrf_text(std::string_view name) { return name == "default" ? std::string() : std::string(name); }

}  // namespace

void Reader::take_system(const Command& command) {
  ManagementConfig& management = out_.management;
  const std::string_view what = command.at(1);
  if (what == "hostname") {
    out_.hostname = {std::string(command.at(2)), command.place(2), "system hostname"};
    return;
  }
  if (what == "aaa") return take_aaa(command);
  const auto add = [&](std::vector<Setting<std::string>>& to) {
    if (command.at(2) != "server" || command.size() < 4 || to.size() >= 1024) return;
    const auto same = [&](const Setting<std::string>& known) { return known.value == command.at(3); };
    if (std::none_of(to.begin(), to.end(), same)) {
      to.emplace_back(std::string(command.at(3)), command.place(3), fmt::format("system {} server", what));
    }
  };
  if (what == "syslog") return add(management.syslog);
  if (what == "ntp") return add(management.ntp);
  if (what == "dns") return add(management.dns);
  if (what == "lldp") {
    if (command.at(2) == "state") management.lldp = {is_on(command.at(3)), command.place(3), "system lldp"};
    return;
  }
  if (what == "snmp-server") {
    if (command.at(2).find("community") != std::string_view::npos && management.snmp_communities.size() < 1024) {
      management.snmp_communities.emplace_back(std::string(command.at(3)), command.place(3), "system snmp-server");
    }
    return;
  }
  if (what == "forwarding" && command.at(2).find("seed") != std::string_view::npos) {
    if (const auto seed = number(command, 3, 0, 4294967295)) {
      out_.ecmp_seed = true;
      out_.ecmp_seed_value = {seed.value_or(0), command.place(3), "system forwarding hash-seed"};
    }
    return;
  }
  ++out_.skipped;
}

// service syslog|ntp|dns VRF server ADDRESS
void Reader::take_service(const Command& command) {
  ManagementConfig& management = out_.management;
  const std::string_view what = command.at(1);
  std::vector<Setting<std::string>>* to = what == "syslog" ? &management.syslog
                                          : what == "ntp"  ? &management.ntp
                                          : what == "dns"  ? &management.dns
                                                           : nullptr;
  if (to != nullptr && command.at(3) == "server" && command.size() > 4) {
    const auto same = [&](const Setting<std::string>& known) { return known.value == command.at(4); };
    if (to->size() < 1024 && std::none_of(to->begin(), to->end(), same)) {
      to->emplace_back(std::string(command.at(4)), command.place(4), fmt::format("service {}", what));
    }
    return;
  }
  if (what == "snmp-server" && command.at(2).find("community") != std::string_view::npos) {
    management.snmp_communities.emplace_back(std::string(command.at(3)), command.place(3), "service snmp-server");
    return;
  }
  if (to == nullptr) ++out_.skipped;
}

// system aaa tacacs server 1 host 10.0.0.1 | system aaa radius server 10.0.0.1 | authentication-order 1 tacacs
void Reader::take_aaa(const Command& command) {
  const std::string_view what = command.at(2);
  if (what == "authentication-order") {
    if (const auto position = parse_digits(command.at(3)); position && order_.size() < 16) {
      const std::string method = command.at(4) == "tacacs" ? "tacacs+" : std::string(command.at(4));
      order_[*position] = {method, command.place(4), "system aaa authentication-order"};
    }
    return;
  }
  if ((what == "tacacs" || what == "radius" || what == "ldap") && command.at(3) == "server") {
    const bool hosted = command.at(5) == "host";
    const std::string_view address = hosted ? command.at(6) : command.at(4);
    std::vector<Setting<std::string>>& to = out_.management.aaa_servers;
    const auto same = [&](const Setting<std::string>& known) { return known.value == address; };
    const bool is_address = hosted || !parse_digits(address);
    if (is_address && to.size() < 1024 && std::none_of(to.begin(), to.end(), same)) {
      to.emplace_back(std::string(address), command.place(hosted ? 6 : 4), fmt::format("system aaa {}", what));
    }
    return;
  }
  if (what == "user" && command.at(4) == "password" &&
      (command.at(5) == "cumulus" || command.at(5) == "CumulusLinux!" || command.at(5) == command.at(3))) {
    out_.management.default_users.emplace_back(std::string(command.at(3)), command.place(5), "system aaa user");
  }
}

// acl NAME type ipv4 | acl NAME rule 10 match ip source-ip 10.0.0.0/8 | acl NAME rule 10 action deny
void Reader::take_acl(const Command& command) {
  const std::string name(command.at(1));
  const auto [known, added] = acls_.emplace(name, out_.acls.size());
  if (added) {
    AclConfig& made = out_.acls.emplace_back();
    made.name = name;
    made.place = command.place(1);
    made.permit_rest = true;  // the chain's policy is ACCEPT
  }
  if (command.at(2) == "type") {
    if (command.at(3) != "ipv4") rules_[name][-1].ipv4 = false;
    return;
  }
  if (command.at(2) != "rule") return;
  const auto position = parse_digits(command.at(3));
  if (!position || rules_[name].size() >= kMaxObjects) {
    warn(command.place(3), fmt::format("rule {} is not a number", in_backticks(command.at(3))));
    return;
  }
  Rule& rule = rules_[name][*position];
  if (!rule.rule.place.known()) rule.rule.place = command.place(0);
  rule.rule.sequence = *position;
  if (command.at(4) == "action") {
    const std::string_view action = command.at(5);
    if (action == "permit" || action == "deny") {
      rule.rule.permit = action == "permit";
      rule.has_action = true;
    }
    return;
  }
  if (command.at(4) == "match" && !take_match(command, rule)) rule.narrowed = true;
}

// False if it narrows the rule in a way that AclRule cannot express.
bool Reader::take_match(const Command& command, Rule& rule) {
  if (command.at(5) != "ip") return false;
  std::size_t word = 6;
  if (command.at(word) == "tcp" || command.at(word) == "udp") {
    rule.rule.protocol = protocol_of(command.at(word));
    ++word;
  }
  const std::string_view what = command.at(word);
  const std::string_view value = command.at(word + 1);
  if (what == "source-ip" || what == "dest-ip") {
    const auto prefix = loose_prefix(value);
    if (!prefix) {
      warn(command.place(word + 1), fmt::format("{} is not a prefix", in_backticks(value)));
      return false;
    }
    (what == "source-ip" ? rule.rule.source : rule.rule.destination) = *prefix;
    return true;
  }
  if (what == "protocol") {
    rule.rule.protocol = protocol_of(value);
    return rule.rule.protocol >= 0;
  }
  if (what == "dest-port") {
    if (equals_ignoring_case(value, "any")) return true;
    const auto ends = split_text(value, value.find(':') != std::string_view::npos ? ':' : '-', 3);
    const int low = port_named(ends.front());
    const int high = port_named(ends.back());
    if (low < 0 || high < low) return false;
    rule.rule.port_low = low;
    rule.rule.port_high = high;
    return true;
  }
  return what.empty() || (what == "source-port" && equals_ignoring_case(value, "any"));
}

void Reader::finish_acls() {
  for (auto& [name, rules] : rules_) {
    AclConfig& acl = out_.acls[acls_.find(name)->second];
    const bool other_family = rules.count(-1) > 0;
    for (auto& [position, rule] : rules) {
      if (position < 0 || other_family || !rule.has_action) continue;
      // A rule with further conditions matches fewer packets than it appears to: a permit is kept, a deny must be
      // ignored.
      if (rule.narrowed && !rule.rule.permit) {
        ++out_.skipped;
        continue;
      }
      acl.rules.push_back(rule.rule);
    }
  }
}

VrfConfig& Reader::vrf_named(std::string_view name, const SourceLocation& place) {
  const auto [known, added] = vrfs_.emplace(name, out_.vrfs.size());
  if (added) {
    VrfConfig& made = out_.vrfs.emplace_back();
    made.name = name;
    made.place = place;
  }
  return out_.vrfs[known->second];
}

void Reader::take_vrf(const Command& command) {
  const std::string_view name = command.at(1);
  if (out_.vrfs.size() >= kMaxObjects) return;
  if (name != "default") (void)vrf_named(name, command.place(1));
  if (command.is(2, {"router", "static"})) return take_static(command, vrf_text(name));
  if (command.is(2, {"router", "bgp"})) return take_bgp(command, 4, vrf_text(name));
  if (command.is(2, {"loopback", "ip", "address"})) return;
  if (command.size() > 2) ++out_.skipped;
}

// vrf X router static PREFIX via NEXT-HOP [vrf OTHER]
void Reader::take_static(const Command& command, const std::string& vrf) {
  if (command.at(4).find(':') != std::string_view::npos) return;
  const auto prefix = loose_prefix(command.at(4));
  if (!prefix) {
    warn(command.place(4), fmt::format("{} is not a prefix", in_backticks(command.at(4))));
    return;
  }
  if (command.at(5) != "via" || out_.routes.size() >= kMaxObjects) return;
  RouteConfig route;
  route.place = command.place(4);
  route.vrf = vrf;
  route.prefix = *prefix;
  if (const auto hop = parse_ipv4(command.at(6)); hop.ok()) {
    route.next_hop = hop.value();
  } else if (command.at(6) != "blackhole" && command.at(6) != "reject") {
    route.interface = command.at(6);
  } else {
    return;
  }
  if (command.at(7) == "vrf") route.next_hop_vrf = command.at(8);
  const auto same = [&](const RouteConfig& known) {
    return known.vrf == route.vrf && known.prefix == route.prefix && known.next_hop == route.next_hop &&
           known.interface == route.interface;
  };
  if (!out_.routes.empty() && same(out_.routes.back())) {
    if (!route.next_hop_vrf.empty()) out_.routes.back().next_hop_vrf = route.next_hop_vrf;
    return;
  }
  out_.routes.push_back(std::move(route));
}

// [vrf X] router bgp autonomous-system N | neighbor P ... | peer-group G ... | address-family ... route-import from-vrf
void Reader::take_bgp(const Command& command, std::size_t from, const std::string& vrf) {
  const std::string_view what = command.at(from);
  if (what == "autonomous-system") {
    if (command.at(from + 1) == "none") return;
    if (const auto asn = number(command, from + 1, 1, 4294967295)) {
      if (vrf.empty()) out_.asn = {asn.value_or(0), command.place(from + 1), "router bgp autonomous-system"};
    }
    return;
  }
  if (what == "peer-group") {
    if (peer_groups_.size() < kMaxObjects)
      set_neighbor(command, from + 2, peer_groups_[std::string(command.at(from + 1))]);
    return;
  }
  if (what == "neighbor") {
    for (const std::string& peer : interface_names(command.at(from + 1))) {
      if (!spend(1, command.place(from)) || out_.neighbors.size() >= kMaxObjects) return;
      const auto [known, added] = neighbors_.emplace(std::pair(vrf, peer), out_.neighbors.size());
      if (added) {
        NeighborConfig& made = out_.neighbors.emplace_back();
        made.place = command.place(from + 1);
        made.peer = peer;
        made.vrf = vrf;
      }
      if (command.at(from + 2) == "peer-group") group_of_[known->second] = command.at(from + 3);
      set_neighbor(command, from + 2, out_.neighbors[known->second]);
    }
    return;
  }
  const auto import = std::find(command.words.begin(), command.words.end(), "from-vrf");
  if (what == "address-family" && import != command.words.end() && !vrf.empty()) {
    const auto at = static_cast<std::size_t>(import - command.words.begin()) +
                    (command.words.end() - import > 1 && *(import + 1) == "list" ? 2 : 1);
    if (!command.at(at).empty() && command.at(at) != "enable") {
      VrfConfig& to = vrf_named(vrf, command.place(1));
      if (to.imports.size() < 1024)
        to.imports.emplace_back(std::string(command.at(at)), command.place(at), "route-import from-vrf");
    }
  }
}

void Reader::set_neighbor(const Command& command, std::size_t from, NeighborConfig& neighbor) {
  const std::string_view what = command.at(from);
  if (what == "remote-as") {
    if (const auto asn = parse_digits(command.at(from + 1)); asn && *asn <= 4294967295) {
      neighbor.remote_asn = {asn.value_or(0), command.place(from + 1), "remote-as"};
    }
  } else if (what == "bfd") {
    const std::string_view state = command.at(from + 1);
    if (state == "enable" || state == "state") neighbor.bfd = {is_on(command.at(from + 2)), command.last(), "bfd"};
  } else if (what == "password") {
    neighbor.password = {std::string(command.at(from + 1)), command.place(from + 1), "password"};
  }
}

void Reader::finish_bgp() {
  for (const auto& [index, name] : group_of_) {
    const auto found = peer_groups_.find(name);
    if (found == peer_groups_.end()) continue;
    NeighborConfig& neighbor = out_.neighbors[index];
    if (!neighbor.remote_asn.known()) neighbor.remote_asn = found->second.remote_asn;
    if (!neighbor.bfd.known()) neighbor.bfd = found->second.bfd;
    if (!neighbor.password.known()) neighbor.password = found->second.password;
  }
}

// mlag backup ADDRESS [vrf mgmt]
void Reader::take_mlag(const Command& command) {
  out_.vpc = {true, command.place(0), "mlag"};
  if (command.at(1) != "backup") return;
  if (command.at(3) == "vrf") {
    out_.vpc_keepalive_vrf = {std::string(command.at(4)), command.place(4), "mlag backup"};
  } else if (!out_.vpc_keepalive_vrf.known()) {
    out_.vpc_keepalive_vrf =
        vendor_default<std::string>("default", "an MLAG backup address is in the default VRF by default");
  }
}

}  // namespace weft::config::nvue
