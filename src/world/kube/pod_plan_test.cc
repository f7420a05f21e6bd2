#include "world/kube/pod_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/random.h"
#include "kube/json_fields.h"
#include "world/kube/pod_facts.h"

namespace weft::world {
namespace {

const PodContext kContext{"here", "jobs", {"n0", "n1", "n2"}, "registry/train:1"};  // NOLINT(cert-err58-cpp)

control::StartAttempt make_start() {
  auto spec = std::make_shared<control::JobSpec>();
  spec->command = {"train", "--lr=$(rate)"};
  spec->environment = {{"NCCL_DEBUG", "INFO"}, {"RANK", "user text"}};
  spec->shape.task.gpus = 4;
  spec->shape.task.cpu = 1500;
  spec->shape.task.memory_mib = 2048;
  spec->checkpoint.volumes = {"/lustre/a"};
  spec->directory = "/home/u";
  spec->uid = 1001;
  spec->gid = 1002;
  control::StartAttempt start;
  start.name = {12, 3};
  start.spec = spec;
  // Two tasks on node 2, one on node 0.
  start.slots = {{sched::NodeId{2}, 0x000F, {}}, {sched::NodeId{2}, 0x00F0, {}}, {sched::NodeId{0}, 0x000F, {}}};
  start.boots = {22, 22, 20};
  start.checkpoint_interval = sched::seconds(600);
  return start;
}

std::string variable_of(const Value& container, std::string_view name) {
  std::string found = "(none)";
  int count = 0;
  for (const Value& variable : kube::list(container, {"env"})) {
    if (kube::raw_text(variable, {"name"}) != name) continue;
    found = kube::raw_text(variable, {"value"});
    ++count;
  }
  return count > 1 ? "(twice)" : found;
}

TEST(PodPlan, OnePodPerNodeAndOneContainerPerTask) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->name, "weft-12-3");
  ASSERT_EQ(plan->pods.size(), 2U);
  EXPECT_EQ(plan->pods[0].node, sched::NodeId{2});
  const Value& pod = plan->pods[0].pod;
  EXPECT_EQ(kube::raw_text(pod, {"metadata", "name"}), "weft-12-3-0");
  EXPECT_EQ(kube::raw_text(pod, {"spec", "restartPolicy"}), "Never");
  EXPECT_EQ(kube::member(pod, {"spec", "nodeName"}), nullptr);  // it runs once it is bound
  EXPECT_EQ(kube::raw_text(pod, {"spec", "schedulerName"}), "weft");
  EXPECT_EQ(kube::number(pod, {"spec", "securityContext", "runAsUser"}), 1001);
  const Value::List& containers = kube::list(pod, {"spec", "containers"});
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(variable_of(containers[1], "RANK"), "1");
  EXPECT_EQ(variable_of(containers[1], "LOCAL_RANK"), "1");
  EXPECT_EQ(variable_of(containers[1], "LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(variable_of(containers[1], "WORLD_SIZE"), "3");
  EXPECT_EQ(variable_of(containers[1], "GROUP_WORLD_SIZE"), "2");
  EXPECT_EQ(variable_of(containers[1], "MASTER_ADDR"), "weft-12-3-0.weft-12-3.jobs.svc");
  EXPECT_EQ(variable_of(containers[1], "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(variable_of(containers[1], "WEFT_CHECKPOINT_DIRS"), "/lustre/a/job-12");
  EXPECT_EQ(variable_of(containers[1], "WEFT_CHECKPOINT_INTERVAL"), "600");
  EXPECT_EQ(kube::raw_text(containers[0], {"resources", "limits", "nvidia.com/gpu"}), "4");
  EXPECT_EQ(kube::raw_text(containers[0], {"resources", "limits", "cpu"}), "1500m");
  EXPECT_EQ(kube::raw_text(containers[0], {"resources", "limits", "memory"}), "2048Mi");
  EXPECT_EQ(variable_of(kube::list(plan->pods[1].pod, {"spec", "containers"})[0], "GROUP_RANK"), "1");
  EXPECT_EQ(kube::raw_text(plan->service, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(kube::truth(plan->service, {"spec", "publishNotReadyAddresses"}), true);
}

// A kubelet refuses a pod that requests more than it can allocate, which is less than the server has. "If a limit is
// specified but a request is not, the limit is the request" (Kubernetes, Resource Management for Pods).
TEST(PodPlan, AKubeletCanAdmitAPodWithAllOfItsServer) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const Value& container = kube::list(plan->pods[0].pod, {"spec", "containers"})[0];
  EXPECT_EQ(kube::raw_text(container, {"resources", "requests", "cpu"}), "0");
  EXPECT_EQ(kube::raw_text(container, {"resources", "requests", "memory"}), "0");
  EXPECT_EQ(kube::raw_text(container, {"resources", "requests", "nvidia.com/gpu"}), "4");
}

// "One CPU unit is equivalent to one hyperthread" (Kubernetes, Resource units); weft counts cores.
TEST(PodPlan, ALimitCountsThreads) {
  PodContext context = kContext;
  context.threads.assign(context.nodes.size(), 2);
  const Result<AttemptPlan> plan = plan_attempt(make_start(), context);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const Value& container = kube::list(plan->pods[0].pod, {"spec", "containers"})[0];
  EXPECT_EQ(kube::raw_text(container, {"resources", "limits", "cpu"}), "3000m");
}

// Kubernetes API reference, Container v1: "$(VAR_NAME) is expanded; $$ is a dollar sign".
TEST(PodPlan, TextOfTheUserIsNotExpanded) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext);
  ASSERT_TRUE(plan.ok());
  const Value& container = kube::list(plan->pods[0].pod, {"spec", "containers"})[0];
  EXPECT_EQ(kube::list(container, {"command"})[1].text(), "--lr=$$(rate)");
}

TEST(PodPlan, KubernetesMustNotDeletePodsOfSilentNodes) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext);
  ASSERT_TRUE(plan.ok());
  int forever = 0;
  for (const Value& toleration : kube::list(plan->pods[0].pod, {"spec", "tolerations"})) {
    if (kube::raw_text(toleration, {"effect"}) == "NoExecute" &&
        kube::member(toleration, {"tolerationSeconds"}) == nullptr) {
      ++forever;
    }
  }
  EXPECT_EQ(forever, 2);
}

TEST(PodPlan, ABootGateComparesTheKernelsBootId) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext, {{sched::NodeId{2}, "11-22"}});
  ASSERT_TRUE(plan.ok());
  const Value::List& gates = kube::list(plan->pods[0].pod, {"spec", "initContainers"});
  ASSERT_EQ(gates.size(), 1U);
  EXPECT_EQ(kube::list(gates[0], {"command"}).back().text(), "11-22");
  EXPECT_EQ(kube::list(gates[0], {"command"})[2].text(), "[ \"$$(cat /proc/sys/kernel/random/boot_id)\" = \"$$1\" ]");
  EXPECT_EQ(kube::member(plan->pods[1].pod, {"spec", "initContainers"}), nullptr);
}

