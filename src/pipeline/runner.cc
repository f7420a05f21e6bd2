#include "pipeline/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "pipeline/reference.h"
#include "pipeline/step_output.h"

namespace weft::pipeline {
namespace {

bool is_success(const RunState& state, const std::string& step) {
  const StepRun* run = state.find(step);
  return run != nullptr && run->state == StepState::done;
}

bool is_active(const StepRun& run) { return run.state == StepState::submitting || run.state == StepState::submitted; }

}  // namespace

RunState new_run(const Pipeline& pipeline) {
  RunState state;
  for (const Step& step : pipeline.steps) state.steps.emplace_back(step.name, StepRun());
  return state;
}

Status check_run(const Pipeline& pipeline, const RunState& state) {
  bool same = pipeline.steps.size() == state.steps.size();
  for (std::size_t i = 0; same && i < pipeline.steps.size(); ++i) same = pipeline.steps[i].name == state.steps[i].first;
  if (same) return {};
  return Error{ErrorCode::internal, "the state of the run is damaged: its steps are not those of the pipeline", {}};
}

Runner::Runner(const Pipeline& pipeline, RunState& state, const std::map<StepEngine, JobServer*>& servers,
               RunKeeper& keeper, oob::Clock& clock, RunnerOptions options)
    : pipeline_(pipeline),
      state_(state),
      servers_(servers),
      keeper_(keeper),
      clock_(clock),
      options_(std::move(options)) {}

Status Runner::round() {
  if (Status taken = take_cancel_requests(); !taken.ok()) return taken;
  for (std::size_t i = 0; i < pipeline_.steps.size(); ++i) {
    apply_failure_policy();
    if (Status advanced = advance(pipeline_.steps[i], state_.steps[i].second); !advanced.ok()) return advanced;
  }
  if (!std::exchange(changed_, false)) return {};
  return keeper_.save(state_);
}

bool Runner::finished() const {
  if (options_.start_steps) return state_.ended();
  return std::none_of(state_.steps.begin(), state_.steps.end(),
                      [](const auto& each) { return each.second.cancel && !is_final(each.second.state); });
}

Status Runner::take_cancel_requests() {
  const Result<std::set<std::string>> requests = keeper_.cancel_requests();
  if (!requests.ok()) return requests.error();
  for (auto& [name, run] : state_.steps) {
    if (run.cancel || is_final(run.state) || (!requests->contains("*") && !requests->contains(name))) continue;
    run.cancel = true;
    run.reason = "canceled by request";
    changed_ = true;
  }
  return {};
}

void Runner::apply_failure_policy() {
  if (pipeline_.on_failure == FailurePolicy::proceed) return;
  const auto failed = std::find_if(state_.steps.begin(), state_.steps.end(),
                                   [](const auto& each) { return each.second.state == StepState::failed; });
  if (failed == state_.steps.end()) return;
  const std::string reason = fmt::format("step {} failed", failed->first);
  for (std::size_t i = 0; i < pipeline_.steps.size(); ++i) {
    StepRun& run = state_.steps[i].second;
    if (is_final(run.state) || run.cancel) continue;
    if (run.tries == 0) {
      end(pipeline_.steps[i], run, StepState::skipped, reason);
    } else if (pipeline_.on_failure == FailurePolicy::stop) {
      run.cancel = true;
      run.reason = reason;
      changed_ = true;
    }
  }
}

Status Runner::advance(const Step& step, StepRun& run) {
  if (run.state == StepState::waiting) settle_waiting(step, run);
  if (run.state == StepState::waiting && options_.start_steps && is_ready(step, run)) return begin_try(step, run);
  if (run.state == StepState::submitting && (options_.start_steps || run.cancel)) return submit(step, run);
  if (run.state == StepState::submitted) return watch(step, run);
  return {};
}

void Runner::settle_waiting(const Step& step, StepRun& run) {
  if (run.cancel) return end(step, run, StepState::canceled, run.reason);
  for (const std::string& need : step.needs) {
    const StepRun* needed = state_.find(need);
    if (needed == nullptr || !is_final(needed->state) || needed->state == StepState::done) continue;
    return end(step, run, StepState::skipped, fmt::format("step {} is {}", need, to_text(needed->state)));
  }
}

bool Runner::is_ready(const Step& step, const StepRun& run) const {
  if (!std::all_of(step.needs.begin(), step.needs.end(), [&](const auto& need) { return is_success(state_, need); }))
    return false;
  if (run.not_before > clock_.wall_ms()) return false;
  const auto active =
      std::count_if(state_.steps.begin(), state_.steps.end(), [](const auto& each) { return is_active(each.second); });
  return pipeline_.parallelism == 0 || active < pipeline_.parallelism;
}

// The try is on disk before the request: its key can be repeated after a kill.
Status Runner::begin_try(const Step& step, StepRun& run) {
  run.state = StepState::submitting;
  ++run.tries;
  run.job = 0;
  run.job_state.clear();
  run.reason.clear();
  run.not_before = 0;
  changed_ = false;
  if (Status saved = keeper_.save(state_); !saved.ok()) return saved;
  return submit(step, run);
}

Status Runner::submit(const Step& step, StepRun& run) {
  Result<std::string> text = fill_job(step);
  if (!text.ok()) {
    end(step, run, StepState::failed, text.error().message);
    return {};
  }
  const JobSubmission submission{std::move(*text), fmt::format("step {}", step.name), state_.directory, state_.tenant,
                                 state_.key_of(step.name, run.tries)};
  const Result<std::uint64_t> job = server_of(step).submit(submission);
  if (!job.ok()) {
    if (is_answer(step, job.error())) end(step, run, StepState::failed, "not accepted: " + job.error().text());
    return {};
  }
  silent_.erase(step.engine);
  run.state = StepState::submitted;
  run.job = *job;
  tell(step, fmt::format("submitted as job {} ({} step)", run.job, to_text(step.engine)));
  changed_ = false;
  return keeper_.save(state_);
}

Status Runner::watch(const Step& step, StepRun& run) {
  const Result<JobStatus> job = server_of(step).job(run.job);
  if (!job.ok()) {
    if (!is_answer(step, job.error())) return {};
    end(step, run, StepState::failed,
        fmt::format("job {} is not known to the server, and may still run: {}", run.job, job.error().text()));
    return {};
  }
  silent_.erase(step.engine);
  if (job->ended()) {
    end_job(step, run, *job);
    return {};
  }
  if (run.cancel && !run.cancel_sent) send_cancel(step, run);
  if (job->state == run.job_state) return {};
  run.job_state = job->state;
  changed_ = true;
  const std::string where = job->nodes.empty() ? std::string() : " on " + job->nodes;
  const std::string why = job->reason.empty() ? std::string() : ": " + job->reason;
  tell(step, fmt::format("job {} is {}{}{}", run.job, job->state, where, why));
  return {};
}

void Runner::send_cancel(const Step& step, StepRun& run) {
  const Status canceled = server_of(step).cancel(run.job, fmt::format("pipeline run {}", state_.name));
  if (!canceled.ok() && canceled.error().code != ErrorCode::conflict) {
    // Asked again in the next round; a refusal is told once.
    std::string refusal = "cannot be canceled: " + canceled.error().text();
    if (!is_answer(step, canceled.error()) || run.reason == refusal) return;
    run.reason = std::move(refusal);
    changed_ = true;
    return tell(step, run.reason);
  }
  run.cancel_sent = true;
  changed_ = true;
  tell(step, fmt::format("job {} is being canceled", run.job));
}

void Runner::end_job(const Step& step, StepRun& run, const JobStatus& job) {
  if (job.state == "done") return finish_done(step, run, job);
  run.job_state = job.state;
  std::string reason = job.reason.empty() ? fmt::format("exit status {}", job.exit) : job.reason;
  if (job.state == "canceled") return end(step, run, StepState::canceled, std::move(reason));
  if (run.cancel || run.tries > step.retries) return end(step, run, StepState::failed, std::move(reason));
  run.state = StepState::waiting;
  run.reason = fmt::format("try {} failed: {}", run.tries, reason);
  run.not_before = clock_.wall_ms() + step.retry_delay.count() / 1'000'000;
  changed_ = true;
  tell(step, fmt::format("job {} failed: {}; retry {} of {} in {}", run.job, reason, run.tries, step.retries,
                         format_duration(step.retry_delay)));
}

// Its outputs are read before it counts as done: what a later step needs is on disk by then.
void Runner::finish_done(const Step& step, StepRun& run, const JobStatus& job) {
  const bool needed = step.result_used || !step.outputs.empty();
  const Result<std::string> printed = server_of(step).output(run.job, job.attempt);
  if (!printed.ok() && needed) {
    if (!is_answer(step, printed.error())) return;
    return end(step, run, StepState::failed, "its output cannot be read: " + printed.error().text());
  }
  if (printed.ok()) {
    Result<std::map<std::string, std::string>> outputs = read_outputs(step, *printed, state_.token);
    if (!outputs.ok()) return end(step, run, StepState::failed, outputs.error().message);
    run.outputs = std::move(*outputs);
  }
  run.job_state = job.state;
  end(step, run, StepState::done, {});
}

Result<std::string> Runner::fill_job(const Step& step) const {
  const Result<Value> filled = fill_references(step.job, [&](const Reference& reference) {
    Result<std::string> value = value_of(reference);
    if (value.ok() && step.dollars_expand) *value = replace_all(std::move(*value), "$", "$$");
    return value;
  });
  if (!filled.ok()) return filled.error();
  return write_json(*filled);
}

Result<std::string> Runner::value_of(const Reference& reference) const {
  switch (reference.kind) {
    case Reference::Kind::pipeline_name:
      return pipeline_.name;
    case Reference::Kind::run_name:
      return state_.name;
    case Reference::Kind::token:
      return state_.token;
    case Reference::Kind::parameter:
      if (const auto given = state_.parameters.find(reference.name); given != state_.parameters.end())
        return given->second;
      for (const auto& [name, value] : pipeline_.parameters) {
        if (name == reference.name) return value;
      }
      break;
    case Reference::Kind::output:
      if (const StepRun* run = state_.find(reference.name)) {
        const auto found = run->outputs.find(reference.output);
        if (found != run->outputs.end()) return found->second;
      }
      break;
  }
  return Error{ErrorCode::not_found, fmt::format("{} {} has no value", reference.output, reference.name), {}};
}

bool Runner::is_answer(const Step& step, const Error& error) {
  const bool silent =
      error.code == ErrorCode::unavailable || error.code == ErrorCode::timeout || error.code == ErrorCode::internal;
  if (silent && silent_[step.engine] != error.text()) {
    silent_[step.engine] = error.text();
    tell(step, error.text() + "; trying again");
  }
  return !silent;
}

void Runner::end(const Step& step, StepRun& run, StepState state, std::string reason) {
  run.state = state;
  run.reason = std::move(reason);
  run.not_before = 0;
  changed_ = true;
  tell(step, fmt::format("{}{}{}", to_text(state), run.reason.empty() ? "" : ": ", printable(run.reason, 1000)));
}

void Runner::tell(const Step& step, const std::string& text) const {
  if (options_.progress) options_.progress(fmt::format("{}: {}", step.name, text));
}

}  // namespace weft::pipeline
