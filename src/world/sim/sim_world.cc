// The simulated engine: commands, replies, reports, and the checks at every side effect.
#include "world/sim/sim_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace weft::world {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's

std::string_view to_text(Fault fault) {
  static constexpr std::array<std::string_view, kFaults> names = {
      "reply_lost",         "reply_ambiguous",    "reply_wrong_operation",
      "command_lost",       "command_late",       "command_twice",
      "start_partial",      "start_refused",      "report_lost",
      "report_late",        "report_twice",       "inventory_partial",
      "inventory_stale",    "inventory_empty",    "application_fails",
      "process_killed",     "node_crash",         "node_silent",
      "node_reboot",        "rack_power",         "telemetry_stuck",
      "telemetry_fatal",    "bmc_fails",          "bmc_silent",
      "validation_fails",   "validation_lost",    "cordon_by_person",
      "uncordon_by_person", "checkpoint_torn",    "checkpoint_lost",
      "volume_unreadable",  "store_full",         "store_lost_fsync",
      "store_damage",       "crash_after_effect", "crash_any_time",
      "clock_jump",         "user_cancels",       "user_holds",
      "user_drains",        "user_repeats",       "user_drills",
      "user_reserves",      "old_version",        "user_moves",
      "foreign_job",        "ignores_cordon",     "step_lingers",
      "step_escapes",       "bare_process",       "list_empty",
      "list_stuck",         "engine_down",        "gate_silent",
      "repair_refused",     "repair_fails",       "repair_useless",
      "reboot_hangs"};
  return names[static_cast<std::size_t>(fault)];
}

namespace {

Duration milliseconds_of(std::uint32_t count) { return Duration(std::int64_t{count} * 1'000'000); }

}  // namespace

SimWorld::SimWorld(const sched::Machine& machine, Choices& choices)
    : machine_(machine), choices_(choices), nodes_(machine.nodes().size()), time_(sched::seconds(1000).count()) {
  for (SimNode& node : nodes_) node.boot = ++last_boot_;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    later(milliseconds_of(100 + n), [this, n] { heartbeat(static_cast<sched::NodeId>(n)); });
  }
}

void SimWorld::later(Duration delay, Action action) {
  queue_.emplace(std::pair(time_ + delay, ++serial_), std::move(action));
}

sched::Moment SimWorld::next() const { return queue_.empty() ? sched::kNever : queue_.begin()->first.first; }

void SimWorld::advance(sched::Moment time) {
  while (!queue_.empty() && queue_.begin()->first.first <= time) {
    time_ = std::max(time_, queue_.begin()->first.first);
    const Action action = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    action();
  }
  time_ = std::max(time_, time);
}

bool SimWorld::happens(Fault fault, std::uint32_t per_mille) {
  if (healed_ || !is_enabled(fault)) return false;
  if (!choices_.chance(to_text(fault), std::min(900U, per_mille * weights_[static_cast<std::size_t>(fault)])))
    return false;
  ++counts_[static_cast<std::size_t>(fault)];
  return true;
}

void SimWorld::focus(Fault fault) {
  enable(fault, true);
  weights_[static_cast<std::size_t>(fault)] = 8;
}

std::uint64_t SimWorld::faults() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts_) sum += count;
  return sum;
}

void SimWorld::violate(std::string text) {
  if (violation_.empty()) violation_ = std::move(text);
}

std::uint32_t SimWorld::application_failures(JobNumber job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? 0 : found->second.application_failures;
}

bool SimWorld::is_off(sched::NodeId node) const { return !at(node).alive; }

void SimWorld::controller_crashed() {
  ++incarnation_;
  inbox_.clear();
}

