// A job file as a batch script: torchrun once per node, elastic, requeued when interrupted.
#include <fmt/format.h>

#include <algorithm>

#include "base/asset.h"
#include "base/quoting.h"
#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

constexpr int kRendezvousPort = 29500;  // torchrun's default
// How long a job waits for nearby nodes before it accepts any.
constexpr std::string_view kSwitchWait = "01:00:00";

const Partition* partition_of(const SlurmModel& model, const model::JobSpec& job) {
  for (const Partition& partition : model.partitions()) {
    if (partition.spec->name->text == job.partition.value) return &partition;
  }
  return nullptr;
}

// The fewest backend units that can run the job; 0 if units do not matter.
std::int64_t units_for(const model::Cluster& cluster, const PoolPlan& pool, std::int64_t nodes) {
  std::int64_t largest = 0;
  std::int64_t units = 0;
  for (const model::Unit& unit : cluster.units()) {
    if (unit.fabric != model::FabricKind::backend) continue;
    if (unit.pool < 0 || &cluster.spec().pools.value[static_cast<std::size_t>(unit.pool)] != pool.spec) continue;
    largest = std::max<std::int64_t>(largest, unit.servers);
    ++units;
  }
  return units < 2 || largest == 0 ? 0 : (nodes + largest - 1) / largest;
}

std::string constraints_of(const Partition* partition, const PoolPlan& pool) {
  std::vector<std::string> features;
  if (partition != nullptr && partition->pools.size() > 1) features.push_back(feature_of(pool.name()));
  if (partition != nullptr) {
    for (const std::string& constraint : partition->spec->constraints.value) features.push_back(feature_of(constraint));
  }
  return fmt::format("{}", fmt::join(features, "&"));
}

std::string options_of(const SlurmModel& model, const model::JobSpec& job, const PoolPlan& pool) {
  const Partition* partition = partition_of(model, job);
  const std::int64_t gpus = pool.server->gpus.value;
  const bool whole = job.gpus_per_node.value == gpus;
  const std::int64_t cpus = pool.server->cores.value * (pool.spec->bios->hyper_threading.value ? 2 : 1);
  std::string out;
  const auto option = [&](std::string_view name, std::string_view value) {
    out += fmt::format("#SBATCH --{}{}{}\n", name, value.empty() ? "" : "=", one_line(value));
  };
  option("job-name", job.name->text);
  if (partition != nullptr) option("partition", partition->name);
  if (model.has_accounting() && job.tenant.has_value()) option("account", job.tenant.value);
  if (model.has_accounting() && job.priority.has_value()) option("qos", job.priority.value);
  const bool elastic = job.min_nodes.value < job.nodes.value;
  option("nodes",
         elastic ? fmt::format("{}-{}", job.min_nodes.value, job.nodes.value) : fmt::to_string(job.nodes.value));
  option("gpus-per-node", fmt::format("{}:{}", pool.gpu_type, job.gpus_per_node.value));
  option("cpus-per-task", fmt::to_string(std::max<std::int64_t>(1, cpus * job.gpus_per_node.value / gpus)));
  if (whole) {
    option("exclusive", "");
    option("mem", "0");
  }
  if (const std::string features = constraints_of(partition, pool); !features.empty()) option("constraint", features);
  if (const std::int64_t units = units_for(model.input().cluster, pool, job.nodes.value); units > 0) {
    option("switches", fmt::format("{}@{}", units, kSwitchWait));
  }
  if (job.time_limit.has_value()) option("time", time_text(job.time_limit.value));
  option("requeue", "");
  if (elastic) option("no-kill", "");
  // Only to the script, early enough to write a checkpoint.
  option("signal", fmt::format("B:USR1@{}", 2 * model.grace_seconds()));
  option("open-mode", "append");
  option("output", "%x-%j.log");
  return out;
}

std::string environment_of(const SlurmModel& model, const model::JobSpec& job, const PoolPlan& pool) {
  Environment all = model.input().plan.environment(pool, false);
  for (const auto& own : job.environment.value) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == own.first; });
    if (same == all.end()) {
      all.emplace_back(own.first, own.second.value);
    } else {
      same->second = own.second.value;
    }
  }
  std::string out;
  for (const auto& [name, value] : all) {
    if (is_variable_name(name)) out += fmt::format("export {}={}\n", name, shell_quote(value));
  }
  return out;
}

