#include "check/reach/packet_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace weft::check {
namespace {

// A universe small enough to count: 8 sources x 8 destinations x 4 protocols x 4 ports.
constexpr std::uint32_t kAddresses = 8;
constexpr int kProtocols = 4;
constexpr int kPorts = 4;

PacketBox universe() {
  PacketBox box;
  box.sides = {{{0, kAddresses - 1}, {0, kAddresses - 1}, {0, kProtocols - 1}, {0, kPorts - 1}}};
  return box;
}

std::vector<Packet> every_packet() {
  std::vector<Packet> out;
  for (std::uint32_t s = 0; s < kAddresses; ++s) {
    for (std::uint32_t d = 0; d < kAddresses; ++d) {
      for (int protocol = 0; protocol < kProtocols; ++protocol) {
        for (int port = 0; port < kPorts; ++port) out.push_back({Ipv4{s}, Ipv4{d}, protocol, port});
      }
    }
  }
  return out;
}

Interval random_interval(RandomStream& random, std::uint32_t size) {
  const auto a = static_cast<std::uint32_t>(random.below(size));
  const auto b = static_cast<std::uint32_t>(random.below(size));
  return {std::min(a, b), std::max(a, b)};
}

PacketBox random_box(RandomStream& random) {
  PacketBox box;
  box.sides = {{random_interval(random, kAddresses), random_interval(random, kAddresses),
                random_interval(random, kProtocols), random_interval(random, kPorts)}};
  return box;
}

Ipv4Prefix random_prefix(RandomStream& random) {
  const auto length = static_cast<std::uint8_t>(random.between(29, 32));
  const auto address = static_cast<std::uint32_t>(random.below(kAddresses));
  const std::uint32_t mask = ~std::uint32_t{0} << (32U - length);
  return {Ipv4{address & mask}, length};
}

config::AclConfig random_acl(RandomStream& random) {
  config::AclConfig acl;
  acl.permit_rest = random.chance(0.3);
  const auto rules = random.below(9);
  for (std::uint64_t i = 0; i < rules; ++i) {
    config::AclRule rule;
    rule.permit = random.chance(0.5);
    rule.source = random_prefix(random);
    rule.destination = random_prefix(random);
    if (random.chance(0.5)) rule.protocol = static_cast<int>(random.below(kProtocols));
    if (random.chance(0.5)) {
      const Interval ports = random_interval(random, kPorts);
      rule.port_low = static_cast<int>(ports.low);
      rule.port_high = static_cast<int>(ports.high);
    }
    acl.rules.push_back(rule);
  }
  return acl;
}

// First match wins, evaluated on the fields of the rules without boxes.
bool passes_by_hand(const config::AclConfig& acl, const Packet& packet) {
  for (const config::AclRule& rule : acl.rules) {
    if (!rule.source.contains(packet.source) || !rule.destination.contains(packet.destination)) continue;
    if (rule.protocol >= 0 && rule.protocol != packet.protocol) continue;
    if (packet.port < rule.port_low || packet.port > rule.port_high) continue;
    return rule.permit;
  }
  return acl.permit_rest;
}

TEST(PacketSet, AlgebraAgreesWithCounting) {
  RandomStream random(7, "packet_set");
  const std::vector<Packet> packets = every_packet();
  for (int round = 0; round < 60; ++round) {
    PacketSet a;
    PacketSet b;
    for (int i = 0; i < 3; ++i) a.unite(PacketSet(random_box(random)));
    for (int i = 0; i < 3; ++i) b.unite(PacketSet(random_box(random)));
    const PacketSet both = a.intersect(b);
    const PacketSet less = a.subtract(b);
    PacketSet either = a;
    either.unite(b);
    std::size_t in_a = 0;
    for (const Packet& packet : packets) {
      const bool x = a.contains(packet);
      const bool y = b.contains(packet);
      in_a += x ? 1U : 0U;
      ASSERT_EQ(both.contains(packet), x && y);
      ASSERT_EQ(less.contains(packet), x && !y);
      ASSERT_EQ(either.contains(packet), x || y);
    }
    // Boxes are disjoint, so their volumes add up to the number of packets.
    std::uint64_t volume = 0;
    for (const PacketBox& box : a.boxes()) {
      std::uint64_t one = 1;
      for (const Interval& side : box.sides) one *= std::uint64_t{side.high} - side.low + 1;
      volume += one;
    }
    EXPECT_EQ(volume, in_a);
    EXPECT_FALSE(a.approximate() || b.approximate() || either.approximate());
  }
}

TEST(PacketSet, AccessListsAgreeWithFirstMatch) {
  RandomStream random(11, "acl");
  const std::vector<Packet> packets = every_packet();
  for (int round = 0; round < 150; ++round) {
    const config::AclConfig acl = random_acl(random);
    const PacketSet passed = apply_acl(acl, PacketSet(universe()));
    for (const Packet& packet : packets) {
      ASSERT_EQ(passed.contains(packet), passes_by_hand(acl, packet)) << round << ' ' << to_text(packet);
      ASSERT_EQ(permits(acl, packet), passes_by_hand(acl, packet));
    }
  }
}

TEST(PacketSet, ShadowedRulesMatchNoPacket) {
  RandomStream random(13, "shadow");
  const std::vector<Packet> packets = every_packet();
  std::size_t seen = 0;
  for (int round = 0; round < 200; ++round) {
    config::AclConfig acl = random_acl(random);
    for (config::AclRule& rule : acl.rules) {  // keep within the universe, so counting sees all of a rule
      if (rule.protocol < 0) rule.protocol = 1;
      rule.port_high = std::min(rule.port_high, kPorts - 1);
    }
    std::set<const config::AclRule*> used;
    for (const Packet& packet : packets) used.insert(deciding_rule(acl, packet));
    std::set<std::size_t> expected;
    for (std::size_t i = 0; i < acl.rules.size(); ++i) {
      if (used.contains(&acl.rules[i])) continue;
      bool opposed = false;
      for (const Packet& packet : packets) {
        const config::AclRule* by = deciding_rule(acl, packet);
        config::AclConfig alone;
        alone.rules = {acl.rules[i]};
        opposed =
            opposed || (deciding_rule(alone, packet) != nullptr && by != nullptr && by->permit != acl.rules[i].permit);
      }
      if (opposed) expected.insert(i);
    }
    std::set<std::size_t> found;
    for (const ShadowedRule& rule : shadowed_rules(acl)) found.insert(rule.rule);
    EXPECT_EQ(found, expected) << round;
    seen += expected.size();
  }
  EXPECT_GT(seen, 10U);  // the random lists contain the case
}

TEST(PacketSet, OverflowBecomesASuperset) {
  // A checkerboard of single addresses needs one box per field: more than the limit.
  PacketSet holes = PacketSet::all();
  Packet inside{Ipv4{1}, Ipv4{1}, 6, 22};
  for (std::uint32_t i = 0; i < 3000 && !holes.approximate(); ++i) {
    PacketBox box;
    box.sides[0] = {i * 2, i * 2};
    box.sides[1] = {i * 2, i * 2};
    holes = holes.subtract(box);
    ASSERT_TRUE(holes.contains(inside));
  }
  EXPECT_TRUE(holes.approximate());
  EXPECT_TRUE(holes.contains(Packet{Ipv4{0}, Ipv4{0}, 6, 22}));  // a superset, never a subset
  // No packet can be ruled out by it.
  EXPECT_FALSE(PacketSet::all().subtract(holes).empty());
}

TEST(PacketSet, PicksAPacketOfTheSet) {
  RandomStream random(17, "pick");
  for (int round = 0; round < 50; ++round) {
    PacketSet set;
    for (int i = 0; i < 3; ++i) set.unite(PacketSet(random_box(random)));
    set = set.subtract(random_box(random));
    const auto packet = set.pick({{Ipv4{3}}, {Ipv4{5}}});
    ASSERT_EQ(packet.has_value(), !set.empty());
    EXPECT_TRUE(!packet || set.contains(*packet));
  }
  const auto wished = PacketSet::all().pick({{Ipv4{0x0A3C0002}}, {Ipv4{0x0A460002}}});
  ASSERT_TRUE(wished);
  EXPECT_EQ(to_text(*wished), "10.60.0.2 -> 10.70.0.2 tcp 22");
}

TEST(PacketSet, NamesServices) {
  EXPECT_EQ(PacketSet::all().services(), "all");
  EXPECT_EQ(PacketSet().services(), "none");
  config::AclConfig acl;
  config::AclRule rule;
  rule.permit = true;
  rule.protocol = 6;
  rule.port_low = rule.port_high = 443;
  acl.rules.push_back(rule);
  rule.port_low = rule.port_high = 22;
  acl.rules.push_back(rule);
  rule.protocol = 17;
  rule.port_low = rule.port_high = 623;
  acl.rules.push_back(rule);
  rule.protocol = 1;
  rule.port_low = 0;
  rule.port_high = 65535;
  acl.rules.push_back(rule);
  EXPECT_EQ(apply_acl(acl, PacketSet::all()).services(), "icmp; tcp 22,443; udp 623");
}

TEST(Intervals, JoinComplementAndPrefixes) {
  EXPECT_EQ(join_intervals({{8, 9}, {0, 3}, {4, 5}, {0xFFFFFFFFU, 0xFFFFFFFFU}}),
            (std::vector<Interval>{{0, 5}, {8, 9}, {0xFFFFFFFFU, 0xFFFFFFFFU}}));
  EXPECT_EQ(complement({{0, 9}, {20, 0xFFFFFFFFU}}), (std::vector<Interval>{{10, 19}}));
  EXPECT_EQ(complement({}), (std::vector<Interval>{{0, 0xFFFFFFFFU}}));
  RandomStream random(19, "prefixes");
  for (int round = 0; round < 100; ++round) {
    const auto low = static_cast<std::uint32_t>(random.next());
    const std::uint32_t high = low + static_cast<std::uint32_t>(random.below(std::uint64_t{0xFFFFFFFFU} - low + 1));
    std::vector<Interval> pieces;
    for (const Ipv4Prefix& prefix : prefixes_of({low, high})) pieces.push_back(interval_of(prefix));
    EXPECT_EQ(join_intervals(pieces), (std::vector<Interval>{{low, high}}));
  }
  ASSERT_EQ(prefixes_of({0, 0xFFFFFFFFU}).size(), 1U);
  EXPECT_EQ(prefixes_of({0, 0xFFFFFFFFU}).front().length, 0);
}

}  // namespace
}  // namespace weft::check
