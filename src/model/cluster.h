// The compiled cluster: every device, port, cable, address and rack of all four fabrics, immutable and indexed. It is
// built once from a Spec (compile(), below); names, addresses and ports are computed only here and looked up everywhere
// else. Tables are flat arrays indexed by small ids, laid out for iteration over the whole cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/catalog.h"
#include "model/spec.h"

namespace weft::model {

enum class DeviceId : std::uint32_t {};
enum class PortId : std::uint32_t {};
enum class CableId : std::uint32_t {};
enum class RackId : std::uint32_t {};
enum class SubnetId : std::uint32_t {};
enum class UnitId : std::uint32_t {};

template <class Id>
inline constexpr Id kNone = static_cast<Id>(0xFFFFFFFFU);
template <class Id>
[[nodiscard]] constexpr std::uint32_t index_of(Id id) {
  return static_cast<std::uint32_t>(id);
}

enum class FabricKind : std::uint8_t { backend, storage, frontend, oob };
inline constexpr int kFabrics = 4;
enum class DeviceKind : std::uint8_t { server, network_switch, pdu, external };
enum class Tier : std::uint8_t { none, leaf, spine, core };
enum class CableRole : std::uint8_t {
  host_leaf,     // a server's port to its leaf
  manager_leaf,  // a fabric manager's port to a leaf
  leaf_spine,
  spine_core,
  peer,          // between the two leaves of a pair
  external,      // top tier to the site's network
  oob_uplink,    // out-of-band leaf to its aggregation
  oob_frontend,  // out-of-band leaf to a frontend leaf, if the file requests it
  back_to_back,  // between two managers
};

[[nodiscard]] std::string_view to_text(FabricKind fabric);
[[nodiscard]] std::string_view to_text(DeviceKind kind);
[[nodiscard]] std::string_view to_text(Tier tier);
[[nodiscard]] std::string_view to_text(CableRole role);

// Devices of one kind and purpose: a pool of servers, the spines of a fabric, the PDUs of the service racks. The
// members of a group have consecutive ids.
struct DeviceGroup {
  std::string name;  // pool name, "be-spine", ...
  DeviceKind kind = DeviceKind::server;
  FabricKind fabric = FabricKind::oob;  // of switches and managers
  Tier tier = Tier::none;               // of switches
  int pool = -1;                        // index into Spec::pools, or -1
  bool manager = false;                 // a fabric manager
  const ServerModel* server = nullptr;  // exactly one of these three, none for external
  const SwitchModel* network_switch = nullptr;
  const PduModel* pdu = nullptr;
  DeviceId first = kNone<DeviceId>;
  std::uint32_t count = 0;
};

struct Device {
  std::uint32_t group = 0;  // index into groups()
  std::uint32_t index = 0;  // within the group
  RackId rack = kNone<RackId>;
  std::uint16_t rack_unit = 0;  // lowest unit it occupies, from 1; 0 for zero-U devices (PDUs)
  std::uint16_t pod = 0;        // of leaves and spines in three tiers
  std::uint16_t plane = 0;
  std::uint16_t rail = 0;       // of leaves
  UnitId unit = kNone<UnitId>;  // of servers on the backend and of leaves
  std::uint32_t asn = 0;        // of Ethernet switches
  Ipv4 loopback;                // of switches
};

// A cabled port. Uncabled cages have no Port: see cages_free().
struct Port {
  DeviceId device = kNone<DeviceId>;
  CableId cable = kNone<CableId>;
  SubnetId subnet = kNone<SubnetId>;
  Ipv4 address;  // none for switch ports, except numbered links
  std::uint32_t speed_mbps = 0;
  std::uint16_t cage = 0;  // counts from 0 across all cages of the device
  std::uint8_t lane = 0;   // first lane within the cage
  std::uint8_t lanes = 1;
  FabricKind fabric = FabricKind::oob;
  std::uint8_t rail = 0;  // host ports: rail (backend, storage) or link number (frontend, oob)
  std::uint8_t plane = 0;

