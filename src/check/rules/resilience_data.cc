// RE, second half: copies of data, jobs that lose a server, and services during failures and upgrades.
#include <fmt/format.h>

#include <algorithm>

#include "check/core/rule_tools.h"
#include "check/failures/failure_analysis.h"
#include "check/rules/resilience.h"

namespace weft::check {
namespace {

// More than this part of the time lost to failures and checkpoints, and this much worse than it could be, is worth a
// word.
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
              fmt::format("servers of storage system `{}` have one controller: its loss takes 1 of {} servers",
                          storage.system->name->text, storage.group->count));
  }
}

void check_storage_racks(const CheckInput& input, Report& report) {
  for (const StorageAnalysis& storage : input.failures().storage()) {
    if (storage.racks != 1) continue;
    report.at(storage.system->pool, storage.system->place, storage.system->name->text,
              fmt::format("all {} servers of storage system `{}` stand in rack `{}`", storage.group->count,
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
                          fmt::format("dataset volume `{}` is on `{}` alone", volume.name->text, system.name->text));
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
              fmt::format("checkpoints (`{}`) are written to `{}`, which serves `{}`", checkpoint->name->text,
                          system.name->text, data->name->text));
  }
}

void check_spare_servers(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : *input.spec().pools) {
    if (*pool.role != model::PoolRole::training || *pool.count < 2 || *pool.spares > 0) continue;
    report.at(pool.spares, pool.place, pool.name->text,
              fmt::format("no spare among {} servers of pool `{}`, which lose {:.1f} a week at published rates",
                          *pool.count, pool.name->text, 7.0 * kFailuresPerNodeDay * static_cast<double>(*pool.count)));
  }
}

bool trains(const CheckInput& input) {
  const auto& pools = *input.spec().pools;
  return std::any_of(pools.begin(), pools.end(),
                     [](const model::PoolSpec& p) { return *p.role == model::PoolRole::training; });
}

void check_elastic_training(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.elastic || !trains(input)) return;
  report.at(workload.elastic, section(input, workload.place), "workload", "jobs end when one of their servers does");
}

void check_job_restarts(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.max_restarts > 0 || !trains(input)) return;
  report.at(workload.max_restarts, section(input, workload.place), "workload", "a job may not restart even once");
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
                  "with one every {:.0f}m ({:.2f} failures a day)",
                  nodes, 100.0 * time.ratio, to_text(*workload.checkpoint_time), to_text(*workload.checkpoint_interval),
                  100.0 * time.best_ratio, time.best_seconds / 60.0, time.failures_per_day));
}

void check_failure_drills(const CheckInput& input, Report& report) {
  const model::OperationsSpec& operations = *input.spec().operations;
  if (*operations.failure_drills) return;
  report.at(operations.failure_drills, section(input, operations.place), "operations",
            "failures were never tried on purpose");
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
              fmt::format("a drain may take every replica of service `{}` at once", service.name->text));
  }
}

void check_service_drain(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas < 2 || *service.min_available < *service.min_replicas) continue;
    report.at(
        service.min_available, service.place, service.name->text,
        fmt::format("service `{}` keeps {} replicas available and may have only {}: its nodes can never be drained",
                    service.name->text, *service.min_available, *service.min_replicas));
  }
}

}  // namespace

