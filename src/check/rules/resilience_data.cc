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

void one_controller(const CheckInput& input, Report& report) {
  for (const StorageAnalysis& storage : input.failures().storage()) {
    if (storage.controllers != 1) continue;
    report.at(storage.system->pool, storage.system->place, storage.system->name->text,
              fmt::format("servers of storage system `{}` have one controller: its loss takes 1 of {} servers",
                          storage.system->name->text, storage.group->count));
  }
}

void storage_in_one_rack(const CheckInput& input, Report& report) {
  for (const StorageAnalysis& storage : input.failures().storage()) {
    if (storage.racks != 1) continue;
    report.at(storage.system->pool, storage.system->place, storage.system->name->text,
              fmt::format("all {} servers of storage system `{}` stand in rack `{}`", storage.group->count,
                          storage.system->name->text, input.cluster().rack(storage.worst_rack).name));
  }
}

void no_checkpoint_copy(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::checkpoint, [&](const model::StorageSpec&, const model::VolumeSpec& volume) {
    if (*volume.replicas > 1 || volume.replicate_to.has_value()) return;
    report.at(volume.name, volume.place, volume.name->text,
              fmt::format("checkpoint volume `{}` has no second copy", volume.name->text));
  });
}

void checkpoint_copy_beside(const CheckInput& input, Report& report) {
  each_volume(
      input, model::VolumePurpose::checkpoint, [&](const model::StorageSpec& system, const model::VolumeSpec& volume) {
        if (*volume.replicas < 2 || volume.replicate_to.has_value()) return;
        report.at(
            volume.replicas, volume.place, volume.name->text,
            fmt::format("both copies of checkpoint volume `{}` are on `{}`", volume.name->text, system.name->text));
      });
}

void copy_on_same_servers(const CheckInput& input, Report& report) {
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

void no_snapshots(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::dataset, [&](const model::StorageSpec&, const model::VolumeSpec& volume) {
    if (volume.snapshots.has_value()) return;
    report.at(volume.name, volume.place, volume.name->text,
              fmt::format("dataset volume `{}` has no snapshots", volume.name->text));
  });
}

void no_dataset_copy(const CheckInput& input, Report& report) {
  each_volume(input, model::VolumePurpose::dataset,
              [&](const model::StorageSpec& system, const model::VolumeSpec& volume) {
                if (volume.replicate_to.has_value()) return;
                report.at(volume.name, volume.place, volume.name->text,
                          fmt::format("dataset volume `{}` is on `{}` alone", volume.name->text, system.name->text));
              });
}

void checkpoints_beside_data(const CheckInput& input, Report& report) {
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

void no_spares(const CheckInput& input, Report& report) {
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

void not_elastic(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.elastic || !trains(input)) return;
  report.at(workload.elastic, section(input, workload.place), "workload", "jobs end when one of their servers does");
}

void no_restarts(const CheckInput& input, Report& report) {
  const model::WorkloadSpec& workload = *input.spec().workload;
  if (*workload.max_restarts > 0 || !trains(input)) return;
  report.at(workload.max_restarts, section(input, workload.place), "workload", "a job may not restart even once");
}

void wasteful_checkpoints(const CheckInput& input, Report& report) {
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

void no_drills(const CheckInput& input, Report& report) {
  const model::OperationsSpec& operations = *input.spec().operations;
  if (*operations.failure_drills) return;
  report.at(operations.failure_drills, section(input, operations.place), "operations",
            "failures were never tried on purpose");
}

void one_replica(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas > 1) continue;
    report.at(service.min_replicas, service.place, service.name->text,
              fmt::format("service `{}` may run as {} replica{}", service.name->text, *service.min_replicas,
                          *service.min_replicas == 1 ? "" : "s"));
  }
}

void unguarded_upgrade(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : *input.spec().services) {
    if (*service.min_replicas < 2 || *service.min_available > 0) continue;
    report.at(service.min_available, service.place, service.name->text,
              fmt::format("a drain may take every replica of service `{}` at once", service.name->text));
  }
}

