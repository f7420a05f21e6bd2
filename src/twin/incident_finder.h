// Finds the incidents in a history: which failures of jobs and troubles of nodes belong together, what each did to
// jobs, how it was noticed and what repaired it. One incident may end several attempts, and several reports are one
// incident.
#pragma once

#include <vector>

#include "twin/history.h"

namespace weft::twin {

struct FoundIncidents {
  FaultModel faults;                // their causes, with the rates and times of this history
  std::vector<Incident> incidents;  // by time; `job` is the position in the history
  std::size_t interruptions = 0;    // of jobs, by these incidents
};

// `node_days`: of the cluster, for the rates.
[[nodiscard]] FoundIncidents find_incidents(const History& history, double node_days);

// Text as the name of a cause: "Xid 79" is xid-79.
[[nodiscard]] std::string cause_name(std::string_view text);

}  // namespace weft::twin
