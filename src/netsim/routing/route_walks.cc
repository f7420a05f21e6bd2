// Computes the entries of a table: breadth first from its roots over the links that lead down to them, then upwards
// from each requesting switch. All under the tables' lock.
#include <limits>

#include "netsim/routing/route_tables.h"

namespace weft::netsim {

// Paths beyond the switches above a leaf are the same for every leaf below them, so these share a table that starts
// there. It cannot start there if the leaf has switches below it: their path up might end at the leaf itself.
void RouteTables::settle(Attachment& attachment) const {
  if (attachment.table.load(std::memory_order_relaxed) != nullptr) return;
  const bool lowest = std::all_of(attachment.switches.begin(), attachment.switches.end(),
                                  [&](SwitchIndex s) { return graph_.downs_begin(s) == graph_.downs_end(s); });
  if (up_down_ && lowest) attachment.parents = parents_of(attachment);
  std::vector<Root> roots;
  for (const Parent& parent : attachment.parents) {
    Root root{parent.at, 0};
    for (const LinkId link : links_of(parent.entry))
      root.capacity += static_cast<double>(network_->link(link).rate.count());
    roots.push_back(root);
  }
  if (roots.empty()) {
    for (const SwitchIndex s : attachment.switches) roots.push_back({s, std::numeric_limits<double>::infinity()});
  }
  std::unique_ptr<Table>& table = tables_[roots];
  if (!table) {
    table = std::make_unique<Table>();
    table->roots = std::move(roots);
  }
  attachment.table.store(table.get(), std::memory_order_release);
}

// Every switch above, with its working links down to the attachment.
std::vector<RouteTables::Parent> RouteTables::parents_of(const Attachment& attachment) const {
  std::vector<std::pair<SwitchIndex, Position>> links;
  for (const SwitchIndex s : attachment.switches) {
    for (Position p = graph_.ups_begin(s); p < graph_.ups_end(s); ++p) {
      if (working(graph_.link(p))) links.emplace_back(graph_.neighbor(p), graph_.reverse(p));
    }
  }
  std::sort(links.begin(), links.end());
  std::vector<Parent> parents;
  std::vector<Position> positions;
  for (std::size_t i = 0; i < links.size(); ++i) {
    positions.push_back(links[i].second);
    if (i + 1 < links.size() && links[i + 1].first == links[i].first) continue;
    parents.push_back({links[i].first, entry_of(positions, 2)});
    positions.clear();
  }
  return parents;
}

// Positions in order, of one switch. Contiguous ones need no set of their own.
RouteTables::Entry RouteTables::entry_of(std::span<const Position> positions, std::uint16_t distance) const {
  positions = positions.first(std::min<std::size_t>(positions.size(), kMaxMembers));
  Entry out;
  out.distance = distance;
  out.offset = positions.front();
  out.count = static_cast<std::uint16_t>(positions.size());
  if (positions.back() - positions.front() + 1 == positions.size()) return out;
  std::vector<LinkId> members;
  for (const Position p : positions) members.push_back(graph_.link(p));
  out.in_sets = true;
  out.offset = sets_.add(members);
  return out;
}

void RouteTables::open(Table& table) const {
  if (table.open.load(std::memory_order_relaxed)) return;
  table.entries = std::make_unique<std::atomic<std::uint64_t>[]>(graph_.size());
  if (capacities_) table.capacities = std::make_unique<double[]>(graph_.size());
  drafts_.resize(graph_.size(), 0);
  for (const Root& root : table.roots) {
    Entry here;
    here.distance = 1;
    table.entries[root.at].store(packed(here), std::memory_order_relaxed);
    if (capacities_) table.capacities[root.at] = root.capacity;
    table.frontier.push_back(root.at);
  }
  // All paths down must be known before a switch can be found to have none.
  while (up_down_ && !table.frontier.empty()) walk_level(table);
  table.open.store(true, std::memory_order_release);
}

// One hop further from the destination. Entries are drafted first: published ones may be read concurrently.
void RouteTables::walk_level(Table& table) const {
  const auto distance = static_cast<std::uint16_t>(table.distance(table.frontier.front()) + 1);
  std::vector<SwitchIndex> reached;
  scattered_.clear();
  for (const SwitchIndex from : table.frontier) {
    if (distance == kNoWay) break;
    const Position end = up_down_ ? graph_.ups_end(from) : graph_.downs_end(from);
    for (Position p = graph_.ups_begin(from); p < end; ++p) {
      const SwitchIndex to = graph_.neighbor(p);
      if (table.distance(to) == 0 && working(graph_.link(p))) reach(graph_.reverse(p), to, distance, reached);
    }
  }
  for (const SwitchIndex s : scattered_) drafts_[s] = packed(ways_down(table, s, distance));
  for (const SwitchIndex s : reached) {
    publish(table, s, unpacked(drafts_[s]));
    drafts_[s] = 0;
  }
  table.frontier = std::move(reached);
}

// Link `down` leads from `at` to a switch that is nearer.
void RouteTables::reach(Position down, SwitchIndex at, std::uint16_t distance,
                        std::vector<SwitchIndex>& reached) const {
  Entry draft = unpacked(drafts_[at]);
  if (draft.distance == 0) {
    draft.offset = down;
    draft.count = 1;
    draft.distance = distance;
    reached.push_back(at);
  } else if (down == draft.offset + draft.count && draft.count < kMaxMembers) {
    ++draft.count;
  } else {
    scattered_.push_back(at);
    return;
  }
  drafts_[at] = packed(draft);
}

// All working links down to switches that are one hop nearer than `distance`.
RouteTables::Entry RouteTables::ways_down(const Table& table, SwitchIndex at, std::uint16_t distance) const {
  std::vector<Position> positions;
  for (Position p = graph_.downs_begin(at); p < graph_.downs_end(at); ++p) {
    if (working(graph_.link(p)) && table.distance(graph_.neighbor(p)) + 1 == distance) positions.push_back(p);
  }
  return entry_of(positions, distance);
}

void RouteTables::walk_until(Table& table, SwitchIndex at) const {
  while (table.distance(at) == 0 && !table.frontier.empty()) walk_level(table);
  if (table.distance(at) != 0) return;
  Entry none;
  none.distance = kNoWay;
  publish(table, at, none);
}

// Switches without a path down go up. The uplinks form no cycle, so all switches above can be settled first.
void RouteTables::climb(Table& table, SwitchIndex at) const {
  std::vector<SwitchIndex> waiting{at};
  while (!waiting.empty()) {
    const SwitchIndex s = waiting.back();
    if (table.distance(s) != 0 || settle_climb(table, s, waiting)) waiting.pop_back();
  }
}

// False if some switches above are not settled: they are then queued before `at`.
bool RouteTables::settle_climb(Table& table, SwitchIndex at, std::vector<SwitchIndex>& waiting) const {
  const std::size_t before = waiting.size();
  std::uint16_t nearest = kNoWay;
  std::vector<Position> positions;
  positions.reserve(graph_.ups_end(at) - graph_.ups_begin(at));
  for (Position p = graph_.ups_begin(at); p < graph_.ups_end(at); ++p) {
    if (!working(graph_.link(p))) continue;
    const SwitchIndex above = graph_.neighbor(p);
    const std::uint16_t distance = table.distance(above);
    if (distance == 0) waiting.push_back(above);
    if (distance == kNoWay || distance > nearest) continue;
    if (distance < nearest) positions.clear();
    nearest = distance;
    positions.push_back(p);
  }
  if (waiting.size() > before) return false;
  Entry none;
  none.distance = kNoWay;
  const bool too_far = positions.empty() || nearest == kNoWay - 1;
  publish(table, at, too_far ? none : entry_of(positions, static_cast<std::uint16_t>(nearest + 1)));
  return true;
}

void RouteTables::publish(Table& table, SwitchIndex at, Entry entry) const {
  if (capacities_) {
    double sum = 0;
    for (const LinkId link : links_of(entry)) {
      const auto rate = static_cast<double>(network_->link(link).rate.count());
      sum += std::min(rate, table.capacities[graph_.index(network_->link(link).to)]);
    }
    table.capacities[at] = sum;
  }
  table.entries[at].store(packed(entry), std::memory_order_release);
}

}  // namespace weft::netsim
