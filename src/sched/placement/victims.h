// Preemption victims: a search for the set of running jobs to evict so that a gang fits and the least work is lost. It
// is a covering problem (knapsack at best), so the search is exact where the items of a domain are few and otherwise
// greedy with local improvement, and bounds the gap to the optimum. Every set is verified to let the gang fit, and is
// minimal: no item can be left out. Pure: counts in, a set out; ranks, quotas and notices are the caller's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sched/placement/placement.h"

namespace weft::sched {

// What a set of victims costs, compared part by part: the work lost, then how many they are, then how old they are.
struct Loss {
  std::int64_t lost = 0;  // milli GPU-seconds
  std::int32_t victims = 0;
  std::int64_t age = 0;  // milliseconds they have run, in sum
  Loss& operator+=(const Loss& other);
  Loss& operator-=(const Loss& other);
  friend Loss operator+(Loss a, const Loss& b) { return a += b; }
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

struct PreemptionProblem {
  // Something that can be evicted as a whole: a job, or a task (a segment) that an elastic job can give up.
  struct Item {
    Loss loss;
    std::int32_t pool = -1;    // items of one pool: at most pools[pool] of them together; -1: no such limit
    bool helps_quota = false;  // evicting it may make the quota admit the gang
  };
  // What runs on a node and can be evicted: with `whole` (a job) or with `unit` (a part of one); -1: none.
  struct Local {
    std::int32_t whole = -1;
    std::int32_t unit = -1;
    std::int64_t amount = 0;  // thousandths of a GPU (or of a core, where the gang asks for no GPU)
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
  // Tasks of the gang that fit on nodes[index] when the locals in the mask are evicted. Monotonic: never less for a
  // larger mask.
  std::function<std::int32_t(std::uint32_t index, std::uint64_t gone)> count;
  // Whether the quota admits the gang when these items are evicted; monotonic. None: always.
  std::function<bool(const std::vector<std::uint32_t>& items)> admits;
};

struct VictimSet {
  std::vector<std::uint32_t> items;  // ascending
  Loss loss;
  bool exact = false;  // no set loses less, nor as much with fewer or younger victims
  double bound = 0;    // milli GPU-seconds: no set loses less than this
  std::uint64_t steps = 0;
  // Relative gap to the optimum, at most.
  [[nodiscard]] double gap() const {
    return exact || loss.lost <= 0 ? 0 : (static_cast<double>(loss.lost) - bound) / static_cast<double>(loss.lost);
  }
};

struct PreemptionEffort {
  std::size_t exact_items = 20;        // items of a domain up to which every set is evaluated
  std::uint64_t exact_steps = 50'000;  // and no more steps than this in all; beyond it the answer is not exact
  std::int32_t improvements = 16;      // items that are tried to be replaced
};

// None: no set of evictions lets the gang fit.
[[nodiscard]] std::optional<VictimSet> find_victims(const PreemptionProblem& problem,
                                                    const PreemptionEffort& effort = {});

}  // namespace weft::sched
