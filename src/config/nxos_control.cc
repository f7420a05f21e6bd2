// NX-OS: VRFs, static routes, BGP, vPC, and management.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nxos_reader.h"

namespace weft::config::nxos {
namespace {

// "65001", or "65000.1" (asdot, RFC 5396).
std::optional<std::int64_t> asn_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto high = parse_digits(text.substr(0, dot));
  if (dot == std::string_view::npos) return high && *high > 0 && *high <= 4294967295 ? high : std::nullopt;
  const auto low = parse_digits(text.substr(dot + 1));
  if (!high || !low || *high > 65535 || *low > 65535) return std::nullopt;
  return *high * 65536 + *low;
}

}  // namespace

bool Reader::take_vrf(const ConfigLine& line) {
  VrfConfig& vrf = out_.vrfs[vrf_];
  if (line.at(0) == "ip" && line.at(1) == "route") return take_route(line, 2, vrf.name);
  if (line.at(0) == "ip" && line.at(1) == "name-server") return take_management(line, false);
  if (line.at(0) == "route-target") {
    const std::string_view direction = line.at(1);
    Setting<std::string> target(std::string(line.at(2)), line.place(2), fmt::format("vrf context {}", vrf.name));
    if (vrf.imports.size() >= 1024 || vrf.exports.size() >= 1024) return false;
    if (direction == "import" || direction == "both") vrf.imports.push_back(target);
    if (direction == "export" || direction == "both") vrf.exports.push_back(std::move(target));
    return true;
  }
  return line.at(0) == "rd" || line.at(0) == "address-family" || line.at(0) == "description";
}

// ip route PREFIX [INTERFACE] [NEXT-HOP] [vrf OTHER] [...]
bool Reader::take_route(const ConfigLine& line, std::size_t word, std::string vrf) {
  if (line.at(word) == "vrf") {
    vrf = line.at(word + 1);
    word += 2;
  }
  RouteConfig route;
  route.place = line.place();
  route.vrf = std::move(vrf);
  const bool masked = line.at(word).find('/') == std::string_view::npos;
  const auto prefix = masked ? prefix_of_mask(line.at(word), line.at(word + 1), false) : prefix_of(line.at(word));
  if (!prefix) {
    warn(line, word, fmt::format("{} is not a prefix", in_backticks(line.at(word))));
    return true;
  }
  route.prefix = *prefix;
  word += masked ? 2 : 1;
  if (equals_ignoring_case(line.at(word), "null0") || equals_ignoring_case(line.at(word), "null")) return true;
  if (const auto hop = parse_ipv4(line.at(word).substr(0, line.at(word).find('/'))); hop.ok()) {
    route.next_hop = hop.value();
  } else {
    const auto names = interface_names(line.at(word));
    route.interface = names.size() == 1 ? names.front() : std::string(line.at(word));
    if (const auto after = parse_ipv4(line.at(word + 1).substr(0, line.at(word + 1).find('/'))); after.ok()) {
      route.next_hop = after.value();
    }
  }
  const auto other =
      std::find(line.words.begin() + static_cast<std::ptrdiff_t>(std::min(word, line.size())), line.words.end(), "vrf");
  if (other != line.words.end() && other + 1 != line.words.end()) route.next_hop_vrf = *(other + 1);
  if (route.next_hop.bits != 0 || !route.interface.empty()) out_.routes.push_back(std::move(route));
  return true;
}

