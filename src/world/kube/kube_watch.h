// Engine `kubernetes` in watch mode: Kubernetes schedules. weft reads pods and nodes, reports the nodes to the
// controller, and changes nothing but a taint of its own on nodes for which quarantine was enabled; with drain enabled
// it also evicts pods from nodes that have that taint. Nodes are handled by KubeWorld as in drive mode; the client must
// use a GuardedTransport (guarded_transport.h).
//
// Evicted are pods whose controller makes another one. Those without a controller would be lost: they run until their
// end, as the pods of DaemonSets do. An eviction that a PodDisruptionBudget refuses is asked for again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/client.h"
#include "kube/reflector.h"
#include "world/core/observed.h"
#include "world/core/world.h"
#include "world/kube/kube_observed.h"
#include "world/kube/kube_world.h"

namespace weft::world {

// send(), poll() and observation() may be called from one thread while another one calls work().
class KubeWatch final : public World {
 public:
  // The client must outlive it and is used by work() alone. Pods of all namespaces are shown, or of one.
  KubeWatch(kube::Client& client, KubeOptions options, const std::string& only_namespace);

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;
  [[nodiscard]] const Observation* observation() const override { return &observation_; }

  // As of KubeWorld.
  void work(Duration wait);
  [[nodiscard]] std::string problem() const;
  // What operators should know of evictions, since the last call.
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  using Findings = std::map<std::string, KubeFinding>;  // by node
  struct Drain {
    control::SessionId session = 0;
    Duration until{};  // the controller repeats the command as long as it is meant
    Duration next{};   // when pods are asked to go again
  };
  void observe();
  void drain_nodes();
  void evict_pods(const std::string& node);
  void evict_pod(const std::string& node, const Value& pod);
  [[nodiscard]] bool is_marked(const std::string& node, control::SessionId session) const;
  void note(const std::string& key, std::string text);

  kube::Client& client_;
  std::vector<std::string> names_;  // by NodeId
  std::string engine_;
  KubeWorld world_;
  kube::Reflector pods_;
  kube::Reflector nodes_;
  bool changed_ = true;
  std::optional<Duration> observed_at_;
  std::map<std::string, Duration> passing_;  // findings that may pass, by node: since when
  Observation observation_;                  // of the thread that polls
  std::shared_ptr<const Findings> findings_;
  std::vector<control::Event> replies_;
  std::vector<control::Event> held_;  // reports from before the first findings
  std::set<std::string> noted_;       // notes of this hour, so that none is repeated
  Duration noted_since_{};

  mutable std::mutex mutex_;             // for what follows
  std::map<std::string, Drain> drains_;  // by node
  std::vector<std::string> notes_;
  Observation fresh_;
  std::shared_ptr<const Findings> fresh_findings_;
  std::optional<std::pair<sched::Moment, Duration>> times_;  // the same moment on both clocks
};

}  // namespace weft::world
