// Sets of packet headers, as unions of boxes over source address, destination address, protocol and destination port:
// the algebra for composing access lists and routes (header space analysis, Kazemian et al., NSDI 2012). Bounded: a set
// that would need more than kMaxBoxes becomes a superset marked `approximate`, so results may overestimate reachability
// but never underestimate it. Source ports, flags and IPv6 are not modeled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "config/switch_config.h"

namespace weft::check {

struct Packet {
  Ipv4 source;
  Ipv4 destination;
  int protocol = 6;  // IANA number; 6 TCP, 17 UDP, 1 ICMP
  int port = 0;      // destination port; only meaningful for TCP and UDP
};
// "10.60.0.2 -> 10.70.0.2 tcp 22"
[[nodiscard]] std::string to_text(const Packet& packet);
// "tcp", "udp", "icmp", "protocol 89"
[[nodiscard]] std::string protocol_text(int protocol);

struct Interval {  // inclusive
  std::uint32_t low = 0;
  std::uint32_t high = 0;

  [[nodiscard]] bool contains(std::uint32_t value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
[[nodiscard]] Interval interval_of(const Ipv4Prefix& prefix);

struct PacketBox {
  // In this order: source, destination, protocol (0..255), destination port (0..65535).
  std::array<Interval, 4> sides = {{{0, 0xFFFFFFFFU}, {0, 0xFFFFFFFFU}, {0, 255}, {0, 65535}}};

  [[nodiscard]] bool contains(const Packet& packet) const;
  [[nodiscard]] bool contains(const PacketBox& other) const;
  friend bool operator==(const PacketBox&, const PacketBox&) = default;
};
[[nodiscard]] PacketBox box_of(const config::AclRule& rule);
[[nodiscard]] std::optional<PacketBox> intersect(const PacketBox& a, const PacketBox& b);

class PacketSet {
 public:
  static constexpr std::size_t kMaxBoxes = 2048;

  PacketSet() = default;  // empty
  explicit PacketSet(const PacketBox& box) : boxes_{box} {}
  [[nodiscard]] static PacketSet all() { return PacketSet(PacketBox{}); }
  // All packets: the conservative result.
  [[nodiscard]] static PacketSet unknown();
  // From anywhere in `sources` to anywhere in `destinations`.
  [[nodiscard]] static PacketSet between(const std::vector<Interval>& sources,
                                         const std::vector<Interval>& destinations);

  [[nodiscard]] bool empty() const { return boxes_.empty(); }
  [[nodiscard]] bool approximate() const { return approximate_; }
  [[nodiscard]] const std::vector<PacketBox>& boxes() const { return boxes_; }  // disjoint unless approximate
  [[nodiscard]] bool contains(const Packet& packet) const;

  [[nodiscard]] PacketSet intersect(const PacketBox& box) const;
  [[nodiscard]] PacketSet intersect(const PacketSet& other) const;
  [[nodiscard]] PacketSet subtract(const PacketBox& box) const;
  // An approximate `other` may contain too many packets, so nothing is subtracted for it.
  [[nodiscard]] PacketSet subtract(const PacketSet& other) const;
  void unite(const PacketSet& other);

  // A packet of the set, preferably with one of these addresses, TCP and one of these ports.
  struct PacketPreferences {
    std::vector<Ipv4> sources;
    std::vector<Ipv4> destinations;
  };
  [[nodiscard]] std::optional<Packet> pick(const PacketPreferences& wishes) const;
  // Protocols and ports, ignoring addresses: "all", "none", "tcp 22,443; udp 623".
  [[nodiscard]] std::string services() const;

 private:
  void limit_boxes();

  std::vector<PacketBox> boxes_;
  bool approximate_ = false;
};

// Packets that an access list permits; the first matching rule decides.
[[nodiscard]] PacketSet apply_acl(const config::AclConfig& acl, const PacketSet& packets);
// The first rule that matches the packet; null if none does.
[[nodiscard]] const config::AclRule* deciding_rule(const config::AclConfig& acl, const Packet& packet);
[[nodiscard]] bool permits(const config::AclConfig& acl, const Packet& packet);
// Rules that match no packet because earlier rules cover them, at least one with the opposite action (permit or deny);
// `by` is the first of those. Rules that only repeat an earlier one are left out. Indices into AclConfig::rules.
struct ShadowedRule {
  std::size_t rule = 0;
  std::size_t by = 0;
};
[[nodiscard]] std::vector<ShadowedRule> shadowed_rules(const config::AclConfig& acl);

// Sorts and merges overlapping and adjacent address ranges.
[[nodiscard]] std::vector<Interval> join_intervals(std::vector<Interval> intervals);
// The IPv4 addresses that are in none of the intervals.
[[nodiscard]] std::vector<Interval> complement(const std::vector<Interval>& intervals);
// The smallest set of prefixes that covers exactly the range.
[[nodiscard]] std::vector<Ipv4Prefix> prefixes_of(const Interval& interval);

}  // namespace weft::check
