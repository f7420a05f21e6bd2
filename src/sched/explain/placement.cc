#include "sched/explain/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sched/placement/placement.h"

namespace weft::sched {
namespace {

std::size_t at(Level level) { return static_cast<std::size_t>(level); }

std::vector<NodeId> nodes_of(const Placement& placement) {
  std::vector<NodeId> nodes;
  for (const Slot& slot : placement.slots) nodes.push_back(slot.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// Fewer wide domains first, then less fragmentation.
auto rank_of(const PlacementScore& score) {
  return std::make_tuple(score.level, score.domains[at(Level::leaf)], score.domains[at(Level::nvlink)],
                         score.fragmentation, !score.rails_aligned);
}

// The same search with the tightest common domain of the chosen nodes excluded: the placement if that were occupied.
std::optional<Found> elsewhere(const State& without, const FitClass& fits, const Gang& gang, Level level,
                               const std::vector<NodeId>& chosen) {
  const Machine& machine = without.machine();
  FitView view(machine, fits);
  if (level == Level::node || level == Level::cluster) {
    for (const NodeId node : chosen) view.set(node, 0);
  } else {
    const Domain& domain = machine.domains(level)[machine.domain_of(level, chosen.front())];
    for (std::uint32_t n = domain.first_node; n < domain.end_node; ++n) view.set(static_cast<NodeId>(n), 0);
  }
  return find_nodes(view, gang, {});
}

}  // namespace

PlacementScore score_of(const State& without, const Job& job, const Placement& placement,
                        const std::vector<DemandKind>& demand) {
  PlacementScore score;
  const Machine& machine = without.machine();
  const std::vector<NodeId> nodes = nodes_of(placement);
  score.level = tightest_level(machine, placement.slots);
  score.domains[at(Level::node)] = static_cast<std::uint32_t>(nodes.size());
  for (std::size_t level = at(Level::nvlink); level < kLevels; ++level) {
    std::uint32_t last = UINT32_MAX;  // nodes of a domain are consecutive
    for (const NodeId node : nodes) {
      const std::uint32_t domain = machine.domain_of(static_cast<Level>(level), node);
      score.domains[level] += domain != last ? 1U : 0U;
      last = domain;
    }
  }
  std::vector<std::uint16_t> masks(nodes.size(), 0);
  for (const Slot& slot : placement.slots) {
    const auto node = std::lower_bound(nodes.begin(), nodes.end(), slot.node) - nodes.begin();
    masks[static_cast<std::size_t>(node)] =
        static_cast<std::uint16_t>(masks[static_cast<std::size_t>(node)] | slot.gpus);
  }
  score.rails_aligned = std::all_of(masks.begin(), masks.end(), [&](std::uint16_t mask) { return mask == masks[0]; });
  State with = without;
  with.place(JobId{}, job.task, placement.slots);
  score.fragmentation = ClusterFragmentation(demand).measure(with).total;
  return score;
}

PlacementExplanation explain_placement(const Scheduler& scheduler, JobId id, const std::vector<DemandKind>& demand,
                                       std::size_t most_alternatives) {
  PlacementExplanation result;
  result.job = id;
  const JobRecord& record = scheduler.record(id);
  if (record.placement.empty()) return result;
  State without = scheduler.state();
  without.remove(id, record.job.task, record.placement.slots);
  result.fragmentation_before = ClusterFragmentation(demand).measure(without).total;
  result.chosen = score_of(without, record.job, record.placement, demand);

  FitIndex index;
  const FitClass& fits = index.of(record.job.task, without);
  Gang gang = gang_of(record.job);
  gang.tasks = record.running_tasks();
  std::vector<std::vector<NodeId>> seen = {nodes_of(record.placement)};
  const auto consider = [&](std::string how, const std::optional<Found>& found) {
    if (!found) return;
    Placement placement = choose_slots(without, record.job.task, *found);
    std::vector<NodeId> nodes = nodes_of(placement);
    if (std::find(seen.begin(), seen.end(), nodes) != seen.end()) return;
    seen.push_back(std::move(nodes));
    PlacementScore score = score_of(without, record.job, placement, demand);
    result.alternatives.push_back({std::move(how), score, std::move(placement)});
  };
  const FitView view(scheduler.machine(), fits);
  const std::optional<Found> tightest = find_nodes(view, gang, {});
  result.tightest = tightest ? tightest->level : result.chosen.level;
  consider("tightest domain now", tightest);
  consider("next best domain", elsewhere(without, fits, gang, result.chosen.level, seen.front()));
  consider("first fit", find_nodes(view, gang, {.topology = false, .nodes = NodeChoice::first, .scorer = {}}));
  consider("spread", find_nodes(view, gang, {.topology = false, .nodes = NodeChoice::spread, .scorer = {}}));
  std::stable_sort(result.alternatives.begin(), result.alternatives.end(),
                   [](const auto& a, const auto& b) { return rank_of(a.score) < rank_of(b.score); });
  if (result.alternatives.size() > most_alternatives) result.alternatives.resize(most_alternatives);

  const PlacementScore& chosen = result.chosen;
  std::string where = chosen.level == Level::node
                          ? "on one node"
                          : fmt::format("on {} nodes of one {}", chosen.domains[0], to_text(chosen.level));
  if (chosen.level > Level::leaf) where += fmt::format(", {} leaf groups", chosen.domains[at(Level::leaf)]);
  result.sentence =
      fmt::format("{}; {}{}; fragmentation {:.1f} % before, {:.1f} % after", where,
                  result.tightest < chosen.level ? fmt::format("it would now fit in one {}", to_text(result.tightest))
                                                 : std::string("it fits in no tighter domain"),
                  record.job.task.whole_gpus() && chosen.domains[0] > 1
                      ? (chosen.rails_aligned ? "; rails aligned" : "; rails not aligned")
                      : "",
                  100 * result.fragmentation_before, 100 * chosen.fragmentation);
  return result;
}

}  // namespace weft::sched
