// How commands of weft call those of Slurm, by --slurm-conf and the environment.
#pragma once

#include "cli/framework/context.h"
#include "cli/framework/paths.h"
#include "world/slurm/cli_client.h"

namespace weft::cli {

inline world::CliOptions slurm_cli_options(Context& context) {
  world::CliOptions options;
  const std::string conf = context.arguments().value("slurm-conf");
  options.conf = conf.empty() ? context.io().environment("SLURM_CONF") : absolute_path(conf);
  options.path = context.io().environment("PATH");
  return options;
}

}  // namespace weft::cli
