// Nodes: health, boots, cordons, repair sessions and the blast-radius breaker.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "control/controller.h"

namespace weft::control {
namespace {

std::string mark_of(SessionId session) { return fmt::format("weft:{}", session); }

std::size_t limit_of(double share, std::size_t nodes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(share * static_cast<double>(nodes))));
}

}  // namespace

std::string Controller::why_unusable(sched::NodeId id, Reader reader) const {
  const Node& node = state_.node(id);
  const bool all = reader == Reader::operators;
  if (node.drained) return all ? fmt::format("drained by {}: {}", node.drained_by, node.drain_reason) : "drained";
  if (is_in_maintenance(id)) return describe_maintenance(id, reader);
  if (node.session) return fmt::format("in repair session {} ({})", node.session->id, to_text(node.session->step));
  if (node.cordoned) return all ? "cordoned by " + node.cordon_owner : "cordoned";
  if (std::string blocked = why_lease_blocks(id, reader); !blocked.empty()) return blocked;
  if (heard_[sched::index_of(id)].at == sched::Moment() && !has(Defect::unknown_is_healthy)) {
    return "not reported since the controller started";
  }
  const Heard& heard = heard_[sched::index_of(id)];
  if (!heard.listed && !has(Defect::trust_journal)) return "what runs there is not known yet";
  if (!heard.foreign.empty()) {
    return all ? fmt::format("runs {} attempts that should have ended", heard.foreign.size())
               : "runs what should have ended";
  }
  if (node.health != Health::healthy) {
    return node.signal.empty() || !all ? std::string(to_text(node.health))
                                       : fmt::format("{}: {}", to_text(node.health), node.signal);
  }
  return node.boot == 0 ? "not reported yet" : "";
}

bool Controller::is_usable(sched::NodeId id) const { return why_unusable(id).empty(); }

void Controller::update_usable(sched::NodeId node) {
  Heard& heard = heard_[sched::index_of(node)];
  const bool usable = is_usable(node);
  if (usable == heard.usable) return;
  heard.usable = usable;
  usable ? scheduler_->node_up(node, now_) : scheduler_->node_down(node, now_);
}

void Controller::note_boot(sched::NodeId id, BootId boot, Step& step, bool proven) {
  if (boot == 0) return;
  const Node& node = state_.node(id);
  if (boot == node.boot) return;
  const bool stale =
      node.boots.contains(boot) && !proven;  // of an earlier boot: a late report or a source that is stuck
  if (stale && !has(Defect::old_boot)) return;
  if (!stale) {
    Record booted = record(RecordKind::node_boot);
    booted.node = id;
    booted.boots = {boot};
    if (!emit(step, std::move(booted))) return;
    heard_[sched::index_of(id)].booted = now_;
    lease_heard_[sched::index_of(id)].gate.reset();  // it starts closed
  }
  const std::set<JobNumber> jobs = state_.jobs_on(id);
  for (const JobNumber number : jobs) {  // a process does not survive a boot
    const Job* job = state_.find_job(number);
    const Part* part = job != nullptr && job->current ? job->current->find(id) : nullptr;
    if (part == nullptr || part->boot == boot) continue;
    seal(number, id, PartEnd::rebooted, 0, fmt::format("{} rebooted", state_.machine().node(id).name), step);
  }
  if (state_.node(id).session && state_.node(id).session->step == SessionStep::remediate && !stale) {
    move_session(id, SessionStep::validate, "booted", step);
  }
  update_usable(id);
}

void Controller::set_health(sched::NodeId id, Health health, const std::string& signal, sched::Moment observed,
                            Step& step) {
  const Node& node = state_.node(id);
  if (node.health == health && node.signal == signal) return;
  Record changed = record(RecordKind::node_health);
  changed.node = id;
  changed.code = static_cast<std::uint8_t>(health);
  changed.text = signal;
  changed.until = observed;
  if (emit(step, std::move(changed))) update_usable(id);
}