// Delivers an event to the controller, unless it crashes first.
void SimWorld::tell(const Event& event, std::uint32_t delay_ms) {
  if (happens(Fault::report_lost, 30)) return;
  std::uint32_t copies = happens(Fault::report_twice, 30) ? 2 : 1;
  const sched::Moment seen = time_;
  while (copies-- > 0) {
    std::uint32_t delay = delay_ms + pick("delay", 200);
    if (happens(Fault::report_late, 30)) delay += pick("late", 600'000);
    later(milliseconds_of(delay), [this, event, seen, incarnation = incarnation_] {
      if (incarnation == incarnation_) inbox_.emplace_back(event, seen);
    });
  }
}

void SimWorld::poll(sched::Moment now, std::vector<Event>& events) {
  const Duration offset = now - time_;
  for (auto& [event, seen] : inbox_) {
    std::visit(
        [&, observed = seen + offset](auto& each) {
          if constexpr (requires { each.observed; }) each.observed = observed;
        },
        event);
    if (const auto* report = std::get_if<NodeReport>(&event)) {
      SimNode& node = at(report->node);
      if (report->health == Health::fatal) node.told_fatal = std::max(node.told_fatal, seen);
      if (report->boot == node.boot) node.told_alive = std::max(node.told_alive, seen);
    }
    if (const auto* report = std::get_if<ValidationReport>(&event); report != nullptr && !report->passed) {
      SimNode& node = at(report->node);  // a failed check is evidence
      node.told_fatal = std::max(node.told_fatal, seen);
    }
    if (const auto* report = std::get_if<CordonReport>(&event)) {
      SimNode& node = at(report->node);
      if (seen >= node.told_mark) {
        node.told_mark = seen;
        node.told_owner = report->cordoned ? report->owner : "";
      }
    }
    events.push_back(std::move(event));
  }
  inbox_.clear();
}

void SimWorld::reply(OperationId operation, ReplyKind kind, std::string text) {
  if (happens(Fault::reply_lost, 50)) return;
  if (happens(Fault::reply_ambiguous, 50)) kind = ReplyKind::ambiguous;
  if (happens(Fault::reply_wrong_operation, 20))
    operation = 1 + pick("operation", static_cast<std::uint32_t>(operation));
  tell(CommandReply{operation, kind, std::move(text)}, 50);
}

void SimWorld::check_operation(OperationId operation) {
  if (is_durable && !is_durable(operation))
    violate(fmt::format("5: operation {} was sent before its record was durable", operation));
  if (!operations_.insert(operation).second && !tolerate_lost_records) {
    violate(fmt::format("6: operation {} was sent twice", operation));
  }
}

void SimWorld::send(const Command& command, sched::Moment) {
  std::visit(
      [&](const auto& each) {
        using Each = std::decay_t<decltype(each)>;
        if constexpr (!std::is_same_v<Each, QueryInventory>) check_operation(each.operation);
        if constexpr (std::is_same_v<Each, PowerCycle>)
          check_repair(each.node, each.session, RepairAction::power_cycle);
        if constexpr (std::is_same_v<Each, RepairNode>) check_repair(each.node, each.session, each.action);
        if constexpr (std::is_same_v<Each, StartAttempt>) {
          check_restore(each);
          if (is_canceled && is_canceled(each.name.job))
            violate(fmt::format("12: canceled job {} is started", each.name.job));
          for (const sched::Slot& slot : each.slots) {
            const std::string problem = lease_problem ? lease_problem(slot.node, each.name.job) : std::string();
            if (!problem.empty())
              violate(fmt::format("16: job {} is started on node {}: {}", each.name.job, sched::index_of(slot.node),
                                  problem));
          }
          for (std::size_t i = 0; i < each.slots.size(); ++i) {
            const SimNode& node = at(each.slots[i].node);
            // A start that names an earlier boot, which an exporter repeats, is refused by the node.
            const bool refused = i < each.boots.size() && each.boots[i] != node.boot;
            if (!refused && time_ - node.told_alive > stale_after + sched::seconds(60)) {
              violate(fmt::format("10: started on silent node {}", sched::index_of(each.slots[i].node)));
            }
          }
        }
        if constexpr (std::is_same_v<Each, CordonNode>) {
          if (!each.cordon && !sessions_.contains(each.session))
            violate(fmt::format("9: removes a cordon of no session on node {}", sched::index_of(each.node)));
          sessions_.insert(each.session);
        }
        if (happens(Fault::command_lost, 30)) {
          if constexpr (!std::is_same_v<Each, QueryInventory>) reply(each.operation, ReplyKind::accepted, {});
          return;
        }
        std::uint32_t copies = happens(Fault::command_twice, 30) ? 2 : 1;
        while (copies-- > 0) {
          std::uint32_t delay = 10 + pick("delay", 100);
          if (happens(Fault::command_late, 30)) delay += pick("late", 900'000);
          later(milliseconds_of(delay), [this, each] { on(each); });
        }
      },
      command);
}

void SimWorld::on(const StartAttempt& command) {
  if (happens(Fault::start_refused, 40)) {
    reply(command.operation, pick("refusal", 2) == 0 ? ReplyKind::transient : ReplyKind::permanent, "refused");
    return;
  }
  reply(command.operation, ReplyKind::accepted, {});
  SimJob& job = jobs_[command.name.job];
  job.spec = command.spec;
  std::set<sched::NodeId> nodes;
  for (const sched::Slot& slot : command.slots) nodes.insert(slot.node);
  if (command.name.attempt > job.attempt) begin_attempt(command);
  for (const sched::NodeId node : nodes) {
    if (happens(Fault::start_partial, 30)) continue;
    const std::uint32_t delay = 200 + pick("delay", 2000);
    later(milliseconds_of(delay), [this, command, node] { start_part(command, node); });
  }
}

void SimWorld::begin_attempt(const StartAttempt& command) {
  SimJob& job = jobs_[command.name.job];
  job.attempt = command.name.attempt;
  job.finished = 0;
  job.step = 0;
  for (const SimCheckpoint& checkpoint : job.checkpoints) {
    if (checkpoint.name == command.checkpoint) job.step = checkpoint.step;
  }
}

void SimWorld::start_part(const StartAttempt& command, sched::NodeId id) {
  SimNode& node = at(id);
  if (!node.alive || !node.reachable || node.bad) return;
  Process process;
  BootId boot = 0;
  for (std::size_t i = 0; i < command.slots.size(); ++i) {
    if (command.slots[i].node != id) continue;
    process.slots.push_back(command.slots[i]);
    boot = command.boots[i];
  }
  // The gate on the node: another boot, sealed, or started before.
  if (boot != node.boot || command.term < node.term || node.sealed.contains(command.name) ||
      !node.started.insert(command.name).second) {
    reached_.insert("start refused by the node");
    return;
  }
  if (!admits(id, engine_of(command.name.job))) {
    reached_.insert("start stopped at the gate");
    return;
  }
  process.serial = ++serial_;
  // The start of a later attempt may be in no journal anymore, and may never have begun: this one is the current one.
  const SimJob& job = jobs_[command.name.job];
  if (tolerate_lost_records && command.name.attempt < job.attempt && !job.runs.contains(job.attempt))
    begin_attempt(command);
  SimJob::Run& run = jobs_[command.name.job].runs[command.name.attempt];
  run.nodes.insert(id);
  std::set<sched::NodeId> nodes;
  for (const sched::Slot& slot : command.slots) nodes.insert(slot.node);
  run.parts = nodes.size();
  run.checkpoint = command.checkpoint;
  node.processes[command.name] = std::move(process);
  check_holders(id);
  check_engines(id);
  check_attempts(command.name);
  tell(PartReport{command.name, id, node.boot, PartPhase::running, false, 0, {}, {}});
  begin_work(command.name.job, command.name.attempt);
}

// Only what was verified since the attempt before may be restored; no checkpoint only if there was none.
void SimWorld::check_restore(const StartAttempt& command) {
  if (command.spec->checkpoint.volumes.empty()) return;
  SimJob& job = jobs_[command.name.job];
  if (!job.verified.contains(command.checkpoint)) {
    violate(fmt::format("7: job {} restores `{}`, which was not verified", command.name.job, command.checkpoint));
  }
  if (!tolerate_lost_records) {  // progress lost is that since the newest intact checkpoint, not more
    const auto intact = std::find_if(job.checkpoints.rbegin(), job.checkpoints.rend(),
                                     [](const SimCheckpoint& checkpoint) { return checkpoint.intact; });
    if (intact != job.checkpoints.rend() && intact->name != command.checkpoint) {
      violate(fmt::format("8: job {} restores `{}` although `{}` is intact", command.name.job, command.checkpoint,
                          intact->name));
    }
  }
  if (command.name.attempt != job.sent) job.verified = {command.checkpoint};
  job.sent = command.name.attempt;
}

std::string SimWorld::drill_problem(JobNumber number, AttemptNumber stopped, AttemptNumber restored,
                                    const std::string& checkpoint) const {
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) return "the job never ran";
  const auto before = job->second.runs.find(stopped);
  const auto after = job->second.runs.find(restored);
  if (before == job->second.runs.end() || after == job->second.runs.end()) return "an attempt never ran";
  if (checkpoint.empty() || after->second.checkpoint != checkpoint) return "another checkpoint was restored";
  for (const sched::NodeId node : after->second.nodes) {
    if (before->second.nodes.contains(node)) return "it used the same node";
  }
  return {};
}

void SimWorld::check_holders(sched::NodeId id) {
  std::uint32_t used = 0;
  for (const auto& [name, process] : at(id).processes) {
    for (const sched::Slot& slot : process.slots) {
      if ((used & slot.gpus) != 0)
        violate(fmt::format("1: a GPU of node {} has two holders, one is {}.{}", sched::index_of(id), name.job,
                            name.attempt));
      used |= slot.gpus;
    }
  }
}

void SimWorld::check_attempts(AttemptName name) {
  if (tolerate_lost_records) return;
  for (const SimNode& node : nodes_) {
    for (const auto& [other, process] : node.processes) {
      if (other.job == name.job && other.attempt != name.attempt) {
        violate(
            fmt::format("7: attempts {} and {} of job {} run at the same time", other.attempt, name.attempt, name.job));
      }
    }
  }
}

bool SimWorld::runs_everywhere(AttemptName name) const {
  const auto job = jobs_.find(name.job);
  if (job == jobs_.end()) return false;
  const auto run = job->second.runs.find(name.attempt);
  std::size_t running = 0;
  for (const SimNode& node : nodes_) running += node.processes.contains(name) ? 1U : 0U;
  return run != job->second.runs.end() && running == run->second.parts;
}

sched::Moment SimWorld::stalled_since(AttemptName name) {
  SimJob& job = jobs_[name.job];
  const auto run = job.runs.find(name.attempt);
  const bool answers =
      run != job.runs.end() && std::all_of(run->second.nodes.begin(), run->second.nodes.end(),
                                           [&](sched::NodeId node) { return at(node).alive && at(node).reachable; });
  if (!answers || runs_everywhere(name)) {
    job.stalled = sched::kNever;
  } else if (job.stalled == sched::kNever) {
    job.stalled = time_;
  }
  return job.stalled;
}

void SimWorld::begin_work(JobNumber number, AttemptNumber attempt) {
  const SimJob& job = jobs_[number];
  if (attempt != job.attempt || !runs_everywhere({number, attempt})) return;
  later(sched::seconds(10), [this, number, attempt, serial = ++serial_] { work({number, attempt}, serial); });
}

// One step of ten seconds. `restart_cost` of the job's shape is used as its number of steps.
void SimWorld::work(AttemptName name, std::uint64_t serial) {
  SimJob& job = jobs_[name.job];
  if (job.attempt != name.attempt || !runs_everywhere(name)) return;
  ++job.step;
  if (!job.spec->checkpoint.volumes.empty() && job.step % 5 == 0) write_checkpoint(name.job);
  const bool fails = happens(Fault::application_fails, 5);
  const bool killed = happens(Fault::process_killed, 5);
  const bool done = job.step >= job.spec->shape.restart_cost.count() / 1'000'000'000;
  if (fails || killed) {
    ++job.application_failures;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n].processes.contains(name)) continue;
      exit_part(name, static_cast<sched::NodeId>(n), killed ? 137 : 1, killed ? "killed" : "failed");
      return;
    }
  }
  if (done) {
    succeeded_.insert(name.job);
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].processes.contains(name)) exit_part(name, static_cast<sched::NodeId>(n), 0, {});
    }
    return;
  }
  later(sched::seconds(10), [this, name, serial] { work(name, serial); });
}

