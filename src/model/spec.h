// The cluster file (desired state) as written, every value with its location and origin. cluster.h has the result of
// compiling it, down to each port. The schema is in spec_schema.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/spec_choices.h"
#include "model/spec_policy.h"

namespace weft::model {

// The floor: rows of racks, power feeds, and placement of switches.
struct SiteSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> domain;             // DNS domain of the cluster; unset: <name>.internal
  Sourced<std::int64_t> feeds{2};          // independent power feeds, A, B, ...
  Sourced<std::int64_t> row_length{16};    // server racks per row
  Sourced<Length> row_pitch{meters(3)};    // between rows, aisle included
  Sourced<Length> cable_slack{meters(2)};  // added to every run, both ends together
  Sourced<std::string> rack{std::string("rack-48u")};
  Sourced<std::string> pdu{std::string("pdu-17kw-3ph")};
  Sourced<std::int64_t> pdus_per_rack{2};
  Sourced<Power> rack_power;  // limit per rack; unset: the PDUs' limit with one feed lost
  Sourced<SwitchPlacement> switches{SwitchPlacement::central};
  Sourced<std::int64_t> service_racks;  // racks for switches and small pools; unset: as many as needed
  Sourced<std::int64_t> service_rack_pdus{2};
};

struct LinksSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> backend;
  Sourced<std::int64_t> storage;
  Sourced<std::int64_t> frontend;
  Sourced<std::int64_t> oob;
};

// Settings of individual hosts of a pool.
struct HostOverride {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> hosts;   // range: train[005-006]
  Sourced<std::string> server;  // another model with the same ports
  Sourced<std::string> rack;
  Sourced<NamedValues<std::string>> labels;
  Sourced<NamedValues<Ipv4>> addresses;  // by port: be1, sto1, fe1, bmc
};

// BIOS settings that affect what a GPU server supports.
struct BiosSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<bool> numa{true};
  Sourced<bool> performance{true};  // disables P-states and C-states that slow the cores down
  Sourced<bool> hyper_threading{false};
  Sourced<bool> sriov{true};
};

struct PoolSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<PoolRole> role{PoolRole::training};
  Sourced<std::string> server;
  Sourced<std::int64_t> count;
  Sourced<std::string> hosts;      // names as a range; default: name and a number of three digits
  Sourced<std::int64_t> per_rack;  // servers per rack; unset: as height and power allow
  Sourced<std::string> racks;      // rack names as a range; default: <pool>-r001, ...; "service": in the service racks
  Sourced<std::int64_t> pdus_per_rack;
  Sourced<std::int64_t> unit;  // servers that share a group of leaves (scalable unit)
  Sourced<LinksSpec> links{LinksSpec{}};
  Sourced<std::int64_t> address_offset;  // first host number in each subnet plan; unset: spread by bisection
  Sourced<NamedValues<std::string>> labels{NamedValues<std::string>{}};
  Sourced<std::vector<std::string>> taints{std::vector<std::string>{}};
  Sourced<NamedValues<std::int64_t>> mig;  // profile: instances per GPU
  Sourced<std::int64_t> time_slices{1};
  Sourced<std::int64_t> pods_per_node{1};
  Sourced<std::int64_t> spares{0};  // spare servers of the pool, to replace failed ones of a job
  Sourced<BiosSpec> bios{BiosSpec{}};
  Sourced<std::vector<HostOverride>> overrides{std::vector<HostOverride>{}};
};

struct QosSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<bool> lossless{true};
  Sourced<std::int64_t> priority;  // 802.1p priority, queue and traffic class of the lossless data
  Sourced<std::int64_t> dscp;
  Sourced<std::int64_t> cnp_priority{6};
  Sourced<std::int64_t> cnp_dscp{48};
  Sourced<Bytes> ecn_min;  // WRED/ECN start marking; unset: from the port speed
  Sourced<Bytes> ecn_max;
  Sourced<std::int64_t> ecn_percent{20};  // marking probability at ecn_max
  Sourced<bool> ecn{true};
  Sourced<TrustMode> trust{TrustMode::dscp};  // the field that NICs and switches classify by
  Sourced<PfcMode> pfc{PfcMode::on};
  Sourced<std::vector<std::int64_t>> pfc_priorities;  // unset: that of the data only
  Sourced<bool> global_pause{false};                  // 802.3x link pause, which stops every class at once
  Sourced<bool> pfc_watchdog{true};
  Sourced<Duration> watchdog_detection;  // unset: 200 ms per 32 ports of the switch
  Sourced<Duration> watchdog_restoration;
  Sourced<Duration> watchdog_poll;
  Sourced<WatchdogAction> watchdog_action{WatchdogAction::drop};
  Sourced<std::int64_t> bandwidth_percent{60};  // ETS share of the lossless class
};

