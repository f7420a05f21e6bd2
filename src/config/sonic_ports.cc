// SONiC: device metadata, ports, port channels, VLANs, VRFs and their addresses.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/sonic_reader.h"

namespace weft::config::sonic {
namespace {

using Kind = InterfaceConfig::Kind;

// "etp12b", "Ethernet12/2", "Eth12/2", "Eth1/12/2": the cage number, 12. Only forms that name the cage unambiguously
// are accepted; 0 otherwise.
int cage_of_alias(std::string_view alias) {
  for (const std::string_view prefix : {"etp", "Ethernet", "Eth"}) {
    if (alias.substr(0, prefix.size()) != prefix) continue;
    std::string_view rest = alias.substr(prefix.size());
    if (prefix == "Ethernet" && rest.find('/') == std::string_view::npos) return 0;
    if (prefix == "Eth" && rest.substr(0, 2) == "1/") rest.remove_prefix(2);
    std::size_t digits = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
    const auto number = digits <= 5 ? parse_digits(rest.substr(0, digits)) : std::nullopt;
    return number ? static_cast<int>(*number) : 0;
  }
  return 0;
}

std::int64_t first_lane(std::string_view lanes) { return parse_digits(split_text(lanes, ',', 2)[0]).value_or(0); }

}  // namespace

void Reader::read_metadata() {
  const YamlEntry* local = row("DEVICE_METADATA", "localhost");
  if (local == nullptr) return;
  const YamlNode& object = local->value;
  const auto set_text = [&](std::string_view key, Setting<std::string>& out) {
    const auto text = field(object, key);
    if (text && !text->empty()) {
      out = {std::string(*text), place_of(object, key), fmt::format("DEVICE_METADATA|localhost|{}", key)};
    }
  };
  set_text("hostname", out_.hostname);
  set_text("platform", out_.hardware);
  set_text("hwsku", out_.hardware);
  const auto asn = field(object, "bgp_asn");
  if (!asn || *asn == "None" || *asn == "null" || asn->empty()) return;
  if (const auto value = number(object, "bgp_asn", 1, 4294967295)) {
    out_.asn = {*value, place_of(object, "bgp_asn"), "DEVICE_METADATA|localhost|bgp_asn"};
  }
}

InterfaceConfig* Reader::find(std::string_view name) {
  const auto found = interfaces_.find(name);
  return found == interfaces_.end() ? nullptr : &out_.interfaces[found->second];
}

InterfaceConfig& Reader::interface(std::string_view name, Kind kind, const SourceLocation& place) {
  if (InterfaceConfig* known = find(name)) return *known;
  interfaces_.emplace(name, out_.interfaces.size());
  InterfaceConfig& added = out_.interfaces.emplace_back();
  added.name = name;
  added.kind = kind;
  added.place = place;
  return added;
}

bool Reader::check_port(std::string_view name, const SourceLocation& place, std::string_view table) {
  if (row("PORT", name) != nullptr) return true;
  if (is_part()) {
    if (!find(name)) (void)part_port(name, place, table);
    return true;
  }
  error(place, fmt::format("{} refers to port {}, which is not in PORT", table, in_backticks(name)));
  return false;
}

// SONiC itself rejects such a file, so this is an error, reported once.
InterfaceConfig& Reader::part_port(std::string_view name, const SourceLocation& place, std::string_view table) {
  if (!part_told_) {
    error(place,
          fmt::format("{} refers to port {}, but the file has no PORT table and is read as a partial configuration",
                      table, in_backticks(name)));
  }
  part_told_ = true;
  return interface(name, Kind::front_panel, place);
}

void Reader::read_ports() {
  (void)rows("PORT");
  const YamlNode* table = root_.find("PORT");
  if (table == nullptr) return;
  for (const YamlEntry& entry : table->entries) {  // in file order
    if (entry.value.kind == YamlNode::Kind::mapping) read_port(entry);
  }
  number_cages();
}

void Reader::read_port(const YamlEntry& entry) {
  const YamlNode& object = entry.value;
  InterfaceConfig& port = interface(entry.key, Kind::front_panel, entry.key_place);
  const auto path = [&](std::string_view key) { return fmt::format("PORT|{}|{}", entry.key, key); };
  if (const auto text = field(object, "description"); text && !text->empty()) {
    port.description = {std::string(*text), place_of(object, "description"), path("description")};
  }
  if (const auto state = choice(object, "admin_status", {"up", "down"})) {
    port.enabled = {*state == "up", place_of(object, "admin_status"), path("admin_status")};
  } else if (object.find("admin_status") == nullptr) {
    port.enabled = vendor_default(false, "SONiC keeps a port without `admin_status` down");
  }
  if (const auto speed = number(object, "speed", 1, 1'600'000)) {  // Mb/s
    port.speed = {BitRate(*speed * 1'000'000), place_of(object, "speed"), path("speed")};
  }
  if (const auto mtu = number(object, "mtu", 68, 9216)) port.mtu = {*mtu, place_of(object, "mtu"), path("mtu")};
  if (const auto fec = choice(object, "fec", {"rs", "fc", "none", "auto"})) {
    port.fec = {std::string(*fec), place_of(object, "fec"), path("fec")};
  }
  if (const auto autoneg = choice(object, "autoneg", {"on", "off"})) {
    port.autoneg = {*autoneg == "on", place_of(object, "autoneg"), path("autoneg")};
  }
  (void)choice(object, "pfc_asym", {"on", "off"});
  (void)choice(object, "link_training", {"on", "off"});
  (void)choice(object, "mode", {"routed", "access", "trunk"});
  (void)number(object, "subport", 0, 8);
  if (const auto index = number(object, "index", 0, 65535)) index_.emplace(entry.key, *index);
  if (const auto lanes = field(object, "lanes")) lanes_.emplace(entry.key, *lanes);
  if (const auto alias = field(object, "alias")) port.cage = cage_of_alias(*alias);
}

// Ports with the same index are breakout ports of one cage, in the order of their lanes. Platforms number the index
// from 1 or from 0; the front panel starts at 1.
void Reader::number_cages() {
  const bool from_zero = std::any_of(index_.begin(), index_.end(), [](const auto& entry) { return entry.second == 0; });
  std::map<std::int64_t, std::vector<InterfaceConfig*>> cages;
  for (InterfaceConfig& port : out_.interfaces) {
    const auto index = index_.find(port.name);
    if (index != index_.end()) port.cage = static_cast<int>(index->second) + (from_zero ? 1 : 0);
    if (port.cage > 0) cages[port.cage].push_back(&port);
  }
  for (auto& [cage, pieces] : cages) {
    std::stable_sort(pieces.begin(), pieces.end(), [&](const InterfaceConfig* a, const InterfaceConfig* b) {
      return first_lane(lanes_[a->name]) < first_lane(lanes_[b->name]);
    });
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i]->part = static_cast<int>(i);
      pieces[i]->parts = static_cast<int>(pieces.size());
    }
  }
}