bool Reader::take_bgp(const ConfigLine& line) {
  const std::string_view word = line.at(0);
  if (word == "router") {
    const auto asn = asn_of(line.at(2));
    if (!asn) {
      warn(line, 2, fmt::format("{} is not an AS number", in_backticks(line.at(2))));
    } else {
      out_.asn = {asn.value_or(0), line.place(2), "router bgp"};
    }
    return true;
  }
  if (!bgp_vrf_.empty() && indented_ && line.indent <= bgp_vrf_indent_) bgp_vrf_.clear();
  if (word == "vrf") {
    bgp_vrf_ = line.at(1);
    bgp_vrf_indent_ = line.indent;
    neighbor_ = nullptr;
    return true;
  }
  if (word == "template" && line.at(1) == "peer") {
    NeighborConfig& made = templates_[std::string(line.at(2))];
    in_template_ = true;
    neighbor_ = &made;
    return true;
  }
  if (word == "neighbor") {
    in_template_ = false;
    if (out_.neighbors.size() >= 100'000) return false;
    NeighborConfig& made = out_.neighbors.emplace_back();
    neighbor_ = &made;
    made.place = line.place();
    made.vrf = bgp_vrf_;
    made.peer = line.at(1);
    if (made.peer.find('.') == std::string::npos && made.peer.find(':') == std::string::npos) {
      const auto names = interface_names(line.at(1));
      if (names.size() == 1) made.peer = names.front();
    }
    ConfigLine inline_setting = line;
    inline_setting.drop(2);
    if (inline_setting.size() > 0) (void)take_neighbor_setting(inline_setting, made);
    return true;
  }
  if (neighbor_ != nullptr && take_neighbor_setting(line, *neighbor_)) return true;
  return word == "address-family" || word == "router-id" || word == "log-neighbor-changes";
}

bool Reader::take_neighbor_setting(const ConfigLine& line, NeighborConfig& neighbor) {
  const std::string_view word = line.at(0);
  if (word == "remote-as") {
    if (const auto asn = asn_of(line.at(1))) neighbor.remote_asn = {asn.value_or(0), line.place(1), "remote-as"};
    return true;
  }
  if (word == "bfd") {
    neighbor.bfd = {true, line.place(), "bfd"};
    return true;
  }
  if (word == "no" && line.at(1) == "bfd") {
    neighbor.bfd = {false, line.place(), "no bfd"};
    return true;
  }
  if (word == "password") {
    neighbor.password = {std::string(line.at(line.size() - 1)), line.place(), "password"};
    return true;
  }
  if (word == "inherit" && (line.at(1) == "peer" || line.at(1) == "peer-session")) {
    if (!in_template_ && !out_.neighbors.empty()) inherits_.emplace_back(out_.neighbors.size() - 1, line.at(2));
    return true;
  }
  return false;
}

void Reader::finish_bgp() {
  for (const auto& [index, name] : inherits_) {
    const auto found = templates_.find(name);
    if (found == templates_.end()) continue;
    NeighborConfig& neighbor = out_.neighbors[index];
    if (!neighbor.remote_asn.known()) neighbor.remote_asn = found->second.remote_asn;
    if (!neighbor.bfd.known()) neighbor.bfd = found->second.bfd;
    if (!neighbor.password.known()) neighbor.password = found->second.password;
  }
}

bool Reader::take_vpc(const ConfigLine& line) {
  if (line.at(0) != "peer-keepalive") return false;
  const auto vrf = std::find(line.words.begin(), line.words.end(), "vrf");
  if (vrf != line.words.end() && vrf + 1 != line.words.end()) {
    out_.vpc_keepalive_vrf = {std::string(*(vrf + 1)), line.place(), "peer-keepalive"};
  }
  return true;
}

bool Reader::take_feature(const ConfigLine& line, bool no) {
  const std::string_view name = line.at(no ? 2 : 1);
  Setting<bool> state(!no, line.place(), fmt::format("feature {}", name));
  if (name == "telnet") out_.management.telnet = state;
  if (name == "lldp") out_.management.lldp = std::move(state);
  return true;
}

bool Reader::take_management(const ConfigLine& line, bool no) {
  if (no) return false;
  ManagementConfig& management = out_.management;
  const std::string_view word = line.at(0);
  const auto add = [&](std::vector<Setting<std::string>>& to, std::size_t at, std::string path) {
    if (to.size() < 1024 && !line.at(at).empty())
      to.emplace_back(std::string(line.at(at)), line.place(at), std::move(path));
  };
  if (word == "logging" && line.at(1) == "server") {
    add(management.syslog, 2, "logging server");
    return true;
  }
  if (word == "ntp" && (line.at(1) == "server" || line.at(1) == "peer")) {
    add(management.ntp, 2, "ntp server");
    return true;
  }
  if (word == "ip" && line.at(1) == "name-server") {
    for (std::size_t i = 2; i < line.size() && line.at(i) != "use-vrf"; ++i) add(management.dns, i, "ip name-server");
    return true;
  }
  if ((word == "tacacs-server" || word == "radius-server" || word == "ldap-server") && line.at(1) == "host") {
    add(management.aaa_servers, 2, fmt::format("{} host", word));
    return true;
  }
  if (word == "snmp-server" && line.at(1) == "community") {
    add(management.snmp_communities, 2, "snmp-server community");
    return true;
  }
  if (word == "aaa") return take_aaa(line);
  if (word == "username") return take_user(line);
  return false;
}

// aaa authentication login default group TAC local
bool Reader::take_aaa(const ConfigLine& line) {
  if (line.at(1) != "authentication" || line.at(2) != "login" || line.at(3) != "default") return false;
  out_.management.aaa_methods.clear();
  const auto add = [&](std::string method, std::size_t at) {
    out_.management.aaa_methods.emplace_back(std::move(method), line.place(at), "aaa authentication login");
  };
  for (std::size_t i = 4; i < line.size() && i < 32; ++i) {
    const std::string_view word = line.at(i);
    if (word == "group") continue;
    const auto group = aaa_groups_.find(word);
    add(group == aaa_groups_.end() ? std::string(word) : group->second, i);
  }
  return true;
}

// username admin password 5 $5$... role network-admin. Types 5 and up are hashes; 0 or no type is plain text.
bool Reader::take_user(const ConfigLine& line) {
  const std::string_view name = line.at(1);
  if (name != "admin" && name != "cisco") return true;
  const auto found = std::find(line.words.begin(), line.words.end(), "password");
  const auto at = static_cast<std::size_t>(found - line.words.begin());
  std::string_view secret = line.at(at + 1);
  const bool typed = secret == "0" || (secret != "5" && secret != "8" && secret != "9");
  if (secret == "0") secret = line.at(at + 2);
  const bool factory =
      secret.empty() || secret == name || secret == "password" || secret == "cisco" || secret == "admin";
  const bool role_only = found == line.words.end();
  if (role_only && std::find(line.words.begin(), line.words.end(), "role") == line.words.end()) return true;
  std::vector<Setting<std::string>>& users = out_.management.default_users;
  if (!role_only && !(typed && factory)) {  // a non-default password on any line suffices
    secured_users_.emplace(name);
    users.erase(std::remove_if(users.begin(), users.end(), [&](const auto& user) { return user.value == name; }),
                users.end());
  } else if (secured_users_.find(name) == secured_users_.end() && users.size() < 16) {
    users.emplace_back(std::string(name), line.place(1), "username");
  }
  return true;
}

}  // namespace weft::config::nxos
