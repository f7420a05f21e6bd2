// weft serve --engine kubernetes --mode watch on a real API server (1.20.2): pods that others created, also before weft
// started; why they wait, as the scheduler says it; nodes that fail. What weft may not change is compared by
// resourceVersion, or weft has a user who may only read.
#include "engine_kube_fixture.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube/timestamp.h"
#include "kube_apply.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using testing_kube::kClusterRoleBindings;
using testing_kube::kClusterRoles;
constexpr const char* kTaint = "weft/session";

class EngineKubeWatch : public testing_kube::EngineKubeTest {
 protected:
  kube::Client& client() { return cluster_->admin().client; }
  static Value value_of(const json& object) { return kube::read_reply_json(object.dump()).value_or(Value()); }

  void create(const kube::Resource& resource, const json& object) {
    const Result<kube::CreateOutcome> made = client().create(resource, value_of(object));
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  // `node` "": it waits for a scheduler.
  void create_pod(const std::string& name, const std::string& node, int gpus, const json& owners = json::array()) {
    json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
    pod["metadata"] = {{"name", name}, {"namespace", space()}, {"ownerReferences", owners}};
    const json limits = {{"nvidia.com/gpu", std::to_string(gpus)}};
    const json container = {{"name", "main"}, {"image", "busybox"}, {"resources", {{"limits", limits}}}};
    pod["spec"]["containers"] = json::array({container});
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    create(kube::kPods, pod);
  }
  void patch_status(const kube::Resource& resource, const kube::ObjectName& name, const json& status) {
    const Result<Value> patched = client().patch(resource, name, value_of({{"status", status}}), "status");
    ASSERT_TRUE(patched.ok()) << patched.error().text();
  }
  // What a kubelet with 8 GPUs reports, with the time: the node controller looks at that.
  void heartbeat(int number) {
    const json gpus = {{"nvidia.com/gpu", "8"}, {"cpu", "64"}, {"memory", "64Gi"}, {"pods", "110"}};
    json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
    ready["lastHeartbeatTime"] = kube::format_timestamp(cluster_->admin().clock.wall_ms());
    patch_status(kube::kNodes, {"", node(number)},
                 {{"capacity", gpus}, {"allocatable", gpus}, {"conditions", json::array({ready})}});
  }
  void watch(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"serve",    file("cluster.yaml"), "--state", file("state"), "--socket", file("s"),
                                      "--engine", "kubernetes",         "--mode",  "watch",       "-v"};
    words.insert(words.end(), more.begin(), more.end());
    launch(words);
  }
  [[nodiscard]] std::vector<std::string> admin_of_all_namespaces() const {
    return {"--kubeconfig", cluster_->file("admin.kubeconfig")};
  }
  [[nodiscard]] json listed(const std::string& id) const {
    const json parsed = json::parse(weft({"job", "list", "--all", "-o", "json"}).out, nullptr, false);
    if (!parsed.is_object()) return {};
    for (const json& row : parsed.value("jobs", json::array())) {
      if (row.value("job", "") == id) return row;
    }
    return {};
  }
  [[nodiscard]] json proposals() const {
    const json parsed = json::parse(weft({"status", "-o", "json"}).out, nullptr, false);
    return parsed.is_object() ? parsed.value("proposals", json::array()) : json::array();
  }
  [[nodiscard]] std::string health(int number) const {
    return view({"node", "show", node(number), "-o", "json"}, "node").value("health", "");
  }
  [[nodiscard]] int count_in_history(const std::string& text) const {
    const std::string all = log();  // of all servers of the test; -v prints every event
    int count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }
  // All nodes of the cluster and all pods of all namespaces: every change of an object changes its version.
  [[nodiscard]] std::map<std::string, std::string> versions() {
    std::map<std::string, std::string> found;
    for (const kube::Resource& resource : {kube::kNodes, kube::kPods}) {
      const Result<kube::ObjectList> list = client().list(resource, {});
      EXPECT_TRUE(list.ok());
      if (!list.ok()) return found;
      for (const Value& object : list->items) {
        found[std::string(resource.kind) + " " + kube::raw_text(object, {"metadata", "namespace"}) + "/" +
              kube::raw_text(object, {"metadata", "name"})] = kube::raw_text(object, {"metadata", "resourceVersion"});
      }
    }
    return found;
  }
  // The message of the scheduler; "": none.
  [[nodiscard]] std::string scheduler_message(const std::string& pod) {
    const Result<Value> object = client().get(kube::kPods, {space(), pod});
    if (!object.ok()) return {};
    for (const Value& condition : kube::list(*object, {"status", "conditions"})) {
      if (kube::raw_text(condition, {"type"}) == "PodScheduled") return kube::raw_text(condition, {"message"});
    }
    return {};
  }
  [[nodiscard]] std::string session_taint(int number) {
    const Result<Value> object = client().get(kube::kNodes, {"", node(number)});
    if (!object.ok()) return "?";
    for (const Value& taint : kube::list(*object, {"spec", "taints"})) {
      if (kube::raw_text(taint, {"key"}) == kTaint) return kube::raw_text(taint, {"value"});
    }
    return {};
  }
  // As the node controller does for a silent kubelet.
  void make_unreachable(int number) {
    ASSERT_EQ(kubelets_->report_node(node(number), "Unknown"), "");
    const json taint = {{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoSchedule"}};
    const Result<Value> patched =
        client().patch(kube::kNodes, {"", node(number)}, value_of({{"spec", {{"taints", json::array({taint})}}}}));
    ASSERT_TRUE(patched.ok()) << patched.error().text();
  }
};

TEST_F(EngineKubeWatch, AdoptsARunningClusterAndChangesNothing) {
  start_cluster("adopt");
  if (IsSkipped() || HasFatalFailure()) return;
  json owner = {{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"name", "train"}};
  owner["uid"] = "11111111-2222-3333-4444-555555555555";
  owner["controller"] = true;
  create_pod("train-0", node(1), 8, json::array({owner}));
  create_pod("train-1", node(2), 8, json::array({owner}));
  create_pod("waits", "", 8);
  ASSERT_EQ(kubelets_->step(), "");
  const std::string message = "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.";
  const json condition = {
      {"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", message}};
  patch_status(kube::kPods, {space(), "waits"}, {{"conditions", json::array({condition})}});
  auto before = versions();

  watch(admin_of_all_namespaces());
  ASSERT_TRUE(wait([&] { return !listed(space() + "/train").is_null(); })) << log();
  const json train = listed(space() + "/train");
  EXPECT_EQ(train["state"], "running");
  EXPECT_EQ(train["nodes"], node(1) + "," + node(2));
  EXPECT_EQ(train["gpus"], 16);
  EXPECT_EQ(listed(space() + "/waits")["state"], "pending");
  EXPECT_EQ(view({"job", "show", space() + "/train", "-o", "json"}, "job").value("name", ""), "train");
  const json why = view({"job", "why", space() + "/waits", "-o", "json"}, "job");
  EXPECT_EQ(why.value("engine_reason", ""), "Unschedulable");
  EXPECT_EQ(why.value("engine_text", ""), scheduler_message("waits"));
  EXPECT_THAT(why.value("sentence", ""), HasSubstr(message));
  EXPECT_EQ(weft({"job", "show", space() + "/absent"}).code, 2);
  const ProcessOutcome submitted = weft({"job", "submit", file("job.yaml")});
  EXPECT_EQ(submitted.code, 4) << submitted.err;
  EXPECT_THAT(submitted.err, HasSubstr("watch mode: kubernetes schedules this cluster"));
  EXPECT_EQ(weft({"job", "cancel", space() + "/train"}).code, 4);
  ASSERT_TRUE(wait_ready()) << log();
  EXPECT_EQ(versions(), before);

  ASSERT_NO_FATAL_FAILURE(make_unreachable(3));
  before = versions();
  ASSERT_TRUE(wait([&] { return !proposals().empty(); })) << log();
  EXPECT_EQ(proposals()[0]["node"], node(3));
  EXPECT_EQ(proposals()[0]["stage"], "quarantine");
  EXPECT_EQ(proposals()[0]["reason"], "Kubernetes: unreachable");
  stop_server(SIGKILL);
  watch(admin_of_all_namespaces());
  ASSERT_TRUE(wait([&] { return health(3) == "fatal" && health(1) == "healthy"; })) << log();
  EXPECT_EQ(proposals().size(), 1U);
  EXPECT_EQ(count_in_history("would quarantine " + node(3)), 1);
  EXPECT_EQ(versions(), before);
}

TEST_F(EngineKubeWatch, TaintsWhereEnabled) {
  start_cluster("enabled");
  if (IsSkipped() || HasFatalFailure()) return;
  std::vector<std::string> words = admin_of_all_namespaces();
  words.insert(words.end(), {"--enable", "quarantine:" + node(2)});
  watch(words);
  ASSERT_TRUE(wait_ready()) << log();
  auto before = versions();
  ASSERT_NO_FATAL_FAILURE(make_unreachable(2));
  ASSERT_TRUE(wait([&] { return session_taint(2) == "lab5.1"; })) << log();
  auto after = versions();
  before.erase("Node /" + node(2));
  after.erase("Node /" + node(2));
  EXPECT_EQ(after, before);
}

// The scheduler and the node controller are real, and weft's user may only list and watch pods and nodes.
TEST_F(EngineKubeWatch, AReaderSeesWhatTheSchedulerSays) {
  start_cluster("reader", true);
  if (IsSkipped() || HasFatalFailure()) return;
  std::set<int> alive = {1, 2, 3, 4, 5};
  const auto wait_alive = [&](const std::function<bool()>& done) {
    return wait([&] {
      for (const int number : alive) heartbeat(number);
      return done();
    });
  };
  space_.folder().put("reader.kubeconfig",
                      "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: '" +
                          cluster_->server() + "', certificate-authority: " + cluster_->file("ca.crt") +
                          "}}]\nusers: [{name: u, user: {token: weft-token-6}}]\n"
                          "contexts: [{name: x, context: {cluster: c, user: u}}]\n");
  const std::vector<std::string> reader = {"--kubeconfig", file("reader.kubeconfig")};
  std::vector<std::string> words = {"serve",   file("cluster.yaml"), "--state",    file("state"), "--socket",
                                    file("s"), "--engine",           "kubernetes", "--mode",      "watch"};
  words.insert(words.end(), reader.begin(), reader.end());
  const ProcessOutcome refused = weft(words);
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("missing verb `watch` on `pods` cluster-wide"));
  const json rule = {{"apiGroups", {""}}, {"resources", {"pods", "nodes"}}, {"verbs", {"list", "watch"}}};
  create(kClusterRoles, {{"metadata", {{"name", "weft-watch-test"}}}, {"rules", json::array({rule})}});
  json binding = {{"metadata", {{"name", "weft-watch-test"}}}};
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "weft-watch-test"}};
  const json subject = {{"kind", "User"}, {"name", "weft-6"}, {"apiGroup", "rbac.authorization.k8s.io"}};
  binding["subjects"] = json::array({subject});
  create(kClusterRoleBindings, binding);
  ASSERT_TRUE(wait_alive(
      [&] { return cluster_->make_user(cluster_->token_access("weft-token-6"))->client.list(kube::kPods, {}).ok(); }));
  create_pod("runs", node(1), 8);
  create_pod("waits", "", 64);
  ASSERT_TRUE(wait_alive([&] { return !scheduler_message("waits").empty(); })) << cluster_->logs();
  watch(reader);
  ASSERT_TRUE(wait_alive([&] {
    const json why = view({"job", "why", space() + "/waits", "-o", "json"}, "job");
    return why.value("engine_text", "-") == scheduler_message("waits");
  })) << log()
      << scheduler_message("waits");
  EXPECT_THAT(scheduler_message("waits"), HasSubstr("Insufficient nvidia.com/gpu"));
  EXPECT_EQ(listed(space() + "/runs")["nodes"], node(1));
  words.insert(words.end(), {"--enable", "quarantine"});
  words[3] = file("other");
  words[5] = file("t");
  const ProcessOutcome needs_patch = weft(words);
  EXPECT_EQ(needs_patch.code, 4) << needs_patch.err;
  EXPECT_THAT(needs_patch.err, HasSubstr("missing verb `patch` on `nodes` cluster-wide"));

  alive.erase(4);
  ASSERT_TRUE(wait_alive([&] { return !proposals().empty(); })) << log();
  EXPECT_EQ(proposals()[0]["node"], node(4));
  EXPECT_EQ(proposals()[0]["reason"], "Kubernetes: unreachable");
  EXPECT_THAT(log(), testing::Not(HasSubstr("forbidden")));
}

}  // namespace
}  // namespace weft
