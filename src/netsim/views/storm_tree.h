// How pauses spread: from the log of PFC stops to a tree whose root is where it began (an endpoint that would not take
// its packets, or an egress that was full although nobody had stopped it), and whose branches are the links stopped
// because of it. A storm that closes on itself (a deadlock) is shown as a branch that says so, and not followed again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

struct StormSpan {
  SimTime from;
  SimTime until;
};

// A link as one cause stopped it: the same link under another cause is another branch.
struct StormBranch {
  LinkId link = model::kNone<LinkId>;  // whose sender was stopped
  std::uint32_t parent = kNoParent;
  std::uint32_t root = 0;  // index into StormTree::roots
  std::uint32_t depth = 0;
  bool closes_cycle = false;  // the link is stopped further up this very branch, or is the egress it began at
  std::uint32_t stops = 0;
  SimTime first = kNever;
  SimTime paused;                // sum of the spans
  std::vector<StormSpan> spans;  // in order of time

  static constexpr std::uint32_t kNoParent = UINT32_MAX;
};

struct StormRoot {
  NodeId endpoint = model::kNone<NodeId>;  // one of these two
  LinkId egress = model::kNone<LinkId>;
  SimTime first = kNever;
  SimTime paused;           // over all its branches
  std::uint32_t links = 0;  // distinct links stopped because of it
  std::uint32_t stops = 0;
  std::uint32_t deepest = 0;  // hops the storm reached: 1 when only direct neighbors were stopped
};

struct StormTree {
  std::vector<StormRoot> roots;       // the one that cost most first
  std::vector<StormBranch> branches;  // in the order to draw: each root's, parents before children, costly ones first
  std::uint64_t stops = 0;            // stop records seen
  std::uint64_t not_kept = 0;         // that the run did not record
  [[nodiscard]] bool empty() const { return branches.empty(); }
};

[[nodiscard]] StormTree storm_tree(const Network& network, const SimResult& result);

// "train001:gpu1 (endpoint)", "be-leaf01 > train001:gpu1 (egress)"
[[nodiscard]] std::string root_name(const Network& network, const StormRoot& root);

// The tree as a table, at most `limit` branches.
[[nodiscard]] TableSection storm_table(const Network& network, const StormTree& tree, std::size_t limit);
// As a picture with a time axis.
[[nodiscard]] std::string storm_svg(const Network& network, const SimResult& result, const StormTree& tree,
                                    std::string_view title, std::string_view where = {});

}  // namespace weft::netsim
