// Checkpoint drills: a running job is stopped with a checkpoint and must restore it on other nodes. The result is
// journaled; whatever happens, the job continues.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "control/answers.h"
#include "control/controller.h"

namespace weft::control {
namespace {

bool is_pending(const Job& job) { return job.drill && job.drill->result == DrillResult::pending; }

// Whether the current attempt is one that has to restore the checkpoint.
bool is_restoring(const Job& job) { return is_pending(job) && job.current && job.current->number > job.drill->stopped; }

}  // namespace

Answer Controller::drill(const Request& request, Step& step) {
  const Job* job = state_.find_job(request.job);
  if (job == nullptr) return refuse(request, ErrorCode::not_found, "there is no such job");
  if (is_pending(*job)) return refuse(request, ErrorCode::conflict, "a drill of this job is under way");
  if (job->state != JobState::running) {
    return refuse(request, ErrorCode::conflict,
                  fmt::format("the job is {}; a drill needs a running one", to_text(job->state)));
  }
  if (state_.format() < 2) return refuse(request, ErrorCode::refused, "the journal has format 1");
  if (job->spec->checkpoint.volumes.empty())
    return refuse(request, ErrorCode::refused, "the job writes no checkpoints");
  if (job->checkpoint.empty())
    return refuse(request, ErrorCode::refused, "the job has not written a checkpoint yet; it would lose its work");
  std::vector<sched::NodeId> used;
  for (const Part& part : job->current->parts) used.push_back(part.node);
  if (!scheduler_->fits_elsewhere(ids_.at(request.job), used, now_)) {
    return refuse(
        request, ErrorCode::refused,
        fmt::format("a drill restores the checkpoint on other nodes, but without the {} nodes of the job there "
                    "are too few free ones; the job keeps running",
                    used.size()));
  }
  Record begun = attempt_record(RecordKind::drill_begun, *job);
  begun.user = request.user;
  if (!emit(step, std::move(begun))) return refuse(request, ErrorCode::internal, error_);
  drilling_.insert(request.job);
  stop_attempt(*job, StopCause::drill, fmt::format("checkpoint drill by {}", request.user), step, true);
  return accept(request, request.job, "stopping with a checkpoint; the next attempt restores it on other nodes");
}

std::vector<sched::NodeId> Controller::excluded_nodes(const Job& job) const {
  std::vector<sched::NodeId> nodes;
  if (is_pending(job) && !has(Defect::drill_same_nodes)) nodes = job.drill->before;
  add_foreign_nodes(*job.spec, nodes);
  return nodes;
}

void Controller::end_drill(const Job& job, DrillResult result, std::string text, Step& step) {
  const JobNumber number = job.number;
  Record ended = record(RecordKind::drill_ended);
  ended.job = number;
  ended.attempt = result == DrillResult::passed ? job.current->number : 0;
  ended.code = static_cast<std::uint8_t>(result);
  ended.text = std::move(text);
  if (!emit(step, std::move(ended))) return;
  drilling_.erase(number);
  scheduler_->exclude(ids_.at(number), {}, now_);
}

// The current attempt computes with what it restored.
void Controller::prove_drill(const Job& job, Step& step) {
  if (!is_restoring(job)) return;
  const bool shared = std::any_of(job.drill->before.begin(), job.drill->before.end(),
                                  [&](sched::NodeId node) { return job.current->find(node) != nullptr; });
  if (job.current->checkpoint.empty()) {
    end_drill(job, DrillResult::failed, "started without a checkpoint", step);
  } else if (shared && !has(Defect::drill_same_nodes)) {
    end_drill(job, DrillResult::failed, "restored on some of the same nodes", step);
  } else {
    end_drill(job, DrillResult::passed, {}, step);
  }
}

// An attempt has ended. Failures of nodes and preemptions prove nothing: the next attempt tries again.
void Controller::judge_drill(const Job& job, AttemptEnd end, const std::string& text, Step& step) {
  if (!is_restoring(job) || job.current->starts == 0) return;
  if (end == AttemptEnd::succeeded) {
    prove_drill(job, step);
  } else if (end == AttemptEnd::application) {
    end_drill(job, DrillResult::failed,
              fmt::format("attempt {} failed after the restore of {}: {}", job.current->number, job.current->checkpoint,
                          text.empty() ? "no reason reported" : text),
              step);
  }
}

void Controller::check_drills(Step& step) {
  const std::set<JobNumber> drilling = drilling_;
  for (const JobNumber number : drilling) {
    const Job* job = state_.find_job(number);
    if (job == nullptr || !is_pending(*job)) {
      drilling_.erase(number);
      continue;
    }
    const bool runs = is_restoring(*job) && job->state == JobState::running;
    const bool believed = is_restoring(*job) && job->current->starts > 0 && has(Defect::drill_believes_start);
    if (believed || (runs && now_ - job->current->running >= options_.drill_run)) {
      prove_drill(*job, step);
    } else if (!runs && now_ - job->drill->begun > options_.drill_deadline) {
      end_drill(*job, DrillResult::failed,
                fmt::format("not running on other nodes within {}; the job is {}",
                            format_duration(options_.drill_deadline), to_text(job->state)),
                step);
    }
  }
}

}  // namespace weft::control