void blocked_upgrade(const CheckInput& input, Report& report) {
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
      {"RE019",
       Severity::warning,
       RuleNeeds::design,
       "storage servers with one controller",
       "Its failure, or an update of its firmware, takes the drives behind it away until it is back.",
       "resiliency matrix: controller failure, arrays with two controllers that fail over",
       "use servers with two controllers, or keep another copy of the data on other servers",
       {"pod16.yaml", "{name: vault, role: storage, server: storage-nvme-2u, count: 4",
        "{name: vault, role: storage, server: object-store-4u, count: 4"},
       one_controller},
      {"RE020",
       Severity::warning,
       RuleNeeds::design,
       "a storage system in one rack",
       "The loss of that rack stops every job that reads or writes there, and may lose the data.",
       "resiliency matrix: storage in separate fault domains",
       "spread the pool over racks (`per_rack`, or `racks: service`)",
       {"pod16.yaml", "{name: flash, role: storage, server: storage-nvme-2u, count: 8, racks: service}",
        "{name: flash, role: storage, server: storage-nvme-2u, count: 8}"},
       storage_in_one_rack},
      {"RE021",
       Severity::error,
       RuleNeeds::design,
       "checkpoints without a second copy",
       "A lost checkpoint is the lost work of the whole job since the one before, or since the start.",
       "resiliency matrix: checkpoint loss, two volumes on separate arrays",
       "set `replicate_to` to another system",
       {"pod16.yaml", "replicas: 2, replicate_to: scratch}", "replicas: 1}"},
       no_checkpoint_copy},
      {"RE022",
       Severity::warning,
       RuleNeeds::design,
       "both copies of checkpoints are on one system",
       "A fault of the system itself (firmware, metadata, a full pool) takes both.",
       "resiliency matrix: checkpoint loss, separate arrays",
       "set `replicate_to` to another system",
       {"pod16.yaml", "replicas: 2, replicate_to: scratch}", "replicas: 2}"},
       checkpoint_copy_beside},
      {"RE023",
       Severity::error,
       RuleNeeds::design,
       "a copy on the same servers",
       "Two systems on one pool share servers, racks and feeds: what takes one takes the other.",
       "resiliency matrix: off-array replication",
       "copy to a system on another pool",
       {"pod16.yaml", "    pool: vault\n", "    pool: flash\n"},
       copy_on_same_servers},
      {"RE024",
       Severity::warning,
       RuleNeeds::design,
       "a dataset without snapshots",
       "Corruption that is noticed a day later has replaced the only good state.",
       "resiliency matrix: training data corruption, snapshots every 4 h",
       "set `snapshots: 4h`",
       {"pod16.yaml", "read_only: true, snapshots: 4h, ", "read_only: true, "},
       no_snapshots},
      {"RE025",
       Severity::warning,
       RuleNeeds::design,
       "a dataset on one system only",
       "Snapshots die with the array that holds them.",
       "resiliency matrix: training data corruption, off-array replication",
       "set `replicate_to`",
       {"pod16.yaml", "snapshots: 4h, replicate_to: archive}", "snapshots: 4h}"},
       no_dataset_copy},
      {"RE026",
       Severity::warning,
       RuleNeeds::design,
       "checkpoints are written where data is read",
       "All ranks write at the same moment; reads of every other job wait behind them, and GPUs with them.",
       "storage resiliency requirements: separate paths and volumes for training data and checkpoints",
       "put checkpoints on another system",
       {"pod16.yaml", "snapshots: 4h, replicate_to: archive}",
        "snapshots: 4h, replicate_to: archive}\n"
        "      - {name: states, purpose: checkpoint, size: 10TB, replicas: 2, replicate_to: archive}"},
       checkpoints_beside_data},
      {"RE027",
       Severity::warning,
       RuleNeeds::design,
       "no spare server",
       "A job that needs every server waits for a repair of hours or days when one fails.",
       "resiliency matrix: full node failure, reschedule on a spare; Delta study (SC 2025): 5 % over-provisioning",
       "set `spares` of the pool",
       {"pod16.yaml", "    spares: 1\n", "    spares: 0\n"},
       no_spares},
      {"RE028",
       Severity::warning,
       RuleNeeds::design,
       "jobs are not elastic",
       "One GPU with an ECC error ends a job of hundreds, and the rest stands idle until it is queued again.",
       "training job resiliency: elastic launch with a range of nodes",
       "set `workload.elastic: true`",
       {"pod16.yaml", "  elastic: true\n", "  elastic: false\n"},
       not_elastic},
      {"RE029",
       Severity::warning,
       RuleNeeds::design,
       "jobs may not restart",
       "Most interruptions are cured by starting again from the last checkpoint; without that a person has to.",
       "training job resiliency: max_restarts 3; Llama 3 (2024): 419 unexpected interruptions in 54 days",
       "set `workload.max_restarts: 3`",
       {"pod16.yaml", "  elastic: true\n", "  elastic: true\n  max_restarts: 0\n"},
       no_restarts},
      {"RE030",
       Severity::warning,
       RuleNeeds::design,
       "the checkpoint interval wastes training time",
       "Too long, and each failure throws much work away; too short, and writing takes the time. The best interval "
       "follows from the failure rate and the time a checkpoint takes.",
       "Kokolis et al., HPCA 2025: 6.5 failures per 1000 node-days, "
       "E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + w/dt), u0 taken as 5 min",
       "set `workload.checkpoint_interval` near the best one",
       {"pod16.yaml", "checkpoint_interval: 30m", "checkpoint_interval: 5m"},
       wasteful_checkpoints},
      {"RE031",
       Severity::note,
       RuleNeeds::design,
       "failures were never drilled",
       "Redundancy that was never used is a guess: the second path is often the one that was miscabled.",
       "resiliency matrix, each row: kill a switch, a node and a controller, and verify recovery",
       "run drills and set `operations.failure_drills: true`",
       {"pod16.yaml", "  failure_drills: true\n", "  failure_drills: false\n"},
       no_drills},
      {"RE032",
       Severity::warning,
       RuleNeeds::design,
       "a service of one replica",
       "Its crash, or the drain of its node, is an outage.",
       "resiliency matrix: several replicas",
       "set `min_replicas: 2` or more",
       {"pod16.yaml", "min_replicas: 4", "min_replicas: 1"},
       one_replica},
      {"RE033",
       Severity::warning,
       RuleNeeds::design,
       "nothing of a service needs to stay up",
       "Without a minimum, an upgrade may drain the nodes of all replicas together.",
       "resiliency matrix: PodDisruptionBudget",
       "set `min_available` to 1 or more",
       {"pod16.yaml", "min_available: 2", "min_available: 0"},
       unguarded_upgrade},
      {"RE034",
       Severity::warning,
       RuleNeeds::design,
       "a service blocks every drain",
       "A disruption budget that allows no disruption keeps nodes from being drained: upgrades hang.",
       "Kubernetes documentation, disruption budgets",
       "set `min_available` below `min_replicas`",
       {"pod16.yaml", "min_available: 2", "min_available: 4"},
       blocked_upgrade},
  };
}

}  // namespace weft::check
