// Reservations of nodes for maintenance. Before one begins, its nodes accept only jobs that end before by their limit;
// when it begins, what can be preempted there is stopped with a checkpoint; when it ends, the nodes return by
// themselves.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/text.h"
#include "control/answers.h"
#include "control/controller.h"

namespace weft::control {
namespace {

constexpr std::size_t kMaxReservations = 1000;
constexpr std::size_t kMaxName = 64;

bool is_preemptible(const Job& job) { return job.spec->shape.preemptible && !job.spec->shape.inference; }

std::vector<sched::NodeId> sort_unique(std::vector<sched::NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

std::string Controller::problem_of_reservation(const Request& request) const {
  const bool plain = std::all_of(request.name.begin(), request.name.end(),
                                 [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
  if (!plain || request.name.empty() || request.name.size() > kMaxName)
    return fmt::format("the name of a reservation must have 1 to {} letters, digits, `-`, `_` and `.`", kMaxName);
  if (request.nodes.empty()) return "the reservation has no nodes";
  for (const sched::NodeId node : request.nodes) {
    if (sched::index_of(node) >= state_.node_count()) return "the cluster has no such node";
  }
  if (request.from >= request.until) return "the reservation ends before it begins";
  if (request.until <= now_) return "the reservation ends in the past";
  if (state_.reservations().size() >= kMaxReservations)
    return fmt::format("there are {} reservations; remove some first", kMaxReservations);
  return {};
}

// What runs on its nodes and may still run when it begins.
std::string Controller::describe_jobs_at(const Reservation& reservation) const {
  std::set<JobNumber> jobs;
  for (const sched::NodeId node : reservation.nodes) jobs.merge(std::set<JobNumber>(state_.jobs_on(node)));
  std::size_t preempted = 0;
  std::size_t kept = 0;
  for (const JobNumber number : jobs) {
    const Job& job = *state_.find_job(number);
    if (std::max(job.current->placed, job.current->running) + job.spec->shape.limit <= reservation.from) continue;
    ++(is_preemptible(job) ? preempted : kept);
  }
  std::string text;
  if (preempted > 0) text += fmt::format("; {} there will be preempted when it begins", plural(preempted, "job"));
  if (kept > 0) text += fmt::format("; {} there will not be preempted and must be stopped before", plural(kept, "job"));
  return text;
}

Answer Controller::reserve(const Request& request, Step& step) {
  if (const std::string problem = problem_of_reservation(request); !problem.empty())
    return refuse(request, ErrorCode::invalid_input, problem);
  if (state_.format() < 2) return refuse(request, ErrorCode::refused, "the journal has format 1");
  const std::vector<sched::NodeId> nodes = sort_unique(request.nodes);
  if (const auto found = state_.reservations().find(request.name); found != state_.reservations().end()) {
    const Reservation& other = found->second;
    // With a key it is a repetition, whose times have moved on since: a reservation is identified by its name.
    const bool is_same_time = other.from == request.from && other.until == request.until;
    const bool is_repeated =
        !request.key.empty() && other.user == request.user && other.until - other.from == request.until - request.from;
    if (other.nodes == nodes && (is_same_time || is_repeated)) return accept(request, 0, "already reserved");
    return refuse(request, ErrorCode::conflict,
                  fmt::format("{} has made another reservation `{}`", other.user, other.name));
  }
  Record made = record(RecordKind::reservation_made);
  made.key = request.name;
  made.user = request.user;
  made.text = request.reason;
  made.value = request.from.count();
  made.until = request.until;
  for (const sched::NodeId node : nodes) made.slots.emplace_back().node = node;
  if (!emit(step, std::move(made))) return refuse(request, ErrorCode::internal, error_);
  plan_outages();
  for (const sched::NodeId node : nodes) update_usable(node);
  const Reservation& reservation = state_.reservations().at(request.name);
  return accept(request, 0, fmt::format("{} reserved{}", plural(nodes.size(), "node"), describe_jobs_at(reservation)));
}

Answer Controller::unreserve(const Request& request, Step& step) {
  if (!state_.reservations().contains(request.name))
    return refuse(request, ErrorCode::not_found, fmt::format("there is no reservation `{}`", request.name));
  end_reservation(request.name, request.user, request.reason, step);
  return accept(request, 0, "removed; the nodes return to service");
}

void Controller::end_reservation(const std::string& name, const std::string& user, const std::string& reason,
                                 Step& step) {
  const std::vector<sched::NodeId> nodes = state_.reservations().at(name).nodes;
  Record ended = record(RecordKind::reservation_ended);
  ended.key = name;
  ended.user = user;
  ended.text = reason;
  if (!emit(step, std::move(ended))) return;
  plan_outages();
  for (const sched::NodeId node : nodes) update_usable(node);
}

bool Controller::is_in_maintenance(sched::NodeId node) const {
  return !has(Defect::ignore_reservation) && state_.find_reservation(node, now_) != nullptr;
}

std::string Controller::describe_maintenance(sched::NodeId node, Reader reader) const {
  const Reservation& reservation = *state_.find_reservation(node, now_);
  const bool all = reader == Reader::operators;
  std::string text = fmt::format("reserved for maintenance `{}`{} for another {}", reservation.name,
                                 all ? " by " + reservation.user : "", format_duration(reservation.until - now_));
  if (!all) return text;
  if (!reservation.reason.empty()) text += ": " + reservation.reason;
  for (const JobNumber number : state_.jobs_on(node)) {
    const bool kept = !is_preemptible(*state_.find_job(number));
    text += fmt::format("; {} job {}", kept ? "busy with" : "stops", number);
    if (kept) text += ", which is never preempted";
  }
  return text;
}

// Why a job that has been placed must not start: one of its nodes is reserved before it would end.
std::string Controller::why_reserved(const Job& job) const {
  if (state_.reservations().empty() || has(Defect::ignore_reservation)) return {};
  const Duration limit = job.spec->shape.limit;
  const sched::Moment end = now_ + (limit == sched::kUnlimited ? options_.policy.outage_horizon : limit);
  for (const auto& [name, reservation] : state_.reservations()) {
    if (reservation.until <= now_ || reservation.from >= end) continue;
    for (const Part& part : job.current->parts) {
      if (!reservation.has(part.node)) continue;
      return fmt::format("{} is reserved for maintenance `{}` before the job would end",
                         state_.machine().node(part.node).name, name);
    }
  }
  return {};
}

void Controller::plan_outages() {
  if (has(Defect::ignore_reservation)) return;
  std::vector<sched::PlannedOutage> outages;
  for (const auto& [name, reservation] : state_.reservations()) {
    for (const sched::NodeId node : reservation.nodes) outages.push_back({node, reservation.from});
  }
  scheduler_->plan_outages(outages, now_);
}

void Controller::check_reservations(Step& step) {
  std::vector<std::string> over;
  for (const auto& [name, reservation] : state_.reservations()) {
    if (reservation.until <= now_ && !has(Defect::endless_reservation)) over.push_back(name);
    if (reservation.is_active(now_)) clear_for_maintenance(reservation, step);
  }
  for (const std::string& name : over) end_reservation(name, {}, {}, step);
}

void Controller::clear_for_maintenance(const Reservation& reservation, Step& step) {
  if (has(Defect::ignore_reservation)) return;
  for (const sched::NodeId node : reservation.nodes) {
    update_usable(node);
    const std::set<JobNumber> jobs = state_.jobs_on(node);
    for (const JobNumber number : jobs) {
      const Job* job = state_.find_job(number);
      if (job == nullptr || !job->current || (!is_preemptible(*job) && !has(Defect::preempt_service))) continue;
      stop_attempt(
          *job, StopCause::reserved,
          fmt::format("{} is reserved for maintenance `{}`", state_.machine().node(node).name, reservation.name), step,
          true);
    }
  }
}

}  // namespace weft::control
