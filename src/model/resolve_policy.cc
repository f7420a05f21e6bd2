// Resolves storage systems, control plane, priorities, partitions, tenants and services. See resolver.h.
#include <algorithm>

#include "model/resolver.h"

namespace weft::model {
namespace {

bool is_dns_label(std::string_view label) {
  const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !label.empty() && label.size() <= 63 && letter_or_digit(label.front()) && letter_or_digit(label.back()) &&
         std::all_of(label.begin(), label.end(), [&](char c) { return letter_or_digit(c) || c == '-'; });
}

bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_dns_label(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

// Names that the CSI drivers register, from their own manifests.
std::string usual_provisioner(StorageKind kind, const std::string& domain) {
  switch (kind) {
    case StorageKind::lustre:
      return "lustre-csi.hpe.com";
    case StorageKind::gpfs:
      return "spectrumscale.csi.ibm.com";
    case StorageKind::beegfs:
      return "beegfs.csi.netapp.com";
    case StorageKind::weka:
      return "csi.weka.io";
    case StorageKind::vast:
      return "csi.vastdata.com";
    case StorageKind::nfs:
      return "nfs.csi.k8s.io";
    case StorageKind::nvmeof:
    case StorageKind::object:
      break;
  }
  return "csi." + domain;
}

}  // namespace

void Resolver::dns_name(const Sourced<std::string>& given) {
  if (is_dns_name(given.value)) return;
  diagnostics_.error(given.place, fmt::format("`{}` is not a DNS name", given.value),
                     "use lower-case letters, digits and hyphens, in dot-separated labels of at most 63 characters",
                     given->size());
}

void Resolver::plain_reference(const Sourced<std::string>& given, const char* what) {
  const auto plain = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\'' && c != '`' && c != '\\'; };
  if (!given.value.empty() && std::all_of(given.value.begin(), given.value.end(), plain)) return;
  diagnostics_.error(given.place, fmt::format("`{}` is not {}", given.value, what),
                     "remove spaces, quotes and backslashes", given->size());
}

void Resolver::storage() {
  unique_names(spec_.storage.value, "storage system");
  std::set<std::string> volumes;
  for (StorageSpec& system : spec_.storage.value) {
    system.provisioner.derive(usual_provisioner(system.kind.value, spec_.site->domain.value));
    dns_name(system.provisioner);
    if (const PoolSpec* pool = find_pool(system.pool)) {
      if (pool->role.value != PoolRole::storage && system.tier.value != StorageTier::hot) {
        diagnostics_.error(
            system.pool.place,
            fmt::format("pool `{}` is for {}, not for storage", system.pool.value, text_of(pool->role.value)),
            "only a hot tier (node-local drives) can run on other pools", system.pool->size());
      }
      const ServerModel* server = catalog_.server(pool->server.value);
      if (server != nullptr && pool->count.has_value()) {
        const std::int64_t servers = pool->count.value;
        system.targets.derive(servers);
        system.read.derive(ByteRate{server->read->per_second * servers});
        system.write.derive(ByteRate{server->write->per_second * servers});
        system.capacity.derive(
            (system.tier.value == StorageTier::hot ? server->local_nvme.value : server->capacity.value) * servers);
      }
      if (system.targets.has_value()) {
        system.stripe_count.derive(std::min(system.stripe_count.value, system.targets.value));
      }
      if (system.stripe_count.value > system.targets.value && system.targets.has_value() &&
          system.stripe_count.from_file()) {
        diagnostics_.error(system.stripe_count.place, fmt::format("a stripe over {} targets exceeds the {} available",
                                                                  system.stripe_count.value, system.targets.value));
      }
    }
    for (const VolumeSpec& volume : system.volumes.value) {
      if (!volumes.insert(volume.name->text).second) {
        diagnostics_.error(volume.name.place, fmt::format("volume `{}` is defined twice", volume.name->text), {},
                           volume.name->text.size());
      }
      more_than_nothing(volume.size, "the size of a volume must be above 0");
      more_than_nothing(volume.snapshots, "the snapshot interval must be above 0");
      if (!volume.replicate_to.has_value()) continue;
      bool found = false;
      for (const StorageSpec& other : spec_.storage.value)
        found = found || other.name->text == volume.replicate_to.value;
      if (!found) {
        unknown_name(
            volume.replicate_to, "storage system", spec_.storage.value,
            [](const StorageSpec& s) { return std::string_view(s.name->text); }, diagnostics_);
      } else if (volume.replicate_to.value == system.name->text) {
        diagnostics_.error(volume.replicate_to.place, "a replica must be on another storage system", {},
                           volume.replicate_to->size());
      }
    }
  }
}

void Resolver::control_plane() {
  ControlPlaneSpec& control = spec_.control_plane.value;
  control.asn.derive(4'203'000'000);
  control.pod_subnet.derive(Ipv4Prefix{Ipv4{(172U << 24U) | (16U << 16U)}, 12});
  control.service_subnet.derive(Ipv4Prefix{Ipv4{(10U << 24U) | (96U << 16U)}, 12});
  spec_.security.value.registry.derive("registry." + spec_.site->domain.value);
  plain_reference(spec_.security->registry, "the name of a registry");
  if (!control.pool.has_value()) {
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.role.value == PoolRole::infrastructure) {
        control.pool.derive(pool.name->text);
        break;
      }
    }
  }
  if (control.pool.has_value()) {
    const PoolSpec* pool = find_pool(control.pool);
    if (pool != nullptr && pool->count.has_value()) {
      if (!control.etcd_members.from_file() && pool->count.value < 3) {
        control.etcd_members.derive(1);
      } else if (control.etcd_members.value > pool->count.value) {
        diagnostics_.error(control.etcd_members.place.known() ? control.etcd_members.place : control.pool.place,
                           fmt::format("{} etcd members on {} servers of pool `{}`", control.etcd_members.value,
                                       pool->count.value, control.pool.value));
      }
    }
  }
  if (control.etcd_members.value % 2 == 0) {
    diagnostics_.error(control.etcd_members.place,
                       fmt::format("{} etcd members tolerate no more failures than {}", control.etcd_members.value,
                                   control.etcd_members.value - 1),
                       "use an odd number");
  }
  control.allocator.derive(control.kind.value == ControlKind::kubernetes ? Allocator::kubernetes : Allocator::slurm);
}

