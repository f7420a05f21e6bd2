#include "sched/placement/victims.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "base/check.h"
#include "sched/placement/victims_internal.h"

namespace weft::sched {
namespace {

using victims::Board;
using victims::kMaxListed;
using victims::Room;
using victims::VictimSlot;

// A subset of the locals of a node, and its gain.
struct Option {
  std::uint64_t mask = 0;  // the locals to evict in addition to those already evicted
  double cost = 0;
  std::int32_t gain = 0;
  [[nodiscard]] bool better_than(const Option& other) const {
    if (other.gain == 0) return gain > 0;
    const double here = cost * other.gain;
    const double there = other.cost * gain;
    return here != there ? here < there : std::popcount(mask) < std::popcount(other.mask);
  }
};

class DomainSearch {
 public:
  DomainSearch(Board& board, const PreemptionEffort& effort) : board_(board), effort_(effort), room_(board) {}

  std::optional<VictimSet> run();

 private:
  struct Region {
    std::uint32_t domain = 0;
    std::vector<std::uint32_t> nodes;  // indices
    std::vector<std::uint32_t> items;
    double bound = 0;
  };
  [[nodiscard]] std::vector<Region> regions();
  void share_costs(const Region& region);
  [[nodiscard]] double bound_of(const Region& region);
  [[nodiscard]] double price(const PreemptionProblem::Local& local) const;
  template <class Visit>
  void each_option(std::uint32_t index, const Visit& visit);
  [[nodiscard]] Option best_option(std::uint32_t index, std::int64_t need);
  void apply(std::uint32_t index, std::uint64_t mask);
  bool satisfy_quota(const Region& region);
  bool fill(const std::vector<std::uint32_t>& nodes, const std::function<std::int64_t()>& need);
  bool fill_segments(const Region& region);
  bool greedy(const Region& region);
  void spare();
  void improve(const Region& region);
  void exact(const Region& region, const std::vector<std::uint32_t>& items);
  void consider();
  void clear();
  struct Tree;