void Controller::on(const NodeReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const Node& node = state_.node(report.node);
  if (report.boot != 0 && report.boot != node.boot && node.boots.contains(report.boot)) return;  // stale
  Heard& heard = heard_[sched::index_of(report.node)];
  if (report.observed < heard.at || report.observed > now_) return;  // late, or from the future
  if (now_ - report.observed > options_.stale_after) return;         // too old to say anything about now
  note_boot(report.node, report.boot, step);
  const bool first = heard.at == sched::Moment();
  if (report.boot != 0) heard.at = report.observed;  // a BMC's report about a dead node is not a sign of life
  if (report.health == Health::fatal) heard.last_fatal = report.observed;
  heard.work = report.work;
  set_health(report.node, report.health, report.signal, report.observed, step);
  if (first) update_usable(report.node);
  check_proposal(report.node, step);
  if (report.health == Health::fatal && !node.session) open_session(report.node, step);
}

// Silence makes the health unknown; it is no evidence of anything else.
void Controller::check_node(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  const sched::Moment heard = heard_[sched::index_of(id)].at;
  const bool silent = now_ - (heard == sched::Moment() ? began_ : heard) > options_.stale_after;
  if (silent && node.health == Health::healthy && !has(Defect::unknown_is_healthy)) {
    set_health(id, Health::unknown, "no report", now_, step);
  }
  remove_leftover_cordon(id, step);
  check_proposal(id, step);
}

// A cordon that was executed late, after its session had ended, would keep the node out of service permanently.
void Controller::remove_leftover_cordon(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  Heard& heard = heard_[sched::index_of(id)];
  if (!node.cordoned || now_ - heard.removal < sched::seconds(60)) return;
  if (!options_.stages.allows(Stage::quarantine, id)) return;
  const bool ours = node.cordon_owner.starts_with("weft:") || has(Defect::cordon_without_owner);
  if (!ours || (node.session && (mark_of(node.session->id) == node.cordon_owner || has(Defect::cordon_without_owner))))
    return;
  heard.removal = now_;
  Record removed = record(RecordKind::cordon_removed);
  removed.node = id;
  removed.operation = next_operation();
  removed.session =
      std::strtoull(node.cordon_owner.c_str() + std::min<std::size_t>(5, node.cordon_owner.size()), nullptr, 10);
  CordonNode command{removed.operation, removed.session, id, false};
  if (emit(step, std::move(removed))) step.commands.emplace_back(command);
}

std::string Controller::breaker_refuses(sched::NodeId id) const {
  if (has(Defect::no_breaker)) return {};
  if (state_.tripped()) return state_.trip_reason();
  const sched::Machine& machine = state_.machine();
  const std::uint32_t rack = machine.domain_of(sched::Level::rack, id);
  std::size_t total = 0, in_rack = 0, in_pool = 0, of_rack = 0, of_pool = 0;
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto other = static_cast<sched::NodeId>(n);
    const bool same_rack = machine.domain_of(sched::Level::rack, other) == rack;
    const bool same_pool = machine.node(other).pool == machine.node(id).pool;
    of_rack += same_rack ? 1 : 0;
    of_pool += same_pool ? 1 : 0;
    const auto& session = state_.node(other).session;
    const bool forgotten = session && has(Defect::breaker_forgets) && session->opened < began_;
    // Proposals count as well: they say what would be done, and it would be limited.
    if (forgotten || (!session && (!state_.node(other).proposal || other == id))) continue;
    ++total;
    in_rack += same_rack ? 1 : 0;
    in_pool += same_pool ? 1 : 0;
  }
  const BreakerLimits& limits = options_.breaker;
  if (total >= limit_of(limits.total, state_.node_count())) return fmt::format("{} nodes are in repair", total);
  if (in_rack >= limit_of(limits.rack, of_rack)) return fmt::format("{} nodes of the rack are in repair", in_rack);
  if (in_pool >= limit_of(limits.pool, of_pool)) return fmt::format("{} nodes of the pool are in repair", in_pool);
  return tenant_limit_reached(id);
}

std::set<std::string> Controller::tenants_on(sched::NodeId id) const {
  std::set<std::string> tenants;
  for (const JobNumber number : state_.jobs_on(id)) {
    const std::string& tenant = state_.find_job(number)->spec->shape.tenant;
    if (!tenant.empty()) tenants.insert(tenant);
  }
  return tenants;
}

