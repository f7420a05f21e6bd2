// Shared by the parts of the NVUE (Cumulus Linux 5) reader. Both forms, `nv set` commands and the YAML of `nv config
// show`, become commands: a path of words, each with its location. Internal to nvue*.cc; read_nvue() is declared in
// switch_config.h.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "config/config_lines.h"
#include "config/switch_config.h"

namespace weft::config::nvue {

struct Command {
  std::vector<std::string_view> words;
  std::vector<SourceLocation> places;

  [[nodiscard]] std::string_view at(std::size_t i) const { return i < words.size() ? words[i] : std::string_view(); }
  [[nodiscard]] SourceLocation place(std::size_t i) const {
    return places.empty() ? SourceLocation() : places[std::min(i, places.size() - 1)];
  }
  [[nodiscard]] std::size_t size() const { return words.size(); }
  [[nodiscard]] bool is(std::size_t from, std::initializer_list<std::string_view> expected) const;
  [[nodiscard]] SourceLocation last() const { return place(size() - 1); }
};

struct MappingProfile {
  Setting<std::string> trust;  // l2, l3, port, both
  std::array<Setting<int>, kDscps> dscp;
  std::array<Setting<int>, kClasses> pcp;
  Setting<int> port_default;
};

struct PfcProfile {
  std::array<Setting<bool>, kClasses> priority;
  Setting<bool> tx;
  Setting<bool> rx;
  Setting<Bytes> xoff_threshold;
  Setting<Bytes> xon_threshold;
  Setting<Bytes> port_buffer;
};

struct QueueProfile {  // congestion-control and egress-scheduler
  std::array<QueueQos, kClasses> queue;
  std::array<bool, kClasses> listed{};
};

struct RemarkProfile {
  std::array<Setting<int>, kClasses> dscp;
};

struct Profiles {
  std::map<std::string, MappingProfile, std::less<>> mapping;
  std::map<std::string, PfcProfile, std::less<>> pfc;
  std::map<std::string, QueueProfile, std::less<>> congestion;
  std::map<std::string, QueueProfile, std::less<>> scheduler;
  std::map<std::string, std::array<Setting<int>, kClasses>, std::less<>> queues;  // switch priority to traffic class
  std::map<std::string, RemarkProfile, std::less<>> remark;
  std::set<std::string, std::less<>> pause;
};

struct InterfaceQos {
  Setting<std::string> mapping;
  Setting<std::string> pfc;
  Setting<std::string> congestion;
  Setting<std::string> scheduler;
  Setting<std::string> queues;
  Setting<std::string> remark;
  Setting<std::string> pause;
  Setting<bool> watchdog;
};

struct Rule {
  AclRule rule;
  bool ipv4 = true;
  bool narrowed = false;
  bool has_action = false;
};

class Reader {
 public:
  Reader(const Sources& sources, FileId file, Diagnostics& diagnostics);
  std::optional<SwitchConfig> read();

 private:
  // --- nvue.cc
  bool read_commands();
  bool read_yaml();
  void flatten(const YamlNode& node, Command& path);
  void take(const Command& command);
  void warn(const SourceLocation& place, std::string message);
  void error_once(const SourceLocation& place, std::string message);
  bool spend(std::size_t work, const SourceLocation& place);
  std::optional<std::int64_t> number(const Command& command, std::size_t word, std::int64_t low, std::int64_t high);
  std::vector<int> list(const Command& command, std::size_t word, int low, int high);
  static bool is_on(std::string_view word);
  void finish();

  // --- nvue_interface.cc
  void take_interface(const Command& command);
  std::vector<std::string> interface_names(std::string_view text);
  std::size_t add_interface(const std::string& name, const SourceLocation& place);
  bool set_interface(const Command& command, std::size_t index);
  bool set_link(const Command& command, InterfaceConfig& to);
  bool set_bridge(const Command& command, std::size_t index);
  bool set_interface_qos(const Command& command, InterfaceQos& to, InterfaceConfig& interface);
  void take_bridge(const Command& command);
  void add_vlans(const std::vector<int>& ids, const SourceLocation& place);
  void finish_interfaces();

  // --- nvue_qos.cc
  void take_qos(const Command& command);
  void take_roce(const Command& command);
  void take_mapping(const Command& command);
  void take_pfc_profile(const Command& command);
  void take_congestion(const Command& command);
  void take_scheduler(const Command& command);
  void finish_qos();
  PortQos port_qos(const InterfaceQos& interface);
  template <class Profile>
  const Profile* profile(const std::map<std::string, Profile, std::less<>>& all, const Setting<std::string>& named,
                         std::string_view kind);
  void apply_mapping(const InterfaceQos& interface, PortQos& qos);
  void apply_queues(const InterfaceQos& interface, PortQos& qos);
  void apply_ecn(const InterfaceQos& interface, PortQos& qos);
  void apply_scheduling(const InterfaceQos& interface, PortQos& qos);
  void apply_pfc(const InterfaceQos& interface, PortQos& qos);
  void apply_watchdog(const InterfaceQos& interface, PortQos& qos);

  // --- nvue_system.cc
  void take_system(const Command& command);
  void take_service(const Command& command);
  void take_aaa(const Command& command);
  void take_acl(const Command& command);
  bool take_match(const Command& command, Rule& rule);
  void take_vrf(const Command& command);
  void take_bgp(const Command& command, std::size_t from, const std::string& vrf);
  void set_neighbor(const Command& command, std::size_t from, NeighborConfig& neighbor);
  void take_static(const Command& command, const std::string& vrf);
  void take_mlag(const Command& command);
  void finish_acls();
  void finish_bgp();
  VrfConfig& vrf_named(std::string_view name, const SourceLocation& place);

  const Sources& sources_;
  FileId file_;
  Diagnostics& diagnostics_;
  SwitchConfig out_;
  YamlNode yaml_;
  std::vector<ConfigLine> lines_;
  std::size_t recognized_ = 0;
  std::size_t work_ = 0;
  std::set<SourceLocation, decltype(&comes_before)> reported_{&comes_before};
  std::map<std::string, std::size_t, std::less<>> interfaces_;
  std::vector<InterfaceQos> interface_qos_;
  std::vector<Setting<int>> untagged_;       // by interface
  std::vector<std::set<int>> tagged_known_;  // by interface
  std::vector<bool> in_bridge_;
  std::map<int, int> breakout_;
  std::set<int> vlans_;
  Setting<int> bridge_untagged_;
  Profiles profiles_;
  Setting<bool> roce_;
  Setting<std::string> roce_mode_;
  Setting<std::int64_t> watchdog_interval_;  // milliseconds
  Setting<std::int64_t> watchdog_robustness_;
  std::map<std::string, std::map<std::int64_t, Rule>, std::less<>> rules_;
  std::map<std::string, std::size_t, std::less<>> acls_;
  std::map<std::string, std::size_t, std::less<>> vrfs_;
  std::map<std::pair<std::string, std::string>, std::size_t> neighbors_;  // VRF and peer
  std::map<std::string, NeighborConfig, std::less<>> peer_groups_;
  std::map<std::size_t, std::string> group_of_;
  std::map<std::int64_t, Setting<std::string>> order_;  // authentication methods
};

}  // namespace weft::config::nvue
