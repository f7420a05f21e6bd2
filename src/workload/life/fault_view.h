// What faults of the backend do to a job, as a section of a result: the cause, how the running job ends or how long it
// stalls, and what a restart finds. Computes nothing.
#pragma once

#include "base/document.h"
#include "workload/result/fault_outcome.h"

namespace weft::workload {

// `step_after`: with the faults, for a job that runs steps; 0 for a collective.
[[nodiscard]] FactsSection fault_facts(const FaultOutcome& faults, SimTime step_after);

}  // namespace weft::workload