  [[nodiscard]] BitRate speed() const { return BitRate(std::int64_t{speed_mbps} * 1'000'000); }
};

struct Cable {
  PortId a = kNone<PortId>;  // the end nearer to the hosts
  PortId b = kNone<PortId>;
  std::uint32_t length_mm = 0;  // as ordered: the next length on sale that is long enough
  std::uint32_t assembly = 0;   // cables with the same number are one splitter (or one plain cable) to buy
  std::uint16_t medium = 0;     // index into media()
  CableRole role = CableRole::host_leaf;
  FabricKind fabric = FabricKind::oob;
};

// The components of a link.
struct Medium {
  const CableModel* cable = nullptr;
  const TransceiverModel* at_a = nullptr;  // none for DAC, AOC and copper
  const TransceiverModel* at_b = nullptr;
};

struct Rack {
  std::string name;
  const RackModel* model = nullptr;
  int pool = -1;         // the pool in it, -1 for a service rack
  std::int32_t row = 0;  // floor position: service rows are negative
  std::int32_t column = 0;
  DeviceId first_pdu = kNone<DeviceId>;
  std::uint32_t pdus = 0;
  Power power;  // maximum draw of its devices
  Power limit;
  std::uint32_t used_units = 0;
};

struct Subnet {
  Ipv4Prefix prefix;
  Ipv6Prefix ipv6;  // length 0 when the fabric is IPv4 only
  Ipv4 gateway;     // none if the subnet is not routed
  Ipv4 pods_first;  // reserved for virtual functions of pods: never assigned to a server of the pool
  Ipv4 pods_last;
  FabricKind fabric = FabricKind::oob;
  std::uint8_t rail = 0;
  std::uint16_t vlan = 0;
  UnitId unit = kNone<UnitId>;
  std::string name;  // "be-rail1-train-u01"
};

// Servers that share a group of leaves.
struct Unit {
  FabricKind fabric = FabricKind::backend;
  int pool = -1;               // -1: the shared unit of small pools
  std::uint32_t index = 0;     // within its pool
  std::uint32_t servers = 0;   // installed
  std::uint32_t capacity = 0;  // designed for
  DeviceId first_leaf = kNone<DeviceId>;
  std::uint32_t leaves = 0;  // all planes together
  std::uint32_t pod = 0;
};

// The resulting plan of one fabric, for summaries and checks.
struct FabricPlan {
  bool present = false;
  NetworkKind network = NetworkKind::ethernet;
  Wiring wiring = Wiring::rail_optimized;
  int tiers = 0;
  std::uint32_t rails = 0;
  std::uint32_t planes = 1;
  std::uint32_t leaves = 0;  // all planes together, like the next two
  std::uint32_t spines = 0;
  std::uint32_t cores = 0;
  std::uint32_t pods = 0;
  std::uint32_t leaf_down = 0;  // designed host ports of the largest leaf
  std::uint32_t leaf_up = 0;
  std::uint32_t links_per_spine = 0;  // from that leaf to each of its spines
  BitRate host_speed;
  BitRate uplink_speed;
  Ratio oversubscription;  // at that leaf, down : up
  Ratio spine_oversubscription;
  std::uint32_t host_links = 0;
  std::uint32_t manager_links = 0;
  std::uint32_t leaf_spine_links = 0;
  std::uint32_t spine_core_links = 0;
  std::uint32_t peer_links = 0;
  std::uint32_t external_links = 0;
  std::uint32_t host_cages = 0;        // plugs at the host end: a twin-port cage counts once
  std::uint32_t leaf_spine_cages = 0;  // plugs at the leaf end of leaf-spine links
  std::uint32_t spine_core_cages = 0;  // plugs at the spine end of spine-core links
};

class Cluster {
 public:
  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] const Catalog& catalog() const { return *catalog_; }
  [[nodiscard]] const std::string& name() const { return spec_.name.value.text; }

