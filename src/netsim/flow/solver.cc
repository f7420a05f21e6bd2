#include "netsim/flow/solver.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace weft::netsim {

namespace {

// Rates are sums and quotients of at most some thousand doubles: smaller relative differences are rounding errors.
constexpr double kRounding = 1e-9;
// A rate that changed by less is unchanged; its flows keep their completion times.
constexpr double kUnchanged = 1e-13;
// Changes of a lane's usage before it is recomputed.
constexpr std::uint32_t kUpdates = 64;

}  // namespace

bool MaxMinSolver::is_hot(const Lane& lane) { return lane.demand > capacity_of(lane) * (1 + kRounding); }

void MaxMinSolver::set_capacity(std::uint32_t lane, double one, double many) {
  Lane& l = lanes_[lane];
  if (l.one == one && l.many == many) return;
  const bool was_hot = is_hot(l);
  l.one = one;
  l.many = many;
  if (was_hot || is_hot(l)) mark_dirty(lane);
}

std::uint32_t MaxMinSolver::add_bundle(std::span<const LaneShare> lanes, double limit) {
  CHECK(limit > 0, "a flow that may not send at all");
  const auto id = static_cast<std::uint32_t>(bundles_.size());
  Bundle bundle;
  bundle.first = static_cast<std::uint32_t>(entries_.size());
  for (const LaneShare& use : lanes) entries_.push_back({id, use.lane, 0, kNoEntry, use.share});
  bundle.last = static_cast<std::uint32_t>(entries_.size());
  bundle.limit = limit;
  bundles_.push_back(bundle);
  return id;
}

void MaxMinSolver::mark_dirty(std::uint32_t lane) {
  if (lanes_[lane].dirty) return;
  lanes_[lane].dirty = true;
  dirty_.push_back(lane);
}

void MaxMinSolver::set_count(std::uint32_t bundle, std::uint32_t flows) {
  Bundle& b = bundles_[bundle];
  if (b.count == flows) return;
  const double change = static_cast<double>(flows) - static_cast<double>(b.count);
  for (std::uint32_t e = b.first; e < b.last; ++e) {
    Lane& lane = lanes_[entries_[e].lane];
    const bool was_hot = is_hot(lane);
    if (b.count == 0) {
      entries_[e].position = static_cast<std::uint32_t>(lane.active.size());
      lane.active.push_back(e);
    } else if (flows == 0) {
      const std::uint32_t moved = lane.active.back();
      lane.active[entries_[e].position] = moved;
      entries_[moved].position = entries_[e].position;
      lane.active.pop_back();
    }
    lane.flows += flows - b.count;
    lane.demand = lane.active.empty() ? 0 : lane.demand + change * entries_[e].share * b.limit;
    if (b.count > 0) lane.usage = lane.active.empty() ? 0 : lane.usage + change * entries_[e].share * b.rate;
    if (was_hot || is_hot(lane)) mark_dirty(entries_[e].lane);
  }
  if (flows == 0 && b.bottleneck != kNoLane) --lanes_[b.bottleneck].held;
  if (flows == 0) b.bottleneck = kNoLane;
  if (b.count == 0) {
    b.rate = 0;
    b.bottleneck = kNoLane;
    b.fresh = true;
  }
  if (!b.recounted) recounted_.push_back(bundle);
  b.recounted = true;
  b.count = flows;
}

void MaxMinSolver::choose(std::uint32_t bundle) {
  Bundle& b = bundles_[bundle];
  if (b.chosen) return;
  b.chosen = true;
  b.old_rate = b.rate;
  b.old_bottleneck = b.bottleneck;
  chosen_.push_back(bundle);
}

