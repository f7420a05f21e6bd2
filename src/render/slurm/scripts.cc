// Scripts that run on nodes: before and after each job, and every few minutes. They are the same on all nodes;
// pool-specific values are in two small files installed beside them.
#include <fmt/format.h>

#include "base/asset.h"
#include "base/quoting.h"
#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

// slurmd starts them without a PATH.
constexpr std::string_view kPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin\nexport PATH\n";

void add_script(const SlurmModel& model, std::string_view name, std::string_view what, std::string_view body,
                FileSink& sink) {
  RenderedFile file;
  file.path = fmt::format("slurm/{}", name);
  file.content =
      "#!/bin/sh\n" + commented(heading(model.input().cluster, what)) + std::string(kPath) + std::string(body);
  file.consumer = "slurmd";
  file.install = fmt::format("{}/{}", kConfigFolder, name);
  file.mode = "0755";
  file.sources = {"pools"};
  sink.add(std::move(file));
}

void add_pool_files(const SlurmModel& model, const PoolPlan& pool, FileSink& sink) {
  const model::Cluster& cluster = model.input().cluster;
  std::string variables = commented(heading(cluster, fmt::format("Environment of jobs on pool {}.", pool.name())));
  for (const auto& [name, value] : model.input().plan.environment(pool, false)) {
    if (!is_variable_name(name)) {
      sink.left_out(
          fmt::format("workload.environment: `{}` is not a valid variable name; it is omitted from job environments.",
                      one_line(name)));
      continue;
    }
    variables += fmt::format("{}={}\n", name, one_line(value));
  }
  RenderedFile file;
  file.path = fmt::format("slurm/pools/{}.env", pool.name());
  file.content = std::move(variables);
  file.device = pool.name();
  file.consumer = "task-prolog";
  file.install = fmt::format("{}/pool.env", kConfigFolder);
  file.sources = {"workload.environment", "fabrics.backend"};
  sink.add(std::move(file));

  std::string rails;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == model::FabricKind::backend) rails += (rails.empty() ? "" : " ") + rail.interface;
  }
  const bool amd = pool.gpu != nullptr && pool.gpu->vendor.value == "AMD";
  RenderedFile facts;
  facts.path = fmt::format("slurm/pools/{}.facts", pool.name());
  facts.content =
      commented(heading(cluster, fmt::format("Expected hardware of pool {}, for health-check.", pool.name())));
  facts.content += fmt::format("gpus={}\nvendor={}\nrails={}\n", pool.has_gpus() ? pool.server->gpus.value : 0,
                               pool.has_gpus() ? (amd ? "amd" : "nvidia") : "", shell_quote(rails));
  facts.device = pool.name();
  facts.consumer = "health-check";
  facts.install = fmt::format("{}/node.facts", kConfigFolder);
  facts.sources = {"pools"};
  sink.add(std::move(facts));
}

}  // namespace

void add_scripts(const SlurmModel& model, FileSink& sink) {
  add_script(model, "health-check", "Checks a node.", asset<"render/slurm/health-check.sh">(), sink);
  add_script(model, "prolog.d/10-health", "Checks the node before a job starts on it.",
             asset<"render/slurm/check-job-node.sh">(), sink);
  add_script(model, "prolog.d/20-scratch", "Before a job: creates its scratch directory.",
             asset<"render/slurm/make-scratch.sh">(), sink);
  // The private /dev/shm of job_container/tmpfs is removed with the job. This handles processes outside of it, and
  // nodes without local drives.
  add_script(model, "epilog.d/10-shared-memory", "After a job: cleans shared memory.",
             asset<"render/slurm/clean-shared-memory.sh">(), sink);
  add_script(model, "epilog.d/20-scratch", "After a job: removes its scratch directory.",
             asset<"render/slurm/purge-scratch.sh">(), sink);
  add_script(model, "epilog.d/90-health", "Checks the node after a job.", asset<"render/slurm/check-job-node.sh">(),
             sink);
  add_script(model, "task-prolog", "Sets the fabric environment of every task.", asset<"render/slurm/task-prolog.sh">(),
             sink);
  for (const PoolPlan* pool : model.pools()) add_pool_files(model, *pool, sink);
}

}  // namespace weft::render::slurm_render
