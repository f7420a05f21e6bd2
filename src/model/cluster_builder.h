// The steps that turn a Spec into a Cluster, and the state they share. Internal to model/: see compile() in cluster.h.
//
// Order matters: servers and their racks; backend and storage; then frontend, service racks and out-of-band, which
// depend on each other's counts; then cable runs, media and addresses. Each source file describes its step.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/clos.h"
#include "model/cluster.h"
#include "model/media.h"

namespace weft::model {

// One way to run a group of cages of a switch: which cages, and how many ports of one speed in each.
struct PortMode {
  const CageGroup* cages = nullptr;  // null: not supported by the switch
  std::uint32_t first_cage = 0;
  std::uint32_t per_cage = 0;
  std::uint32_t lanes_each = 0;
  BitRate speed;

  [[nodiscard]] std::uint32_t ports() const {
    return cages == nullptr ? 0 : static_cast<std::uint32_t>(cages->count.value) * per_cage;
  }
};
// The mode with the most ports of `speed`, or exactly `wanted` if set, among those that `allowed` accepts.
[[nodiscard]] PortMode find_mode(const SwitchModel& model, BitRate speed, const std::optional<Breakout>& wanted = {},
                                 const std::function<bool(const CageEnd&)>& allowed = {});

// A leaf while hosts are being attached. Lanes are numbered across the cages that face hosts, from the first such cage.
struct LeafState {
  DeviceId id = kNone<DeviceId>;
  PortMode down;
  std::uint32_t next_lane = 0;  // bottom up: the servers of its unit, then managers
  std::uint32_t top_lane = 0;   // top down: small pools, so that the unit can grow toward them
  std::uint32_t high_lane = 0;  // end of the highest lane in use
  std::uint32_t top_owner = 0;  // pool (from 1) in the last cage filled from the top
  std::uint32_t uplinks = 0;
};

// A pool on one fabric.
struct FabricMember {
  std::size_t pool = 0;
  std::uint32_t group = 0;  // of its servers
  const PortGroup* ports = nullptr;
  std::uint32_t links = 0;  // ports of a server, on each plane
  BitRate speed;
  PortMode down;
  Ratio ratio;
  bool small = false;                 // without leaves of its own
  std::uint32_t leaves_per_unit = 0;  // on one plane
  std::uint32_t ports_per_leaf = 0;   // of one server
  std::uint32_t unit_size = 0;        // servers of a unit as built
  std::uint32_t address_size = 0;     // servers of an address block; does not change when tiers do
  std::uint32_t units = 0;
  std::uint32_t first_unit = 0;   // index into Cluster::units_
  std::vector<LeafState> leaves;  // unit by unit, leaf by leaf, plane by plane
};

// Devices and endpoints that share service racks and out-of-band leaves: the whole site, or one row of a pool.
struct Zone {
  int pool = -1;
  std::int32_t row = 0;
  std::vector<DeviceId> devices;    // switches and small servers to place
  std::uint32_t oob_endpoints = 0;  // of servers and PDUs in server racks
  std::vector<DeviceId> servers;    // in its server racks, or (central zone) among the switches
  std::vector<RackId> server_racks;
  std::vector<RackId> service_racks;
  std::uint32_t racks = 0;           // service racks
  std::uint32_t first_oob_leaf = 0;  // index into the builder's list
  std::uint32_t oob_leaves = 0;
};

class ClusterBuilder {
 public:
  ClusterBuilder(Spec spec, std::shared_ptr<const Catalog> catalog, Diagnostics& diagnostics);
  std::shared_ptr<const Cluster> build();

 private:
  // build_servers.cc: pools, their hosts and racks.
  void add_pools();
  void add_managers();
  void place_pool(std::size_t pool);
  std::int64_t servers_per_rack(const PoolSpec& pool, const ServerModel& server) const;
  RackId add_rack(std::string name, int pool, std::int32_t row, std::int32_t column, std::uint32_t pdus);
  void add_pdus();
  void check_outlets();
  void apply_rack_overrides(std::size_t pool, std::vector<RackId>& rack_of);
  void apply_server_overrides(std::size_t pool);