void Reader::read_port_channels() {
  for (const auto& [name, entry] : rows("PORTCHANNEL")) {
    InterfaceConfig& bundle = interface(name, Kind::port_channel, entry->key_place);
    if (const auto mtu = number(entry->value, "mtu", 68, 9216)) {
      bundle.mtu = {*mtu, place_of(entry->value, "mtu"), fmt::format("PORTCHANNEL|{}|mtu", name)};
    }
  }
  for (const auto& [key, entry] : rows("PORTCHANNEL_MEMBER")) {
    const auto parts = key_parts(key);
    if (parts.size() != 2) {
      error(entry->key_place, fmt::format("{} is not a `PortChannel|Port` key", in_backticks(key)));
      continue;
    }
    if (!check_port(parts[1], entry->key_place, "PORTCHANNEL_MEMBER")) continue;
    if (InterfaceConfig* port = find(parts[1])) {
      port->port_channel = {std::string(parts[0]), entry->key_place, fmt::format("PORTCHANNEL_MEMBER|{}", key)};
    }
  }
}

void Reader::read_vrfs() {
  for (const auto& [name, entry] : rows("VRF")) {
    VrfConfig& vrf = out_.vrfs.emplace_back();
    vrf.name = name;
    vrf.place = entry->key_place;
  }
  const YamlEntry* management = row("MGMT_VRF_CONFIG", "vrf_global");
  if (management != nullptr && field(management->value, "mgmtVrfEnabled").value_or("false") == "true") {
    VrfConfig& vrf = out_.vrfs.emplace_back();
    vrf.name = "mgmt";
    vrf.place = management->key_place;
    management_vrf_ = {"mgmt", place_of(management->value, "mgmtVrfEnabled"),
                       "MGMT_VRF_CONFIG|vrf_global|mgmtVrfEnabled"};
  }
}

