// Commands from the controller to the world. Each has the operation id that was journaled before it. The world executes
// a command at most once per operation id and answers with events; it makes no decisions. "Accepted" is never "done":
// the controller waits for reports.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/ids.h"
#include "control/job_spec.h"
#include "control/repair_plan.h"
#include "lease/lease.h"
#include "sched/machine/moment.h"
#include "sched/machine/resources.h"

namespace weft::control {

// Start one task per slot, in rank order. A node refuses the attempt if its boot id is not the one given here, if the
// term is over, if the attempt was sealed there, or if it has already started that attempt: a delayed or duplicated
// command has no effect.
struct StartAttempt {
  OperationId operation = 0;
  Term term = 0;
  AttemptName name;
  std::shared_ptr<const JobSpec> spec;
  std::vector<sched::Slot> slots;
  std::vector<BootId> boots;       // of the node of each slot
  std::string checkpoint;          // to restore from, verified; "": start from the beginning
  std::string checkpoint_path;     // its directory
  Duration checkpoint_interval{};  // for the environment of the ranks; 0: none
};

// Stop the attempt on these nodes and seal it there: after the report it does not run and never will. With
// `checkpoint`, ask it for one first. SIGTERM, then SIGKILL after the grace period.
struct StopAttempt {
  OperationId operation = 0;
  AttemptName name;
  std::vector<sched::NodeId> nodes;
  Duration grace{};
  bool checkpoint = false;
  lease::LeaseOwner engine = lease::LeaseOwner::none;  // that runs it; none: the server has one
};

// Ask for a checkpoint now; the attempt keeps running.
struct RequestCheckpoint {
  OperationId operation = 0;
  AttemptName name;
  lease::LeaseOwner engine = lease::LeaseOwner::none;  // that runs it; none: the server has one
};

// Verify the checkpoints of a job, newest first, until one is intact: answered by CheckpointVerified.
struct VerifyCheckpoint {
  OperationId operation = 0;
  JobNumber job = 0;
  std::shared_ptr<const JobSpec> spec;
};

// Report every attempt on every node: answered by one Inventory. Has no side effect, so it has no operation id.
struct QueryInventory {
  Term term = 0;
};

// Mark a node in the engine as closed for new work, or remove our mark; a mark of someone else is not touched.
struct CordonNode {
  OperationId operation = 0;
  SessionId session = 0;
  sched::NodeId node{};
  bool cordon = true;
  // Watch mode: also ask the engine to move its own jobs away from the node. Jobs that it cannot move run on.
  bool evict = false;
};

// Power cycle through the BMC: off, verified off, on.
struct PowerCycle {
  OperationId operation = 0;
  SessionId session = 0;
  sched::NodeId node{};
};

// A repair step other than a power cycle, on the node itself: answered by RepairReport, a reboot by the new boot.
struct RepairNode {
  OperationId operation = 0;
  SessionId session = 0;
  sched::NodeId node{};
  RepairAction action = RepairAction::none;
  std::string part;
};

// Run the acceptance checks of a node.
struct ValidateNode {
  OperationId operation = 0;
  SessionId session = 0;
  sched::NodeId node{};
};

// An order of a lease to an engine's side of a node. Every kind may be repeated. A gate obeys only the boot that is
// named, and no term before the greatest that it has seen.
enum class LeaseOrderKind : std::uint8_t {
  cordon,  // the engine places nothing new there; what runs continues and the gate stays as it is
  close,   // cordon, and the gate opens no epoch up to this one again
  open     // the gate opens under this epoch, and the lease's cordon is removed
};
[[nodiscard]] std::string_view to_text(LeaseOrderKind kind);
struct LeaseOrder {
  OperationId operation = 0;
  Term term = 0;
  sched::NodeId node{};
  lease::LeaseOwner engine = lease::LeaseOwner::none;
  LeaseOrderKind kind = LeaseOrderKind::cordon;
  lease::LeaseEpoch epoch = 0;
  BootId boot = 0;  // of the gate
};

using Command = std::variant<StartAttempt, StopAttempt, RequestCheckpoint, VerifyCheckpoint, QueryInventory, CordonNode,
                             PowerCycle, RepairNode, ValidateNode, LeaseOrder>;

// One line for logs: "start 12.1 on 4 nodes".
[[nodiscard]] std::string describe(const Command& command);

}  // namespace weft::control