  // build_fabric.cc: backend and storage.
  void build_rail_fabric(FabricKind kind);
  [[nodiscard]] bool supports_network(const PortGroup& ports, NetworkKind network) const;
  std::vector<FabricMember> fabric_members(FabricKind kind);
  // The mode for a server's port on a leaf: the densest one that some cable supports.
  PortMode host_mode(FabricKind kind, const SwitchModel& leaf, const PortGroup& ports, BitRate speed,
                     const std::optional<Breakout>& wanted, bool target);
  BitRate common_speed(FabricKind kind, const SwitchModel& leaf, const PortGroup& ports,
                       const std::optional<Breakout>& wanted, bool target);
  bool trunk_modes(FabricKind kind, const SwitchModel& lower, const SwitchModel& upper, BitRate speed,
                   PortMode& at_lower, PortMode& at_upper);
  bool choose_trunks(FabricKind kind);
  bool size_member(FabricKind kind, FabricMember& member, int tiers);
  bool fits_one_switch(FabricKind kind, const std::vector<FabricMember>& members) const;
  void add_leaves(FabricKind kind, FabricMember& member);
  void attach_unit_servers(FabricKind kind, FabricMember& member);
  struct SmallLink {
    std::size_t member;
    std::uint32_t server;
    std::uint32_t port;
    std::size_t set;
    std::size_t leaf;
    std::uint32_t position;
  };
  bool plan_small_servers(FabricKind kind, const std::vector<FabricMember>& members,
                          std::vector<std::vector<LeafState>>& sets, std::vector<SmallLink>& links) const;
  void attach_small_servers(FabricKind kind, std::vector<FabricMember>& members, bool one_tier);
  void attach_managers(FabricKind kind, std::vector<FabricMember>& members);
  bool interconnect(FabricKind kind, std::vector<FabricMember>& members);
  void build_tiers(FabricKind kind, std::vector<FabricMember*>& members, const ClosPlan& plan);
  void cable_spines(FabricKind kind, std::vector<FabricMember*>& members, const ClosPlan& plan,
                    std::uint32_t first_spine, std::uint32_t stride, std::uint32_t plane,
                    std::optional<std::uint32_t> rail);
  void cable_cores(FabricKind kind, const ClosPlan& plan, std::uint32_t first_spine, std::uint32_t stride,
                   std::uint32_t first_core);
  void note_plan(FabricKind kind, const std::vector<FabricMember>& members);

  // build_frontend.cc: leaf pairs with bonded links.
  struct PairLink {
    DeviceId device;
    std::uint32_t port;
    std::uint32_t leaf;      // 2 x pair + side
    std::uint32_t position;  // in units of the mode's lanes
    PortMode mode;
  };
  struct FrontendSize {
    ClosPlan plan;                       // of the tiers above, if there is more than one pair
    std::vector<std::size_t> pair_zone;  // the zone of each pair
    std::vector<PairLink> links;         // of servers
    std::vector<PairLink> oob_links;     // of out-of-band leaves, in their order
    [[nodiscard]] std::uint32_t pairs() const { return static_cast<std::uint32_t>(pair_zone.size()); }
  };
  FrontendSize size_frontend(std::uint32_t oob_leaves);
  bool pack_pairs(FrontendSize& size, std::uint32_t lanes, std::uint32_t oob_leaves);
  PortMode frontend_mode(const SwitchModel& leaf, const PortGroup& ports);
  void add_pairs(const FrontendSize& size);
  void build_frontend(const FrontendSize& size);
  void cable_pairs(const FrontendSize& size, FabricMember& member);
  PortMode peer_mode(const SwitchModel& leaf, BitRate uplink);
  void add_external(FabricKind kind, const std::vector<DeviceId>& top, const PortMode& mode,
                    std::vector<std::uint32_t>& next_port);

  // build_oob.cc: service racks, out-of-band switches and their cables.
  void make_zones();
  void size_zones();
  std::uint32_t units_needed(const Zone& zone) const;
  std::uint32_t racks_for_quorum() const;
  std::uint32_t oob_leaves_needed(std::uint32_t endpoints) const;
  std::uint32_t oob_spines_needed(std::uint32_t leaves, std::uint32_t& cores) const;
  PortMode oob_up_mode(const SwitchModel& model) const;
  void build_oob();
  void add_oob_leaves();
  void place_zone(Zone& zone);
  void cable_oob_endpoints(const Zone& zone);
  void cable_oob_uplinks();

