// SC: quotas, priorities and isolation of jobs.
#include <fmt/format.h>

#include <algorithm>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

void check_tenant_quota(const CheckInput& input, Report& report) {
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    const model::QuotaSpec& quota = tenant.quota.value;
    if (quota.gpus.has_value() || !quota.mig->empty()) continue;
    report.at(tenant.quota, tenant.place, tenant.name->text,
              fmt::format("tenant `{}` has no GPU quota", tenant.name->text));
  }
}

// Totals of all GPU servers and all storage systems.
struct ClusterCapacity {
  std::int64_t gpus = 0;
  std::int64_t cpus = 0;
  Bytes memory;
  Bytes storage;
};

ClusterCapacity count_capacity(const model::Cluster& cluster) {
  ClusterCapacity stock;
  for (const model::PoolSpec& pool : cluster.spec().pools.value) {
    const model::ServerModel* server = server_of(cluster, pool);
    if (!is_gpu_pool(pool) || server == nullptr) continue;
    stock.gpus += gpus_of(cluster, pool) * pool.time_slices.value;
    stock.cpus += server->cores.value * pool.count.value;
    stock.memory = stock.memory + server->memory.value * pool.count.value;
  }
  for (const model::StorageSpec& system : cluster.spec().storage.value) {
    if (system.capacity.has_value()) stock.storage = stock.storage + system.capacity.value;
  }
  return stock;
}

void check_quota_size(const CheckInput& input, Report& report) {
  const ClusterCapacity stock = count_capacity(input.cluster());
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    const model::QuotaSpec& quota = tenant.quota.value;
    const auto complain = [&](const SourceLocation& place, const std::string& wanted, const std::string& there) {
      report.add(tenant.name->text, place,
                 fmt::format("tenant `{}` has a quota of {}; the cluster has {}", tenant.name->text, wanted, there));
    };
    if (quota.gpus.has_value() && quota.gpus.value > stock.gpus) {
      complain(quota.gpus.place, fmt::format("{} GPUs", quota.gpus.value), std::to_string(stock.gpus));
    }
    if (quota.cpus.has_value() && stock.cpus > 0 && quota.cpus.value > stock.cpus) {
      complain(quota.cpus.place, fmt::format("{} CPU cores", quota.cpus.value), std::to_string(stock.cpus));
    }
    if (quota.memory.has_value() && stock.memory.count() > 0 && quota.memory.value > stock.memory) {
      complain(quota.memory.place, to_text(quota.memory.value) + " of memory", to_text(stock.memory));
    }
    if (quota.storage.has_value() && stock.storage.count() > 0 && quota.storage.value > stock.storage) {
      complain(quota.storage.place, to_text(quota.storage.value) + " of storage", to_text(stock.storage));
    }
  }
}

void check_mig_quota_size(const CheckInput& input, Report& report) {
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    for (const auto& [profile, count] : tenant.quota->mig.value) {
      const std::int64_t there = mig_instances(input.cluster(), profile);
      if (there == 0 || count.value <= there) continue;
      report.add(tenant.name->text, count.place,
                 fmt::format("tenant `{}` has a quota of {} instances of {}; the cluster has {}", tenant.name->text,
                             count.value, profile, there));
    }
  }
}

void check_mig_quota_profile(const CheckInput& input, Report& report) {
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    for (const auto& [profile, count] : tenant.quota->mig.value) {
      if (count.value == 0 || mig_instances(input.cluster(), profile) > 0) continue;
      report.add(tenant.name->text, count.place,
                 fmt::format("tenant `{}` has a quota of {}, which no pool provides", tenant.name->text, profile));
    }
  }
}

void check_partition_workloads(const CheckInput& input, Report& report) {
  for (const model::PartitionSpec& partition : input.spec().partitions.value) {
    bool training = false;
    bool inference = false;
    for (const std::string& name : partition.pools.value) {
      const model::PoolSpec* pool = find_pool(input.spec(), name);
      training = training || (pool != nullptr && pool->role.value == model::PoolRole::training);
      inference = inference || (pool != nullptr && pool->role.value == model::PoolRole::inference);
    }
    if (!training || !inference) continue;
    report.at(partition.pools, partition.place, partition.name->text,
              fmt::format("partition `{}` contains training and inference pools", partition.name->text));
  }
}