  Board& board_;
  const PreemptionEffort& effort_;
  Room room_;
  std::vector<std::vector<double>> share_;  // of the cost of a whole item, by node index and local
  std::vector<char> banned_;
  std::optional<std::vector<std::uint32_t>> best_;
  Loss best_loss_;
  std::uint64_t steps_ = 0;
  std::uint64_t tree_steps_ = 0;
  bool exhausted_ = false;
};

void DomainSearch::clear() {
  for (const std::uint32_t item : room_.chosen()) room_.set(item, false);
}

// The domains in which the gang fits once everything is evicted, with what can be evicted there.
std::vector<DomainSearch::Region> DomainSearch::regions() {
  const PreemptionProblem& problem = board_.problem();
  for (std::uint32_t item = 0; item < problem.items.size(); ++item) room_.set(item, true);
  std::vector<Region> regions;
  std::vector<std::uint32_t> region_of(board_.domains(), UINT32_MAX);
  for (std::uint32_t domain = 0; domain < board_.domains(); ++domain) {
    if (!room_.fits(domain)) continue;
    region_of[domain] = static_cast<std::uint32_t>(regions.size());
    regions.emplace_back();
    regions.back().domain = domain;
  }
  clear();
  for (std::uint32_t n = 0; n < problem.nodes.size(); ++n) {
    const std::uint32_t r = region_of[board_.domain_of(problem.nodes[n].node)];
    if (r == UINT32_MAX) continue;
    regions[r].nodes.push_back(n);
    for (const PreemptionProblem::Local& local : problem.nodes[n].locals) {
      if (local.whole >= 0) regions[r].items.push_back(static_cast<std::uint32_t>(local.whole));
      if (local.unit >= 0) regions[r].items.push_back(static_cast<std::uint32_t>(local.unit));
    }
  }
  for (Region& region : regions) {
    std::sort(region.items.begin(), region.items.end());
    region.items.erase(std::unique(region.items.begin(), region.items.end()), region.items.end());
  }
  return regions;
}

// The cost of an item on several nodes is divided among its nodes in the region, by amount. Any division yields a valid
// lower bound (the cost of a set is then the sum over its nodes); this one is proportional.
void DomainSearch::share_costs(const Region& region) {
  const PreemptionProblem& problem = board_.problem();
  share_.resize(problem.nodes.size());
  std::vector<double> total(problem.items.size(), 0.0);
  for (const std::uint32_t n : region.nodes) {
    for (const PreemptionProblem::Local& local : problem.nodes[n].locals) {
      if (local.whole >= 0) total[static_cast<std::size_t>(local.whole)] += static_cast<double>(local.amount) + 1;
    }
  }
  for (const std::uint32_t n : region.nodes) {
    share_[n].clear();
    for (const PreemptionProblem::Local& local : problem.nodes[n].locals) {
      double share = std::numeric_limits<double>::infinity();
      if (local.whole >= 0) {
        const auto whole = static_cast<std::size_t>(local.whole);
        share = static_cast<double>(problem.items[whole].loss.lost) * (static_cast<double>(local.amount) + 1) /
                total[whole];
      }
      if (local.unit >= 0) {
        share = std::min(share, static_cast<double>(problem.items[static_cast<std::size_t>(local.unit)].loss.lost));
      }
      share_[n].push_back(share);
    }
  }
}

// Lower bound on the loss of any set that frees enough in the region: per node the minimum cost of k more tasks, the
// convex hull of those, and the flattest segments of all hulls until the need is met (a fractional multiple-choice
// knapsack). Segments count as their tasks, which only lowers the bound.
double DomainSearch::bound_of(const Region& region) {
  const PreemptionProblem& problem = board_.problem();
  std::int64_t need = problem.gang.tasks;
  if (!board_.segmented()) {
    need -= room_.value(region.domain);
  } else {
    for (std::uint32_t node = 0; node < problem.fit.size(); ++node) {
      if (board_.domain_of(node) == region.domain) need -= problem.fit[node];
    }
  }
  if (need <= 0) return 0;
  std::vector<std::pair<double, std::int64_t>> pieces;  // cost per task, tasks
  for (const std::uint32_t n : region.nodes) {
    const std::size_t locals = problem.nodes[n].locals.size();
    const std::int32_t base = room_.count(n);
    const std::uint64_t all = locals == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << locals) - 1;
    const std::int32_t most = board_.count(n, all) - base;
    if (most <= 0) continue;
    if (locals > kMaxListed) {  // too many to enumerate: lower bound as if evicting the cheapest freed everything
      double cheapest = std::numeric_limits<double>::infinity();
      for (const double share : share_[n]) cheapest = std::min(cheapest, share);
      pieces.emplace_back(cheapest / most, most);
      continue;
    }
    std::vector<double> least(static_cast<std::size_t>(most) + 1, std::numeric_limits<double>::infinity());
    least[0] = 0;
    for (std::uint64_t mask = 1; mask <= all; ++mask) {
      const std::int32_t gain = std::min(board_.count(n, mask) - base, most);
      if (gain <= 0) continue;
      double cost = 0;
      for (std::size_t l = 0; l < locals; ++l) {
        if (((mask >> l) & 1U) != 0) cost += share_[n][l];
      }
      double& known = least[static_cast<std::size_t>(gain)];
      known = std::min(known, cost);
    }
    for (std::size_t from = 0; from < static_cast<std::size_t>(most);) {  // the lower hull, left to right
      std::size_t to = 0;
      double slope = std::numeric_limits<double>::infinity();
      for (std::size_t k = from + 1; k <= static_cast<std::size_t>(most); ++k) {
        const double here = (least[k] - least[from]) / static_cast<double>(k - from);
        if (here <= slope) {
          slope = here;
          to = k;
        }
      }
      if (to == 0 || !std::isfinite(slope)) break;
      pieces.emplace_back(std::max(0.0, slope), static_cast<std::int64_t>(to - from));
      from = to;
    }
  }
  std::sort(pieces.begin(), pieces.end());
  double bound = 0;
  for (const auto& [slope, tasks] : pieces) {
    const std::int64_t taken = std::min(tasks, need);
    bound += slope * static_cast<double>(taken);
    need -= taken;
    if (need == 0) break;
  }
  return bound;
}

// Subsets of what is left on a node: all of them if they are few, else the cheapest first, one after another.
template <class Visit>
void DomainSearch::each_option(std::uint32_t index, const Visit& visit) {
  const PreemptionProblem::Node& node = board_.problem().nodes[index];
  std::array<std::uint32_t, PreemptionProblem::kMaxLocals> indices{};  // on the stack: this runs for every node
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < node.locals.size(); ++l) {
    if (((room_.mask(index) >> l) & 1U) != 0) continue;
    const PreemptionProblem::Local& local = node.locals[l];
    const bool whole = local.whole >= 0 && banned_[static_cast<std::size_t>(local.whole)] == 0;
    const auto unit_item = static_cast<std::uint32_t>(std::max(0, local.unit));
    const bool unit = local.unit >= 0 && banned_[unit_item] == 0 && room_.may_go(unit_item);
    if (whole || unit) indices[count++] = l;
  }
  if (count == 0) return;
  const std::span<const std::uint32_t> open(indices.data(), count);
  std::array<double, PreemptionProblem::kMaxLocals> prices{};
  for (std::size_t i = 0; i < open.size(); ++i) prices[i] = share_[index][open[i]];
  if (open.size() <= kMaxListed) {
    for (std::uint64_t subset = 1; subset < (std::uint64_t{1} << open.size()); ++subset) {
      std::uint64_t mask = 0;
      double cost = 0;
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (((subset >> i) & 1U) == 0) continue;
        mask |= std::uint64_t{1} << open[i];
        cost += prices[i];
      }
      visit(mask, cost);
    }
    return;
  }
  std::vector<std::size_t> order(open.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto dear = [&](std::size_t i) { return prices[i] / (static_cast<double>(node.locals[open[i]].amount) + 1); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return dear(a) != dear(b) ? dear(a) < dear(b) : a < b; });
  std::uint64_t mask = 0;
  double cost = 0;
  for (const std::size_t i : order) {
    visit(std::uint64_t{1} << open[i], prices[i]);
    mask |= std::uint64_t{1} << open[i];
    cost += prices[i];
    visit(mask, cost);
  }
}

