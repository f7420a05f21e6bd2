// SONiC: static routes, BGP neighbors, access lists, and management.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/sonic_reader.h"

namespace weft::config::sonic {
namespace {

// A prefix, or a bare address (/32). Host bits are cleared, as on the switch.
std::optional<Ipv4Prefix> loose_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto length =
      slash == std::string_view::npos ? std::optional<std::int64_t>(32) : parse_digits(text.substr(slash + 1));
  if (!address.ok() || !length || *length > 32) return std::nullopt;
  const auto bits = *length == 0 ? 0U : address.value().bits & (0xFFFFFFFFU << (32U - static_cast<unsigned>(*length)));
  return Ipv4Prefix{Ipv4{bits}, static_cast<std::uint8_t>(*length)};
}

constexpr std::size_t kMaxNextHops = 512;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Whether the rule has conditions that AclRule cannot express.
bool narrows_otherwise(const YamlNode& rule) {
  for (const std::string_view key :
       {"L4_SRC_PORT",       "L4_SRC_PORT_RANGE", "TCP_FLAGS",         "DSCP",       "TC",           "IN_PORTS",
        "OUT_PORTS",         "ICMP_TYPE",         "ICMP_CODE",         "VLAN_ID",    "INNER_SRC_IP", "INNER_ETHER_TYPE",
        "INNER_IP_PROTOCOL", "INNER_L4_SRC_PORT", "INNER_L4_DST_PORT", "TUNNEL_VNI", "BTH_OPCODE",   "AETH_SYNDROME",
        "TUNNEL_TERM",       "SRC_MAC",           "DST_MAC",           "PCP",        "DEI"}) {
    if (rule.find(key) != nullptr) return true;
  }
  return false;
}

bool is_ipv6_rule(const YamlNode& rule) {
  if (rule.find("SRC_IPV6") != nullptr || rule.find("DST_IPV6") != nullptr) return true;
  const YamlNode* type = rule.find("IP_TYPE");
  if (type != nullptr && is_one_of(type->scalar, {"IPV6", "IPV6ANY", "IPv6ANY", "ARP", "NON_IPV4", "NON_IP"}))
    return true;
  const YamlNode* ether = rule.find("ETHER_TYPE");
  return ether != nullptr && !is_one_of(ether->scalar, {"2048", "0x0800", "0x800"});
}

}  // namespace

void Reader::read_routes() {
  for (const auto& [key, entry] : rows("STATIC_ROUTE")) read_route(*entry);
}

void Reader::read_route(const YamlEntry& entry) {
  const auto parts = key_parts(entry.key);
  const std::string_view prefix_text = parts.back();
  if (prefix_text.find(':') != std::string_view::npos) return;  // IPv6 is not modeled
  const auto prefix = loose_prefix(prefix_text);
  if (!prefix || parts.size() > 2) {
    error(entry.key_place, fmt::format("{} is not a `prefix` or `vrf|prefix` key", in_backticks(entry.key)));
    return;
  }
  const auto list = [&](std::string_view key) {
    return split_text(field(entry.value, key).value_or(""), ',', kMaxNextHops);
  };
  const auto hops = list("nexthop");
  const auto interfaces = list("ifname");
  const auto vrfs = list("nexthop-vrf");
  const auto black_holes = list("blackhole");
  for (std::size_t i = 0; i < std::max(hops.size(), interfaces.size()); ++i) {
    const auto at = [&](const std::vector<std::string_view>& from) {
      return i < from.size() ? from[i] : std::string_view();
    };
    if (at(black_holes) == "true") continue;
    RouteConfig route;
    route.place = entry.key_place;
    route.vrf = parts.size() == 2 && parts[0] != "default" ? std::string(parts[0]) : std::string();
    route.prefix = *prefix;
    route.interface = at(interfaces);
    if (const std::string_view vrf = at(vrfs); !vrf.empty() && vrf != "default") route.next_hop_vrf = vrf;
    if (const auto hop = parse_ipv4(at(hops)); hop.ok()) {
      route.next_hop = hop.value();
    } else if (!at(hops).empty()) {
      error(place_of(entry.value, "nexthop"), fmt::format("next hop {} is not an address", in_backticks(at(hops))));
      continue;
    }
    if (route.next_hop.bits != 0 || !route.interface.empty()) out_.routes.push_back(std::move(route));
  }
}

void Reader::read_neighbors() {
  for (const std::string_view table : {"BGP_NEIGHBOR", "BGP_INTERNAL_NEIGHBOR", "BGP_VOQ_CHASSIS_NEIGHBOR"}) {
    for (const auto& [key, entry] : rows(table)) read_neighbor(*entry);
  }
  for (const auto& [key, entry] : rows("BGP_PEER_RANGE")) {
    const YamlNode* ranges = entry->value.find("ip_range");
    if (ranges == nullptr) continue;
    for (const YamlNode& range : ranges->items) {
      NeighborConfig neighbor;
      neighbor.place = range.place;
      neighbor.peer = range.scalar;
      if (const auto parts = key_parts(key); parts.size() == 2) neighbor.vrf = parts[0];
      if (const auto asn = number(entry->value, "peer_asn", 1, 4294967295)) {
        neighbor.remote_asn = {*asn, place_of(entry->value, "peer_asn"),
                               fmt::format("BGP_PEER_RANGE|{}|peer_asn", key)};
      }
      out_.neighbors.push_back(std::move(neighbor));
    }
  }
}