// The nodes of a tenant are those that its jobs use, and those taken from under them.
std::string Controller::tenant_limit_reached(sched::NodeId id) const {
  if (has(Defect::breaker_ignores_tenant)) return {};
  for (const std::string& tenant : tenants_on(id)) {
    std::set<sched::NodeId> nodes;
    for (const JobNumber number : active_) {
      const Job& job = *state_.find_job(number);
      if (job.spec->shape.tenant != tenant || job.current->starts == 0) continue;
      for (const Part& part : job.current->parts) {
        if (!part.sealed) nodes.insert(part.node);
      }
    }
    std::size_t out = 0;
    for (std::size_t n = 0; n < state_.node_count(); ++n) {
      const auto& session = state_.node(static_cast<sched::NodeId>(n)).session;
      if (!session || std::find(session->tenants.begin(), session->tenants.end(), tenant) == session->tenants.end())
        continue;
      nodes.insert(static_cast<sched::NodeId>(n));
      ++out;
    }
    if (out >= limit_of(options_.breaker.tenant, nodes.size()))
      return fmt::format("{} of {} nodes of tenant {} are in repair", out, nodes.size(), tenant);
  }
  return {};
}

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

void Controller::move_session(sched::NodeId id, SessionStep next, std::string text, Step& step) {
  const SessionId session = state_.node(id).session->id;
  Record moved = record(RecordKind::session_step);
  moved.node = id;
  moved.session = session;
  moved.code = static_cast<std::uint8_t>(next);
  moved.text = std::move(text);
  const bool acts = next != SessionStep::drain && next != SessionStep::person;
  if (acts) moved.operation = next_operation();
  const OperationId operation = moved.operation;
  if (!emit(step, std::move(moved))) return;
  if (next == SessionStep::quarantine) step.commands.emplace_back(CordonNode{operation, session, id, true});
  if (next == SessionStep::remediate) step.commands.emplace_back(PowerCycle{operation, session, id});
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
  if (!state_.jobs_on(id).empty() && !waited) return;
  const bool fresh = heard.last_fatal != sched::Moment() && now_ - heard.last_fatal <= options_.evidence_age;
  const bool ignores_age = has(Defect::stale_evidence_power) && waited;
  if ((node.health != Health::fatal || !fresh) && !ignores_age) return;
  if (options_.stages.allows(Stage::repair, id)) return move_session(id, SessionStep::remediate, "power cycle", step);
  move_session(id, SessionStep::person, "power cycle is not enabled", step);
  propose(id, Stage::repair, node.session->cause, step);
}

void Controller::advance_session(sched::NodeId id, Step& step) {
  const Node& node = state_.node(id);
  const Session& session = *node.session;
  const SessionStep at = session.step;
  const sched::Moment base = at == SessionStep::quarantine ? session.opened : session.since;
  const Duration deadline = deadline_of(at);
  if (deadline != sched::kUnlimited && now_ - base > deadline) {
    move_session(id, SessionStep::person, fmt::format("{}: deadline passed", to_text(at)), step);
    return;
  }
  const bool marked = node.cordoned && node.cordon_owner == mark_of(session.id);
  if (at == SessionStep::quarantine && marked) {
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

void Controller::on(const ValidationReport& report, Step& step) {
  if (sched::index_of(report.node) >= state_.node_count()) return;
  const Node& node = state_.node(report.node);
  if (!node.session || node.session->step != SessionStep::validate || report.operation != node.session->operation)
    return;
  if (report.observed < node.session->since || (report.boot != 0 && report.boot != node.boot)) return;
  if (report.passed && node.health == Health::healthy) {
    move_session(report.node, SessionStep::release, "checks passed", step);
  } else {
    move_session(report.node, SessionStep::person,
                 report.passed ? "checks passed, but its health is not" : "checks failed: " + report.text, step);
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

void Controller::check_breaker(Step& step) {
  std::size_t silent = 0;
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto id = static_cast<sched::NodeId>(n);
    const Node& node = state_.node(id);
    silent += node.boot != 0 && node.health == Health::unknown && !is_in_maintenance(id) ? 1U : 0U;
  }
  const double limit = options_.breaker.disappearance * static_cast<double>(state_.node_count());
  const bool many = silent >= 3 && static_cast<double>(silent) > limit;
  if (!state_.tripped() && many) {
    Record tripped = record(RecordKind::breaker);
    tripped.code = 1;
    tripped.text = fmt::format("{} of {} nodes are silent", silent, state_.node_count());
    if (emit(step, std::move(tripped))) tripped_at_ = now_;
  } else if (state_.tripped() && static_cast<double>(silent) <= limit / 2 &&
             now_ - std::max(tripped_at_, began_) >= sched::seconds(300)) {
    emit(step, record(RecordKind::breaker));
  }
}

}  // namespace weft::control
