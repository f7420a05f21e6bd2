// Sizing calculations for a cluster: storage throughput, virtual functions, MIG. Each result states its rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::design {

struct ThroughputNeed {
  Bytes read;  // per second
  Bytes write;
  std::string rule;
  std::string source;
};

// The read and write throughput that `gpus` GPUs on `nodes` nodes need, by each published rule.
[[nodiscard]] std::vector<ThroughputNeed> storage_needs(std::int64_t gpus, std::int64_t nodes, model::DataClass data);

[[nodiscard]] Document storage_view(const model::Cluster& cluster);
[[nodiscard]] Document vf_view(const model::Cluster& cluster);
[[nodiscard]] Document mig_view(const model::Cluster& cluster);

// Whether the instances fit one GPU under the placement rules of their profiles, and where. Exhaustive over legal
// starts.
struct MigPlacement {
  bool fits = false;
  std::vector<std::pair<std::string, int>> placed;  // profile, first memory slice
  std::string why_not;
};
[[nodiscard]] MigPlacement place_mig(const model::GpuModel& gpu,
                                     const std::vector<std::pair<std::string, std::int64_t>>& wanted);

}  // namespace weft::design
