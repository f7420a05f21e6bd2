// Identifiers of the control plane's objects. Numbers are assigned by the controller in order, from 1, and are never
// reused, not even after a restart; 0 means none. Engines reuse their own identifiers (Slurm wraps job ids), so these
// are what commands and reports carry.
#pragma once

#include <compare>
#include <cstdint>

namespace weft::control {

using JobNumber = std::uint64_t;
using AttemptNumber = std::uint32_t;  // of a job: 1, 2, 3, ...
using OperationId = std::uint64_t;    // of a command with a side effect; journaled before the command is sent
using SessionId = std::uint64_t;      // of a repair session of a node
// Of a start of the controller; later starts have greater ones. Nodes refuse commands of an earlier term: one that was
// sent before a crash has no effect after the node was asked by the next controller.
using Term = std::uint64_t;
using BootId = std::uint64_t;  // of a node; differs after every boot

struct AttemptName {
  JobNumber job = 0;
  AttemptNumber attempt = 0;
  friend auto operator<=>(const AttemptName&, const AttemptName&) = default;
};

}  // namespace weft::control
