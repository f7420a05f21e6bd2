// Patterns of traffic by name, with the sizes that make sense for each, as transfers between the chosen endpoints.
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
// Whether the patterns asked for are about storage, so that the storage fabric is meant.
[[nodiscard]] bool wants_storage(const Arguments& arguments);
// From --flows or --pattern. Gives the exit code, all said, when it cannot.
[[nodiscard]] std::optional<Exit> make_traffic(Context& context, OptionReader& reader, const SimInput& input,
                                               const SimSetup& setup, SimTraffic& traffic);

}  // namespace weft::cli
