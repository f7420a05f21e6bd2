// Lease of a node: which engine (Slurm, Kubernetes, weft's own) may use it, and the steps in which it moves to another
// one. The decision for whole nodes and the numbers that make a move safe are in docs/adr/0027-leases-in-control.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "control/ids.h"
#include "control/transitions.h"
#include "lease/lease.h"

namespace weft::control {

using lease::LeaseEpoch;
using lease::LeaseOwner;

enum class LeasePhase : std::uint8_t {
  none,     // no engine owns it yet
  opening,  // granted under a new epoch, or its gate has restarted: the order to open the gate was sent
  held,     // the gate of the owner is open under the epoch
  cordon,   // a move has begun: the owner was told to place nothing new there
  drain,    // waits until the jobs of the owner have ended
  closing,  // the order to close the gate up to the epoch was sent
  witness   // the gate is closed: waits for the three witnesses that nothing runs there
};
inline constexpr std::uint8_t kLeasePhases = 7;
[[nodiscard]] std::string_view to_text(LeasePhase phase);
[[nodiscard]] constexpr bool is_moving(LeasePhase phase) { return phase >= LeasePhase::cordon; }
[[nodiscard]] std::span<const Transition<LeasePhase>> lease_transitions();
[[nodiscard]] bool is_allowed(LeasePhase from, RecordKind record, LeasePhase to);
// Mermaid state diagram, for docs/operate.md.
[[nodiscard]] std::string draw_lease_diagram();

struct NodeLease {
  LeaseOwner owner = LeaseOwner::none;
  LeaseEpoch epoch = 0;  // of the grant; 0: none
  LeasePhase phase = LeasePhase::none;
  sched::Moment since{};      // of the phase
  OperationId operation = 0;  // of the last order
  sched::Moment ordered{};    // when it was sent

  LeaseOwner target = LeaseOwner::none;  // of the move
  sched::Moment asked{};                 // when the move began
  std::string user;                      // who asked for this move, or for the last one
  std::string reason;
  bool preempt = false;  // stop the jobs of weft there
  bool fenced = false;   // verified to be off since the move began

  std::uint32_t moves = 0;               // that have ended
  LeaseOwner policy = LeaseOwner::none;  // what the schedule decided last; a person may move it until it decides again
};

}  // namespace weft::control
