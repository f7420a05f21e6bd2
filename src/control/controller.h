// Controller: the state machine that runs a cluster. Events go in; records come out, and commands that may be sent once
// those records are durable. It starts no thread, opens no socket and reads no clock; the same events at the same times
// yield the same records. It never concludes from silence: an attempt has ended, a node is off or healthy only by a
// report.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/command.h"
#include "control/defect.h"
#include "control/event.h"
#include "control/options.h"
#include "control/state.h"
#include "sched/core/scheduler.h"

namespace weft::control {

// Answer to a Request, to be delivered once the records of the step are durable.
struct Answer {
  std::uint64_t request = 0;
  bool ok = true;
  ErrorCode code = ErrorCode::internal;  // if not ok
  JobNumber job = 0;
  std::string text;
  bool changed = false;  // refused because Request::unchanged no longer held
};

// What follows from events. The caller makes the records durable first, then sends commands and answers.
struct Step {
  std::vector<Record> records;
  std::vector<Command> commands;
  std::vector<Answer> answers;
};

// Whom a text is for. Those for users name no people, jobs or processes: they may belong to another tenant.
enum class Reader : std::uint8_t { operators, users };

class Controller {
 public:
  Controller(std::shared_ptr<const sched::Machine> machine, ControllerOptions options);
  // Continues from a state that was read from a store.
  Controller(ControlState state, ControllerOptions options);

  // Once after construction: resumes what a crash interrupted and asks the world what runs.
  void begin(sched::Moment now, Step& step);
  void handle(const Event& event, sched::Moment now, Step& step);
  // Schedules; once per batch of events, as it costs more than an event.
  void decide(sched::Moment now, Step& step);

  [[nodiscard]] const ControlState& state() const { return state_; }
  [[nodiscard]] const sched::Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const ControllerOptions& options() const { return options_; }
  // The scheduler's id of a job that has not ended.
  [[nodiscard]] std::optional<sched::JobId> scheduler_id(JobNumber job) const;
  // Whether a node is reserved for maintenance now; automatic repair leaves it alone.
  [[nodiscard]] bool is_in_maintenance(sched::NodeId node) const;
  // Whether the scheduler may use a node.
  [[nodiscard]] bool is_usable(sched::NodeId node) const;
  // Why it may not; "": it may.
  [[nodiscard]] std::string why_unusable(sched::NodeId node, Reader reader = Reader::operators) const;
  // Why the automatic repair of a node with a fatal signal does not begin; "": it has begun, or is not needed.
  [[nodiscard]] std::string why_not_repaired(sched::NodeId node) const;
  // Whether nodes are leased to engines: the server has two or more.
  [[nodiscard]] bool uses_leases() const;
  // What the lease of a node waits for; "": nothing.
  [[nodiscard]] std::string why_lease_waits(sched::NodeId node) const;
  // What an operator can do about it, once it has waited for long; "": nothing.
  [[nodiscard]] std::string lease_advice(sched::NodeId node) const;
  // The engine that runs a job.
  [[nodiscard]] LeaseOwner engine_of(const JobSpec& spec) const;
  // An internal contradiction: the caller must stop. "": none.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  // In memory only: a restarted controller has heard from no node.
  struct Heard {
    sched::Moment at{};             // of the newest report
    sched::Moment last_fatal{};     // observation of the newest fatal report, or failed check
    RepairPlan plan{};              // of that report
    OperationId failed = 0;         // of a repair step that had no effect: the next tick takes the next action, after
    std::string failure;            // everything else that was reported is known
    std::uint32_t missing = 0;      // consecutive inventories in which a part that ran was missing
    sched::Moment booted{};         // when its boot id was first seen, or changed
    sched::Moment cordon{};         // observation of the newest cordon report
    sched::Moment removal{};        // when a left-over mark of ours was last removed
    sched::Moment evicted{};        // when the engine was last asked to move its jobs away
    std::set<AttemptName> foreign;  // seen running there although the state has no such part: being stopped
    std::uint32_t work = 0;         // jobs of the engine itself that run there
    bool listed = false;            // an inventory of this term covers it
    bool usable = false;            // as the scheduler was told
  };

  // Likewise, of leases.
  struct LeaseHeard {
    struct Use {
      bool known = false;
      NodeUse node;
      sched::Moment observed{};
    };
    std::optional<GateReport> gate;              // the newest of a gate that obeys this term
    std::array<Use, lease::kLeaseOwners> use{};  // the newest, by engine
    sched::Moment corrected{};                   // when an order outside of a move was last sent
  };

