// `weft oob` on a server: with --server, --context or --socket the same command is a request to the API of `weft
// serve`, which reaches the devices. Without them nothing changes, whatever contexts there are: `weft oob` has to work
// when no server does.
#pragma once

#include <string>

#include "cli/framework/context.h"
#include "cli/operate/oob_line.h"
#include "cli/operate/server_client.h"

namespace weft::cli {

// The command line of the context, or another one that means the same; `only_plan`: as with --dry-run. Readings print
// their result. Changes show the blast radius of the plan, and then, with --yes and --reason, carry it out, follow the
// operation, and end with its exit code.
Exit run_oob_on_server(Context& context);
Exit run_oob_line(Context& context, const OobLine& line, bool only_plan = false);

// Prints progress on standard error until the operation has ended, then its result.
Exit follow_oob_operation(Context& context, const ServerClient& client, const std::string& operation);

// Adds --server, --context and --socket to a command of `weft oob`, with which CLUSTER is left out.
void offer_on_server(Command& command, Exit (*run)(Context&) = run_oob_on_server);

}  // namespace weft::cli
