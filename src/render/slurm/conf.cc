// slurm.conf: the controller's view of the cluster, the same on every host.
#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/text.h"
#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

constexpr std::int64_t kManyNodes = 1024;
constexpr std::int64_t kDay = 86'400'000'000'000;

std::size_t node_count(const SlurmModel& model) {
  std::size_t count = 0;
  for (const NodeSet& set : model.nodes()) count += set.names.size();
  return count;
}

void add_controllers(const SlurmModel& model, SettingsText& out) {
  out.set("ClusterName", model.cluster_name());
  if (model.controllers().empty()) out.set("SlurmctldHost", "slurmctld");
  for (const model::DeviceId id : model.controllers()) {
    const std::string& name = model.input().cluster.name_of(id);
    const Ipv4 address = node_address(model.input(), id);
    out.set("SlurmctldHost", address == Ipv4{} ? name : fmt::format("{}({})", name, to_text(address)));
  }
  out.set("SlurmctldPort", kSlurmctldPort);
  out.set("SlurmdPort", kSlurmdPort);
  out.set("SlurmUser", "slurm");
  out.set("SlurmdUser", "root");
  out.section("Shared storage: all controllers access this directory.");
  out.set("StateSaveLocation", kStateFolder);
  out.set("SlurmdSpoolDir", "/var/spool/slurmd");
  out.set("SlurmctldPidFile", "/run/slurmctld.pid");
  out.set("SlurmdPidFile", "/run/slurmd.pid");
  out.set("SlurmctldLogFile", "/var/log/slurm/slurmctld.log");
  out.set("SlurmdLogFile", "/var/log/slurm/slurmd.log");
  out.section("Authentication: MUNGE for daemons and users, JWT for slurmrestd.");
  out.set("AuthType", "auth/munge");
  if (!model.has_tokens()) return;
  out.set("AuthAltTypes", "auth/jwt");
  out.set("AuthAltParameters", fmt::format("jwt_key={}/jwt_hs256.key", kConfigFolder));
}

void add_accounting(const SlurmModel& model, SettingsText& out) {
  out.section("Accounting.");
  if (!model.has_accounting()) {
    out.set("AccountingStorageType", "accounting_storage/none");
    out.set("JobCompType", "jobcomp/filetxt");
    out.set("JobCompLoc", "/var/log/slurm/jobcomp.log");
  } else {
    out.set("AccountingStorageType", "accounting_storage/slurmdbd");
    const auto& controllers = model.controllers();
    const model::Cluster& cluster = model.input().cluster;
    out.set("AccountingStorageHost", controllers.empty() ? "slurmctld" : cluster.name_of(controllers[0]));
    if (controllers.size() > 1) out.set("AccountingStorageBackupHost", cluster.name_of(controllers[1]));
    out.set("AccountingStoragePort", kSlurmdbdPort);
    out.set("AccountingStorageEnforce", "associations,limits,qos,safe");
    if (model.has_gpus()) {
      std::string tres = "gres/gpu";
      for (const std::string& type : model.gpu_types()) tres += ",gres/gpu:" + type;
      if (model.has_shards()) tres += ",gres/shard";
      out.set("AccountingStorageTRES", tres);
    }
  }
  out.set("JobAcctGatherType", "jobacct_gather/cgroup");
  out.set("JobAcctGatherFrequency", 30);
}

void add_selection(const SlurmModel& model, SettingsText& out) {
  out.section("Resource selection and topology.");
  out.set("SelectType", "select/cons_tres");
  out.set("SelectTypeParameters", "CR_Core_Memory");
  if (model.has_gpus()) out.set("GresTypes", model.has_shards() ? "gpu,shard" : "gpu");
  out.set("TopologyPlugin", "topology/tree");
  out.set("EnforcePartLimits", "ALL");
  out.section("One cgroup per job; tasks are bound to the cores near their GPUs.");
  out.set("ProctrackType", "proctrack/cgroup");
  out.set("TaskPlugin", "task/affinity,task/cgroup");
  if (model.has_scratch()) out.set("JobContainerType", "job_container/tmpfs");
  out.set("LaunchParameters", "use_interactive_step");
  out.set("MpiDefault", "none");
  out.section("RDMA pins memory: do not propagate the login node's locked-memory limit to jobs.");
  out.set("PropagateResourceLimitsExcept", "MEMLOCK");
}

