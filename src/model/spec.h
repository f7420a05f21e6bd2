// The cluster file as its author wrote it, every value with its place and origin. A Spec says what is wanted; cluster.h
// holds what that means, down to each port. The tables that read it are in spec_schema.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/spec_choices.h"
#include "model/spec_policy.h"

namespace weft::model {

// The floor: rows of racks, power feeds, and where switches stand.
struct SiteSpec {
  using IsRecord = void;
  Place place;
  Given<std::string> domain;             // DNS domain of the cluster; unset: <name>.internal
  Given<std::int64_t> feeds{2};          // independent power feeds, A, B, ...
  Given<std::int64_t> row_length{16};    // server racks in a row
  Given<Length> row_pitch{metres(3)};    // row to row, aisle included
  Given<Length> cable_slack{metres(2)};  // added to every run, both ends together
  Given<std::string> rack{std::string("rack-48u")};
  Given<std::string> pdu{std::string("pdu-17kw-3ph")};
  Given<std::int64_t> pdus_per_rack{2};
  Given<Power> rack_power;  // limit for one rack; unset: the PDUs' with one feed lost
  Given<SwitchPlacement> switches{SwitchPlacement::central};
  Given<std::int64_t> service_racks;  // racks for switches and small pools; unset: as many as needed
  Given<std::int64_t> service_rack_pdus{2};
};

struct LinksSpec {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> backend;
  Given<std::int64_t> storage;
  Given<std::int64_t> frontend;
  Given<std::int64_t> oob;
};

// What is different about some hosts of a pool.
struct HostOverride {
  using IsRecord = void;
  Place place;
  Given<std::string> hosts;   // range: train[005-006]
  Given<std::string> server;  // other hardware with the same ports
  Given<std::string> rack;
  Given<NamedValues<std::string>> labels;
  Given<NamedValues<Ipv4>> addresses;  // by port: be1, sto1, fe1, bmc
};

// Firmware settings that decide what a GPU server can do.
struct BiosSpec {
  using IsRecord = void;
  Place place;
  Given<bool> numa{true};
  Given<bool> performance{true};  // no P-states or C-states that slow the cores down
  Given<bool> hyper_threading{false};
  Given<bool> sriov{true};
};

struct PoolSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<PoolRole> role{PoolRole::training};
  Given<std::string> server;
  Given<std::int64_t> count;
  Given<std::string> hosts;      // names as a range; default: name and a number of three digits
  Given<std::int64_t> per_rack;  // servers in a rack; unset: what height and power allow
  Given<std::string> racks;      // rack names as a range; default: <pool>-r001, ...; "service": no racks of its own
  Given<std::int64_t> pdus_per_rack;
  Given<std::int64_t> unit;  // servers that share a group of leaves (scalable unit)
  Given<LinksSpec> links{LinksSpec{}};
  Given<std::int64_t> address_offset;  // first host number in each subnet plan; unset: spread by bisection
  Given<NamedValues<std::string>> labels{NamedValues<std::string>{}};
  Given<std::vector<std::string>> taints{std::vector<std::string>{}};
  Given<NamedValues<std::int64_t>> mig;  // profile: instances on each GPU
  Given<std::int64_t> time_slices{1};
  Given<std::int64_t> pods_per_node{1};
  Given<std::int64_t> spares{0};  // servers of the pool kept free for jobs that lose one
  Given<BiosSpec> bios{BiosSpec{}};
  Given<std::vector<HostOverride>> overrides{std::vector<HostOverride>{}};
};

struct QosSpec {
  using IsRecord = void;
  Place place;
  Given<bool> lossless{true};
  Given<std::int64_t> priority;  // 802.1p priority, queue and traffic class of the lossless data
  Given<std::int64_t> dscp;
  Given<std::int64_t> cnp_priority{6};
  Given<std::int64_t> cnp_dscp{48};
  Given<Bytes> ecn_min;  // WRED/ECN start marking; unset: from the port speed
  Given<Bytes> ecn_max;
  Given<std::int64_t> ecn_percent{20};  // marking probability at ecn_max
  Given<bool> ecn{true};
  Given<TrustMode> trust{TrustMode::dscp};  // what NICs and switches classify by
  Given<PfcMode> pfc{PfcMode::on};
  Given<std::vector<std::int64_t>> pfc_priorities;  // unset: the data's alone
  Given<bool> global_pause{false};                  // 802.3x link pause, which stops every class at once
  Given<bool> pfc_watchdog{true};
  Given<Duration> watchdog_detection;  // unset: 200 ms for each 32 ports of the switch
  Given<Duration> watchdog_restoration;
  Given<Duration> watchdog_poll;
  Given<WatchdogAction> watchdog_action{WatchdogAction::drop};
  Given<std::int64_t> bandwidth_percent{60};  // ETS share of the lossless class
};