  [[nodiscard]] std::span<const DeviceGroup> groups() const { return groups_; }
  [[nodiscard]] std::span<const Device> devices() const { return devices_; }
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }
  [[nodiscard]] std::span<const Cable> cables() const { return cables_; }
  [[nodiscard]] std::span<const Medium> media() const { return media_; }
  [[nodiscard]] std::span<const Rack> racks() const { return racks_; }
  [[nodiscard]] std::span<const Subnet> subnets() const { return subnets_; }
  [[nodiscard]] std::span<const Unit> units() const { return units_; }
  [[nodiscard]] const FabricPlan& fabric(FabricKind kind) const { return plans_[static_cast<std::size_t>(kind)]; }

  // The fabric's spec; null for the out-of-band network, whose spec has another type.
  [[nodiscard]] const FabricSpec* find_fabric_spec(FabricKind kind) const;
  [[nodiscard]] const FabricSpec& data_fabric_spec(FabricKind kind) const;  // of any fabric but the out-of-band network
  // The operating system of the switches, by its catalog name ("sonic", "nxos", "mlnx-os"): the fabric's, or the first
  // of the model if it does not support the fabric's. Empty for devices that are not switches.
  [[nodiscard]] std::string_view switch_os_of(const DeviceGroup& group) const;
  [[nodiscard]] std::string_view switch_os_of(DeviceId id) const { return switch_os_of(group_of(id)); }

  [[nodiscard]] const Device& device(DeviceId id) const { return devices_[index_of(id)]; }
  [[nodiscard]] const Port& port(PortId id) const { return ports_[index_of(id)]; }
  [[nodiscard]] const Cable& cable(CableId id) const { return cables_[index_of(id)]; }
  [[nodiscard]] const Rack& rack(RackId id) const { return racks_[index_of(id)]; }
  [[nodiscard]] const Subnet& subnet(SubnetId id) const { return subnets_[index_of(id)]; }
  [[nodiscard]] const DeviceGroup& group_of(DeviceId id) const { return groups_[device(id).group]; }

  [[nodiscard]] const std::string& name_of(DeviceId id) const { return names_[index_of(id)]; }
  // "be1", "sto2", "fe1", "bmc" on servers; "p12/2" on switches; "mgmt" for a management port.
  [[nodiscard]] std::string port_name(PortId id) const;
  // "train001:be1"
  [[nodiscard]] std::string full_port_name(PortId id) const;
  [[nodiscard]] DeviceId find_device(std::string_view name) const;  // kNone when there is none
  [[nodiscard]] PortId find_port(std::string_view full_name) const;
  // The hardware of a server; follows per-host overrides.
  [[nodiscard]] const ServerModel& server_of(DeviceId id) const;

  // Ports of a device, in cage order.
  [[nodiscard]] std::span<const PortId> ports_of(DeviceId id) const;
  [[nodiscard]] PortId peer_of(PortId id) const;
  [[nodiscard]] CableId cable_of(PortId id) const { return port(id).cable; }
  // Devices mounted in a rack, from the bottom; PDUs last.
  [[nodiscard]] std::span<const DeviceId> devices_in(RackId id) const;

  // Power feed of supply `psu` of a device: supplies are distributed over the PDUs of its rack, PDUs over the feeds.
  [[nodiscard]] int feed_of_psu(DeviceId id, int psu) const;
  [[nodiscard]] int feed_of_pdu(DeviceId pdu) const;
  // The address of a host port in the fabric's IPv6 plan; all zero if there is none.
  [[nodiscard]] Ipv6 ipv6_of(PortId id) const;
  // The management address of a device on the out-of-band network; none if it has no such port.
  [[nodiscard]] Ipv4 oob_address(DeviceId id) const;

  [[nodiscard]] std::uint32_t gpu_count() const { return gpu_count_; }
  [[nodiscard]] Power total_power() const { return total_power_; }

 private:
  friend class ClusterBuilder;
  Cluster() = default;

  Spec spec_;
  std::shared_ptr<const Catalog> catalog_;
  std::vector<DeviceGroup> groups_;
  std::vector<Device> devices_;
  std::vector<std::string> names_;
  std::vector<Port> ports_;
  std::vector<Cable> cables_;
  std::vector<Medium> media_;
  std::vector<Rack> racks_;
  std::vector<Subnet> subnets_;
  std::vector<Unit> units_;
  FabricPlan plans_[kFabrics];
  std::unordered_map<std::string_view, DeviceId> by_name_;
  std::unordered_map<std::uint32_t, const ServerModel*> server_overrides_;
  std::vector<std::uint32_t> port_offsets_;  // per device, into port_order_
  std::vector<PortId> port_order_;
  std::vector<std::uint32_t> rack_offsets_;
  std::vector<DeviceId> rack_order_;
  std::uint32_t gpu_count_ = 0;
  Power total_power_;
};

// Compiles a resolved Spec. Reports what cannot be built and returns null in that case.
[[nodiscard]] std::shared_ptr<const Cluster> compile(Spec spec, std::shared_ptr<const Catalog> catalog,
                                                     Diagnostics& diagnostics);

}  // namespace weft::model
