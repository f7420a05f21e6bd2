// Reads the journal of `weft serve` as a history: jobs, attempts, checkpoints, failures and repair sessions. Applies
// every record to a ControlState, so that a damaged journal is an error with the number of its record. Decides nothing
// about causes: see incident_finder.h.
#pragma once

#include <memory>

#include "sched/machine/machine.h"
#include "store/store.h"
#include "twin/history.h"

namespace weft::twin {

// `snapshot`: the state before the first record that is read; none: the journal is complete.
[[nodiscard]] Result<History> read_journal(const std::shared_ptr<const sched::Machine>& machine, store::Store& store,
                                           const std::optional<store::Snapshot>& snapshot);

// Leaves out what was before `from` and after `until`. Jobs that ran at `from` begin there; what they had computed by
// then is not part of the history.
void clip_history(History& history, sched::Moment from, sched::Moment until);

}  // namespace weft::twin
