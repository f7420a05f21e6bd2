// Tenants and quotas of a cluster file.
#include "model/cluster.h"
#include "sched/core/tenants.h"

namespace weft::sched {

std::vector<TenantPolicy> tenants_of(const model::Cluster& cluster) {
  std::vector<TenantPolicy> tenants;
  for (const model::TenantSpec& each : cluster.spec().tenants.value) {
    TenantPolicy tenant;
    tenant.name = each.name.value.text;
    tenant.cohort = cluster.name();
    const model::QuotaSpec& quota = each.quota.value;
    if (quota.gpus.has_value()) tenant.quota.gpu_milli = quota.gpus.value * kWholeGpu;
    if (quota.cpus.has_value()) tenant.quota.cpu = quota.cpus.value * 1000;
    if (quota.memory.has_value()) tenant.quota.memory_mib = quota.memory.value.count() >> 20;
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

}  // namespace weft::sched