// A fabric manager (UFM, controller) cabled to the leaves of its fabric.
struct ManagerSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Name> name;
  Sourced<std::string> server;
  Sourced<std::int64_t> count{2};
  Sourced<std::int64_t> ports{2};
  Sourced<BitRate> speed;
  Sourced<Breakout> breakout;         // of the leaf's cage
  Sourced<bool> back_to_back{false};  // one direct cable between the pair, for high availability
};

struct ExternalSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::int64_t> links{0};  // total over all switches of the top tier
  Sourced<BitRate> speed;
};

// One of the three data fabrics.
struct FabricSpec {
  using IsRecord = void;

  // Defined out of line in the schema, compiled once: it has hundreds of members, and most files copy or destroy one.
  FabricSpec();
  FabricSpec(const FabricSpec& other);
  FabricSpec(FabricSpec&& other) noexcept;
  FabricSpec& operator=(const FabricSpec& other);
  FabricSpec& operator=(FabricSpec&& other) noexcept;
  ~FabricSpec();

  SourceLocation place;
  Sourced<NetworkKind> network{NetworkKind::ethernet};
  Sourced<BitRate> speed;  // host ports; unset: the first speed of the server's ports
  Sourced<std::string> leaf;
  Sourced<std::string> spine;  // unset: the leaf's model
  Sourced<std::string> core;   // unset: the spine's model
  Sourced<Wiring> wiring;
  Sourced<TierChoice> tiers{TierChoice::automatic};
  Sourced<std::int64_t> planes{1};
  Sourced<Ratio> oversubscription;  // down : up at the leaf
  Sourced<Ratio> spine_oversubscription{Ratio{}};
  Sourced<std::int64_t> uplinks;  // per leaf, over all spines; overrides oversubscription
  Sourced<BitRate> uplink_speed;
  Sourced<Breakout> breakout;          // of leaf cages that face hosts
  Sourced<Breakout> storage_breakout;  // of leaf cages that face storage servers
  Sourced<Ratio> storage_oversubscription;
  Sourced<std::int64_t> spines;         // minimum; unset: 2
  Sourced<std::int64_t> peer_links{2};  // between the two leaves of a pair
  Sourced<std::vector<MediumKind>> media;
  Sourced<std::vector<MediumKind>> storage_media;
  Sourced<std::string> system;  // network operating system of its switches; unset: the leaf model's first
  Sourced<std::int64_t> mtu;
  Sourced<std::int64_t> switch_mtu;  // of switch ports and SVIs; unset: 9216 where hosts send jumbo frames
  Sourced<bool> bond{false};         // servers bond their links to this fabric with LACP
  Sourced<LoadBalancing> load_balancing{LoadBalancing::ecmp};
  Sourced<bool> hash_seeds{true};  // a different hash seed per tier
  Sourced<bool> bfd{true};
  Sourced<bool> default_route{false};                                       // servers have a default route here
  Sourced<std::vector<std::string>> routes_to{std::vector<std::string>{}};  // fabrics its VRF exchanges routes with
  Sourced<Name> vrf;
  Sourced<std::int64_t> vlan;                // first VLAN of the fabric; rails count up from it
  Sourced<std::vector<Ipv4Prefix>> subnets;  // one per rail (backend, storage), one in total (frontend)
  Sourced<Ipv6Prefix> ipv6;                  // a /48 or shorter makes the fabric dual-stack
  Sourced<LinkAddressing> switch_links{LinkAddressing::unnumbered};
  Sourced<Ipv4Prefix> switch_link_subnet;
  Sourced<Ipv4Prefix> loopbacks;
  Sourced<std::int64_t> asn;  // first BGP AS number of the fabric
  Sourced<QosSpec> qos{QosSpec{}};
  Sourced<std::vector<ManagerSpec>> managers{std::vector<ManagerSpec>{}};
  Sourced<ExternalSpec> external{ExternalSpec{}};
};

// Where the services that the out-of-band network depends on run. It must not depend on anything that it is needed to
// recover.
struct OobServicesSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<Whereabouts> dns{Whereabouts::oob};
  Sourced<Whereabouts> dhcp{Whereabouts::oob};
  Sourced<Whereabouts> directory{Whereabouts::none};  // LDAP, TACACS+, RADIUS
  Sourced<Whereabouts> time{Whereabouts::oob};
};

struct BmcSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<bool> ipmi_over_lan{false};
  Sourced<std::vector<std::int64_t>> cipher_suites{std::vector<std::int64_t>{17}};
  Sourced<bool> default_credentials{false};
  Sourced<bool> unique_passwords{true};
  Sourced<bool> verify_tls{true};
  Sourced<bool> firewall{true};         // accepts connections from the management subnet only
  Sourced<bool> host_interface{false};  // gives the host operating system unrestricted access to its own BMC
  Sourced<bool> firmware_measured{true};
};

