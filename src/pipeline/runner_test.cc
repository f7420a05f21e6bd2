// The runner against servers that are simulated: jobs end as the test says, requests and saves can fail, and the
// process can be killed after each effect.
#include "pipeline/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "pipeline/pipeline_test_help.h"

namespace weft::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Killed {};

// Ends the process at the moment `at`. Each effect has two: before it, and when it has happened and its answer is lost.
struct Killer {
  int moments = 0;
  int at = -1;
  void before() { pass(); }
  void after() { pass(); }
  void pass() {
    if (moments++ == at) throw Killed();
  }
};

struct FakeJob {
  std::string text;
  JobStatus status;
  std::string printed;
};

class FakeServer final : public JobServer {
 public:
  explicit FakeServer(Killer& killer) : killer_(killer) {}

  Result<std::uint64_t> submit(const JobSubmission& submission) override {
    killer_.before();
    if (!problem.empty()) return Error{code, problem, {}};
    const auto known = keys_.find(submission.key);
    if (known != keys_.end()) {
      EXPECT_EQ(jobs[known->second].text, submission.text) << "the same key with another job";
    } else {
      keys_[submission.key] = jobs.size() + 1;
      jobs[keys_[submission.key]] = {submission.text, {"running", "", "n1", 1, 0}, ""};
    }
    killer_.after();
    return keys_[submission.key];
  }
  Result<JobStatus> job(std::uint64_t number) override {
    if (!problem.empty()) return Error{code, problem, {}};
    if (!jobs.contains(number)) return Error{ErrorCode::not_found, "there is no such job", {}};
    return jobs[number].status;
  }
  Status cancel(std::uint64_t number, const std::string& /*reason*/) override {
    killer_.before();
    if (!cancel_problem.empty()) return Error{ErrorCode::refused, cancel_problem, {}};
    if (jobs[number].status.ended()) return Error{ErrorCode::conflict, "the job has already ended", {}};
    ++cancels;
    jobs[number].status.state = "canceled";
    killer_.after();
    return {};
  }
  Result<std::string> output(std::uint64_t number, std::int64_t /*attempt*/) override {
    if (!output_problem.empty()) return Error{ErrorCode::not_found, output_problem, {}};
    return jobs[number].printed;
  }

  std::map<std::uint64_t, FakeJob> jobs;
  std::string problem;
  ErrorCode code = ErrorCode::unavailable;
  std::string output_problem;
  std::string cancel_problem;
  int cancels = 0;

 private:
  Killer& killer_;
  std::map<std::string, std::uint64_t> keys_;
};

class MemoryKeeper final : public RunKeeper {
 public:
  explicit MemoryKeeper(Killer& killer) : killer_(killer) {}
  Status save(const RunState& state) override {
    killer_.before();
    if (full) return Error{ErrorCode::unavailable, "disk full", {}};
    text = write_run_state(state);
    killer_.after();
    return {};
  }
  Result<std::set<std::string>> cancel_requests() override { return requests; }

  std::string text;
  std::set<std::string> requests;
  bool full = false;

 private:
  Killer& killer_;
};

class RunnerTest : public ::testing::Test {
 protected:
  void start(const std::string& text) {
    pipeline_ = read_valid(text);
    RunState state = new_run(pipeline_);
    state.name = "p-1";
    state.token = "token";
    ASSERT_TRUE(keeper_.save(state).ok());
    killer_.moments = 0;
    reopen();
  }
  // As a new process does: from what was saved.
  void reopen(bool start_steps = true) {
    Result<RunState> state = parse_run_state(keeper_.text);
    ASSERT_TRUE(state.ok()) << state.error().text();
    ASSERT_TRUE(check_run(pipeline_, *state).ok());
    state_ = std::move(*state);
    runner_ = std::make_unique<Runner>(
        pipeline_, state_,
        std::map<StepEngine, JobServer*>{{StepEngine::kubernetes, &kube_}, {StepEngine::slurm, &slurm_}}, keeper_,
        clock_, RunnerOptions{start_steps, [this](const std::string& line) { lines_.push_back(line); }});
  }
  void round() { ASSERT_TRUE(runner_->round().ok()); }
  std::string states() {
    std::vector<std::string> all;
    for (const auto& [name, run] : state_.steps) all.push_back(name + "=" + std::string(to_text(run.state)));
    return join(all, " ");
  }
  static void finish(FakeServer& server, std::uint64_t job, const std::string& state, const std::string& printed = "") {
    server.jobs[job].status.state = state;
    server.jobs[job].printed = printed;
  }

