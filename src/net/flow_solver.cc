#include "net/flow_solver.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace weft::net {

namespace {

// Rates are sums and quotients of at most some thousand doubles: differences below this share of a rate are rounding.
constexpr double kRounding = 1e-9;
// A rate that moved by less is the same rate; its flows need no new end.
constexpr double kUnchanged = 1e-13;

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
  for (const LaneShare& use : lanes) entries_.push_back({id, use.lane, 0, use.share});
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
    if (was_hot || is_hot(lane)) mark_dirty(entries_[e].lane);
  }
  if (b.count == 0 && !b.fresh) {
    b.fresh = true;
    b.rate = 0;
    b.bottleneck = kNoLane;
    fresh_.push_back(bundle);
  }
  b.count = flows;
}

void MaxMinSolver::choose(std::uint32_t bundle) {
  Bundle& b = bundles_[bundle];
  if (b.chosen) return;
  b.chosen = true;
  b.old_rate = b.rate;
  chosen_.push_back(bundle);
}

std::span<const std::uint32_t> MaxMinSolver::solve() {
  changed_.clear();
  work_lanes_.clear();
  if (dirty_.empty() && fresh_.empty()) return changed_;
  ++solves_;
  for (const std::uint32_t lane : dirty_) {
    for (const std::uint32_t e : lanes_[lane].active) choose(entries_[e].bundle);
    lanes_[lane].dirty = false;
  }
  dirty_.clear();
  do {
    collect_lanes();
    fill();
  } while (widen());
  for (const std::uint32_t bundle : chosen_) {
    Bundle& b = bundles_[bundle];
    b.chosen = false;
    const bool same = b.rate >= b.old_rate * (1 - kUnchanged) && b.rate <= b.old_rate * (1 + kUnchanged);
    if (same) b.rate = b.old_rate;
    if (!same || b.fresh) changed_.push_back(bundle);
  }
  for (const std::uint32_t bundle : fresh_) {
    Bundle& b = bundles_[bundle];
    if (b.count > 0 && b.rate == 0 && b.bottleneck == kNoLane) {
      b.rate = b.limit;
      changed_.push_back(bundle);
    }
    b.fresh = false;
  }
  fresh_.clear();
  chosen_.clear();
  return changed_;
}

// The hot lanes that chosen bundles cross; the others cannot hold anybody back.
void MaxMinSolver::collect_lanes() {
  ++fill_number_;
  work_lanes_.clear();
  for (const std::uint32_t bundle : chosen_) {
    Bundle& b = bundles_[bundle];
    b.open = true;
    b.bottleneck = kNoLane;
    for (std::uint32_t e = b.first; e < b.last; ++e) {
      Lane& lane = lanes_[entries_[e].lane];
      if (lane.marked == fill_number_ || !is_hot(lane)) continue;
      lane.marked = fill_number_;
      work_lanes_.push_back(entries_[e].lane);
    }
  }
  for (const std::uint32_t id : work_lanes_) {
    Lane& lane = lanes_[id];
    lane.residual = capacity_of(lane);
    lane.weight = 0;
    lane.open = 0;
    for (const std::uint32_t e : lane.active) {
      const Bundle& b = bundles_[entries_[e].bundle];
      const double weight = b.count * entries_[e].share;
      if (b.chosen) {
        lane.weight += weight;
        ++lane.open;
      } else {
        lane.residual -= weight * b.rate;
      }
    }
  }
}

// Progressive filling: the lane whose flows would get least decides first. Levels only rise while bundles are closed,
// so one that is out of date is looked at again and pushed back.
void MaxMinSolver::fill() {
  levels_.clear();
  for (const std::uint32_t id : work_lanes_) levels_.emplace_back(lanes_[id].residual / lanes_[id].weight, id);
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
    for (const std::uint32_t e : lane.active) {
      if (bundles_[entries_[e].bundle].open) close(entries_[e].bundle, level, id);
    }
  }
  for (const std::uint32_t bundle : chosen_) {
    if (bundles_[bundle].open) close(bundle, bundles_[bundle].limit, kNoLane);
  }
}

// Bundles that want less than the lane has for each: no lane can hold them back, since this one has the lowest level.
bool MaxMinSolver::close_limited(const Lane& lane, double level) {
  bool any = false;
  for (const std::uint32_t e : lane.active) {
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
    --lane.open;
  }
}

// A rate is max-min fair when its lane is full and nobody on it has more. Bundles outside this solve for which that no
// longer holds join it.
bool MaxMinSolver::widen() {
  bool any = false;
  for (const std::uint32_t id : work_lanes_) any = widen_at(id) || any;
  return any;
}

bool MaxMinSolver::widen_at(std::uint32_t id) {
  const Lane& lane = lanes_[id];
  double usage = 0;
  double top = 0;
  double level = -1;
  bool outsiders = false;
  for (const std::uint32_t e : lane.active) {
    const Bundle& b = bundles_[entries_[e].bundle];
    usage += b.count * entries_[e].share * b.rate;
    top = std::max(top, b.rate);
    if (!b.chosen) {
      outsiders = true;
    } else if (b.bottleneck == id) {
      level = b.rate;
    }
  }
  if (!outsiders) return false;
  const bool full = usage >= capacity_of(lane) * (1 - kRounding);
  bool any = false;
  for (const std::uint32_t e : lane.active) {
    const Bundle& b = bundles_[entries_[e].bundle];
    if (b.chosen) continue;
    const bool has_too_much = level >= 0 && b.rate > level * (1 + kRounding);
    const bool may_have_more = b.bottleneck == id && (!full || b.rate < top * (1 - kRounding));
    if (!has_too_much && !may_have_more) continue;
    choose(entries_[e].bundle);
    any = true;
  }
  return any;
}

double MaxMinSolver::usage_of(std::uint32_t lane) const {
  double usage = 0;
  for (const std::uint32_t e : lanes_[lane].active) {
    const Bundle& b = bundles_[entries_[e].bundle];
    usage += b.count * entries_[e].share * b.rate;
  }
  return usage;
}

bool MaxMinSolver::holds_back(std::uint32_t lane) const {
  return std::any_of(lanes_[lane].active.begin(), lanes_[lane].active.end(),
                     [&](std::uint32_t e) { return bundles_[entries_[e].bundle].bottleneck == lane; });
}

}  // namespace weft::net