void add_scheduling(const SlurmModel& model, SettingsText& out) {
  const bool new_names = model.release() == Release::v24_05;
  std::int64_t window = kDay;
  for (const Partition& partition : model.partitions()) {
    if (partition.spec->time_limit.has_value()) window = std::max(window, partition.spec->time_limit->count());
  }
  out.section(model.has_accounting()
                  ? "Priority: QoS first, then fair share of the account, then age. The backfill window covers the "
                    "longest time limit. Without batch_sched_delay=0, free nodes wait up to 4 s for the next job."
                  : "Priority: partition first, then size. The backfill window covers the longest time limit. Without "
                    "batch_sched_delay=0, free nodes wait up to 4 s for the next job.");
  out.set("SchedulerType", "sched/backfill");
  out.set("SchedulerParameters",
          fmt::format("batch_sched_delay=0,bf_continue,bf_max_job_test=1000,bf_resolution=300,bf_window={}{}",
                      minutes_of(Duration(window)), new_names ? "" : ",preempt_youngest_first"));
  out.set("PriorityType", "priority/multifactor");
  out.set("PriorityMaxAge", "7-0");
  out.set("PriorityWeightPartition", 100'000);
  out.set("PriorityWeightJobSize", 1'000);
  if (model.has_accounting()) {  // fair share, age and QoS need the database
    out.set("PriorityDecayHalfLife", "7-0");
    out.set("PriorityWeightQOS", 1'000'000);
    out.set("PriorityWeightFairshare", 100'000);
    out.set("PriorityWeightAge", 10'000);
  }
  out.section("Preempted jobs are requeued after a grace time for a checkpoint.");
  out.set("PreemptType", model.has_accounting() ? "preempt/qos" : "preempt/partition_prio");
  out.set("PreemptMode", "REQUEUE");
  if (new_names) out.set("PreemptParameters", "send_user_signal,youngest_first");
  out.set("JobRequeue", 1);
  out.set("KillWait", model.grace_seconds());
}

void add_health(const SlurmModel& model, SettingsText& out) {
  const bool many = static_cast<std::int64_t>(node_count(model)) > kManyNodes;
  out.section(
      "Configless nodes: slurmd fetches its configuration from the controller; a node that returns resumes service.");
  out.set("SlurmctldParameters",
          model.release() == Release::v24_05 ? "enable_configless" : "enable_configless,preempt_send_user_signal");
  out.set("ReturnToService", 1);
  out.set("RebootProgram", "/usr/sbin/reboot");
  out.set("SlurmctldTimeout", 120);
  out.set("SlurmdTimeout", 300);
  out.set("MessageTimeout", many ? 60 : 30);
  out.set("BatchStartTimeout", 120);
  out.set("UnkillableStepTimeout", 180);
  out.set("HealthCheckProgram", fmt::format("{}/health-check", kConfigFolder));
  out.set("HealthCheckInterval", 300);
  out.set("HealthCheckNodeState", "ANY,CYCLE");
  out.section("Prolog before a job, epilog after it.");
  out.set("Prolog", fmt::format("{}/prolog.d/*", kConfigFolder));
  out.set("Epilog", fmt::format("{}/epilog.d/*", kConfigFolder));
  out.set("TaskProlog", fmt::format("{}/task-prolog", kConfigFolder));
  out.set("PrologFlags", "Alloc,Contain");
  out.set("PrologEpilogTimeout", 300);
}

std::string gres_text(const NodeSet& set) {
  std::vector<std::string> parts;
  for (const Tres& gpu : gpus_of(set)) parts.push_back(fmt::format("gpu:{}:{}", gpu.type, gpu.count));
  if (const std::int64_t shards = shards_of(set); shards > 0) parts.push_back(fmt::format("shard:{}", shards));
  return join(parts, ",");
}

// Nodes with fewer resources are used first, spares last.
std::int64_t weight_of(const NodeSet& set) {
  constexpr std::int64_t kSpare = 1000;
  return 1 + set.server->gpus.value + (set.spare ? kSpare : 0);
}

void add_nodes(const SlurmModel& model, SettingsText& out) {
  out.section("Nodes. Names resolve to frontend addresses; see the file hosts.");
  for (const NodeSet& set : model.nodes()) {
    const std::int64_t sockets = std::max<std::int64_t>(1, set.server->sockets.value);
    out.record({{"NodeName", set.hosts},
                {"Sockets", std::to_string(sockets)},
                {"CoresPerSocket", std::to_string(set.server->cores.value / sockets)},
                {"ThreadsPerCore", std::to_string(threads_per_core(set))},
                {"RealMemory", std::to_string(memory_mib(*set.server))},
                {"MemSpecLimit", std::to_string(reserved_mib(*set.server))},
                {"Gres", gres_text(set)},
                {"Features", join(set.features, ",")},
                {"Weight", std::to_string(weight_of(set))},
                {"State", "UNKNOWN"}});
  }
}

// What a job of the partition gets per GPU (or core) by default: an even share of the smallest node.
struct Shares {
  std::int64_t cores_per_gpu = 0;
  std::int64_t memory_per_gpu = 0;
  std::int64_t memory_per_core = 0;
};

Shares shares_of(const SlurmModel& model, const Partition& partition) {
  Shares out;
  bool first = true;
  bool all_gpus = true;
  const auto least = [&](std::int64_t& value, std::int64_t candidate) {
    value = first ? candidate : std::min(value, candidate);
  };
  for (const NodeSet& set : model.nodes()) {
    if (std::find(partition.pools.begin(), partition.pools.end(), set.pool) == partition.pools.end()) continue;
    std::int64_t gpus = 0;
    for (const Tres& gpu : gpus_of(set)) gpus += gpu.count;
    all_gpus = all_gpus && gpus > 0;
    const std::int64_t cpus = std::max<std::int64_t>(1, set.server->cores.value * threads_per_core(set));
    const std::int64_t memory = memory_mib(*set.server) - reserved_mib(*set.server);
    least(out.cores_per_gpu, std::max<std::int64_t>(1, cpus / std::max<std::int64_t>(1, gpus)));
    least(out.memory_per_gpu, memory / std::max<std::int64_t>(1, gpus));
    least(out.memory_per_core, memory / cpus);
    first = false;
  }
  if (all_gpus) {
    out.memory_per_core = 0;
  } else {
    out.cores_per_gpu = out.memory_per_gpu = 0;
  }
  return out;
}

// Accounts that may use it; "" if all may. Administrators test nodes in the account root.
std::string accounts_of(const SlurmModel& model, const Partition& partition) {
  std::string list = "root";
  bool all = true;
  for (const model::TenantSpec& tenant : model.spec().tenants.value) {
    const auto& names = tenant.partitions.value;
    const bool may = names.empty() || std::find(names.begin(), names.end(), partition.spec->name->text) != names.end();
    all = all && may;
    if (may) list += "," + tenant.name->text;
  }
  return all ? std::string() : list;
}

std::string some(std::int64_t value) { return value > 0 ? std::to_string(value) : std::string(); }

void add_partition(const SlurmModel& model, const Partition& partition, bool usual, SettingsText& out) {
  const model::PartitionSpec& spec = *partition.spec;
  std::vector<std::string> hosts;
  std::int64_t nodes = 0;
  std::int64_t spares = 0;
  for (const NodeSet& set : model.nodes()) {
    if (std::find(partition.pools.begin(), partition.pools.end(), set.pool) == partition.pools.end()) continue;
    hosts.insert(hosts.end(), set.names.begin(), set.names.end());
    nodes += static_cast<std::int64_t>(set.names.size());
    spares += set.spare ? static_cast<std::int64_t>(set.names.size()) : 0;
  }
  const Shares shares = shares_of(model, partition);
  const bool limited = spec.time_limit.has_value();
  const Duration limit = limited ? spec.time_limit.value : Duration(kDay);
  const bool by_tier = !model.has_accounting();
  out.record({{"PartitionName", partition.name},
              {"Nodes", fold_hosts(std::move(hosts))},
              {"Default", usual ? "YES" : "NO"},
              {"MaxTime", limited ? time_text(limit) : "INFINITE"},
              {"DefaultTime", time_text(std::min(limit, Duration(kDay)))},
              {"MaxNodes", spares > 0 ? std::to_string(std::max<std::int64_t>(1, nodes - spares)) : std::string()},
              {"PriorityTier", std::to_string(partition.tier)},
              {"PriorityJobFactor", std::to_string(partition.tier)},
              {"PreemptMode", by_tier ? (partition.preemptible ? "REQUEUE" : "OFF") : ""},
              {"AllowAccounts", model.has_accounting() ? accounts_of(model, partition) : std::string()},
              {"DefCpuPerGPU", some(shares.cores_per_gpu)},
              {"DefMemPerGPU", some(shares.memory_per_gpu)},
              {"DefMemPerCPU", some(shares.memory_per_core)},
              // Without a database Slurm has no weight for GPUs and refuses to start.
              {"TRESBillingWeights", by_tier ? "" : (shares.cores_per_gpu > 0 ? "GRES/gpu=1.0" : "CPU=1.0")},
              {"State", "UP"}});
}

// The first training partition is the default partition.
const Partition* usual_partition(const SlurmModel& model) {
  for (const Partition& partition : model.partitions()) {
    for (const PoolPlan* pool : partition.pools) {
      if (pool->spec->role.value == model::PoolRole::training) return &partition;
    }
  }
  return model.partitions().empty() ? nullptr : &model.partitions().front();
}

}  // namespace

void add_slurm_conf(const SlurmModel& model, FileSink& sink) {
  SettingsText out(model.input().cluster, "slurm.conf, the same on every host of the cluster.");
  add_controllers(model, out);
  add_accounting(model, out);
  add_selection(model, out);
  add_scheduling(model, out);
  add_health(model, out);
  add_nodes(model, out);
  out.section("Partitions.");
  const Partition* usual = usual_partition(model);
  for (const Partition& partition : model.partitions()) add_partition(model, partition, &partition == usual, out);
  RenderedFile file;
  file.path = "slurm/slurm.conf";
  file.content = out.take();
  file.consumer = "slurmctld, slurmd";
  file.install = fmt::format("{}/slurm.conf", kConfigFolder);
  file.apply = "scontrol reconfigure";
  file.risk = Risk::reload;
  file.sources = {"pools", "partitions", "priorities", "tenants", "control_plane", "security.slurm_rest"};
  sink.add(std::move(file));
}

}  // namespace weft::render::slurm_render
