// Whom to send away so that a gang fits: a search for the set of victims that loses least work. Victim selection is a
// covering problem (knapsack at best), so the search is exact where the items of a domain are few and otherwise greedy
// with local improvement, and says how far from the best the answer can be at most. Every answer is verified to make
// room, and no item of it can be spared. Pure: counts in, a set out; ranks, quotas and notices are the caller's.
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

struct RoomProblem {
  // Something that can be sent away as a whole: a job, or a task (a segment) that an elastic job can do without.
  struct Item {
    Loss loss;
    std::int32_t pool = -1;    // items of one pool: at most pools[pool] of them together; -1: no such limit
    bool helps_quota = false;  // sending it away may make the quota admit the gang
  };
  // What stands on a node and can go: it goes with `whole` (a job) or with `unit` (a part of one); -1: none.
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
  std::vector<std::uint16_t> fit;  // tasks of the gang by node, with nothing sent away
  std::vector<Node> nodes;         // where something can go, by node
  std::vector<Item> items;
  std::vector<std::int32_t> pools;
  // Tasks of the gang that fit on nodes[index] when the locals in the mask are gone. Never less for a larger mask.
  std::function<std::int32_t(std::uint32_t index, std::uint64_t gone)> count;
  // Whether the quota admits the gang when these items are gone; never worse for more. None: always.
  std::function<bool(const std::vector<std::uint32_t>& items)> admits;
};

struct RoomAnswer {
  std::vector<std::uint32_t> items;  // ascending
  Loss loss;
  bool exact = false;  // no set loses less, nor as much with fewer or younger victims
  double bound = 0;    // milli GPU-seconds: no set loses less than this
  std::uint64_t steps = 0;
  // What the answer may lose beyond the best, as a part of it.
  [[nodiscard]] double gap() const {
    return exact || loss.lost <= 0 ? 0 : (static_cast<double>(loss.lost) - bound) / static_cast<double>(loss.lost);
  }
};

struct RoomEffort {
  std::size_t exact_items = 20;        // items of a domain up to which every set is weighed
  std::uint64_t exact_steps = 50'000;  // and no more steps than this in all; beyond it the answer is not exact
  std::int32_t improvements = 16;      // items that are tried to be replaced
};

// None: nothing that can be sent away makes room.
[[nodiscard]] std::optional<RoomAnswer> find_victims(const RoomProblem& problem, const RoomEffort& effort = {});

}  // namespace weft::sched
