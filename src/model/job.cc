// Fills in unset keys of a job file, and checks that the cluster can run the job.
#include "model/job.h"

#include <algorithm>
#include <array>
#include <set>

#include "model/resolver.h"

namespace weft::model {
namespace {

// A pod's host name is the job's name followed by "-worker-" or "-node-0-" and a number; a DNS label has at most 63
// bytes.
constexpr std::size_t kMaxJobName = 48;
constexpr std::string_view kImage = "/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime";

// RFC 1035 label: Kubernetes requires Service names to begin with a letter.
bool is_job_name(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto plain = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kMaxJobName && letter(name.front()) && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), plain);
}

// POSIX.1-2017, 8.1: valid name of an environment variable.
bool is_variable(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
}

// An absolute path without "." and "..", and without the separators of mount options.
bool is_plain_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || has_control(path)) return false;
  if (path.find_first_of(":,") != std::string_view::npos || path.back() == '/') return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view part = path.substr(at + 1, end - at - 1);
    if (part.empty() || part == "." || part == "..") return false;
    at = end;
  }
  return true;
}

const char* usual_path(VolumePurpose purpose) {
  switch (purpose) {
    case VolumePurpose::dataset:
      return "/data";
    case VolumePurpose::checkpoint:
      return "/checkpoints";
    case VolumePurpose::scratch:
      return "/scratch";
    case VolumePurpose::home:
      break;
  }
  return "/home";
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class JobResolver {
 public:
  JobResolver(JobSpec& job, const Cluster& cluster, Diagnostics& diagnostics, const std::vector<std::string>* tenants)
      : job_(job), cluster_(cluster), spec_(cluster.spec()), diagnostics_(diagnostics) {
    for (const TenantSpec& tenant : spec_.tenants.value) {
      if (tenants == nullptr || contains(*tenants, tenant.name->text)) tenants_.push_back(tenant);
    }
  }

  void run() {
    name();
    pool();
    partition();
    tenant();
    size();
    priority();
    time();
    program();
    environment();
    mounts();
  }

 private:
  void error(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1) {
    diagnostics_.error(place.known() ? place : job_.place, std::move(message), std::move(hint), length);
  }
  // The list item that a key refers to; reports an unknown name.
  template <class Items>
  auto find(const Sourced<std::string>& given, const char* what, const Items& items) -> const
      typename Items::value_type* {
    for (const auto& item : items) {
      if (item.name->text == given.value) return &item;
    }
    unknown_name(
        given, what, items, [](const auto& item) { return std::string_view(item.name->text); }, diagnostics_);
    return nullptr;
  }

  void name() {
    if (is_job_name(job_.name->text)) return;
    error(job_.name.place, fmt::format("`{}` is not a valid job name", job_.name->text),
          fmt::format("use lower-case letters, digits and hyphens, starting with a letter, at most {} characters",
                      kMaxJobName),
          job_.name->text.size());
  }

  void pool() {
    if (!job_.pool.has_value()) {
      for (const PoolSpec& candidate : spec_.pools.value) {
        if (candidate.role.value != PoolRole::training) continue;
        job_.pool.derive(candidate.name->text);
        break;
      }
    }
    if (!job_.pool.has_value()) {
      error(job_.name.place, "the cluster has no training pool", "set `pool`");
      return;
    }
    pool_ = find(job_.pool, "pool", spec_.pools.value);
    if (pool_ != nullptr) server_ = cluster_.catalog().server(pool_->server.value);
    if (server_ != nullptr && server_->gpus.value == 0) {
      error(job_.pool.place, fmt::format("servers of pool `{}` have no GPUs", job_.pool.value), {}, job_.pool->size());
      server_ = nullptr;
    }
  }

  void partition() {
    if (pool_ == nullptr) return;
    if (!job_.partition.has_value()) {
      for (const PartitionSpec& candidate : spec_.partitions.value) {
        if (!contains(candidate.pools.value, job_.pool.value)) continue;
        job_.partition.derive(candidate.name->text);
        break;
      }
    }
    if (!job_.partition.has_value()) {
      error(job_.pool.place, fmt::format("no partition contains pool `{}`", job_.pool.value), {}, job_.pool->size());
      return;
    }
    partition_ = find(job_.partition, "partition", spec_.partitions.value);
    if (partition_ == nullptr || contains(partition_->pools.value, job_.pool.value)) return;
    error(job_.partition.place,
          fmt::format("partition `{}` does not contain pool `{}`", job_.partition.value, job_.pool.value), {},
          job_.partition->size());
  }

  // A tenant without a list of partitions may use all.
  bool may_use(const TenantSpec& tenant) const {
    return partition_ == nullptr || tenant.partitions->empty() ||
           contains(tenant.partitions.value, partition_->name->text);
  }

  void tenant() {
    if (spec_.tenants->empty() && !job_.tenant.has_value()) return;
    if (!job_.tenant.has_value()) {
      for (const TenantSpec& candidate : tenants_) {
        if (!may_use(candidate)) continue;
        job_.tenant.derive(candidate.name->text);
        break;
      }
    }
    if (!job_.tenant.has_value()) {
      error(job_.partition.place, fmt::format("no tenant may use partition `{}`", job_.partition.value), {},
            job_.partition->size());
      return;
    }
    tenant_ = find(job_.tenant, "tenant", tenants_);
    if (tenant_ == nullptr || may_use(*tenant_)) return;
    error(job_.tenant.place,
          fmt::format("tenant `{}` may not use partition `{}`", job_.tenant.value, job_.partition.value),
          "choose another partition, or add it to the tenant's `partitions`", job_.tenant->size());
  }

  void size() {
    job_.min_nodes.derive(job_.nodes.value);
    if (job_.min_nodes.value > job_.nodes.value) {
      error(job_.min_nodes.place,
            fmt::format("min_nodes ({}) is above nodes ({})", job_.min_nodes.value, job_.nodes.value));
    } else if (job_.min_nodes.value < job_.nodes.value && !spec_.workload->elastic.value) {
      error(job_.min_nodes.place, "elastic jobs are disabled in the cluster file",
            "leave `min_nodes` out, or set `workload.elastic: true`");
    }
    if (pool_ == nullptr || server_ == nullptr) return;
    const std::int64_t free = pool_->count.value - pool_->spares.value;
    if (job_.nodes.value > free) {
      error(job_.nodes.place,
            fmt::format("{} servers requested, but pool `{}` has {} ({} reserved as spares)", job_.nodes.value,
                        job_.pool.value, pool_->count.value, pool_->spares.value),
            fmt::format("at most {}", free));
    }
    job_.gpus_per_node.derive(server_->gpus.value);
    if (job_.gpus_per_node.value > server_->gpus.value) {
      error(job_.gpus_per_node.place, fmt::format("{} GPUs per server requested, but `{}` has {}",
                                                  job_.gpus_per_node.value, pool_->server.value, server_->gpus.value));
    }
    if (pool_->mig.has_value() && !pool_->mig->empty()) {
      error(job_.pool.place, fmt::format("GPUs of pool `{}` are partitioned into MIG instances", job_.pool.value),
            "collectives need whole GPUs", job_.pool->size());
    }
    quota();
  }

  void quota() {
    if (tenant_ == nullptr || !tenant_->quota->gpus.has_value()) return;
    const std::int64_t gpus = job_.nodes.value * job_.gpus_per_node.value;
    if (gpus <= tenant_->quota->gpus.value) return;
    const std::string message = fmt::format("{} GPUs requested, but the quota of tenant `{}` is {}", gpus,
                                            job_.tenant.value, tenant_->quota->gpus.value);
    if (job_.training.has_value() && !job_.tenant.from_file()) {
      // The job can still be simulated; to run it, it needs a tenant with a sufficient quota.
      diagnostics_.warning(job_.nodes.place, message, "set `tenant` to one with a sufficient quota");
      return;
    }
    error(job_.nodes.place, message);
  }

  void priority() {
    if (!job_.priority.has_value()) {
      if (tenant_ != nullptr && tenant_->priority.has_value()) {
        job_.priority.derive(tenant_->priority.value);
      } else if (partition_ != nullptr && partition_->priority.has_value()) {
        job_.priority.derive(partition_->priority.value);
      }
    }
    if (job_.priority.has_value()) find(job_.priority, "priority", spec_.priorities.value);
  }

  void time() {
    constexpr std::int64_t kMinute = 60'000'000'000;  // Slurm counts time limits in minutes
    if (job_.time_limit.has_value() && job_.time_limit->count() < kMinute) {
      error(job_.time_limit.place, "the time limit of a job must be at least one minute");
    }
    if (partition_ == nullptr || !partition_->time_limit.has_value()) return;
    if (job_.time_limit.has_value() && job_.time_limit.value > partition_->time_limit.value) {
      error(job_.time_limit.place,
            fmt::format("{} exceeds the limit of partition `{}`, {}", to_text(job_.time_limit.value),
                        job_.partition.value, to_text(partition_->time_limit.value)));
    }
    job_.time_limit.derive(job_.time_limit.has_value() ? job_.time_limit.value : partition_->time_limit.value);
  }

  void program() {
    job_.max_restarts.derive(spec_.workload->max_restarts.value);
    job_.image.derive(spec_.security->registry.value + std::string(kImage));
    const auto plain = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\'' && c != '`' && c != '\\'; };
    if (job_.image->empty() || !std::all_of(job_.image->begin(), job_.image->end(), plain)) {
      error(job_.image.place, fmt::format("`{}` is not a container image", job_.image.value),
            "remove spaces, quotes and backslashes", job_.image->size());
    }
    // A job that is only simulated needs no script, but may still be rendered.
    if (!job_.command.has_value() && job_.training.has_value()) job_.command.derive({"train.py"});
    if (job_.command->empty() || job_.command->front().empty()) {
      error(job_.command.place, "torchrun needs a script", "`command: [train.py, --epochs, \"3\"]`");
    } else if (job_.command->front().front() == '-') {
      error(job_.command.place, fmt::format("`{}` is an option, not a script", job_.command->front()),
            "torchrun options are set by the other keys");
    }
    for (const std::string& word : job_.command.value) {
      if (has_control(word)) error(job_.command.place, "the command contains control characters");
    }
    if (job_.resume.has_value() && !is_plain_path(job_.resume.value)) {
      error(job_.resume.place, fmt::format("`{}` is not an absolute path", job_.resume.value), {}, job_.resume->size());
    }
    if (job_.shared_memory->count() <= 0) error(job_.shared_memory.place, "ranks on one server need shared memory");
  }

  void environment() {
    // Variables that torchrun sets for each rank (PyTorch documentation, torchrun, environment variables).
    static constexpr std::array kTorchrun = {"RANK",       "LOCAL_RANK", "WORLD_SIZE",  "LOCAL_WORLD_SIZE",
                                             "GROUP_RANK", "ROLE_RANK",  "MASTER_ADDR", "MASTER_PORT"};
    std::set<std::string_view> seen;
    for (const auto& [variable, value] : job_.environment.value) {
      if (!is_variable(variable)) {
        error(value.place, fmt::format("`{}` is not a valid variable name", variable),
              "use letters, digits and underscores, and do not start with a digit", variable.size());
      } else if (std::find(kTorchrun.begin(), kTorchrun.end(), variable) != kTorchrun.end()) {
        error(value.place, fmt::format("`{}` is set by torchrun on each rank", variable), {}, variable.size());
      } else if (!seen.insert(variable).second) {
        error(value.place, fmt::format("`{}` is set twice", variable), {}, variable.size());
      }
      if (has_control(value.value)) error(value.place, fmt::format("`{}` contains control characters", variable));
    }
  }

  const VolumeSpec* volume(std::string_view wanted) const {
    for (const StorageSpec& system : spec_.storage.value) {
      for (const VolumeSpec& candidate : system.volumes.value) {
        if (candidate.name->text == wanted) return &candidate;
      }
    }
    return nullptr;
  }

  // One dataset and one checkpoint volume at their default paths; others of a kind below them by name.
  void usual_mounts() {
    std::vector<JobMountSpec> mounts;
    for (const StorageSpec& system : spec_.storage.value) {
      for (const VolumeSpec& candidate : system.volumes.value) {
        const VolumePurpose purpose = candidate.purpose.value;
        if (purpose != VolumePurpose::dataset && purpose != VolumePurpose::checkpoint) continue;
        JobMountSpec mount;
        mount.volume.derive(candidate.name->text);
        mount.path.derive(default_mount_path(spec_, candidate));
        mounts.push_back(std::move(mount));
      }
    }
    job_.mounts.derive(std::move(mounts));
  }

  void mounts() {
    if (!job_.mounts.has_value()) usual_mounts();
    std::set<std::string> paths{"/dev/shm", "/etc/weft"};
    for (JobMountSpec& mount : job_.mounts.value) {
      const VolumeSpec* wanted = volume(mount.volume.value);
      if (wanted == nullptr) {
        std::vector<VolumeSpec> all;
        for (const StorageSpec& system : spec_.storage.value) {
          all.insert(all.end(), system.volumes->begin(), system.volumes->end());
        }
        unknown_name(
            mount.volume, "volume", all, [](const VolumeSpec& v) { return std::string_view(v.name->text); },
            diagnostics_);
        continue;
      }
      if (!mount.path.has_value()) mount.path.derive(default_mount_path(spec_, *wanted));
      if (!is_plain_path(mount.path.value)) {
        error(mount.path.place, fmt::format("`{}` is not an absolute path", mount.path.value),
              "use an absolute path without colon, comma, `.` or `..`", mount.path->size());
      } else if (!paths.insert(mount.path.value).second) {
        error(mount.path.place.known() ? mount.path.place : mount.place,
              fmt::format("`{}` is mounted twice", mount.path.value), "set `path`", mount.path->size());
      }
      const bool read_only = wanted->read_only.value;
      if (mount.read_only.from_file() && !mount.read_only.value && read_only) {
        error(mount.read_only.place, fmt::format("volume `{}` is read-only", mount.volume.value));
      }
      mount.read_only.derive(read_only || wanted->purpose.value == VolumePurpose::dataset);
    }
  }

  JobSpec& job_;
  const Cluster& cluster_;
  const Spec& spec_;
  Diagnostics& diagnostics_;
  const PoolSpec* pool_ = nullptr;
  const ServerModel* server_ = nullptr;
  const PartitionSpec* partition_ = nullptr;
  std::vector<TenantSpec> tenants_;  // that the submitter may use
  const TenantSpec* tenant_ = nullptr;
};

}  // namespace

std::string default_mount_path(const Spec& spec, const VolumeSpec& volume) {
  std::string path = usual_path(volume.purpose.value);
  for (const StorageSpec& system : spec.storage.value) {
    for (const VolumeSpec& other : system.volumes.value) {
      if (other.purpose.value != volume.purpose.value) continue;
      return other.name->text == volume.name->text ? path : path + "-" + volume.name->text;
    }
  }
  return path;
}

void resolve(JobSpec& job, const Cluster& cluster, Diagnostics& diagnostics, const std::vector<std::string>* tenants) {
  JobResolver(job, cluster, diagnostics, tenants).run();
}

}  // namespace weft::model