void Reader::read_vlans() {
  for (const auto& [name, entry] : rows("VLAN")) {
    VlanConfig vlan;
    vlan.name = name;
    vlan.place = entry->key_place;
    const auto given = number(entry->value, "vlanid", 1, 4094);
    const auto named = name.substr(0, 4) == "Vlan" ? parse_digits(name.substr(4)) : std::nullopt;
    const std::int64_t id = given.value_or(named.value_or(0));
    if (id < 1 || id > 4094) {
      error(entry->key_place, fmt::format("{} is not a VLAN: expected `Vlan1` to `Vlan4094`", in_backticks(name)));
      continue;
    }
    vlan.id = static_cast<int>(id);
    if (const auto text = field(entry->value, "description"); text && !text->empty()) vlan.name = *text;
    out_.vlans.push_back(std::move(vlan));
  }
  std::sort(out_.vlans.begin(), out_.vlans.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

void Reader::read_vlan_members() {
  for (const auto& [key, entry] : rows("VLAN_MEMBER")) {
    const auto parts = key_parts(key);
    const auto id =
        parts.size() == 2 && parts[0].substr(0, 4) == "Vlan" ? parse_digits(parts[0].substr(4)) : std::nullopt;
    if (!id || *id < 1 || *id > 4094) {
      error(entry->key_place, fmt::format("{} is not a `Vlan|Port` key", in_backticks(key)));
      continue;
    }
    InterfaceConfig* port = find(parts[1]);
    if (port == nullptr && is_part()) port = &part_port(parts[1], entry->key_place, "VLAN_MEMBER");
    if (port == nullptr) {
      error(entry->key_place, fmt::format("VLAN_MEMBER refers to {}, which is not in PORT", in_backticks(parts[1])));
      continue;
    }
    const auto mode = choice(entry->value, "tagging_mode", {"tagged", "untagged", "priority_tagged"});
    Setting<int> vlan(static_cast<int>(*id), entry->key_place, fmt::format("VLAN_MEMBER|{}", key));
    if (mode.value_or("tagged") == "tagged") {
      port->tagged_vlans.push_back(std::move(vlan));
    } else {
      port->access_vlan = std::move(vlan);
    }
  }
}

void Reader::read_addresses(std::string_view table, Kind kind) {
  for (const auto& [key, entry] : rows(table)) {
    const std::size_t bar = key.find('|');
    const std::string_view name = key.substr(0, bar);
    if (bar != std::string_view::npos) {
      read_address(*entry, name, key.substr(bar + 1), kind);
      continue;
    }
    if (table == "INTERFACE" && !check_port(name, entry->key_place, table)) continue;
    InterfaceConfig& made = interface(name, kind, entry->key_place);
    if (kind == Kind::svi) {
      made.svi_vlan = name.substr(0, 4) == "Vlan" && name.size() <= 8
                          ? static_cast<int>(parse_digits(name.substr(4)).value_or(0))
                          : 0;
    }
    for (const std::string_view vrf_field : {"vrf_name", "vnet_name"}) {
      if (const auto vrf = field(entry->value, vrf_field); vrf && !vrf->empty() && *vrf != "default") {
        made.vrf = {std::string(*vrf), place_of(entry->value, vrf_field),
                    fmt::format("{}|{}|{}", table, name, vrf_field)};
      }
    }
  }
}

void Reader::read_address(const YamlEntry& entry, std::string_view name, std::string_view prefix, Kind kind) {
  if (kind == Kind::front_panel && row("INTERFACE", name) == nullptr) {
    error(entry.key_place, fmt::format("{} has an address, but INTERFACE has no row `{}`", in_backticks(entry.key),
                                       printable(name, 60)));
    return;
  }
  if (prefix.find(':') != std::string_view::npos) {
    if (!parse_ipv6(prefix.substr(0, prefix.find('/'))).ok()) {
      error(entry.key_place, fmt::format("{} is not an address with a prefix length", in_backticks(prefix)));
    }
    return;  // IPv6 is not modeled
  }
  const std::size_t slash = prefix.find('/');
  const auto address = parse_ipv4(prefix.substr(0, slash));
  const auto length = slash == std::string_view::npos ? std::nullopt : parse_digits(prefix.substr(slash + 1));
  if (!address.ok() || !length || *length > 32) {
    error(entry.key_place, fmt::format("{} is not an address with a prefix length", in_backticks(prefix)));
    return;
  }
  InterfaceConfig& made = interface(name, kind, entry.key_place);
  if (kind == Kind::management && management_vrf_.known()) made.vrf = management_vrf_;
  if (kind == Kind::svi && made.svi_vlan == 0 && name.substr(0, 4) == "Vlan" && name.size() <= 8) {
    made.svi_vlan = static_cast<int>(parse_digits(name.substr(4)).value_or(0));
  }
  const auto bits = *length == 0 ? 0U : address.value().bits & (0xFFFFFFFFU << (32U - static_cast<unsigned>(*length)));
  made.addresses.emplace_back(Ipv4Prefix{Ipv4{bits}, static_cast<std::uint8_t>(*length)}, entry.key_place,
                              std::string(entry.key));
  made.own.push_back(address.value());
}

void Reader::read_cable_lengths() {
  for (const auto& [group, entry] : rows("CABLE_LENGTH")) {
    check_name(*entry);
    for (const YamlEntry& port_entry : entry->value.entries) {
      if (!check_port(port_entry.key, port_entry.key_place, "CABLE_LENGTH")) continue;
      const std::string_view text = trim(port_entry.value.scalar);
      const auto meters_given =
          !text.empty() && text.back() == 'm' ? parse_digits(text.substr(0, text.size() - 1)) : std::nullopt;
      if (!meters_given || *meters_given > 1'000'000) {
        error(port_entry.value.place, fmt::format("cable length {} is not a whole number of meters such as `40m`",
                                                  in_backticks(port_entry.value.scalar)));
        continue;
      }
      if (InterfaceConfig* port = find(port_entry.key)) {
        port->cable_length = {meters(*meters_given), port_entry.value.place,
                              fmt::format("CABLE_LENGTH|{}|{}", group, port_entry.key)};
      }
    }
  }
}

}  // namespace weft::config::sonic
