#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "pipeline/pipeline_test_help.h"

namespace weft::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHead = "pipeline: 1\nname: nightly\n";

std::vector<std::string> command_of(const Step& step) {
  std::vector<std::string> words;
  for (const Value& word : step.job.find("command")->items()) words.push_back(word.text());
  return words;
}

TEST(PipelineFile, GpusDecideTheEngine) {
  const Pipeline p = read_valid(kHead + R"(parameters: {data: /data/a}
parallelism: 2
on_failure: stop
steps:
  - name: prepare
    job: {command: [prepare, "{{parameters.data}}"]}
  - name: train
    needs: [prepare]
    retries: 2
    retry_delay: 30s
    job: {nodes: 2, gpus_per_node: 8, command: [train.py, "{{steps.prepare.outputs.result}}"]}
  - {name: here, engine: local, job: {gpus_per_node: 1, command: [x]}}
)");
  ASSERT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.name, "nightly");
  EXPECT_EQ(p.parallelism, 2);
  EXPECT_EQ(p.on_failure, FailurePolicy::stop);
  EXPECT_THAT(p.parameters, ElementsAre(std::pair<std::string, std::string>("data", "/data/a")));
  EXPECT_EQ(p.steps[0].engine, StepEngine::kubernetes);
  EXPECT_EQ(p.steps[1].engine, StepEngine::slurm);
  EXPECT_EQ(p.steps[2].engine, StepEngine::local);
  EXPECT_TRUE(p.steps[2].engine_given);
  EXPECT_TRUE(p.steps[0].result_used);
  EXPECT_FALSE(p.steps[1].result_used);
  EXPECT_EQ(p.steps[1].retries, 2);
  EXPECT_EQ(p.steps[1].retry_delay, milliseconds(30'000));
  EXPECT_THAT(p.steps[1].needs, ElementsAre("prepare"));
}

// The job is a job file as `weft job submit` reads it, and a failure ends it.
TEST(PipelineFile, AStepIsAJobFile) {
  const Pipeline p = read_valid(kHead + "steps: [{name: Step_1, job: {command: [a], environment: {A: \"1\"}}}]\n");
  const Value& job = p.steps.at(0).job;
  EXPECT_EQ(write_json_line(job),
            R"({"job": 1, "command": ["a"], "environment": {"A": "1"}, "name": "nightly-step-1", "nodes": 1, )"
            R"("gpus_per_node": 0, "restart": {"on_failure": "fail"}})");
}

TEST(PipelineFile, OutputFilesArePrintedByTheCommand) {
  const Pipeline p =
      read_valid(kHead + "steps: [{name: a, outputs: {rows: /tmp/rows, x: y z}, job: {command: [count, -v]}}]\n");
  const std::vector<std::string> words = command_of(p.steps.at(0));
  ASSERT_EQ(words.size(), 8U);
  EXPECT_EQ(words[0], "sh");
  EXPECT_THAT(words[2], HasSubstr("weft-output-begin"));
  EXPECT_EQ(words[4], "{{pipeline.token}}");
  EXPECT_EQ(words[5], "rows /tmp/rows|x y z");
  EXPECT_EQ(words[6], "count");
  EXPECT_EQ(words[7], "-v");
}

struct Refused {
  const char* name;
  std::string text;
  const char* place;
  const char* message;
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.name; }

class PipelineFileRefuses : public ::testing::TestWithParam<Refused> {};
TEST_P(PipelineFileRefuses, WithItsLine) {
  const ReadPipeline out = read_text(GetParam().text);
  EXPECT_FALSE(out.pipeline.has_value());
  EXPECT_THAT(out.messages, HasSubstr(GetParam().message));
  EXPECT_THAT(out.messages, HasSubstr(std::string("p.yaml:") + GetParam().place + ": error"));
}

std::string step(const std::string& keys, const std::string& job = "command: [a]") {
  return kHead + "steps:\n  - {name: a, job: {command: [a]}}\n  - {name: b, " + keys + "job: {" + job + "}}\n";
}

INSTANTIATE_TEST_SUITE_P(
    Files, PipelineFileRefuses,
    ::testing::Values(
        Refused{"empty", "", "1:1", "the file has no pipeline"},
        Refused{"text", "hello\n", "1:1", "the file has no pipeline"},
        Refused{"version", "pipeline: 2\nname: a\nsteps: []\n", "1:11", "between 1 and 1"},
        Refused{"no_steps", kHead, "1:1", "no `steps`"},
        Refused{"no_name", "pipeline: 1\nsteps: [{name: a, job: {command: [a]}}]\n", "1:1", "no `name`"},
        Refused{"key", kHead + "step: []\n", "3:1", "did you mean `steps`?"},
        Refused{"bad_name", "pipeline: 1\nname: a b\nsteps: []\n", "2:7", "not a valid pipeline name"},
        Refused{"failure", kHead + "on_failure: never\nsteps: []\n", "3:13", "not an action on failure"},
        Refused{"need", step("needs: [c], "), "5:5", "needs `c`, which does not exist"},
        Refused{"self", step("needs: [b], "), "5:5", "in a cycle: b needs b"},
        Refused{"engine", step("engine: slrm, "), "5:23", "unknown engine `slrm`"},
        Refused{"retries", step("retries: 101, "), "5:24", "between 0 and 100"},
        Refused{"no_job", kHead + "steps: [{name: a}]\n", "3:9", "the step has no `job`"},
        Refused{"no_command", step("", "nodes: 1"), "5:20", "no `command`"},
        Refused{"job_key", step("", "node: 1, command: [a]"), "5:21", "unknown key `node`"},
        Refused{"job_name", step("", "name: x, command: [a]"), "5:27", "has no key `name`"},
        Refused{"number", step("", "nodes: \"{{parameters.n}}\", command: [a]"), "5:28", "nodes"},
        Refused{"parameter", step("", "command: [\"{{parameters.n}}\"]"), "5:31", "unknown parameter `n`"},
        Refused{"reference", step("", "command: [\"{{x}}\"]"), "5:31", "unknown reference `x`"},
        Refused{"open", step("", "command: [\"{{x\"]"), "5:31", "without `}}`"},
        Refused{"not_needed", step("", "command: [\"{{steps.a.outputs.result}}\"]"), "5:31", "does not need it"},
        Refused{"output", step("needs: [a], ", "command: [\"{{steps.a.outputs.n}}\"]"), "5:43", "has no output `n`"},
        Refused{"path", step("outputs: {x: a|b}, "), "5:28", "control characters or `|`"},
        Refused{"torchrun", step("outputs: {x: /tmp/x}, ", "command: [a.py]"), "5:52", "cannot write output files"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(PipelineFile, NamesTheCycle) {
  const ReadPipeline out = read_text(kHead +
                                     "steps:\n  - {name: a, needs: [c], job: {command: [a]}}\n"
                                     "  - {name: b, needs: [a], job: {command: [a]}}\n"
                                     "  - {name: c, needs: [b], job: {command: [a]}}\n");
  EXPECT_THAT(out.messages, HasSubstr("steps need each other in a cycle: a needs c needs b needs a"));
}

TEST(PipelineFile, TwoStepsOfOneName) {
  EXPECT_THAT(read_text(kHead + "steps: [{name: a, job: {command: [a]}}, {name: a, job: {command: [a]}}]\n").messages,
              HasSubstr("a second step has the name `a`"));
}

// A chain as long as is allowed, and one step more.
TEST(PipelineFile, AThousandStepsAreTheLimit) {
  std::string text = kHead + "steps:\n";
  for (int i = 0; i < 1000; ++i) {
    text += "  - {name: s" + std::to_string(i) + ", needs: [" + (i == 0 ? "" : "s" + std::to_string(i - 1)) +
            "], job: {command: [a]}}\n";
  }
  EXPECT_EQ(read_valid(text).steps.size(), 1000U);
  EXPECT_THAT(read_text(text + "  - {name: z, job: {command: [a]}}\n").messages, HasSubstr("at most 1000 steps"));
}

}  // namespace
}  // namespace weft::pipeline
