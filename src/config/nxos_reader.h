// Shared by the parts of the NX-OS reader. A running config is a list of commands in nested blocks: the reader tracks
// the current block and passes each line to its handler. Internal to nxos*.cc; read_nxos() is declared in
// switch_config.h.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_lines.h"
#include "config/switch_config.h"

namespace weft::config::nxos {

enum class Block {
  global,
  interface,
  vlan,
  vrf,
  class_map,
  policy_map,
  system_qos,
  bgp,
  acl,
  object_group,
  vpc,
  aaa_group,
  other,
};

struct QosMatch {           // one `match` line
  std::vector<bool> dscps;  // kDscps, or empty
  std::vector<bool> cos;    // kClasses, or empty
  int group = -1;           // qos-group
  bool other = false;       // matches an access list or protocol, not a marking
};

struct ClassMap {
  bool all = false;  // match-all
  std::vector<QosMatch> matches;
};

struct PolicyClass {
  std::string name;
  SourceLocation place;
  Setting<int> group;  // set qos-group
  Setting<int> dscp;   // set dscp
  Setting<int> pause_cos;
  Setting<Bytes> buffer_size;
  Setting<Bytes> pause_threshold;
  Setting<Bytes> resume_threshold;
  QueueQos queue;
};

struct PolicyMap {
  SourceLocation place;
  std::vector<PolicyClass> classes;
};

// Policies, by kind: "qos", "network-qos", "queuing".
using Policies = std::map<std::string, PolicyMap, std::less<>>;

struct ServicePolicies {
  Setting<std::string> qos;
  Setting<std::string> network;
  Setting<std::string> queuing_out;
  Setting<std::string> queuing_in;
};

// Settings of an interface that become part of its PortQos.
struct InterfaceQos {
  ServicePolicies policies;
  Setting<model::PfcMode> pfc_mode;
  Setting<bool> watchdog;
};

struct Switchport {
  bool access = false;
  bool trunk = false;
  bool routed = false;  // no switchport
  Setting<int> access_vlan;
  Setting<int> native_vlan;
  bool has_allowed = false;
  std::vector<bool> allowed;  // 4095
  SourceLocation allowed_place;
};

class Reader {
 public:
  Reader(std::string_view text, FileId file, Diagnostics& diagnostics);
  std::optional<SwitchConfig> read();

 private:
  // --- nxos.cc: lines and blocks
  bool prepare(ConfigLine& line);  // strips prompts and comments; false if nothing is left
  void skip_banner(std::size_t& i);
  void take(const ConfigLine& line);
  bool take_global(const ConfigLine& line);
  bool open_block(const ConfigLine& line);
  bool take_in_block(const ConfigLine& line);
  bool take_vlan(const ConfigLine& line);
  void error_once(const SourceLocation& place, std::string message);
  bool spend(std::size_t work, const ConfigLine& line);
  void warn(const ConfigLine& line, std::size_t word, std::string message);
  void finish();

  // --- nxos_interface.cc
  bool open_interface(const ConfigLine& line);
  std::vector<std::string> interface_names(std::string_view text);
  bool add_interface_piece(std::string_view piece, std::string& family, std::vector<std::string>& names);
  std::size_t add_interface(const std::string& name, const SourceLocation& place);
  bool take_interface(const ConfigLine& line);
  bool take_link(const ConfigLine& line, std::size_t at, bool no);
  bool take_address(const ConfigLine& line);
  bool take_switchport(const ConfigLine& line, bool no);
  bool take_allowed_vlans(const ConfigLine& line);
  bool take_pfc(const ConfigLine& line, bool no);
  void take_breakout(const ConfigLine& line);
  void finish_interfaces();
  void finish_switchport(std::size_t index);
  template <class Use>
  void each_interface(const ConfigLine& line, Use use);

  // --- nxos_qos.cc
  bool open_class_map(const ConfigLine& line);
  bool open_policy_map(const ConfigLine& line);
  bool take_match(const ConfigLine& line);
  bool take_policy(const ConfigLine& line);
  bool take_policy_action(const ConfigLine& line, PolicyClass& policy);
  void take_random_detect(const ConfigLine& line, PolicyClass& policy);
  void take_pause(const ConfigLine& line, PolicyClass& policy);
  bool take_service_policy(const ConfigLine& line, ServicePolicies& out);
  bool take_global_pfc(const ConfigLine& line);
  std::vector<bool> dscp_set(const ConfigLine& line, std::size_t word);
  void finish_qos();
  PortQos port_qos(const InterfaceQos& interface);
  const PolicyMap* policy(const Policies& policies, const Setting<std::string>& own,
                          const Setting<std::string>& system);
  void apply_classification(const PolicyMap* policy, PortQos& qos);
  void apply_network(const PolicyMap* policy, const InterfaceQos& interface, PortQos& qos);
  void apply_queuing(const PolicyMap* out, const PolicyMap* in, PortQos& qos);
  void apply_watchdog(const InterfaceQos& interface, PortQos& qos);
  int group_of_class(const PolicyClass& policy_class, const std::map<std::string, ClassMap, std::less<>>& maps);

