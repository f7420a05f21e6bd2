// Generates a commented cluster file from a scale and a workload.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace weft::design {

struct DesignRequest {
  std::string name = "cluster";
  std::optional<std::int64_t> gpus;  // exactly one of the three sets the size
  std::optional<std::int64_t> servers;
  std::optional<Power> power;  // the whole site, without cooling
  std::string gpu = "h100-sxm";
  std::string server;  // catalog id; empty: the default server for the GPU
  model::NetworkKind network = model::NetworkKind::ethernet;
  Ratio oversubscription;
  std::int64_t inference_percent = 0;  // of the GPU servers
  model::DataClass data = model::DataClass::better;
  model::Profile profile = model::Profile::converged;
  model::ControlKind scheduler = model::ControlKind::kubernetes;
  std::string leaf;  // backend leaf; empty: chosen for the speed and network
  std::int64_t planes = 1;
  bool one_tenant = false;  // one team has the whole quota; else a quarter of it is for batch jobs
};

struct DesignAnswer {
  std::string yaml;                               // the cluster file, commented
  std::vector<std::string> notes;                 // notable decisions, for stderr
  std::shared_ptr<const model::Cluster> cluster;  // compiled from the file
};

[[nodiscard]] Result<DesignAnswer> design_cluster(const DesignRequest& request,
                                                  const std::shared_ptr<const model::Catalog>& catalog);

}  // namespace weft::design