void Resolver::scheduling() {
  const WorkloadSpec& workload = spec_.workload.value;
  if (workload.training_percent.from_file() && workload.inference_percent.from_file() &&
      workload.training_percent.value + workload.inference_percent.value > 100) {
    diagnostics_.error(workload.inference_percent.place,
                       fmt::format("training and inference add up to {} percent",
                                   workload.training_percent.value + workload.inference_percent.value));
  }
  more_than_nothing(workload.checkpoint, "the checkpoint size must be above 0");
  more_than_nothing(workload.checkpoint_time, "the checkpoint write time must be above 0");
  more_than_nothing(workload.checkpoint_interval, "the checkpoint interval must be above 0");
  if (!spec_.priorities.from_file()) {
    const auto make = [](const char* name, std::int64_t value, bool preemptible) {
      PrioritySpec priority;
      priority.name = Sourced<Name>(Name{name});
      priority.value = Sourced<std::int64_t>(value);
      priority.preemptible = Sourced<bool>(preemptible);
      return priority;
    };
    // Inference is never preempted; batch is preempted first.
    spec_.priorities.derive({make("ai-inference-critical", 1'000'000, false), make("ai-training-high", 500'000, true),
                             make("ai-batch-low", 100'000, true)});
  }
  unique_names(spec_.priorities.value, "priority");
  if (!spec_.partitions.from_file()) {
    std::vector<PartitionSpec> partitions;
    for (const PoolSpec& pool : spec_.pools.value) {
      if (!gpu_role(pool.role.value) && pool.role.value != PoolRole::cpu) continue;
      PartitionSpec partition;
      partition.name = Sourced<Name>(Name{pool.name->text});
      partition.pools = Sourced<std::vector<std::string>>({pool.name->text});
      partitions.push_back(std::move(partition));
    }
    spec_.partitions.derive(std::move(partitions));
  }
  unique_names(spec_.partitions.value, "partition");
  for (const PartitionSpec& partition : spec_.partitions.value) {
    if (partition.pools->empty()) diagnostics_.error(partition.pools.place, "a partition must have at least one pool");
    for (const std::string& name : partition.pools.value) {
      Sourced<std::string> given(name);
      given.place = partition.pools.place;
      find_pool(given);
    }
    more_than_nothing(partition.time_limit, "the time limit must be above 0");
    check_priority(partition.priority);
  }
  unique_names(spec_.tenants.value, "tenant");
  for (const TenantSpec& tenant : spec_.tenants.value) {
    for (const std::string& name : tenant.partitions.value) {
      bool found = false;
      for (const PartitionSpec& partition : spec_.partitions.value) found = found || partition.name->text == name;
      if (found) continue;
      Sourced<std::string> given(name);
      given.place = tenant.partitions.place;
      unknown_name(
          given, "partition", spec_.partitions.value,
          [](const PartitionSpec& p) { return std::string_view(p.name->text); }, diagnostics_);
    }
    check_priority(tenant.priority);
  }
}

void Resolver::services() {
  unique_names(spec_.services.value, "service");
  for (ServiceSpec& service : spec_.services.value) {
    service.host.derive(service.name->text + "." + spec_.site->domain.value);
    dns_name(service.host);
    service.image.derive(spec_.security->registry.value + "/vllm/vllm-openai:v0.11.0");
    plain_reference(service.image, "a container image");
    const PoolSpec* pool = find_pool(service.pool);
    if (service.tenant.has_value()) {
      bool found = false;
      for (const TenantSpec& tenant : spec_.tenants.value) found = found || tenant.name->text == service.tenant.value;
      if (!found) {
        unknown_name(
            service.tenant, "tenant", spec_.tenants.value,
            [](const TenantSpec& t) { return std::string_view(t.name->text); }, diagnostics_);
      }
    }
    check_priority(service.priority);
    if (service.gpus.has_value() && service.mig.has_value()) {
      diagnostics_.error(service.mig.place, "set `gpus` or `mig`, not both");
    }
    if (!service.mig.has_value()) service.gpus.derive(1);
    if (service.max_replicas.value < service.min_replicas.value) {
      diagnostics_.error(service.max_replicas.place.known() ? service.max_replicas.place : service.min_replicas.place,
                         fmt::format("max_replicas ({}) is below min_replicas ({})", service.max_replicas.value,
                                     service.min_replicas.value));
    }
    if (pool == nullptr || !service.mig.has_value()) continue;
    bool offered = false;
    for (const auto& [profile, count] : pool->mig.value) offered = offered || profile == service.mig.value;
    if (!offered) {
      diagnostics_.error(service.mig.place,
                         fmt::format("pool `{}` has no MIG profile `{}`", pool->name->text, service.mig.value),
                         "add it under the pool's `mig`", service.mig->size());
    }
  }
}

void Resolver::suppressions() {
  const auto is_date = [](std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
    int parts[3] = {0, 0, 0};
    int part = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (i == 4 || i == 7) {
        ++part;
      } else if (text[i] < '0' || text[i] > '9') {
        return false;
      } else {
        parts[part] = parts[part] * 10 + (text[i] - '0');
      }
    }
    const bool leap = (parts[0] % 4 == 0 && parts[0] % 100 != 0) || parts[0] % 400 == 0;
    static constexpr int kDays[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (parts[1] < 1 || parts[1] > 12) return false;
    return parts[2] >= 1 && parts[2] <= kDays[parts[1] - 1] + (parts[1] == 2 && leap ? 1 : 0);
  };
  for (const SuppressionSpec& suppression : spec_.suppress.value) {
    if (suppression.until.has_value() && !is_date(suppression.until.value)) {
      diagnostics_.error(suppression.until.place, fmt::format("`{}` is not a date", suppression.until.value),
                         "write it as YYYY-MM-DD, such as 2027-03-31", suppression.until->size());
    }
    if (suppression.reason.has_value() && suppression.reason->find_first_not_of(" \t\n") == std::string::npos) {
      diagnostics_.error(suppression.reason.place, "a suppression needs a reason");
    }
  }
  const std::string& mode = spec_.security->munge_key_mode.value;
  if (mode.size() < 3 || mode.size() > 4 || mode.find_first_not_of("01234567") != std::string::npos) {
    diagnostics_.error(spec_.security->munge_key_mode.place, fmt::format("`{}` is not a file mode", mode),
                       "write it in octal, such as \"0400\"");
  }
}

}  // namespace weft::model
