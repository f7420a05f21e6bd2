// What the free part of a server is worth to the tasks still to come. Every task type has a worth; a server's value is
// the most worth of tasks that fit in what it has free, by a relaxation that never falls below the truth: each GPU is a
// knapsack of its own (exact), the GPUs share the server's CPU at a price (Lagrange; the least over a row of prices
// counts), tasks without GPUs are poured like water. Memory, scratch and functions are left out, which keeps it an
// upper bound. Two users: the placement policy, which gives up as little value as it can, and the upper bound on any
// packing, which holds for every choice of worths by weak duality of the linear program.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/machine/resources.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

// Prices of a core that are tried, in thousandths of a GPU, above what tasks without GPUs pay for it. A GPU server has
// some 5 to 50 cores per GPU, so that a core that decides all is worth 20 to 200.
inline constexpr std::array<double, 20> kCorePrices = {0,  2,  4,  7,  10, 14, 18,  23,  28,  34,
                                                       40, 47, 55, 63, 72, 85, 100, 130, 180, 260};

class NodeValue {
 public:
  struct Item {
    Request request{};  // of memory, scratch and functions nothing is kept
    double count = 0;   // of such tasks in the mix
    double worth = 0;   // thousandths of a GPU; begins as what it asks for
  };

  // `nodes`: the servers that will be asked about. Sizes of parts are rounded up to whole `step`s, so that a bound
  // needs one that divides them all (common_step).
  NodeValue(std::span<const TaskType> types, std::span<const NodeShape> nodes, Milli step);
  [[nodiscard]] static Milli common_step(std::span<const TaskType> types);

  // GPU tasks; those without a GPU are one more kind, in cores.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] double cores() const { return cores_; }  // that tasks without GPUs ask for in the mix
  [[nodiscard]] double core_worth() const { return core_worth_; }
  // New worths, none below 0: the tables are made anew.
  void set_worths(std::span<const double> worths, double core_worth);

  [[nodiscard]] double value(const NodeShape& shape, const NodeFree& free) const;
  // The same, and the fill behind it times `weight`: tasks per item added to `used`, cores left over to `cores`.
  double fill(const NodeShape& shape, const NodeFree& free, double weight, std::span<double> used, double& cores) const;

 private:
  static constexpr std::size_t kPrices = kCorePrices.size();
  using Row = std::array<double, kPrices>;  // by price
  // The best gain of a place for every price and the item that gives it, -1 for none. An item is a double too: the
  // loops over prices then run in vector registers.
  struct Best {
    Row gain{};
    Row item{};
    void offer(const Row& other_gain, const Row& other_item);
  };
  // Tables for the servers of one model and pool.
  struct Group {
    bool present = false;
    std::vector<Best> hole;                  // by free steps of one GPU
    std::array<Best, kMaxGpus + 1> whole{};  // per whole GPU, where the server has so many of them
  };

  [[nodiscard]] double price(std::size_t at) const { return core_worth_ + kCorePrices[at]; }
  [[nodiscard]] std::size_t steps_of(const Request& request) const;
  [[nodiscard]] std::size_t group_of(const NodeShape& shape) const;
  void fill_tables(Group& group, std::uint64_t model, std::uint64_t pool) const;
  // Sum over the server for every price; the index of the least.
  std::size_t least(const Group& group, const NodeFree& free, int whole, Row& sums) const;

  std::vector<Item> items_;
  double cores_ = 0;
  double core_worth_ = 0;
  Milli step_ = 1;
  std::size_t steps_ = 0;    // of a whole GPU
  std::int32_t models_ = 1;  // groups: one for each model that a request may name, or one for all
  std::int32_t pools_ = 1;
  std::vector<Group> groups_;
};

}  // namespace weft::sched
