// Searches the clusters that meet a goal: builds and times every choice, simulates those that could be on the front in
// the twin, refines their spares and checkpoint intervals, and keeps those that no other is better than in days, power
// and cost. What is left out is left out by a bound or a limit, and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "explore/candidate.h"
#include "explore/platform.h"
#include "explore/question.h"

namespace weft::explore {

// A design that could be better than a simulated one by less than this share at best is not simulated.
inline constexpr double kSlack = 0.005;
// Designs that differ by less than this share are the same on the front: steps and failures are not known better.
inline constexpr double kFrontSlack = 0.02;

struct SearchCounts {
  std::uint64_t considered = 0;   // choices
  std::uint64_t unbuildable = 0;  // no layout, no cabling, or the model does not run there
  std::uint64_t over_limits = 0;  // power or cost
  std::uint64_t late = 0;         // even without the cost of detection and of waits for nodes
  std::uint64_t dominated = 0;    // by a simulated one, with the same lower bound
  std::uint64_t simulated = 0;
  std::uint64_t refined = 0;  // of them: other spares and intervals
  std::uint64_t runs = 0;
};

struct SearchResult {
  Goal goal;
  std::string model;
  double parameters = 0;
  std::int64_t sequence = 0;
  std::int64_t batch_tokens = 0;
  Limits limits;
  std::string currency;  // empty: without prices
  std::vector<std::uint64_t> seeds;
  std::string fault_source;
  std::vector<PlatformResult> platforms;  // their candidates are below
  std::vector<Candidate> candidates;      // built; those with runs were simulated
  // Positions in `candidates`. The front of those that meet the goal, in ascending order of power; if none does, the
  // nearest ones: within the limits but late, or in time but over a limit.
  std::vector<std::size_t> front;
  bool met = false;
  SearchCounts counts;
  std::vector<std::string> notes;

  [[nodiscard]] double deadline_days() const { return static_cast<double>(goal.deadline.count()) / 86'400e9; }
  // Of a simulated candidate: with 95 % confidence if there are several seeds.
  [[nodiscard]] bool in_time(const Candidate& candidate) const;
  // "A", "B", ... "Z", "AA" of a position on the front.
  [[nodiscard]] static std::string label(std::size_t position);
};

struct SearchHooks {
  std::function<bool()> go_on;  // from any thread; false: stop, the result is an error
  // Now and then, from one thread at a time; `total` is 0 while it is not known.
  std::function<void(const std::string& stage, std::size_t done, std::size_t total)> progress;
};

[[nodiscard]] Result<SearchResult> search(const Question& question, const SearchHooks& hooks = {});

}  // namespace weft::explore