  Killer killer_;
  FakeServer kube_{killer_};
  FakeServer slurm_{killer_};
  MemoryKeeper keeper_{killer_};
  oob::ManualClock clock_;
  Pipeline pipeline_;
  RunState state_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::string> lines_;
};

const std::string kPipeline = R"(pipeline: 1
name: p
steps:
  - {name: prepare, job: {command: [prepare]}}
  - {name: train, needs: [prepare], retries: 1, job: {gpus_per_node: 8, command: [train, "{{steps.prepare.outputs.result}}"]}}
  - {name: report, needs: [train], job: {command: [report]}}
  - {name: other, job: {command: [other]}}
)";

TEST_F(RunnerTest, ResultsGoFromOneEngineToTheOther) {
  start(kPipeline);
  round();
  EXPECT_EQ(states(), "prepare=submitted train=waiting report=waiting other=submitted");
  EXPECT_EQ(kube_.jobs.size(), 2U);
  EXPECT_TRUE(slurm_.jobs.empty());
  finish(kube_, 1, "done", "noise\n/data/a b\n");
  round();
  ASSERT_EQ(slurm_.jobs.size(), 1U);
  EXPECT_THAT(slurm_.jobs[1].text, HasSubstr("\"command\": [\"train\", \"/data/a b\"]"));
  finish(slurm_, 1, "done");
  finish(kube_, 2, "done");
  round();
  round();
  finish(kube_, 3, "done");
  round();
  EXPECT_EQ(states(), "prepare=done train=done report=done other=done");
  EXPECT_TRUE(runner_->finished());
}

