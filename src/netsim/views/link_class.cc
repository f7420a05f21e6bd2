#include "netsim/views/link_class.h"

#include <algorithm>
#include <array>

namespace weft::netsim {
namespace {

constexpr std::size_t kClasses = static_cast<std::size_t>(LinkClass::lateral) + 1;

LinkClass between_switches(int from_tier, int to_tier) {
  if (from_tier == to_tier) return LinkClass::lateral;
  if (from_tier < to_tier) return from_tier <= 1 ? LinkClass::leaf_up : LinkClass::spine_up;
  return to_tier <= 1 ? LinkClass::spine_down : LinkClass::core_down;
}

void add(ClassLoad& load, LinkId id, const LinkStats& stats, double share) {
  ++load.links;
  if (stats.bytes.count() > 0) {
    ++load.used;
    load.mean_utilization += share;  // divided once all are added
  }
  if (load.hottest == model::kNone<LinkId> || share > load.max_utilization) {
    load.hottest = id;
    load.max_utilization = share;
  }
  load.max_queue = std::max(load.max_queue, stats.max_queue);
  load.paused += stats.paused;
  load.pauses += stats.pauses;
  load.marked += stats.marked;
  load.dropped += stats.dropped;
}

}  // namespace

LinkClass class_of(const Network& network, LinkId link) {
  const Node& from = network.node(network.link(link).from);
  const Node& to = network.node(network.link(link).to);
  if (to.scale_up) return LinkClass::scale_up_send;
  if (from.scale_up) return LinkClass::scale_up_receive;
  if (from.kind == NodeKind::endpoint) return LinkClass::nic_send;
  if (to.kind == NodeKind::endpoint) return LinkClass::nic_receive;
  return between_switches(from.tier, to.tier);
}

std::string_view to_text(LinkClass kind) {
  switch (kind) {
    case LinkClass::nic_send:
      return "sending NICs";
    case LinkClass::nic_receive:
      return "receiving NICs";
    case LinkClass::scale_up_send:
      return "sending NVLinks";
    case LinkClass::scale_up_receive:
      return "receiving NVLinks";
    case LinkClass::leaf_up:
      return "leaf uplinks";
    case LinkClass::spine_down:
      return "spine downlinks";
    case LinkClass::spine_up:
      return "spine uplinks";
    case LinkClass::core_down:
      return "core downlinks";
    case LinkClass::lateral:
      return "links between equal switches";
  }
  return "?";
}

double utilization(const Link& link, const LinkStats& stats, SimTime end) {
  if (end.count() <= 0 || end == kNever) return 0;
  const double possible = static_cast<double>(link.rate.count()) * static_cast<double>(end.count()) / 1e12;
  return static_cast<double>(stats.bytes.count()) * 8 / possible;
}

std::vector<ClassLoad> class_loads(const Network& network, const SimResult& result) {
  std::array<ClassLoad, kClasses> all{};
  const std::size_t count = std::min(network.links().size(), result.links.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<LinkId>(i);
    const LinkClass kind = class_of(network, id);
    ClassLoad& load = all[static_cast<std::size_t>(kind)];
    load.kind = kind;
    add(load, id, result.links[i], utilization(network.link(id), result.links[i], result.end));
  }
  std::vector<ClassLoad> present;
  for (ClassLoad& load : all) {
    if (load.links == 0) continue;
    if (load.used > 0) load.mean_utilization /= load.used;
    present.push_back(load);
  }
  return present;
}

std::vector<LinkId> siblings_of(const Network& network, LinkId link) {
  std::vector<LinkId> found;
  const LinkClass kind = class_of(network, link);
  for (const LinkId other : network.out_links(network.link(link).from)) {
    if (class_of(network, other) == kind) found.push_back(other);
  }
  return found;
}

}  // namespace weft::netsim
