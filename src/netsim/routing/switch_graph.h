// The switch graph used by routing: switches numbered densely, their cables in flat arrays, each direction marked up or
// down. Endpoints and scale-up switches are excluded: they carry no transit traffic.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "netsim/network/network.h"

namespace weft::netsim {

using SwitchIndex = std::uint32_t;
inline constexpr SwitchIndex kNoSwitch = 0xFFFFFFFFU;

class SwitchGraph {
 public:
  // An index into the arrays below: one direction of a cable between two switches.
  using Position = std::uint32_t;

  // With `up_down` each link goes up or down in a total order of the switches: a higher tier is up; within a tier, up
  // is towards the switch with fewer hops (over working links) to the lowest id of its connected component in that
  // tier; ties go to the lower id. This is the up*/down* order of Autonet (Schroeder et al., 1991) and of InfiniBand's
  // routing engine "updn", with tiers on top. Without `up_down` all links count as down. `link_works` is indexed by
  // link.
  SwitchGraph(const Network& network, bool up_down, std::span<const std::uint8_t> link_works);

  [[nodiscard]] SwitchIndex size() const { return static_cast<SwitchIndex>(switches_.size()); }
  [[nodiscard]] SwitchIndex index(NodeId node) const { return index_[model::index_of(node)]; }
  [[nodiscard]] NodeId node(SwitchIndex s) const { return switches_[s]; }

  // Links from a switch to other switches, by id; uplinks come first. Failed links are included.
  [[nodiscard]] Position ups_begin(SwitchIndex s) const { return offsets_[s]; }
  [[nodiscard]] Position ups_end(SwitchIndex s) const { return downs_[s]; }
  [[nodiscard]] Position downs_begin(SwitchIndex s) const { return downs_[s]; }
  [[nodiscard]] Position downs_end(SwitchIndex s) const { return offsets_[s + 1]; }
  [[nodiscard]] SwitchIndex neighbor(Position p) const { return neighbors_[p]; }
  [[nodiscard]] LinkId link(Position p) const { return links_[p]; }
  // Position of the other direction of the same cable.
  [[nodiscard]] Position reverse(Position p) const { return reverses_[p]; }
  [[nodiscard]] std::span<const LinkId> links() const { return links_; }

  // Maximum number of uplinks of a switch of this tier.
  [[nodiscard]] std::uint32_t most_ups(unsigned tier) const { return most_ups_[tier & 0xFFU]; }
  // True for a link between switches of one tier: its failure may change the order of the others.
  [[nodiscard]] bool within_tier(LinkId link) const;

 private:
  void number_switches();
  void order_within_tiers(std::span<const std::uint8_t> link_works);
  void lay_out();
  [[nodiscard]] bool goes_up(SwitchIndex from, SwitchIndex to) const;
  [[nodiscard]] std::uint8_t tier(SwitchIndex s) const { return network_->node(switches_[s]).tier; }

  const Network* network_;
  bool up_down_;
  std::vector<NodeId> switches_;
  std::vector<SwitchIndex> index_;    // by node
  std::vector<std::uint32_t> depth_;  // by switch: hops to the root within its tier
  std::vector<Position> offsets_;
  std::vector<Position> downs_;
  std::vector<SwitchIndex> neighbors_;
  std::vector<LinkId> links_;
  std::vector<Position> reverses_;
  std::array<std::uint32_t, 256> most_ups_{};
};

}  // namespace weft::netsim
