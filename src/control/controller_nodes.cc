// Nodes: health, boots, left-over cordons and the blast-radius breaker.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "control/controller.h"

namespace weft::control {
namespace {

std::size_t limit_of(double share, std::size_t nodes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(share * static_cast<double>(nodes))));
}

}  // namespace

std::string Controller::mark_of(SessionId session) { return fmt::format("weft:{}", session); }

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
  if (report.health == Health::fatal) {
    heard.last_fatal = report.observed;
    heard.plan = report.plan;
  }
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
  const auto shares = [&](sched::Level level, sched::NodeId other) {
    return machine.domain_of(level, other) == machine.domain_of(level, id);
  };
  struct Count {
    std::size_t out = 0;
    std::size_t nodes = 0;
  };
  Count all, rack, leaf, pool;
  for (std::size_t n = 0; n < state_.node_count(); ++n) {
    const auto other = static_cast<sched::NodeId>(n);
    const auto& session = state_.node(other).session;
    const bool forgotten = session && has(Defect::breaker_forgets) && session->opened < began_;
    // Proposals count as well: they say what would be done, and it would be limited.
    const bool out = !forgotten && (session || (state_.node(other).proposal && other != id));
    const auto count = [&](Count& each, bool member) {
      each.nodes += member ? 1 : 0;
      each.out += member && out ? 1 : 0;
    };
    count(all, true);
    count(rack, shares(sched::Level::rack, other));
    count(leaf, shares(sched::Level::leaf, other));
    count(pool, machine.node(other).pool == machine.node(id).pool);
  }
  const BreakerLimits& limits = options_.breaker;
  if (all.out >= limit_of(limits.total, all.nodes)) return fmt::format("{} nodes are in repair", all.out);
  if (rack.out >= limit_of(limits.rack, rack.nodes)) return fmt::format("{} nodes of the rack are in repair", rack.out);
  if (leaf.out >= limit_of(limits.leaf, leaf.nodes)) return fmt::format("{} nodes of the leaf are in repair", leaf.out);
  if (pool.out >= limit_of(limits.pool, pool.nodes)) return fmt::format("{} nodes of the pool are in repair", pool.out);
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
