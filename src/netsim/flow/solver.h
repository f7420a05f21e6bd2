// Max-min fair rates (Bertsekas and Gallager, Data Networks, 6.5.2), updated incrementally as flows start and end.
// Flows that cross the same contended lanes under the same limit always have the same rate and form one bundle with a
// count. A lane is one direction of a link, or a traffic class's part of it. Independent of time, bytes and routes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft::netsim {

// A bundle uses `share` of each of its flows' rate on this lane: 1, or less where flows are spread over several.
struct LaneShare {
  std::uint32_t lane = 0;
  double share = 1;
};

class MaxMinSolver {
 public:
  static constexpr std::uint32_t kNoLane = 0xFFFFFFFFU;

  explicit MaxMinSolver(std::size_t lanes) : lanes_(lanes) {}

  // Bits per second for one flow, and for two or more together (what a transport loses by sharing).
  void set_capacity(std::uint32_t lane, double one, double many);
  [[nodiscard]] double capacity(std::uint32_t lane) const { return capacity_of(lanes_[lane]); }
  // `limit`: rate of each of its flows if it were alone; positive.
  std::uint32_t add_bundle(std::span<const LaneShare> lanes, double limit);
  void set_count(std::uint32_t bundle, std::uint32_t flows);

  // Computes the rates after changes; visits only bundles whose bottleneck may have moved. Returns those whose rate
  // changed or that have flows for the first time; valid until the next call.
  std::span<const std::uint32_t> solve();

  [[nodiscard]] double rate(std::uint32_t bundle) const { return bundles_[bundle].rate; }
  [[nodiscard]] double limit(std::uint32_t bundle) const { return bundles_[bundle].limit; }
  [[nodiscard]] std::uint32_t flows(std::uint32_t bundle) const { return bundles_[bundle].count; }
  // Its bottleneck lane; kNoLane: its own limit.
  [[nodiscard]] std::uint32_t bottleneck(std::uint32_t bundle) const { return bundles_[bundle].bottleneck; }
  // Lanes whose flows could not all have their limit at the last solve() that visited them.
  [[nodiscard]] std::span<const std::uint32_t> contended() const { return work_lanes_; }
  [[nodiscard]] std::uint32_t flows_on(std::uint32_t lane) const { return lanes_[lane].flows; }
  [[nodiscard]] double demand_on(std::uint32_t lane) const { return lanes_[lane].demand; }
  template <class Visit>
  void for_each_bundle_on(std::uint32_t lane, Visit visit) const {
    for (const std::uint32_t e : lanes_[lane].active) visit(entries_[e].bundle, entries_[e].share);
  }
  template <class Visit>
  void for_each_lane_of(std::uint32_t bundle, Visit visit) const {
    for (std::uint32_t e = bundles_[bundle].first; e < bundles_[bundle].last; ++e) visit(entries_[e].lane);
  }
  // Total rate of the flows on a lane, and whether it is a bottleneck for one of them.
  [[nodiscard]] double usage_of(std::uint32_t lane) const { return lanes_[lane].usage; }
  [[nodiscard]] bool holds_back(std::uint32_t lane) const { return lanes_[lane].held > 0; }
  [[nodiscard]] std::uint64_t solves() const { return solves_; }
  // Bundles visited so far: the cost of the solves.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  struct Lane {
    double one = 0;
    double many = 0;
    double demand = 0;  // of its flows, if each had its limit
    double usage = 0;   // of its flows at their rates
    double level = 0;   // rate of the bundles whose bottleneck it is
    std::uint32_t flows = 0;
    std::uint32_t held = 0;     // bundles whose bottleneck it is
    std::uint32_t updates = 0;  // of `usage` since it was last recomputed
    bool dirty = false;
    std::vector<std::uint32_t> active;  // entries of bundles with flows
    // During a solve, over the chosen bundles on it.
    std::uint64_t marked = 0;  // the fill that has it in work_lanes_
    std::uint32_t first = kNoEntry;
    std::uint32_t chosen = 0;
    std::uint32_t chosen_held = 0;
    std::uint32_t open = 0;  // without a rate yet
    double residual = 0;     // unassigned capacity
    double weight = 0;       // flows times shares without a rate yet
    double top = 0;          // highest rate assigned
    double new_level = -1;   // rate it limits some of them to; negative: none
  };
  struct Entry {
    std::uint32_t bundle;
    std::uint32_t lane;
    std::uint32_t position;  // in the lane's `active`
    std::uint32_t next;      // chosen entry of the same lane
    double share;
  };
  struct Bundle {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t count = 0;
    std::uint32_t bottleneck = kNoLane;
    std::uint32_t old_bottleneck = kNoLane;
    bool chosen = false;  // is part of this solve
    bool open = false;
    bool fresh = false;      // had no flows at the last solve
    bool recounted = false;  // is in recounted_
    double limit = 0;
    double rate = 0;
    double old_rate = 0;
  };
  static constexpr std::uint32_t kNoEntry = 0xFFFFFFFFU;

  [[nodiscard]] static double capacity_of(const Lane& lane) { return lane.flows > 1 ? lane.many : lane.one; }
  [[nodiscard]] static bool is_hot(const Lane& lane);
  void mark_dirty(std::uint32_t lane);
  void choose(std::uint32_t bundle);
  void start_lane(std::uint32_t lane);
  void collect_lanes();
  void fill();
  void close(std::uint32_t bundle, double rate, std::uint32_t bottleneck);
  bool close_limited(const Lane& lane, double level);
  bool widen();
  bool widen_at(std::uint32_t lane);
  void keep(std::uint32_t bundle);
  void sum_up(Lane& lane);

  std::vector<Lane> lanes_;
  std::vector<Entry> entries_;
  std::vector<Bundle> bundles_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> recounted_;
  std::vector<std::uint32_t> chosen_;
  std::vector<std::uint32_t> work_lanes_;
  std::vector<std::uint32_t> stale_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::pair<double, std::uint32_t>> levels_;
  std::uint64_t fill_number_ = 0;
  std::uint64_t solves_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace weft::netsim
