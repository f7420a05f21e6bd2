// A candidate of the search: a cluster with a training job on it, its figures, and what the simulations of it found.
// Plain data: filled by the search, shown by views and pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "explore/layout.h"
#include "model/cluster.h"
#include "twin/statistics.h"
#include "twin/twin_job.h"

namespace weft::explore {

// What is chosen.
struct Choice {
  std::string gpu;  // catalog id
  model::NetworkKind network = model::NetworkKind::ethernet;
  Ratio oversubscription;
  model::DataClass data = model::DataClass::better;
  std::int64_t nodes = 0;   // of the job
  std::int64_t spares = 0;  // beside them
  Duration interval{};      // between checkpoints
  friend bool operator==(const Choice&, const Choice&) = default;
};

// What follows from the built cluster and one step of the job on it.
struct Figures {
  std::int64_t gpus = 0;  // of the job
  Power power;            // of the cluster, without cooling
  std::optional<Money> cost;
  std::int64_t racks = 0;
  std::int64_t step = 0;  // picoseconds, reads included
  std::int64_t steps = 0;
  double mfu = 0;
  std::string bound_by;
  twin::TwinJob job;
  double ideal_days = 0;       // without checkpoints and failures
  double optimistic_days = 0;  // with checkpoints and failures, but spares and detection at no cost: a lower bound
};

// One simulation by the twin.
struct Run {
  double days = 0;  // until the job is done; extrapolated if it is not done in the simulated time
  bool extrapolated = false;
  double ettr = 0;
  double interruptions = 0;  // per day
  // Shares of the time since the first start.
  double checkpoints = 0;
  double lost = 0;
  double restarts = 0;  // start, load, stop
  double unnoticed = 0;
  double waits = 0;  // for nodes and delays
};

struct Candidate {
  Choice choice;
  Layout layout;
  Figures figures;
  std::vector<Run> runs;  // one per seed; empty: not simulated

  [[nodiscard]] bool simulated() const { return !runs.empty(); }
  [[nodiscard]] std::vector<double> days() const;
  [[nodiscard]] twin::Estimate mean_days() const;
  [[nodiscard]] double mean(double Run::*figure) const;
};

// Whether `a` needs no more power and no more money than `b`, up to a share of `slack`.
[[nodiscard]] bool is_no_larger(const Figures& a, const Figures& b, double slack = 0);
// Whether `b` is not faster than `a`: its days are not fewer by more than `slack`, or the difference is not
// distinguishable from 0 over the seeds and `a` is the more certain of the two. One entry per run.
[[nodiscard]] bool is_no_slower(const std::vector<double>& a, const std::vector<double>& b, double slack = 0);

// What is compared: a candidate with its days, simulated or a bound.
struct Contender {
  const Figures* figures = nullptr;
  std::vector<double> days;
};
// Positions of those that no other dominates, in ascending order of power, then cost. One that is better than a kept
// one by less than `slack` is not kept: the front would be a list of near duplicates.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<Contender>& contenders, double slack);

}  // namespace weft::explore
