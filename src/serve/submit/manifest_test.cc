#include <gmock/gmock.h>

#include <algorithm>

#include "base/text.h"
#include "serve/submit/kube_fields.h"
#include "serve/submit/submission_test_help.h"

namespace weft::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A PyTorchJob of two workers. The container begins on line 14.
const std::string kPod = R"(        spec:
          containers:
          - name: pytorch
            image: example.com/pytorch:2
            command: [torchrun, --rdzv_endpoint=llm-worker-0:29500, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
)";
const std::string kWorker = R"(    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
)" + kPod;
const std::string kHead =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: llm, namespace: team-alpha}\nspec:\n";
const std::string kPyTorch = kHead + "  pytorchReplicaSpecs:\n" + kWorker;

const std::string kTrain = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 4
    numProcPerNode: 4
    command: [torchrun]
    args: [train.py, --lr, "0.1"]
    env: [{name: A, value: "1"}, {name: B, value: $(A)2}]
    resourcesPerNode: {limits: {nvidia.com/gpu: 4, cpu: "40", memory: 512Gi}}
)";

const std::string kIndexed = R"(apiVersion: batch/v1
kind: Job
metadata: {name: llm}
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 3
  backoffLimit: 9
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: [python3, train.py]
        resources: {limits: {nvidia.com/gpu: 1}}
)";

std::vector<std::string> words_of(const Submitted& out) {
  const std::vector<std::string>& command = out.job().command;
  return {command.begin() + std::min<std::ptrdiff_t>(4, std::ssize(command)), command.end()};
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  EXPECT_TRUE(contains(text, from)) << from;
  return replace_all(std::move(text), from, to);
}

// With a line of the pod spec or of the container.
std::string with_pod(const std::string& line) {
  return with(kPyTorch, "        spec:\n", "        spec:\n          " + line + "\n");
}
std::string with_container(const std::string& line) {
  return with(kPyTorch, "            image:", "            " + line + "\n            image:");
}

