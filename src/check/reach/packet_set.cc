#include "check/reach/packet_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

namespace weft::check {
namespace {

constexpr std::uint32_t kLast = 0xFFFFFFFFU;
constexpr std::size_t kSource = 0;
constexpr std::size_t kDestination = 1;
constexpr std::size_t kProtocol = 2;
constexpr std::size_t kPort = 3;

std::optional<Interval> overlap(const Interval& a, const Interval& b) {
  const Interval both{std::max(a.low, b.low), std::min(a.high, b.high)};
  if (both.low > both.high) return std::nullopt;
  return both;
}

// The part of `box` outside `hole`: at most two disjoint slabs per side, cut in the order of the sides; each cut
// narrows the middle.
void subtract_box(const PacketBox& box, const PacketBox& hole, std::vector<PacketBox>& out) {
  if (!intersect(box, hole)) {
    out.push_back(box);
    return;
  }
  PacketBox middle = box;
  for (std::size_t i = 0; i < middle.sides.size(); ++i) {
    const Interval whole = middle.sides[i];
    const Interval& gone = hole.sides[i];
    if (whole.low < gone.low) {
      PacketBox below = middle;
      below.sides[i] = {whole.low, gone.low - 1};
      out.push_back(below);
      middle.sides[i].low = gone.low;
    }
    if (whole.high > gone.high) {
      PacketBox above = middle;
      above.sides[i] = {gone.high + 1, whole.high};
      out.push_back(above);
      middle.sides[i].high = gone.high;
    }
  }
}

std::uint32_t wished(const Interval& side, const std::vector<Ipv4>& wishes) {
  for (const Ipv4 wish : wishes) {
    if (side.contains(wish.bits)) return wish.bits;
  }
  // The first address of a subnet is the network address: the next one is more likely a host's.
  return side.low < side.high && (side.low & 0xFFU) == 0 ? side.low + 1 : side.low;
}

int wish_score(const PacketBox& box, const PacketSet::PacketPreferences& wishes) {
  const auto has = [](const Interval& side, const std::vector<Ipv4>& list) {
    return std::any_of(list.begin(), list.end(), [&](Ipv4 a) { return side.contains(a.bits); });
  };
  return (has(box.sides[kSource], wishes.sources) ? 4 : 0) +
         (has(box.sides[kDestination], wishes.destinations) ? 4 : 0) + (box.sides[kProtocol].contains(6) ? 2 : 0) +
         (box.sides[kPort].contains(22) ? 1 : 0);
}

std::string ports_text(const std::vector<Interval>& ports) {
  std::string out;
  for (const Interval& range : ports) {
    if (!out.empty()) out += ',';
    out += range.low == range.high ? fmt::format("{}", range.low) : fmt::format("{}-{}", range.low, range.high);
  }
  return out;
}

}  // namespace

std::string protocol_text(int protocol) {
  switch (protocol) {
    case 1:
      return "icmp";
    case 6:
      return "tcp";
    case 17:
      return "udp";
    default:
      return fmt::format("protocol {}", protocol);
  }
}

std::string to_text(const Packet& packet) {
  std::string out =
      fmt::format("{} -> {} {}", to_text(packet.source), to_text(packet.destination), protocol_text(packet.protocol));
  if (packet.protocol == 6 || packet.protocol == 17) out += fmt::format(" {}", packet.port);
  return out;
}

Interval interval_of(const Ipv4Prefix& prefix) {
  return {prefix.base.bits, prefix.base.bits + static_cast<std::uint32_t>(prefix.size() - 1)};
}

bool PacketBox::contains(const Packet& packet) const {
  return sides[kSource].contains(packet.source.bits) && sides[kDestination].contains(packet.destination.bits) &&
         sides[kProtocol].contains(static_cast<std::uint32_t>(packet.protocol)) &&
         sides[kPort].contains(static_cast<std::uint32_t>(packet.port));
}

bool PacketBox::contains(const PacketBox& other) const {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (other.sides[i].low < sides[i].low || other.sides[i].high > sides[i].high) return false;
  }
  return true;
}

PacketBox box_of(const config::AclRule& rule) {
  PacketBox box;
  box.sides[kSource] = interval_of(rule.source);
  box.sides[kDestination] = interval_of(rule.destination);
  if (rule.protocol >= 0) {
    const auto protocol = static_cast<std::uint32_t>(std::min(rule.protocol, 255));
    box.sides[kProtocol] = {protocol, protocol};
  }
  const int low = std::clamp(rule.port_low, 0, 65535);
  const int high = std::clamp(rule.port_high, low, 65535);
  box.sides[kPort] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high)};
  return box;
}

