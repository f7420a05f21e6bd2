// Which of several equal-cost links a flow takes: by hash, or by the static rule of the mode. It depends on the routing
// tables and the flow's key, never on load: load-based modes are in the packet engine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "netsim/routing/route_tables.h"
#include "netsim/routing/routing.h"

namespace weft::netsim {

class LinkChoice {
 public:
  LinkChoice(const Network& network, const RoutingOptions& options, const SwitchGraph& graph);

  // Member number (hash mod count), as a switch indexes its ECMP group.
  [[nodiscard]] LinkId by_hash(std::span<const LinkId> links, NodeId at, LinkId ingress, const FlowKey& key) const;
  // Member i is repeated in proportion to its weight, at most kMaxCopies times, as WCMP fills a hardware group; the
  // hash chooses among all copies.
  [[nodiscard]] LinkId by_weight(std::span<const LinkId> links, NodeId at, LinkId ingress, const FlowKey& key,
                                 const RouteTables& tables) const;
  // Bucket number (hash mod buckets); bucket b belongs to member b mod n of the links before any failure. Buckets whose
  // owner failed go to the link that ranks highest for them (rendezvous hashing, Thaler and Ravishankar 1998), so a
  // second failure moves only its own buckets, and a repair moves only those back.
  [[nodiscard]] LinkId by_bucket(std::span<const LinkId> links, std::span<const LinkId> before, NodeId at,
                                 LinkId ingress, const FlowKey& key) const;
  // The destination's index among all endpoints, divided by the product of the uplink counts of the tiers below.
  [[nodiscard]] LinkId by_destination(std::span<const LinkId> links, NodeId at, const FlowKey& key) const;
  // A placement that a controller could compute for a full fabric: see the .cc.
  [[nodiscard]] LinkId by_pin(std::span<const LinkId> links, NodeId at, const FlowKey& key) const;

  static constexpr std::uint32_t kMaxCopies = 64;

 private:
  struct EndpointPlace {
    std::uint32_t number = 0;   // among all endpoints
    std::uint32_t on_leaf = 0;  // among those of its first switch
    std::uint32_t leaf = 0;     // that switch's index within its tier and group
  };
  [[nodiscard]] std::uint32_t hash(NodeId at, LinkId ingress, const FlowKey& key) const;
  void find_places(const SwitchGraph& graph);

  const Network* network_;
  RoutingOptions options_;
  std::vector<std::uint64_t> seeds_;           // by node
  std::vector<EndpointPlace> places_;          // by node
  std::array<std::uint64_t, 256> divisors_{};  // by tier
};

}  // namespace weft::netsim