void SimWorld::write_checkpoint(JobNumber number) {
  SimJob& job = jobs_[number];
  SimCheckpoint checkpoint;
  checkpoint.name = fmt::format("step-{:012}", job.step);
  checkpoint.step = job.step;
  checkpoint.intact = !happens(Fault::checkpoint_torn, 50);
  std::erase_if(job.checkpoints, [&](const SimCheckpoint& each) { return each.name == checkpoint.name; });
  job.checkpoints.push_back(checkpoint);
  if (happens(Fault::checkpoint_lost, 30) && job.checkpoints.size() > 1)
    job.checkpoints.erase(job.checkpoints.end() - 2);
  tell(CheckpointWritten{{number, job.attempt}, checkpoint.name, job.step, sched::seconds(2), {}});
}

void SimWorld::on(const RequestCheckpoint& command) {
  SimJob& job = jobs_[command.name.job];
  if (job.attempt == command.name.attempt && runs_everywhere(command.name)) write_checkpoint(command.name.job);
}

void SimWorld::on(const VerifyCheckpoint& command) {
  SimJob& job = jobs_[command.job];
  CheckpointVerified answer;
  answer.operation = command.operation;
  answer.job = command.job;
  if (happens(Fault::volume_unreadable, 50)) {
    answer.readable = false;
    tell(answer);
    return;
  }
  for (auto each = job.checkpoints.rbegin(); each != job.checkpoints.rend(); ++each) {
    if (!each->intact) {
      answer.rejected += each->name + " ";
      reached_.insert("older checkpoint chosen");
      continue;
    }
    answer.checkpoint = each->name;
    answer.step = each->step;
    break;
  }
  job.verified.insert(answer.checkpoint);
  tell(answer, 1000);
}