// The job's directories hold a token that weft wrote where it mounts the volume.
TEST(PodPlan, TheGateComparesTheVolumes) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext, {{sched::NodeId{2}, "11-22"}}, "token 7");
  ASSERT_TRUE(plan.ok());
  const Value& gate = kube::list(plan->pods[0].pod, {"spec", "initContainers"})[0];
  const Value::List& words = kube::list(gate, {"command"});
  ASSERT_EQ(words.size(), 7U);
  EXPECT_NE(words[2].text().find("/.weft-volume"), std::string::npos);
  EXPECT_EQ(words[5].text(), "token 7");
  EXPECT_EQ(words[6].text(), "/lustre/a/job-12");
  EXPECT_EQ(kube::raw_text(kube::list(gate, {"volumeMounts"})[0], {"mountPath"}), "/lustre/a");
  const Value& volume = kube::list(plan->pods[0].pod, {"spec", "volumes"})[0];
  EXPECT_EQ(kube::raw_text(volume, {"hostPath", "type"}), "Directory");  // a kubelet creates none
}

TEST(PodPlan, TheImageOfTheJobComesFirst) {
  control::StartAttempt start = make_start();
  auto spec = std::make_shared<control::JobSpec>(*start.spec);
  spec->image = "registry/own:2";
  start.spec = spec;
  const Result<AttemptPlan> plan = plan_attempt(start, kContext, {{sched::NodeId{2}, "11-22"}});
  ASSERT_TRUE(plan.ok());
  const Value& pod = plan->pods[0].pod;
  EXPECT_EQ(kube::raw_text(kube::list(pod, {"spec", "containers"})[0], {"image"}), "registry/own:2");
  EXPECT_EQ(kube::raw_text(kube::list(pod, {"spec", "initContainers"})[0], {"image"}), "registry/own:2");
}

