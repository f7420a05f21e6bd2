// Simulated world: nodes with processes, an engine, BMCs, telemetry, checkpoints and a plant, with faults in all of
// them. It knows the truth, so it checks at every side effect what the controller can only infer: no GPU with two
// holders, no job in two attempts, no command before its record. Time is simulated; every choice comes from Choices.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/defect.h"
#include "lease/gate.h"
#include "world/core/world.h"
#include "world/sim/choices.h"

namespace weft::world {

// Faults that a run may have; each run enables a random subset.
enum class Fault : std::uint8_t {
  reply_lost,
  reply_ambiguous,
  reply_wrong_operation,
  command_lost,  // accepted, not done
  command_late,
  command_twice,
  start_partial,  // some nodes only
  start_refused,  // transient or permanent
  report_lost,
  report_late,
  report_twice,
  inventory_partial,
  inventory_stale,
  inventory_empty,  // everything disappears
  application_fails,
  process_killed,  // by someone
  node_crash,      // the operating system ends; silent until power cycled
  node_silent,     // unreachable for a while, processes keep running
  node_reboot,
  rack_power,
  telemetry_stuck,  // repeats old reports as if they were new
  telemetry_fatal,  // a fatal signal of a node that works
  bmc_fails,        // a power cycle that does not happen
  bmc_silent,
  validation_fails,
  validation_lost,
  cordon_by_person,
  uncordon_by_person,
  checkpoint_torn,
  checkpoint_lost,
  volume_unreadable,
  store_full,
  store_lost_fsync,
  store_damage,
  crash_after_effect,  // of the controller
  crash_any_time,
  clock_jump,  // between two starts of the controller
  user_cancels,
  user_holds,
  user_drains,
  user_repeats,  // a submission with the same key
  user_drills,
  user_reserves,   // nodes for maintenance
  old_version,     // an earlier version wrote the beginning of the journal
  user_moves,      // nodes to the other engine
  foreign_job,     // submitted to an engine directly, beside weft
  ignores_cordon,  // such a job names a node that is closed for new work
  step_lingers,    // a step runs on although its scheduler says that the job has ended
  step_escapes,    // a process leaves its step and keeps the GPU
  bare_process,    // an administrator uses a GPU without any engine
  list_empty,      // an engine has lost its jobs, and says that there are none
  list_stuck,      // an engine repeats an old list as if it were new
  engine_down,     // an engine's scheduler does not answer for a while
  gate_silent,     // the gate's program does not answer for a while
  repair_refused,  // a repair step that is not available on the node
  repair_fails,    // a repair step that reports its failure
  repair_useless,  // a repair step that reports success and changes nothing
  reboot_hangs,    // a reboot that does not come to its end
};
inline constexpr std::uint32_t kFaults = 58;
[[nodiscard]] std::string_view to_text(Fault fault);

class SimWorld final : public World {
 public:
  SimWorld(const sched::Machine& machine, Choices& choices);

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

  // Simulated time. advance() executes what is due up to `time`.
  [[nodiscard]] sched::Moment time() const { return time_; }
  [[nodiscard]] sched::Moment next() const;
  void advance(sched::Moment time);

