// weft serve with engine kubernetes on a node that is real but for its GPUs: kubelet, containerd, runc, and the hooks
// of the lease gate that runc runs (kubelet_lab.h).
#include <filesystem>

#include "engine_kube_fixture.h"
#include "kubelet_lab.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_kube::KubeletLab;
using testing_lab::Lab;
using testing_lab::Outcome;

class EngineKubelet : public testing_kube::EngineKubeTest {
 protected:
  // The tests share a node, which takes longer to start than most of them take.
  static KubeletLab* shared_node(std::string& problem) {
    static std::unique_ptr<KubeletLab> node;
    static std::string first_problem;
    if (node == nullptr) {
      node = std::make_unique<KubeletLab>("real001");
      first_problem = node->start();
    }
    problem = first_problem;
    return problem.empty() ? node.get() : nullptr;
  }

  void SetUp() override {
    WEFT_NEEDS_KUBELET();
    std::string problem;
    node_ = shared_node(problem);
    ASSERT_NE(node_, nullptr) << problem;
    node_->enter();
    if (!node_->has_kubelet()) {
      ASSERT_EQ(node_->start_kubelet(), "");
    }
    ASSERT_EQ(space_.open_on(node_->cluster(), "engine_kubelet"), "");
    cluster_ = &node_->cluster();
    space_.folder().put("cluster.yaml",
                        "weft: 1\nname: lab5\npools:\n  - {name: real, role: training, server: hgx-h100, count: 1, "
                        "per_rack: 1}\n");
    std::filesystem::create_directory(file("shared"));
  }
  void TearDown() override {
    EngineKubeTest::TearDown();
    if (node_ == nullptr) return;
    if (cluster_ != nullptr) remove_pods();
    if (HasFailure()) std::cerr << log() << node_->logs();
    node_->leave();
  }
  void remove_pods() {
    if (!node_->has_kubelet()) {
      ASSERT_EQ(node_->start_kubelet(), "");
    }
    const auto pods = [&] {
      const Result<kube::ObjectList> list = cluster_->admin().client.list(kube::kPods, {space(), "", ""});
      return list.ok() ? list->items : std::vector<Value>(1);
    };
    for (const Value& pod : pods()) {
      const kube::ObjectName name{space(), kube::raw_text(pod, {"metadata", "name"})};
      (void)cluster_->admin().client.remove(kube::kPods, name, {1, {}, {}, {}});
    }
    EXPECT_TRUE(Lab::wait(60, [&] { return pods().empty() && node_->running().empty(); }));
  }

  // weft serve, with the one node usable.
  void serve() {
    launch({"serve", file("cluster.yaml"), "--state", file("state"), "--socket", file("s"), "--engine", "kubernetes",
            "--image", testing_kube::kImage, "-v", "--kubeconfig", cluster_->file("admin.kubeconfig"), "--namespace",
            space()});
    ASSERT_TRUE(wait([&] { return view({"status", "-o", "json"}, "server").value("usable_nodes", 0) == 1; }));
  }
  // A job of one node, with a shared folder: $WEFT_CHECKPOINT_DIRS in its script, and shared() here.
  std::string submit_shell(const std::string& script, const std::string& more = "") {
    space_.folder().put("job.yaml",
                        "job: 1\nname: shell\nnodes: 1\nrestart: {backoff: 100ms}\ncheckpoint: {volumes: [" +
                            file("shared") + "]}\ncommand: [sh, -c, '" + script + "']\n" + more);
    return submit();
  }
  [[nodiscard]] std::string shared(const std::string& number, const std::string& name) const {
    return file("shared/job-" + number + "/" + name);
  }
  [[nodiscard]] bool wait_file(const std::string& path) {
    return wait([&] { return std::filesystem::exists(path); });
  }
  [[nodiscard]] bool wait_end(const std::string& number, const std::string& state) {
    return wait([&] { return job(number).value("state", "") == state; });
  }

