// How the lease gate of a node refuses to start work. Slurm and container runtimes pass the text on, so an engine can
// tell such a refusal from a failure of the job.
#pragma once

#include <string_view>

namespace weft::world {

inline constexpr std::string_view kNotLeased = "this node is not leased to ";  // followed by the name of the engine

}  // namespace weft::world