// A fabric manager (UFM, controller) cabled to the leaves of its fabric.
struct ManagerSpec {
  using IsRecord = void;
  Place place;
  Given<Name> name;
  Given<std::string> server;
  Given<std::int64_t> count{2};
  Given<std::int64_t> ports{2};
  Given<BitRate> speed;
  Given<Breakout> breakout;         // of the leaf's cage
  Given<bool> back_to_back{false};  // one direct cable between the pair, for high availability
};

struct ExternalSpec {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> links{0};  // all switches of the top tier together
  Given<BitRate> speed;
};

// One of the three data fabrics.
struct FabricSpec {
  using IsRecord = void;
  Place place;
  Given<NetworkKind> network{NetworkKind::ethernet};
  Given<BitRate> speed;  // host ports; unset: the first speed of the server's ports
  Given<std::string> leaf;
  Given<std::string> spine;  // unset: the leaf's model
  Given<std::string> core;   // unset: the spine's model
  Given<Wiring> wiring;
  Given<TierChoice> tiers{TierChoice::automatic};
  Given<std::int64_t> planes{1};
  Given<Ratio> oversubscription;  // down : up at the leaf
  Given<Ratio> spine_oversubscription{Ratio{}};
  Given<std::int64_t> uplinks;  // of one leaf, all spines together; overrides oversubscription
  Given<BitRate> uplink_speed;
  Given<Breakout> breakout;          // of leaf cages that face hosts
  Given<Breakout> storage_breakout;  // of leaf cages that face storage servers
  Given<Ratio> storage_oversubscription;
  Given<std::int64_t> spines;         // at least; unset: 2
  Given<std::int64_t> peer_links{2};  // between the two leaves of a pair
  Given<std::vector<MediumKind>> media;
  Given<std::vector<MediumKind>> storage_media;
  Given<std::string> system;  // network operating system of its switches; unset: the leaf model's first
  Given<std::int64_t> mtu;
  Given<std::int64_t> switch_mtu;  // of switch ports and SVIs; unset: 9216 where hosts send jumbo frames
  Given<bool> bond{false};         // servers join their links of this fabric with LACP
  Given<LoadBalancing> load_balancing{LoadBalancing::ecmp};
  Given<bool> hash_seeds{true};  // each tier hashes with a seed of its own
  Given<bool> bfd{true};
  Given<bool> default_route{false};                                       // servers have a default route here
  Given<std::vector<std::string>> routes_to{std::vector<std::string>{}};  // fabrics its VRF exchanges routes with
  Given<Name> vrf;
  Given<std::int64_t> vlan;                // first VLAN of the fabric; rails count up from it
  Given<std::vector<Ipv4Prefix>> subnets;  // one a rail (backend, storage), one in all (frontend)
  Given<Ipv6Prefix> ipv6;                  // a /48 or shorter makes the fabric dual-stack
  Given<LinkAddressing> switch_links{LinkAddressing::unnumbered};
  Given<Ipv4Prefix> switch_link_subnet;
  Given<Ipv4Prefix> loopbacks;
  Given<std::int64_t> asn;  // first BGP number of the fabric
  Given<QosSpec> qos{QosSpec{}};
  Given<std::vector<ManagerSpec>> managers{std::vector<ManagerSpec>{}};
  Given<ExternalSpec> external{ExternalSpec{}};
};

// Where the services that the out-of-band network leans on run. A lifeline leans on nothing it must rescue.
struct OobServicesSpec {
  using IsRecord = void;
  Place place;
  Given<Whereabouts> dns{Whereabouts::oob};
  Given<Whereabouts> dhcp{Whereabouts::oob};
  Given<Whereabouts> directory{Whereabouts::none};  // LDAP, TACACS+, RADIUS
  Given<Whereabouts> time{Whereabouts::oob};
};

