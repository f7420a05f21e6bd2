#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "pipeline/pipeline_test_help.h"

namespace weft::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The "dag-diamond", "output-parameter" and "scripts-bash" examples of Argo Workflows, joined, with a GPU task.
const std::string kWorkflow = R"(apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: diamond-
spec:
  entrypoint: main
  arguments:
    parameters: [{name: seed, value: "7"}]
  templates:
  - name: main
    dag:
      tasks:
      - name: A
        template: generate
      - name: B
        template: echo
        dependencies: [A]
        arguments:
          parameters: [{name: message, value: "{{tasks.A.outputs.result}}/{{workflow.parameters.seed}}"}]
      - name: C
        template: train
        depends: A.Succeeded && B
  - name: generate
    script:
      image: debian:9.4
      command: [bash]
      source: |
        cat /dev/urandom | od -N2 -An -i | awk -v f=1 '{print $(NF)}'
        echo $(date) $$
  - name: echo
    inputs:
      parameters: [{name: message}]
    outputs:
      parameters: [{name: hello, valueFrom: {path: /tmp/hello}}]
    container:
      image: alpine:3.7
      command: [sh, -c]
      args: ["echo {{inputs.parameters.message}} > /tmp/hello"]
      env: [{name: A, value: b}]
  - name: train
    activeDeadlineSeconds: 600
    retryStrategy: {limit: "2", retryPolicy: OnFailure, backoff: {duration: "5"}}
    container:
      image: train
      command: [train]
      resources: {limits: {nvidia.com/gpu: 8, cpu: 500m, memory: 1Gi}}
)";

const Value& container_of(const Step& step) {
  return step.job.find("spec")->find("template")->find("spec")->find("containers")->items().at(0);
}

TEST(Workflow, TasksBecomeSteps) {
  const Pipeline p = read_valid(kWorkflow);
  ASSERT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.name, "diamond");
  EXPECT_EQ(p.on_failure, FailurePolicy::finish);  // Argo's failFast
  EXPECT_THAT(p.steps.at(1).needs, ElementsAre("A"));
  EXPECT_THAT(p.steps.at(2).needs, ElementsAre("A", "B"));
  EXPECT_EQ(p.steps.at(0).engine, StepEngine::kubernetes);
  EXPECT_EQ(p.steps.at(2).engine, StepEngine::slurm);
  EXPECT_EQ(p.steps.at(2).gpus, 8);
  EXPECT_EQ(p.steps.at(2).retries, 2);
  EXPECT_EQ(p.steps.at(2).retry_delay, milliseconds(5'000));
  EXPECT_TRUE(p.steps.at(0).result_used);
  EXPECT_EQ(write_json_line(p.steps.at(2).job),
            R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "diamond-c"}, )"
            R"("spec": {"backoffLimit": 0, "activeDeadlineSeconds": 600, "template": {"spec": {"restartPolicy": )"
            R"("Never", "containers": [{"name": "main", "image": "train", "command": ["train"], "env": [], )"
            R"("resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "500m", "memory": "1Gi"}}}]}}}})");
}

// A script is not a command: Kubernetes would replace $(NAME) in it.
TEST(Workflow, DollarsOfScriptsSurvive) {
  const Pipeline p = read_valid(kWorkflow);
  const Value& command = *container_of(p.steps.at(0)).find("command");
  ASSERT_EQ(command.items().size(), 3U);
  EXPECT_EQ(command.items()[1].text(), "-c");
  EXPECT_THAT(command.items()[2].text(), HasSubstr("'{print $$(NF)}'\necho $$(date) $$$$\n"));
}

TEST(Workflow, ArgumentsAreFilledIn) {
  const Pipeline p = read_valid(kWorkflow);
  const Value& command = *container_of(p.steps.at(1)).find("command");
  EXPECT_EQ(command.items().back().text(), "echo {{steps.A.outputs.result}}/{{parameters.seed}} > /tmp/hello");
  ASSERT_EQ(p.steps.at(1).outputs.size(), 1U);
  EXPECT_EQ(p.steps.at(1).outputs[0].path, "/tmp/hello");
}

const std::string kNested = R"(apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: nested}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: first, template: leaf, arguments: {parameters: [{name: n, value: "1"}]}}
    - - {name: left, template: pair}
      - {name: right, template: leaf, arguments: {parameters: [{name: n, value: "{{steps.first.outputs.result}}"}]}}
    - - {name: last, template: leaf}
  - name: pair
    dag:
      tasks:
      - {name: x, template: leaf, arguments: {parameters: [{name: n, value: a}]}}
      - {name: y, template: leaf, arguments: {parameters: [{name: n, value: "{{tasks.x.outputs.result}}"}]}, dependencies: [x]}
      - {name: z, template: leaf}
  - name: leaf
    inputs: {parameters: [{name: n, default: none}]}
    container: {image: i, command: [run, "{{inputs.parameters.n}}"]}
)";

