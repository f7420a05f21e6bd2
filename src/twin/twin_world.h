// The simulated cluster of the twin, as a World of the controller: nodes with faults, telemetry and BMCs, jobs that
// compute, write checkpoints and lose work. Time is simulated. Unlike world/sim, which attacks the controller with
// faults of every message, here messages arrive; what fails is the plant. Durations are inputs; nothing is random here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/machine/machine.h"
#include "twin/fault_source.h"
#include "twin/ledger.h"
#include "twin/twin_job.h"
#include "world/core/world.h"

namespace weft::twin {

inline constexpr std::uint32_t kNoCause = 0;  // causes of the ledger are those of the fault model, plus one

// An incident that happened, with what followed.
struct IncidentCourse {
  Incident incident;
  bool again = false;        // a fault that returned
  std::uint32_t jobs = 0;    // interrupted
  GpuTime lost = 0;          // work since the last checkpoint
  sched::Moment detected{};  // by telemetry; 0: not
  sched::Moment returned{};  // the node is in service again; 0: not yet, or it never left
};

class TwinWorld final : public world::World {
 public:
  // All references must outlive it.
  TwinWorld(const sched::Machine& machine, const FaultModel& faults, const std::vector<TwinJob>& jobs,
            std::vector<Incident> incidents, std::uint64_t seed, sched::Moment start);

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

  [[nodiscard]] sched::Moment time() const { return time_; }
  [[nodiscard]] sched::Moment next() const { return queue_.empty() ? sched::kNever : queue_.top().at; }
  void advance(sched::Moment time);
  // Whether something waits for the controller besides periodic reports.
  [[nodiscard]] bool has_news() const { return !inbox_.empty(); }
  // Until when the controller's deadlines matter.
  [[nodiscard]] sched::Moment busy_until() const { return busy_until_; }

  // People.
  [[nodiscard]] const std::set<sched::NodeId>& troubled() const { return troubled_; }  // broken or out of service
  [[nodiscard]] bool is_known(sched::NodeId node) const { return at(node).known; }
  [[nodiscard]] bool has_people(sched::NodeId node) const { return at(node).people; }
  [[nodiscard]] sched::Moment known_since(sched::NodeId node) const { return at(node).known_since; }
  [[nodiscard]] const Incident* incident_of(sched::NodeId node) const;
  void begin_repair(sched::NodeId node);  // people are responsible from now on
  void switch_off(sched::NodeId node);
  void end_repair(sched::NodeId node);  // repaired, booted

  // Closes the accounts at the end of the run.
  void finish();
  // Accounts up to now; work that is not saved yet counts as productive.
  [[nodiscard]] Ledger preliminary();

  struct JobAccount {
    std::array<GpuTime, kUses> time{};
    Duration first_wait{};
    Duration waits{};  // after interruptions
    std::uint32_t attempts = 0;
    std::uint32_t interruptions = 0;
    std::uint32_t checkpoints = 0;
    Duration progress{};
    bool done = false;
    sched::Moment first_start{};
    sched::Moment ended{};
  };
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const std::vector<JobAccount>& accounts() const { return accounts_; }
  [[nodiscard]] const std::vector<IncidentCourse>& courses() const { return courses_; }
  // What contradicts the simulated cluster: a GPU with two holders. "": nothing.
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  struct Node {
    bool alive = true;
    bool bad = false;     // broken until repaired
    bool known = false;   // telemetry reports it as failed
    bool marked = false;  // cordoned
    bool people = false;  // at work, or on their way
    std::string mark;
    control::BootId boot = 1;
    control::Term term = 0;
    std::uint32_t cause = kNoCause;  // of its state; kept until it is in service again
    std::size_t course = 0;          // of that incident
    std::vector<control::AttemptName> running;
    std::map<control::JobNumber, control::AttemptNumber> started;  // the last
    std::int64_t milli = 0;                                        // GPUs
    std::int64_t held = 0;                                         // by attempts
    sched::Moment since{};                                         // accounts are settled up to here
    sched::Moment reported{};
    sched::Moment known_since{};
  };
  enum class Phase : std::uint8_t { waiting, starting, computing, checkpoint, undetected, stopping };
  struct Part {
    sched::NodeId node{};
    std::int64_t milli = 0;
    bool held = true;
    bool running = false;
  };
  struct Run {
    std::size_t plan = 0;
    control::AttemptName name;
    Phase phase = Phase::waiting;
    std::uint32_t cause = kNoCause;  // of the last interruption, until it computes again
    std::vector<Part> parts;
    std::int64_t milli = 0;        // held
    sched::Moment since{};         // accounts are settled up to here
    sched::Moment checkpointed{};  // start of the last checkpoint, or of computing
    Duration interval{};
    Duration progress{};
    Duration saved{};  // progress of the last complete checkpoint
    double speed = 1;
    GpuTime unsaved = 0;       // computed since then, without
    GpuTime unsaved_slow = 0;  // the part that slowness added
    GpuTime writing = 0;       // the parts of them that the checkpoint being written will save
    GpuTime writing_slow = 0;
    Duration writing_progress{};
    std::string checkpoint;  // the last complete one; "": none
    std::int64_t checkpoint_step = 0;
    std::uint64_t serial = 0;  // changes when what was scheduled is void
    bool ends = false;         // its work is done
  };
  using Action = std::function<void()>;
  struct Scheduled {
    sched::Moment at;
    std::uint64_t serial = 0;
    std::shared_ptr<Action> action;
    bool operator<(const Scheduled& other) const {  // a queue's top is its greatest element
      return at != other.at ? at > other.at : serial > other.serial;
    }
  };

