// RE, second half: replication of data, jobs that lose a server, and services during failures and upgrades.
#include <fmt/format.h>

#include <algorithm>

#include "check/core/rule_tools.h"
#include "check/failures/failure_analysis.h"
#include "check/rules/resilience.h"

namespace weft::check {
namespace {

// Reported if more than this share of time is lost to failures and checkpoints, and this much more than at the best
// interval.
constexpr double kWasteAllowed = 0.10;
constexpr double kWorseAllowed = 0.05;

template <class Visit>
void each_volume(const CheckInput& input, model::VolumePurpose purpose, Visit visit) {
  for (const model::StorageSpec& system : *input.spec().storage) {
    for (const model::VolumeSpec& volume : *system.volumes) {
      if (*volume.purpose == purpose) visit(system, volume);
    }
  }
}

void check_storage_controllers(const CheckInput& input, Report& report) {
  for (const StorageAnalysis& storage : input.failures().storage()) {
    if (storage.controllers != 1) continue;
    report.at(storage.system->pool, storage.system->place, storage.system->name->text,
              fmt::format("servers of storage system `{}` have one controller: its failure stops 1 of {} servers",
                          storage.system->name->text, storage.group->count));
  }
}

void check_storage_racks(const CheckInput& input, Report& report) {
  for (const StorageAnalysis& storage : input.failures().storage()) {
    if (storage.racks != 1) continue;
    report.at(storage.system->pool, storage.system->place, storage.system->name->text,
              fmt::format("all {} servers of storage system `{}` are in rack `{}`", storage.group->count,
                          storage.system->name->text, input.cluster().rack(storage.worst_rack).name));
  }
}

void check_checkpoint_copies(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::checkpoint, [&](const model::StorageSpec&, const model::VolumeSpec& volume) {
    if (*volume.replicas > 1 || volume.replicate_to.has_value()) return;
    report.at(volume.name, volume.place, volume.name->text,
              fmt::format("checkpoint volume `{}` has no second copy", volume.name->text));
  });
}

void check_checkpoint_copy_system(const CheckInput& input, Report& report) {
  each_volume(
      input, model::VolumePurpose::checkpoint, [&](const model::StorageSpec& system, const model::VolumeSpec& volume) {
        if (*volume.replicas < 2 || volume.replicate_to.has_value()) return;
        report.at(
            volume.replicas, volume.place, volume.name->text,
            fmt::format("both copies of checkpoint volume `{}` are on `{}`", volume.name->text, system.name->text));
      });
}

void check_copy_servers(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : *input.spec().storage) {
    for (const model::VolumeSpec& volume : *system.volumes) {
      if (!volume.replicate_to.has_value()) continue;
      const StorageAnalysis* here = input.failures().storage_named(system.name->text);
      const StorageAnalysis* there = input.failures().storage_named(*volume.replicate_to);
      if (here == nullptr || there == nullptr || here->group != there->group) continue;
      report.at(volume.replicate_to, volume.place, volume.name->text,
                fmt::format("`{}` and its copy on `{}` are on the same servers (pool `{}`)", volume.name->text,
                            *volume.replicate_to, here->group->name));
    }
  }
}

void check_dataset_snapshots(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::dataset, [&](const model::StorageSpec&, const model::VolumeSpec& volume) {
    if (volume.snapshots.has_value()) return;
    report.at(volume.name, volume.place, volume.name->text,
              fmt::format("dataset volume `{}` has no snapshots", volume.name->text));
  });
}

void check_dataset_copies(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::dataset,
              [&](const model::StorageSpec& system, const model::VolumeSpec& volume) {
                if (volume.replicate_to.has_value()) return;
                report.at(volume.name, volume.place, volume.name->text,
                          fmt::format("dataset volume `{}` is only on `{}`", volume.name->text, system.name->text));
              });
}

void check_checkpoint_system(const CheckInput& input, Report& report) {
  for (const model::StorageSpec& system : *input.spec().storage) {
    const model::VolumeSpec* data = nullptr;
    const model::VolumeSpec* checkpoint = nullptr;
    for (const model::VolumeSpec& volume : *system.volumes) {
      if (*volume.purpose == model::VolumePurpose::dataset) data = &volume;
      if (*volume.purpose == model::VolumePurpose::checkpoint) checkpoint = &volume;
    }
    if (data == nullptr || checkpoint == nullptr) continue;
    report.at(checkpoint->name, checkpoint->place, checkpoint->name->text,
              fmt::format("checkpoints (`{}`) are written to `{}`, which also serves `{}`", checkpoint->name->text,
                          system.name->text, data->name->text));
  }
}

void check_spare_servers(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : *input.spec().pools) {
    if (*pool.role != model::PoolRole::training || *pool.count < 2 || *pool.spares > 0) continue;
    report.at(pool.spares, pool.place, pool.name->text,
              fmt::format("no spare server among {} of pool `{}`; expect {:.1f} failures per week at published rates",
                          *pool.count, pool.name->text, 7.0 * kFailuresPerNodeDay * static_cast<double>(*pool.count)));
  }
}