void check_pool_taints(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (!is_gpu_pool(pool) || !pool.taints->empty()) continue;
    report.at(pool.taints, pool.place, pool.name->text,
              fmt::format("GPU pool `{}` has no taint: any pod can be scheduled on it", pool.name->text));
  }
}

void check_pool_taint_overlap(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for (const model::PoolSpec& training : input.spec().pools.value) {
    if (training.role.value != model::PoolRole::training || training.taints->empty()) continue;
    for (const model::PoolSpec& inference : input.spec().pools.value) {
      if (inference.role.value != model::PoolRole::inference || inference.taints.value != training.taints.value)
        continue;
      report.at(inference.taints, inference.place, inference.name->text,
                fmt::format("`{}` and `{}` have the same taints: pods that tolerate one tolerate the other",
                            training.name->text, inference.name->text));
    }
  }
}

void check_gpu_allocator(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = input.spec().control_plane.value;
  const bool slurm_missing = control.allocator.value == model::Allocator::slurm && !runs_slurm(input.spec());
  const bool kubernetes_missing =
      control.allocator.value == model::Allocator::kubernetes && !runs_kubernetes(input.spec());
  if (!slurm_missing && !kubernetes_missing) return;
  report.at(control.allocator, control.place, "control plane",
            fmt::format("{} is configured to allocate the GPUs, but only {} runs",
                        slurm_missing ? "Slurm" : "Kubernetes", slurm_missing ? "Kubernetes" : "Slurm"));
}

void check_priority_order(const CheckInput& input, Report& report) {
  for (const model::PrioritySpec& fixed : input.spec().priorities.value) {
    if (fixed.preemptible.value) continue;
    for (const model::PrioritySpec& other : input.spec().priorities.value) {
      if (!other.preemptible.value || other.value.value < fixed.value.value) continue;
      report.at(other.value, other.place, other.name->text,
                fmt::format("batch class `{}` ({}) is not below `{}` ({}), which is not preemptible", other.name->text,
                            other.value.value, fixed.name->text, fixed.value.value));
    }
  }
}

void check_partition_time_limit(const CheckInput& input, Report& report) {
  if (!runs_slurm(input.spec()) || !input.spec().partitions.from_file()) return;
  for (const model::PartitionSpec& partition : input.spec().partitions.value) {
    if (partition.time_limit.has_value()) continue;
    for (const std::string& name : partition.pools.value) {
      const model::PoolSpec* pool = find_pool(input.spec(), name);
      if (pool == nullptr || pool->role.value != model::PoolRole::training) continue;
      report.at(partition.time_limit, partition.place, partition.name->text,
                fmt::format("partition `{}` has no time limit", partition.name->text));
      break;
    }
  }
}

// Hosts of the pool with a label "key=value".
std::int64_t hosts_with(const model::PoolSpec& pool, std::string_view constraint) {
  const std::size_t equal = constraint.find('=');
  const std::string_view key = constraint.substr(0, equal);
  const std::string_view value = equal == std::string_view::npos ? std::string_view() : constraint.substr(equal + 1);
  const auto has = [&](const model::NamedValues<std::string>& labels) {
    return std::any_of(labels.begin(), labels.end(),
                       [&](const auto& label) { return label.first == key && label.second.value == value; });
  };
  return has(pool.labels.value) ? pool.count.value : 0;
}

void check_partition_constraints(const CheckInput& input, Report& report) {
  for (const model::PartitionSpec& partition : input.spec().partitions.value) {
    for (const std::string& constraint : partition.constraints.value) {
      std::int64_t all = 0;
      std::int64_t fit = 0;
      for (const std::string& name : partition.pools.value) {
        const model::PoolSpec* pool = find_pool(input.spec(), name);
        if (pool == nullptr) continue;
        all += pool->count.value;
        fit += hosts_with(*pool, constraint);
      }
      if (fit == all) continue;
      report.at(partition.constraints, partition.place, partition.name->text,
                fmt::format("jobs of `{}` require `{}`, which {} of its {} hosts have", partition.name->text,
                            constraint, fit, all));
    }
  }
}

