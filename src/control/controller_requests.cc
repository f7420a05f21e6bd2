// Requests of users: submit, cancel, hold, release, drain, resume.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "control/answers.h"
#include "control/controller.h"

namespace weft::control {
void Controller::on(const Request& request, Step& step) {
  if (sched::index_of(request.node) >= state_.node_count()) {
    step.answers.push_back(refuse(request, ErrorCode::not_found, "the cluster has no such node"));
    return;
  }
  if (request.unchanged && !request.unchanged(state_)) {
    Answer changed = refuse(request, ErrorCode::conflict, "it has changed since it was read");
    changed.changed = true;
    step.answers.push_back(std::move(changed));
    return;
  }
  using Handler = Answer (Controller::*)(const Request&, Step&);
  static constexpr Handler kHandlers[] = {&Controller::submit,    &Controller::cancel,      &Controller::hold,
                                          &Controller::release,   &Controller::drain,       &Controller::resume,
                                          &Controller::drill,     &Controller::confirm_off, &Controller::reserve,
                                          &Controller::unreserve, &Controller::move_lease};
  step.answers.push_back((this->*kHandlers[static_cast<std::size_t>(request.kind)])(request, step));
}

bool Controller::is_same_job(JobNumber number, const JobSpec& spec) const {
  if (const Job* job = state_.find_job(number)) return to_text(*job->spec) == to_text(spec);
  const EndedJob* ended = state_.find_ended(number);
  return ended == nullptr || ended->content == 0 || ended->content == hash64(to_text(spec));
}

JobNumber Controller::find_submission(const Request& request) const {
  if (!has(Defect::keys_of_all_users)) return state_.find_key(request.user, request.key);
  for (const auto& [number, job] : state_.jobs()) {
    if (job.key == request.key) return number;
  }
  return 0;
}

Answer Controller::submit(const Request& request, Step& step) {
  if (const std::string problem = problem_of(request.spec); !problem.empty()) {
    return refuse(request, ErrorCode::invalid_input, problem);
  }
  if (request.spec.engine != LeaseOwner::none && !options_.engines.empty() &&
      std::find(options_.engines.begin(), options_.engines.end(), request.spec.engine) == options_.engines.end()) {
    return refuse(request, ErrorCode::invalid_input,
                  fmt::format("this server has no engine {}", lease::to_text(request.spec.engine)));
  }
  if (!request.key.empty() && !has(Defect::ignore_key)) {
    const JobNumber before = find_submission(request);
    if (before != 0 && is_same_job(before, request.spec)) return accept(request, before, "already submitted");
    if (before != 0) {
      return refuse(request, ErrorCode::conflict, fmt::format("the key was used for another job, number {}", before));
    }
  }
  Record submitted = record(RecordKind::job_submitted);
  submitted.job = state_.last_job() + 1;
  submitted.user = request.user;
  submitted.key = request.key;
  JobSpec spec = request.spec;
  if (has(Defect::wrong_tenant) && !options_.tenants.empty()) spec.shape.tenant = options_.tenants.front().name;
  submitted.text = to_text(spec);
  const JobNumber number = submitted.job;
  if (!emit(step, std::move(submitted))) return refuse(request, ErrorCode::internal, error_);
  sched::Job shape = request.spec.shape;
  shape.submitted = now_;
  add_foreign_nodes(request.spec, shape.excluded);
  ids_[number] = scheduler_->submit(std::move(shape), now_);
  numbers_.push_back(number);
  return accept(request, number, "submitted");
}

Answer Controller::cancel(const Request& request, Step& step) {
  const Job* job = state_.find_job(request.job);
  if (job == nullptr) {
    const bool ended = state_.find_ended(request.job) != nullptr;
    return refuse(request, ended ? ErrorCode::conflict : ErrorCode::not_found,
                  ended ? "the job has already ended" : "there is no such job");
  }
  if (job->cancel) return accept(request, job->number, "already being canceled");
  if (has(Defect::lose_cancel) && job->state == JobState::starting) return accept(request, job->number, "canceled");
  Record canceled = record(RecordKind::job_cancel);
  canceled.job = job->number;
  canceled.user = request.user;
  canceled.text = request.reason.empty() ? fmt::format("canceled by {}", request.user)
                                         : fmt::format("canceled by {}: {}", request.user, request.reason);
  if (!emit(step, std::move(canceled))) return refuse(request, ErrorCode::internal, error_);
  advance(request.job, step);
  return accept(request, request.job, "canceled");
}

Answer Controller::hold(const Request& request, Step& step) {
  const Job* job = state_.find_job(request.job);
  if (job == nullptr) return refuse(request, ErrorCode::not_found, "there is no such job");
  if (job->state != JobState::queued && job->state != JobState::placed) {
    return refuse(request, ErrorCode::conflict,
                  fmt::format("the job is {}; only a queued job can be held", to_text(job->state)));
  }
  if (job->held) return accept(request, job->number, "already held");
  if (job->state == JobState::placed) unplace(*job, "held", step);
  Record held = record(RecordKind::job_held);
  held.job = request.job;
  held.user = request.user;
  held.text = request.reason.empty() ? fmt::format("held by {}", request.user) : request.reason;
  if (!emit(step, std::move(held))) return refuse(request, ErrorCode::internal, error_);
  scheduler_->hold(ids_.at(request.job), sched::kNever, now_);
  return accept(request, request.job, "held");
}

Answer Controller::release(const Request& request, Step& step) {
  const Job* job = state_.find_job(request.job);
  if (job == nullptr) return refuse(request, ErrorCode::not_found, "there is no such job");
  if (!job->held) return refuse(request, ErrorCode::conflict, "the job is not held");
  Record released = record(RecordKind::job_released);
  released.job = request.job;
  released.user = request.user;
  if (!emit(step, std::move(released))) return refuse(request, ErrorCode::internal, error_);
  scheduler_->hold(ids_.at(request.job), now_, now_);
  return accept(request, request.job, "released");
}

Answer Controller::drain(const Request& request, Step& step) {
  const Node& node = state_.node(request.node);
  if (node.drained) {
    return refuse(request, ErrorCode::conflict,
                  fmt::format("already drained by {}: {}", node.drained_by, node.drain_reason));
  }
  Record drained = record(RecordKind::node_drain);
  drained.node = request.node;
  drained.user = request.user;
  drained.text = request.reason;
  if (!emit(step, std::move(drained))) return refuse(request, ErrorCode::internal, error_);
  update_usable(request.node);
  return accept(request, 0, "draining: running jobs continue, none starts");
}

Answer Controller::resume(const Request& request, Step& step) {
  const Node& node = state_.node(request.node);
  const bool waits = node.session && node.session->step == SessionStep::person;
  if (!node.drained && !waits)
    return refuse(request, ErrorCode::conflict, "the node is neither drained nor waits for an operator");
  if (node.drained) {
    Record resumed = record(RecordKind::node_resume);
    resumed.node = request.node;
    resumed.user = request.user;
    resumed.text = request.reason;
    if (!emit(step, std::move(resumed))) return refuse(request, ErrorCode::internal, error_);
  }
  if (waits) move_session(request.node, SessionStep::validate, fmt::format("resumed by {}", request.user), step);
  update_usable(request.node);
  return accept(request, 0, waits ? "validating before it is returned" : "resumed");
}

Answer Controller::confirm_off(const Request& request, Step& step) {
  if (request.reason.empty()) return refuse(request, ErrorCode::invalid_input, "say how it was verified (--reason)");
  Record off = record(RecordKind::node_off);
  off.node = request.node;
  off.user = request.user;
  off.text = request.reason;
  if (!emit(step, std::move(off))) return refuse(request, ErrorCode::internal, error_);
  const std::set<JobNumber> jobs = state_.jobs_on(request.node);
  for (const JobNumber job : jobs) {
    seal(job, request.node, PartEnd::off, 0, "a person verified that the node is off", step);
  }
  advance_lease(request.node, step);
  return accept(request, 0, fmt::format("{} jobs released from the node", jobs.size()));
}

}  // namespace weft::control
