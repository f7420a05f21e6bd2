// State of the control plane: jobs with their attempts, nodes, repair sessions. It changes only in apply(), one record
// at a time: replaying the journal restores it. Decides nothing and knows no clock; see controller.h.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/event.h"
#include "control/lease_phase.h"
#include "control/record.h"
#include "control/stages.h"
#include "control/transitions.h"
#include "sched/core/tenants.h"
#include "sched/machine/machine.h"

namespace weft::control {

// The part of an attempt on one node.
struct Part {
  sched::NodeId node{};
  BootId boot = 0;       // of the node when it was placed
  bool running = false;  // seen
  bool sealed = false;   // does not run and never will
  PartEnd end = PartEnd::exited;
  std::int32_t code = 0;
  std::string text;
};

struct Attempt {
  AttemptNumber number = 0;
  std::vector<sched::Slot> slots;
  std::vector<Part> parts;  // one per node, in the order of the slots
  sched::Charge charge = sched::Charge::guaranteed;
  bool chosen = false;  // the checkpoint to restore has been chosen (or that there is none)
  std::string checkpoint;
  std::string checkpoint_path;
  std::int64_t step = 0;
  OperationId asked = 0;   // the last verification of checkpoints; 0: none
  OperationId notice = 0;  // the request for a checkpoint before the stop
  OperationId start = 0;   // the last start that was sent
  std::uint32_t starts = 0;
  OperationId stop = 0;  // the last stop that was sent
  std::uint32_t stops = 0;
  StopCause cause = StopCause::none;
  std::string cause_text;
  sched::Moment placed{};
  sched::Moment sent{};                // the last start
  sched::Moment running{};             // when every part was seen running
  sched::Moment stopped{};             // when the last stop was sent
  std::vector<std::uint32_t> by_node;  // positions in `parts` in the order of their nodes; empty: not indexed yet
  [[nodiscard]] bool all_sealed() const;
  void index_parts();  // once `parts` is complete: jobs of thousands of nodes have as many reports
  [[nodiscard]] Part* find(sched::NodeId node);
  [[nodiscard]] const Part* find(sched::NodeId node) const { return const_cast<Attempt*>(this)->find(node); }
};

// The last checkpoint drill of a job: an attempt was stopped, and the next one must restore the checkpoint on other
// nodes.
struct Drill {
  DrillResult result = DrillResult::pending;
  AttemptNumber stopped = 0;   // the attempt that was stopped
  AttemptNumber restored = 0;  // the attempt that restored the checkpoint; 0: none has
  std::string user;
  sched::Moment begun{};
  sched::Moment ended{};
  std::vector<sched::NodeId> before;  // nodes of the attempt that was stopped
  std::vector<sched::NodeId> after;   // nodes of the attempt that restored the checkpoint
  std::string checkpoint;             // that was restored
  std::int64_t step = 0;
  std::string text;  // why it failed
};
// "passed: attempt 3 restored step-000050 (step 50) on n4, n5; attempt 2 had run on n0, n1".
[[nodiscard]] std::string describe(const Drill& drill, const sched::Machine& machine);

struct Job {
  JobNumber number = 0;
  std::shared_ptr<const JobSpec> spec;
  JobState state = JobState::submitted;
  std::string user;
  std::string key;
  sched::Moment submitted{};
  sched::Moment queued{};  // start of the current wait
  sched::Moment first_start{};
  bool held = false;
  bool cancel = false;
  std::string reason;  // why it is held, was canceled, or what ended its last attempt
  sched::Moment not_before{};
  AttemptNumber attempts = 0;
  std::optional<Attempt> current;
  std::int32_t failures = 0;       // of the application
  std::int32_t node_failures = 0;  // of nodes and engines, since the last progress
  std::int32_t preemptions = 0;
  std::string checkpoint;  // the newest that was reported
  std::int64_t step = 0;
  sched::Moment checkpointed{};
  Duration write_time{};  // measured; 0: not yet
  std::optional<Drill> drill;
};

// What is kept of a job that has ended.
struct EndedJob {
  JobNumber number = 0;
  JobState state = JobState::done;
  std::string name;
  std::string user;
  std::string tenant;
  std::string key;
  std::string reason;
  std::string drill;          // the last one, described; "": none
  std::string output;         // JobSpec::output
  std::uint64_t content = 0;  // hash of the job as submitted, if it had a key; 0: not known
  std::int32_t code = 0;
  AttemptNumber attempts = 0;
  std::int32_t tasks = 0;
  sched::Moment submitted{};
  sched::Moment first_start{};
  sched::Moment ended{};
};

struct Session {
  SessionId id = 0;
  SessionStep step = SessionStep::quarantine;
  OperationId operation = 0;  // of the current step
  std::string cause;
  sched::Moment evidence{};  // time of the observation that opened it
  sched::Moment opened{};
  sched::Moment since{};                    // of the step
  std::vector<std::string> tenants;         // whose jobs ran there when it was opened
  RepairAction tried = RepairAction::none;  // the last action
};

// What would be done to a node if the stage were enabled there.
struct Proposal {
  Stage stage = Stage::quarantine;
  SessionId session = 0;  // that it belongs to; 0: none is open
  std::string reason;
  sched::Moment at{};
};

struct Node {
  BootId boot = 0;         // last reported; 0: none yet
  std::set<BootId> boots;  // all that were ever reported: a report of an old one is stale
  Health health = Health::unknown;
  std::string signal;
  sched::Moment observed{};  // of the health
  bool drained = false;      // by a person
  std::string drained_by;
  std::string drain_reason;
  sched::Moment drained_at{};
  bool cordoned = false;  // as the engine shows it
  std::string cordon_owner;
  std::optional<Session> session;
  std::optional<Proposal> proposal;
  sched::Moment settled{};  // when the last session was closed: older evidence belongs to it
  NodeLease lease;
  std::uint32_t sessions = 0;
};

// Nodes that people keep free for maintenance: while it lasts, no job starts there, those that run there are preempted
// (services are not), and nothing is repaired automatically.
struct Reservation {
  std::string name;
  std::vector<sched::NodeId> nodes;  // in ascending order
  sched::Moment from{};
  sched::Moment until{};
  std::string user;
  std::string reason;
  sched::Moment made{};
  [[nodiscard]] bool is_active(sched::Moment now) const { return from <= now && now < until; }
  [[nodiscard]] bool has(sched::NodeId node) const;
};

struct TenantUse {
  double gpu_seconds = 0;
  sched::Moment at{};
};

class ControlState {
 public:
  explicit ControlState(std::shared_ptr<const sched::Machine> machine);

