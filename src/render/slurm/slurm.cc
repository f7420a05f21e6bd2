// The target `slurm`: all files for Slurm controllers, nodes and users.
#include "render/core/targets.h"
#include "render/slurm/model.h"

namespace weft::render {

bool applies_slurm(const RenderInput& input) { return input.plan.has_slurm(); }

void render_slurm(const RenderInput& input, FileSink& sink) {
  using namespace slurm_render;
  const SlurmModel model(input);
  if (model.nodes().empty()) {
    sink.left_out("Slurm has no nodes: no pool of the cluster file is in a partition.");
    return;
  }
  if (model.controllers().empty()) {
    sink.note(
        "Slurm has no controller: set `control_plane.pool`; until then, slurm.conf uses the placeholder `slurmctld`.");
  }
  add_slurm_conf(model, sink);
  add_gres_conf(model, sink);
  add_topology_conf(model, sink);
  add_hosts(model, sink);
  add_services(model, sink);
  if (model.has_accounting()) add_accounts(model, sink);
  add_scripts(model, sink);
  const std::string_view forms = input.options["job"];
  if (forms != "all" && forms != "sbatch") return;
  for (const model::JobSpec& job : input.jobs) add_batch_script(model, job, sink);
}

}  // namespace weft::render
