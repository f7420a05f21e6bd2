// ST: storage systems, their fabric and their volumes as designed.
#include <fmt/format.h>

#include <algorithm>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"
#include "design/sizing.h"

namespace weft::check {
namespace {

constexpr std::int64_t kManyFiles = 10'000'000;
constexpr int kPosixRead = 2;  // GB/s per node, the lower published figure

const model::FabricSpec& fabric_of(const CheckInput& input) { return input.spec().fabrics->storage.value; }

bool has_volume_for(const model::StorageSpec& system, model::VolumePurpose purpose) {
  return std::any_of(system.volumes->begin(), system.volumes->end(),
                     [&](const model::VolumeSpec& volume) { return volume.purpose.value == purpose; });
}

// Total of the systems with volumes for this purpose; of all but the cold ones if there is no such volume.
model::ByteRate sum_rate(const model::Spec& spec, model::Sourced<model::ByteRate> model::StorageSpec::*rate,
                         model::VolumePurpose purpose) {
  model::ByteRate stated{};
  model::ByteRate all{};
  bool any = false;
  for (const model::StorageSpec& system : spec.storage.value) {
    if (system.tier.value != model::StorageTier::cold) all.per_second = all.per_second + (system.*rate)->per_second;
    if (!has_volume_for(system, purpose)) continue;
    any = true;
    stated.per_second = stated.per_second + (system.*rate)->per_second;
  }
  return any ? stated : all;
}

void check_no_storage_system(const CheckInput& input, Report& report) {
  if (input.cluster().gpu_count() == 0 || !input.spec().storage->empty()) return;
  report.at(input.spec().storage, input.spec().place, "storage", "the cluster has GPUs but no storage system");
}

std::int64_t gpu_servers(const CheckInput& input) {
  std::int64_t servers = 0;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (is_gpu_pool(pool)) servers += pool.count.value;
  }
  return servers;
}

void check_storage_throughput(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  const std::int64_t servers = gpu_servers(input);
  if (spec.storage->empty() || servers == 0) return;
  const model::ByteRate read = sum_rate(spec, &model::StorageSpec::read, model::VolumePurpose::dataset);
  const model::ByteRate write = sum_rate(spec, &model::StorageSpec::write, model::VolumePurpose::checkpoint);
  const Bytes posix = Bytes(std::int64_t{kPosixRead} * 1'000'000'000) * servers;
  Bytes wanted_read = posix;
  Bytes wanted_write{};
  std::string rule = fmt::format("{} GB/s per node", kPosixRead);
  for (const design::ThroughputNeed& need :
       design::storage_needs(input.cluster().gpu_count(), servers, spec.workload->data.value)) {
    if (need.rule.find("SuperPOD") == std::string::npos) continue;  // the rule for the declared data class
    if (need.read > wanted_read) {
      wanted_read = need.read;
      rule = need.rule;
    }
    wanted_write = std::max(wanted_write, need.write);
  }
  const model::StorageSpec& first = spec.storage->front();
  if (read.per_second < wanted_read) {
    report.at(first.read, first.place, "storage",
              fmt::format("storage reads {}/s for {} GPU servers; {} requires {}/s", to_text(read.per_second), servers,
                          rule, to_text(wanted_read)));
  } else if (write.per_second < wanted_write) {
    report.at(first.write, first.place, "storage",
              fmt::format("storage writes {}/s for {} GPU servers; the data class requires {}/s",
                          to_text(write.per_second), servers, to_text(wanted_write)));
  }
}

void check_checkpoint_write_time(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& work = input.spec().workload.value;
  if (!work.checkpoint.has_value() || work.checkpoint_time->count() <= 0) return;
  model::ByteRate write{};
  const model::StorageSpec* where = nullptr;
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value != model::VolumePurpose::checkpoint || where == &system) continue;
      write.per_second = write.per_second + system.write->per_second;
      where = &system;
    }
  }
  if (where == nullptr) return;
  const double needed =
      static_cast<double>(work.checkpoint->count()) * 1e9 / static_cast<double>(work.checkpoint_time->count());
  if (needed <= static_cast<double>(write.per_second.count())) return;
  report.at(
      work.checkpoint_time, work.place, where->name->text,
      fmt::format("a checkpoint of {} in {} needs {:.0f} GB/s; `{}` writes {}/s", to_text(work.checkpoint.value),
                  to_text(work.checkpoint_time.value), needed / 1e9, where->name->text, to_text(write.per_second)));
}