void Reader::read_neighbor(const YamlEntry& entry) {
  const auto parts = key_parts(entry.key);
  NeighborConfig neighbor;
  neighbor.place = entry.key_place;
  neighbor.peer = parts.back();
  if (parts.size() == 2 && parts[0] != "default") neighbor.vrf = parts[0];
  const bool dotted = std::count(neighbor.peer.begin(), neighbor.peer.end(), '.') == 3;
  if (dotted && !parse_ipv4(neighbor.peer).ok()) {
    error(entry.key_place, fmt::format("BGP neighbor {} is not an address", in_backticks(neighbor.peer)));
    return;
  }
  const auto path = [&](std::string_view key) { return fmt::format("BGP_NEIGHBOR|{}|{}", entry.key, key); };
  (void)number(entry.value, "local_asn", 1, 4294967295);
  (void)choice(entry.value, "admin_status", {"up", "down", "true", "false"});
  if (const auto asn = number(entry.value, "asn", 0, 4294967295)) {
    neighbor.remote_asn = {*asn, place_of(entry.value, "asn"), path("asn")};
  }
  if (const auto bfd = choice(entry.value, "bfd", {"true", "false"})) {
    neighbor.bfd = {*bfd == "true", place_of(entry.value, "bfd"), path("bfd")};
  }
  if (const auto password = field(entry.value, "auth_password")) {
    neighbor.password = {std::string(*password), place_of(entry.value, "auth_password"), path("auth_password")};
  }
  out_.neighbors.push_back(std::move(neighbor));
}

void Reader::read_acl_tables() {
  for (const auto& [name, entry] : rows("ACL_TABLE")) {
    const std::string type(field(entry->value, "type").value_or(""));
    (void)choice(entry->value, "stage", {"ingress", "egress", "INGRESS", "EGRESS"});
    // Mirror, telemetry and IPv6-only tables do not affect IPv4 forwarding.
    if (type.substr(0, 6) == "MIRROR" || type == "L3V6" || type == "MCLAG" || type == "MUX") continue;
    AclConfig& acl = out_.acls.emplace_back();
    acl.name = name;
    acl.place = entry->key_place;
    acl.permit_rest = type != "CTRLPLANE";  // a data plane table permits packets that match no rule
    if (type != "CTRLPLANE") bind_acl(acl, entry->value);
  }
  read_acl_rules();
}

void Reader::bind_acl(const AclConfig& acl, const YamlNode& table) {
  const std::string_view stage = field(table, "stage").value_or("ingress");
  const bool out = stage == "egress" || stage == "EGRESS";
  const auto bind = [&](std::string_view name, const SourceLocation& place) {
    if (name.empty()) return;
    InterfaceConfig* port = find(name);
    if (port == nullptr && is_part()) port = &part_port(name, place, "ACL_TABLE");
    if (port == nullptr) {
      error(place, fmt::format("ACL_TABLE `{}` is bound to {}, which is not in PORT or PORTCHANNEL",
                               printable(acl.name, 60), in_backticks(name)));
      return;
    }
    Setting<std::string>& slot = out ? port->acl_out : port->acl_in;
    if (slot.known()) {
      warning(place, fmt::format("{} already has access list `{}`; others are ignored", in_backticks(name),
                                 printable(slot.value, 60)));
      return;
    }
    slot = {acl.name, place, fmt::format("ACL_TABLE|{}|ports", acl.name)};
  };
  for (const std::string_view key : {"ports", "ports@"}) {
    const YamlNode* ports = table.find(key);
    if (ports == nullptr) continue;
    for (const YamlNode& item : ports->items) bind(item.scalar, item.place);
    if (ports->kind != YamlNode::Kind::scalar) continue;
    for (const std::string_view name : split_text(ports->scalar, ',')) bind(name, ports->place);
  }
}

void Reader::read_acl_rules() {
  std::map<std::string_view, AclConfig*> by_name;
  for (AclConfig& acl : out_.acls) by_name.emplace(acl.name, &acl);
  for (const auto& [key, entry] : rows("ACL_RULE")) {
    const auto parts = key_parts(key);
    if (parts.size() != 2 || row("ACL_TABLE", parts[0]) == nullptr) {
      error(entry->key_place, fmt::format("rule {} refers to no table of ACL_TABLE", in_backticks(key)));
      continue;
    }
    const auto acl = by_name.find(parts[0]);
    if (acl == by_name.end() || !read_acl_rule(*entry, parts[1], *acl->second)) ++out_.skipped;
  }
  for (AclConfig& acl : out_.acls) {
    std::stable_sort(acl.rules.begin(), acl.rules.end(),
                     [](const AclRule& a, const AclRule& b) { return a.sequence < b.sequence; });
  }
}

