// One simulation after the other with progress and Ctrl-C, and the pictures of the last one: the part of `weft sim`
// that its commands share.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/sim/options.h"
#include "netsim/sim/simulate.h"

namespace weft::cli {

// Runs one fidelity. `label` stands on the progress line. Says on standard error, with --verbose, how fast it was.
[[nodiscard]] Result<netsim::SimResult> run_simulation(Context& context, netsim::Routes& routes,
                                                       const netsim::TransferGraph& transfers,
                                                       const netsim::SimOptions& options, const std::string& label);

// Writes --heat-map and --storm-tree. Gives `outcome` when that worked.
[[nodiscard]] Exit write_pictures(Context& context, const netsim::Network& network, const netsim::SimResult& result,
                                  const std::string& title, const std::string& where, Exit outcome);

}  // namespace weft::cli
