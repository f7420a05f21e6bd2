#include "netsim/routing/switch_graph.h"

#include <algorithm>
#include <limits>

namespace weft::netsim {

SwitchGraph::SwitchGraph(const Network& network, bool up_down, std::span<const std::uint8_t> link_works)
    : network_(&network), up_down_(up_down) {
  number_switches();
  order_within_tiers(link_works);
  lay_out();
}

void SwitchGraph::number_switches() {
  const std::span<const Node> nodes = network_->nodes();
  index_.assign(nodes.size(), kNoSwitch);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != NodeKind::network_switch || nodes[i].scale_up) continue;
    index_[i] = static_cast<SwitchIndex>(switches_.size());
    switches_.push_back(static_cast<NodeId>(i));
  }
}

// Breadth first from the lowest id of every connected component of the links of one tier. In a Clos fabric such a
// component is one switch (or a pair of leaves with a cable between them).
void SwitchGraph::order_within_tiers(std::span<const std::uint8_t> link_works) {
  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  depth_.assign(switches_.size(), up_down_ ? kUnseen : 0);
  std::vector<SwitchIndex> queue;
  for (SwitchIndex root = 0; root < size(); ++root) {
    if (depth_[root] != kUnseen) continue;
    depth_[root] = 0;
    queue.assign(1, root);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const SwitchIndex from = queue[i];
      for (const LinkId link : network_->out_links(switches_[from])) {
        const SwitchIndex to = index_[model::index_of(network_->link(link).to)];
        if (to == kNoSwitch || depth_[to] != kUnseen || tier(to) != tier(from) ||
            link_works[model::index_of(link)] == 0) {
          continue;
        }
        depth_[to] = depth_[from] + 1;
        queue.push_back(to);
      }
    }
  }
}

bool SwitchGraph::goes_up(SwitchIndex from, SwitchIndex to) const {
  if (!up_down_) return false;
  if (tier(from) != tier(to)) return tier(to) > tier(from);
  if (depth_[from] != depth_[to]) return depth_[to] < depth_[from];
  return to < from;
}

void SwitchGraph::lay_out() {
  std::vector<Position> position_of(network_->links().size(), 0);
  offsets_.assign(1, 0);
  for (SwitchIndex from = 0; from < size(); ++from) {
    for (const bool up : {true, false}) {
      for (const LinkId link : network_->out_links(switches_[from])) {
        const SwitchIndex to = index_[model::index_of(network_->link(link).to)];
        if (to == kNoSwitch || to == from || goes_up(from, to) != up) continue;
        position_of[model::index_of(link)] = static_cast<Position>(links_.size());
        links_.push_back(link);
        neighbors_.push_back(to);
      }
      if (up) downs_.push_back(static_cast<Position>(links_.size()));
    }
    offsets_.push_back(static_cast<Position>(links_.size()));
    std::uint32_t& most = most_ups_[tier(from)];
    most = std::max(most, ups_end(from) - ups_begin(from));
  }
  reverses_.reserve(links_.size());
  for (const LinkId link : links_) reverses_.push_back(position_of[model::index_of(network_->link(link).reverse)]);
}

bool SwitchGraph::within_tier(LinkId link) const {
  const SwitchIndex from = index_[model::index_of(network_->link(link).from)];
  const SwitchIndex to = index_[model::index_of(network_->link(link).to)];
  return from != kNoSwitch && to != kNoSwitch && tier(from) == tier(to);
}

}  // namespace weft::netsim
