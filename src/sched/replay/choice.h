// What speaks for and against each policy of a replay, in sentences made from its figures: who waits less under it, and
// who pays for that. A difference counts only if it is larger than chance and rounding would make it.
#pragma once

#include <string>
#include <vector>

#include "sched/replay/view.h"

namespace weft::sched {

struct PolicyChoice {
  std::string policy;
  std::vector<std::string> wins;  // "mean wait 5.3 h (greedy 15.5 h, easy 16.2 h)"
  std::vector<std::string> pays;  // "jobs of 9-64 GPUs wait 53.7 h on average, 47.8 h under easy"
};

// In the order of the runs; empty if fewer than two policies were replayed.
[[nodiscard]] std::vector<PolicyChoice> policy_choices(const ReplayReport& report);

// One or two sentences: the policy with the shortest mean wait, what it costs, and what is the same under all.
[[nodiscard]] std::string choice_summary(const ReplayReport& report);

}  // namespace weft::sched
