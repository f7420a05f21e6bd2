#include "serve/daemon/slurm_engine.h"

#include "world/slurm/cli_client.h"
#include "world/slurm/rest_client.h"
#include "world/slurm/slurm_watch.h"

namespace weft::serve {

std::shared_ptr<world::SlurmClient> make_slurm_client(const SlurmSettings& settings) {
  world::CliOptions commands;
  commands.conf = settings.conf;
  commands.path = settings.path;
  const auto cli = std::make_shared<world::CliClient>(std::move(commands));
  if (settings.restd.empty()) return cli;
  world::RestOptions rest;
  rest.address = settings.restd;
  rest.token_file = settings.token;
  rest.user = settings.user;
  return std::make_shared<world::RestClient>(std::move(rest), cli);
}

Result<std::unique_ptr<world::World>> open_slurm_watch(const SlurmSettings& settings, const WatchSettings& watch,
                                                       const sched::Machine& machine) {
  world::SlurmWatchOptions options;
  options.state = watch.state_directory + "/engine";
  options.cluster = watch.cluster;
  options.nodes.assign(machine.nodes().begin(), machine.nodes().end());
  options.stages = watch.stages;
  options.log = watch.log;
  Result<std::unique_ptr<world::SlurmWatch>> opened = world::SlurmWatch::open(options, make_slurm_client(settings));
  if (!opened.ok()) return opened.error();
  return std::unique_ptr<world::World>(std::move(*opened));
}

}  // namespace weft::serve