  // --- nxos_acl.cc
  bool open_acl(const ConfigLine& line);
  bool take_acl(const ConfigLine& line);
  bool take_group_entry(const ConfigLine& line);
  struct Endpoint {
    std::vector<Ipv4Prefix> prefixes;
    int low = 0;
    int high = 65535;
    bool ports_given = false;
    bool unclear = false;
  };
  std::optional<Endpoint> endpoint(const ConfigLine& line, std::size_t& word, bool ports);
  void take_ports(const ConfigLine& line, std::size_t& word, Endpoint& end);

  // --- nxos_control.cc: VRFs, routes, BGP, management
  bool take_vrf(const ConfigLine& line);
  bool take_route(const ConfigLine& line, std::size_t word, std::string vrf);
  bool take_bgp(const ConfigLine& line);
  bool take_neighbor_setting(const ConfigLine& line, NeighborConfig& neighbor);
  void finish_bgp();
  bool take_management(const ConfigLine& line, bool no);
  bool take_aaa(const ConfigLine& line);
  bool take_user(const ConfigLine& line);
  bool take_vpc(const ConfigLine& line);
  bool take_feature(const ConfigLine& line, bool no);

  std::vector<ConfigLine> lines_;
  Diagnostics& diagnostics_;
  SwitchConfig out_;
  bool indented_ = false;  // the file indents its blocks
  bool flat_ = false;      // the open block is not indented, even if the file indents others
  std::size_t recognized_ = 0;
  Block block_ = Block::global;
  std::string block_name_;
  std::vector<std::size_t> current_;  // interfaces of the current block
  std::map<std::string, std::size_t, std::less<>> interfaces_;
  std::vector<InterfaceQos> interface_qos_;  // parallel to out_.interfaces
  std::vector<Switchport> switchports_;
  std::map<int, int> breakout_;  // cage to number of breakout ports
  std::map<std::string, ClassMap, std::less<>> qos_classes_;
  std::map<std::string, ClassMap, std::less<>> network_classes_;
  std::map<std::string, ClassMap, std::less<>> queuing_classes_;
  Policies qos_policies_;
  Policies network_policies_;
  Policies queuing_policies_;
  ClassMap* class_map_ = nullptr;
  PolicyMap* policy_map_ = nullptr;
  ServicePolicies system_;
  Setting<bool> watchdog_;
  Setting<std::int64_t> watchdog_interval_;  // milliseconds
  Setting<std::int64_t> watchdog_shutdown_;
  Setting<std::int64_t> watchdog_restore_;
  std::map<std::string, std::vector<Ipv4Prefix>, std::less<>> groups_;
  std::vector<std::size_t> vlans_;  // of the current block
  std::map<int, std::size_t> vlan_index_;
  std::size_t work_ = 0;
  std::set<SourceLocation, decltype(&comes_before)> reported_{&comes_before};
  std::size_t vrf_ = 0;  // of the current block
  std::string bgp_vrf_;
  std::size_t bgp_vrf_indent_ = 0;
  bool in_template_ = false;
  NeighborConfig* neighbor_ = nullptr;
  std::map<std::string, NeighborConfig, std::less<>> templates_;
  std::vector<std::pair<std::size_t, std::string>> inherits_;  // neighbor and template
  std::map<std::string, std::string, std::less<>> aaa_groups_;
  std::set<std::string, std::less<>> secured_users_;
};

// "10.0.0.0/8", "10.0.0.1/24": host bits are cleared; `own` receives the address itself.
[[nodiscard]] std::optional<Ipv4Prefix> prefix_of(std::string_view text, Ipv4* own = nullptr);
// With the mask as a second word; `wildcard` masks are inverted.
[[nodiscard]] std::optional<Ipv4Prefix> prefix_of_mask(std::string_view address, std::string_view mask, bool wildcard,
                                                       Ipv4* own = nullptr);

}  // namespace weft::config::nxos