// Starts with the bundles limited by a changed lane and those whose flows changed; widen() adds the rest.
std::span<const std::uint32_t> MaxMinSolver::solve() {
  changed_.clear();
  work_lanes_.clear();
  if (dirty_.empty() && recounted_.empty()) return changed_;
  ++solves_;
  for (const std::uint32_t bundle : recounted_) {
    bundles_[bundle].recounted = false;
    if (bundles_[bundle].count > 0) choose(bundle);
  }
  recounted_.clear();
  for (const std::uint32_t lane : dirty_) {
    for (const std::uint32_t e : lanes_[lane].active) {
      if (bundles_[entries_[e].bundle].bottleneck == lane) choose(entries_[e].bundle);
    }
  }
  do {
    collect_lanes();
    fill();
  } while (widen());
  for (const std::uint32_t lane : dirty_) lanes_[lane].dirty = false;
  dirty_.clear();
  for (const std::uint32_t bundle : chosen_) {
    Bundle& b = bundles_[bundle];
    b.chosen = false;
    const bool same = b.rate >= b.old_rate * (1 - kUnchanged) && b.rate <= b.old_rate * (1 + kUnchanged);
    if (!same || b.fresh) changed_.push_back(bundle);
    if (same) b.rate = b.old_rate;
    b.fresh = false;
    keep(bundle);
  }
  chosen_.clear();
  for (const std::uint32_t lane : stale_) sum_up(lanes_[lane]);
  stale_.clear();
  return changed_;
}

void MaxMinSolver::start_lane(std::uint32_t id) {
  Lane& lane = lanes_[id];
  lane.marked = fill_number_;
  lane.first = kNoEntry;
  lane.chosen = lane.chosen_held = lane.open = 0;
  lane.residual = capacity_of(lane) - lane.usage;
  lane.weight = lane.top = 0;
  lane.new_level = -1;
  work_lanes_.push_back(id);
}

// The hot lanes that changed or that chosen bundles cross; others cannot be a bottleneck.
void MaxMinSolver::collect_lanes() {
  ++fill_number_;
  work_lanes_.clear();
  work_ += chosen_.size();
  for (const std::uint32_t id : dirty_) {
    if (is_hot(lanes_[id])) start_lane(id);
  }
  for (const std::uint32_t bundle : chosen_) {
    Bundle& b = bundles_[bundle];
    b.open = true;
    b.bottleneck = kNoLane;
    for (std::uint32_t e = b.first; e < b.last; ++e) {
      Lane& lane = lanes_[entries_[e].lane];
      if (lane.marked != fill_number_) {
        if (!is_hot(lane)) continue;
        start_lane(entries_[e].lane);
      }
      const double weight = b.count * entries_[e].share;
      entries_[e].next = lane.first;
      lane.first = e;
      ++lane.chosen;
      ++lane.open;
      if (b.old_bottleneck == entries_[e].lane) ++lane.chosen_held;
      lane.weight += weight;
      lane.residual += weight * b.old_rate;
    }
  }
}

// Progressive filling: the lane with the lowest level per flow is closed first. Levels only rise while bundles are
// closed, so an outdated level is recomputed and pushed back.
void MaxMinSolver::fill() {
  levels_.clear();
  for (const std::uint32_t id : work_lanes_) {
    if (lanes_[id].open > 0) levels_.emplace_back(lanes_[id].residual / lanes_[id].weight, id);
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  const auto push = [this](double level, std::uint32_t lane) {
    levels_.emplace_back(level, lane);
    std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
  };
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    const auto [old_level, id] = levels_.back();
    levels_.pop_back();
    const Lane& lane = lanes_[id];
    if (lane.open == 0) continue;
    const double level = std::max(lane.residual / lane.weight, 0.0);
    if (level > old_level * (1 + kUnchanged) && !levels_.empty() && level > levels_.front().first) {
      push(level, id);
      continue;
    }
    if (close_limited(lane, level)) {
      if (lane.open > 0) push(std::max(lane.residual / lane.weight, 0.0), id);
      continue;
    }
    lanes_[id].new_level = level;
    for (std::uint32_t e = lane.first; e != kNoEntry; e = entries_[e].next) {
      if (bundles_[entries_[e].bundle].open) close(entries_[e].bundle, level, id);
    }
  }
  for (const std::uint32_t bundle : chosen_) {
    if (bundles_[bundle].open) close(bundle, bundles_[bundle].limit, kNoLane);
  }
}