// Counts never shrink with more evicted, which spares most of them: an option without a local that is needed gains
// nothing, and one that costs too much for the most that can be gained is not better.
Option DomainSearch::best_option(std::uint32_t index, std::int64_t need) {
  Option best;
  const std::size_t locals = board_.problem().nodes[index].locals.size();
  const std::int32_t base = room_.count(index);
  const std::uint64_t all = locals == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << locals) - 1;
  const std::int64_t most = std::min<std::int64_t>(board_.count(index, all) - base, need);
  if (most <= 0) return best;
  std::uint64_t needed = 0;
  for (std::size_t l = 0; l < locals && locals <= kMaxListed; ++l) {
    const std::uint64_t bit = std::uint64_t{1} << l;
    if (board_.count(index, all & ~bit) <= base) needed |= bit;
  }
  each_option(index, [&](std::uint64_t mask, double cost) {
    ++steps_;
    const std::uint64_t gone = room_.mask(index) | mask;
    if ((gone & needed) != needed) return;
    if (best.gain > 0 && cost * best.gain > best.cost * static_cast<double>(most)) return;
    const std::int64_t gain = std::min<std::int64_t>(board_.count(index, gone) - base, need);
    if (gain <= 0) return;
    const Option option{mask, cost, static_cast<std::int32_t>(gain)};
    if (option.better_than(best)) best = option;
  });
  return best;
}