void SimWorld::exit_part(AttemptName name, sched::NodeId id, std::int32_t code, std::string text) {
  SimNode& node = at(id);
  node.processes.erase(name);
  PartReport report{name, id, node.boot, PartPhase::exited, true, code, std::move(text), {}};
  node.sealed[name] = report;
  if (node.reachable) tell(report);
}

void SimWorld::seal_absent(AttemptName name, sched::NodeId id) {
  SimNode& node = at(id);
  node.sealed.try_emplace(name, PartReport{name, id, node.boot, PartPhase::absent, true, 0, "stopped", {}});
}

void SimWorld::on(const StopAttempt& command) {
  reply(command.operation, ReplyKind::accepted, {});
  for (const sched::NodeId node : command.nodes) {
    // A process that ignores SIGTERM is killed after the grace period.
    const std::uint32_t delay = 100 + pick("stop", 5000);
    later(milliseconds_of(delay), [this, name = command.name, node] { stop_part(name, node); });
  }
}

void SimWorld::stop_part(AttemptName name, sched::NodeId id) {
  SimNode& node = at(id);
  if (!node.alive || !node.reachable) return;
  if (node.processes.contains(name)) {
    exit_part(name, id, 143, "stopped");
    return;
  }
  seal_absent(name, id);
  tell(node.sealed[name]);
}