  void later(Duration delay, Action action);
  void tell(control::Event event, Duration delay = milliseconds(100));
  void stir();  // deadlines of the controller matter for a while
  void on(const control::StartAttempt& command);
  void on(const control::StopAttempt& command);
  void on(const control::RequestCheckpoint& command);
  void on(const control::VerifyCheckpoint& command);
  void on(const control::QueryInventory& command);
  void on(const control::CordonNode& command);
  void on(const control::PowerCycle& command);
  void on(const control::RepairNode& command);
  void on(const control::ValidateNode& command);
  void on(const control::LeaseOrder&) {}

  // twin_jobs.cc
  Run* find(const control::AttemptName& name);
  void settle(Run& run);
  void enter(Run& run, Phase phase);
  void launch(const control::StartAttempt& command);
  void compute(Run& run);
  void plan_next(Run& run);
  void write_checkpoint(Run& run);
  void complete_checkpoint(Run& run);
  void finish_work(Run& run);
  void interrupt(Run& run, std::uint32_t cause, IncidentCourse* course);
  void abort(const control::AttemptName& name, std::uint64_t serial, const std::string& text);
  void exit_part(Run& run, Part& part, std::int32_t code, const std::string& text);
  void release(Run& run, Part& part);
  void set_speed(sched::NodeId node, double speed);

  // twin_nodes.cc
  void settle(sched::NodeId id);
  [[nodiscard]] Use free_use(const Node& node) const;
  void strike(const Incident& incident, bool again);
  void strike_job(const Incident& incident);
  void fail_node(sched::NodeId id, const Incident& incident, std::size_t course);
  void kill_processes(sched::NodeId id);
  void free_parts(sched::NodeId id);
  void boot(sched::NodeId id);
  void heal(sched::NodeId id);
  void return_later(const Incident& incident);
  void report_mark(sched::NodeId id);
  void check_troubled(sched::NodeId id);

  Node& at(sched::NodeId id) { return nodes_[sched::index_of(id)]; }
  [[nodiscard]] const Node& at(sched::NodeId id) const { return nodes_[sched::index_of(id)]; }
  void violate(std::string text) {
    if (violation_.empty()) violation_ = std::move(text);
  }

  const sched::Machine& machine_;
  const FaultModel& faults_;
  const std::vector<TwinJob>& jobs_;
  std::vector<Incident> incidents_;
  std::uint64_t seed_ = 0;
  sched::Moment start_{};
  sched::Moment time_{};
  std::vector<Node> nodes_;
  std::unordered_map<control::JobNumber, Run> runs_;
  std::map<control::JobNumber, bool> active_;  // jobs with parts that hold GPUs
  std::vector<JobAccount> accounts_;           // by position in the plan
  std::vector<IncidentCourse> courses_;
  std::map<std::int32_t, std::vector<Incident>> waiting_;  // incidents of jobs that do not run
  std::set<sched::NodeId> troubled_;
  std::priority_queue<Scheduled> queue_;
  std::vector<control::Event> inbox_;
  Ledger ledger_;
  sched::Moment busy_until_{};
  std::uint64_t serial_ = 0;
  control::BootId last_boot_ = 0;
  std::string violation_;
};

}  // namespace weft::twin
