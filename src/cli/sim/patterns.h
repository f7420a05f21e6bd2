// Traffic patterns by name, with suitable sizes for each, as transfers between the chosen endpoints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/sim/input.h"
#include "cli/sim/options.h"

namespace weft::cli {

struct SimTraffic {
  netsim::TransferGraph graph;    // finished
  std::string what;               // "permutation of 10MB over 256 endpoints"
  std::vector<std::string> tags;  // the patterns, by Transfer::tag
};

[[nodiscard]] std::vector<Option> sim_pattern_options();
// Whether the requested patterns are storage patterns, which use the storage fabric.
[[nodiscard]] bool wants_storage(const Arguments& arguments);
// From --flows or --pattern. Returns the exit code on failure, after reporting why.
[[nodiscard]] std::optional<Exit> make_traffic(Context& context, OptionReader& reader, const SimInput& input,
                                               const SimSetup& setup, SimTraffic& traffic);

}  // namespace weft::cli
