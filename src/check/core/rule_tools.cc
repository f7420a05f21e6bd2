#include "check/core/rule_tools.h"

namespace weft::check {

std::int64_t gpus_of(const model::Cluster& cluster, const model::PoolSpec& pool) {
  const model::ServerModel* server = server_of(cluster, pool);
  return server == nullptr ? 0 : server->gpus.value * pool.count.value;
}

std::int64_t mig_instances(const model::Cluster& cluster, std::string_view profile) {
  std::int64_t instances = 0;
  for (const model::PoolSpec& pool : cluster.spec().pools.value) {
    for (const auto& [name, count] : pool.mig.value) {
      if (name == profile) instances += count.value * gpus_of(cluster, pool);
    }
  }
  return instances;
}

}  // namespace weft::check
