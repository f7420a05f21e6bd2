// Slurm as leases see it (core/lease_scheduler.h). The mark is a drain with a reason of the lease; a node that somebody
// else has drained gets none and needs none: nothing new starts there either.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "world/core/lease_scheduler.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

class SlurmLeases final : public LeaseScheduler {
 public:
  // `nodes` are by NodeId.
  SlurmLeases(const std::vector<std::string>& nodes, std::shared_ptr<SlurmClient> client);

  [[nodiscard]] Result<std::vector<control::NodeUse>> list() override;
  [[nodiscard]] Status mark(sched::NodeId node, bool cordon) override;
  void stop() override { client_->stop(); }

 private:
  std::vector<std::string> nodes_;
  std::map<std::string, sched::NodeId, std::less<>> ids_;
  std::shared_ptr<SlurmClient> client_;
  std::set<sched::NodeId> wanted_;  // nodes that are to have the mark
};

}  // namespace weft::world
