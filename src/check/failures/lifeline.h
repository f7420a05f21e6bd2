// The recovery path from outside to every BMC and management port when all other fabrics are down, and its
// dependencies. A recovery path must not depend on what it recovers: dependencies form a graph, and a cycle in it is a
// defect. Devices with the same purpose are one node, so cost does not grow with the cluster. For failures themselves
// see failures/failure_analysis.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "design/fabric_graph.h"

namespace weft::check {

// How one device is reached when the backend, the storage network and the frontend are down.
struct RecoveryPath {
  bool exists = false;
  std::string obstacle;                                  // why it is unreachable
  model::DeviceId jump = model::kNone<model::DeviceId>;  // kNone: no jump host on the path (or none exists)
  std::vector<model::DeviceId> switches;  // out-of-band, from the jump host's switch to the device's (or itself)
  model::PortId port = model::kNone<model::PortId>;  // on the device; kNone for an out-of-band switch
};

// "To recover `from` you need `to`", or "`from` runs on `to`".
struct Dependency {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::string why;
  std::string key;  // in the cluster file, if a setting causes the dependency; "" otherwise
  SourceLocation place;
};

struct LifelineCycle {
  std::vector<std::string> path;  // ends with the first node again
  std::string key;                // the setting that closes the cycle
  SourceLocation place;
  [[nodiscard]] std::string text() const;  // "frontend switches -> jump hosts -> ... -> frontend switches"
};

// Devices that become unreachable when one out-of-band switch fails.
struct LifelineLoss {
  model::DeviceId device = model::kNone<model::DeviceId>;
  std::uint64_t devices = 0;
};

class Lifeline {
 public:
  explicit Lifeline(const model::Cluster& cluster);

  // `without`: do not use this jump host.
  [[nodiscard]] RecoveryPath path_to(model::DeviceId target,
                                     model::DeviceId without = model::kNone<model::DeviceId>) const;

  [[nodiscard]] const std::vector<model::DeviceId>& jump_hosts() const { return jump_hosts_; }
  // The switch that the jump host's own port (not its BMC) is connected to; kNone if it has none.
  [[nodiscard]] model::DeviceId leaf_of_jump(model::DeviceId jump) const;
  [[nodiscard]] std::uint64_t reachable() const { return reachable_; }  // devices with a path
  [[nodiscard]] const std::vector<model::DeviceId>& unreachable() const { return unreachable_; }
  [[nodiscard]] const std::vector<model::DeviceId>& without_port() const {
    return without_port_;
  }                                                                                  // not connected to the network
  [[nodiscard]] const std::vector<LifelineLoss>& losses() const { return losses_; }  // one per switch
  [[nodiscard]] const LifelineLoss& worst_loss() const;  // default-constructed if there is none

  [[nodiscard]] const std::vector<std::string>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Dependency>& dependencies() const { return dependencies_; }
  [[nodiscard]] const std::vector<LifelineCycle>& cycles() const { return cycles_; }
  // The cycle that a key closes; null if it closes none.
  [[nodiscard]] const LifelineCycle* cycle_of(std::string_view key) const;

 private:
  void find_jump_hosts();
  void find_dependencies();
  void find_services(std::uint32_t jump, std::uint32_t network, std::uint32_t frontend);
  void find_cycles();
  void find_reachable();
  void find_losses();
  [[nodiscard]] std::uint64_t reached_without(model::DeviceId gone) const;
  [[nodiscard]] model::PortId port_of(model::DeviceId target) const;
  [[nodiscard]] model::DeviceId leaf_of(model::DeviceId target) const;
  [[nodiscard]] std::string why_no_way_in() const;

  std::uint32_t node(std::string name);
  void add_dependency(std::uint32_t from, std::uint32_t to, std::string why, std::string key = {},
                      const SourceLocation& place = {});

  const model::Cluster& cluster_;
  design::FabricGraph graph_;
  std::vector<bool> alive_;  // switches of the graph that belong to no data fabric
  std::vector<std::uint32_t> piece_;
  std::vector<model::DeviceId> jump_hosts_;
  std::vector<model::DeviceId> without_port_;
  std::vector<model::DeviceId> unreachable_;
  std::uint64_t reachable_ = 0;
  std::vector<LifelineLoss> losses_;
  std::vector<std::string> nodes_;
  std::vector<Dependency> dependencies_;
  std::vector<LifelineCycle> cycles_;
};

// A reference such as kubernetes:name or k8s:name: credentials stored in the cluster that they give access to.
[[nodiscard]] bool is_stored_in_kubernetes(std::string_view credentials);

// `weft trace recovery --to DEVICE`: hop by hop, with the dependencies of each hop.
[[nodiscard]] Document recovery_document(const model::Cluster& cluster, const Lifeline& lifeline,
                                         model::DeviceId target);

}  // namespace weft::check
