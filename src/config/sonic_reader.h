// Shared by the parts of the SONiC reader: the parsed config_db.json, its tables by key, and value parsing with the
// ranges of SONiC's YANG models. Internal to sonic*.cc; read_sonic() is declared in switch_config.h.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "config/switch_config.h"

namespace weft::config::sonic {

// A row of a table; `key` is the part after "TABLE|".
using Rows = std::map<std::string_view, const YamlEntry*>;

// The rows of the tables for one port's QoS.
struct PortRows {
  const YamlEntry* map = nullptr;  // PORT_QOS_MAP
  std::array<const YamlEntry*, kClasses> queues{};
  std::array<const YamlEntry*, kClasses> groups{};
  const YamlEntry* watchdog = nullptr;
};

class Reader {
 public:
  Reader(const YamlNode& root, FileId file, Diagnostics& diagnostics);

  SwitchConfig read();

 private:
  // --- sonic.cc: tables and values
  const Rows& rows(std::string_view table);
  const YamlEntry* row(std::string_view table, std::string_view key);
  // The value of a field as trimmed text, with a warning if it had spaces around it; nullopt if absent.
  std::optional<std::string_view> field(const YamlNode& object, std::string_view key);
  std::optional<std::int64_t> number(const YamlNode& object, std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<std::int64_t> number_of(const YamlNode& value, std::string_view what, std::int64_t low,
                                        std::int64_t high);
  // One of `words`; otherwise an error that lists them.
  std::optional<std::string_view> choice(const YamlNode& object, std::string_view key,
                                         const std::vector<std::string_view>& words);
  // The row that a field refers to, in the old form "[TABLE|name]" or the new one; an error if it does not exist.
  const YamlEntry* reference(const YamlNode& object, std::string_view key, std::string_view table);
  std::string reference_name(const YamlNode& value, std::string_view table);
  void check_name(const YamlEntry& entry);  // [a-zA-Z0-9][-a-zA-Z0-9_]{0,31}
  void error(const SourceLocation& place, std::string message, std::string hint = {});
  void warning(const SourceLocation& place, std::string message);
  static SourceLocation place_of(const YamlNode& object, std::string_view key);
  void count_skipped();

  // --- sonic_ports.cc: interfaces, VLANs, VRFs
  void read_metadata();
  void read_ports();
  void read_port(const YamlEntry& entry);
  void number_cages();
  void read_port_channels();
  void read_vlans();
  void read_vlan_members();
  void read_addresses(std::string_view table, InterfaceConfig::Kind kind);
  void read_address(const YamlEntry& entry, std::string_view name, std::string_view prefix, InterfaceConfig::Kind kind);
  void read_vrfs();
  void read_cable_lengths();
  InterfaceConfig& interface(std::string_view name, InterfaceConfig::Kind kind, const SourceLocation& place);
  InterfaceConfig* find(std::string_view name);
  bool check_port(std::string_view name, const SourceLocation& place, std::string_view table);
  // A partial configuration, such as the qos.json and buffers.json that `sonic-cfggen` renders: its ports are those it
  // names, and missing tables may be in another file.
  [[nodiscard]] bool is_part() const { return root_.find("PORT") == nullptr; }
  InterfaceConfig& part_port(std::string_view name, const SourceLocation& place, std::string_view table);

  // --- sonic_services.cc: routes, BGP, access lists, management
  void read_routes();
  void read_route(const YamlEntry& entry);
  void read_neighbors();
  void read_neighbor(const YamlEntry& entry);
  void read_acl_tables();
  void read_acl_rules();
  bool read_acl_rule(const YamlEntry& entry, std::string_view name, AclConfig& acl);
  void bind_acl(const AclConfig& acl, const YamlNode& table);
  void read_management();
  void read_keys(std::string_view table, std::vector<Setting<std::string>>& out);
  void read_hash();

  // --- sonic_buffer.cc: pools, profiles, schedulers, WRED
  void read_pools();
  void check_profiles();
  void check_profile_uses();
  void check_schedulers();
  void check_wred();
  void check_watchdog();
  void check_lossless_parameters();
  QueueQos queue_qos(const YamlEntry* entry, BitRate speed);
  void apply_wred(const YamlEntry& wred, QueueQos& queue);
  void apply_scheduler(const YamlEntry& scheduler, BitRate speed, QueueQos& queue);
  GroupQos group_qos(const YamlEntry* entry);
  WatchdogQos watchdog_qos(const YamlEntry* entry, const YamlEntry* map);

  // --- sonic_qos.cc: maps and their binding to ports
  void read_qos();
  void check_maps();
  void check_map(std::string_view table, std::int64_t key_high, std::int64_t value_high, std::string_view key_is,
                 std::string_view value_is);
  void collect_port_rows();
  void collect_indexed(std::string_view table);
  std::string qos_key(const PortRows& rows, const InterfaceConfig& port);
  PortQos port_qos(const PortRows& rows, const InterfaceConfig* port);
  void apply_pfc(const PortRows& rows, PortQos& qos);
  void apply_automatic_headroom(const InterfaceConfig* port, PortQos& qos);
  template <std::size_t N>
  void apply_map(const YamlEntry* port_row, std::string_view field_name, std::string_view table,
                 std::array<Setting<int>, N>& out, bool identity_without, std::string_view without);
  const YamlEntry* bound_map(const YamlEntry* port_row, std::string_view field_name, std::string_view table);

  const YamlNode& root_;
  Diagnostics& diagnostics_;
  SwitchConfig out_;
  std::map<std::string, Rows, std::less<>> tables_;
  std::set<std::string, std::less<>> used_tables_;
  std::map<std::string, std::size_t, std::less<>> interfaces_;
  std::map<std::string, std::string, std::less<>> lanes_;  // by port
  std::map<std::string, std::int64_t, std::less<>> index_;
  bool part_told_ = false;  // the missing PORT table was reported
  std::map<std::string, PortRows, std::less<>> port_rows_;
  Setting<std::string> management_vrf_;
  std::set<SourceLocation, decltype(&comes_before)> reported_{&comes_before};  // errors of shared rows, reported once
};

// Splits config_db keys: "a|b" becomes {"a", "b"}.
[[nodiscard]] std::vector<std::string_view> key_parts(std::string_view key);

}  // namespace weft::config::sonic