bool has_training_pool(const CheckInput& input) {
  const auto& pools = *input.spec().pools;
  return std::any_of(pools.begin(), pools.end(),
                     [](const model::PoolSpec& p) { return *p.role == model::PoolRole::training; });
}

void check_elastic_training(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.elastic || !has_training_pool(input)) return;
  report.at(workload.elastic, section(input, workload.place), "workload", "jobs end when one of their servers fails");
}

void check_job_restarts(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.max_restarts > 0 || !has_training_pool(input)) return;
  report.at(workload.max_restarts, section(input, workload.place), "workload",
            "`max_restarts` is 0: jobs are not restarted");
}

void check_checkpoint_interval(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  std::int64_t nodes = 0;
  for (const model::PoolSpec& pool : *input.spec().pools) {
    if (*pool.role == model::PoolRole::training) nodes = std::max(nodes, *pool.count);
  }
  if (nodes == 0) return;
  const auto seconds = [](Duration d) { return static_cast<double>(d.count()) * 1e-9; };
  const TrainingTime time =
      training_time(nodes, seconds(*workload.checkpoint_interval), seconds(*workload.checkpoint_time));
  if (1.0 - time.ratio <= kWasteAllowed || time.best_ratio - time.ratio <= kWorseAllowed) return;
  report.at(
      workload.checkpoint_interval, section(input, workload.place), "workload",
      fmt::format("a job on all {} servers trains {:.0f}% of the time with a checkpoint of {} every {}, and {:.0f}% "
                  "with one every {:.0f}m ({:.2f} failures per day)",
                  nodes, 100.0 * time.ratio, to_text(*workload.checkpoint_time), to_text(*workload.checkpoint_interval),
                  100.0 * time.best_ratio, time.best_seconds / 60.0, time.failures_per_day));
}

void check_failure_drills(const CheckInput& input, Report& report) {
  const model::OperationsSpec& operations = *input.spec().operations;
  if (*operations.failure_drills) return;
  report.at(operations.failure_drills, section(input, operations.place), "operations",
            "failure recovery has not been tested");
}

void check_service_replicas(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas > 1) continue;
    report.at(service.min_replicas, service.place, service.name->text,
              fmt::format("service `{}` may run as {} replica{}", service.name->text, *service.min_replicas,
                          *service.min_replicas == 1 ? "" : "s"));
  }
}

void check_service_min_available(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas < 2 || *service.min_available > 0) continue;
    report.at(service.min_available, service.place, service.name->text,
              fmt::format("a drain may stop all replicas of service `{}` at once", service.name->text));
  }
}

void check_service_drain(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas < 2 || *service.min_available < *service.min_replicas) continue;
    report.at(
        service.min_available, service.place, service.name->text,
        fmt::format("service `{}` requires {} available replicas and may have only {}: its nodes cannot be drained",
                    service.name->text, *service.min_available, *service.min_replicas));
  }
}

}  // namespace

