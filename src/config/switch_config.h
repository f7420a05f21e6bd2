// Parsed configuration of a switch, in one form for all dialects: ports, VLANs, VRFs, routes, access lists, QoS,
// management. Keeps only what some rule, trace or proof needs; `skipped` counts the rest. Checks are elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/ip.h"
#include "config/port_qos.h"

namespace weft::config {

enum class Dialect : std::uint8_t { sonic, nxos, nvue };
[[nodiscard]] std::string_view to_text(Dialect dialect);

struct InterfaceConfig {
  enum class Kind : std::uint8_t { front_panel, svi, loopback, management, port_channel, other };
  std::string name;  // Ethernet8, Ethernet1/2/1, swp3s1, Vlan100, mgmt0
  SourceLocation place;
  Kind kind = Kind::other;
  int cage = 0;   // front-panel number, from 1
  int part = 0;   // breakout port of the cage, from 0
  int parts = 1;  // breakout ports of the cage, as far as the file shows
  Setting<std::string> description;
  Setting<bool> enabled;
  Setting<BitRate> speed;
  Setting<std::int64_t> mtu;
  Setting<std::string> fec;  // rs, fc, none, auto
  Setting<bool> autoneg;
  Setting<Length> cable_length;                // SONiC CABLE_LENGTH
  Setting<bool> global_pause;                  // 802.3x in either direction
  Setting<std::string> vrf;                    // absent: the default VRF
  std::vector<Setting<Ipv4Prefix>> addresses;  // the prefix; the port's own address is in `own`
  std::vector<Ipv4> own;                       // parallel to `addresses`
  Setting<int> access_vlan;                    // untagged
  std::vector<Setting<int>> tagged_vlans;      // ranges expanded
  bool trunk_all = false;                      // a trunk without a VLAN list
  int svi_vlan = 0;
  Setting<std::string> acl_in;
  Setting<std::string> acl_out;
  Setting<std::string> port_channel;  // the port channel it belongs to
  std::uint32_t qos = 0;              // index into SwitchConfig::qos
};

struct AclRule {
  SourceLocation place;
  std::int64_t sequence = 0;  // evaluation order, lowest first
  bool permit = false;
  Ipv4Prefix source;  // /0: any
  Ipv4Prefix destination;
  int protocol = -1;  // -1: any
  int port_low = 0;   // destination ports, TCP and UDP
  int port_high = 65535;
};

struct AclConfig {
  std::string name;
  SourceLocation place;
  std::vector<AclRule> rules;  // sorted; packets that match no rule are denied
  bool permit_rest = false;    // unless this is set (SONiC tables without a final rule)
};

struct VlanConfig {
  int id = 0;
  std::string name;
  SourceLocation place;
};

struct VrfConfig {
  std::string name;
  SourceLocation place;
  std::vector<Setting<std::string>> imports;  // VRFs (or route targets, as text) whose routes are imported
  std::vector<Setting<std::string>> exports;
};

struct RouteConfig {
  SourceLocation place;
  std::string vrf;  // "" for the default VRF
  Ipv4Prefix prefix;
  Ipv4 next_hop;  // none if the route names an interface
  std::string interface;
  std::string next_hop_vrf;  // route leak into another VRF
};

struct NeighborConfig {  // BGP
  SourceLocation place;
  std::string peer;  // address or interface
  std::string vrf;
  Setting<std::int64_t> remote_asn;
  Setting<bool> bfd;
  Setting<std::string> password;
};

struct PoolConfig {  // buffer pool
  std::string name;
  SourceLocation place;
  bool ingress = true;
  Setting<Bytes> size;
  Setting<Bytes> shared_headroom;  // xoff of a SONiC ingress pool
};

struct ManagementConfig {
  std::vector<Setting<std::string>> syslog;
  std::vector<Setting<std::string>> ntp;
  std::vector<Setting<std::string>> dns;
  std::vector<Setting<std::string>> aaa_servers;  // TACACS+, RADIUS, LDAP
  std::vector<Setting<std::string>> aaa_methods;  // in order: "tacacs+", "local"
  std::vector<Setting<std::string>> snmp_communities;
  std::vector<Setting<std::string>> default_users;  // accounts with factory settings: "admin" without a secret
  Setting<bool> telnet;
  Setting<bool> lldp;
};

struct SwitchConfig {
  Dialect dialect = Dialect::sonic;
  FileId file = 0;
  Setting<std::string> hostname;
  Setting<std::string> hardware;  // hwsku or platform
  Setting<std::int64_t> asn;
  std::vector<InterfaceConfig> interfaces;
  std::vector<PortQos> qos;  // [0]: a port without QoS settings of its own
  std::vector<AclConfig> acls;
  std::vector<VlanConfig> vlans;
  std::vector<VrfConfig> vrfs;
  std::vector<RouteConfig> routes;
  std::vector<NeighborConfig> neighbors;
  std::vector<PoolConfig> pools;
  ManagementConfig management;
  Setting<Duration> watchdog_poll;
  Setting<bool> vpc;  // vPC or MLAG domain
  Setting<std::string> vpc_keepalive_vrf;
  bool ecmp_seed = false;  // a hash seed is configured
  Setting<std::int64_t> ecmp_seed_value;
  std::uint32_t skipped = 0;  // objects or lines that no reader handles

  [[nodiscard]] const InterfaceConfig* find(std::string_view name) const;
};

// Each reads one file that was added to `sources`. Unreadable parts are reported and the rest is returned, so one bad
// line does not hide the rest of a running config. nullopt if the file is of another kind.
[[nodiscard]] std::optional<SwitchConfig> read_sonic(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<SwitchConfig> read_nxos(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<SwitchConfig> read_nvue(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::config