TEST(Workflow, NestedTemplatesAreOneGraph) {
  const Pipeline p = read_valid(kNested);
  std::vector<std::string> lines;
  for (const Step& step : p.steps) {
    lines.push_back(step.name + ": " + join(step.needs, ",") + " " +
                    container_of(step).find("command")->items().back().text());
  }
  EXPECT_THAT(lines, ElementsAre("first:  1", "left.x: first a", "left.y: left.x {{steps.left.x.outputs.result}}",
                                 "left.z: first none", "right: first {{steps.first.outputs.result}}",
                                 "last: left.y,left.z,right none"));
}

struct RefusedWorkflow {
  const char* name;
  const char* from;
  const char* to;
  const char* place;
  const char* message;
};
void PrintTo(const RefusedWorkflow& refused, std::ostream* out) { *out << refused.name; }

class WorkflowRefuses : public ::testing::TestWithParam<RefusedWorkflow> {};
TEST_P(WorkflowRefuses, WithItsLine) {
  const std::string text = replace_all(kWorkflow, GetParam().from, GetParam().to);
  ASSERT_NE(text, kWorkflow);
  const ReadPipeline out = read_text(text);
  EXPECT_FALSE(out.pipeline.has_value());
  EXPECT_THAT(out.messages, HasSubstr(GetParam().message));
  EXPECT_THAT(out.messages, HasSubstr(std::string("p.yaml:") + GetParam().place + ": error"));
}

INSTANTIATE_TEST_SUITE_P(
    Files, WorkflowRefuses,
    ::testing::Values(
        RefusedWorkflow{"kind", "kind: Workflow", "kind: CronWorkflow", "2:7", "not a Workflow"},
        RefusedWorkflow{"version", "v1alpha1", "v1", "2:7", "not a Workflow"},
        RefusedWorkflow{"hooks", "  entrypoint: main", "  entrypoint: main\n  onExit: echo", "7:3",
                        "key `onExit` of the spec is not supported"},
        RefusedWorkflow{"items", "        depends: A.Succeeded && B", "        withItems: [1, 2]", "22:9",
                        "key `withItems` of the task is not supported"},
        RefusedWorkflow{"condition", "A.Succeeded && B", "A.Failed || B", "22:18", "condition `A.Failed || B`"},
        RefusedWorkflow{"entrypoint", "entrypoint: main", "entrypoint: man", "6:15", "did you mean `main`?"},
        RefusedWorkflow{"template", "template: generate", "template: generator", "13:9", "did you mean `generate`?"},
        RefusedWorkflow{"dependency", "dependencies: [A]", "dependencies: [D]", "15:9", "needs `D`"},
        RefusedWorkflow{"cycle", "template: generate", "template: generate\n        dependencies: [B]", "13:9",
                        "cycle"},
        RefusedWorkflow{"recursion", "template: generate", "template: main", "13:9", "16 deep"},
        RefusedWorkflow{"argument", "name: message, value", "name: massage, value", "15:9", "has no value"},
        RefusedWorkflow{"reference", "{{tasks.A.outputs.result}}", "{{tasks.C.status}}", "19:47",
                        "is not supported here"},
        RefusedWorkflow{"later", "{{tasks.A.outputs.result}}", "{{tasks.C.outputs.result}}", "38:14",
                        "does not need it"},
        RefusedWorkflow{"entry", "      command: [train]\n", "", "44:7", "no `command`"},
        RefusedWorkflow{"volume", "      image: train\n", "      image: train\n      volumeMounts: []\n", "45:7",
                        "`volumeMounts` of the container is not supported"},
        RefusedWorkflow{"script", "command: [bash]", "command: [node]", "26:16", "scripts for `node`"},
        RefusedWorkflow{"resource", "memory: 1Gi", "ephemeral-storage: 1Gi", "46:58", "ephemeral-storage"},
        RefusedWorkflow{"limit", "limit: \"2\"", "limit: \"{{x}}\"", "42:28", "between 0 and 100"},
        RefusedWorkflow{"two", "    activeDeadlineSeconds: 600\n", "    suspend: {}\n", "41:5", "`suspend`"}),
    [](const auto& each) { return std::string(each.param.name); });

// Templates that double their text and their tasks at every level stop at the limits.
TEST(Workflow, ExpansionIsBounded) {
  std::string text = R"(apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: bomb}
spec:
  entrypoint: t0
  templates:
)";
  for (int i = 0; i < 14; ++i) {
    const std::string next = "t" + std::to_string(i + 1);
    const std::string argument =
        "template: " + next +
        ", arguments: {parameters: [{name: n, value: \"{{inputs.parameters.n}}{{inputs.parameters.n}}\"}]}";
    text += "  - {name: t" + std::to_string(i) +
            ", inputs: {parameters: [{name: n, default: abcdefgh}]}, dag: {tasks: [{name: a, " + argument +
            "}, {name: b, " + argument + "}]}}\n";
  }
  text += "  - {name: t14, inputs: {parameters: [{name: n}]}, container: {image: i, command: [a]}}\n";
  EXPECT_THAT(read_text(text).messages, HasSubstr("at most"));
}

}  // namespace
}  // namespace weft::pipeline