struct OobSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> leaf{std::string("nexus-9348gc-fx3")};
  Sourced<std::string> spine{std::string("nexus-9336c-fx2")};  // aggregation, in pairs
  Sourced<std::int64_t> uplinks{2};                            // per leaf
  Sourced<BitRate> uplink_speed;
  Sourced<bool> uplink_to_frontend{false};  // connects to the frontend instead of its own aggregation: not independent
  Sourced<Ipv4Prefix> subnet;
  Sourced<std::int64_t> vlan{999};
  Sourced<Name> vrf{Name{"oob"}};
  Sourced<std::int64_t> mtu{1500};
  Sourced<std::int64_t> spare_percent{0};           // ports kept free on each leaf
  Sourced<std::string> syslog;                      // where BMC and switch access is logged
  Sourced<std::string> credentials;                 // a reference (vault path, environment variable), never a secret
  Sourced<std::string> system;                      // network operating system; unset: the leaf model's first
  Sourced<OobEntry> entry{OobEntry::vpn};           // how users reach the jump host from outside
  Sourced<Whereabouts> gateway{Whereabouts::none};  // the network that its VRF has a route to
  Sourced<bool> jump_only{true};                    // an ACL allows only jump hosts to reach BMCs
  Sourced<OobServicesSpec> services{OobServicesSpec{}};
  Sourced<BmcSpec> bmc{BmcSpec{}};
  Sourced<bool> config_backup{true};
};

struct FabricsSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<FabricSpec> backend{FabricSpec{}};
  Sourced<FabricSpec> storage{FabricSpec{}};
  Sourced<FabricSpec> frontend{FabricSpec{}};
  Sourced<OobSpec> oob{OobSpec{}};
};

struct RackSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> name;
  Sourced<std::int64_t> row;
  Sourced<std::int64_t> position;
  Sourced<Power> power;
  Sourced<std::int64_t> pdus;
};

// A cable that deviates from the wiring rules.
struct CableSpec {
  using IsRecord = void;
  SourceLocation place;
  Sourced<std::string> from;  // train001:be1
  Sourced<std::string> to;    // be-train-u01-leaf1:p5/1
  Sourced<Length> length;
};

struct Spec {
  using IsRecord = void;

  // Defined out of line in the schema, compiled once: it has hundreds of members, and most files copy or destroy one.
  Spec();
  Spec(const Spec& other);
  Spec(Spec&& other) noexcept;
  Spec& operator=(const Spec& other);
  Spec& operator=(Spec&& other) noexcept;
  ~Spec();

  SourceLocation place;
  Sourced<std::int64_t> weft;
  Sourced<Name> name;
  Sourced<Profile> profile{Profile::converged};
  Sourced<SiteSpec> site{SiteSpec{}};
  Sourced<std::vector<PoolSpec>> pools;
  Sourced<FabricsSpec> fabrics{FabricsSpec{}};
  Sourced<std::vector<StorageSpec>> storage{std::vector<StorageSpec>{}};
  Sourced<ControlPlaneSpec> control_plane{ControlPlaneSpec{}};
  Sourced<WorkloadSpec> workload{WorkloadSpec{}};
  Sourced<std::vector<PrioritySpec>> priorities{std::vector<PrioritySpec>{}};
  Sourced<std::vector<PartitionSpec>> partitions{std::vector<PartitionSpec>{}};
  Sourced<std::vector<TenantSpec>> tenants{std::vector<TenantSpec>{}};
  Sourced<std::vector<ServiceSpec>> services{std::vector<ServiceSpec>{}};
  Sourced<std::vector<RackSpec>> racks{std::vector<RackSpec>{}};
  Sourced<std::vector<CableSpec>> cables{std::vector<CableSpec>{}};
  Sourced<OperationsSpec> operations{OperationsSpec{}};
  Sourced<SecuritySpec> security{SecuritySpec{}};
  Sourced<NamedValues<ChecklistState>> checklist{NamedValues<ChecklistState>{}};
  Sourced<std::vector<SuppressionSpec>> suppress{std::vector<SuppressionSpec>{}};
};

// Reads a cluster file. Reports every syntax and type error; returns a Spec only if there are none.
[[nodiscard]] std::optional<Spec> read_spec(const YamlNode& root, Diagnostics& diagnostics);

// Fills in unset values and checks every reference against the catalog and the file itself.
void resolve(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics);

// The file with every default written out; values that the user did not write are marked "# default" or "# derived".
[[nodiscard]] std::string write_effective(const Spec& spec);

}  // namespace weft::model
