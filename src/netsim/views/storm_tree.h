// How pauses spread: converts the log of PFC pauses to a tree whose root is the origin (an endpoint that did not accept
// its packets, or an egress that was full without being paused), and whose branches are the links paused because of it.
// A storm that closes on itself (a deadlock) is shown as a marked branch and not followed again.
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

// A link paused by one cause: the same link under another cause is another branch.
struct StormBranch {
  LinkId link = model::kNone<LinkId>;  // the link whose sender was paused
  std::uint32_t parent = kNoParent;
  std::uint32_t root = 0;  // index into StormTree::roots
  std::uint32_t depth = 0;
  bool closes_cycle = false;  // the link is already paused further up this branch, or is the egress at its root
  std::uint32_t stops = 0;
  SimTime first = kNever;
  SimTime paused;                // sum of the spans
  std::vector<StormSpan> spans;  // in order of time

  static constexpr std::uint32_t kNoParent = UINT32_MAX;
};

struct StormRoot {
  NodeId endpoint = model::kNone<NodeId>;  // exactly one of these two is set
  LinkId egress = model::kNone<LinkId>;
  SimTime first = kNever;
  SimTime paused;           // over all its branches
  std::uint32_t links = 0;  // distinct links paused because of it
  std::uint32_t stops = 0;
  std::uint32_t deepest = 0;  // hops the storm reached: 1 if only direct neighbors were paused
};

struct StormTree {
  std::vector<StormRoot> roots;       // most expensive first
  std::vector<StormBranch> branches;  // in drawing order: each root's, parents before children, expensive ones first
  std::uint64_t stops = 0;            // stop records seen
  std::uint64_t not_kept = 0;         // not recorded by the run
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
