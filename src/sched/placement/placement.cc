#include "sched/placement/placement.h"

#include <algorithm>

#include "base/check.h"

namespace weft::sched {
namespace {

constexpr Level kTree[] = {Level::nvlink, Level::rack, Level::leaf, Level::pod, Level::cluster};

std::size_t at(Level level) { return static_cast<std::size_t>(level); }
Level below(Level level) { return static_cast<Level>(at(level) - 1); }

// Counts by domain used by a descent: tasks, or whole segments above the segment level.
class Descent {
 public:
  Descent(const FitView& view, const PlacementPolicy& policy) : view_(view), policy_(policy) {}

  // Places `tasks` into the domain; they must fit.
  void fill(Level level, std::uint32_t domain, std::int64_t tasks, std::vector<NodeCount>& out) const {
    const Domain& here = view_.machine().domains(level)[domain];
    if (level == Level::nvlink) {
      fill_nodes(here, tasks, out);
      return;
    }
    const Level children = below(level);
    spread_over(
        here.first_child, here.end_child, tasks, [&](std::uint32_t child) { return view_.sum(children, child); },
        [&](std::uint32_t child, std::int64_t count) { fill(children, child, count, out); });
  }

  // Fewest children: the largest ones completely, the rest into the smallest child that fits it.
  template <class Capacity, class Put>
  static void spread_over(std::uint32_t first, std::uint32_t end, std::int64_t tasks, const Capacity& capacity,
                          const Put& put) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> children;  // by capacity, largest first, then by number
    for (std::uint32_t child = first; child < end; ++child) {
      const std::int64_t count = capacity(child);
      if (count > 0) children.emplace_back(-count, child);
    }
    std::sort(children.begin(), children.end());
    std::size_t next = 0;
    while (tasks > 0) {
      CHECK(next < children.size(), "a domain has room for what was promised");
      std::size_t last = next;  // the last child that fits all the rest: children are sorted
      while (last + 1 < children.size() && -children[last + 1].first >= tasks) ++last;
      if (-children[next].first >= tasks) {
        while (last > next && children[last - 1].first == children[last].first) --last;  // ties: the first
        put(children[last].second, tasks);
        return;
      }
      put(children[next].second, -children[next].first);
      tasks += children[next].first;
      ++next;
    }
  }

  // One node that fits all `tasks`, or none.
  [[nodiscard]] std::optional<std::uint32_t> one_node(const Domain& within, std::int64_t tasks) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t node = within.first_node; node < within.end_node; ++node) {
      if (view_.fit(node) < tasks) continue;
      if (!best || better(node, *best)) best = node;
      if (policy_.nodes == NodeChoice::first) break;
    }
    return best;
  }

 private:
  // Compares two nodes that both fit the tasks: the cheaper is better; ties go to the one whose domains have the least
  // capacity left, starting with the tightest, to avoid fragmenting empty domains.
  [[nodiscard]] bool better(std::uint32_t a, std::uint32_t b) const {
    if (view_.cost(a) != view_.cost(b)) {
      return policy_.nodes == NodeChoice::spread ? view_.cost(a) > view_.cost(b) : view_.cost(a) < view_.cost(b);
    }
    if (!policy_.topology) return false;
    for (const Level level : {Level::nvlink, Level::rack, Level::leaf, Level::pod}) {
      const std::uint32_t da = view_.machine().domain_of(level, static_cast<NodeId>(a));
      const std::uint32_t db = view_.machine().domain_of(level, static_cast<NodeId>(b));
      if (da == db) return false;
      const std::int64_t left_a = view_.sum(level, da);
      const std::int64_t left_b = view_.sum(level, db);
      if (left_a != left_b) return policy_.nodes == NodeChoice::spread ? left_a > left_b : left_a < left_b;
    }
    return false;
  }

  void fill_nodes(const Domain& here, std::int64_t tasks, std::vector<NodeCount>& out) const {
    struct Candidate {
      std::int32_t fit;
      std::uint32_t cost;
      std::uint32_t node;
    };
    std::vector<Candidate> nodes;
    for (std::uint32_t node = here.first_node; node < here.end_node; ++node) {
      if (view_.fit(node) > 0) nodes.push_back({view_.fit(node), view_.cost(node), node});
    }
    const bool spread = policy_.nodes == NodeChoice::spread;
    std::sort(nodes.begin(), nodes.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.fit != b.fit) return a.fit > b.fit;
      if (a.cost != b.cost) return spread ? a.cost > b.cost : a.cost < b.cost;
      return a.node < b.node;
    });
    std::size_t next = 0;
    while (tasks > 0) {
      CHECK(next < nodes.size(), "a domain has room for what was promised");
      if (nodes[next].fit >= tasks) {  // the tightest node that fits the rest
        std::size_t last = next;
        while (last + 1 < nodes.size() && nodes[last + 1].fit >= tasks) ++last;
        while (last > next && nodes[last - 1].fit == nodes[last].fit) --last;
        out.push_back({nodes[last].node, static_cast<std::int32_t>(tasks)});
        return;
      }
      out.push_back({nodes[next].node, nodes[next].fit});
      tasks -= nodes[next].fit;
      ++next;
    }
  }

  const FitView& view_;
  const PlacementPolicy& policy_;
};

