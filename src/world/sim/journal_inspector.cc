#include "world/sim/journal_inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::world {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's

JournalInspector::JournalInspector(std::shared_ptr<const sched::Machine> machine, const ControllerOptions& settings,
                                   SimWorld& world)
    : machine_(std::move(machine)), settings_(settings), world_(world), before_(machine_) {}

void JournalInspector::forget() {
  open_sessions_.clear();
  tenants_.clear();
  before_.reset();
}

void JournalInspector::inspect(const Record& record) {
  if (record.kind == RecordKind::session_opened) {
    open_sessions_[record.node] = record.session;
    opened_[record.node] = world_.time();
    check_evidence(record);
    check_breaker(record);
  } else if (record.kind == RecordKind::session_closed) {
    check_close(record);
    open_sessions_.erase(record.node);
    tenants_.erase(record.node);
    closed_[record.node] = world_.time();
  } else if (record.kind == RecordKind::job_held && record.user.empty() && !world_.tolerate_lost_records) {
    const bool by_nodes = record.text.find("node failures") != std::string::npos;
    if (!by_nodes && world_.application_failures(record.job) <= 3) {
      world_.violate(fmt::format("7: job {} is held after {} failures of its own", record.job,
                                 world_.application_failures(record.job)));
    }
    world_.reached().insert("job held after failures");
  } else if (record.kind == RecordKind::node_resume && record.user.empty()) {
    world_.violate(fmt::format("9: node {} was drained by a person and is resumed", sched::index_of(record.node)));
  } else if (record.kind == RecordKind::breaker && record.code == 1) {
    world_.reached().insert("breaker tripped");
  } else if (record.kind == RecordKind::orphan_stopped) {
    world_.reached().insert("orphan stopped");
  } else if (record.kind == RecordKind::session_step) {
    check_session_step(record);
  } else if (record.kind == RecordKind::attempt_stopping &&
             record.code == static_cast<std::uint8_t>(StopCause::preempted)) {
    world_.reached().insert("preemption");
  } else if (record.kind == RecordKind::drill_ended) {
    check_drill(record);
  } else if (record.kind == RecordKind::reservation_ended) {
    world_.reached().insert(record.user.empty() ? "maintenance over" : "reservation removed");
  } else if (record.kind == RecordKind::format && before_ && before_->last_job() > 0) {
    world_.reached().insert("old journal upgraded");
  }
  note_lease(record);
  if (!before_) return;
  inspect_reserved(record);
  if (const Status applied = before_->apply(record); !applied.ok()) world_.violate("5: " + applied.error().text());
}

// A node returns to service only after its checks have passed in this session.
void JournalInspector::check_session_step(const Record& record) {
  if (record.code == static_cast<std::uint8_t>(SessionStep::person))
    world_.reached().insert("repair handed to a person");
  const bool returns = record.code == static_cast<std::uint8_t>(SessionStep::release);
  if (returns && !world_.is_validated(record.session) && !world_.tolerate_lost_records) {
    world_.violate(fmt::format("10: node {} returns to service without checks in session {}",
                               sched::index_of(record.node), record.session));
  }
}

void JournalInspector::note_lease(const Record& record) {
  const bool stops = record.kind == RecordKind::attempt_stopping || record.kind == RecordKind::attempt_checkpoint;
  if (stops && record.code == static_cast<std::uint8_t>(StopCause::moved)) {
    world_.reached().insert("job stopped for a move");
  } else if (record.kind == RecordKind::lease_granted && record.text == "verified to be off") {
    world_.reached().insert("move of a node that is off");
  } else if (record.kind == RecordKind::lease_step && record.text == "canceled") {
    world_.reached().insert("move canceled");
  } else if (record.kind == RecordKind::lease_move && record.user.empty()) {
    world_.reached().insert("lease regained after lost records");
  }
}

namespace {

double limit_of(double share, std::size_t nodes) {
  return std::max(1.0, std::floor(share * static_cast<double>(nodes)));
}

}  // namespace

// Nodes out by our repair are limited: of all nodes, and of those that a tenant uses.
void JournalInspector::check_breaker(const Record& record) {
  const double limit = limit_of(settings_.breaker.total, machine_->nodes().size());
  if (static_cast<double>(open_sessions_.size()) > limit)
    world_.violate(fmt::format("4: {} nodes in repair, the limit is {}", open_sessions_.size(), limit));
  if (before_ && before_->format() >= 2) check_tenants(record.node);
}

