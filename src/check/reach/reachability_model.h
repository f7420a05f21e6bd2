// The graph behind Reachability: nodes hold packet sets, edges filter them. Built in three steps: from the intent
// (reach/intent.cc), from switch configurations (reach/switches.cc), and from hosts and pods (reach/hosts.cc). Internal
// to check/.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/reach/reachability.h"

namespace weft::check {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xFFFFFFFFU;
inline constexpr std::uint32_t kNoCrossing = 0xFFFFFFFFU;

struct ReachNode {
  std::string name;  // "VRF `backend`", "backend rail 1"
  int fabric = -1;
  bool routes = false;  // a routing table, which can report "no route"
};

struct ReachEdge {
  NodeId from = kNoNode;
  NodeId to = kNoNode;
  std::vector<Interval> destinations;          // empty: any
  std::vector<const config::AclConfig*> acls;  // all must permit
  std::uint32_t crossing = kNoCrossing;
  ReachHop hop;
};

// A host network: one rail, the frontend or the out-of-band network. Hosts send into `in` and receive from `out`; the
// edges between them are the filters that switches apply within the segment.
struct ReachSegment {
  model::FabricKind fabric = model::FabricKind::oob;
  std::uint32_t rail = 0;
  Ipv4Prefix prefix;
  int vlan = 0;
  NodeId in = kNoNode;
  NodeId out = kNoNode;
  NodeId vrf = kNoNode;  // intended to route it
  struct Sample {        // a port on it and its address, for example packets
    std::string name;
    model::DeviceId device = model::kNone<model::DeviceId>;
    Ipv4 address;
  };
  Sample first;
  Sample second;  // of another device
};

// Addresses that the plan assigns to a fabric.
struct AddressSpace {
  Interval range;
  model::FabricKind fabric = model::FabricKind::oob;
  int segment = -1;  // index into segments, -1 for loopbacks and switch links
};

struct ReachStep {
  NodeId node = kNoNode;
  PacketSet packets;
  std::uint32_t parent = 0xFFFFFFFFU;
  std::uint32_t edge = 0xFFFFFFFFU;
};

struct ReachSearch {
  std::vector<ReachStep> steps;
  std::vector<PacketSet> seen;  // by node
  bool gave_up = false;
};

class ReachModel {
 public:
  ReachModel(const model::Cluster* cluster, const config::ConfigSet& config);

  // --- reach/search.cc
  // Propagates `packets` from the start nodes. Edges of a crossing are usable if `open` is empty or true for the
  // crossing.
  [[nodiscard]] ReachSearch search(const std::vector<std::pair<NodeId, PacketSet>>& start,
                                   const std::vector<bool>& open) const;
  [[nodiscard]] ReachSearch search_from(const ReachZone& zone, const std::vector<bool>& open) const;
  [[nodiscard]] ZoneReach arrival(const ReachSearch& search, const ReachZone& from, const ReachZone& to) const;
  [[nodiscard]] std::optional<ReachPath> path_to(const ReachSearch& search, std::uint32_t step, const Packet& packet,
                                                 std::string_view from, std::string_view to) const;
  [[nodiscard]] std::vector<ReachHop> stops(const ReachSearch& search, const Packet& packet) const;
  [[nodiscard]] std::vector<NodeId> nodes_of(const ReachZone& zone, bool arriving) const;
  [[nodiscard]] PacketSet::PacketPreferences wishes(const ReachZone& from, const ReachZone& to) const;
  [[nodiscard]] std::string name_of(Ipv4 address) const;  // "train001:be1" for sample addresses, else ""

  // --- building blocks
  NodeId add_node(std::string name, int fabric, bool routes);
  void add_edge(ReachEdge edge);
  // The crossing of this kind between these nodes: a new one, or an existing one with one more member.
  std::uint32_t cross(CrossingKind kind, NodeId from, NodeId to, Crossing::Member member);
  [[nodiscard]] const AddressSpace* space_of(Ipv4 address) const;
  [[nodiscard]] const model::Sourced<model::Name>& vrf_of(model::FabricKind kind) const;
  // The VRF node of a fabric that one of its devices uses.
  [[nodiscard]] NodeId vrf_node(model::FabricKind kind, const model::Device* device) const;

  const model::Cluster* cluster = nullptr;
  const config::ConfigSet& config;
  std::vector<ReachNode> nodes;
  std::vector<ReachEdge> edges;
  std::vector<std::vector<std::uint32_t>> out_edges;  // by node
  std::vector<ReachSegment> segments;
  std::vector<AddressSpace> spaces;  // sorted, disjoint
  std::vector<ReachZone> zones;
  std::vector<Crossing> crossings;
  std::vector<std::string> shared;
  bool joined[model::kFabrics] = {};
  std::vector<NodeId> vrfs[model::kFabrics];  // one, or one per rail if nothing connects the rails
  NodeId site = kNoNode;

 private:
  // --- reach/intent.cc
  void add_fabrics();
  void add_segment(model::FabricKind kind, std::uint32_t rail, const Ipv4Prefix& prefix, int vlan);
  void add_spaces();
  void add_samples();
  void add_zones();
  void add_intended_gateways();
  void add_intended_crossings();
  void add_oob_ways_out();
  void make_jump_list();
  // --- reach/switches.cc
  void add_switches();
  // --- reach/hosts.cc
  void add_hosts();
  void add_pods();

  friend class SwitchReader;
  config::AclConfig jump_list_;                           // implements `jump_only`
  std::vector<bool> gateway_configured_;                  // by segment: configured interfaces replace the intent
  std::vector<bool> ports_configured_;                    // by segment: its filters are known
  std::map<std::string, std::set<std::string>> exports_;  // route target: VRFs that export routes with it
  std::set<std::pair<std::size_t, const config::AclConfig*>> filters_;  // by segment: ACLs on its ports, null for none
  std::map<std::pair<std::pair<int, NodeId>, NodeId>, std::uint32_t> crossing_index_;
};

}  // namespace weft::check
