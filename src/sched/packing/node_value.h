// Value of a server's free resources to future tasks. Each task type has a worth; a server's value is the maximum total
// worth of tasks that fit in its free resources, by a relaxation that never underestimates: each GPU is a separate
// knapsack (exact), the GPUs share the server's CPU at a price (Lagrange multiplier; minimum over a list of prices),
// and tasks without GPUs are divisible. Memory, scratch and functions are ignored, which keeps it an upper bound. Two
// users: the placement policy, which minimizes the loss of value, and the upper bound on any packing, which holds for
// any worths by weak duality of the linear program.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/machine/resources.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

// Core prices to try, in thousandths of a GPU, above what tasks without GPUs pay for it. A GPU server has some 5 to 50
// cores per GPU, so a core that is the bottleneck is worth 20 to 200.
inline constexpr std::array<double, 20> kCorePrices = {0,  2,  4,  7,  10, 14, 18,  23,  28,  34,
                                                       40, 47, 55, 63, 72, 85, 100, 130, 180, 260};

class NodeValue {
 public:
  struct Item {
    Request request{};  // without memory, scratch and functions
    double count = 0;   // of such tasks in the mix
    double worth = 0;   // thousandths of a GPU; initially its request
  };

  // `nodes`: the servers that will be queried. GPU fractions are rounded up to whole `step`s, so a bound needs a step
  // that divides all of them (common_step).
  NodeValue(std::span<const TaskType> types, std::span<const NodeShape> nodes, Milli step);
  [[nodiscard]] static Milli common_step(std::span<const TaskType> types);

  // GPU tasks; those without a GPU are one additional kind, in cores.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] double cores() const { return cores_; }  // requested by tasks without GPUs in the mix
  [[nodiscard]] double core_worth() const { return core_worth_; }
  // Sets new worths, all at least 0, and rebuilds the tables.
  void set_worths(std::span<const double> worths, double core_worth);

  [[nodiscard]] double value(const NodeShape& shape, const NodeFree& free) const;
  // The same, and adds the underlying fill times `weight`: tasks per item to `used`, leftover cores to `cores`.
  double fill(const NodeShape& shape, const NodeFree& free, double weight, std::span<double> used, double& cores) const;

 private:
  static constexpr std::size_t kPrices = kCorePrices.size();
  using Row = std::array<double, kPrices>;  // by price
  // The best gain of a place per price and the item that achieves it, -1 for none. The item is a double too, so the
  // loops over prices vectorize.
  struct Best {
    Row gain{};
    Row item{};
    void offer(const Row& other_gain, const Row& other_item);
  };
  // Tables for the servers of one model and pool.
  struct Group {
    bool present = false;
    std::vector<Best> hole;                  // by free steps of one GPU
    std::array<Best, kMaxGpus + 1> whole{};  // per whole GPU, if the server has that many
  };

  [[nodiscard]] double price(std::size_t at) const { return core_worth_ + kCorePrices[at]; }
  [[nodiscard]] std::size_t steps_of(const Request& request) const;
  [[nodiscard]] std::size_t group_of(const NodeShape& shape) const;
  void fill_tables(Group& group, std::uint64_t model, std::uint64_t pool) const;
  // Sum over the server per price; returns the index of the minimum.
  std::size_t least(const Group& group, const NodeFree& free, int whole, Row& sums) const;

  std::vector<Item> items_;
  double cores_ = 0;
  double core_worth_ = 0;
  Milli step_ = 1;
  std::size_t steps_ = 0;    // per whole GPU
  std::int32_t models_ = 1;  // groups: one per model that a request may name, or one for all
  std::int32_t pools_ = 1;
  std::vector<Group> groups_;
};

}  // namespace weft::sched