TEST(Manifest, ReadsAPyTorchJob) {
  const Submitted out = submit(kPyTorch);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  const sched::Job& shape = out.job().shape;
  EXPECT_EQ(shape.name, "llm");
  EXPECT_EQ(shape.tenant, "team-alpha");
  EXPECT_EQ(shape.tasks, 2);
  EXPECT_EQ(shape.min_tasks, 0);
  EXPECT_EQ(shape.task.gpus, 8);
  EXPECT_EQ(shape.task.cpu, 112'000);
  EXPECT_EQ(shape.limit, sched::seconds(7 * 86'400));
  EXPECT_THAT(words_of(out), ElementsAre("torchrun", "train.py"));
  EXPECT_EQ(out.variable("PET_NPROC_PER_NODE"), "8");
  EXPECT_FALSE(out.job().restart.on_success_only);
  EXPECT_THAT(out.messages, HasSubstr("image `example.com/pytorch:2` is not used"));
  EXPECT_EQ(out.warnings, 1U);
}

TEST(Manifest, TheImageIsUsedByAnEngineWithContainers) {
  const Submitted out = submit_to_containers(kPyTorch);
  EXPECT_EQ(out.job().image, "example.com/pytorch:2");
  EXPECT_EQ(out.warnings, 0U) << out.messages;
}

TEST(Manifest, AddsMasterAndWorkers) {
  const std::string master = with(with(kWorker, "Worker", "Master"), "replicas: 2", "replicas: 1");
  const Submitted out = submit(kHead + "  pytorchReplicaSpecs:\n" + master + kWorker);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.tasks, 3);
  const Submitted differ = submit(kHead + "  pytorchReplicaSpecs:\n" + with(master, "train.py", "other.py") + kWorker);
  EXPECT_THAT(differ.messages, HasSubstr("Master and Worker differ in `command`"));
}

TEST(Manifest, ReadsPoliciesOfAPyTorchJob) {
  const Submitted out = submit(kHead +
                               "  nprocPerNode: \"4\"\n"
                               "  elasticPolicy: {minReplicas: 1, maxReplicas: 4, maxRestarts: 5, rdzvBackend: c10d}\n"
                               "  runPolicy:\n    backoffLimit: 40\n    activeDeadlineSeconds: 3601\n"
                               "    schedulingPolicy: {minAvailable: 1, priorityClass: batch-low, queue: team-alpha}\n"
                               "  pytorchReplicaSpecs:\n" +
                               kWorker);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.tasks, 4);
  EXPECT_EQ(out.job().shape.min_tasks, 1);
  EXPECT_EQ(out.job().restart.max_failures, 5);
  EXPECT_EQ(out.job().shape.limit, sched::seconds(61 * 60));
  EXPECT_EQ(out.job().shape.priority, 100'000);
  EXPECT_EQ(out.variable("PET_NPROC_PER_NODE"), "4");
  EXPECT_EQ(out.warnings, 1U) << out.messages;
}

TEST(Manifest, CountsFailuresOfTheWholeJob) {
  const std::string run = "  runPolicy: {backoffLimit: 6}\n  pytorchReplicaSpecs:\n";
  EXPECT_EQ(submit(kHead + run + kWorker).job().restart.max_failures, 3);  // two pods fail at a time
  const std::string never = with(kPyTorch, "restartPolicy: OnFailure", "restartPolicy: Never");
  EXPECT_TRUE(submit(never).job().restart.on_success_only);
  EXPECT_EQ(submit(kIndexed).job().restart.max_failures, 3);
  EXPECT_EQ(submit(with(kIndexed, "backoffLimit: 9", "backoffLimitPerIndex: 4")).job().restart.max_failures, 4);
  EXPECT_FALSE(submit(kIndexed).job().restart.on_success_only);
  EXPECT_TRUE(submit(with(kIndexed, "backoffLimit: 9", "backoffLimit: 0")).job().restart.on_success_only);
}

TEST(Manifest, ReadsATrainJob) {
  const Submitted out = submit(kTrain);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.tasks, 4);
  EXPECT_EQ(out.job().shape.task.gpus, 4);
  EXPECT_EQ(out.job().shape.task.cpu, 40'000);
  EXPECT_EQ(out.job().shape.task.memory_mib, 512 << 10);
  EXPECT_THAT(words_of(out), ElementsAre("torchrun", "train.py", "--lr", "0.1"));
  EXPECT_EQ(out.variable("B"), "12");
  EXPECT_EQ(out.variable("PET_NPROC_PER_NODE"), "4");
  EXPECT_THAT(out.messages, HasSubstr("5:15: warning: the training runtime is not read"));
}

TEST(Manifest, ReadsAnIndexedJob) {
  const Submitted out = submit(kIndexed);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.tasks, 3);
  EXPECT_EQ(out.job().shape.task.gpus, 1);
  EXPECT_EQ(out.job().shape.task.cpu, 14'000);
  EXPECT_THAT(words_of(out), ElementsAre("python3", "train.py"));
  EXPECT_EQ(out.warnings, 0U) << out.messages;
  const Submitted one = submit(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: "
      "{containers: [{command: [a]}]}}}\n");
  ASSERT_TRUE(one.spec.has_value()) << one.messages;
  EXPECT_EQ(one.job().shape.tasks, 1);
}

TEST(Manifest, ReadsJson) {
  const Submitted out = submit(
      R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec":
         {"containers": [{"command": ["a"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}})");
  EXPECT_TRUE(out.spec.has_value()) << out.messages;
}

TEST(Manifest, AcceptsVolumesThatAreOnTheHosts) {
  const Submitted out = submit(with(
      with_pod(
          "volumes: [{name: d, persistentVolumeClaim: {claimName: datasets}}, {name: c, persistentVolumeClaim: "
          "{claimName: checkpoints}}, {name: s, emptyDir: {medium: Memory}}, {name: h, hostPath: {path: /opt/x}}]"),
      "            image:",
      "            volumeMounts: [{name: d, mountPath: /data}, {name: c, mountPath: /checkpoints/}, {name: s, "
      "mountPath: /dev/shm}, {name: h, mountPath: /opt/x}]\n            image:"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_THAT(out.job().checkpoint.volumes, ElementsAre("/checkpoints"));
  EXPECT_EQ(out.job().shape.checkpoint_interval, sched::seconds(1800));
}

TEST(Manifest, ReadsPodFields) {
  const Submitted out = submit(
      with_pod("nodeSelector: {weft/pool: train, kubernetes.io/os: linux}\n          priorityClassName: batch-low\n"
               "          terminationGracePeriodSeconds: 45\n          tolerations: []\n          hostNetwork: true"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.task.pools, 1U);
  EXPECT_EQ(out.job().shape.priority, 100'000);
  EXPECT_EQ(out.job().shape.grace, sched::seconds(45));
  EXPECT_EQ(submit(with_container("workingDir: /work/x")).job().directory, "/work/x");
}

TEST(Manifest, ReadsTopologyOfKueue) {
  const Submitted out = submit(with(kPyTorch, "      template:\n",
                                    "      template:\n        metadata: {annotations: "
                                    "{kueue.x-k8s.io/podset-required-topology: weft/rack}}\n"));
  EXPECT_EQ(out.job().shape.required, sched::Level::rack);
}

TEST(Manifest, ExpandsVariablesAsKubernetesDoes) {
  const Submitted out =
      submit(with_container("env: [{name: X, value: a}, {name: Y, value: $(X)$$(X)$(X}]\n"
                            "            args: [$(X), $$(Y), $Z, \"$(Y)\"]"));
  EXPECT_EQ(out.variable("Y"), "a$(X)$(X");
  EXPECT_THAT(words_of(out), ElementsAre("torchrun", "train.py", "a", "$(Y)", "$Z", "a$(X)$(X"));
}

class ManifestRefuses : public ::testing::TestWithParam<RefusedFile> {};
TEST_P(ManifestRefuses, WithItsLine) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Objects, ManifestRefuses,
    ::testing::Values(
        RefusedFile{"kind", "apiVersion: apps/v1\nkind: Deployment\n", "1:1", "kind `Deployment` are not supported"},
        RefusedFile{"version", "apiVersion: kubeflow.org/v2\nkind: PyTorchJob\n", "1:1", "of `kubeflow.org/v2`"},
        RefusedFile{"second", kPyTorch + "---\n" + kIndexed, "17:1", "a second job"},
        RefusedFile{"other", kPyTorch + "---\napiVersion: v1\nkind: Secret\n", "17:1", "kind `Secret`"},
        RefusedFile{"config", kPyTorch + "---\napiVersion: v1\nkind: ConfigMap\n", "17:1", "kind `ConfigMap`"},
        RefusedFile{"runtime", kTrain + "---\nkind: TrainingRuntime\nmetadata: {name: x}\n", "14:1",
                    "does not refer to"},
        RefusedFile{"nothing", "kind: []\napiVersion: v1\n", "1:1", "not supported"},
        RefusedFile{"list", "- kind: Job\n- 1\nkind: Job\n", "3:1", "expected '-'"},
        RefusedFile{"scalar", "apiVersion: batch/v1\nkind: Job\nmetadata: x\nspec: y\n", "4:7", "not a mapping"},
        RefusedFile{"spec", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n", "1:1", "has no `spec`"},
        RefusedFile{"name", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a}\nspec: {}\n", "1:1",
                    "metadata.name"},
        RefusedFile{"badname", with(kPyTorch, "name: llm", "name: \"a b\""), "3:18", "not a valid job name"},
        RefusedFile{"tenant", with(kPyTorch, "team-alpha", "team-gamma"), "3:34", "team-gamma"},
        RefusedFile{"duplicate", kPyTorch + "kind: Job\n", "2:1", "duplicate key"},
        RefusedFile{"tab", "apiVersion: batch/v1\nkind: Job\n\tspec: 1\n", "3:1", "tab"},
        RefusedFile{"quote", "apiVersion: batch/v1\nkind: \"Job\n", "3:1", "it starts on line 2"},
        RefusedFile{"alias", "apiVersion: batch/v1\nkind: *a\n", "2:7", "undefined alias"}),
    [](const auto& test) { return std::string(test.param.what); });

INSTANTIATE_TEST_SUITE_P(
    Fields, ManifestRefuses,
    ::testing::Values(
        RefusedFile{"unknown", kHead + "  runPolice: {}\n  pytorchReplicaSpecs:\n" + kWorker, "5:3",
                    "did you mean `runPolicy`?"},
        RefusedFile{"suspend", kHead + "  runPolicy: {suspend: true}\n  pytorchReplicaSpecs:\n" + kWorker, "5:24",
                    "suspended"},
        RefusedFile{"replicas", with(kPyTorch, "replicas: 2", "replicas: 99999999999999999999"), "7:17",
                    "not a whole number"},
        RefusedFile{"text", with(kPyTorch, "replicas: 2", "replicas: [2]"), "7:17", "a list"},
        RefusedFile{"zero", with(kPyTorch, "replicas: 2", "replicas: 0"), "6:5", "no replicas"},
        RefusedFile{"minimum",
                    kHead + "  elasticPolicy: {minReplicas: 3, maxReplicas: 2}\n  pytorchReplicaSpecs:\n" + kWorker,
                    "5:32", "is above maxReplicas"},
        RefusedFile{"policy", with(kPyTorch, "OnFailure", "Sometimes"), "8:22", "unknown restart policy"},
        RefusedFile{
            "command",
            with(kPyTorch, "            command: [torchrun, --rdzv_endpoint=llm-worker-0:29500, train.py]\n", ""),
            "12:13", "the command is only in the image"},
        RefusedFile{"item", with(kPyTorch, "train.py]", "train.py, ~]"), "14:79", "is empty"},
        RefusedFile{
            "claim",
            with(with_pod("volumes: [{name: d, persistentVolumeClaim: {claimName: mine}}]"),
                 "            image:", "            volumeMounts: [{name: d, mountPath: /mine}]\n            image:"),
            "14:49", "claim `mine` is not a volume of the cluster"},
        RefusedFile{
            "elsewhere",
            with(with_pod("volumes: [{name: d, persistentVolumeClaim: {claimName: datasets}}]"),
                 "            image:", "            volumeMounts: [{name: d, mountPath: /mine}]\n            image:"),
            "14:49", "mount it at `/data`"},
        RefusedFile{"host",
                    with(with_pod("volumes: [{name: d, hostPath: {path: /a}}]"), "            image:",
                         "            volumeMounts: [{name: d, mountPath: /b}]\n            image:"),
                    "14:49", "mount it at the same path"},
        RefusedFile{"secret",
                    with(with_pod("volumes: [{name: d, secret: {secretName: x}}]"), "            image:",
                         "            volumeMounts: [{name: d, mountPath: /b}]\n            image:"),
                    "14:49", "a secret volume is only in Kubernetes"},
        RefusedFile{"subpath",
                    with(with_pod("volumes: [{name: d, hostPath: {path: /a}}]"), "            image:",
                         "            volumeMounts: [{name: d, mountPath: /a, subPath: x}]\n            image:"),
                    "14:53", "`subPath` of the mount"},
        RefusedFile{"novolume", with_container("volumeMounts: [{name: d, mountPath: /b}]"), "13:28", "no volume `d`"},
        RefusedFile{"init", with_pod("initContainers: [{name: fetch, image: x}]"), "11:28",
                    "init container `fetch` would not run"},
        RefusedFile{"sidecar", kPyTorch + "          - {name: side}\n", "16:13", "a second container"},
        RefusedFile{"envfrom", with_container("envFrom: []"), "13:13", "list them in env"},
        RefusedFile{"from", with_container("env: [{name: A, valueFrom: {secretKeyRef: {name: x}}}]"), "13:29",
                    "only in Kubernetes"},
        RefusedFile{"variable", with_container("env: [{name: A-B, value: x}]"), "13:26", "not a valid variable name"},
        RefusedFile{"rank", with_container("args: [$(RANK)]"), "15:22", "known only when the job runs"},
        RefusedFile{"selector", with_pod("nodeSelector: {zone: a}"), "11:26", "node selector `zone`"},
        RefusedFile{"pool", with_pod("nodeSelector: {weft/pool: tarin}"), "11:37", "tarin"},
        RefusedFile{"affinity", with_pod("affinity: {}"), "11:11", "weft chooses the nodes"},
        RefusedFile{"podfield", with_pod("nodeSelektor: {}"), "11:11", "did you mean `nodeSelector`?"},
        RefusedFile{"mig", with(kPyTorch, "nvidia.com/gpu: 8", "nvidia.com/mig-1g.10gb: 1"), "15:34", "MIG"},
        RefusedFile{"resource", with(kPyTorch, "nvidia.com/gpu: 8", "example.com/x: 1"), "15:34", "unknown resource"},
        RefusedFile{"memory", with(kPyTorch, "nvidia.com/gpu: 8", "memory: 8Q"), "15:42", "not an amount of memory"},
        RefusedFile{"gpus", with(kPyTorch, "nvidia.com/gpu: 8", "nvidia.com/gpu: 16"), "15:50",
                    "16 GPUs per server requested"},
        RefusedFile{"initializer", with(kTrain, "  trainer:\n", "  initializer: {}\n  trainer:\n"), "6:3",
                    "would not be downloaded"},
        RefusedFile{"parallelism", with(kIndexed, "parallelism: 3", "parallelism: 2"), "7:16", "differ"},
        RefusedFile{"mode", with(kIndexed, "completionMode: Indexed", "completionMode: NonIndexed"), "5:19",
                    "need an index"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(Manifest, BoundsTheNumberOfVariables) {
  std::string env = "env: [";
  for (int i = 0; i <= 1000; ++i) env += "{name: A" + std::to_string(i) + ", value: x}, ";
  EXPECT_THAT(submit(with_container(env + "]")).messages, HasSubstr("at most 1000 are allowed"));
}

TEST(Manifest, ExplainsTheRunningExample) {
  const Result<std::string> text = read_file(source_dir() + "/examples/running/train-job.yaml");
  ASSERT_TRUE(text.ok());
  const Submitted out = submit(*text, "train-job.yaml");
  EXPECT_EQ(out.errors, 1U) << out.messages;  // its init container
  EXPECT_THAT(out.messages, HasSubstr("init container `preflight` would not run"));
}

TEST(KubeFields, ReadsQuantities) {
  EXPECT_EQ(parse_kube_milli("100"), 100'000);
  EXPECT_EQ(parse_kube_milli("500m"), 500);
  EXPECT_EQ(parse_kube_milli("1.5"), 1500);
  EXPECT_EQ(parse_kube_milli("0.0001"), 1);
  EXPECT_EQ(parse_kube_bytes("1Ki"), 1024);
  EXPECT_EQ(parse_kube_bytes("1583Gi"), std::int64_t{1583} << 30);
  EXPECT_EQ(parse_kube_bytes("64G"), 64'000'000'000);
  EXPECT_EQ(parse_kube_bytes("1.5Mi"), 3 << 19);
  EXPECT_EQ(parse_kube_bytes("129e6"), 129'000'000);
  EXPECT_EQ(parse_kube_bytes("123"), 123);
  for (const char* bad :
       {"", "m", "-1", "1e99", "1e-3", "1 Gi", "Gi", "1.2.3", "99999999999999999Gi", "9999999999Pi", "0x1"}) {
    EXPECT_FALSE(parse_kube_bytes(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_kube_milli("1k").has_value());
}

TEST(KubeFields, WritesLabels) {
  EXPECT_EQ(to_dns_label("Team_Alpha."), "team-alpha");
  EXPECT_EQ(to_dns_label("--"), "");
}

}  // namespace
}  // namespace weft::serve