std::vector<Rule> resilience_data_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "RE019",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "storage servers with one controller",
       .reason = "Its failure, or an update of its firmware, takes the drives behind it away until it is back.",
       .source = "resiliency matrix: controller failure, arrays with two controllers that fail over",
       .fix = "use servers with two controllers, or keep another copy of the data on other servers",
       .example = {.file = "pod16.yaml",
                   .from = "{name: vault, role: storage, server: storage-nvme-2u, count: 4",
                   .to = "{name: vault, role: storage, server: object-store-4u, count: 4"},
       .run = check_storage_controllers},
      {.id = "RE020",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a storage system in one rack",
       .reason = "The loss of that rack stops every job that reads or writes there, and may lose the data.",
       .source = "resiliency matrix: storage in separate fault domains",
       .fix = "spread the pool over racks (`per_rack`, or `racks: service`)",
       .example = {.file = "pod16.yaml",
                   .from = "{name: flash, role: storage, server: storage-nvme-2u, count: 8, racks: service}",
                   .to = "{name: flash, role: storage, server: storage-nvme-2u, count: 8}"},
       .run = check_storage_racks},
      {.id = "RE021",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "checkpoints without a second copy",
       .reason = "A lost checkpoint is the lost work of the whole job since the one before, or since the start.",
       .source = "resiliency matrix: checkpoint loss, two volumes on separate arrays",
       .fix = "set `replicate_to` to another system",
       .example = {.file = "pod16.yaml", .from = "replicas: 2, replicate_to: scratch}", .to = "replicas: 1}"},
       .run = check_checkpoint_copies},
      {.id = "RE022",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "both copies of checkpoints are on one system",
       .reason = "A fault of the system itself (firmware, metadata, a full pool) takes both.",
       .source = "resiliency matrix: checkpoint loss, separate arrays",
       .fix = "set `replicate_to` to another system",
       .example = {.file = "pod16.yaml", .from = "replicas: 2, replicate_to: scratch}", .to = "replicas: 2}"},
       .run = check_checkpoint_copy_system},
      {.id = "RE023",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a copy on the same servers",
       .reason = "Two systems on one pool share servers, racks and feeds: what takes one takes the other.",
       .source = "resiliency matrix: off-array replication",
       .fix = "copy to a system on another pool",
       .example = {.file = "pod16.yaml", .from = "    pool: vault\n", .to = "    pool: flash\n"},
       .run = check_copy_servers},
      {.id = "RE024",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a dataset without snapshots",
       .reason = "Corruption that is noticed a day later has replaced the only good state.",
       .source = "resiliency matrix: training data corruption, snapshots every 4 h",
       .fix = "set `snapshots: 4h`",
       .example = {.file = "pod16.yaml", .from = "read_only: true, snapshots: 4h, ", .to = "read_only: true, "},
       .run = check_dataset_snapshots},
      {.id = "RE025",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a dataset on one system only",
       .reason = "Snapshots die with the array that holds them.",
       .source = "resiliency matrix: training data corruption, off-array replication",
       .fix = "set `replicate_to`",
       .example = {.file = "pod16.yaml", .from = "snapshots: 4h, replicate_to: archive}", .to = "snapshots: 4h}"},
       .run = check_dataset_copies},
      {.id = "RE026",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "checkpoints are written where data is read",
       .reason = "All ranks write at the same moment; reads of every other job wait behind them, and GPUs with them.",
       .source = "storage resiliency requirements: separate paths and volumes for training data and checkpoints",
       .fix = "put checkpoints on another system",
       .example = {.file = "pod16.yaml",
                   .from = "snapshots: 4h, replicate_to: archive}",
                   .to = "snapshots: 4h, replicate_to: archive}\n"
                         "      - {name: states, purpose: checkpoint, size: 10TB, replicas: 2, replicate_to: archive}"},
       .run = check_checkpoint_system},
      {.id = "RE027",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "no spare server",
       .reason = "A job that needs every server waits for a repair of hours or days when one fails.",
       .source =
           "resiliency matrix: full node failure, reschedule on a spare; Delta study (SC 2025): 5 % over-provisioning",
       .fix = "set `spares` of the pool",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 0\n"},
       .run = check_spare_servers},
      {.id = "RE028",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jobs are not elastic",
       .reason = "One GPU with an ECC error ends a job of hundreds, and the rest stands idle until it is queued again.",
       .source = "training job resiliency: elastic launch with a range of nodes",
       .fix = "set `workload.elastic: true`",
       .example = {.file = "pod16.yaml", .from = "  elastic: true\n", .to = "  elastic: false\n"},
       .run = check_elastic_training},
      {.id = "RE029",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jobs may not restart",
       .reason =
           "Most interruptions are cured by starting again from the last checkpoint; without that a person has to.",
       .source = "training job resiliency: max_restarts 3; Llama 3 (2024): 419 unexpected interruptions in 54 days",
       .fix = "set `workload.max_restarts: 3`",
       .example = {.file = "pod16.yaml", .from = "  elastic: true\n", .to = "  elastic: true\n  max_restarts: 0\n"},
       .run = check_job_restarts},
      {.id = "RE030",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the checkpoint interval wastes training time",
       .reason = "Too long, and each failure throws much work away; too short, and writing takes the time. The best "
                 "interval follows from the failure rate and the time a checkpoint takes.",
       .source = "Kokolis et al., HPCA 2025: 6.5 failures per 1000 node-days, E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + "
                 "w/dt), u0 taken as 5 min",
       .fix = "set `workload.checkpoint_interval` near the best one",
       .example = {.file = "pod16.yaml", .from = "checkpoint_interval: 30m", .to = "checkpoint_interval: 5m"},
       .run = check_checkpoint_interval},
      {.id = "RE031",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "failures were never drilled",
       .reason = "Redundancy that was never used is a guess: the second path is often the one that was miscabled.",
       .source = "resiliency matrix, each row: kill a switch, a node and a controller, and verify recovery",
       .fix = "run drills and set `operations.failure_drills: true`",
       .example = {.file = "pod16.yaml", .from = "  failure_drills: true\n", .to = "  failure_drills: false\n"},
       .run = check_failure_drills},
      {.id = "RE032",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service of one replica",
       .reason = "Its crash, or the drain of its node, is an outage.",
       .source = "resiliency matrix: several replicas",
       .fix = "set `min_replicas: 2` or more",
       .example = {.file = "pod16.yaml", .from = "min_replicas: 4", .to = "min_replicas: 1"},
       .run = check_service_replicas},
      {.id = "RE033",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "nothing of a service needs to stay up",
       .reason = "Without a minimum, an upgrade may drain the nodes of all replicas together.",
       .source = "resiliency matrix: PodDisruptionBudget",
       .fix = "set `min_available` to 1 or more",
       .example = {.file = "pod16.yaml", .from = "min_available: 2", .to = "min_available: 0"},
       .run = check_service_min_available},
      {.id = "RE034",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service blocks every drain",
       .reason = "A disruption budget that allows no disruption keeps nodes from being drained: upgrades hang.",
       .source = "Kubernetes documentation, disruption budgets",
       .fix = "set `min_available` below `min_replicas`",
       .example = {.file = "pod16.yaml", .from = "min_available: 2", .to = "min_available: 4"},
       .run = check_service_drain},
  };
}

}  // namespace weft::check