// Evicts the locals, each in the cheaper way.
void DomainSearch::apply(std::uint32_t index, std::uint64_t mask) {
  const PreemptionProblem& problem = board_.problem();
  for (std::size_t l = 0; l < problem.nodes[index].locals.size(); ++l) {
    if (((mask >> l) & 1U) == 0) continue;
    const PreemptionProblem::Local& local = problem.nodes[index].locals[l];
    const auto unit = static_cast<std::uint32_t>(std::max(0, local.unit));
    const bool unit_goes = local.unit >= 0 && banned_[unit] == 0 && room_.may_go(unit);
    const bool whole_goes = local.whole >= 0 && banned_[static_cast<std::size_t>(local.whole)] == 0;
    if (unit_goes &&
        !(whole_goes && problem.items[static_cast<std::size_t>(local.whole)].loss <= problem.items[unit].loss)) {
      room_.set(unit, true);
    } else if (whole_goes) {
      room_.set(static_cast<std::uint32_t>(local.whole), true);
    }
  }
}

bool DomainSearch::satisfy_quota(const Region& region) {
  const PreemptionProblem& problem = board_.problem();
  if (room_.admitted()) return true;
  struct Choice {
    double dear = 0;
    bool outside = false;
    std::uint32_t item = 0;
    auto operator<=>(const Choice&) const = default;
  };
  std::vector<Choice> choices;
  for (std::uint32_t item = 0; item < problem.items.size(); ++item) {
    if (!problem.items[item].helps_quota || room_.gone(item) || banned_[item] != 0) continue;
    double amount = 1;
    for (const VictimSlot& place : board_.places(item)) {
      amount += static_cast<double>(problem.nodes[place.node].locals[place.local].amount);
    }
    const bool inside = std::binary_search(region.items.begin(), region.items.end(), item);
    choices.push_back({static_cast<double>(problem.items[item].loss.lost) / amount, !inside, item});
  }
  std::sort(choices.begin(), choices.end());
  for (const Choice& choice : choices) {
    if (!room_.may_go(choice.item)) continue;
    room_.set(choice.item, true);
    ++steps_;
    if (room_.admitted()) return true;
  }
  return false;
}

// Greedy: takes the cheapest option per task until nothing is needed.
bool DomainSearch::fill(const std::vector<std::uint32_t>& nodes, const std::function<std::int64_t()>& need) {
  struct Entry {
    Option option;
    std::uint32_t node = 0;
    std::uint64_t seen = 0;                     // the node's mask then
    bool operator<(const Entry& other) const {  // std heaps keep the largest on top
      if (other.option.better_than(option)) return true;
      if (option.better_than(other.option)) return false;
      return other.node < node;
    }
  };
  std::vector<Entry> heap;
  const auto push = [&](std::uint32_t node, std::int64_t needed) {
    const Option option = best_option(node, needed);
    if (option.gain == 0) return;
    heap.push_back({option, node, room_.mask(node)});
    std::push_heap(heap.begin(), heap.end());
  };
  std::int64_t needed = need();
  if (needed <= 0) return true;
  for (const std::uint32_t node : nodes) push(node, needed);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Entry entry = heap.back();
    heap.pop_back();
    if (entry.seen != room_.mask(entry.node) || entry.option.gain > needed) {
      push(entry.node, needed);
      continue;
    }
    const std::uint64_t before = room_.mask(entry.node);
    apply(entry.node, entry.option.mask);
    needed = need();
    if (needed <= 0) return true;
    if (room_.mask(entry.node) != before) push(entry.node, needed);
  }
  return false;
}

// Completes segments one by one, each where it costs the least.
bool DomainSearch::fill_segments(const Region& region) {
  const std::int64_t segment = board_.problem().gang.segment;
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> pieces;
  for (const std::uint32_t n : region.nodes) {
    const std::uint32_t piece = board_.piece_of(board_.problem().nodes[n].node);
    if (pieces.empty() || pieces.back().first != piece) pieces.emplace_back(piece, std::vector<std::uint32_t>());
    pieces.back().second.push_back(n);
  }
  while (!room_.fits(region.domain)) {
    std::optional<Loss> least;
    std::vector<std::uint32_t> items;
    const std::vector<std::uint32_t> before = room_.chosen();
    const Loss start = room_.loss();
    for (const auto& [piece, nodes] : pieces) {
      const std::uint32_t here = piece;
      const std::int64_t goal = (room_.tasks_in_piece(here) / segment + 1) * segment;
      const bool done = fill(nodes, [&] { return goal - room_.tasks_in_piece(here); });
      const Loss after = room_.loss();
      if (done && (!least || after < *least)) {
        least = after;
        items = room_.chosen();
      }
      if (after != start || room_.chosen() != before) {
        clear();
        for (const std::uint32_t item : before) room_.set(item, true);
      }
    }
    if (!least) return false;
    for (const std::uint32_t item : items) room_.set(item, true);
  }
  return true;
}