void check_container_gpu_limit(const CheckInput& input, Report& report) {
  std::int64_t most = 0;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (is_gpu_pool(pool) && server != nullptr) most = std::max(most, server->gpus.value);
  }
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    if (most == 0 || tenant.gpus_per_container.value <= most) continue;
    report.at(tenant.gpus_per_container, tenant.place, tenant.name->text,
              fmt::format("a container of `{}` may request {} GPUs; the largest server has {}", tenant.name->text,
                          tenant.gpus_per_container.value, most));
  }
}

void check_training_pods_per_node(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (pool.role.value != model::PoolRole::training || pool.pods_per_node.value <= 1) continue;
    report.at(pool.pods_per_node, pool.place, pool.name->text,
              fmt::format("{} training pods per node in `{}`: each needs its own virtual functions",
                          pool.pods_per_node.value, pool.name->text));
  }
}

void check_node_feature_discovery(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = input.spec().control_plane.value;
  if (!runs_kubernetes(input.spec()) || control.node_feature_discovery.value) return;
  report.at(control.node_feature_discovery, control.place, "control plane",
            "nodes have no hardware labels: the scheduler cannot select nodes by hardware");
}

void check_service_priority(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  if (spec.services->empty()) return;
  for (const model::ServiceSpec& service : spec.services.value) {
    if (service.priority.has_value()) continue;
    report.at(service.priority, service.place, service.name->text,
              fmt::format("service `{}` has no priority class", service.name->text));
  }
}

void check_quota_completeness(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    const model::QuotaSpec& quota = tenant.quota.value;
    if (!quota.gpus.has_value() && quota.mig->empty()) continue;  // reported by SC001
    std::string missing;
    const auto need = [&](bool there, const char* name) {
      if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
    };
    need(quota.cpus.has_value(), "cpus");
    need(quota.memory.has_value(), "memory");
    need(quota.storage.has_value(), "storage");
    if (missing.empty()) continue;
    report.at(tenant.quota, tenant.place, tenant.name->text,
              fmt::format("the quota of `{}` does not limit: {}", tenant.name->text, missing));
  }
}

void check_taint_effect(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (!is_gpu_pool(pool) || pool.taints->empty()) continue;
    const bool hard = std::any_of(pool.taints->begin(), pool.taints->end(), [](const std::string& taint) {
      return taint.ends_with(":NoSchedule") || taint.ends_with(":NoExecute");
    });
    if (hard) continue;
    report.at(pool.taints, pool.place, pool.name->text,
              fmt::format("taints of `{}` are PreferNoSchedule only", pool.name->text));
  }
}

void check_empty_quota(const CheckInput& input, Report& report) {
  for (const model::TenantSpec& tenant : input.spec().tenants.value) {
    const model::QuotaSpec& quota = tenant.quota.value;
    std::string zero;
    SourceLocation place;
    const auto look = [&](bool none, const SourceLocation& where, const char* name) {
      if (!none) return;
      zero += (zero.empty() ? "" : ", ") + std::string(name);
      if (!place.known()) place = where;
    };
    look(quota.cpus.has_value() && quota.cpus.value == 0, quota.cpus.place, "cpus");
    look(quota.memory.has_value() && quota.memory->count() == 0, quota.memory.place, "memory");
    look(quota.storage.has_value() && quota.storage->count() == 0, quota.storage.place, "storage");
    look(quota.volume_claims.has_value() && quota.volume_claims.value == 0, quota.volume_claims.place, "volume_claims");
    look(quota.gpus.has_value() && quota.gpus.value == 0 && quota.mig->empty(), quota.gpus.place, "gpus");
    for (const auto& [profile, count] : quota.mig.value) look(count.value == 0, count.place, "mig");
    if (zero.empty()) continue;
    report.add(tenant.name->text, place, fmt::format("tenant `{}` has a quota of 0 for: {}", tenant.name->text, zero));
  }
}

}  // namespace