// Enroot uses "registry#path" instead of "registry/path".
std::string enroot_image(const std::string& image) {
  const std::size_t slash = image.find('/');
  if (slash == std::string::npos) return image;
  const std::string_view host = std::string_view(image).substr(0, slash);
  const bool registry = host.find_first_of(".:") != std::string_view::npos || host == "localhost";
  return registry ? fmt::format("{}#{}", host, image.substr(slash + 1)) : image;
}

std::string mount_checks(const model::JobSpec& job) {
  std::string out;
  for (const model::JobMountSpec& mount : job.mounts.value) {
    const std::string path = shell_quote(mount.path.value);
    out += fmt::format("[ -d {0} ] || {{ echo {0} is not mounted >&2; exit 1; }}\n", path);
  }
  return out;
}

std::string launch_of(const model::JobSpec& job) {
  const bool elastic = job.min_nodes.value < job.nodes.value;
  // Here and not among the options: as an option it would limit Slurm to the smaller number of nodes.
  std::string out = "srun --ntasks-per-node=1";
  // An elastic job continues without the lost node: torchrun restarts with the remaining ones.
  out += elastic ? " --no-kill --kill-on-bad-exit=0 --wait=0" : " --kill-on-bad-exit=1";
  if (job.image.from_file()) {
    out += " \\\n  --container-image=" + shell_quote(enroot_image(job.image.value));
    std::string mounts;
    for (const model::JobMountSpec& mount : job.mounts.value) {
      mounts += fmt::format("{}{}:{}{}", mounts.empty() ? "" : ",", mount.path.value, mount.path.value,
                            mount.read_only.value ? ":ro" : "");
    }
    if (!mounts.empty()) out += " \\\n  --container-mounts=" + shell_quote(mounts);
  }
  out += " \\\n  torchrun";
  out += elastic ? fmt::format(" --nnodes={}:{}", job.min_nodes.value, job.nodes.value)
                 : fmt::format(" --nnodes={}", job.nodes.value);
  out += fmt::format(" --nproc_per_node={} --max_restarts={}", job.gpus_per_node.value, job.max_restarts.value);
  out += " \\\n  --rdzv_backend=c10d --rdzv_id=\"$SLURM_JOB_ID\" --rdzv_endpoint=\"$head:$port\" \\\n ";
  for (const std::string& word : job.command.value) out += " " + shell_quote(word);
  if (job.resume.has_value()) out += " --resume_from_checkpoint " + shell_quote(job.resume.value);
  return out + " &\n";
}

}  // namespace

void add_batch_script(const SlurmModel& model, const model::JobSpec& job, FileSink& sink) {
  const PoolPlan* pool = model.input().plan.pool(job.pool.value);
  if (pool == nullptr || !pool->has_gpus() || !model.input().plan.in_slurm(*pool)) {
    sink.note(fmt::format("Job `{}` has no batch script: pool `{}` is not in Slurm.", job.name->text,
                          one_line(job.pool.value)));
    return;
  }
  std::string text = "#!/bin/bash\n";
  text += options_of(model, job, *pool);
  text += commented(heading(model.input().cluster, fmt::format("Job {}.", job.name->text)));
  text += "\n" + environment_of(model, job, *pool);
  text += '\n';
  // Jobs on the same node must not use the same port. The signal is sent when time runs out or the job is preempted.
  // srun itself would end the step at once on SIGTERM; scancel forwards it to the ranks.
  text += fill_template(asset<"render/slurm/batch.bash">(), {{"PORT", fmt::to_string(kRendezvousPort)},
                                                             {"MOUNT_CHECKS", mount_checks(job)},
                                                             {"LAUNCH", launch_of(job)},
                                                             {"GRACE", fmt::to_string(model.grace_seconds())}});
  RenderedFile file;
  file.path = fmt::format("slurm/{}.sbatch", job.name->text);
  file.content = std::move(text);
  file.device = job.pool.value;
  file.consumer = "sbatch";
  file.apply = fmt::format("sbatch {}.sbatch", job.name->text);
  file.mode = "0755";
  file.stage = Stage::workloads;
  file.sources = {"workload", "partitions", "tenants"};
  sink.add(std::move(file));
}

}  // namespace weft::render::slurm_render
