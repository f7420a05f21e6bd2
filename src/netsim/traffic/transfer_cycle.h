// Finds transfers that wait for each other in a cycle, through dependencies and through rounds that follow those of
// another transfer. Rounds are not expanded: the cost of a ring of 131,072 ranks with as many rounds grows with its
// members.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/traffic/transfer.h"

namespace weft::netsim {

// A transfer of a cycle, and why it waits for the next one.
struct CycleStep {
  TransferId transfer;
  bool by_rounds = false;  // a round of it follows, directly or indirectly, one of the next; else it depends on it
};

// The steps of one cycle, its lowest id first; the last waits for the first. Empty if all can end. For a graph whose
// followers and dependents are grouped and whose leaders have enough rounds (TransferGraph::finish).
[[nodiscard]] std::vector<CycleStep> find_cycle(const TransferGraph& graph);

}  // namespace weft::netsim
