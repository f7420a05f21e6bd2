// Routing: equal-cost next hops are computed from the graph (up-down where there are tiers), and one of them is chosen
// by a hash with explicit fields, function and seed, so that hash collisions and polarization occur as in a real
// fabric. Failures change the tables here; the engines decide when they take effect.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "netsim/network/network.h"

namespace weft::netsim {

enum class RoutingMode : std::uint8_t {
  ecmp,       // hash over equal-cost links
  weighted,   // the same, links weighted by downstream capacity
  resilient,  // a table of buckets; a failure moves only the buckets of the failed link
  d_mod_k,    // static: destination number selects the uplink, as in SimGrid's and InfiniBand's fat trees
  pinned,     // static: queue pair q of rank r of its leaf takes uplink (r + q) mod n, as a controller would place it
  adaptive,   // per packet, the shortest of all equal-cost queues
  flowlet,    // as adaptive, but only after the flow has paused for `flowlet_gap`
  spray,      // per packet, round robin over all equal-cost links, starting at the flow's hash
};
enum class HashFunction : std::uint8_t { crc32, crc16, xor16, toeplitz, mix64 };
// Scope of a seed. One seed for all tiers causes polarization.
enum class HashSeeds : std::uint8_t { per_switch, per_tier, shared };

struct HashFields {
  bool source_address = true;
  bool destination_address = true;
  bool source_port = true;  // carries the entropy of RoCEv2 queue pairs
  bool destination_port = true;
  bool protocol = true;
  bool ingress_link = false;
};

struct RoutingOptions {
  RoutingMode mode = RoutingMode::ecmp;
  HashFunction hash = HashFunction::crc32;
  HashSeeds seeds = HashSeeds::per_switch;
  HashFields fields;
  std::uint64_t seed = 1;
  std::uint32_t resilient_buckets = 256;
  SimTime flowlet_gap = microseconds(50);
  // Up-down: no packet goes up again after going down. False allows cyclic buffer dependencies.
  bool up_down = true;
  // From a link failure to new routes at its two ends (BFD 3 x 50 ms), and from there to the whole fabric (BGP).
  SimTime detection = microseconds(150'000);
  SimTime propagation = microseconds(200'000);
};

// The packet fields that a hash uses.
struct FlowKey {
  NodeId source = model::kNone<NodeId>;
  NodeId destination = model::kNone<NodeId>;
  std::uint32_t source_address = 0;
  std::uint32_t destination_address = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 4791;  // RoCEv2
  std::uint8_t protocol = 17;             // UDP
  std::uint32_t queue_pair = 0;           // for `pinned`
};

// The key of connection `queue_pair` of a transfer between two endpoints: addresses are those of the nodes, the source
// port is derived from the ids the way a driver spreads queue pairs over 49152..65535.
[[nodiscard]] FlowKey flow_key(const Network& network, NodeId source, NodeId destination, std::uint32_t queue_pair,
                               std::uint64_t seed);
[[nodiscard]] std::uint32_t flow_hash(const FlowKey& key, const RoutingOptions& options, std::uint64_t seed,
                                      std::uint32_t ingress);

class Routes {
 public:
  Routes(const Network& network, RoutingOptions options);
  ~Routes();
  Routes(Routes&&) noexcept;
  Routes& operator=(Routes&&) noexcept;

  [[nodiscard]] const RoutingOptions& options() const;
  [[nodiscard]] const Network& network() const;

  // Computes the tables towards these endpoints. After it, the const functions below are thread-safe for these
  // destinations. Cost grows with the destinations requested, not with all pairs.
  void prepare(std::span<const NodeId> destinations);
  // Equal-cost links out of `at` towards an endpoint, by id; empty if there is no path.
  [[nodiscard]] std::span<const LinkId> next_links(NodeId at, NodeId destination) const;
  // The member of next_links() that the mode's hash (or static rule) selects; kNone if there is none.
  [[nodiscard]] LinkId choose(NodeId at, LinkId ingress, const FlowKey& key) const;
  // The whole path of a flow, the source's link first. False if there is none. Prepares the destination if needed.
  bool path(const FlowKey& key, std::vector<LinkId>& out);

  // A link (this direction and its reverse) fails or recovers; tables are recomputed on next use.
  void set_link(LinkId link, bool up);
  [[nodiscard]] bool is_up(LinkId link) const;
  // Counts set_link() calls that changed something: cached paths are stale once it has changed.
  [[nodiscard]] std::uint32_t epoch() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

[[nodiscard]] std::string_view to_text(RoutingMode mode);
[[nodiscard]] std::string_view to_text(HashFunction function);
[[nodiscard]] std::string_view to_text(HashSeeds seeds);

}  // namespace weft::netsim