std::vector<Rule> scheduling_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "SC001",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a tenant has no quota",
       .reason = "One team's batch jobs can use every GPU and starve another team's production service.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), resource quotas for multi-tenancy",
       .fix = "set `tenants[].quota.gpus` or `.mig`",
       .example = {.file = "pod16.yaml",
                   .from = "    quota: {gpus: 96, cpus: 2048, memory: 16TB, storage: 200TB, volume_claims: 20}\n",
                   .to = ""},
       .run = check_tenant_quota},
      {.id = "SC002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a quota is larger than the cluster",
       .reason = "A limit above the cluster's capacity has no effect.",
       .source = "kubernetes-sigs/kueue issues 4329 and 3887: admitted quota that cannot be placed",
       .fix = "lower the quota to the intended limit",
       .example = {.file = "pod16.yaml", .from = "quota: {gpus: 96,", .to = "quota: {gpus: 9600,"},
       .run = check_quota_size},
      {.id = "SC003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a MIG quota is larger than what exists",
       .reason = "Jobs within their quota wait for slices that do not exist.",
       .source = "kubernetes-sigs/kueue issue 4329: admitted quota that cannot be placed",
       .fix = "lower the quota or add instances to a pool's `mig`",
       .example = {.file = "pod16.yaml", .from = "mig: {1g.10gb: 56}", .to = "mig: {1g.10gb: 5600}"},
       .run = check_mig_quota_size},
      {.id = "SC004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a quota names a MIG profile that no pool has",
       .reason = "Every job that requests it remains pending.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), MIG profiles and quotas",
       .fix = "use a profile of a pool's `mig`",
       .example = {.file = "pod16.yaml", .from = "mig: {1g.10gb: 56}", .to = "mig: {2g.20gb: 12}"},
       .run = check_mig_quota_profile},
      {.id = "SC005",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "training and inference share a partition",
       .reason =
           "A training job on an inference node affects both; they need different limits, priorities and MIG layouts.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: not separating inference "
                 "and training pools",
       .fix = "create one partition for each",
       .example = {.file = "pod16.yaml",
                   .from = "pools: [train], time_limit",
                   .to = "pools: [train, infer], time_limit"},
       .run = check_partition_workloads},
      {.id = "SC006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a GPU pool has no taint",
       .reason = "Pods without GPUs occupy the most expensive nodes, and training runs on inference nodes.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): taints and tolerations are not optional",
       .fix = "set `taints: [\"nvidia.com/gpu=training:NoSchedule\"]` or similar",
       .example = {.file = "pod16.yaml", .from = "    taints: [\"nvidia.com/gpu=training:NoSchedule\"]\n", .to = ""},
       .run = check_pool_taints},
      {.id = "SC007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "training and inference pools have the same taint",
       .reason = "A toleration for one also applies to the other: the pools are not separated.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): nvidia.com/gpu=training and =inference",
       .fix = "use a different taint value per role",
       .example = {.file = "pod16.yaml",
                   .from = "nvidia.com/gpu=training:NoSchedule",
                   .to = "nvidia.com/gpu=inference:NoSchedule"},
       .run = check_pool_taint_overlap},
      {.id = "SC008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the GPU allocator does not run",
       .reason =
           "GPUs need one allocator. If the configured one does not run, the other allocates them without accounting.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), common pitfalls: Kubernetes and "
                 "Slurm double-scheduling GPUs",
       .fix = "set `control_plane.allocator` to a scheduler that `kind` includes",
       .example = {.file = "pod16.yaml",
                   .from = "control_plane: {kind: both,",
                   .to = "control_plane: {kind: kubernetes,"},
       .run = check_gpu_allocator},
      {.id = "SC009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a batch class is not below the inference class",
       .reason =
           "Preemption follows the value: a batch class at or above the inference class is never preempted for it.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), priority classes: inference 1000000, training "
                 "500000, batch 100000",
       .fix = "lower its `value`",
       .example = {.file = "pod16.yaml",
                   .from = "name: training-high, value: 500000",
                   .to = "name: training-high, value: 5000000"},
       .run = check_priority_order},
      {.id = "SC010",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a training partition has no time limit",
       .reason = "Backfill needs the end time of jobs; without a limit no job can be started in the gaps.",
       .source = "Slurm backfill documentation; AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS): "
                 "backfill against fragmentation",
       .fix = "set `time_limit`",
       .example = {.file = "pod16.yaml", .from = "pools: [train], time_limit: 7d, ", .to = "pools: [train], "},
       .run = check_partition_time_limit},
      {.id = "SC011",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "constraints fragment a partition",
       .reason = "Jobs wait for the few hosts with the label while equivalent hosts are idle.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), pitfalls: fragmentation from "
                 "overly specific constraints",
       .fix = "remove the constraint, or label every host of the partition",
       .example = {.file = "pod16.yaml",
                   .from = "pools: [train], time_limit",
                   .to = "pools: [train], constraints: [\"stepping=b1\"], time_limit"},
       .run = check_partition_constraints},
      {.id = "SC012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a container may request more GPUs than a server has",
       .reason = "Such a pod remains pending because no single node has enough GPUs.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), limit ranges",
       .fix = "set `gpus_per_container` to at most the GPUs of a server",
       .example = {.file = "pod16.yaml",
                   .from = "    partitions: [train]\n",
                   .to = "    partitions: [train]\n    gpus_per_container: 16\n"},
       .run = check_container_gpu_limit},
      {.id = "SC013",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "several training pods share a node",
       .reason = "Each pod needs its own VFs, addresses and rank mapping; one pod per node is simpler for large jobs.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), Kubernetes sizing: one training pod per node",
       .fix = "set `pods_per_node: 1` unless jobs are small",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    pods_per_node: 8\n"},
       .run = check_training_pods_per_node},
      {.id = "SC014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "node feature discovery is off",
       .reason =
           "Without labels for GPU model, driver, RDMA and NUMA, the scheduler places GPU jobs on arbitrary nodes.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: skipping NFD",
       .fix = "set `control_plane.node_feature_discovery: true`",
       .example = {.file = "pod16.yaml",
                   .from = "allocator: slurm,",
                   .to = "allocator: slurm, node_feature_discovery: false,"},
       .run = check_node_feature_discovery},
      {.id = "SC015",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service has no priority class",
       .reason = "It has the same priority as batch jobs and is restarted after them when a failure reduces capacity.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), priority classes",
       .fix = "set `priority` to a class with `preemptible: false`",
       .example = {.file = "pod16.yaml", .from = "     priority: inference-critical, timeout", .to = "     timeout"},
       .run = check_service_priority},
      {.id = "SC016",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "a quota is incomplete",
       .reason =
           "GPUs are not the only limited resource: one data loader without a memory or storage limit can stop a node.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), resource quotas: GPU, memory, CPU, storage, claims",
       .fix = "also set cpus, memory and storage",
       .example = {.file = "pod16.yaml",
                   .from = "quota: {gpus: 96, cpus: 2048, memory: 16TB, storage: 200TB,",
                   .to = "quota: {gpus: 96, cpus: 2048,"},
       .run = check_quota_completeness},
      {.id = "SC017",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a taint does not exclude pods",
       .reason = "PreferNoSchedule is only a preference: when other nodes are full, any pod can be scheduled on the "
                 "GPU nodes.",
       .source = "Kubernetes documentation, taints and tolerations",
       .fix = "use the effect NoSchedule",
       .example = {.file = "pod16.yaml",
                   .from = "nvidia.com/gpu=training:NoSchedule",
                   .to = "nvidia.com/gpu=training:PreferNoSchedule"},
       .run = check_taint_effect},
      {.id = "SC018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a quota is 0",
       .reason = "No pod of the tenant can start, and the error message does not show that the file is the cause.",
       .source = "Kubernetes documentation, resource quotas",
       .fix = "remove the key, or set an amount",
       .example = {.file = "pod16.yaml", .from = "cpus: 2048,", .to = "cpus: 0,"},
       .run = check_empty_quota},
  };
}

}  // namespace weft::check
