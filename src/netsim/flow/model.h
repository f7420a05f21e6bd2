// What the flow engine computes before its clock starts: each link's capacity for data, which links can be contended,
// and the solver bundle of each connection. Most links of a cluster can never fill up; flows that cross only such links
// need no solver.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/flow/corrections.h"
#include "netsim/flow/paths.h"
#include "netsim/flow/solver.h"

namespace weft::netsim {

class FlowModel {
 public:
  static constexpr std::uint32_t kFree = 0xFFFFFFFFU;     // never a bottleneck
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFEU;  // not computed yet

  // A path as used by one class.
  struct PathUse {
    std::uint32_t bundle = kUnknown;
    double limit = 0;  // bits per second on the wire of a flow alone
  };
  // Rate of each flow of a bundle, in bits per second on the wire.
  [[nodiscard]] double rate(std::uint32_t bundle) const { return solver_.rate(bundle) * weights_[bundle]; }
  [[nodiscard]] double limit_of_bundle(std::uint32_t bundle) const { return solver_.limit(bundle) * weights_[bundle]; }

  FlowModel(Routes& routes, const TransferGraph& transfers, const SimOptions& options);

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] FlowPaths& paths() { return paths_; }
  [[nodiscard]] const FlowPaths& paths() const { return paths_; }
  [[nodiscard]] MaxMinSolver& solver() { return solver_; }
  [[nodiscard]] const FlowClass& class_of(ClassIndex index) const { return classes_[index]; }
  // Sets the number of sending flows of a bundle; then computes all rates. Returns the bundles whose rate changed.
  void set_count(std::uint32_t bundle, std::uint32_t flows);
  std::span<const std::uint32_t> solve();
  // Rate of a flow alone on this path, in bits per second on the wire.
  [[nodiscard]] double limit(std::uint32_t path, ClassIndex c) const {
    const double known = uses_[path * classes_.size() + c].limit;
    return known > 0 ? known : limit_of(path, c);
  }
  // Creates the bundle if there is none yet. FlowPaths::kNoWay returns a bundle that never moves.
  const PathUse& use(std::uint32_t path, ClassIndex traffic_class);

  // Bits per second for data of one class alone on the link: less where acknowledgments of the other direction share
  // it.
  [[nodiscard]] double capacity(LinkId link, ClassIndex traffic_class) const;
  // Lower bound of a flow's rate if all connections that ever use its links send at once: its share of the most loaded.
  [[nodiscard]] double least_rate(std::uint32_t path, ClassIndex c) const;
  // Connections that ever use a link; 0 for all if links fail during the run.
  [[nodiscard]] std::uint32_t users(LinkId link) const { return users_[model::index_of(link)]; }
  // A failed link has no capacity; each direction is set separately.
  void set_down(LinkId link, bool down);

  // Lanes are links times the classes that transfers use.
  [[nodiscard]] std::uint32_t lane(LinkId link, ClassIndex c) const {
    return model::index_of(link) * lane_classes_ + lane_class_[c];
  }
  [[nodiscard]] LinkId link_of(std::uint32_t lane) const { return static_cast<LinkId>(lane / lane_classes_); }
  [[nodiscard]] std::uint32_t lane_classes() const { return lane_classes_; }
  [[nodiscard]] ClassIndex class_of_lane(std::uint32_t lane) const { return used_classes_[lane % lane_classes_]; }
  [[nodiscard]] bool can_be_contended(LinkId link) const { return contended_[model::index_of(link)]; }

 private:
  void note_classes(const TransferGraph& transfers);
  void note_acknowledgements(const TransferGraph& transfers);
  void note_losses(const TransferGraph& transfers);
  void find_contended(const TransferGraph& transfers);
  [[nodiscard]] double limit_of(std::uint32_t path, ClassIndex c) const;
  [[nodiscard]] std::uint32_t bundle_of(std::uint32_t path, ClassIndex c, double limit);
  void set_lanes(LinkId link);
  bool share_link(LinkId link, bool by_use);

  const Network* network_;
  const SimOptions* options_;
  std::vector<FlowClass> classes_;
  FlowPaths paths_;
  std::uint32_t lane_classes_ = 1;
  std::vector<std::uint32_t> lane_class_;  // by class
  std::vector<ClassIndex> used_classes_;
  std::vector<double> acknowledged_;  // by link: bytes of acknowledgments per byte of the other direction
  std::vector<double> delivered_;     // by link and class: part that is not sent again; empty if no link loses packets
  std::vector<bool> contended_;       // by link
  std::vector<std::uint32_t> users_;  // by link
  std::vector<double> users_weight_;  // by link: sum of their weights
  std::vector<bool> down_;
  MaxMinSolver solver_;                   // its rates are per unit of weight
  std::vector<double> weights_;           // by bundle
  std::vector<PathUse> uses_;             // path times classes
  std::vector<std::uint32_t> recounted_;  // bundles, while there are several classes
  std::vector<std::uint32_t> all_changed_;
  std::uint32_t nowhere_ = kUnknown;
  PathUse nowhere_use_;
  struct KnownBundle {
    std::uint64_t hash;
    std::uint32_t bundle;
    std::uint32_t first;  // in known_lanes_
    std::uint32_t count;
  };
  std::vector<std::uint32_t> known_table_;  // open addressing over known_
  std::vector<KnownBundle> known_;
  std::vector<LaneShare> known_lanes_;
};

}  // namespace weft::netsim