  // build_cables.cc: ports and cables, lengths of runs, and the cables listed in the file.
  PortId add_port(DeviceId device, FabricKind fabric, std::uint32_t cage, std::uint32_t lane, std::uint32_t lanes,
                  BitRate speed);
  CableId connect(PortId a, PortId b, CableRole role);
  PortId add_server_port(DeviceId server, FabricKind fabric, std::uint32_t port, std::uint32_t rail,
                         std::uint32_t plane, BitRate speed);
  PortId add_switch_port(DeviceId id, FabricKind fabric, const PortMode& mode, std::uint32_t position);
  void apply_cable_overrides();
  std::uint32_t run_length_mm(DeviceId a, DeviceId b) const;

  std::uint32_t planes_of(const DeviceGroup& group, FabricKind fabric) const;

  // build_media.cc: cable types and optics.
  void lay_cables();
  CageEnd cage_end(const Port& port, const Port& peer) const;
  std::vector<std::uint32_t> measure_runs() const;
  std::vector<LinkEnds> describe_links(std::vector<std::uint32_t>& kinds);
  const std::vector<MediumKind>& wanted_media(const Cable& cable) const;

  // build_addresses.cc
  void assign_addresses();
  std::size_t pool_ordinal(std::size_t pool) const;
  void assign_rail_addresses(FabricKind kind);
  void assign_frontend_addresses();
  void assign_oob_addresses();
  void assign_switch_numbers();
  void assign_link_addresses();
  void apply_address_overrides();

  // cluster_builder.cc
  std::uint32_t number_of(DeviceId id) const;
  std::uint32_t add_group(DeviceGroup group);
  DeviceId add_device(std::uint32_t group, std::string name);
  void index();
  void count_cages();
  const FabricSpec& fabric_spec(FabricKind kind) const { return cluster_->data_fabric_spec(kind); }
  FabricPlan& plan_of(FabricKind kind) { return cluster_->plans_[static_cast<std::size_t>(kind)]; }
  bool failed() const { return diagnostics_.error_count() != errors_before_; }
  Device& dev(DeviceId id) { return cluster_->devices_[index_of(id)]; }
  Port& port(PortId id) { return cluster_->ports_[index_of(id)]; }

  Diagnostics& diagnostics_;
  std::size_t errors_before_;
  std::shared_ptr<Cluster> cluster_;
  const Spec& spec_;
  const Catalog& catalog_;
  MediaChooser media_;

  std::vector<std::uint32_t> pool_groups_;  // server group of each pool
  std::vector<bool> pool_in_service_racks_;
  std::vector<std::pair<std::uint32_t, const ManagerSpec*>> manager_groups_[kFabrics];
  std::vector<FabricMember> members_[2];  // of backend and storage, kept for addresses
  std::uint32_t rails_[2] = {0, 0};
  struct Trunks {
    PortMode leaf_up, spine_down, spine_up, core_down, peer;
  };
  Trunks trunks_[3];
  std::vector<DeviceId> frontend_leaves_;  // a and b sides alternate
  FrontendSize frontend_size_;
  std::vector<Zone> zones_;          // the first is central
  std::vector<int> rack_zone_pool_;  // for service racks at the end of a row: the row's pool
  // Numbers of devices in end-of-row racks: kRowStride per row, so that growth of one row does not renumber another.
  std::unordered_map<std::uint32_t, std::uint32_t> row_number_;
  std::vector<DeviceId> oob_leaves_;
  std::vector<DeviceId> oob_spines_;
  std::vector<DeviceId> oob_cores_;
};

inline constexpr std::uint32_t kRowStride = 64;

inline std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

inline std::optional<Breakout> given_breakout(const Sourced<Breakout>& given) {
  return given.has_value() ? std::optional<Breakout>(given.value) : std::nullopt;
}

// "a", "b", ... if a fabric has several planes.
inline std::string plane_suffix(std::uint32_t planes, std::uint32_t plane) {
  return planes > 1 ? std::string(1, static_cast<char>('a' + plane)) : std::string();
}

// The capacity of a leaf in these two modes.
[[nodiscard]] SwitchCapacity capacity(const PortMode& down, const PortMode& up);

[[nodiscard]] PortUse port_use(FabricKind kind);
[[nodiscard]] const char* short_name(FabricKind kind);  // be, sto, fe, oob

}  // namespace weft::model