  // controller.cc
  [[nodiscard]] bool has(Defect defect) const { return options_.defect == defect; }
  bool emit(Step& step, Record record);
  [[nodiscard]] Record record(RecordKind kind) const;
  [[nodiscard]] Record attempt_record(RecordKind kind, const Job& job) const;
  [[nodiscard]] OperationId next_operation() const { return state_.last_operation() + 1; }
  void build_scheduler();
  void save_tenant_use(Step& step);
  void on(const Tick& tick, Step& step);
  void on(const Request& request, Step& step);
  void on(const CommandReply& reply, Step& step);
  void on(const PartReport& report, Step& step);
  void on(const Inventory& inventory, Step& step);
  void on(const NodeReport& report, Step& step);
  void on(const PowerReport& report, Step& step);
  void on(const RepairReport& report, Step& step);
  void on(const ValidationReport& report, Step& step);
  void on(const CordonReport& report, Step& step);
  void on(const CheckpointWritten& report, Step& step);
  void on(const CheckpointVerified& report, Step& step);
  void on(const GateReport& report, Step& step);
  void on(const UseList& list, Step& step);

  // controller_requests.cc
  [[nodiscard]] JobNumber find_submission(const Request& request) const;
  [[nodiscard]] bool is_same_job(JobNumber number, const JobSpec& spec) const;
  Answer submit(const Request& request, Step& step);
  Answer cancel(const Request& request, Step& step);
  Answer hold(const Request& request, Step& step);
  Answer release(const Request& request, Step& step);
  Answer drain(const Request& request, Step& step);
  Answer resume(const Request& request, Step& step);
  Answer confirm_off(const Request& request, Step& step);

  // controller_reservations.cc
  Answer reserve(const Request& request, Step& step);
  Answer unreserve(const Request& request, Step& step);
  [[nodiscard]] std::string problem_of_reservation(const Request& request) const;
  [[nodiscard]] std::string describe_jobs_at(const Reservation& reservation) const;
  [[nodiscard]] std::string why_reserved(const Job& job) const;
  [[nodiscard]] std::string describe_maintenance(sched::NodeId node, Reader reader) const;
  void end_reservation(const std::string& name, const std::string& user, const std::string& reason, Step& step);
  void check_reservations(Step& step);
  void clear_for_maintenance(const Reservation& reservation, Step& step);
  void plan_outages();

  // controller_lease_requests.cc
  Answer move_lease(const Request& request, Step& step);
  [[nodiscard]] std::string problem_of_move(const Request& request) const;

  // controller_leases.cc
  void begin_leases(Step& step);
  void check_leases(Step& step);
  void advance_lease(sched::NodeId node, Step& step);
  void check_held_lease(sched::NodeId node, bool repeat, Step& step);
  void correct_lease(sched::NodeId node, Step& step);
  void drain_lease(sched::NodeId node, Step& step);
  void begin_lease_move(sched::NodeId node, LeaseOwner target, const std::string& user, const std::string& reason,
                        bool preempt, Step& step);
  void move_lease_phase(sched::NodeId node, LeasePhase next, std::string text, Step& step);
  void grant_lease(sched::NodeId node, LeaseOwner engine, const std::string& text, Step& step);
  void send_lease_order(sched::NodeId node, LeaseOwner engine, LeaseOrderKind kind, LeaseEpoch epoch,
                        OperationId operation, Step& step);
  [[nodiscard]] const ScheduledMove* find_scheduled_move(sched::NodeId node) const;
  void follow_schedule(sched::NodeId node, Step& step);
  void apply_lease_changes();
  void add_foreign_nodes(const JobSpec& spec, std::vector<sched::NodeId>& nodes) const;
  [[nodiscard]] LeaseOwner first_owner(sched::NodeId node) const;
  [[nodiscard]] std::string why_not_adopted(sched::NodeId node, LeaseOwner engine) const;
  [[nodiscard]] std::string why_not_drained(sched::NodeId node) const;
  [[nodiscard]] std::string why_not_released(sched::NodeId node) const;
  [[nodiscard]] std::string why_lease_blocks(sched::NodeId node, Reader reader) const;

  // controller_drill.cc
  Answer drill(const Request& request, Step& step);
  [[nodiscard]] std::vector<sched::NodeId> excluded_nodes(const Job& job) const;
  void check_drills(Step& step);
  void prove_drill(const Job& job, Step& step);
  void judge_drill(const Job& job, AttemptEnd end, const std::string& text, Step& step);
  void end_drill(const Job& job, DrillResult result, std::string text, Step& step);