TEST_F(RunnerTest, AFailedStepIsRepeatedAfterItsDelay) {
  start(kPipeline);
  round();
  finish(kube_, 1, "done", "x");
  round();
  finish(slurm_, 1, "failed");
  slurm_.jobs[1].status.reason = "exit status 3";
  round();
  round();
  EXPECT_EQ(slurm_.jobs.size(), 1U);
  EXPECT_EQ(state_.find("train")->reason, "try 1 failed: exit status 3");
  clock_.sleep(milliseconds(10'000));
  reopen();  // the delay survives a kill
  round();
  EXPECT_EQ(slurm_.jobs.size(), 2U);
  finish(slurm_, 2, "failed");
  finish(kube_, 2, "done");
  round();
  EXPECT_EQ(states(), "prepare=done train=failed report=skipped other=done");
  EXPECT_EQ(state_.find("report")->reason, "step train is failed");
}

TEST_F(RunnerTest, OtherStepsAreCanceledOrNotStartedAfterAFailure) {
  for (const std::string policy : {"stop", "finish"}) {
    SCOPED_TRACE(policy);
    start("on_failure: " + policy + "\n" + replace_all(kPipeline, "retries: 1, ", ""));
    state_.token = policy;  // the jobs of the other run are not this one's
    round();
    const std::uint64_t first = kube_.jobs.rbegin()->first - 1;
    finish(kube_, first, "failed");
    round();
    round();
    round();
    EXPECT_EQ(states(), policy == "stop" ? "prepare=failed train=skipped report=skipped other=canceled"
                                         : "prepare=failed train=skipped report=skipped other=submitted");
  }
}

TEST_F(RunnerTest, CanceledStepsEndAndTheirDependentsAreSkipped) {
  start(kPipeline);
  keeper_.requests = {"report"};
  round();
  EXPECT_EQ(state_.find("report")->state, StepState::canceled);
  keeper_.requests = {"report", "prepare"};
  round();
  round();
  EXPECT_EQ(kube_.cancels, 1);
  EXPECT_EQ(states(), "prepare=canceled train=skipped report=canceled other=submitted");
}

// Without a running process: jobs are canceled, nothing is started.
TEST_F(RunnerTest, CancelAloneStartsNothing) {
  start(kPipeline);
  round();
  keeper_.requests = {"prepare"};
  reopen(false);
  round();
  round();
  EXPECT_TRUE(runner_->finished());
  EXPECT_EQ(states(), "prepare=canceled train=skipped report=skipped other=submitted");
  EXPECT_TRUE(slurm_.jobs.empty());
  EXPECT_EQ(kube_.jobs.size(), 2U);
}

TEST_F(RunnerTest, AServerThatDoesNotAnswerIsAskedAgain) {
  start(kPipeline);
  kube_.problem = "no weft serve is listening";
  round();
  round();
  EXPECT_EQ(states(), "prepare=submitting train=waiting report=waiting other=submitting");
  EXPECT_THAT(lines_, ElementsAre("prepare: no weft serve is listening; trying again"));
  kube_.problem.clear();
  round();
  EXPECT_EQ(kube_.jobs.size(), 2U);
  kube_.problem = "gone";
  round();
  EXPECT_EQ(states(), "prepare=submitted train=waiting report=waiting other=submitted");
}

TEST_F(RunnerTest, ARefusedSubmissionFailsTheStep) {
  start(kPipeline);
  kube_.problem = "unknown pool";
  kube_.code = ErrorCode::invalid_input;
  round();
  EXPECT_EQ(state_.find("prepare")->state, StepState::failed);
  EXPECT_EQ(state_.find("prepare")->reason, "not accepted: unknown pool");
}

TEST_F(RunnerTest, KeysAreShortAndDiffer) {
  RunState state;
  state.token = std::string(32, 'a');
  state.steps = {{"a", {}}, {std::string(1000, 'b'), {}}};
  EXPECT_EQ(state.key_of("a", 1), "pipeline:" + state.token + ":0:1");
  EXPECT_EQ(state.key_of(std::string(1000, 'b'), 2), "pipeline:" + state.token + ":1:2");
}

TEST_F(RunnerTest, ARefusedCancelIsToldOnce) {
  start(kPipeline);
  round();
  keeper_.requests = {"prepare"};
  kube_.cancel_problem = "job 1 belongs to root";
  round();
  round();
  round();
  EXPECT_EQ(std::count(lines_.begin(), lines_.end(), "prepare: cannot be canceled: job 1 belongs to root"), 1);
  kube_.cancel_problem.clear();
  round();
  round();
  EXPECT_EQ(state_.find("prepare")->state, StepState::canceled);
}

// A server with another state directory does not know the job: it may still run, so it is not submitted again.
TEST_F(RunnerTest, AnUnknownJobIsNotSubmittedAgain) {
  start(kPipeline);
  round();
  kube_.jobs.erase(1);
  round();
  EXPECT_EQ(state_.find("prepare")->state, StepState::failed);
  EXPECT_THAT(state_.find("prepare")->reason, HasSubstr("may still run"));
}

TEST_F(RunnerTest, AMissingResultFailsTheStepOnlyIfItIsUsed) {
  start(kPipeline);
  round();
  finish(kube_, 1, "done");
  finish(kube_, 2, "done");
  kube_.output_problem = "its pod is gone";
  round();
  EXPECT_EQ(states(), "prepare=failed train=skipped report=skipped other=done");
}

TEST_F(RunnerTest, NothingIsSubmittedThatCannotBeRecorded) {
  start(kPipeline);
  keeper_.full = true;
  EXPECT_FALSE(runner_->round().ok());
  EXPECT_TRUE(kube_.jobs.empty());
}

TEST_F(RunnerTest, ParallelismBoundsTheJobs) {
  start("parallelism: 1\n" + kPipeline);
  round();
  EXPECT_EQ(kube_.jobs.size(), 1U);
  finish(kube_, 1, "done", "x");
  round();
  EXPECT_EQ(kube_.jobs.size() + slurm_.jobs.size(), 2U);
}

TEST_F(RunnerTest, OutputFilesAreFoundInWhatTheJobPrinted) {
  start(R"(pipeline: 1
name: p
steps:
  - {name: a, outputs: {rows: /tmp/rows}, job: {command: [a]}}
  - {name: b, needs: [a], job: {command: [b, "{{steps.a.outputs.rows}}", "{{steps.a.outputs.result}}"]}}
)");
  round();
  EXPECT_THAT(kube_.jobs[1].text, HasSubstr("\"weft-step\",\n    \"token\",\n    \"rows /tmp/rows\""));
  finish(kube_, 1, "done",
         "weft-output-begin other rows\n9\nweft-output-end other rows\nlast\n"
         "weft-output-begin token rows\n1\n2\n\nweft-output-end token rows\n");
  round();
  ASSERT_EQ(kube_.jobs.size(), 2U);
  EXPECT_THAT(kube_.jobs[2].text, HasSubstr(R"(["b", "1\n2", "last"])"));
}

TEST_F(RunnerTest, DollarsInResultsAreTextInManifests) {
  start(R"(apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: p}
spec:
  entrypoint: m
  templates:
  - name: m
    steps:
    - - {name: a, template: t}
    - - {name: b, template: u, arguments: {parameters: [{name: n, value: "{{steps.a.outputs.result}}"}]}}
  - {name: t, container: {image: i, command: [a]}}
  - {name: u, inputs: {parameters: [{name: n}]}, container: {image: i, command: ["{{inputs.parameters.n}}"]}}
)");
  round();
  finish(kube_, 1, "done", "one $(HOME)\ntwo\n");
  round();
  EXPECT_THAT(kube_.jobs[2].text, HasSubstr(R"("command": ["one $$(HOME)\ntwo"])"));
}

// Killed before and after each effect, and continued: every try of a step is one job, and the run ends the same way.
TEST_F(RunnerTest, AKillAtAnyMomentSubmitsNothingTwice) {
  const std::string text = "on_failure: continue\n" + replace_all(kPipeline, "[other]", "[fails]");
  int total = 1;
  for (int at = 0; at < total; ++at) {
    SCOPED_TRACE(at);
    killer_ = Killer();
    FakeServer kube(killer_);
    FakeServer slurm(killer_);
    MemoryKeeper keeper(killer_);
    const Pipeline pipeline = read_valid(text);
    RunState first = new_run(pipeline);
    first.name = "p-1";
    ASSERT_TRUE(keeper.save(first).ok());
    killer_ = {0, at};
    const std::map<StepEngine, JobServer*> servers{{StepEngine::kubernetes, &kube}, {StepEngine::slurm, &slurm}};
    bool ended = false;
    for (int process = 0; !ended && process < 3; ++process) {
      Result<RunState> state = parse_run_state(keeper.text);
      ASSERT_TRUE(state.ok());
      Runner runner(pipeline, *state, servers, keeper, clock_, {});
      try {
        for (int i = 0; i < 20 && !runner.finished(); ++i) {
          ASSERT_TRUE(runner.round().ok());
          for (FakeServer* server : {&kube, &slurm}) {
            for (auto& [number, job] : server->jobs) job.status.state = contains(job.text, "fails") ? "failed" : "done";
          }
          clock_.sleep(milliseconds(60'000));
        }
        ended = runner.finished();
      } catch (const Killed&) {
        EXPECT_EQ(process, 0);
      }
      if (!ended) continue;
      EXPECT_EQ(state->find("train")->state, StepState::done);
      EXPECT_EQ(state->find("report")->state, StepState::done);
      EXPECT_EQ(state->find("other")->state, StepState::failed);
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(kube.jobs.size(), 3U);
    EXPECT_EQ(slurm.jobs.size(), 1U);
    total = std::max(total, killer_.moments);
  }
  EXPECT_GT(total, 16);  // four jobs with two saves each at least
}

TEST(RunState, DamageIsNamed) {
  for (const char* text : {"", "[]", "{}", "{\"format\": 2}", "{\"format\": 1, \"name\": 3}"}) {
    const Result<RunState> state = parse_run_state(text);
    ASSERT_FALSE(state.ok()) << text;
    EXPECT_THAT(state.error().message, HasSubstr("damaged"));
  }
}

}  // namespace
}  // namespace weft::pipeline
