// Kubernetes as leases see it (core/lease_scheduler.h). The mark is a taint. Only pods that ask for GPUs count: those
// of the node itself (CNI, exporters) stay when it moves to another engine.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/client.h"
#include "world/core/lease_scheduler.h"

namespace weft::world {

inline constexpr const char* kLeaseTaint = "weft/lease";

class KubeLeases final : public LeaseScheduler {
 public:
  // The client must outlive it; `stop` stops its clock. `nodes` are by NodeId.
  KubeLeases(std::vector<std::string> nodes, kube::Client& client, std::function<void()> stop);

  [[nodiscard]] Result<std::vector<control::NodeUse>> list() override;
  [[nodiscard]] Status mark(sched::NodeId node, bool cordon) override;
  void stop() override { stop_(); }

 private:
  std::vector<std::string> nodes_;
  std::map<std::string, sched::NodeId, std::less<>> ids_;
  kube::Client& client_;
  std::function<void()> stop_;
};

// Whether a pod asks for GPUs of any vendor, whole ones or parts.
[[nodiscard]] bool asks_for_gpus(const Value& pod);

}  // namespace weft::world
