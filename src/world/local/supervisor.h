// Supervisor of a part: a process of its own session that starts the ranks of one node, writes their logs, stops them
// on request, and records the outcome once no process of theirs is left. It outlives the engine and needs nothing
// from it but the part's folder (part_folder.h).
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace weft::world {

// Runs in a process that was forked for it, detached and with one thread. `lock`: of the folder, taken by the engine.
// Returns the status to exit with: 0 if the outcome is recorded or another decision holds.
[[nodiscard]] int run_supervisor(const std::string& folder, FileDescriptor lock);

}  // namespace weft::world