std::vector<Rule> resilience_data_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "RE019",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "storage servers have one controller",
       .reason = "Its failure, or a firmware update, makes the drives behind it unavailable.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: controller failure, arrays "
                 "with two controllers and failover",
       .fix = "use servers with two controllers, or store another copy of the data on other servers",
       .example = {.file = "pod16.yaml",
                   .from = "{name: vault, role: storage, server: storage-nvme-2u, count: 4",
                   .to = "{name: vault, role: storage, server: object-store-4u, count: 4"},
       .run = check_storage_controllers},
      {.id = "RE020",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a storage system is in one rack",
       .reason = "The loss of that rack stops every job that uses the storage, and may lose the data.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: storage in separate fault domains",
       .fix = "spread the pool over racks (`per_rack`, or `racks: service`)",
       .example = {.file = "pod16.yaml",
                   .from = "{name: flash, role: storage, server: storage-nvme-2u, count: 8, racks: service}",
                   .to = "{name: flash, role: storage, server: storage-nvme-2u, count: 8}"},
       .run = check_storage_racks},
      {.id = "RE021",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "checkpoints have no second copy",
       .reason = "If a checkpoint is lost, the job loses all work since the previous one, or since its start.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: checkpoint loss, two volumes "
                 "on separate arrays",
       .fix = "set `replicate_to` to another system",
       .example = {.file = "pod16.yaml", .from = "replicas: 2, replicate_to: scratch}", .to = "replicas: 1}"},
       .run = check_checkpoint_copies},
      {.id = "RE022",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "both copies of checkpoints are on one system",
       .reason = "A fault of the system itself (firmware, metadata, a full pool) affects both.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: checkpoint loss, separate arrays",
       .fix = "set `replicate_to` to another system",
       .example = {.file = "pod16.yaml", .from = "replicas: 2, replicate_to: scratch}", .to = "replicas: 2}"},
       .run = check_checkpoint_copy_system},
      {.id = "RE023",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a copy is on the same servers",
       .reason = "Two systems on one pool share servers, racks and feeds: one failure affects both.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: off-array replication",
       .fix = "copy to a system on another pool",
       .example = {.file = "pod16.yaml", .from = "    pool: vault\n", .to = "    pool: flash\n"},
       .run = check_copy_servers},
      {.id = "RE024",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a dataset has no snapshots",
       .reason = "Corruption that is found a day later has overwritten the only good copy.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: training data corruption, "
                 "snapshots every 4 h",
       .fix = "set `snapshots: 4h`",
       .example = {.file = "pod16.yaml", .from = "read_only: true, snapshots: 4h, ", .to = "read_only: true, "},
       .run = check_dataset_snapshots},
      {.id = "RE025",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a dataset is on one system only",
       .reason = "Snapshots are lost together with the array.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: training data corruption, "
                 "off-array replication",
       .fix = "set `replicate_to`",
       .example = {.file = "pod16.yaml", .from = "snapshots: 4h, replicate_to: archive}", .to = "snapshots: 4h}"},
       .run = check_dataset_copies},
      {.id = "RE026",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "checkpoints share a system with training data",
       .reason = "All ranks write at the same time; reads of every other job are delayed, and their GPUs are idle.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Storage Resiliency Requirements: separate paths "
                 "and volumes for training data and checkpoints",
       .fix = "put checkpoints on another system",
       .example = {.file = "pod16.yaml",
                   .from = "snapshots: 4h, replicate_to: archive}",
                   .to = "snapshots: 4h, replicate_to: archive}\n"
                         "      - {name: states, purpose: checkpoint, size: 10TB, replicas: 2, replicate_to: archive}"},
       .run = check_checkpoint_system},
      {.id = "RE027",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a pool has no spare server",
       .reason = "A job that needs every server waits hours or days for a repair when one fails.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: full node failure, "
                 "reschedule on a spare; Delta study (SC 2025): 5 % over-provisioning",
       .fix = "set `spares` of the pool",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 0\n"},
       .run = check_spare_servers},
      {.id = "RE028",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jobs are not elastic",
       .reason =
           "One GPU with an ECC error ends a job of hundreds of GPUs, and the rest are idle until it is requeued.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), training job resiliency: elastic launch with a "
                 "range of nodes",
       .fix = "set `workload.elastic: true`",
       .example = {.file = "pod16.yaml", .from = "  elastic: true\n", .to = "  elastic: false\n"},
       .run = check_elastic_training},
      {.id = "RE029",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jobs are not restarted",
       .reason = "Most interruptions are resolved by a restart from the last checkpoint; without restarts this is "
                 "manual work.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), training job resiliency: max_restarts 3; Llama "
                 "3 (2024): 419 unexpected interruptions in 54 days",
       .fix = "set `workload.max_restarts: 3`",
       .example = {.file = "pod16.yaml", .from = "  elastic: true\n", .to = "  elastic: true\n  max_restarts: 0\n"},
       .run = check_job_restarts},
      {.id = "RE030",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the checkpoint interval wastes training time",
       .reason = "If the interval is too long, each failure loses much work; if it is too short, checkpoints take too "
                 "much time. The optimum follows from the failure rate and the time per checkpoint.",
       .source = "Kokolis et al., HPCA 2025: 6.5 failures per 1000 node-days, E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + "
                 "w/dt), u0 taken as 5 min",
       .fix = "set `workload.checkpoint_interval` near the optimum",
       .example = {.file = "pod16.yaml", .from = "checkpoint_interval: 30m", .to = "checkpoint_interval: 5m"},
       .run = check_checkpoint_interval},
      {.id = "RE031",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "failure recovery has not been tested",
       .reason = "Untested redundancy often does not work: a typical defect is a second path that is miscabled.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: kill a switch, a node and a "
                 "controller, and verify recovery",
       .fix = "run failure drills and set `operations.failure_drills: true`",
       .example = {.file = "pod16.yaml", .from = "  failure_drills: true\n", .to = "  failure_drills: false\n"},
       .run = check_failure_drills},
      {.id = "RE032",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service may run as one replica",
       .reason = "Its crash, or a drain of its node, is an outage.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: several replicas",
       .fix = "set `min_replicas: 2` or more",
       .example = {.file = "pod16.yaml", .from = "min_replicas: 4", .to = "min_replicas: 1"},
       .run = check_service_replicas},
      {.id = "RE033",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service has no minimum of available replicas",
       .reason = "Without a minimum, an upgrade may drain the nodes of all replicas at the same time.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: PodDisruptionBudget",
       .fix = "set `min_available` to 1 or more",
       .example = {.file = "pod16.yaml", .from = "min_available: 2", .to = "min_available: 0"},
       .run = check_service_min_available},
      {.id = "RE034",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service blocks every drain",
       .reason = "A disruption budget that allows no disruption prevents nodes from being drained: upgrades hang.",
       .source = "Kubernetes documentation, disruption budgets",
       .fix = "set `min_available` below `min_replicas`",
       .example = {.file = "pod16.yaml", .from = "min_available: 2", .to = "min_available: 4"},
       .run = check_service_drain},
  };
}

}  // namespace weft::check
