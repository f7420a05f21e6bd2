// One simulation after the other with progress and Ctrl-C, and the pictures of the last one: the part of `weft sim`
// that its commands share.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/sim_options.h"
#include "net/simulate.h"

namespace weft {

// Runs one fidelity. `label` stands on the progress line. Says on standard error, with --verbose, how fast it was.
[[nodiscard]] Result<net::SimResult> run_simulation(Context& context, net::Routes& routes,
                                                    const net::TransferGraph& transfers, const net::SimOptions& options,
                                                    const std::string& label);

// Writes --heat-map and --storm-tree. Gives `outcome` when that worked.
[[nodiscard]] Exit write_pictures(Context& context, const net::Network& network, const net::SimResult& result,
                                  const std::string& title, const std::string& where, Exit outcome);

}  // namespace weft