  // The gate of the node, as an operator reads and sets it there.
  [[nodiscard]] json gate() {
    const Outcome status = node_->run({weft_binary(), "gate", "status", "-o", "json"});
    const json parsed = json::parse(status.out, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << status.out;
    return parsed;
  }
  [[nodiscard]] json gate_of_kubernetes() {
    const json all = gate();
    for (const json& engine : all.value("engines", json::array())) {
      if (engine["engine"] == "kubernetes") return engine;
    }
    return json::object();
  }
  void order_gate(const char* verb, std::int64_t epoch) {
    const Outcome done = node_->run({weft_binary(), "gate", verb, "--owner", "kubernetes", "--epoch",
                                     std::to_string(epoch), "--boot", gate()["gate"]["boot"]});
    ASSERT_EQ(done.code, 0) << done.out;
  }
  void open_gate() { order_gate("open", gate_of_kubernetes()["floor"].get<std::int64_t>() + 1); }
  void close_gate() {
    const json now = gate_of_kubernetes();
    order_gate("close", std::max(now["open"].get<std::int64_t>(), now["floor"].get<std::int64_t>() + 1));
  }
  // {entered, steps, processes that hold a GPU}
  [[nodiscard]] std::vector<int> use_of_node() {
    const json all = gate();
    const json engine = gate_of_kubernetes();
    return {engine.value("entries", -1), engine.value("steps", -1), all["gate"].value("holders", -1)};
  }

  // A pod that names its node itself, past all schedulers.
  void create_pod(const std::string& name, const std::vector<Value>& command, int gpus) {
    Value container = Value::map({{"name", Value("main")}, {"image", Value(testing_kube::kImage)}});
    container.set("command", Value(command));
    if (gpus > 0) container["resources"]["limits"].set("nvidia.com/gpu", Value(std::to_string(gpus)));
    create_pod_in(space(), name, container);
  }
  void create_pod_in(const std::string& kube_namespace, const std::string& name, const Value& container) {
    Value pod = Value::map();
    pod["metadata"].set("name", Value(name)).set("namespace", Value(kube_namespace));
    pod["spec"].set("nodeName", Value(node_->name())).set("restartPolicy", Value("Never"));
    pod["spec"].set("terminationGracePeriodSeconds", Value(1)).set("containers", Value::list({container}));
    const Result<kube::CreateOutcome> made = cluster_->admin().client.create(kube::kPods, pod);
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  [[nodiscard]] Value pod(const std::string& name) {
    return cluster_->admin().client.get(kube::kPods, {space(), name}).value_or({});
  }
  [[nodiscard]] std::string phase_of(const kube::ObjectName& name) {
    return kube::raw_text(cluster_->admin().client.get(kube::kPods, name).value_or({}), {"status", "phase"});
  }
  [[nodiscard]] bool wait_phase(const std::string& name, const std::string& phase) {
    return wait([&] { return phase_of({space(), name}) == phase; });
  }
  // Ids of containers that run and are no sandbox.
  [[nodiscard]] std::vector<std::string> containers() {
    std::vector<std::string> found;
    for (const std::string& id : node_->running()) {
      const json facts = json::parse(node_->ctr({"containers", "info", id}).out, nullptr, false);
      if (facts.is_object() && facts["Labels"].value("io.cri-containerd.kind", "") == "container") found.push_back(id);
    }
    return found;
  }

  KubeletLab* node_ = nullptr;
};

TEST_F(EngineKubelet, AJobRunsInAContainer) {
  open_gate();
  serve();
  if (HasFatalFailure()) return;
  const std::string number = submit_shell("echo rank $RANK of $WORLD_SIZE; ls /dev/nvidia*");
  ASSERT_TRUE(wait_end(number, "done")) << job(number).dump(1);
  EXPECT_EQ(weft({"job", "logs", number}).out,
            "rank 0 of 1\n/dev/nvidia0\n/dev/nvidia1\n/dev/nvidia2\n/dev/nvidia3\n/dev/nvidia4\n/dev/nvidia5\n"
            "/dev/nvidia6\n/dev/nvidia7\n");
  const std::string failing = submit_shell("echo it fails; exit 3", "max_restarts: 0\n");
  EXPECT_TRUE(wait_end(failing, "held")) << job(failing).dump(1);
  EXPECT_EQ(weft({"job", "logs", failing}).out, "it fails\n");
  EXPECT_EQ(use_of_node(), (std::vector<int>{0, 0, 0}));
}

TEST_F(EngineKubelet, ACanceledJobIsAskedToEnd) {
  open_gate();
  serve();
  if (HasFatalFailure()) return;
  const std::string number = submit_shell(
      "cd $WEFT_CHECKPOINT_DIRS; trap \"touch stopped; exit 143\" TERM; touch started; while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_state(number, "running", 1)) << job(number).dump(1);
  ASSERT_TRUE(wait_file(shared(number, "started")));
  EXPECT_EQ(use_of_node(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  EXPECT_TRUE(wait_end(number, "canceled")) << job(number).dump(1);
  EXPECT_TRUE(std::filesystem::exists(shared(number, "stopped")));
  EXPECT_TRUE(containers().empty());
  EXPECT_EQ(use_of_node(), (std::vector<int>{0, 0, 0}));
}

TEST_F(EngineKubelet, AKilledContainerIsANewAttempt) {
  open_gate();
  serve();
  if (HasFatalFailure()) return;
  const std::string number =
      submit_shell("cd $WEFT_CHECKPOINT_DIRS; touch started$WEFT_ATTEMPT; while [ ! -e go ]; do sleep 0.1; done");
  ASSERT_TRUE(wait_file(shared(number, "started1"))) << job(number).dump(1);
  const std::vector<std::string> running = containers();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(node_->ctr({"tasks", "kill", "-s", "SIGKILL", running[0]}).code, 0);
  ASSERT_TRUE(wait_file(shared(number, "started2"))) << job(number).dump(1);
  EXPECT_EQ(containers().size(), 1U);
  std::ofstream(shared(number, "go")) << "";
  EXPECT_TRUE(wait_end(number, "done")) << job(number).dump(1);
  EXPECT_EQ(job(number)["attempt"], 2);
}

TEST_F(EngineKubelet, AJobThatExceedsItsMemorySaysSo) {
  open_gate();
  serve();
  if (HasFatalFailure()) return;
  space_.folder().put("job.yaml", R"(apiVersion: batch/v1
kind: Job
metadata: {name: greedy}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          command: [tail, /dev/zero]
          resources: {limits: {nvidia.com/gpu: 1, memory: 32Mi, cpu: 1}}
)");
  const std::string number = submit();
  ASSERT_TRUE(wait_end(number, "failed")) << job(number).dump(1);
  EXPECT_EQ(job(number)["reason"], "OOMKilled");
}

TEST_F(EngineKubelet, AKubeletThatCrashesStartsNothingTwice) {
  open_gate();
  serve();
  if (HasFatalFailure()) return;
  for (const bool ends_meanwhile : {false, true}) {
    const std::string number =
        submit_shell("cd $WEFT_CHECKPOINT_DIRS; echo start >> starts; while [ ! -e go ]; do sleep 0.1; done");
    ASSERT_TRUE(wait_state(number, "running", 1)) << job(number).dump(1);
    ASSERT_TRUE(wait_file(shared(number, "starts")));
    node_->kill_kubelet();
    if (ends_meanwhile) {
      std::ofstream(shared(number, "go")) << "";
      ASSERT_TRUE(wait([&] { return containers().empty(); }));
    }
    ASSERT_TRUE(wait([&] { return view({"status", "-o", "json"}, "server").value("usable_nodes", 1) == 0; }));
    EXPECT_EQ(job(number)["state"], "running");
    ASSERT_EQ(node_->start_kubelet(), "");
    if (!ends_meanwhile) std::ofstream(shared(number, "go")) << "";
    EXPECT_TRUE(wait_end(number, "done")) << job(number).dump(1);
    EXPECT_EQ(job(number)["attempt"], 1);
    EXPECT_EQ(Lab::contents(shared(number, "starts")), "start\n");
    EXPECT_TRUE(wait([&] { return use_of_node() == std::vector<int>{0, 0, 0}; }));
  }
}

TEST_F(EngineKubelet, TheGateRefusesContainersThatNoSchedulerPlaced) {
  close_gate();
  if (HasFatalFailure()) return;
  create_pod("early", {"sh", "-c", "exec sleep 1000 < /dev/nvidia0"}, 8);
  ASSERT_TRUE(wait_phase("early", "Failed")) << write_json_line(pod("early"));
  EXPECT_THAT(write_json_line(pod("early")),
              HasSubstr("weft: this node is not leased to kubernetes: its gate is open for no engine"));
  EXPECT_EQ(use_of_node(), (std::vector<int>{0, 0, 0}));
  create_pod("plain", {"true"}, 0);
  ASSERT_TRUE(wait_phase("plain", "Succeeded")) << write_json_line(pod("plain"));

  open_gate();
  // It passes the gate before runc finds that it cannot start it.
  create_pod("missing", {"/missing"}, 8);
  ASSERT_TRUE(wait_phase("missing", "Failed")) << write_json_line(pod("missing"));
  EXPECT_THAT(write_json_line(pod("missing")), HasSubstr("stat /missing: no such file or directory"));
  EXPECT_EQ(use_of_node(), (std::vector<int>{0, 0, 0}));
  create_pod("user", {"sh", "-c", "exec sleep 1000 < /dev/nvidia0"}, 8);
  ASSERT_TRUE(wait_phase("user", "Running")) << write_json_line(pod("user"));
  ASSERT_TRUE(wait([&] { return use_of_node() == std::vector<int>{1, 1, 1}; })) << gate().dump(1);
  close_gate();  // what runs is not stopped, and is still counted
  EXPECT_EQ(use_of_node(), (std::vector<int>{1, 1, 1})) << gate().dump(1);
  ASSERT_TRUE(cluster_->admin().client.remove(kube::kPods, {space(), "user"}).ok());
  EXPECT_TRUE(wait([&] { return use_of_node() == std::vector<int>{0, 0, 0}; })) << gate().dump(1);
}

TEST_F(EngineKubelet, ToolsOfTheNodeDoNotNeedTheGate) {
  close_gate();
  if (HasFatalFailure()) return;
  (void)cluster_->admin().client.create(kube::kNamespaces,
                                        Value::map({{"metadata", Value::map({{"name", Value("gpu-tools")}})}}));
  // As images of CUDA set it.
  for (const std::string& owner : {std::string("gpu-tools"), space()}) {
    Value container = Value::map({{"name", Value("main")}, {"image", Value(testing_kube::kImage)}});
    container.set("command", Value::list({Value("sleep"), Value("1000")}));
    container.set("env",
                  Value::list({Value::map({{"name", Value("NVIDIA_VISIBLE_DEVICES")}, {"value", Value("all")}})}));
    create_pod_in(owner, "exporter", container);
  }
  ASSERT_TRUE(wait_phase("exporter", "Failed"));
  EXPECT_TRUE(wait([&] { return phase_of({"gpu-tools", "exporter"}) == "Running"; }));
  EXPECT_EQ(use_of_node(), (std::vector<int>{0, 0, 0}));
  EXPECT_TRUE(cluster_->admin().client.remove(kube::kPods, {"gpu-tools", "exporter"}).ok());
}

TEST_F(EngineKubelet, AJobThatTheGateRefusesSaysSo) {
  close_gate();
  serve();
  if (HasFatalFailure()) return;
  const std::string number = submit_shell("exit 0");
  ASSERT_TRUE(wait([&] { return job(number).value("attempt", 0) > 1; }));
  EXPECT_EQ(job(number)["reason"], "StartError: this node is not leased to kubernetes: its gate is open for no engine");
  EXPECT_EQ(job(number)["failures"], 0) << "not a fault of the job";
  open_gate();
  EXPECT_TRUE(wait_end(number, "done")) << job(number).dump(1);
}

}  // namespace
}  // namespace weft
