// Leases of nodes: the first grants, moves between engines, and corrections of what a gate shows. A node changes its
// owner only on evidence that was observed after its old gate was seen closed; time alone changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/controller.h"

namespace weft::control {
namespace {

std::size_t at(LeaseOwner engine) { return static_cast<std::size_t>(engine); }

}  // namespace

bool Controller::uses_leases() const { return options_.engines.size() >= 2 && state_.format() >= 3; }

LeaseOwner Controller::engine_of(const JobSpec& spec) const {
  if (spec.engine != LeaseOwner::none || options_.engines.empty()) return spec.engine;
  return options_.engines.front();
}

LeaseOwner Controller::first_owner(sched::NodeId id) const {
  const std::size_t n = sched::index_of(id);
  return n < options_.owners.size() && options_.owners[n] != LeaseOwner::none ? options_.owners[n]
                                                                              : options_.engines.front();
}

void Controller::add_foreign_nodes(const JobSpec& spec, std::vector<sched::NodeId>& nodes) const {
  if (!uses_leases()) return;
  const LeaseOwner engine = engine_of(spec);
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto id = static_cast<sched::NodeId>(n);
    if (state_.node(id).lease.owner != engine) nodes.push_back(id);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

// Once per batch: the jobs that wait may use what their engine owns now.
void Controller::apply_lease_changes() {
  if (!std::exchange(leases_changed_, false)) return;
  for (const auto& [number, id] : ids_) scheduler_->exclude(id, excluded_nodes(*state_.find_job(number)), now_);
}

void Controller::send_lease_order(sched::NodeId id, LeaseOwner engine, LeaseOrderKind kind, LeaseEpoch epoch,
                                  OperationId operation, Step& step) {
  const auto& gate = lease_heard_[sched::index_of(id)].gate;
  if (!gate && kind != LeaseOrderKind::cordon) return;  // its boot is not known; repeated later
  step.commands.emplace_back(LeaseOrder{operation, term_, id, engine, kind, epoch, gate ? gate->boot : 0});
}

void Controller::grant_lease(sched::NodeId id, LeaseOwner engine, const std::string& text, Step& step) {
  LeaseEpoch last = state_.last_epoch();
  if (const auto& gate = lease_heard_[sched::index_of(id)].gate) {
    for (const EngineGate& each : gate->engines) last = std::max({last, each.open, each.floor});
  }
  Record granted = record(RecordKind::lease_granted);
  granted.node = id;
  granted.code = static_cast<std::uint8_t>(engine);
  granted.value = static_cast<std::int64_t>(last + 1);
  granted.operation = next_operation();
  granted.text = text;
  const OperationId operation = granted.operation;
  if (!emit(step, std::move(granted))) return;
  leases_changed_ = true;
  send_lease_order(id, engine, LeaseOrderKind::open, last + 1, operation, step);
  update_usable(id);
}

void Controller::move_lease_phase(sched::NodeId id, LeasePhase next, std::string text, Step& step) {
  Record moved = record(RecordKind::lease_step);
  moved.node = id;
  moved.code = static_cast<std::uint8_t>(next);
  moved.text = std::move(text);
  const bool acts = next == LeasePhase::opening || next == LeasePhase::cordon || next == LeasePhase::closing;
  if (acts) moved.operation = next_operation();
  const OperationId operation = moved.operation;
  if (!emit(step, std::move(moved))) return;
  const NodeLease& lease = state_.node(id).lease;
  if (acts) {
    const LeaseOrderKind kind = next == LeasePhase::opening  ? LeaseOrderKind::open
                                : next == LeasePhase::cordon ? LeaseOrderKind::cordon
                                                             : LeaseOrderKind::close;
    // A journal that lost records may know an earlier epoch than the gate.
    const auto& gate = lease_heard_[sched::index_of(id)].gate;
    const LeaseEpoch seen = gate && kind == LeaseOrderKind::close ? gate->engines[at(lease.owner)].open : 0;
    send_lease_order(id, lease.owner, kind, std::max(lease.epoch, seen), operation, step);
  }
  update_usable(id);
}

void Controller::begin_lease_move(sched::NodeId id, LeaseOwner target, const std::string& user,
                                  const std::string& reason, bool preempt, Step& step) {
  const bool redirects = is_moving(state_.node(id).lease.phase);
  Record move = record(RecordKind::lease_move);
  move.node = id;
  move.code = static_cast<std::uint8_t>(target);
  move.value = preempt ? 1 : 0;
  move.user = user;
  move.text = reason;
  if (!redirects) move.operation = next_operation();
  const OperationId operation = move.operation;
  if (!emit(step, std::move(move))) return;
  const NodeLease& lease = state_.node(id).lease;
  if (!redirects) send_lease_order(id, lease.owner, LeaseOrderKind::cordon, lease.epoch, operation, step);
  update_usable(id);
  advance_lease(id, step);
}

void Controller::on(const GateReport& report, Step& step) {
  if (!uses_leases() || sched::index_of(report.node) >= state_.node_count()) return;
  LeaseHeard& heard = lease_heard_[sched::index_of(report.node)];
  if (report.term > term_) term_ = report.term + 1;  // the journal lost the last term, and the clock was set back
  // A gate that has not obeyed this controller may still obey a delayed order of the one before.
  if (report.term != term_ || report.observed > now_ || report.observed < began_) return;
  if (heard.gate && report.observed < heard.gate->observed) return;  // late
  heard.gate = report;
  update_usable(report.node);
  advance_lease(report.node, step);
}

void Controller::on(const UseList& list, Step& step) {
  if (!uses_leases() || list.observed > now_ || list.observed < began_) return;
  for (const NodeUse& use : list.nodes) {
    if (sched::index_of(use.node) >= state_.node_count()) continue;
    LeaseHeard::Use& heard = lease_heard_[sched::index_of(use.node)].use[at(list.engine)];
    if (heard.known && list.observed < heard.observed) continue;
    heard = {true, use, list.observed};
    update_usable(use.node);
    advance_lease(use.node, step);
  }
}

// "" if the engines other than `engine` do not use the node: what the first grant needs. Work of `engine` itself is
// taken over.
std::string Controller::why_not_adopted(sched::NodeId id, LeaseOwner engine) const {
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  if (!heard.gate) return "its gate has not reported since the controller started";
  for (const LeaseOwner other : options_.engines) {
    const EngineGate& gate = heard.gate->engines[at(other)];
    if (gate.open != 0) return fmt::format("the gate of {} is open under epoch {}", lease::to_text(other), gate.open);
    if (other == engine) continue;
    if (gate.steps > 0) return fmt::format("{} runs there: {}", lease::to_text(other), heard.gate->text);
    const LeaseHeard::Use& use = heard.use[at(other)];
    if (!use.known)
      return fmt::format("{} has not listed its jobs since the controller started", lease::to_text(other));
    if (use.node.jobs > 0) return fmt::format("{} has jobs there: {}", lease::to_text(other), use.node.text);
  }
  const LeaseHeard::Use& own = heard.use[at(engine)];
  const bool owned = heard.gate->engines[at(engine)].steps > 0 || (own.known && own.node.jobs > 0);
  if (heard.gate->holders > 0 && !owned) return "a process uses its GPUs: " + heard.gate->text;
  return {};
}

// The three witnesses, each observed since the gate was seen closed. "": all agree that nothing runs there.
std::string Controller::why_not_released(sched::NodeId id) const {
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  const LeaseHeard::Use& use = heard.use[at(lease.owner)];
  const bool scheduler_agrees = use.known && use.observed > lease.since && use.node.jobs == 0;
  if (has(Defect::empty_list_frees) && use.known && use.node.jobs == 0) return {};
  if (has(Defect::free_on_scheduler_word) && scheduler_agrees) return {};
  if (!heard.gate || heard.gate->observed <= lease.since) return "no report of its gate since it was closed";
  for (const LeaseOwner engine : options_.engines) {
    const EngineGate& gate = heard.gate->engines[at(engine)];
    if (gate.open != 0 && !has(Defect::open_before_closed)) {
      return fmt::format("the gate of {} is open under epoch {}", lease::to_text(engine), gate.open);
    }
  }
  if (!use.known || use.observed <= lease.since) {
    return fmt::format("{} has not listed its jobs since the gate was closed", lease::to_text(lease.owner));
  }
  if (use.node.jobs > 0) return fmt::format("{} has jobs there: {}", lease::to_text(lease.owner), use.node.text);
  for (const LeaseOwner engine : options_.engines) {
    if (heard.gate->engines[at(engine)].steps == 0) continue;
    return fmt::format("{} runs there: {}", lease::to_text(engine), heard.gate->text);
  }
  if (heard.gate->holders > 0) return "a process uses its GPUs: " + heard.gate->text;
  return {};
}

// Jobs of weft and of others that the owner still has on the node. "": none.
std::string Controller::why_not_drained(sched::NodeId id) const {
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard::Use& use = lease_heard_[sched::index_of(id)].use[at(lease.owner)];
  const bool trusts_list = has(Defect::empty_list_frees) && use.known && use.node.jobs == 0;
  if (!state_.jobs_on(id).empty() && !trusts_list) {
    std::string jobs;
    for (const JobNumber number : state_.jobs_on(id)) jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", number);
    return fmt::format("job{} {} of weft", state_.jobs_on(id).size() == 1 ? "" : "s", jobs);
  }
  if (!use.known || use.observed <= lease.since) {
    return fmt::format("a list of the jobs of {}", lease::to_text(lease.owner));
  }
  if (use.node.jobs > 0) return fmt::format("{} of {}", use.node.text, lease::to_text(lease.owner));
  return {};
}

void Controller::drain_lease(sched::NodeId id, Step& step) {
  const NodeLease& lease = state_.node(id).lease;
  if (lease.preempt) {
    const std::set<JobNumber> jobs = state_.jobs_on(id);
    for (const JobNumber number : jobs) {
      const Job* job = state_.find_job(number);
      if (job == nullptr || !job->current) continue;
      stop_attempt(*job, StopCause::moved,
                   fmt::format("{} moves to {}", state_.machine().node(id).name, lease::to_text(lease.target)), step,
                   true);
    }
  }
  if (why_not_drained(id).empty()) move_lease_phase(id, LeasePhase::closing, "drained", step);
}

void Controller::advance_lease(sched::NodeId id, Step& step) {
  if (!uses_leases()) return;
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  const bool repeat = now_ - lease.ordered >= options_.lease_repeat;
  if (has(Defect::lose_move) && is_moving(lease.phase) && lease.asked < began_) return;
  if (is_moving(lease.phase) && lease.fenced && state_.jobs_on(id).empty()) {
    grant_lease(id, lease.target, "verified to be off", step);
    return;
  }
  if (has(Defect::lease_expires) && is_moving(lease.phase) && now_ - lease.since > options_.lease_patience) {
    if (lease.phase == LeasePhase::witness) {
      grant_lease(id, lease.target, "expired", step);
    } else {
      move_lease_phase(id, static_cast<LeasePhase>(static_cast<int>(lease.phase) + 1), "expired", step);
    }
    return;
  }
  const EngineGate* gate = heard.gate ? &heard.gate->engines[at(lease.owner)] : nullptr;
  switch (lease.phase) {
    case LeasePhase::none:
      if (why_not_adopted(id, first_owner(id)).empty()) grant_lease(id, first_owner(id), "first owner", step);
      return;
    case LeasePhase::opening:
    case LeasePhase::held:
      check_held_lease(id, repeat, step);
      return;
    case LeasePhase::cordon: {
      const LeaseHeard::Use& use = heard.use[at(lease.owner)];
      if (lease.target == lease.owner && gate != nullptr && gate->floor < lease.epoch) {
        move_lease_phase(id, LeasePhase::opening, "canceled", step);
      } else if (use.known && use.observed > lease.since && use.node.cordoned) {
        move_lease_phase(id, LeasePhase::drain, "cordoned", step);
      } else if (repeat) {
        move_lease_phase(id, LeasePhase::cordon, "repeated", step);
      }
      return;
    }
    case LeasePhase::drain:
      if (lease.target == lease.owner && gate != nullptr && gate->floor < lease.epoch) {
        move_lease_phase(id, LeasePhase::opening, "canceled", step);
      } else {
        drain_lease(id, step);
      }
      return;
    case LeasePhase::closing:
      if ((gate != nullptr && heard.gate->observed > lease.since && gate->open == 0 && gate->floor >= lease.epoch) ||
          has(Defect::open_before_closed)) {
        move_lease_phase(id, LeasePhase::witness, "closed", step);
      } else if (repeat) {
        move_lease_phase(id, LeasePhase::closing, "repeated", step);
      }
      return;
    case LeasePhase::witness:
      if (gate != nullptr && heard.gate->observed > lease.since && (gate->floor < lease.epoch || gate->open != 0) &&
          !has(Defect::open_before_closed)) {
        move_lease_phase(id, LeasePhase::closing, "the gate has restarted", step);
      } else if (why_not_released(id).empty()) {
        grant_lease(id, lease.target, "nothing runs there", step);
      }
      return;
  }
}

void Controller::check_held_lease(sched::NodeId id, bool repeat, Step& step) {
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  if (!heard.gate || heard.gate->observed <= lease.since) {
    if (lease.phase == LeasePhase::opening && repeat && heard.gate)
      move_lease_phase(id, LeasePhase::opening, "repeated", step);
    return;
  }
  const EngineGate& gate = heard.gate->engines[at(lease.owner)];
  if (gate.open == lease.epoch) {
    if (lease.phase == LeasePhase::opening) move_lease_phase(id, LeasePhase::held, "open", step);
    return;
  }
  if (gate.floor >= lease.epoch || gate.open > lease.epoch) {
    // The journal lost the records of a later lease: the node is regained as it is moved, by evidence.
    begin_lease_move(id, lease.owner, {}, "its gate has seen a later lease", false, step);
  } else if (lease.phase == LeasePhase::held || repeat) {
    move_lease_phase(id, LeasePhase::opening, lease.phase == LeasePhase::held ? "the gate has restarted" : "repeated",
                     step);
  }
}

// Orders outside of a move: a gate that is open without a lease is closed, an engine that does not own the node keeps
// away from it, and a cordon that arrived late is removed.
void Controller::correct_lease(sched::NodeId id, Step& step) {
  LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  const NodeLease& lease = state_.node(id).lease;
  if (!heard.gate || now_ - heard.corrected < options_.lease_repeat) return;
  const auto order = [&](LeaseOwner engine, LeaseOrderKind kind, LeaseEpoch epoch) {
    heard.corrected = now_;
    Record ordered = record(RecordKind::lease_order);
    ordered.node = id;
    ordered.code = static_cast<std::uint8_t>(engine);
    ordered.value = static_cast<std::int64_t>(epoch);
    ordered.operation = next_operation();
    ordered.text = to_text(kind);
    const OperationId operation = ordered.operation;
    if (emit(step, std::move(ordered))) send_lease_order(id, engine, kind, epoch, operation, step);
  };
  for (const LeaseOwner engine : options_.engines) {
    const EngineGate& gate = heard.gate->engines[at(engine)];
    const LeaseHeard::Use& use = heard.use[at(engine)];
    const bool owns = engine == lease.owner;
    if (!owns && gate.open != 0) {
      order(engine, LeaseOrderKind::close, gate.open);
    } else if (!owns && lease.phase != LeasePhase::none && use.known && !use.node.cordoned) {
      order(engine, LeaseOrderKind::cordon, lease.epoch);
    } else if (owns && lease.phase == LeasePhase::held && use.known && use.node.cordoned &&
               use.observed > lease.since) {
      order(engine, LeaseOrderKind::open, lease.epoch);
    }
  }
}

// The last scheduled move of a node before now; null: none.
const ScheduledMove* Controller::find_scheduled_move(sched::NodeId id) const {
  const auto minute = static_cast<std::uint32_t>(now_.count() / sched::seconds(60).count() % (24 * 60));
  const ScheduledMove* found = nullptr;
  std::uint32_t best = 0;  // minutes since then
  for (const ScheduledMove& move : options_.schedule) {
    if (std::find(move.nodes.begin(), move.nodes.end(), id) == move.nodes.end()) continue;
    const std::uint32_t ago = (minute + 24 * 60 - move.minute) % (24 * 60);
    if (found != nullptr && ago >= best) continue;
    found = &move;
    best = ago;
  }
  return found;
}

// Once per change of the schedule's decision: until the next one, a person may move the node elsewhere.
void Controller::follow_schedule(sched::NodeId id, Step& step) {
  const ScheduledMove* move = find_scheduled_move(id);
  const NodeLease& lease = state_.node(id).lease;
  if (move == nullptr || lease.phase == LeasePhase::none || lease.policy == move->engine) return;
  Record decided = record(RecordKind::lease_policy);
  decided.node = id;
  decided.code = static_cast<std::uint8_t>(move->engine);
  if (!emit(step, std::move(decided))) return;
  const LeaseOwner heading = is_moving(lease.phase) ? lease.target : lease.owner;
  if (heading != move->engine) begin_lease_move(id, move->engine, {}, "schedule", move->preempt, step);
}

void Controller::check_leases(Step& step) {
  if (!uses_leases()) return;
  if (!options_.schedule.empty()) {
    for (std::size_t n = 0; n < state_.node_count(); ++n) follow_schedule(static_cast<sched::NodeId>(n), step);
  }
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto id = static_cast<sched::NodeId>(n);
    correct_lease(id, step);
    advance_lease(id, step);
  }
}

void Controller::begin_leases(Step& step) {
  lease_heard_.assign(state_.node_count(), {});
  leases_changed_ = true;
  if (!uses_leases() || !has(Defect::forget_lease_on_restart)) return;
  for (std::size_t n = 0; n < state_.node_count(); ++n) {  // as a control plane would that keeps leases in memory
    const auto id = static_cast<sched::NodeId>(n);
    const LeasePhase phase = state_.node(id).lease.phase;
    if (phase == LeasePhase::none || state_.node(id).lease.owner == first_owner(id)) continue;
    if (!is_moving(phase)) begin_lease_move(id, first_owner(id), {}, {}, false, step);
    while (state_.node(id).lease.phase != LeasePhase::witness) {
      const int current = static_cast<int>(state_.node(id).lease.phase);
      move_lease_phase(id, static_cast<LeasePhase>(current + 1), {}, step);
    }
    grant_lease(id, first_owner(id), {}, step);
  }
}

std::string Controller::why_lease_waits(sched::NodeId id) const {
  if (!uses_leases()) return {};
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  const std::string owner(lease::to_text(lease.owner));
  switch (lease.phase) {
    case LeasePhase::none:
      return why_not_adopted(id, first_owner(id));
    case LeasePhase::opening:
      return heard.gate ? fmt::format("the gate of {} to open", owner)
                        : "its gate has not reported since the controller started";
    case LeasePhase::held:
      return {};
    case LeasePhase::cordon:
      return fmt::format("{} to show that it places no new work there", owner);
    case LeasePhase::drain:
      return why_not_drained(id);
    case LeasePhase::closing:
      return heard.gate ? fmt::format("the gate of {} to close", owner)
                        : "its gate has not reported since the controller started";
    case LeasePhase::witness:
      return why_not_released(id);
  }
  return {};
}

std::string Controller::lease_advice(sched::NodeId id) const {
  if (!uses_leases() || why_lease_waits(id).empty()) return {};
  const NodeLease& lease = state_.node(id).lease;
  const std::string& name = state_.machine().node(id).name;
  if (now_ - std::max(lease.since, began_) < options_.lease_patience) return {};
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  if (!heard.gate || now_ - heard.gate->observed > options_.lease_patience) {
    return fmt::format("check that `weft gate status` answers on {}; if the node is off: weft node confirm-off {}",
                       name, name);
  }
  switch (lease.phase) {
    case LeasePhase::cordon:
      return fmt::format("check that {} answers", lease::to_text(lease.owner));
    case LeasePhase::drain:
      return fmt::format("wait, or stop the jobs: weft lease move {} --to {} --preempt (jobs of others: in {})", name,
                         lease::to_text(lease.target), lease::to_text(lease.owner));
    case LeasePhase::none:
    case LeasePhase::witness:
      return fmt::format("end on {} what uses its GPUs; it is not killed", name);
    default:
      return fmt::format("check the gate on {}: weft gate status", name);
  }
}

std::string Controller::why_lease_blocks(sched::NodeId id, Reader reader) const {
  if (!uses_leases()) return {};
  const bool all = reader == Reader::operators;
  const NodeLease& lease = state_.node(id).lease;
  const LeaseHeard& heard = lease_heard_[sched::index_of(id)];
  if (has(Defect::place_during_move) && lease.phase != LeasePhase::none) return {};
  if (lease.phase == LeasePhase::none) return "not leased to an engine" + (all ? ": " + why_lease_waits(id) : "");
  if (is_moving(lease.phase)) {
    return fmt::format("moves from {} to {}{}", lease::to_text(lease.owner), lease::to_text(lease.target),
                       all ? ": waits for " + why_lease_waits(id) : "");
  }
  if (lease.phase == LeasePhase::opening) return "leased to " + std::string(lease::to_text(lease.owner)) + ", opening";
  if (!heard.gate) return "its gate has not reported since the controller started";
  if (heard.use[at(lease.owner)].known && heard.use[at(lease.owner)].node.cordoned)
    return "the cordon of an earlier lease is being removed";
  return heard.gate->engines[at(lease.owner)].open == lease.epoch ? "" : "its gate is closed";
}

}  // namespace weft::control
