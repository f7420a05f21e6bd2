#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/sonic_reader.h"

namespace weft::config {
namespace sonic {

namespace {

// No row of a real SONiC table is this long; without a limit, a row shared by all ports could make reading quadratic.
constexpr std::size_t kMaxFields = 4096;

}  // namespace

std::vector<std::string_view> key_parts(std::string_view key) { return split_text(key, '|', 8); }

Reader::Reader(const YamlNode& root, FileId file, Diagnostics& diagnostics) : root_(root), diagnostics_(diagnostics) {
  out_.dialect = Dialect::sonic;
  out_.file = file;
}

SwitchConfig Reader::read() {
  read_metadata();
  read_ports();
  read_port_channels();
  read_vrfs();
  read_vlans();
  read_addresses("INTERFACE", InterfaceConfig::Kind::front_panel);
  read_addresses("PORTCHANNEL_INTERFACE", InterfaceConfig::Kind::port_channel);
  read_addresses("VLAN_INTERFACE", InterfaceConfig::Kind::svi);
  read_addresses("VLAN_SUB_INTERFACE", InterfaceConfig::Kind::other);
  read_addresses("LOOPBACK_INTERFACE", InterfaceConfig::Kind::loopback);
  read_addresses("MGMT_INTERFACE", InterfaceConfig::Kind::management);
  read_vlan_members();
  read_cable_lengths();
  read_routes();
  read_neighbors();
  read_acl_tables();
  read_management();
  read_hash();
  read_pools();
  read_qos();
  count_skipped();
  return std::move(out_);
}

const Rows& Reader::rows(std::string_view table) {
  const auto known = tables_.find(table);
  if (known != tables_.end()) return known->second;
  used_tables_.emplace(table);
  Rows& found = tables_[std::string(table)];
  const YamlNode* node = root_.find(table);
  if (node == nullptr) return found;
  if (node->kind != YamlNode::Kind::mapping) {
    error(node->place, fmt::format("table `{}` is {}: expected an object", table, describe_kind(*node)));
    return found;
  }
  for (const YamlEntry& entry : node->entries) {
    const bool too_large = entry.value.entries.size() > kMaxFields && table != "CABLE_LENGTH";
    if (entry.value.kind == YamlNode::Kind::mapping && !too_large) {
      found.emplace(entry.key, &entry);
    } else if (too_large) {
      error(entry.key_place,
            fmt::format("`{}|{}` has more than {} fields", table, printable(entry.key, 60), kMaxFields));
    } else {
      error(entry.value.place, fmt::format("`{}|{}` is {}: expected an object", table, printable(entry.key, 60),
                                           describe_kind(entry.value)));
    }
  }
  return found;
}

const YamlEntry* Reader::row(std::string_view table, std::string_view key) {
  const Rows& all = rows(table);
  const auto found = all.find(key);
  return found == all.end() ? nullptr : found->second;
}

SourceLocation Reader::place_of(const YamlNode& object, std::string_view key) {
  const YamlNode* value = object.find(key);
  return value == nullptr ? object.place : value->place;
}

// A row that several ports share is read once per port; its errors are reported once.
void Reader::error(const SourceLocation& place, std::string message, std::string hint) {
  if (reported_.insert(place).second) diagnostics_.error(place, std::move(message), std::move(hint));
}

void Reader::warning(const SourceLocation& place, std::string message) {
  if (reported_.insert(place).second) diagnostics_.warning(place, std::move(message));
}

std::optional<std::string_view> Reader::field(const YamlNode& object, std::string_view key) {
  const YamlNode* value = object.find(key);
  if (value == nullptr || value->kind == YamlNode::Kind::null) return std::nullopt;
  if (value->kind != YamlNode::Kind::scalar) {
    error(value->place, fmt::format("`{}` is {}: expected text", key, describe_kind(*value)));
    return std::nullopt;
  }
  const std::string_view text = trim(value->scalar);
  if (text.size() != value->scalar.size()) {
    warning(value->place, fmt::format("`{}` has spaces around its value {}", key, in_backticks(value->scalar)));
  }
  return text;
}

std::optional<std::int64_t> Reader::number_of(const YamlNode& value, std::string_view what, std::int64_t low,
                                              std::int64_t high) {
  if (value.kind == YamlNode::Kind::scalar) {
    const std::string_view text = trim(value.scalar);
    const bool negative = !text.empty() && text.front() == '-';
    const auto digits = parse_digits(negative ? text.substr(1) : text);
    const std::int64_t result = digits ? (negative ? -*digits : *digits) : 0;
    if (digits && result >= low && result <= high) return result;
  }
  const std::string given = value.kind == YamlNode::Kind::scalar ? in_backticks(value.scalar) : describe_kind(value);
  error(value.place, fmt::format("`{}` is {}: expected a number between {} and {}", what, given, low, high));
  return std::nullopt;
}

std::optional<std::int64_t> Reader::number(const YamlNode& object, std::string_view key, std::int64_t low,
                                           std::int64_t high) {
  if (!field(object, key)) return std::nullopt;
  return number_of(*object.find(key), key, low, high);
}

std::optional<std::string_view> Reader::choice(const YamlNode& object, std::string_view key,
                                               const std::vector<std::string_view>& words) {
  const auto text = field(object, key);
  if (!text || std::find(words.begin(), words.end(), *text) != words.end()) return text;
  error(place_of(object, key), fmt::format("`{}` is {}: expected {}", key, in_backticks(*text),
                                           fmt::join(words, words.size() == 2 ? " or " : ", ")));
  return std::nullopt;
}

std::string Reader::reference_name(const YamlNode& value, std::string_view table) {
  std::string_view text = trim(value.scalar);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::string(text);
  text = text.substr(1, text.size() - 2);  // releases before 202111
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || text.substr(0, bar) != table) return {};
  return std::string(text.substr(bar + 1));
}

const YamlEntry* Reader::reference(const YamlNode& object, std::string_view key, std::string_view table) {
  const auto text = field(object, key);
  if (!text) return nullptr;
  const std::string name = reference_name(*object.find(key), table);
  const YamlEntry* found = row(table, name);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& [known, entry] : rows(table)) {
      if (names.size() < 100) names.push_back(known);
    }
    error(place_of(object, key), fmt::format("`{}` refers to {}, which is not in {}", key, in_backticks(*text), table),
          did_you_mean(name, names));
  }
  return found;
}

