// Engine `slurm` of `weft serve`: the client that reaches Slurm, and the world in watch mode.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "control/stages.h"
#include "sched/machine/machine.h"
#include "world/core/world.h"
#include "world/slurm/slurm_client.h"

namespace weft::serve {

struct SlurmSettings {
  std::string conf;       // slurm.conf; "": Slurm's default
  std::string partition;  // "": the default one
  std::string path;       // PATH to find Slurm's commands
  std::string restd;      // address of slurmrestd; "": commands only
  std::string token;      // file with a token for slurmrestd; "": from `scontrol token`
  std::string user;       // of the token
};

[[nodiscard]] std::shared_ptr<world::SlurmClient> make_slurm_client(const SlurmSettings& settings);

struct WatchSettings {
  std::string state_directory;
  std::string cluster;
  control::StageSet stages;
  std::function<void(std::string_view)> log;
};
[[nodiscard]] Result<std::unique_ptr<world::World>> open_slurm_watch(const SlurmSettings& settings,
                                                                     const WatchSettings& watch,
                                                                     const sched::Machine& machine);

}  // namespace weft::serve
