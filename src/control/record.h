// Journal record of the control plane: one fact that changed its state. State is the fold of all records; a command is
// sent only after the record that reserves it is durable. One flat struct for all kinds; the fields that a kind uses
// are listed beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/ids.h"
#include "sched/machine/moment.h"
#include "sched/machine/resources.h"

namespace weft::control {

// Format of the journal and of snapshots. A journal begins in format 1; a version of weft that writes what earlier
// versions cannot read first writes a `format` record, so that they stop there with a clear message. Formats:
//   1: without a format record
//   2: format, drills, reservations for maintenance, tenants of repair sessions
//   3: proposals, leases of nodes, engines and container images of jobs
//   4: repair steps other than a power cycle
inline constexpr std::uint32_t kJournalFormat = 4;

// Snapshots hold the numbers of kinds: new ones are added at the end.
enum class RecordKind : std::uint8_t {
  job_submitted,       // job, user, key, text: the specification
  job_held,            // job, user, text: reason
  job_released,        // job, user; failures are counted from zero again
  job_cancel,          // job, user, text: reason; the attempt has yet to end
  job_ended,           // job, code: JobState, value: exit status, text: reason
  attempt_placed,      // job, attempt, code: charge, slots, boots
  attempt_unplaced,    // job, attempt, text: reason; nothing was sent to the engine
  checkpoint_asked,    // job, attempt, operation
  checkpoint_chosen,   // job, attempt, text: name, note: path, value: step, key: those rejected
  attempt_starting,    // job, attempt, operation; again if the engine proved that it did not accept
  part_running,        // job, attempt, node
  part_sealed,         // job, attempt, node, code: PartEnd, value: exit status, text
  attempt_checkpoint,  // job, attempt, operation: a checkpoint was requested before the stop
  attempt_stopping,    // job, attempt, operation, code: StopCause, text; again to repeat the stop
  attempt_ended,       // job, attempt, code: AttemptEnd, value: exit status, text, until: not before
  checkpoint_written,  // job, attempt, text: name, value: step, until: how long it took (ns)
  orphan_stopped,      // job, attempt, node, operation: an attempt that had ended was seen running
  outcome,             // operation, code: OperationEnd, text
  node_boot,           // node, boot
  node_health,         // node, code: Health, text: signal, until: time of the observation
  node_drain,          // node, user, text: reason; by a person
  node_resume,         // node, user, text
  node_off,            // node, user, text: a person has verified that it is powered off
  cordon_seen,         // node, code: 1 if cordoned, text: owner
  cordon_removed,      // node, session: one that has ended, operation: its mark is removed
  session_opened,      // session, node, text: cause, until: time of the evidence, key: tenants there, one per line
  session_step,        // session, node, code: SessionStep, operation, value: RepairAction, text
  session_closed,      // session, node, code: SessionEnd, text
  breaker,             // code: 1 tripped, 0 reset; text: why
  lease,               // reserved; never written
  tenant_use,          // user: the tenant, value: GPU-milliseconds, decayed; until: at this time
  format,              // value: the format of the records from here on
  drill_begun,         // job, attempt: the one to be stopped, user
  drill_ended,         // job, attempt: the one that restored the checkpoint, code: DrillResult, text: why it failed
  reservation_made,    // key: its name, user, text: reason, slots: its nodes, value: from, until: its end
  reservation_ended,   // key: its name, user: who removed it ("": its time is over), text: reason
  stage_proposed,      // node, code: Stage, session (0: none is open), text: why; nothing is sent
  proposal_ended,      // node, code: Stage, text: why it no longer holds
  lease_granted,       // node, code: LeaseOwner, value: epoch, operation: the gate is opened
  lease_step,          // node, code: LeasePhase, operation, text
  lease_move,          // node, code: LeaseOwner, value: 1 to preempt, user, text: reason, operation: cordon; again to
                       // change the target
  lease_order,         // node, code: LeaseOwner, value: epoch, operation, text: an order outside of a move
  lease_policy,        // node, code: LeaseOwner: what the schedule decided
};
inline constexpr std::uint8_t kRecordKinds = 43;
[[nodiscard]] std::string_view to_text(RecordKind kind);

// The error for a journal or snapshot (`what`) of a newer version of weft.
[[nodiscard]] Error newer_format(std::string_view what, std::int64_t format);

struct Record {
  RecordKind kind{};
  sched::Moment at{};
  JobNumber job = 0;
  AttemptNumber attempt = 0;
  OperationId operation = 0;
  SessionId session = 0;
  sched::NodeId node{};
  std::uint8_t code = 0;
  std::int64_t value = 0;
  sched::Moment until{};
  std::string user;
  std::string key;
  std::string text;
  std::string note;
  std::vector<sched::Slot> slots;
  std::vector<BootId> boots;
  friend bool operator==(const Record&, const Record&) = default;
};

// One line. parse_record() of it is an equal record; an unknown kind or field is an error ("written by a newer
// version").
[[nodiscard]] std::string to_text(const Record& record);
[[nodiscard]] Result<Record> parse_record(std::string_view line);

}  // namespace weft::control