  // Whether this fault happens now, with `per_mille` thousandths if the run has it; counted.
  bool happens(Fault fault, std::uint32_t per_mille);
  void enable(Fault fault, bool on) { enabled_[static_cast<std::size_t>(fault)] = on; }
  // Enabled, and eight times as frequent.
  void focus(Fault fault);
  [[nodiscard]] bool is_enabled(Fault fault) const { return enabled_[static_cast<std::size_t>(fault)]; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t faults() const;

  // The controller's process died: what was on its way to it is lost.
  void controller_crashed();
  // The plant is repaired and people finish their work: no fault happens from now on.
  void heal();

  // The first violated invariant; "": none.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  void violate(std::string text);
  // Called before every command, with the operation that must be durable by now. Set by the simulation.
  std::function<bool(control::OperationId)> is_durable;
  std::function<bool(control::JobNumber)> is_canceled;
  // Two engines share the nodes, with a gate of each on every node.
  void enable_leases(std::vector<lease::LeaseOwner> engines, control::Defect defect);
  [[nodiscard]] bool has_leases() const { return !engines_.empty(); }
  // Whether the controller may start a job on a node now: "" or the problem. Set by the simulation.
  std::function<std::string(sched::NodeId, control::JobNumber)> lease_problem;
  bool tolerate_lost_records = false;  // an ignored fsync: names may be issued again

  // What must hold when everything has settled: "" or the problem.
  [[nodiscard]] std::string unsettled() const;
  [[nodiscard]] bool succeeded(control::JobNumber job) const { return succeeded_.contains(job); }
  [[nodiscard]] std::uint32_t application_failures(control::JobNumber job) const;
  // Since when an attempt that the controller takes for running does not compute although all its nodes answer: a part
  // of it is gone. kNever: it computes, or a node does not answer.
  [[nodiscard]] sched::Moment stalled_since(control::AttemptName name);
  // Whether `restored` restored this checkpoint on nodes that `stopped` did not use: "" or the problem.
  [[nodiscard]] std::string drill_problem(control::JobNumber job, control::AttemptNumber stopped,
                                          control::AttemptNumber restored, const std::string& checkpoint) const;
  // Events on the plant that happen by themselves, once per call.
  void stir();
  [[nodiscard]] std::set<std::string>& reached() { return reached_; }
  [[nodiscard]] bool is_off(sched::NodeId node) const;
  // Simulated time of the newest fatal observation that the controller got of a node.
  [[nodiscard]] sched::Moment told_fatal(sched::NodeId node) const { return at(node).told_fatal; }
  // Likewise of its cordon mark.
  // Whether checks of this session have passed.
  [[nodiscard]] bool is_validated(control::SessionId session) const { return validated_.contains(session); }
  [[nodiscard]] sched::Moment told_mark(sched::NodeId node) const { return at(node).told_mark; }
  // Cordon marks, as people change them.
  void person_marks();
  // Limits of the invariants.
  Duration evidence_age = sched::seconds(120);
  Duration stale_after = sched::seconds(60);

 private:
  struct Process {
    std::vector<sched::Slot> slots;
    std::uint64_t serial = 0;
  };
  struct SimNode {
    bool alive = true;                                         // the operating system runs
    bool reachable = true;                                     // agent and controller can talk
    bool bad = false;                                          // broken until it is cured
    control::RepairAction cure = control::RepairAction::none;  // this action or a greater one cures it
    control::RepairPlan plan{};                                // that telemetry proposes
    control::BootId boot = 1;
    control::Term term = 0;
    std::map<control::AttemptName, Process> processes;
    std::set<control::AttemptName> started;
    std::map<control::AttemptName, control::PartReport> sealed;
    std::string mark;  // cordon; "": none
    bool marked = false;
    sched::Moment told_fatal{};  // observation of the newest fatal report that the controller got
    sched::Moment told_alive{};  // likewise of any report from the node itself
    sched::Moment told_mark{};   // likewise of the cordon mark
    std::string told_owner;      // that mark; "": none
    control::NodeReport stuck{};
    std::vector<lease::LeaseGate> gates;               // by LeaseOwner; empty: the world has no leases
    std::array<bool, lease::kLeaseOwners> cordoned{};  // by the mark of a lease, in each engine
    struct Foreign {
      lease::LeaseOwner engine = lease::LeaseOwner::none;
      bool listed = true;    // by its scheduler
      bool step = false;     // runs
      bool escaped = false;  // its step is gone, a process is not
      bool device = false;   // holds a GPU's device file open
    };
    std::map<std::uint64_t, Foreign> foreign;  // jobs beside weft
    bool bare = false;                         // a process of an administrator
    sched::Moment gate_answers{};              // the gate's program answers from then on
  };
  struct SimCheckpoint {
    std::string name;
    std::int64_t step = 0;
    bool intact = true;
  };
  struct SimJob {
    std::shared_ptr<const control::JobSpec> spec;
    std::int64_t step = 0;  // of the running attempt
    std::vector<SimCheckpoint> checkpoints;
    std::set<std::string> verified;   // for the controller, since the last start
    control::AttemptNumber sent = 0;  // the last start
    control::AttemptNumber attempt = 0;
    std::size_t finished = 0;
    std::uint32_t application_failures = 0;
    sched::Moment stalled = sched::kNever;
    struct Run {
      std::set<sched::NodeId> nodes;
      std::size_t parts = 0;  // it computes when so many run
      std::string checkpoint;
    };
    std::map<control::AttemptNumber, Run> runs;  // of every attempt: where processes started, and from which checkpoint
  };
  using Action = std::function<void()>;

  void later(Duration delay, Action action);
  void tell(const control::Event& event, std::uint32_t delay_ms = 100);
  void reply(control::OperationId operation, control::ReplyKind kind, std::string text);
  void check_operation(control::OperationId operation);
  void on(const control::StartAttempt& command);
  void on(const control::StopAttempt& command);
  void on(const control::RequestCheckpoint& command);
  void on(const control::VerifyCheckpoint& command);
  void on(const control::QueryInventory& command);
  void on(const control::CordonNode& command);
  void on(const control::LeaseOrder& order);

  // sim_repair.cc
  void on(const control::PowerCycle& command);
  void on(const control::RepairNode& command);
  void on(const control::ValidateNode& command);
  [[nodiscard]] control::RepairPlan draw_plan();
  void break_node(sched::NodeId node);
  void cure(sched::NodeId node, control::RepairAction action);
  void repair(const control::RepairNode& command);
  void power_cycle(sched::NodeId node, control::OperationId operation);
  void check_repair(sched::NodeId node, control::SessionId session, control::RepairAction action);

  // sim_gates.cc
  void reset_gates(sched::NodeId node);
  void obey_gate(sched::NodeId node, const control::LeaseOrder& order);
  void report_gate(sched::NodeId node);
  void list_jobs(lease::LeaseOwner engine);
  void stir_leases();
  void submit_foreign(lease::LeaseOwner engine, std::uint64_t id, bool ignores_cordon);
  void enter_foreign(sched::NodeId node, std::uint64_t id);
  void end_foreign(sched::NodeId node, std::uint64_t id);
  void remove_foreign(sched::NodeId node, std::uint64_t id);
  [[nodiscard]] bool admits(sched::NodeId node, lease::LeaseOwner engine) const;
  [[nodiscard]] lease::LeaseOwner engine_of(control::JobNumber job) const;
  [[nodiscard]] std::uint32_t count_steps(sched::NodeId node, lease::LeaseOwner engine) const;
  [[nodiscard]] bool uses(sched::NodeId node, lease::LeaseOwner engine) const;
  void check_engines(sched::NodeId node);

  void begin_attempt(const control::StartAttempt& command);
  void start_part(const control::StartAttempt& command, sched::NodeId node);
  void stop_part(control::AttemptName name, sched::NodeId node);
  void exit_part(control::AttemptName name, sched::NodeId node, std::int32_t code, std::string text);
  void seal_absent(control::AttemptName name, sched::NodeId node);
  void begin_work(control::JobNumber job, control::AttemptNumber attempt);
  void work(control::AttemptName name, std::uint64_t serial);
  void write_checkpoint(control::JobNumber job);
  void kill_processes(sched::NodeId node);
  void boot(sched::NodeId node);
  void report_health(sched::NodeId node);
  void report_mark(sched::NodeId node);
  void heartbeat(sched::NodeId node);
  [[nodiscard]] bool runs_everywhere(control::AttemptName name) const;
  void check_holders(sched::NodeId node);
  void check_restore(const control::StartAttempt& command);
  void check_attempts(control::AttemptName name);
  SimNode& at(sched::NodeId node) { return nodes_[sched::index_of(node)]; }
  [[nodiscard]] const SimNode& at(sched::NodeId node) const { return nodes_[sched::index_of(node)]; }
  std::uint32_t pick(std::string_view stream, std::uint32_t bound) { return choices_.choose(stream, bound); }

  const sched::Machine& machine_;
  Choices& choices_;
  std::vector<SimNode> nodes_;
  std::map<control::JobNumber, SimJob> jobs_;
  std::map<std::pair<sched::Moment, std::uint64_t>, Action> queue_;
  std::vector<std::pair<control::Event, sched::Moment>> inbox_;  // with the simulated time of the observation
  std::set<control::OperationId> operations_;
  std::set<control::SessionId> sessions_;
  std::set<control::SessionId> validated_;  // whose checks have passed
  std::set<std::pair<control::SessionId, control::RepairAction>> repairs_;
  std::set<control::JobNumber> succeeded_;
  control::Inventory old_inventory_;
  std::vector<lease::LeaseOwner> engines_;  // with leases
  control::Defect defect_ = control::Defect::none;
  std::array<control::UseList, lease::kLeaseOwners> old_lists_{};
  std::array<sched::Moment, lease::kLeaseOwners> engine_answers_{};
  std::uint64_t last_foreign_ = 0;
  std::vector<bool> enabled_ = std::vector<bool>(kFaults, false);
  std::vector<std::uint32_t> weights_ = std::vector<std::uint32_t>(kFaults, 1);
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kFaults, 0);
  std::set<std::string> reached_;
  std::string violation_;
  sched::Moment time_{};
  std::uint64_t serial_ = 0;
  std::uint64_t incarnation_ = 0;
  control::BootId last_boot_ = 0;
  bool healed_ = false;
};

}  // namespace weft::world
