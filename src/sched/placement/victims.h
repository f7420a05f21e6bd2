// Preemption victims: a search for the set of running jobs to evict such that a gang fits and the least work is lost.
// It is a covering problem (at least as hard as knapsack), so the search is exact if a domain has few items and
// otherwise greedy with local improvement, with a bound on the gap to the optimum. Every set is verified to let the
// gang fit, and is minimal: no item can be left out. A pure function of counts; ranks, quotas and notices are up to the
// caller.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sched/placement/placement.h"

namespace weft::sched {

// Cost of a set of victims, compared lexicographically: the work lost, then their number, then their age.
struct Loss {
  std::int64_t lost = 0;  // milli GPU-seconds
  std::int32_t victims = 0;
  std::int64_t age = 0;  // total run time in milliseconds
  Loss& operator+=(const Loss& other);
  Loss& operator-=(const Loss& other);
  friend Loss operator+(Loss a, const Loss& b) { return a += b; }
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

struct PreemptionProblem {
  // Something that can be evicted as a whole: a job, or a task (a segment) that an elastic job can release.
  struct Item {
    Loss loss;
    std::int32_t pool = -1;    // items of one pool: at most pools[pool] of them together; -1: no such limit
    bool helps_quota = false;  // evicting it may free quota for the gang
  };
  // What can be evicted from a node: with `whole` (a job) or with `unit` (a part of one); -1: none.
  struct Local {
    std::int32_t whole = -1;
    std::int32_t unit = -1;
    std::int64_t amount = 0;  // thousandths of a GPU (or of a core, if the gang requests no GPU)
  };
  struct Node {
    std::uint32_t node = 0;
    std::vector<Local> locals;  // at most kMaxLocals
  };
  static constexpr std::size_t kMaxLocals = 64;

  const Machine* machine = nullptr;
  Gang gang;
  std::vector<std::uint16_t> fit;  // tasks of the gang by node, with nothing evicted
  std::vector<Node> nodes;         // with something to evict, by node
  std::vector<Item> items;
  std::vector<std::int32_t> pools;
  // Tasks of the gang that fit on nodes[index] if the locals in the mask are evicted. Monotonic: never less for a
  // larger mask.
  std::function<std::int32_t(std::uint32_t index, std::uint64_t gone)> count;
  // Whether the quota admits the gang if these items are evicted; monotonic. None: always.
  std::function<bool(const std::vector<std::uint32_t>& items)> admits;
};

struct VictimSet {
  std::vector<std::uint32_t> items;  // ascending
  Loss loss;
  bool exact = false;  // no set loses less work, or as much with fewer or younger victims
  double bound = 0;    // milli GPU-seconds: lower bound on the loss of any set
  std::uint64_t steps = 0;
  // Upper bound on the relative gap to the optimum.
  [[nodiscard]] double gap() const {
    return exact || loss.lost <= 0 ? 0 : (static_cast<double>(loss.lost) - bound) / static_cast<double>(loss.lost);
  }
};

struct PreemptionEffort {
  std::size_t exact_items = 20;        // maximum number of items in a domain for exhaustive search
  std::uint64_t exact_steps = 50'000;  // limit on steps in total; beyond it the result is not exact
  std::int32_t improvements = 16;      // items that are considered for replacement
  bool bound = true;                   // false: VictimSet::bound may be 0, which saves time
};

// None: no set of evictions lets the gang fit.
[[nodiscard]] std::optional<VictimSet> find_victims(const PreemptionProblem& problem,
                                                    const PreemptionEffort& effort = {});

}  // namespace weft::sched