struct BmcSpec {
  using IsRecord = void;
  Place place;
  Given<bool> ipmi_over_lan{false};
  Given<std::vector<std::int64_t>> cipher_suites{std::vector<std::int64_t>{17}};
  Given<bool> default_credentials{false};
  Given<bool> unique_passwords{true};
  Given<bool> verify_tls{true};
  Given<bool> firewall{true};         // answers the management subnet alone
  Given<bool> host_interface{false};  // the operating system may talk to its own BMC without restriction
  Given<bool> firmware_measured{true};
};

struct OobSpec {
  using IsRecord = void;
  Place place;
  Given<std::string> leaf{std::string("nexus-9348gc-fx3")};
  Given<std::string> spine{std::string("nexus-9336c-fx2")};  // aggregation, in pairs
  Given<std::int64_t> uplinks{2};                            // of one leaf
  Given<BitRate> uplink_speed;
  Given<bool> uplink_to_frontend{false};  // hang off the frontend instead of an own aggregation: not autonomous
  Given<Ipv4Prefix> subnet;
  Given<std::int64_t> vlan{999};
  Given<Name> vrf{Name{"oob"}};
  Given<std::int64_t> mtu{1500};
  Given<std::int64_t> spare_percent{0};           // ports kept free on each leaf
  Given<std::string> syslog;                      // where BMC and switch access is logged
  Given<std::string> credentials;                 // a reference (vault path, environment variable), never a secret
  Given<std::string> system;                      // network operating system; unset: the leaf model's first
  Given<OobEntry> entry{OobEntry::vpn};           // how people get to the jump host from outside
  Given<Whereabouts> gateway{Whereabouts::none};  // the network its VRF has a route to
  Given<bool> jump_only{true};                    // an access list lets jump hosts alone reach BMCs
  Given<OobServicesSpec> services{OobServicesSpec{}};
  Given<BmcSpec> bmc{BmcSpec{}};
  Given<bool> config_backup{true};
};

struct FabricsSpec {
  using IsRecord = void;
  Place place;
  Given<FabricSpec> backend{FabricSpec{}};
  Given<FabricSpec> storage{FabricSpec{}};
  Given<FabricSpec> frontend{FabricSpec{}};
  Given<OobSpec> oob{OobSpec{}};
};

struct RackSpec {
  using IsRecord = void;
  Place place;
  Given<std::string> name;
  Given<std::int64_t> row;
  Given<std::int64_t> position;
  Given<Power> power;
  Given<std::int64_t> pdus;
};

// One cable laid otherwise than the rules would.
struct CableSpec {
  using IsRecord = void;
  Place place;
  Given<std::string> from;  // train001:be1
  Given<std::string> to;    // be-train-u01-leaf1:p5/1
  Given<Length> length;
};

struct Spec {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> weft;
  Given<Name> name;
  Given<Profile> profile{Profile::converged};
  Given<SiteSpec> site{SiteSpec{}};
  Given<std::vector<PoolSpec>> pools;
  Given<FabricsSpec> fabrics{FabricsSpec{}};
  Given<std::vector<StorageSpec>> storage{std::vector<StorageSpec>{}};
  Given<ControlPlaneSpec> control_plane{ControlPlaneSpec{}};
  Given<WorkloadSpec> workload{WorkloadSpec{}};
  Given<std::vector<PrioritySpec>> priorities{std::vector<PrioritySpec>{}};
  Given<std::vector<PartitionSpec>> partitions{std::vector<PartitionSpec>{}};
  Given<std::vector<TenantSpec>> tenants{std::vector<TenantSpec>{}};
  Given<std::vector<ServiceSpec>> services{std::vector<ServiceSpec>{}};
  Given<std::vector<RackSpec>> racks{std::vector<RackSpec>{}};
  Given<std::vector<CableSpec>> cables{std::vector<CableSpec>{}};
  Given<OperationsSpec> operations{OperationsSpec{}};
  Given<SecuritySpec> security{SecuritySpec{}};
  Given<NamedValues<ChecklistState>> checklist{NamedValues<ChecklistState>{}};
  Given<std::vector<SuppressionSpec>> suppress{std::vector<SuppressionSpec>{}};
};

// Reads a cluster file. Reports everything that is wrong with its form; gives a Spec only when nothing is.
[[nodiscard]] std::optional<Spec> read_spec(const YamlNode& root, Diagnostics& diagnostics);

// Fills in what the file left open and checks every reference against the catalogue and the file itself.
void resolve(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics);

// The file with every default written out; what the user did not write carries "# default" or "# derived".
[[nodiscard]] std::string write_effective(const Spec& spec);

}  // namespace weft::model