void SimWorld::on(const QueryInventory& query) {
  if (happens(Fault::inventory_stale, 50) && !old_inventory_.nodes.empty()) {
    const Inventory stale = old_inventory_;
    const sched::Moment seen = stale.observed;
    later(milliseconds_of(200), [this, stale, seen, incarnation = incarnation_] {
      if (incarnation == incarnation_) inbox_.emplace_back(stale, seen);
    });
    return;
  }
  const bool empty = happens(Fault::inventory_empty, 60);
  Inventory inventory;
  inventory.observed = time_;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    SimNode& node = nodes_[n];
    if (!node.alive || !node.reachable || happens(Fault::inventory_partial, 50)) continue;
    node.term = std::max(node.term, query.term);
    NodeInventory& listed = inventory.nodes.emplace_back();
    listed.node = static_cast<sched::NodeId>(n);
    listed.boot = node.boot;
    listed.term = node.term;
    if (empty && !tolerate_lost_records) continue;  // mass disappearance: the engine has lost its list
    for (const auto& [name, process] : node.processes) listed.running.push_back(name);
  }
  old_inventory_ = inventory;
  tell(inventory);
  for (const SimNode& node : nodes_) {
    if (!node.alive || !node.reachable) continue;
    for (const auto& [name, report] : node.sealed) {
      if (report.phase == PartPhase::exited && pick("resend", 4) == 0) tell(report);
    }
  }
}

}  // namespace weft::world
