// Evaluates every single failure of a compiled cluster and what remains after it: switches, cables, power, racks,
// control plane, storage, fabric managers. Reports each kind of failure once, with its worst case, and lists single
// points of failure. The constructor computes everything in a few passes over the cluster. Recovery dependencies are in
// failures/lifeline.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "config/config_set.h"
#include "design/loss_meter.h"
#include "design/views_common.h"

namespace weft::check {

struct Failure {
  std::string kind;  // "power feed", "spine", ...
  std::optional<model::FabricKind> fabric;
  bool single = true;  // one device; otherwise a group (a row, the leaves of a unit)
  std::uint64_t count = 0;
  std::uint64_t harmful = 0;  // failures that also take down other servers, the quorum or a storage system
  std::string worst;
  design::Loss loss;              // of the worst case, like the following members
  std::int64_t members_lost = 0;  // of the control plane's quorum
  bool quorum = true;             // kept after every one of these failures
  double storage_left = 100.0;    // percent of the servers left in the storage system that loses most
  [[nodiscard]] bool single_point() const { return single && harmful > 0; }
};

// Single points of failure of a fabric.
struct FabricWeakness {
  std::vector<model::DeviceId> single_homed;  // servers with one link to it
  std::vector<model::DeviceId> one_switch;    // servers whose several links all end on one switch
  std::vector<model::DeviceId> cut_switches;  // above the leaves: without it, some leaves cannot reach each other
  std::vector<model::CableId> cut_cables;     // trunk cables with the same effect
  double uplink_share = 0.0;                  // largest share of a leaf's uplinks that ends on one switch
  model::DeviceId leaf = model::kNone<model::DeviceId>;   // that leaf
  model::DeviceId upper = model::kNone<model::DeviceId>;  // that switch
  std::uint32_t way_out_switches = 0;                     // switches with an external link
};

// A rack whose loss disconnects servers in other racks: it holds both leaves of a pair, or all rails of a unit.
struct FarRack {
  model::RackId rack = model::kNone<model::RackId>;
  std::int64_t servers = 0;  // in other racks
};

// Devices of one group that go down with one feed although their rack has another.
struct PowerWeakness {
  std::uint32_t group = 0;
  design::views::Supplies supplies;
  int feed = 0;                       // the worst feed
  int on_feed = 0;                    // power supplies of one device on that feed
  std::vector<model::DeviceId> lost;  // with the loss of any one feed
};

struct PowerAnalysis {
  std::vector<PowerWeakness> weak;
  std::vector<model::DeviceId> one_supply_short;  // devices that go down with one power supply
  std::vector<model::RackId> one_feed;            // racks with devices and PDUs of only one feed, at a site with more
  std::vector<model::RackId> overloaded;          // racks that draw more than their PDUs supply with one feed lost
};

struct ControlAnalysis {
  std::vector<model::DeviceId> members;  // of etcd (and of Slurm's controllers, which share the pool)
  std::size_t quorum = 0;
  std::size_t most_in_rack = 0;
  model::RackId worst_rack = model::kNone<model::RackId>;
  std::size_t most_on_feed = 0;  // members lost with one feed
  std::size_t most_in_row = 0;
  bool on_gpu_servers = false;

  [[nodiscard]] bool survives(std::size_t lost) const { return members.size() >= quorum + lost; }
};

struct StorageAnalysis {
  const model::StorageSpec* system = nullptr;
  const model::DeviceGroup* group = nullptr;
  std::int64_t controllers = 0;  // per server; 0: unknown
  std::size_t racks = 0;
  std::size_t most_in_rack = 0;
  model::RackId worst_rack = model::kNone<model::RackId>;
  std::size_t lost_with_feed = 0;  // servers
};

class FailureAnalysis {
 public:
  explicit FailureAnalysis(const model::Cluster& cluster);

  [[nodiscard]] const std::vector<Failure>& failures() const { return failures_; }
  // Null if the cluster has no such failure.
  [[nodiscard]] const Failure* find(std::string_view kind,
                                    std::optional<model::FabricKind> fabric = std::nullopt) const;
  [[nodiscard]] const FabricWeakness& weakness(model::FabricKind fabric) const {
    return weaknesses_[static_cast<std::size_t>(fabric)];
  }
  [[nodiscard]] const std::vector<FarRack>& far_racks() const { return far_racks_; }
  [[nodiscard]] const PowerAnalysis& power() const { return power_; }
  [[nodiscard]] const ControlAnalysis& control() const { return control_; }
  [[nodiscard]] const std::vector<StorageAnalysis>& storage() const { return storage_; }
  [[nodiscard]] const StorageAnalysis* storage_named(std::string_view name) const;

 private:
  friend class FailureSurvey;
  std::vector<Failure> failures_;
  std::array<FabricWeakness, model::kFabrics> weaknesses_;
  std::vector<FarRack> far_racks_;
  PowerAnalysis power_;
  ControlAnalysis control_;
  std::vector<StorageAnalysis> storage_;
};

// Effect of the checkpoint interval on training time (Kokolis et al., HPCA 2025, section on ETTR).
struct TrainingTime {
  std::int64_t nodes = 0;
  double failures_per_day = 0.0;
  double ratio = 0.0;       // expected share of time spent training, at the file's interval
  double best_ratio = 0.0;  // at the best interval
  double best_seconds = 0.0;
};
inline constexpr double kFailuresPerNodeDay = 6.50e-3;  // RSC-1, the worse of the two published clusters
inline constexpr double kRestartSeconds = 300.0;        // scheduling, starting and loading a job
// For a job on `nodes` servers that writes for `write_seconds` every `interval_seconds`.
[[nodiscard]] TrainingTime training_time(std::int64_t nodes, double interval_seconds, double write_seconds);

// Every kind of failure with its worst case, and the single points of failure.
[[nodiscard]] Document failures_document(const model::Cluster& cluster, const FailureAnalysis& analysis);
// The resiliency matrix: thirteen failures from the load balancer to the control plane, this design's mitigation for
// each, and what is missing.
[[nodiscard]] Document resiliency_matrix(const model::Cluster& cluster, const config::ConfigSet& config,
                                         const FailureAnalysis& analysis);

}  // namespace weft::check