// The domain of a level that fits `tasks` with the least capacity left over.
std::optional<std::uint32_t> tightest_domain(const FitView& view, Level level, std::int64_t tasks) {
  std::optional<std::uint32_t> best;
  const auto count = static_cast<std::uint32_t>(view.machine().domains(level).size());
  for (std::uint32_t domain = 0; domain < count; ++domain) {
    const std::int64_t room = view.sum(level, domain);
    if (room >= tasks && (!best || room < view.sum(level, *best))) best = domain;
  }
  return best;
}

// Whole segments that fit, by domain, from the segment level up.
struct SegmentCounts {
  std::vector<std::int64_t> counts[kLevels];

  SegmentCounts(const FitView& view, const Gang& gang) {
    const Machine& machine = view.machine();
    const std::size_t lowest = at(std::max(gang.segment_level, Level::nvlink));
    for (std::size_t level = lowest; level < kLevels; ++level) {
      counts[level].assign(machine.domains(static_cast<Level>(level)).size(), 0);
    }
    if (gang.segment_level == Level::node) {
      for (std::uint32_t node = 0; node < machine.nodes().size(); ++node) {
        add(machine, lowest, machine.domain_of(Level::nvlink, static_cast<NodeId>(node)),
            view.fit(node) / gang.segment);
      }
      return;
    }
    for (std::uint32_t domain = 0; domain < counts[lowest].size(); ++domain) {
      add(machine, lowest, domain, view.sum(gang.segment_level, domain) / gang.segment);
    }
  }

 private:
  void add(const Machine& machine, std::size_t level, std::uint32_t domain, std::int64_t segments) {
    for (; level < kLevels; ++level) {
      counts[level][domain] += segments;
      domain = machine.domains(static_cast<Level>(level))[domain].parent;
    }
  }
};

class SegmentDescent {
 public:
  SegmentDescent(const FitView& view, const Gang& gang, const PlacementPolicy& policy, const SegmentCounts& counts)
      : view_(view), gang_(gang), tasks_(view, policy), counts_(counts) {}

  void fill(Level level, std::uint32_t domain, std::int64_t segments, std::vector<NodeCount>& out) const {
    const Domain& here = view_.machine().domains(level)[domain];
    if (level == gang_.segment_level) {
      tasks_.fill(level, domain, segments * gang_.segment, out);
      return;
    }
    if (level == Level::nvlink) {  // segments inside one node each
      Descent::spread_over(
          here.first_node, here.end_node, segments,
          [&](std::uint32_t node) { return std::int64_t{view_.fit(node) / gang_.segment}; },
          [&](std::uint32_t node, std::int64_t count) {
            out.push_back({node, static_cast<std::int32_t>(count) * gang_.segment});
          });
      return;
    }
    const Level children = below(level);
    Descent::spread_over(
        here.first_child, here.end_child, segments,
        [&](std::uint32_t child) { return counts_.counts[at(children)][child]; },
        [&](std::uint32_t child, std::int64_t count) { fill(children, child, count, out); });
  }

 private:
  const FitView& view_;
  const Gang& gang_;
  Descent tasks_;
  const SegmentCounts& counts_;
};

std::optional<Found> find_segments(const FitView& view, const Gang& gang, const PlacementPolicy& policy) {
  const SegmentCounts counts(view, gang);
  const SegmentDescent descent(view, gang, policy, counts);
  const std::int64_t segments = gang.tasks / gang.segment;
  const Level first = std::max(gang.segment_level, Level::nvlink);
  for (std::size_t level = at(policy.topology ? first : gang.required); level <= at(gang.required); ++level) {
    const std::vector<std::int64_t>& rooms = counts.counts[level];
    std::optional<std::uint32_t> best;
    for (std::uint32_t domain = 0; domain < rooms.size(); ++domain) {
      if (rooms[domain] >= segments && (!best || rooms[domain] < rooms[*best])) best = domain;
    }
    if (!best) continue;
    Found found;
    descent.fill(static_cast<Level>(level), *best, segments, found.nodes);
    return found;
  }
  return std::nullopt;
}

Found finished(const Machine& machine, Found found) {
  std::sort(found.nodes.begin(), found.nodes.end(),
            [](const NodeCount& a, const NodeCount& b) { return a.node < b.node; });
  const std::uint32_t first = found.nodes.front().node;
  const std::uint32_t last = found.nodes.back().node;
  found.level = Level::node;
  if (first == last) return found;
  for (const Level level : kTree) {
    found.level = level;
    if (machine.domain_of(level, static_cast<NodeId>(first)) == machine.domain_of(level, static_cast<NodeId>(last))) {
      break;
    }
  }
  return found;
}

}  // namespace