// Bundles whose limit is below the lane's level: no lane can limit them, since this one has the lowest level.
bool MaxMinSolver::close_limited(const Lane& lane, double level) {
  bool any = false;
  for (std::uint32_t e = lane.first; e != kNoEntry; e = entries_[e].next) {
    const std::uint32_t bundle = entries_[e].bundle;
    if (!bundles_[bundle].open || bundles_[bundle].limit > level * (1 + kUnchanged)) continue;
    close(bundle, bundles_[bundle].limit, kNoLane);
    any = true;
  }
  return any;
}

void MaxMinSolver::close(std::uint32_t bundle, double rate, std::uint32_t bottleneck) {
  Bundle& b = bundles_[bundle];
  b.open = false;
  b.rate = rate;
  b.bottleneck = bottleneck;
  for (std::uint32_t e = b.first; e < b.last; ++e) {
    Lane& lane = lanes_[entries_[e].lane];
    if (lane.marked != fill_number_) continue;
    const double weight = b.count * entries_[e].share;
    lane.weight -= weight;
    lane.residual -= weight * rate;
    lane.top = std::max(lane.top, rate);
    --lane.open;
  }
}

// A rate is max-min fair if its lane is full and no flow on it has more. Bundles outside this solve for which that no
// longer holds are added to it.
bool MaxMinSolver::widen() {
  bool any = false;
  for (const std::uint32_t id : work_lanes_) any = widen_at(id) || any;
  return any;
}

bool MaxMinSolver::widen_at(std::uint32_t id) {
  const Lane& lane = lanes_[id];
  if (lane.active.size() == lane.chosen) return false;
  const double slack = capacity_of(lane) * kRounding;
  // Bundles outside this solve that it limits all have its old level, and before this solve none on it had more.
  const bool raises =
      lane.held > lane.chosen_held && (lane.residual > slack || lane.top > lane.level * (1 + kRounding));
  const bool known = lane.held > 0 && lane.level <= lane.new_level * (1 + kRounding);
  const bool lowers = lane.new_level >= 0 && !known;
  const bool over = lane.new_level < 0 && lane.residual < -slack;
  if (!raises && !lowers && !over) return false;
  bool any = false;
  for (const std::uint32_t e : lane.active) {
    const Bundle& b = bundles_[entries_[e].bundle];
    if (b.chosen) continue;
    const bool has_too_much = over || (lowers && b.rate > lane.new_level * (1 + kRounding));
    if (!has_too_much && !(raises && b.bottleneck == id)) continue;
    choose(entries_[e].bundle);
    any = true;
  }
  return any;
}

// Applies the new rate of a bundle to its lanes.
void MaxMinSolver::keep(std::uint32_t bundle) {
  const Bundle& b = bundles_[bundle];
  if (b.old_bottleneck != kNoLane) --lanes_[b.old_bottleneck].held;
  if (b.bottleneck != kNoLane) {
    ++lanes_[b.bottleneck].held;
    lanes_[b.bottleneck].level = b.rate;
  }
  for (std::uint32_t e = b.first; e < b.last; ++e) {
    Lane& lane = lanes_[entries_[e].lane];
    lane.usage += b.count * entries_[e].share * (b.rate - b.old_rate);
    if (++lane.updates == kUpdates) stale_.push_back(entries_[e].lane);
  }
}

// Incremental updates accumulate rounding errors; a full sum does not.
void MaxMinSolver::sum_up(Lane& lane) {
  lane.updates = 0;
  lane.usage = 0;
  for (const std::uint32_t e : lane.active) {
    const Bundle& b = bundles_[entries_[e].bundle];
    lane.usage += b.count * entries_[e].share * b.rate;
  }
}

}  // namespace weft::netsim
