// Continues a run of a pipeline: submits the steps whose needs are done, watches their jobs, repeats failed ones,
// passes outputs on, cancels. Everything is saved before it is done and after: wherever the process is killed, the next
// one repeats at most a request with the same idempotency key.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "oob/durable/clock.h"
#include "pipeline/job_server.h"
#include "pipeline/pipeline.h"
#include "pipeline/reference.h"
#include "pipeline/run_state.h"
#include "pipeline/run_store.h"

namespace weft::pipeline {

struct RunnerOptions {
  bool start_steps = true;  // false: only watch and cancel
  std::function<void(const std::string& line)> progress;
};

class Runner {
 public:
  // `servers` has one for each engine of the pipeline's steps. All must outlive the runner.
  Runner(const Pipeline& pipeline, RunState& state, const std::map<StepEngine, JobServer*>& servers, RunKeeper& keeper,
         oob::Clock& clock, RunnerOptions options);

  // One round over all steps. An error: the state could not be saved or read, and nothing more was done.
  [[nodiscard]] Status round();
  // Whether every step has ended; without start_steps, whether every job that is to be canceled has.
  [[nodiscard]] bool finished() const;

 private:
  [[nodiscard]] Status take_cancel_requests();
  void apply_failure_policy();
  [[nodiscard]] Status advance(const Step& step, StepRun& run);
  void settle_waiting(const Step& step, StepRun& run);
  [[nodiscard]] bool is_ready(const Step& step, const StepRun& run) const;
  [[nodiscard]] Status begin_try(const Step& step, StepRun& run);
  [[nodiscard]] Status submit(const Step& step, StepRun& run);
  [[nodiscard]] Status watch(const Step& step, StepRun& run);
  void end_job(const Step& step, StepRun& run, const JobStatus& job);
  void finish_done(const Step& step, StepRun& run, const JobStatus& job);
  void send_cancel(const Step& step, StepRun& run);
  [[nodiscard]] Result<std::string> fill_job(const Step& step) const;
  [[nodiscard]] Result<std::string> value_of(const Reference& reference) const;
  // An answer that was not one: noted once until the server answers again.
  bool is_answer(const Step& step, const Error& error);
  void end(const Step& step, StepRun& run, StepState state, std::string reason);
  void tell(const Step& step, const std::string& text) const;
  [[nodiscard]] JobServer& server_of(const Step& step) const { return *servers_.at(step.engine); }

  const Pipeline& pipeline_;
  RunState& state_;
  std::map<StepEngine, JobServer*> servers_;
  RunKeeper& keeper_;
  oob::Clock& clock_;
  RunnerOptions options_;
  std::map<StepEngine, std::string> silent_;  // problems that were noted
  bool changed_ = false;                      // since the last save
};

// The state of a new run, without a name and a token.
[[nodiscard]] RunState new_run(const Pipeline& pipeline);
// Whether the state belongs to the pipeline: the same steps.
[[nodiscard]] Status check_run(const Pipeline& pipeline, const RunState& state);

}  // namespace weft::pipeline