bool DomainSearch::greedy(const Region& region) {
  if (!satisfy_quota(region)) return false;
  if (board_.segmented()) return fill_segments(region);
  return fill(region.nodes, [&] { return board_.target() - room_.value(region.domain); });
}

// Removes every item from the set that is not needed, the most expensive first. The set is then minimal.
void DomainSearch::spare() {
  const PreemptionProblem& problem = board_.problem();
  std::vector<std::uint32_t> items = room_.chosen();
  std::stable_sort(items.begin(), items.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return problem.items[b].loss < problem.items[a].loss; });
  for (const std::uint32_t item : items) {
    ++steps_;
    room_.set(item, false);
    if (!room_.fits_somewhere() || !room_.admitted()) room_.set(item, true);
  }
}

void DomainSearch::consider() {
  spare();
  if (best_ && !(room_.loss() < best_loss_)) return;
  best_ = room_.chosen();
  best_loss_ = room_.loss();
}

// Local improvement: replaces the items in turn, the most expensive first.
void DomainSearch::improve(const Region& region) {
  const PreemptionProblem& problem = board_.problem();
  for (std::int32_t tries = 0; tries < effort_.improvements;) {
    std::vector<std::uint32_t> items = *best_;
    std::stable_sort(items.begin(), items.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return problem.items[b].loss < problem.items[a].loss; });
    const Loss before = best_loss_;
    for (const std::uint32_t item : items) {
      if (tries++ >= effort_.improvements) break;
      for (const bool from_rest : {true, false}) {
        clear();
        banned_[item] = 1;
        for (const std::uint32_t other : items) {
          if (from_rest && other != item) room_.set(other, true);
        }
        if (greedy(region)) consider();
        banned_[item] = 0;
      }
      if (best_loss_ < before) break;
    }
    if (!(best_loss_ < before)) break;
  }
  clear();
}

// Exhaustive search: a binary tree over the items, each evicted or kept. A branch ends where it costs more than the
// best known, where the gang fits, or where it would not fit even if all undecided items were evicted.
struct DomainSearch::Tree {
  DomainSearch& search;
  std::uint32_t domain;
  std::vector<std::uint32_t> items;
  std::vector<double> ratio;  // minimum cost per task of items[i..]
  Room all;                   // with chosen and undecided items evicted

  void visit(std::size_t i) {
    if (++search.tree_steps_ > search.effort_.exact_steps) search.exhausted_ = true;
    if (search.exhausted_) return;
    Room& room = search.room_;
    if (search.best_ && !(room.loss() < search.best_loss_)) return;
    if (room.fits(domain) && room.admitted()) {
      search.best_ = room.chosen();
      search.best_loss_ = room.loss();
      return;
    }
    if (i == items.size() || !all.fits(domain) || !all.admitted()) return;
    if (search.best_ && !search.board_.segmented()) {
      const std::int64_t need = search.board_.target() - room.value(domain);
      const double least = static_cast<double>(room.loss().lost) + ratio[i] * static_cast<double>(need);
      if (need > 0 && least > static_cast<double>(search.best_loss_.lost) * (1 + 1e-12)) return;
    }
    const std::uint32_t item = items[i];
    if (room.may_go(item)) {
      room.set(item, true);
      visit(i + 1);
      room.set(item, false);
    }
    all.set(item, false);
    visit(i + 1);
    all.set(item, true);
  }
};

