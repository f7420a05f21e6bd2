// Shared by the `weft sim` commands: runs simulations one after the other with progress and Ctrl-C, and writes the
// pictures of the last one.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/sim/options.h"
#include "netsim/sim/simulate.h"

namespace weft::cli {

// Runs one fidelity. `label` is shown on the progress line. Prints its speed on standard error with --verbose.
[[nodiscard]] Result<netsim::SimResult> run_simulation(Context& context, netsim::Routes& routes,
                                                       const netsim::TransferGraph& transfers,
                                                       const netsim::SimOptions& options, const std::string& label);

// Writes --heat-map and --storm-tree. Returns `outcome` on success.
[[nodiscard]] Exit write_pictures(Context& context, const netsim::Network& network, const netsim::SimResult& result,
                                  const std::string& title, const std::string& where, Exit outcome);

}  // namespace weft::cli