void check_checkpoint_volume(const CheckInput& input, Report& report) {
  const model::Spec& spec = input.spec();
  bool training = false;
  for (const model::PoolSpec& pool : spec.pools.value)
    training = training || pool.role.value == model::PoolRole::training;
  if (!training || spec.storage->empty()) return;
  for (const model::StorageSpec& system : spec.storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value == model::VolumePurpose::checkpoint) return;
    }
  }
  report.add("storage", spec.storage->front().place, "no volume has the purpose checkpoint");
}

void check_stripe_count(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.kind.value == model::StorageKind::object || system.targets.value < 4) continue;
    if (system.stripe_count.value > 1) continue;
    report.at(
        system.stripe_count, system.place, system.name->text,
        fmt::format("files of `{}` are stored on one of {} targets each", system.name->text, system.targets.value));
  }
}

void check_metadata_striping(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (!volume.files.has_value() || volume.files.value < kManyFiles || system.metadata_striping.value) continue;
      report.at(system.metadata_striping, system.place, volume.name->text,
                fmt::format("`{}` holds {} files and directories are not striped over metadata servers",
                            volume.name->text, volume.files.value));
    }
  }
}

void check_metadata_server_count(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (!volume.files.has_value() || volume.files.value < kManyFiles || system.metadata_servers.value != 1) continue;
      report.at(system.metadata_servers, system.place, volume.name->text,
                fmt::format("one metadata server for the {} files of `{}`", volume.files.value, volume.name->text));
    }
  }
}

void check_storage_capacity(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (!system.capacity.has_value() || system.capacity->count() == 0) continue;
    double bytes = 0;
    for (const model::VolumeSpec& volume : system.volumes.value) {
      bytes += static_cast<double>(volume.size->count()) * static_cast<double>(volume.replicas.value);
    }
    const auto capacity = static_cast<double>(system.capacity->count());
    if (bytes <= 0.9 * capacity) continue;
    report.at(system.capacity, system.place, system.name->text,
              fmt::format("volumes of `{}` use {:.0f} % of its {}, including copies", system.name->text,
                          100.0 * bytes / capacity, to_text(system.capacity.value)));
  }
}

void check_storage_bonding(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = fabric_of(input);
  if (!input.cluster().fabric(model::FabricKind::storage).present || !fabric.bond.value) return;
  report.at(fabric.bond, fabric.place, "storage", "storage ports are bonded with LACP instead of using multipath");
}

void check_storage_mtu(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = fabric_of(input);
  const bool ethernet = fabric.network.value == model::NetworkKind::ethernet;
  if (!input.cluster().fabric(model::FabricKind::storage).present || !ethernet || fabric.mtu.value >= 8900) return;
  report.at(fabric.mtu, fabric.place, "storage",
            fmt::format("storage MTU is {} bytes; NVMe-oF and parallel file systems need 9000", fabric.mtu.value));
}

void check_storage_multipath(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : input.spec().storage.value) {
    if (system.multipath.value == model::Multipath::active_standby || system.kind.value == model::StorageKind::object)
      continue;
    report.at(system.multipath, system.place, system.name->text,
              fmt::format("`{}` uses all paths at once, which requires symmetric controllers", system.name->text));
  }
}

void check_scratch_size(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& work = input.spec().workload.value;
  if (!work.working_set.has_value()) return;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::training || server == nullptr) continue;
    if (server->local_nvme.value >= work.working_set.value) continue;
    report.at(work.working_set, work.place, pool.name->text,
              fmt::format("a node of `{}` has {} of local NVMe for a working set of {}", pool.name->text,
                          to_text(server->local_nvme.value), to_text(work.working_set.value)));
  }
}