  // Changes the state by one record. An error (and no change) if the record contradicts the state: the journal is
  // damaged or was edited.
  Status apply(const Record& record);

  [[nodiscard]] const sched::Machine& machine() const { return *machine_; }
  [[nodiscard]] const std::map<JobNumber, Job>& jobs() const { return jobs_; }  // that have not ended
  [[nodiscard]] const Job* find_job(JobNumber number) const;
  [[nodiscard]] const std::deque<EndedJob>& ended() const { return ended_; }
  [[nodiscard]] const EndedJob* find_ended(JobNumber number) const;
  [[nodiscard]] const Node& node(sched::NodeId id) const { return nodes_[sched::index_of(id)]; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  // What attempts that may still run leave free on a node: independent of the scheduler's own accounting.
  [[nodiscard]] const sched::NodeFree& unclaimed(sched::NodeId id) const { return unclaimed_[sched::index_of(id)]; }
  // Whether the slots of the current attempt are free of attempts that may still run.
  [[nodiscard]] bool can_claim(const Job& job) const;
  // The jobs with a part on a node that is not sealed.
  [[nodiscard]] const std::set<JobNumber>& jobs_on(sched::NodeId id) const { return jobs_on_[sched::index_of(id)]; }
  // The job that a user submitted with this key; 0: none.
  [[nodiscard]] JobNumber find_key(const std::string& user, const std::string& key) const;
  [[nodiscard]] const std::map<std::string, Reservation>& reservations() const { return reservations_; }
  // The reservation of a node at this time; null: none.
  [[nodiscard]] const Reservation* find_reservation(sched::NodeId id, sched::Moment now) const;
  [[nodiscard]] bool tripped() const { return tripped_; }
  [[nodiscard]] const std::string& trip_reason() const { return trip_reason_; }
  [[nodiscard]] const std::map<std::string, TenantUse>& tenant_use() const { return tenant_use_; }
  [[nodiscard]] const std::map<OperationId, Record>& open_operations() const { return operations_; }
  [[nodiscard]] sched::Moment now() const { return now_; }
  [[nodiscard]] std::uint32_t format() const { return format_; }  // of the journal

  [[nodiscard]] JobNumber last_job() const { return last_job_; }
  [[nodiscard]] OperationId last_operation() const { return last_operation_; }
  [[nodiscard]] SessionId last_session() const { return last_session_; }
  [[nodiscard]] LeaseEpoch last_epoch() const { return last_epoch_; }
  [[nodiscard]] std::size_t open_sessions() const { return open_sessions_; }

  // All state that the journal restores, one line per object: equal for equal states. Also the snapshot format.
  [[nodiscard]] std::string to_text() const;
  // The part of it about one job (""; there is none) or node: differs if anything about the object has changed.
  [[nodiscard]] std::string job_text(JobNumber number) const;
  [[nodiscard]] std::string node_text(sched::NodeId id) const;
  static Result<ControlState> parse(std::shared_ptr<const sched::Machine> machine, std::string_view text);

  // Ended jobs beyond this number are forgotten, oldest first.
  static constexpr std::size_t kMaxEnded = 100'000;

 private:
  friend class StateReader;
  // The error for a record that contradicts the state.
  [[nodiscard]] static Error contradiction(const Record& record, std::string_view why);
  Status apply_to_job(const Record& record);
  Status apply_to_attempt(Job& job, const Record& record);
  Status begin_drill(Job& job, const Record& record);
  Status end_drill(Job& job, const Record& record);
  Status apply_part(Job& job, const Record& record);
  Status apply_to_node(const Record& record);
  Status apply_to_session(const Record& record);
  void note_actions_before();
  Status apply_reservation(const Record& record);
  Status apply_proposal(const Record& record);
  Status apply_lease(const Record& record);
  Status submit(const Record& record);
  void place(Job& job, const Record& record);
  void end_attempt(Job& job, const Record& record);
  void end_job(Job& job, const Record& record);
  void keep_ended(EndedJob ended);
  void keep_key(const std::string& user, const std::string& key, JobNumber job);
  Status move(Job& job, JobState next, const Record& record);
  void claim(const Job& job);
  void release_part(const Job& job, const Part& part);
  void open_operation(const Record& record);
  void close_operation(OperationId operation);
  void close_operations(const Attempt& attempt);

  std::shared_ptr<const sched::Machine> machine_;
  std::map<JobNumber, Job> jobs_;
  std::deque<EndedJob> ended_;
  std::unordered_map<JobNumber, std::uint64_t> ended_at_;  // position in ended_, plus forgotten_
  std::uint64_t forgotten_ = 0;                            // removed from the front of ended_
  std::unordered_map<std::string, JobNumber> keys_;        // by user and key
  std::vector<Node> nodes_;
  std::vector<sched::NodeFree> unclaimed_;
  std::vector<std::set<JobNumber>> jobs_on_;
  std::map<OperationId, Record> operations_;  // sent, without an outcome
  std::map<std::string, TenantUse> tenant_use_;
  std::map<std::string, Reservation> reservations_;
  JobNumber last_job_ = 0;
  OperationId last_operation_ = 0;
  SessionId last_session_ = 0;
  LeaseEpoch last_epoch_ = 0;  // of all leases
  std::size_t open_sessions_ = 0;
  sched::Moment now_{};
  std::uint32_t format_ = 1;
  bool tripped_ = false;
  std::string trip_reason_;
};

}  // namespace weft::control