void DomainSearch::exact(const Region& region, const std::vector<std::uint32_t>& items) {
  const PreemptionProblem& problem = board_.problem();
  clear();
  Tree tree{*this, region.domain, items, {}, Room(board_)};
  for (const std::uint32_t item : items) tree.all.set(item, true);
  // The gain of an item is at most the total gain possible on its nodes.
  const auto gain = [&](std::uint32_t item) {
    std::int64_t most = 0;
    std::uint32_t last = UINT32_MAX;
    for (const VictimSlot& place : board_.places(item)) {
      if (place.node != last && board_.domain_of(problem.nodes[place.node].node) == region.domain) {
        most += tree.all.count(place.node) - room_.count(place.node);
      }
      last = place.node;
    }
    return most;
  };
  const auto dear = [&](std::uint32_t item) {
    return static_cast<double>(problem.items[item].loss.lost) /
           static_cast<double>(std::max<std::int64_t>(1, gain(item)));
  };
  std::vector<std::pair<double, std::uint32_t>> order;
  order.reserve(items.size());
  for (const std::uint32_t item : items) order.emplace_back(dear(item), item);
  std::sort(order.begin(), order.end());
  tree.items.clear();
  for (const auto& [cost, item] : order) {
    tree.items.push_back(item);
    tree.ratio.push_back(gain(item) > 0 ? cost : std::numeric_limits<double>::infinity());
  }
  tree.ratio.push_back(0);
  for (std::size_t i = items.size(); i-- > 0;) {
    if (i + 1 < items.size()) tree.ratio[i] = std::min(tree.ratio[i], tree.ratio[i + 1]);
  }
  tree.visit(0);
  clear();
}

std::optional<VictimSet> DomainSearch::run() {
  const PreemptionProblem& problem = board_.problem();
  banned_.assign(problem.items.size(), 0);
  std::vector<Region> all = regions();
  for (Region& region : all) {
    if (all.size() == 1 && !effort_.bound) break;  // there is nothing to compare it with
    share_costs(region);
    region.bound = bound_of(region);
  }
  std::stable_sort(all.begin(), all.end(), [](const Region& a, const Region& b) { return a.bound < b.bound; });
  const auto hopeless = [&](const Region& region) {  // cannot match the best known
    return best_ && region.bound > static_cast<double>(best_loss_.lost) * (1 + 1e-9);
  };
  const bool quota = !room_.admitted();
  std::vector<char> weighed(all.size(), 0);
  for (std::size_t r = 0; r < all.size() && !hopeless(all[r]); ++r) {
    clear();
    share_costs(all[r]);
    const std::optional<Loss> before = best_ ? std::optional<Loss>(best_loss_) : std::nullopt;
    if (greedy(all[r])) {
      consider();
    }
    std::vector<std::uint32_t> items = all[r].items;
    for (std::uint32_t item = 0; quota && item < problem.items.size(); ++item) {
      if (problem.items[item].helps_quota) items.push_back(item);
    }
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    if (items.size() <= effort_.exact_items && !exhausted_) {
      exact(all[r], items);
      weighed[r] = exhausted_ ? 0 : 1;
    }
    if (weighed[r] == 0 && best_ && (!before || best_loss_ < *before)) improve(all[r]);
  }
  if (!best_) return std::nullopt;
  VictimSet answer;
  answer.items = *best_;
  answer.loss = best_loss_;
  answer.exact = true;
  answer.bound = static_cast<double>(best_loss_.lost);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (weighed[r] != 0 || hopeless(all[r])) continue;
    answer.exact = false;
    answer.bound = std::min(answer.bound, all[r].bound);
  }
  answer.steps = steps_ + tree_steps_;
  return answer;
}

}  // namespace

Loss& Loss::operator+=(const Loss& other) {
  lost += other.lost;
  victims += other.victims;
  age += other.age;
  return *this;
}

Loss& Loss::operator-=(const Loss& other) {
  lost -= other.lost;
  victims -= other.victims;
  age -= other.age;
  return *this;
}

std::optional<VictimSet> find_victims(const PreemptionProblem& problem, const PreemptionEffort& effort) {
  Board board(problem);
  return DomainSearch(board, effort).run();
}

}  // namespace weft::sched