std::optional<PacketBox> intersect(const PacketBox& a, const PacketBox& b) {
  PacketBox both;
  for (std::size_t i = 0; i < a.sides.size(); ++i) {
    const auto side = overlap(a.sides[i], b.sides[i]);
    if (!side) return std::nullopt;
    both.sides[i] = *side;
  }
  return both;
}

PacketSet PacketSet::unknown() {
  PacketSet out = all();
  out.approximate_ = true;
  return out;
}

PacketSet PacketSet::between(const std::vector<Interval>& sources, const std::vector<Interval>& destinations) {
  PacketSet out;
  for (const Interval& source : join_intervals(sources)) {
    for (const Interval& destination : join_intervals(destinations)) {
      PacketBox box;
      box.sides[kSource] = source;
      box.sides[kDestination] = destination;
      out.boxes_.push_back(box);
      out.limit_boxes();
    }
  }
  return out;
}

bool PacketSet::contains(const Packet& packet) const {
  return std::any_of(boxes_.begin(), boxes_.end(), [&](const PacketBox& box) { return box.contains(packet); });
}

// Drops detail: replaces all boxes by one bounding box.
void PacketSet::limit_boxes() {
  if (boxes_.size() <= kMaxBoxes) return;
  PacketBox hull = boxes_.front();
  for (const PacketBox& box : boxes_) {
    for (std::size_t i = 0; i < hull.sides.size(); ++i) {
      hull.sides[i].low = std::min(hull.sides[i].low, box.sides[i].low);
      hull.sides[i].high = std::max(hull.sides[i].high, box.sides[i].high);
    }
  }
  boxes_ = {hull};
  approximate_ = true;
}

PacketSet PacketSet::intersect(const PacketBox& box) const {
  PacketSet out;
  out.approximate_ = approximate_;
  for (const PacketBox& own : boxes_) {
    if (const auto both = weft::check::intersect(own, box)) out.boxes_.push_back(*both);
  }
  return out;
}

PacketSet PacketSet::intersect(const PacketSet& other) const {
  PacketSet out;
  out.approximate_ = approximate_ || other.approximate_;
  for (const PacketBox& box : other.boxes_) {
    const PacketSet part = intersect(box);
    out.boxes_.insert(out.boxes_.end(), part.boxes_.begin(), part.boxes_.end());
    out.limit_boxes();
  }
  return out;
}

PacketSet PacketSet::subtract(const PacketBox& box) const {
  PacketSet out;
  out.approximate_ = approximate_;
  out.boxes_.reserve(boxes_.size());
  for (const PacketBox& own : boxes_) subtract_box(own, box, out.boxes_);
  out.limit_boxes();
  return out;
}

PacketSet PacketSet::subtract(const PacketSet& other) const {
  if (other.approximate_) return *this;
  PacketSet out = *this;
  for (const PacketBox& box : other.boxes_) {
    if (out.empty()) break;
    out = out.subtract(box);
  }
  return out;
}

void PacketSet::unite(const PacketSet& other) {
  // Adds only new packets, to keep the boxes disjoint.
  PacketSet added = boxes_.empty() ? other : other.subtract(*this);
  approximate_ = approximate_ || added.approximate_;
  boxes_.insert(boxes_.end(), added.boxes_.begin(), added.boxes_.end());
  limit_boxes();
}

std::optional<Packet> PacketSet::pick(const PacketPreferences& wishes) const {
  const PacketBox* best = nullptr;
  int best_score = -1;
  for (const PacketBox& box : boxes_) {
    const int score = wish_score(box, wishes);
    if (score <= best_score) continue;
    best = &box;
    best_score = score;
  }
  if (best == nullptr) return std::nullopt;
  Packet packet;
  packet.source.bits = wished(best->sides[kSource], wishes.sources);
  packet.destination.bits = wished(best->sides[kDestination], wishes.destinations);
  const Interval& protocols = best->sides[kProtocol];
  packet.protocol = protocols.contains(6) ? 6 : protocols.contains(17) ? 17 : static_cast<int>(protocols.low);
  const Interval& ports = best->sides[kPort];
  packet.port = ports.contains(22) ? 22 : static_cast<int>(ports.low);
  return packet;
}

