// Propagates packet sets through the graph, and returns the path of one packet.
#include <fmt/format.h>

#include <algorithm>

#include "check/reach/reachability_model.h"

namespace weft::check {
namespace {

// At this limit the search stops and everything counts as reached.
constexpr std::size_t kMaxSteps = 50'000;
constexpr std::uint32_t kNoStep = 0xFFFFFFFFU;

PacketSet filter_packets(const ReachEdge& edge, const PacketSet& packets) {
  PacketSet out = packets;
  if (!edge.destinations.empty()) {
    PacketSet routed;
    for (const Interval& range : edge.destinations) {
      PacketBox box;
      box.sides[1] = range;
      routed.unite(out.intersect(box));
    }
    out = std::move(routed);
  }
  for (const config::AclConfig* acl : edge.acls) {
    if (out.empty()) break;
    out = apply_acl(*acl, out);
  }
  return out;
}

PacketSet to_zone(const PacketSet& packets, const ReachZone& zone) {
  return packets.intersect(PacketSet::between({{0, 0xFFFFFFFFU}}, zone.addresses));
}

std::string acl_text(const config::AclConfig& acl, const Packet& packet) {
  const config::AclRule* rule = deciding_rule(acl, packet);
  if (rule == nullptr)
    return fmt::format("access list `{}` {} packets that match no rule", acl.name,
                       acl.permit_rest ? "permits" : "denies");
  return fmt::format("access list `{}` {} it, rule {}", acl.name, rule->permit ? "permits" : "denies", rule->sequence);
}

SourceLocation acl_place(const config::AclConfig& acl, const Packet& packet) {
  const config::AclRule* rule = deciding_rule(acl, packet);
  return rule == nullptr ? acl.place : rule->place;
}

}  // namespace

ReachSearch ReachModel::search(const std::vector<std::pair<NodeId, PacketSet>>& start,
                               const std::vector<bool>& open) const {
  ReachSearch out;
  out.seen.resize(nodes.size());
  for (const auto& [node, packets] : start) {
    if (packets.empty()) continue;
    out.seen[node].unite(packets);
    out.steps.push_back({node, packets, kNoStep, kNoStep});
  }
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    const NodeId node = out.steps[i].node;
    for (const std::uint32_t id : out_edges[node]) {
      const ReachEdge& edge = edges[id];
      if (edge.crossing != kNoCrossing && !open.empty() && !open[edge.crossing]) continue;
      PacketSet& seen = out.seen[edge.to];
      if (seen.approximate()) continue;  // already propagated in full
      PacketSet fresh = filter_packets(edge, out.steps[i].packets);
      if (fresh.empty()) continue;
      fresh = fresh.subtract(seen);
      if (fresh.empty()) continue;
      seen.unite(fresh);
      if (seen.approximate()) {
        seen = PacketSet::unknown();
        fresh = seen;
      }
      out.steps.push_back({edge.to, std::move(fresh), static_cast<std::uint32_t>(i), id});
    }
    if (out.steps.size() > kMaxSteps) {
      out.gave_up = true;
      break;
    }
  }
  return out;
}

std::vector<NodeId> ReachModel::nodes_of(const ReachZone& zone, bool arriving) const {
  if (zone.kind == ZoneKind::site) return {site};
  std::vector<NodeId> out;
  for (const ReachSegment& segment : segments) {
    if (static_cast<int>(segment.fabric) != zone.fabric) continue;
    const Interval own = interval_of(segment.prefix);
    const bool part = std::any_of(zone.addresses.begin(), zone.addresses.end(), [&](const Interval& range) {
      return range.low <= own.high && own.low <= range.high;
    });
    if (part) out.push_back(arriving ? segment.out : segment.in);
  }
  return out;
}

ReachSearch ReachModel::search_from(const ReachZone& zone, const std::vector<bool>& open) const {
  std::vector<std::pair<NodeId, PacketSet>> start;
  if (zone.kind == ZoneKind::site) {
    start.emplace_back(site, PacketSet::between(zone.addresses, {{0, 0xFFFFFFFFU}}));
    return search(start, open);
  }
  for (const ReachSegment& segment : segments) {
    if (static_cast<int>(segment.fabric) != zone.fabric) continue;
    const PacketSet own = PacketSet::between({interval_of(segment.prefix)}, {{0, 0xFFFFFFFFU}});
    start.emplace_back(segment.in, PacketSet::between(zone.addresses, {{0, 0xFFFFFFFFU}}).intersect(own));
  }
  return search(start, open);
}