FitView::FitView(const Machine& machine, const FitClass& fits, std::span<const NodeLimit> limits)
    : machine_(&machine), fits_(&fits) {
  for (const NodeLimit& limit : limits) {
    const std::uint16_t before = fits.fit[index_of(limit.node)];
    if (before == 0) continue;
    const int now = count_fits(fits.request, limit.free, before);
    if (now != before) set(limit.node, static_cast<std::uint16_t>(now));
  }
}

void FitView::patch() {
  patched_ = true;
  fit_ = fits_->fit;
  for (const Level level : kTree) sums_[at(level)] = fits_->sums[at(level)];
}

void FitView::set(NodeId node, std::uint16_t count) {
  if (!patched_) patch();
  const int change = count - fit_[index_of(node)];
  fit_[index_of(node)] = count;
  for (const Level level : kTree) sums_[at(level)][machine_->domain_of(level, node)] += change;
}

Gang gang_of(const Job& job) { return {job.tasks, job.required, job.segment, job.segment_level}; }

std::optional<Found> find_nodes(const FitView& view, const Gang& gang, const PlacementPolicy& policy) {
  const Machine& machine = view.machine();
  if (machine.nodes().empty() || view.sum(Level::cluster, 0) < gang.tasks) return std::nullopt;
  if (gang.segment > 0) {
    std::optional<Found> found = find_segments(view, gang, policy);
    return found ? std::optional<Found>(finished(machine, std::move(*found))) : std::nullopt;
  }
  const Descent descent(view, policy);
  Found found;
  if (gang.tasks <= view.most() && (policy.topology || gang.tasks == 1 || gang.required == Level::node)) {
    if (const auto node = descent.one_node(machine.domains(Level::cluster)[0], gang.tasks)) {
      found.nodes.push_back({*node, gang.tasks});
      found.level = Level::node;
      return found;
    }
  }
  if (gang.required == Level::node) return std::nullopt;
  for (const Level level : kTree) {
    if (level > gang.required) break;
    if (level < gang.required && (!policy.topology || !machine.distinct(level))) continue;
    const std::optional<std::uint32_t> domain = tightest_domain(view, level, gang.tasks);
    if (!domain) continue;
    descent.fill(level, *domain, gang.tasks, found.nodes);
    return finished(machine, std::move(found));
  }
  return std::nullopt;
}

bool can_place(const FitView& view, const Gang& gang, const PlacementPolicy& policy) {
  if (gang.required != Level::cluster || gang.segment > 0) return find_nodes(view, gang, policy).has_value();
  return !view.machine().nodes().empty() && view.sum(Level::cluster, 0) >= gang.tasks;
}

std::int32_t most_tasks(const FitView& view, const Gang& gang) {
  const Machine& machine = view.machine();
  if (machine.nodes().empty()) return 0;
  std::int64_t most = 0;
  if (gang.segment > 0) {
    const SegmentCounts counts(view, gang);
    for (const std::int64_t count : counts.counts[at(std::max(gang.required, gang.segment_level))]) {
      most = std::max(most, count * gang.segment);
    }
  } else if (gang.required == Level::node) {
    for (std::uint32_t node = 0; node < machine.nodes().size(); ++node) {
      most = std::max<std::int64_t>(most, view.fit(node));
    }
  } else {
    for (std::uint32_t domain = 0; domain < machine.domains(gang.required).size(); ++domain) {
      most = std::max(most, view.sum(gang.required, domain));
    }
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, gang.tasks));
}

Placement choose_slots(const State& state, const Request& request, const Found& found,
                       std::span<const NodeLimit> limits) {
  Placement placement;
  std::uint16_t like = 0;
  for (const NodeCount& count : found.nodes) {
    const auto node = static_cast<NodeId>(count.node);
    const auto limit =
        std::lower_bound(limits.begin(), limits.end(), node, [](const NodeLimit& a, NodeId b) { return a.node < b; });
    NodeFree free = limit != limits.end() && limit->node == node ? limit->free : state.free(node);
    for (std::int32_t task = 0; task < count.tasks; ++task) {
      std::optional<Slot> slot = choose_slot(request, state.machine().node(node), free, task == 0 ? like : 0);
      CHECK(slot.has_value(), "a node takes as many tasks as were counted");
      slot->node = node;
      if (task == 0) like = slot->gpus;
      take(free, request, *slot);
      placement.slots.push_back(*slot);
    }
  }
  return placement;
}

Level tightest_level(const Machine& machine, std::span<const Slot> slots) {
  if (slots.empty()) return Level::node;
  NodeId first = slots[0].node;
  NodeId last = slots[0].node;
  for (const Slot& slot : slots) {
    first = std::min(first, slot.node);
    last = std::max(last, slot.node);
  }
  if (first == last) return Level::node;
  for (const Level level : kTree) {
    if (machine.domain_of(level, first) == machine.domain_of(level, last)) return level;
  }
  return Level::cluster;
}

}  // namespace weft::sched