bool Reader::read_acl_rule(const YamlEntry& entry, std::string_view name, AclConfig& acl) {
  const YamlNode& object = entry.value;
  if (is_ipv6_rule(object)) return false;
  const auto action = field(object, "PACKET_ACTION");
  const auto priority = number(object, "PRIORITY", 0, 999'999);
  if (!action || !priority) {
    if (!action) warning(entry.key_place, fmt::format("rule {} has no PACKET_ACTION", in_backticks(name)));
    return false;
  }
  AclRule rule;
  rule.place = entry.key_place;
  rule.permit = *action != "DROP" && *action != "DENY";
  // A rule with further conditions matches fewer packets than it appears to: a permit is kept, a drop must be ignored.
  if (!rule.permit && narrows_otherwise(object)) return false;
  rule.sequence = 1'000'000 - *priority;  // highest PRIORITY first
  const auto prefix = [&](std::string_view key, Ipv4Prefix& out) {
    const auto text = field(object, key);
    if (!text) return true;
    const auto parsed = loose_prefix(*text);
    if (!parsed) error(place_of(object, key), fmt::format("`{}` is {}: expected a prefix", key, in_backticks(*text)));
    if (parsed) out = *parsed;
    return parsed.has_value();
  };
  if (!prefix("SRC_IP", rule.source) || !prefix("DST_IP", rule.destination)) return false;
  if (const auto protocol = number(object, "IP_PROTOCOL", 0, 255)) rule.protocol = static_cast<int>(*protocol);
  if (const auto port = number(object, "L4_DST_PORT", 0, 65535)) {
    rule.port_low = rule.port_high = static_cast<int>(*port);
  }
  if (const auto range = field(object, "L4_DST_PORT_RANGE")) {
    const auto ends = split_text(*range, '-', 3);
    const auto low = parse_digits(ends.front());
    const auto high = parse_digits(ends.back());
    if (ends.size() != 2 || !low || !high || *low > *high || *high > 65535) {
      error(place_of(object, "L4_DST_PORT_RANGE"), fmt::format("{} is not a port range", in_backticks(*range)));
      return false;
    }
    rule.port_low = static_cast<int>(*low);
    rule.port_high = static_cast<int>(*high);
  }
  acl.rules.push_back(rule);
  return true;
}

void Reader::read_keys(std::string_view table, std::vector<Setting<std::string>>& out) {
  for (const auto& [key, entry] : rows(table)) {
    if (key.empty()) continue;
    out.emplace_back(std::string(key), entry->key_place, fmt::format("{}|{}", table, key));
  }
}

void Reader::read_management() {
  ManagementConfig& management = out_.management;
  read_keys("SYSLOG_SERVER", management.syslog);
  read_keys("NTP_SERVER", management.ntp);
  read_keys("DNS_NAMESERVER", management.dns);
  for (const std::string_view table : {"TACPLUS_SERVER", "RADIUS_SERVER", "LDAP_SERVER"}) {
    read_keys(table, management.aaa_servers);
  }
  read_keys("SNMP_COMMUNITY", management.snmp_communities);
  for (const std::string_view table : {"TACPLUS", "RADIUS", "LDAP", "MGMT_PORT", "NTP", "DNS_OPTIONS", "SNMP"}) {
    (void)rows(table);  // read elsewhere or not needed, but not unknown
  }
  if (const YamlEntry* aaa = row("AAA", "authentication")) {
    if (const auto login = field(aaa->value, "login")) {
      for (const std::string_view method : split_text(*login, ',', 16)) {
        if (method.empty()) continue;
        management.aaa_methods.emplace_back(std::string(method), place_of(aaa->value, "login"),
                                            "AAA|authentication|login");
      }
    }
  } else {
    management.aaa_methods.push_back(
        vendor_default<std::string>("local", "SONiC authenticates local users by default"));
  }
  management.lldp = vendor_default(true, "SONiC runs LLDP unless its feature is disabled");
  if (const YamlEntry* feature = row("FEATURE", "lldp")) {
    if (const auto state = field(feature->value, "state")) {
      management.lldp = {*state == "enabled" || *state == "always_enabled", place_of(feature->value, "state"),
                         "FEATURE|lldp|state"};
    }
  }
}

void Reader::read_hash() {
  for (const std::string_view table : {"SWITCH", "SWITCH_HASH", "SWITCH_TABLE"}) {
    for (const auto& [key, entry] : rows(table)) {
      if (field(entry->value, "ecmp_hash_seed")) {
        if (const auto seed = number(entry->value, "ecmp_hash_seed", 0, 4294967295)) {
          out_.ecmp_seed = true;
          out_.ecmp_seed_value = {*seed, place_of(entry->value, "ecmp_hash_seed"),
                                  fmt::format("{}|{}|ecmp_hash_seed", table, key)};
        }
      }
    }
  }
}

}  // namespace weft::config::sonic