void Reader::check_name(const YamlEntry& entry) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  const auto rest = [&](char c) { return plain(c) || c == '-' || c == '_'; };
  const std::string& name = entry.key;
  if (!name.empty() && name.size() <= 32 && plain(name.front()) && std::all_of(name.begin(), name.end(), rest)) return;
  error(entry.key_place,
        fmt::format("{} is not a valid name: expected 1 to 32 letters, digits, - and _", in_backticks(name)));
}

void Reader::count_skipped() {
  std::uint32_t skipped = 0;
  for (const YamlEntry& table : root_.entries) {
    if (used_tables_.find(table.key) != used_tables_.end()) continue;
    skipped += static_cast<std::uint32_t>(std::max<std::size_t>(1, table.value.entries.size()));
  }
  out_.skipped += skipped;
}

namespace {

// Tables of which any usable config_db.json has at least one.
constexpr std::string_view kTables[] = {"DEVICE_METADATA",
                                        "PORT",
                                        "PORT_QOS_MAP",
                                        "DSCP_TO_TC_MAP",
                                        "DOT1P_TO_TC_MAP",
                                        "BUFFER_PG",
                                        "BUFFER_POOL",
                                        "BUFFER_PROFILE",
                                        "QUEUE",
                                        "SCHEDULER",
                                        "WRED_PROFILE",
                                        "PFC_WD",
                                        "VLAN",
                                        "INTERFACE",
                                        "LOOPBACK_INTERFACE",
                                        "ACL_TABLE",
                                        "ACL_RULE",
                                        "BGP_NEIGHBOR",
                                        "STATIC_ROUTE",
                                        "MGMT_INTERFACE",
                                        "CABLE_LENGTH",
                                        "TC_TO_DSCP_MAP",
                                        "TC_TO_QUEUE_MAP",
                                        "TC_TO_PRIORITY_GROUP_MAP",
                                        "MAP_PFC_PRIORITY_TO_QUEUE",
                                        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
                                        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
                                        "SYSLOG_SERVER",
                                        "NTP_SERVER",
                                        "VRF",
                                        "BGP_PEER_RANGE"};

}  // namespace
}  // namespace sonic

std::optional<SwitchConfig> read_sonic(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const auto root = parse_json(sources, file, diagnostics);
  if (!root) return std::nullopt;
  const auto known = [&](std::string_view table) { return root->find(table) != nullptr; };
  if (root->kind != YamlNode::Kind::mapping ||
      std::none_of(std::begin(sonic::kTables), std::end(sonic::kTables), known)) {
    diagnostics.error(root->place, "not a SONiC config_db.json: none of its tables found");
    return std::nullopt;
  }
  return sonic::Reader(*root, file, diagnostics).read();
}

}  // namespace weft::config
