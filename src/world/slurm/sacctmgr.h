// Runs sacctmgr, the command line of Slurm's accounting database, with a deadline and a clean environment.
#pragma once

#include "world/slurm/account_lists.h"
#include "world/slurm/cli_client.h"

namespace weft::world {

// A call that exits with 0 returns what it printed on standard output, or on standard error if that is empty: sacctmgr
// exits with 0 after some refusals.
[[nodiscard]] RunSacctmgr make_sacctmgr(CliOptions options);

}  // namespace weft::world
