// How the entries of a table come about: breadth first from the destination's switches over the links that lead down to
// them, then upwards from whoever asks. All under the tables' lock.
#include <limits>

#include "net/route_tables.h"

namespace weft::net {

void RouteTables::open(Attachment& attachment) const {
  if (attachment.open.load(std::memory_order_relaxed)) return;
  attachment.entries = std::make_unique<std::atomic<std::uint64_t>[]>(graph_.size());
  if (capacities_) attachment.capacities = std::make_unique<double[]>(graph_.size());
  drafts_.resize(graph_.size(), 0);
  for (const SwitchIndex s : attachment.switches) {
    Entry here;
    here.distance = 1;
    attachment.entries[s].store(packed(here), std::memory_order_relaxed);
    if (capacities_) attachment.capacities[s] = std::numeric_limits<double>::infinity();
  }
  attachment.frontier = attachment.switches;
  // The ways down are needed whole before anyone can know that there is none from where he stands.
  while (up_down_ && !attachment.frontier.empty()) walk_level(attachment);
  attachment.open.store(true, std::memory_order_release);
}

// One hop further from the destination. Entries are drafted first: others may read what is published.
void RouteTables::walk_level(Attachment& attachment) const {
  const auto distance = static_cast<std::uint16_t>(attachment.distance(attachment.frontier.front()) + 1);
  std::vector<SwitchIndex> reached;
  scattered_.clear();
  for (const SwitchIndex from : attachment.frontier) {
    if (distance == kNoWay) break;
    const Position end = up_down_ ? graph_.ups_end(from) : graph_.downs_end(from);
    for (Position p = graph_.ups_begin(from); p < end; ++p) {
      const SwitchIndex to = graph_.neighbour(p);
      if (attachment.distance(to) == 0 && works(graph_.link(p))) reach(graph_.reverse(p), to, distance, reached);
    }
  }
  for (const SwitchIndex s : scattered_) {
    drafts_[s] = packed(collect(attachment, graph_.downs_begin(s), graph_.downs_end(s), distance));
  }
  for (const SwitchIndex s : reached) {
    publish(attachment, s, unpacked(drafts_[s]));
    drafts_[s] = 0;
  }
  attachment.frontier = std::move(reached);
}

// Link `down` leads from `at` to one that is nearer.
void RouteTables::reach(Position down, SwitchIndex at, std::uint16_t distance,
                        std::vector<SwitchIndex>& reached) const {
  Entry draft = unpacked(drafts_[at]);
  if (draft.distance == 0) {
    draft.offset = down;
    draft.count = 1;
    draft.distance = distance;
    reached.push_back(at);
  } else if (down == draft.offset + draft.count && draft.count < kMostMembers) {
    ++draft.count;
  } else {
    scattered_.push_back(at);
    return;
  }
  drafts_[at] = packed(draft);
}

// The working links of a range that lead to a switch one nearer than `distance`.
RouteTables::Entry RouteTables::collect(const Attachment& attachment, Position begin, Position end,
                                        std::uint16_t distance) const {
  Entry out;
  out.distance = distance;
  std::vector<LinkId> members;
  for (Position p = begin; p < end && members.size() < kMostMembers; ++p) {
    if (!works(graph_.link(p)) || attachment.distance(graph_.neighbour(p)) + 1 != distance) continue;
    if (members.empty()) out.offset = p;
    members.push_back(graph_.link(p));
  }
  out.count = static_cast<std::uint16_t>(members.size());
  if (graph_.link(out.offset + out.count - 1U) == members.back()) return out;
  out.in_sets = true;
  out.offset = sets_.add(members);
  return out;
}

void RouteTables::walk_until(Attachment& attachment, SwitchIndex at) const {
  while (attachment.distance(at) == 0 && !attachment.frontier.empty()) walk_level(attachment);
  if (attachment.distance(at) != 0) return;
  Entry none;
  none.distance = kNoWay;
  publish(attachment, at, none);
}

// Those without a way down go up. The up links form no circle, so that everyone above can be settled first.
void RouteTables::climb(Attachment& attachment, SwitchIndex at) const {
  std::vector<SwitchIndex> waiting{at};
  while (!waiting.empty()) {
    const SwitchIndex s = waiting.back();
    const std::size_t before = waiting.size();
    if (attachment.distance(s) == 0) {
      for (Position p = graph_.ups_begin(s); p < graph_.ups_end(s); ++p) {
        const SwitchIndex above = graph_.neighbour(p);
        if (attachment.distance(above) == 0 && works(graph_.link(p))) waiting.push_back(above);
      }
      if (waiting.size() > before) continue;
      settle_climb(attachment, s);
    }
    waiting.pop_back();
  }
}

void RouteTables::settle_climb(Attachment& attachment, SwitchIndex at) const {
  std::uint16_t nearest = kNoWay;
  for (Position p = graph_.ups_begin(at); p < graph_.ups_end(at); ++p) {
    if (works(graph_.link(p))) nearest = std::min(nearest, attachment.distance(graph_.neighbour(p)));
  }
  if (nearest >= kNoWay - 1) {
    Entry none;
    none.distance = kNoWay;
    publish(attachment, at, none);
    return;
  }
  const auto distance = static_cast<std::uint16_t>(nearest + 1);
  publish(attachment, at, collect(attachment, graph_.ups_begin(at), graph_.ups_end(at), distance));
}

void RouteTables::publish(Attachment& attachment, SwitchIndex at, Entry entry) const {
  if (capacities_) {
    double sum = 0;
    for (const LinkId link : links_of(entry)) {
      const auto rate = static_cast<double>(network_->link(link).rate.count());
      sum += std::min(rate, attachment.capacities[graph_.index(network_->link(link).to)]);
    }
    attachment.capacities[at] = sum;
  }
  attachment.entries[at].store(packed(entry), std::memory_order_release);
}

}  // namespace weft::net
