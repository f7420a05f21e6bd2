// Gang placement: the tightest domain that fits the gang, the fewest child domains, best fit at each step to limit
// fragmentation; segments each inside one domain. A pure search over counts (FitView), then the selection of GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sched/machine/job.h"
#include "sched/placement/fit_index.h"
#include "sched/placement/state.h"

namespace weft::sched {

enum class NodeChoice : std::uint8_t { packed, spread, first };

struct PlacementPolicy {
  bool topology = true;  // false: ignores how tight domains are (but respects `required`)
  NodeChoice nodes = NodeChoice::packed;
  std::shared_ptr<const NodeScorer> scorer;  // null: BestFitScorer
};

// The part of a node that a search may use, if not everything that is free.
struct NodeLimit {
  NodeId node{};
  NodeFree free{};
};

// Counts of a FitClass, reduced by the limits.
class FitView {
 public:
  FitView(const Machine& machine, const FitClass& fits) : machine_(&machine), fits_(&fits) {}
  // The limits replace the free resources of their nodes. They must outlive the view.
  FitView(const Machine& machine, const FitClass& fits, std::span<const NodeLimit> limits);

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const Request& request() const { return fits_->request; }
  [[nodiscard]] std::uint16_t fit(std::uint32_t node) const { return patched_ ? fit_[node] : fits_->fit[node]; }
  [[nodiscard]] std::uint32_t cost(std::uint32_t node) const { return fits_->cost[node]; }
  [[nodiscard]] std::uint16_t most() const { return fits_->most; }
  [[nodiscard]] std::int64_t sum(Level level, std::uint32_t domain) const {
    return patched_ ? sums_[static_cast<std::size_t>(level)][domain]
                    : fits_->sums[static_cast<std::size_t>(level)][domain];
  }
  // Replaces the count of one node.
  void set(NodeId node, std::uint16_t count);

 private:
  void patch();
  const Machine* machine_;
  const FitClass* fits_;
  bool patched_ = false;
  std::vector<std::uint16_t> fit_;
  std::vector<std::int64_t> sums_[kLevels];
};

// Topology constraints of a gang.
struct Gang {
  std::int32_t tasks = 1;
  Level required = Level::cluster;
  std::int32_t segment = 0;
  Level segment_level = Level::nvlink;
};
[[nodiscard]] Gang gang_of(const Job& job);

struct NodeCount {
  std::uint32_t node = 0;
  std::int32_t tasks = 0;
};

struct Found {
  std::vector<NodeCount> nodes;  // by node
  Level level = Level::cluster;  // the tightest domain that holds all
};

// None: it does not fit.
[[nodiscard]] std::optional<Found> find_nodes(const FitView& view, const Gang& gang, const PlacementPolicy& policy);
// Whether it would: without the search where the sum decides.
[[nodiscard]] bool can_place(const FitView& view, const Gang& gang, const PlacementPolicy& policy);
// The most tasks (at most gang.tasks, a multiple of the segment) that find_nodes would place.
[[nodiscard]] std::int32_t most_tasks(const FitView& view, const Gang& gang);
// GPUs for the tasks, in rank order. `limits` sorted by node.
[[nodiscard]] Placement choose_slots(const State& state, const Request& request, const Found& found,
                                     std::span<const NodeLimit> limits = {});
// The tightest level at which one domain holds all the slots.
[[nodiscard]] Level tightest_level(const Machine& machine, std::span<const Slot> slots);

}  // namespace weft::sched