TEST(PodPlan, RefusesWhatCannotRun) {
  const auto problem = [](const std::function<void(control::StartAttempt&, control::JobSpec&)>& change) {
    control::StartAttempt start = make_start();
    auto spec = std::make_shared<control::JobSpec>(*start.spec);
    change(start, *spec);
    start.spec = spec;
    const Result<AttemptPlan> plan = plan_attempt(start, kContext);
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_NE(problem([](auto& start, auto&) { start.slots[0].node = sched::NodeId{3}; }), "");
  EXPECT_NE(problem([](auto& start, auto&) { start.boots.pop_back(); }), "");
  EXPECT_NE(problem([](auto&, auto& spec) { spec.command.clear(); }), "");
  EXPECT_NE(problem([](auto&, auto& spec) {
              spec.shape.task.gpus = 1;
              spec.shape.task.gpu_milli = 500;
            }),
            "");
  EXPECT_NE(problem([](auto&, auto& spec) { spec.checkpoint.volumes = {"relative"}; }), "");
  EXPECT_NE(problem([](auto&, auto& spec) { spec.checkpoint.volumes = {"/a/../etc"}; }), "");
}

TEST(PodFacts, AttemptsAreThoseOfThisEngine) {
  const Result<AttemptPlan> plan = plan_attempt(make_start(), kContext);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(attempt_of(plan->pods[0].pod, "here"), (control::AttemptName{12, 3}));
  EXPECT_EQ(attempt_of(plan->pods[0].pod, "elsewhere"), std::nullopt);
  Value hostile = plan->pods[0].pod;
  hostile["metadata"]["labels"].set("weft/job", Value("12x"));
  EXPECT_EQ(attempt_of(hostile, "here"), std::nullopt);
}

class PodFactsTest : public ::testing::Test {
 protected:
  Value pod_ = plan_attempt(make_start(), kContext)->pods[0].pod;
  void SetUp() override {
    pod_["metadata"].set("uid", Value("u")).set("resourceVersion", Value("1"));
    pod_["spec"].set("nodeName", Value("n2"));
  }
  static Value status_of(const char* state, int code) {
    Value status = Value::map({{"name", Value("x")}});
    status["state"].set(state, Value::map({{"exitCode", Value(code)}, {"reason", Value("OOMKilled")}}));
    return status;
  }
  PodFacts facts() { return read_pod(pod_, "here").value_or(PodFacts{}); }
};

TEST_F(PodFactsTest, EndedMeansThatEveryContainerHasEnded) {
  pod_["status"].set("phase", Value("Running"));
  pod_["status"].set("containerStatuses", Value::list({status_of("terminated", 0), status_of("running", 0)}));
  EXPECT_FALSE(facts().ended);
  EXPECT_TRUE(facts().running);
  // One status of two: the other container is not known to have ended, whatever the phase says.
  pod_["status"].set("phase", Value("Failed"));
  pod_["status"].set("containerStatuses", Value::list({status_of("terminated", 1)}));
  EXPECT_FALSE(facts().ended);
  EXPECT_FALSE(facts().rejected);
  pod_["status"].set("containerStatuses", Value::list({status_of("terminated", 0), status_of("terminated", 137)}));
  EXPECT_TRUE(facts().ended);
  EXPECT_EQ(facts().code, 137);
  EXPECT_EQ(facts().text, "OOMKilled");
}

// Messages as containerd 1.6 with runc 1.1 writes them.
TEST_F(PodFactsTest, AContainerThatWasNotStartedSaysWhy) {
  const std::string prefix =
      "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
      "unable to start container process: ";
  const auto end = [&](const char* reason, const std::string& message) {
    Value status = status_of("terminated", 128);
    status["state"]["terminated"].set("reason", Value(reason)).set("message", Value(message));
    pod_["status"].set("phase", Value("Failed"));
    pod_["status"].set("containerStatuses", Value::list({status, status_of("terminated", 0)}));
    return facts();
  };
  const std::string cause = "exec: \"/opt/" + std::string(80, 'x') + "\": stat /opt: no such file or directory";
  const PodFacts missing = end("StartError", prefix + cause + ": unknown");
  EXPECT_EQ(missing.code, 128);
  EXPECT_TRUE(missing.text.starts_with("StartError: ...")) << missing.text;
  EXPECT_TRUE(missing.text.ends_with(cause)) << missing.text;
  // By the hook `weft gate hook create`.
  const std::string refusal = "this node is not leased to kubernetes: its gate is open for slurm";
  const std::string hook =
      "error during container init: error running hook #0: error running hook: exit status 4, "
      "stdout: , stderr: weft: " +
      refusal + ": unknown";
  EXPECT_EQ(end("StartError", prefix + hook).text, "StartError: " + refusal);
  EXPECT_LT(facts().code, 0) << "not a fault of the job";
  EXPECT_EQ(end("Error", refusal).text, "Error") << "the program's own message";
  EXPECT_EQ(facts().code, 128);
}

TEST_F(PodFactsTest, AFailedPodWithoutContainersWasRejected) {
  pod_["status"].set("phase", Value("Failed")).set("reason", Value("OutOfcpu")).set("message", Value("no cpu"));
  EXPECT_TRUE(facts().rejected);
  EXPECT_LT(facts().code, 0);
  EXPECT_EQ(facts().text, "OutOfcpu: no cpu");
}

TEST_F(PodFactsTest, AFailedBootGateMeansThatNoTaskStarted) {
  Value gate = status_of("terminated", 1);
  gate.set("name", Value(kBootGate));
  pod_["status"].set("phase", Value("Failed"));
  pod_["status"].set("initContainerStatuses", Value::list({gate}));
  pod_["status"].set("containerStatuses", Value::list({status_of("waiting", 0), status_of("waiting", 0)}));
  EXPECT_TRUE(facts().rejected);
  EXPECT_EQ(facts().text, "the node was rebooted before the tasks started");
  Value mismatch = gate;
  mismatch["state"]["terminated"].set("exitCode", Value(kVolumeMismatch));
  pod_["status"].set("initContainerStatuses", Value::list({mismatch}));
  EXPECT_NE(facts().text.find("checkpoint volume"), std::string::npos);
  pod_["status"].set("containerStatuses", Value::list({status_of("waiting", 0), status_of("running", 0)}));
  EXPECT_FALSE(facts().rejected);
  pod_["status"].set("phase", Value("Pending"));  // it may be tried again
  pod_["status"].set("containerStatuses", Value::list({status_of("waiting", 0), status_of("waiting", 0)}));
  EXPECT_FALSE(facts().rejected);
}

TEST_F(PodFactsTest, VolumesAreReadFromThePod) {
  const CheckpointPlace place = facts().checkpoints;
  EXPECT_EQ(place.directories, std::vector<std::string>{"/lustre/a/job-12"});
  EXPECT_EQ(place.uid, 1001U);
  EXPECT_EQ(place.gid, 1002U);
  EXPECT_EQ(place.notice, control::CheckpointNotice::none);
  pod_["metadata"]["annotations"].set(kCheckpointsAnnotation, Value("relative::/a:/b:/c"));
  EXPECT_EQ(facts().checkpoints.directories, (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(PodFactsTest, HostilePodsAreBounded) {
  pod_["status"].set("containerStatuses", Value::list({Value(5), Value::list(), Value::map({{"state", Value("x")}})}));
  EXPECT_FALSE(facts().ended);
  Value huge = status_of("terminated", 0);
  huge["state"]["terminated"].set("exitCode", Value(1e300));
  pod_["status"].set("containerStatuses", Value::list({huge, huge}));
  EXPECT_TRUE(facts().ended);
  EXPECT_EQ(facts().code, 1'000'000);
}

TEST(NodeFactsTest, ReadinessBootAndOwners) {
  Value node = Value::map();
  EXPECT_EQ(read_node(node, "here").readiness, NodeReadiness::unknown);
  EXPECT_EQ(read_node(node, "here").boot, 0U);
  node["status"]["nodeInfo"].set("bootID", Value("b"));
  EXPECT_EQ(read_node(node, "here").boot, hash64("b"));
  const auto ready = [&](const char* status) {
    node["status"].set("conditions",
                       Value::list({Value::map({{"type", Value("MemoryPressure")}, {"status", Value("True")}}),
                                    Value::map({{"type", Value("Ready")}, {"status", Value(status)}})}));
    return read_node(node, "here").readiness;
  };
  EXPECT_EQ(ready("True"), NodeReadiness::ready);
  EXPECT_EQ(ready("False"), NodeReadiness::not_ready);
  EXPECT_EQ(ready("Unknown"), NodeReadiness::unknown);
  EXPECT_EQ(ready("nonsense"), NodeReadiness::unknown);
  const auto owner = [&](const char* value) {
    node["spec"].set("taints", Value::list({Value::map({{"key", Value(kSessionTaint)}, {"value", Value(value)}})}));
    return read_node(node, "here").cordon_owner;
  };
  EXPECT_EQ(read_node(node, "here").cordon_owner, "");
  EXPECT_EQ(owner("here.12"), "weft:12");
  EXPECT_EQ(owner("elsewhere.12"), "kubernetes");
  EXPECT_EQ(taint_value("here", 12), "here.12");
}

}  // namespace
}  // namespace weft::world