void JournalInspector::check_tenants(sched::NodeId opened) {
  std::map<std::string, std::set<sched::NodeId>> used;
  for (std::uint32_t n = 0; n < machine_->nodes().size(); ++n) {
    const auto node = static_cast<sched::NodeId>(n);
    for (const JobNumber job : before_->jobs_on(node)) {
      const std::string& tenant = before_->find_job(job)->spec->shape.tenant;
      used[tenant].insert(node);
      if (node == opened) tenants_[opened].insert(tenant);
    }
  }
  for (const std::string& tenant : tenants_[opened]) {
    std::size_t out = 0;
    for (const auto& [node, tenants] : tenants_) {
      if (!tenants.contains(tenant)) continue;
      used[tenant].insert(node);
      ++out;
    }
    if (out > 1) world_.reached().insert("two nodes of a tenant in repair");
    const double limit = limit_of(settings_.breaker.tenant, used[tenant].size());
    if (static_cast<double>(out) > limit)
      world_.violate(fmt::format("4: {} nodes of tenant {} in repair, the limit is {}", out, tenant, limit));
  }
}

// No job starts on a node that is reserved before its limit; no node is power cycled, and no service is stopped, for
// or during maintenance.
void JournalInspector::inspect_reserved(const Record& record) {
  const bool stops = record.kind == RecordKind::attempt_stopping || record.kind == RecordKind::attempt_checkpoint;
  if (stops && record.code == static_cast<std::uint8_t>(StopCause::reserved)) {
    const sched::Job& shape = before_->find_job(record.job)->spec->shape;
    world_.reached().insert("preemption for maintenance");
    if (shape.inference || !shape.preemptible)
      world_.violate(fmt::format("15: job {} is stopped for maintenance, but is never preempted", record.job));
  }
  if (record.kind == RecordKind::session_step && record.code == static_cast<std::uint8_t>(SessionStep::remediate) &&
      before_->find_reservation(record.node, record.at) != nullptr) {
    world_.violate(fmt::format("15: node {} is power cycled in maintenance", sched::index_of(record.node)));
  }
  if (record.kind != RecordKind::attempt_starting) return;
  const Job& job = *before_->find_job(record.job);
  const Duration limit = job.spec->shape.limit;
  const sched::Moment end = record.at + (limit == sched::kUnlimited ? settings_.policy.outage_horizon : limit);
  for (const auto& [name, reservation] : before_->reservations()) {
    if (reservation.until <= record.at || reservation.from >= end) continue;
    for (const Part& part : job.current->parts) {
      if (reservation.has(part.node))
        world_.violate(
            fmt::format("15: job {} starts on node {}, which is reserved", record.job, sched::index_of(part.node)));
    }
  }
}

// A drill passes only if other nodes really restored the checkpoint.
void JournalInspector::check_drill(const Record& record) {
  const bool passed = record.code == static_cast<std::uint8_t>(DrillResult::passed);
  world_.reached().insert(passed ? "drill passed" : "drill failed");
  if (!passed || !before_) return;
  const Job& job = *before_->find_job(record.job);
  const std::string problem =
      world_.drill_problem(record.job, job.drill->stopped, record.attempt, job.current->checkpoint);
  if (!problem.empty()) world_.violate(fmt::format("7: the drill of job {} passed, but {}", record.job, problem));
}

// A session ends because a person removed its cordon only if that was seen during the session.
void JournalInspector::check_close(const Record& record) {
  if (world_.tolerate_lost_records || world_.is_enabled(Fault::store_full)) return;
  if (record.code != static_cast<std::uint8_t>(SessionEnd::superseded)) return;
  if (world_.told_mark(record.node) < opened_[record.node]) {
    world_.violate(fmt::format("2: session {} is ended by an observation from before it", record.session));
  }
}

// A session is opened on an observation that is fresh and that no session before it was about.
void JournalInspector::check_evidence(const Record& record) {
  // Records become durable later than they are made, or are read again after their loss: the times do not compare.
  if (world_.tolerate_lost_records || world_.is_enabled(Fault::store_full)) return;
  const sched::Moment fatal = world_.told_fatal(record.node);
  if (world_.time() - fatal > settings_.evidence_age + sched::seconds(10)) {
    world_.violate(fmt::format("3: session {} is opened without fresh evidence", record.session));
  }
  const auto closed = closed_.find(record.node);
  if (closed != closed_.end() && fatal < closed->second) {
    world_.violate(fmt::format("2: session {} is opened on evidence of the one before", record.session));
  }
}

}  // namespace weft::world