PacketSet::PacketPreferences ReachModel::wishes(const ReachZone& from, const ReachZone& to) const {
  PacketSet::PacketPreferences out;
  const auto collect = [&](const ReachZone& zone, ReachSegment::Sample ReachSegment::*sample, std::vector<Ipv4>& list) {
    for (const ReachSegment& segment : segments) {
      const Ipv4 address = (segment.*sample).address;
      if (static_cast<int>(segment.fabric) == zone.fabric && address.bits != 0) list.push_back(address);
    }
    // An address that RFC 5737 reserves for documentation represents the site.
    if (zone.kind == ZoneKind::site) list.push_back(Ipv4{0xC6336401U});
    if (zone.kind == ZoneKind::jump) list.push_back(Ipv4{zone.addresses.front().low});
  };
  collect(from, &ReachSegment::first, out.sources);
  collect(to, &ReachSegment::second, out.destinations);
  collect(to, &ReachSegment::first, out.destinations);
  return out;
}

std::string ReachModel::name_of(Ipv4 address) const {
  for (const ReachSegment& segment : segments) {
    if (segment.first.address == address && address.bits != 0) return segment.first.name;
    if (segment.second.address == address && address.bits != 0) return segment.second.name;
  }
  for (const ReachZone& zone : zones) {
    const bool inside = std::any_of(zone.addresses.begin(), zone.addresses.end(),
                                    [&](const Interval& range) { return range.contains(address.bits); });
    if (!inside) continue;
    if (zone.kind == ZoneKind::jump) return "a jump host";
    if (zone.kind == ZoneKind::site) return "a host of the site";
  }
  return {};
}

ZoneReach ReachModel::arrival(const ReachSearch& search, const ReachZone& from, const ReachZone& to) const {
  ZoneReach out;
  out.gave_up = search.gave_up;
  const std::vector<NodeId> ends = nodes_of(to, true);
  for (const NodeId node : ends) out.packets.unite(to_zone(search.seen[node], to));
  const auto packet = out.packets.pick(wishes(from, to));
  if (!packet) return out;
  for (std::size_t i = 0; i < search.steps.size() && !out.path; ++i) {
    const ReachStep& step = search.steps[i];
    if (std::find(ends.begin(), ends.end(), step.node) == ends.end() || !step.packets.contains(*packet)) continue;
    out.path =
        path_to(search, static_cast<std::uint32_t>(i), *packet, name_of(packet->source), name_of(packet->destination));
  }
  return out;
}

std::optional<ReachPath> ReachModel::path_to(const ReachSearch& search, std::uint32_t step, const Packet& packet,
                                             std::string_view from, std::string_view to) const {
  ReachPath path;
  path.packet = packet;
  std::vector<ReachHop> back;
  const auto end = [&](NodeId node, std::string_view name, Ipv4 address) {
    const std::string& network = nodes[node].name;
    back.push_back(
        {name.empty() ? network : std::string(name), fmt::format("{} on {}", to_text(address), network), {}});
  };
  end(search.steps[step].node, to, packet.destination);
  for (std::uint32_t at = step; search.steps[at].parent != kNoStep; at = search.steps[at].parent) {
    const ReachEdge& edge = edges[search.steps[at].edge];
    for (const config::AclConfig* acl : edge.acls) {
      back.push_back({edge.hop.where, acl_text(*acl, packet), acl_place(*acl, packet)});
    }
    back.push_back(edge.hop);
    if (edge.crossing != kNoCrossing) path.crossings.push_back(edge.crossing);
    if (search.steps[search.steps[at].parent].parent == kNoStep) end(edge.from, from, packet.source);
  }
  if (search.steps[step].parent == kNoStep) end(search.steps[step].node, from, packet.source);
  path.hops.assign(back.rbegin(), back.rend());
  std::reverse(path.crossings.begin(), path.crossings.end());
  return path;
}

std::vector<ReachHop> ReachModel::stops(const ReachSearch& search, const Packet& packet) const {
  std::vector<ReachHop> out;
  std::vector<bool> told(nodes.size(), false);  // going back to a visited node is not progress
  for (const ReachStep& step : search.steps) {
    if (told[step.node]) continue;
    told[step.node] = true;
    bool onward = false;
    for (const std::uint32_t id : out_edges[step.node]) {
      const ReachEdge& edge = edges[id];
      const bool routed = edge.destinations.empty() ||
                          std::any_of(edge.destinations.begin(), edge.destinations.end(),
                                      [&](const Interval& range) { return range.contains(packet.destination.bits); });
      if (!routed || told[edge.to]) continue;
      bool passed = true;
      for (const config::AclConfig* acl : edge.acls) {
        if (permits(*acl, packet)) continue;
        passed = false;
        out.push_back({edge.hop.where, acl_text(*acl, packet), acl_place(*acl, packet)});
        break;
      }
      onward = onward || passed;
    }
    if (!onward && nodes[step.node].routes) {
      out.push_back({nodes[step.node].name, "no route to " + to_text(packet.destination), {}});
    }
  }
  return out;
}

}  // namespace weft::check
