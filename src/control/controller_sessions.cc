// Repair sessions of nodes: quarantine, drain, the repair actions in their order, validation, return to service.
#include <fmt/format.h>

#include <algorithm>

#include "control/controller.h"

namespace weft::control {

std::string Controller::why_not_repaired(sched::NodeId id) const {
  const Node& node = state_.node(id);
  if (node.health != Health::fatal || node.session) return {};
  if (!options_.repair) return "automatic repair is off";
  if (node.drained || node.cordoned || is_in_maintenance(id)) return why_unusable(id);
  return breaker_refuses(id);
}

void Controller::open_session(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  if (!options_.repair || node.session || node.drained) return;
  if (is_in_maintenance(id) && !has(Defect::power_in_maintenance)) return;  // people work there
  if (node.cordoned) return;                                                // someone else is at work there
  if (node.observed <= node.settled && !has(Defect::old_evidence)) return;  // it belongs to a session that has ended
  // Only what was observed since the controller started: how long it was down is not known if the clock was set back.
  const sched::Moment fresh = has(Defect::old_evidence) ? node.observed : heard_[sched::index_of(id)].last_fatal;
  if ((fresh == sched::Moment() || now_ - fresh > options_.evidence_age) && !has(Defect::old_evidence)) return;
  if (!breaker_refuses(id).empty()) return;
  if (!options_.stages.allows(Stage::quarantine, id)) {
    if (state_.format() >= 3) propose(id, Stage::quarantine, node.signal, step);
    return;
  }
  Record opened = record(RecordKind::session_opened);
  opened.node = id;
  opened.session = state_.last_session() + 1;
  opened.operation = next_operation();
  opened.text = node.signal;
  opened.until = fresh;
  if (state_.format() >= 2) {
    for (const std::string& tenant : tenants_on(id)) opened.key += (opened.key.empty() ? "" : "\n") + tenant;
  }
  CordonNode cordon{opened.operation, opened.session, id, true};
  if (!emit(step, std::move(opened))) return;
  update_usable(id);
  step.commands.emplace_back(cordon);
}

void Controller::move_session(sched::NodeId id, SessionStep next, std::string text, Step& step, RepairAction action) {
  const SessionId session = state_.node(id).session->id;
  Record moved = record(RecordKind::session_step);
  if (state_.format() >= 4) moved.value = static_cast<std::int64_t>(action);
  moved.node = id;
  moved.session = session;
  moved.code = static_cast<std::uint8_t>(next);
  moved.text = std::move(text);
  const bool acts = next != SessionStep::drain && next != SessionStep::person;
  if (acts) moved.operation = next_operation();
  const OperationId operation = moved.operation;
  if (!emit(step, std::move(moved))) return;
  if (next == SessionStep::quarantine) step.commands.emplace_back(CordonNode{operation, session, id, true});
  if (next == SessionStep::remediate && action == RepairAction::power_cycle) {
    step.commands.emplace_back(PowerCycle{operation, session, id});
  } else if (next == SessionStep::remediate) {
    step.commands.emplace_back(RepairNode{operation, session, id, action, heard_[sched::index_of(id)].plan.part});
  }
  if (next == SessionStep::validate) step.commands.emplace_back(ValidateNode{operation, session, id});
  if (next == SessionStep::release) step.commands.emplace_back(CordonNode{operation, session, id, false});
}

void Controller::close_session(sched::NodeId id, SessionEnd end, std::string text, Step& step) {
  Record closed = record(RecordKind::session_closed);
  closed.node = id;
  closed.session = state_.node(id).session->id;
  closed.code = static_cast<std::uint8_t>(end);
  closed.text = std::move(text);
  if (!emit(step, std::move(closed))) return;
  if (has(Defect::resume_drained) && state_.node(id).drained) {
    Record resumed = record(RecordKind::node_resume);
    resumed.node = id;
    emit(step, std::move(resumed));
  }
  update_usable(id);
}

Duration Controller::deadline_of(SessionStep step) const {
  switch (step) {
    case SessionStep::quarantine:
      return options_.quarantine_deadline;
    case SessionStep::drain:
      return options_.drain_deadline;
    case SessionStep::remediate:
      return options_.remediate_deadline;
    case SessionStep::validate:
      return has(Defect::no_validation_deadline) ? sched::kUnlimited : options_.validate_deadline;
    case SessionStep::release:
      return options_.release_deadline;
    case SessionStep::person:
      break;
  }
  return sched::kUnlimited;
}

// Stops what runs on the node. When it does not respond, the power cycle is what ends its processes.
void Controller::drain_node(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  const bool marked = node.cordoned && node.cordon_owner == mark_of(node.session->id);
  if (!marked && !has(Defect::repair_after_uncordon)) {
    close_session(id, SessionEnd::superseded, "the cordon was removed by someone else", step);
    return;
  }
  if (is_in_maintenance(id) && !has(Defect::power_in_maintenance)) return;  // until its end, or the deadline
  const std::set<JobNumber> jobs = state_.jobs_on(id);
  for (const JobNumber number : jobs) {
    const Job* job = state_.find_job(number);
    if (job == nullptr || !job->current || job->state == JobState::stopping) continue;
    stop_attempt(*job, StopCause::node_lost, fmt::format("{}: {}", state_.machine().node(id).name, node.session->cause),
                 step);
  }
  const Heard& heard = heard_[sched::index_of(id)];
  if (node.health == Health::healthy && node.observed > node.session->evidence && heard.at > node.session->opened) {
    move_session(id, SessionStep::validate, "healthy again", step);
    return;
  }
  if (waits_for_engine_jobs(id, step)) return;
  const bool waited = now_ - node.session->since > options_.stop_repeat * 2;
  if (!state_.jobs_on(id).empty() && !waited && !has(Defect::reset_under_job)) return;
  if (node.health != Health::fatal && !(has(Defect::stale_evidence_power) && waited)) return;
  if (!is_evidence_fresh(id) && !(has(Defect::stale_evidence_power) && waited)) return;
  remediate(id, {}, step);
}

bool Controller::is_evidence_fresh(sched::NodeId id) const {
  const sched::Moment fatal = heard_[sched::index_of(id)].last_fatal;
  return fatal != sched::Moment() && now_ - fatal <= options_.evidence_age;
}

// The first action of the plan that was not tried and that can be done: one that leaves processes running needs a node
// without jobs.
RepairAction Controller::next_action(sched::NodeId id) const {
  const Session& session = *state_.node(id).session;
  if (state_.format() < 4) return session.step == SessionStep::drain ? RepairAction::power_cycle : RepairAction::person;
  const RepairPlan& plan = heard_[sched::index_of(id)].plan;
  RepairAction action = plan.next(session.tried);
  const bool idle = state_.jobs_on(id).empty() || has(Defect::reset_under_job);
  while (!idle && action != RepairAction::person && !ends_processes(action)) action = plan.next(action);
  return action;
}

// Takes the next action, or hands the node over if none is left. `why`: the one before had no effect.
void Controller::remediate(sched::NodeId id, const std::string& why, Step& step) {
  const Node& node = state_.node(id);
  const Session& session = *node.session;
  const bool marked = node.cordoned && node.cordon_owner == mark_of(session.id);
  if (!marked && !has(Defect::repair_after_uncordon))
    return close_session(id, SessionEnd::superseded, "the cordon was removed by someone else", step);
  RepairAction action = next_action(id);
  if (has(Defect::repeat_action) && session.tried != RepairAction::none) action = session.tried;
  const std::string before = why.empty() ? std::string() : why + "; ";
  if (action == RepairAction::person) {
    const bool tried = session.tried != RepairAction::none || !why.empty();
    return move_session(id, SessionStep::person,
                        tried ? before + "no action is left" : "needs an operator: " + session.cause, step);
  }
  const bool fresh = is_evidence_fresh(id) || has(Defect::escalate_on_old_evidence) || why.empty();
  if (!fresh) return move_session(id, SessionStep::person, before + "no fresh evidence for a further action", step);
  if (is_in_maintenance(id) && !why.empty())
    return move_session(id, SessionStep::person, before + "the node is reserved for maintenance", step);
  if (action == RepairAction::check) return move_session(id, SessionStep::validate, "checks decide", step, action);
  if (!options_.stages.allows(Stage::repair, id)) {
    const std::string cause = session.cause;
    move_session(id, SessionStep::person, fmt::format("{}{} is not enabled", before, verb_of(action)), step);
    return propose(id, Stage::repair, cause, step);
  }
  move_session(id, SessionStep::remediate, before + std::string(verb_of(action)), step, action);
}

void Controller::advance_session(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  const Session& session = *node.session;
  const SessionStep at = session.step;
  const sched::Moment base = at == SessionStep::quarantine ? session.opened : session.since;
  const Duration deadline = deadline_of(at);
  if (deadline != sched::kUnlimited && now_ - base > deadline) {
    // A reboot that was not seen did not happen, or the node hangs in it; what became of other actions is not known.
    const bool reboot = at == SessionStep::remediate && session.tried == RepairAction::reboot;
    if (reboot) return remediate(id, "no new boot was seen", step);
    move_session(id, SessionStep::person, fmt::format("{}: deadline passed", to_text(at)), step);
    return;
  }
  const bool marked = node.cordoned && node.cordon_owner == mark_of(session.id);
  const Heard& heard = heard_[sched::index_of(id)];
  if (heard.failed != 0 && heard.failed == session.operation) {
    const std::string why = heard.failure;
    remediate(id, why, step);
  } else if (at == SessionStep::quarantine && marked) {
    move_session(id, SessionStep::drain, "cordoned", step);
  } else if (at == SessionStep::quarantine && now_ - session.since > sched::seconds(60)) {
    move_session(id, at, "repeated", step);
  } else if (at == SessionStep::drain) {
    drain_node(id, step);
  }
}

void Controller::on(const PowerReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const auto& session = state_.node(report.node).session;
  if (!session || session->step != SessionStep::remediate || report.operation != session->operation) return;
  if (report.observed < session->since) return;
  if (!report.was_off) {
    move_session(report.node, SessionStep::person, "power cycle: " + report.text, step);
    return;
  }
  const std::set<JobNumber> jobs = state_.jobs_on(report.node);
  for (const JobNumber job : jobs) seal(job, report.node, PartEnd::off, 0, "power cycled", step);
}

void Controller::note_failure(sched::NodeId id, std::string why) {
  Heard& heard = heard_[sched::index_of(id)];
  heard.failed = state_.node(id).session->operation;
  heard.failure = std::move(why);
}

void Controller::on(const RepairReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const auto& session = state_.node(report.node).session;
  if (!session || session->step != SessionStep::remediate || report.operation != session->operation) return;
  if (report.observed < session->since || session->tried == RepairAction::power_cycle) return;
  if (!report.done) {
    note_failure(report.node, fmt::format("{}: {}", verb_of(session->tried), report.text));
  } else if (session->tried != RepairAction::reboot) {
    const bool skips = has(Defect::trust_repair);
    move_session(report.node, SessionStep::validate, fmt::format("{}: done", verb_of(session->tried)), step);
    if (skips) move_session(report.node, SessionStep::release, "not validated", step);
  }
}

void Controller::on(const ValidationReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const Node& node = state_.node(report.node);
  if (!node.session || node.session->step != SessionStep::validate || report.operation != node.session->operation)
    return;
  if (report.observed < node.session->since || (report.boot != 0 && report.boot != node.boot)) return;
  if (report.passed && node.health == Health::healthy) {
    move_session(report.node, SessionStep::release, "checks passed", step);
  } else if (report.passed) {
    move_session(report.node, SessionStep::person, "checks passed, but its health is not", step);
  } else {
    Heard& heard = heard_[sched::index_of(report.node)];
    heard.last_fatal = std::max(heard.last_fatal, report.observed);  // a failed check is evidence
    note_failure(report.node, "checks failed: " + report.text);
  }
}

void Controller::on(const CordonReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const Node& node = state_.node(report.node);
  Heard& heard = heard_[sched::index_of(report.node)];
  const bool late = report.observed < heard.cordon;
  if (late && !has(Defect::cancel_without_session)) return;
  heard.cordon = std::max(heard.cordon, report.observed);
  if (node.cordoned != report.cordoned || node.cordon_owner != report.owner) {
    Record seen = record(RecordKind::cordon_seen);
    seen.node = report.node;
    seen.code = report.cordoned ? 1 : 0;
    seen.text = report.owner;
    if (!emit(step, std::move(seen))) return;
    update_usable(report.node);
  }
  if (!node.session) return;
  const Session& session = *node.session;
  const bool ours = report.cordoned && report.owner == mark_of(session.id);
  if (report.observed < session.since && !has(Defect::cancel_without_session)) return;
  if (session.step == SessionStep::release) {
    if (!report.cordoned) {
      close_session(report.node, SessionEnd::repaired, "returned to service", step);
    } else if (!ours) {
      close_session(report.node, SessionEnd::superseded, "cordoned by " + report.owner, step);
    }
  } else if (session.step == SessionStep::quarantine) {
    if (ours) {
      move_session(report.node, SessionStep::drain, "cordoned", step);
    } else if (report.cordoned || has(Defect::cancel_without_session)) {
      close_session(report.node, SessionEnd::superseded, "cordoned by " + report.owner, step);
    }
  } else if (!ours && !has(Defect::repair_after_uncordon)) {
    close_session(report.node, SessionEnd::superseded, "the cordon was removed by someone else", step);
  }
}

}  // namespace weft::control