std::string PacketSet::services() const {
  if (empty()) return "none";
  // Protocol boundaries split the axis into bands with the same ports.
  std::vector<std::uint32_t> starts{0};
  for (const PacketBox& box : boxes_) {
    starts.push_back(box.sides[kProtocol].low);
    if (box.sides[kProtocol].high < 255) starts.push_back(box.sides[kProtocol].high + 1);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  std::string out;
  bool everything = true;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::vector<Interval> ports;
    for (const PacketBox& box : boxes_) {
      if (box.sides[kProtocol].contains(starts[i])) ports.push_back(box.sides[kPort]);
    }
    ports = join_intervals(std::move(ports));
    const bool whole = ports.size() == 1 && ports.front() == Interval{0, 65535};
    everything = everything && whole;
    if (ports.empty()) continue;
    const std::uint32_t last = i + 1 < starts.size() ? starts[i + 1] - 1 : 255;
    if (!out.empty()) out += "; ";
    out += last == starts[i] ? protocol_text(static_cast<int>(last)) : fmt::format("protocols {}-{}", starts[i], last);
    if (!whole) out += ' ' + ports_text(ports);
  }
  return everything ? "all" : out;
}

PacketSet apply_acl(const config::AclConfig& acl, const PacketSet& packets) {
  PacketSet passed;
  PacketSet rest = packets;
  for (const config::AclRule& rule : acl.rules) {
    if (rest.empty()) break;
    const PacketBox box = box_of(rule);
    if (rule.permit) passed.unite(rest.intersect(box));
    rest = rest.subtract(box);
  }
  if (acl.permit_rest) passed.unite(rest);
  return passed;
}

const config::AclRule* deciding_rule(const config::AclConfig& acl, const Packet& packet) {
  for (const config::AclRule& rule : acl.rules) {
    if (box_of(rule).contains(packet)) return &rule;
  }
  return nullptr;
}

bool permits(const config::AclConfig& acl, const Packet& packet) {
  const config::AclRule* rule = deciding_rule(acl, packet);
  return rule == nullptr ? acl.permit_rest : rule->permit;
}

std::vector<ShadowedRule> shadowed_rules(const config::AclConfig& acl) {
  // Quadratic in the number of rules: only the first ones are checked.
  constexpr std::size_t kMaxRules = 2000;
  std::vector<ShadowedRule> out;
  const std::size_t count = std::min(acl.rules.size(), kMaxRules);
  std::vector<PacketBox> boxes;
  boxes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const config::AclRule& rule = acl.rules[i];
    PacketSet rest(box_of(rule));
    std::optional<std::size_t> by;
    for (std::size_t j = 0; j < i && !rest.empty(); ++j) {
      const PacketSet taken = rest.intersect(boxes[j]);
      if (taken.empty()) continue;
      if (!by && acl.rules[j].permit != rule.permit) by = j;
      rest = rest.subtract(boxes[j]);
    }
    if (rest.empty() && by) out.push_back({i, *by});
    boxes.push_back(box_of(rule));
  }
  return out;
}

std::vector<Interval> join_intervals(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; });
  std::vector<Interval> out;
  for (const Interval& next : intervals) {
    if (!out.empty() && (out.back().high == kLast || next.low <= out.back().high + 1)) {
      out.back().high = std::max(out.back().high, next.high);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

std::vector<Interval> complement(const std::vector<Interval>& intervals) {
  std::vector<Interval> out;
  std::uint64_t next = 0;
  for (const Interval& gone : join_intervals(intervals)) {
    if (gone.low > next) out.push_back({static_cast<std::uint32_t>(next), gone.low - 1});
    next = std::uint64_t{gone.high} + 1;
  }
  if (next <= kLast) out.push_back({static_cast<std::uint32_t>(next), kLast});
  return out;
}

std::vector<Ipv4Prefix> prefixes_of(const Interval& interval) {
  std::vector<Ipv4Prefix> out;
  std::uint64_t next = interval.low;
  while (next <= interval.high) {
    const std::uint64_t left = std::uint64_t{interval.high} - next + 1;
    const int aligned = next == 0 ? 32 : std::countr_zero(next);
    const int bits = std::min({aligned, static_cast<int>(std::bit_width(left)) - 1, 32});
    out.push_back({Ipv4{static_cast<std::uint32_t>(next)}, static_cast<std::uint8_t>(32 - bits)});
    next += std::uint64_t{1} << bits;
  }
  return out;
}

}  // namespace weft::check
