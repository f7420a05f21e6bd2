// Events from the world to the controller: what users request, what engines, nodes and BMCs report. Reports carry the
// time of the observation, not of its arrival: a late report is not fresh evidence.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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

// Reply to a command.
enum class ReplyKind : std::uint8_t {
  accepted,   // it will be tried; reports follow
  transient,  // not accepted, proven by the engine's answer: may be sent again
  permanent,  // not accepted and never will be
  ambiguous   // timeout, lost connection: it may or may not be executed
};
[[nodiscard]] std::string_view to_text(ReplyKind kind);
struct CommandReply {
  OperationId operation = 0;
  ReplyKind kind = ReplyKind::accepted;
  std::string text;
};

// The part of an attempt on one node.
enum class PartPhase : std::uint8_t {
  running,
  exited,  // by itself or stopped; sealed
  absent   // it does not run there. Sealed only if `sealed` is set
};
[[nodiscard]] std::string_view to_text(PartPhase phase);
struct PartReport {
  AttemptName name;
  sched::NodeId node{};
  BootId boot = 0;  // of the node when it was observed
  PartPhase phase = PartPhase::running;
  bool sealed = false;  // it does not run on this node and never will
  // Exit status, 128 + signal if killed; the first non-zero one of its ranks. Negative: it is gone and its exit status
  // is not known (its supervisor was killed).
  std::int32_t code = 0;
  std::string text;  // what an operator should know: "killed by signal 9", "out of memory"
  sched::Moment observed{};
};

// All attempts on the listed nodes at one moment. A node that is not listed was not reached: nothing is known of it.
struct NodeInventory {
  sched::NodeId node{};
  BootId boot = 0;
  std::vector<AttemptName> running;
  Term term = 0;  // the greatest that the node has obeyed
};
struct Inventory {
  std::vector<NodeInventory> nodes;
  sched::Moment observed{};
};

// Health of a node: from telemetry, the kernel, the engine.
enum class Health : std::uint8_t { unknown, healthy, degraded, fatal };
inline constexpr std::uint8_t kHealths = 4;
[[nodiscard]] std::string_view to_text(Health health);
struct NodeReport {
  sched::NodeId node{};
  BootId boot = 0;
  Health health = Health::healthy;
  std::string signal;  // what was seen: "Xid 79", "link down"
  sched::Moment observed{};
  std::uint32_t work = 0;  // watch mode: jobs of the engine itself that run there
  RepairPlan plan{};       // of a fatal one
};

// Power state seen by the BMC.
struct PowerReport {
  OperationId operation = 0;  // of the PowerCycle that it answers; 0: polled
  sched::NodeId node{};
  bool was_off = false;  // it was verified to be off after that command was sent
  bool on = false;
  std::string text;
  sched::Moment observed{};
};

// What became of a RepairNode. That a node has rebooted is seen from its boot id.
struct RepairReport {
  OperationId operation = 0;
  sched::NodeId node{};
  BootId boot = 0;
  bool done = false;  // it was done; false: it is known not to have been done, or to have had no effect
  std::string text;
  sched::Moment observed{};
};

struct ValidationReport {
  OperationId operation = 0;
  sched::NodeId node{};
  BootId boot = 0;
  bool passed = false;
  std::string text;
  sched::Moment observed{};
};

// Cordon mark that the engine shows for a node.
struct CordonReport {
  sched::NodeId node{};
  bool cordoned = false;
  std::string owner;  // "weft:SESSION", or anything else: not ours
  sched::Moment observed{};
};

// What the gates of a node show, and what runs there: seen on the node itself, by the gate's program. Two of the three
// witnesses that a GPU is free.
struct EngineGate {
  lease::LeaseEpoch open = 0;   // the epoch under which work may start; 0: closed
  lease::LeaseEpoch floor = 0;  // epochs up to this one are never opened
  std::uint32_t steps = 0;      // steps of Slurm, pods with GPUs: on the node, not in a list
};
struct GateReport {
  sched::NodeId node{};
  BootId boot = 0;  // of the gate: orders name it
  Term term = 0;    // the greatest that the gate has obeyed
  std::array<EngineGate, lease::kLeaseOwners> engines{};
  std::uint32_t holders = 0;  // processes that hold a GPU's device file open
  std::string text;           // what runs there: "pid 4711 (python3) holds /dev/nvidia0"
  sched::Moment observed{};   // when the look began
};

// What the scheduler of an engine says about its nodes: the third witness. A node that is not listed is not known.
struct NodeUse {
  sched::NodeId node{};
  std::uint32_t jobs = 0;  // its jobs or pods there that have not ended, of any user
  bool cordoned = false;   // by the mark of a lease
  std::string text;        // "job 4711 of alice"
};
struct UseList {
  lease::LeaseOwner engine = lease::LeaseOwner::none;
  std::vector<NodeUse> nodes;
  sched::Moment observed{};  // when the query was sent
};

// A checkpoint appeared (its manifest is complete).
struct CheckpointWritten {
  AttemptName name;
  std::string checkpoint;  // its name; names of later checkpoints sort after earlier ones
  std::int64_t step = 0;
  Duration took{};
  sched::Moment observed{};
};

// Answer to VerifyCheckpoint.
struct CheckpointVerified {
  OperationId operation = 0;
  JobNumber job = 0;
  std::string checkpoint;  // the newest intact one; "": none
  std::string path;
  std::int64_t step = 0;
  std::string rejected;  // newer ones that failed, with the reason; "": none
  bool readable = true;  // false: a volume could not be read, so "none" is not an answer
  sched::Moment observed{};
};

class ControlState;

// Request of a user. `key` makes a repetition safe: the same key of the same user returns the first answer.
enum class RequestKind : std::uint8_t {
  submit,
  cancel,
  hold,
  release,
  drain,
  resume,
  drill,        // stop the job with a checkpoint and restore it on other nodes
  confirm_off,  // the user has verified that the node is powered off
  reserve,      // nodes for maintenance
  unreserve,
  move_lease  // nodes to another engine
};
[[nodiscard]] std::string_view to_text(RequestKind kind);
struct Request {
  std::uint64_t id = 0;  // of the connection that waits for the answer; not journaled
  RequestKind kind = RequestKind::submit;
  std::string user;
  std::string key;
  std::string reason;
  JobNumber job = 0;
  sched::NodeId node{};
  JobSpec spec;                      // of a submit
  std::string name;                  // of a reservation
  std::vector<sched::NodeId> nodes;  // of a reserve or a move_lease
  sched::Moment from{};              // of a reserve, in the journal's time (ControlLoop::journal_time()); may be past
  sched::Moment until{};
  lease::LeaseOwner engine = lease::LeaseOwner::none;  // of a move_lease: the one that gets the nodes
  bool preempt = false;                                // of a move_lease: stop the jobs there
  // What the user saw of the object (ControlState::job_text(), node_text()), if the request is to be refused unless
  // that is still so; not journaled.
  std::function<bool(const ControlState&)> unchanged;
};

// Time has passed; the controller acts on deadlines.
struct Tick {};

using Event = std::variant<Tick, Request, CommandReply, PartReport, Inventory, NodeReport, PowerReport, RepairReport,
                           ValidationReport, CordonReport, CheckpointWritten, CheckpointVerified, GateReport, UseList>;

}  // namespace weft::control
