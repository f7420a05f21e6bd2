// Identifies the nodes that a journal belongs to: it numbers them by their position, so it can be read with exactly
// this list of nodes only.
#pragma once

#include <string>

#include "sched/machine/machine.h"

namespace weft::control {

// `cluster`: its name.
[[nodiscard]] std::string journal_fingerprint(const std::string& cluster, const sched::Machine& machine);

}  // namespace weft::control
