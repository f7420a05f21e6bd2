// Controller: the state machine that runs a cluster. Events go in; records come out, and commands that may be sent once
// those records are durable. It starts no thread, opens no socket and reads no clock; the same events at the same times
// yield the same records. It never concludes from silence: an attempt has ended, a node is off or healthy only by a
// report.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
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
};

// What follows from events. The caller makes the records durable first, then sends commands and answers.
struct Step {
  std::vector<Record> records;
  std::vector<Command> commands;
  std::vector<Answer> answers;
};

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
  // Whether the scheduler may use a node.
  [[nodiscard]] bool is_usable(sched::NodeId node) const;
  // Why it may not; "": it may.
  [[nodiscard]] std::string why_unusable(sched::NodeId node) const;
  // An internal contradiction: the caller must stop. "": none.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  // In memory only: a restarted controller has heard from no node.
  struct Heard {
    sched::Moment at{};             // of the newest report
    sched::Moment last_fatal{};     // observation of the newest fatal report
    std::uint32_t missing = 0;      // consecutive inventories in which a part that ran was missing
    sched::Moment cordon{};         // observation of the newest cordon report
    sched::Moment removal{};        // when a left-over mark of ours was last removed
    std::set<AttemptName> foreign;  // seen running there although the state has no such part: being stopped
    bool listed = false;            // an inventory of this term covers it
    bool usable = false;            // as the scheduler was told
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
  void on(const ValidationReport& report, Step& step);
  void on(const CordonReport& report, Step& step);
  void on(const CheckpointWritten& report, Step& step);
  void on(const CheckpointVerified& report, Step& step);

  // controller_requests.cc
  Answer submit(const Request& request, Step& step);
  Answer cancel(const Request& request, Step& step);
  Answer hold(const Request& request, Step& step);
  Answer release(const Request& request, Step& step);
  Answer drain(const Request& request, Step& step);
  Answer resume(const Request& request, Step& step);
  Answer confirm_off(const Request& request, Step& step);
  Answer drill(const Request& request, Step& step);

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
  void check_deadlines(const Job& job, Step& step);
  void vanish(const Inventory& inventory, Step& step);
  [[nodiscard]] Duration interval_of(const Job& job) const;

  // controller_nodes.cc
  void note_boot(sched::NodeId node, BootId boot, Step& step);
  void set_health(sched::NodeId node, Health health, const std::string& signal, sched::Moment observed, Step& step);
  void update_usable(sched::NodeId node);
  void open_session(sched::NodeId node, Step& step);
  void advance_session(sched::NodeId node, Step& step);
  void move_session(sched::NodeId node, SessionStep next, std::string text, Step& step);
  void close_session(sched::NodeId node, SessionEnd end, std::string text, Step& step);
  void drain_node(sched::NodeId node, Step& step);
  void remove_leftover_cordon(sched::NodeId node, Step& step);
  void check_node(sched::NodeId node, Step& step);
  void check_breaker(Step& step);
  [[nodiscard]] std::string breaker_refuses(sched::NodeId node) const;
  [[nodiscard]] Duration deadline_of(SessionStep step) const;

  ControlState state_;
  ControllerOptions options_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::map<JobNumber, sched::JobId> ids_;
  std::vector<JobNumber> numbers_;  // by scheduler id
  std::set<JobNumber> active_;      // jobs with a current attempt
  std::vector<Heard> heard_;
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
