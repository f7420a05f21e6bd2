// Paths of connections, computed once per (source, destination, queue pair) however many transfers use them, and
// recomputed when links fail. In modes that spread packets (spray, adaptive), a path is all equal-cost links, each with
// its part of the flow. Independent of rates, classes and time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "netsim/flow/solver.h"
#include "netsim/routing/routing.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

class FlowPaths {
 public:
  static constexpr std::uint32_t kNoWay = 0xFFFFFFFFU;

  // Paths of all connections of these transfers, from the current routes.
  FlowPaths(Routes& routes, const TransferGraph& transfers);

  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  // Initial path of queue pair `queue_pair` of a transfer; kNoWay if there was none.
  [[nodiscard]] std::uint32_t first_path(std::size_t transfer, std::uint32_t queue_pair) const {
    return connection_paths_[(offsets_.empty() ? transfer : offsets_[transfer]) + queue_pair];
  }
  // Current path after failures; kNoWay while there is none.
  [[nodiscard]] std::uint32_t current(std::uint32_t first_path);

  // From source to destination; for spread flows, the slowest path.
  [[nodiscard]] std::span<const LinkId> way(std::uint32_t path) const {
    return std::span(way_links_).subspan(paths_[path].first_link, paths_[path].link_count);
  }
  // Every link of the path and the part of the flow on it.
  template <class Visit>
  void for_each_link(std::uint32_t path, Visit visit) const {
    const Path& p = paths_[path];
    if (p.spread_count == 0) {
      for (const LinkId link : way(path)) visit(link, 1.0);
      return;
    }
    for (std::uint32_t i = 0; i < p.spread_count; ++i) {
      const LaneShare& use = spread_[p.first_spread + i];
      visit(static_cast<LinkId>(use.lane), use.share);
    }
  }
  // The node where two paths diverge; kNone if they do not.
  [[nodiscard]] NodeId parting(std::uint32_t before, std::uint32_t after) const;

 private:
  struct Path {
    std::uint32_t first_link = 0;
    std::uint32_t link_count = 0;
    std::uint32_t first_spread = 0;
    std::uint32_t spread_count = 0;  // 0: all on one path
  };
  // A path at the start, and its current replacement.
  struct Origin {
    NodeId source;
    NodeId destination;
    std::uint32_t queue_pair;
    std::uint32_t epoch;
    std::uint32_t current;
  };

  std::uint32_t find(const Origin& origin);
  bool find_spread(const Origin& origin, Path& path);
  [[nodiscard]] bool same(std::uint32_t path, std::span<const LinkId> way) const;

  Routes* routes_;
  bool spreads_;
  std::vector<Path> paths_;
  std::vector<Origin> origins_;  // of the initial paths
  std::vector<LinkId> way_links_;
  std::vector<LaneShare> spread_;
  std::vector<std::uint32_t> offsets_;  // by transfer; empty if each has one queue pair
  std::vector<std::uint32_t> connection_paths_;
  std::vector<LinkId> scratch_;
};

}  // namespace weft::netsim