void check_storage_oversubscription(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::storage);
  if (!plan.present || plan.tiers < 2) return;
  if (plan.oversubscription.numerator <= 2 * plan.oversubscription.denominator) return;
  report.at(
      fabric_of(input).oversubscription, fabric_of(input).place, "storage",
      fmt::format("storage leaves are oversubscribed {}; simultaneous checkpoints of all nodes need 2:1 or better",
                  to_text(plan.oversubscription)));
}

}  // namespace

std::vector<Rule> storage_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "ST001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "there is no storage system",
       .reason = "Insufficient storage is the most common reason for idle GPUs: training needs parallel streaming "
                 "reads that general-purpose arrays do not provide.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: treating storage as an "
                 "afterthought",
       .fix = "describe a storage system under `storage:` and size it with `weft show storage`",
       .example =
           {.file = "pod32.yaml",
            .from =
                "storage:\n  - name: scratch\n    kind: nvmeof\n    pool: store\n    volumes:\n"
                "      - {name: datasets, purpose: dataset, size: 500TB, read_only: true, snapshots: 4h, "
                "replicate_to: archive}\n"
                "  - name: archive\n    kind: nvmeof\n    pool: vault\n    volumes:\n"
                "      - {name: checkpoints, purpose: checkpoint, size: 200TB, replicas: 2, replicate_to: scratch}\n",
            .to = "storage: []\n"},
       .run = check_no_storage_system},
      {.id = "ST002",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "storage throughput is too low for the GPUs",
       .reason = "Storage that is too slow leaves GPUs idle, for example at 40 % utilization. The minimum is 2 GB/s of "
                 "POSIX bandwidth per node; the declared data class may require more.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), capacity: 2 to 3 GB/s per "
                 "training node; DGX SuperPOD H100 table 6",
       .fix = "add storage servers, choose faster ones, or correct `workload.data`; `weft show storage` shows the "
              "calculation",
       .example = {.file = "pod16.yaml",
                   .from = "    kind: nvmeof\n    pool: flash\n",
                   .to = "    kind: nvmeof\n    pool: flash\n    read: 1GB/s\n"},
       .run = check_storage_throughput},
      {.id = "ST003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "checkpoints cannot be written in the planned time",
       .reason = "While ranks wait for a checkpoint, every GPU of the job is idle; slow checkpoints are taken less "
                 "often, and each failure then loses more work.",
       .source = "MLPerf Storage checkpoint sizes; checkpoint bandwidth = size / time",
       .fix = "raise the write throughput of the system that holds checkpoints, or `workload.checkpoint_time`",
       .example = {.file = "pod16.yaml", .from = "  checkpoint_time: 90s\n", .to = "  checkpoint_time: 2s\n"},
       .run = check_checkpoint_write_time},
      {.id = "ST004",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "no volume has the purpose checkpoint",
       .reason = "Checkpoints on the training data's volume compete with its reads and are lost with it.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Storage Resiliency Requirements: separate paths "
                 "and volumes for training data and checkpoints",
       .fix = "add a volume with `purpose: checkpoint`, if possible on another system than the dataset",
       .example = {.file = "pod16.yaml",
                   .from = "{name: checkpoints, purpose: checkpoint,",
                   .to = "{name: checkpoints, purpose: scratch,"},
       .run = check_checkpoint_volume},
      {.id = "ST005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "large files are stored on one target",
       .reason = "A file on one target is read at the speed of one server by all nodes of the job.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS): stripe large training data across "
                 "8 to 16 targets",
       .fix = "raise `stripe_count`",
       .example = {.file = "pod16.yaml",
                   .from = "    kind: nvmeof\n    pool: flash\n",
                   .to = "    kind: nvmeof\n    pool: flash\n    stripe_count: 1\n"},
       .run = check_stripe_count},
      {.id = "ST006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a large directory is on one metadata server",
       .reason = "Data loaders open millions of small files; if one server holds a directory, the others are idle and "
                 "the whole job waits for it.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), pitfalls: metadata hot spots; "
                 "directory sharding, metadata striping",
       .fix = "enable `metadata_striping`, or pack samples into larger files",
       .example = {.file = "pod16.yaml",
                   .from = "    metadata_servers: 2\n",
                   .to = "    metadata_servers: 2\n    metadata_striping: false\n"},
       .run = check_metadata_striping},
      {.id = "ST007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "one metadata server for many files",
       .reason = "It limits the rate of file opens of the whole cluster, and there is no failover.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS): metadata IOPS sized for loaders",
       .fix = "set `metadata_servers` to 2 or more",
       .example = {.file = "pod16.yaml", .from = "    metadata_servers: 2\n", .to = "    metadata_servers: 1\n"},
       .run = check_metadata_server_count},
      {.id = "ST008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a storage system is nearly full",
       .reason = "Parallel file systems and flash slow down when nearly full, and a checkpoint that runs out of space "
                 "ends the job.",
       .source = "common practice: keep 10 % free; capacity = sum of volumes times copies",
       .fix = "add capacity or make volumes smaller",
       .example = {.file = "pod16.yaml",
                   .from = "purpose: dataset, size: 300TB,",
                   .to = "purpose: dataset, size: 2200TB,"},
       .run = check_storage_capacity},
      {.id = "ST009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "storage ports are bonded",
       .reason = "NVMe-oF and RDMA clients select paths themselves (ANA, multi-rail). A bond hides the paths from them "
                 "and puts both on one switch pair.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), storage: do not LACP the storage RDMA NICs",
       .fix = "set `fabrics.storage.bond: false` and use multipath",
       .example = {.file = "pod16.yaml",
                   .from = "    system: cumulus\n",
                   .to = "    system: cumulus\n    bond: true\n"},
       .run = check_storage_bonding},
      {.id = "ST010",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the storage network does not carry jumbo frames",
       .reason = "A read of 1 MB becomes 700 frames instead of 120, at both ends and in every queue between.",
       .source = "Container Networking Architecture for AI Workloads (Patel): MTU 9000 from NIC to target",
       .fix = "set `fabrics.storage.mtu` to 9000",
       .example = {.file = "pod16.yaml",
                   .from = "    system: cumulus\n    mtu: 9000\n",
                   .to = "    system: cumulus\n    mtu: 1500\n"},
       .run = check_storage_mtu},
      {.id = "ST011",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "all storage paths are used at once",
       .reason = "If controllers are asymmetric (ANA optimized and non-optimized), half of the requests take the "
                 "longer path inside the array and latency varies.",
       .source = "Container Networking Architecture for AI Workloads (Patel): active/active only with symmetric access",
       .fix = "use `multipath: active-standby` unless all paths of the array are symmetric",
       .example = {.file = "pod16.yaml",
                   .from = "    kind: nvmeof\n    pool: flash\n",
                   .to = "    kind: nvmeof\n    pool: flash\n    multipath: round-robin\n"},
       .run = check_storage_multipath},
      {.id = "ST012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "node-local scratch is smaller than the working set",
       .reason = "Data that does not fit is read again over the network in every epoch.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS): at least 1:1 NVMe scratch to the "
                 "active working set",
       .fix = "choose servers with more local NVMe, or shard the dataset",
       .example = {.file = "pod16.yaml", .from = "  data: better\n", .to = "  data: better\n  working_set: 100TB\n"},
       .run = check_scratch_size},
      {.id = "ST013",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the storage network is oversubscribed beyond 2:1",
       .reason = "All nodes write checkpoints at the same time; incast on oversubscribed uplinks pauses the lossless "
                 "class and delays all reads.",
       .source = "DGX SuperPOD: storage fabric near 4:3 towards servers, 1:1 towards storage",
       .fix = "set `fabrics.storage.oversubscription` to 2:1 or better",
       .example = {.file = "superpod-h100-4su.yaml", .from = "oversubscription: 4:3 ", .to = "oversubscription: 3:1 "},
       .run = check_storage_oversubscription},
  };
}

}  // namespace weft::check
