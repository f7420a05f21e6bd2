// Reads Slurm's accounting as a history: the table that `sacct --duplicates --parsable2` prints, one row per attempt,
// with its columns in any order; and an incident list (CSV), since the accounting does not say which node failed, why,
// or when it was repaired. Accounting does not know checkpoints either: what was kept is an assumption, see
// slurm_history.cc.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "base/source.h"
#include "sched/machine/machine.h"
#include "twin/history.h"

namespace weft::twin {

// Whether a text begins like such a table.
[[nodiscard]] bool looks_like_sacct(std::string_view text);
// Reports every error at its place. None if there were errors. Jobs without GPUs and jobs on nodes that the machine
// lacks are left out and counted.
[[nodiscard]] std::optional<History> read_sacct(const Sources& sources, FileId file, const sched::Machine& machine,
                                                Diagnostics& diagnostics);

// time,node,cause[,detected][,repaired][,fix][,effect]: the troubles of a history. Nodes that the machine lacks are
// errors.
[[nodiscard]] std::optional<std::vector<Trouble>> read_incident_list(const Sources& sources, FileId file,
                                                                     const sched::Machine& machine,
                                                                     Diagnostics& diagnostics);

}  // namespace weft::twin