  // controller_jobs.cc
  void advance(JobNumber number, Step& step);
  void start_placed(const Job& job, Step& step);
  void send_start(const Job& job, Step& step);
  void stop_attempt(const Job& job, StopCause cause, std::string text, Step& step, bool ask_checkpoint = false);
  void send_stop(const Job& job, StopCause cause, std::string text, Step& step);
  void seal(JobNumber number, sched::NodeId node, PartEnd end, std::int32_t code, const std::string& text, Step& step);
  void end_attempt(const Job& job, Step& step);
  void requeue(JobNumber number, AttemptEnd end, StopCause cause, Step& step);
  void unplace(const Job& job, std::string text, Step& step);
  void stop_orphan(AttemptName name, sched::NodeId node, Step& step);
  void forget_orphan(AttemptName name, sched::NodeId node);
  void check_jobs(Step& step);
  void check_deadlines(const Job& job, Step& step);
  [[nodiscard]] sched::Moment next_deadline(const Job& job) const;
  void vanish(const Inventory& inventory, Step& step);
  void stop_lost_starts(const NodeInventory& node, Step& step);
  [[nodiscard]] Duration interval_of(const Job& job) const;

  // controller_proposals.cc
  void propose(sched::NodeId node, Stage stage, std::string reason, Step& step);
  void withdraw(sched::NodeId node, std::string why, Step& step);
  [[nodiscard]] std::string why_proposal_is_over(sched::NodeId node) const;
  void check_proposal(sched::NodeId node, Step& step);
  bool waits_for_engine_jobs(sched::NodeId node, Step& step);

  // controller_nodes.cc
  void note_boot(sched::NodeId node, BootId boot, Step& step, bool proven = false);
  void set_health(sched::NodeId node, Health health, const std::string& signal, sched::Moment observed, Step& step);
  void update_usable(sched::NodeId node);
  void remove_leftover_cordon(sched::NodeId node, Step& step);
  void check_node(sched::NodeId node, Step& step);
  void check_breaker(Step& step);
  [[nodiscard]] std::string breaker_refuses(sched::NodeId node) const;
  [[nodiscard]] std::string tenant_limit_reached(sched::NodeId node) const;
  [[nodiscard]] std::set<std::string> tenants_on(sched::NodeId node) const;

  // controller_sessions.cc
  void open_session(sched::NodeId node, Step& step);
  void advance_session(sched::NodeId node, Step& step);
  void move_session(sched::NodeId node, SessionStep next, std::string text, Step& step,
                    RepairAction action = RepairAction::none);
  void close_session(sched::NodeId node, SessionEnd end, std::string text, Step& step);
  void drain_node(sched::NodeId node, Step& step);
  void remediate(sched::NodeId node, const std::string& why, Step& step);
  void note_failure(sched::NodeId node, std::string why);
  [[nodiscard]] RepairAction next_action(sched::NodeId node) const;
  [[nodiscard]] bool is_evidence_fresh(sched::NodeId node) const;
  [[nodiscard]] Duration deadline_of(SessionStep step) const;
  [[nodiscard]] static std::string mark_of(SessionId session);

  ControlState state_;
  ControllerOptions options_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::map<JobNumber, sched::JobId> ids_;
  std::vector<JobNumber> numbers_;  // by scheduler id
  std::set<JobNumber> active_;      // jobs with a current attempt
  std::set<JobNumber> drilling_;    // jobs with a pending drill
  // When a tick must look at an active job; those in `touched_` at the next one. A tick costs what is due, not what
  // runs.
  std::set<std::pair<sched::Moment, JobNumber>> deadlines_;
  std::map<JobNumber, sched::Moment> deadline_of_;
  std::vector<JobNumber> touched_;  // by a record since the last tick
  std::vector<Heard> heard_;
  std::vector<LeaseHeard> lease_heard_;
  bool leases_changed_ = false;                   // which jobs may use which nodes has to be told to the scheduler
  std::map<OperationId, AttemptName> verifying_;  // VerifyCheckpoint without an answer
  sched::Moment now_{};
  sched::Moment began_{};
  sched::Moment tripped_at_{};
  sched::Moment saved_use_{};
  sched::Moment queried_{};  // the inventory
  Term term_ = 0;
  std::string error_;
};

}  // namespace weft::control
