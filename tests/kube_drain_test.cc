// weft serve --engine kubernetes --mode watch --enable drain with the roles that weft renders, on a real API server,
// controller manager and scheduler (1.20.2); the kubelets are simulated. A PodDisruptionBudget holds the eviction back.
#include "engine_kube_fixture.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube/timestamp.h"
#include "kube_apply.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EngineKubeDrain : public testing_kube::EngineKubeTest {
 protected:
  kube::Client& client() { return cluster_->admin().client; }
  static Value value_of(const json& object) { return kube::read_reply_json(object.dump()).value_or(Value()); }

  // What a kubelet reports, with the time: the node controller looks at that. A node that is ill says so itself.
  void heartbeat(int number) {
    const json amounts = {{"nvidia.com/gpu", "8"}, {"cpu", "64"}, {"memory", "64Gi"}, {"pods", "110"}};
    json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
    ready["lastHeartbeatTime"] = kube::format_timestamp(cluster_->admin().clock.wall_ms());
    json deadlock = {{"type", "KernelDeadlock"}, {"status", number == ill_ ? "True" : "False"}, {"reason", "Test"}};
    deadlock["message"] = "task docker:1 blocked for more than 120 seconds";
    const json status = {
        {"capacity", amounts}, {"allocatable", amounts}, {"conditions", json::array({ready, deadlock})}};
    ASSERT_TRUE(client().patch(kube::kNodes, {"", node(number)}, value_of({{"status", status}}), "status").ok());
  }
  [[nodiscard]] bool wait_alive(const std::function<bool()>& done) {
    return wait([&] {
      for (int number = 1; number <= 5; ++number) heartbeat(number);
      return done();
    });
  }

  // Two pods of a Deployment, of which none may be missing.
  void create_service() {
    json pods = {{"metadata", {{"labels", {{"app", "serve"}}}}}};
    pods["spec"]["containers"] = json::array({{{"name", "main"}, {"image", "busybox"}}});
    pods["spec"]["terminationGracePeriodSeconds"] = 0;
    json deployment = {{"metadata", {{"name", "serve"}, {"namespace", space()}}}};
    deployment["spec"] = {{"replicas", 2}, {"selector", {{"matchLabels", {{"app", "serve"}}}}}, {"template", pods}};
    ASSERT_TRUE(client().create(testing_kube::kDeployments, value_of(deployment)).ok());
    json budget = {{"metadata", {{"name", "all"}, {"namespace", space()}}}};
    budget["spec"] = {{"minAvailable", 2}, {"selector", {{"matchLabels", {{"app", "serve"}}}}}};
    ASSERT_TRUE(client().create(kube::kDisruptionBudgetsV1Beta1, value_of(budget)).ok());
  }
  // Nodes of the pods that run, by pod.
  [[nodiscard]] std::map<std::string, std::string> running() {
    std::map<std::string, std::string> found;
    const Result<kube::ObjectList> list = client().list(kube::kPods, {space(), "app=serve", ""});
    EXPECT_TRUE(list.ok());
    for (const Value& pod : list.ok() ? list->items : std::vector<Value>()) {
      if (kube::raw_text(pod, {"status", "phase"}) == "Running")
        found[kube::raw_text(pod, {"metadata", "name"})] = kube::raw_text(pod, {"spec", "nodeName"});
    }
    return found;
  }

  void apply(const std::string& path) { testing_kube::apply_file(*cluster_, file("tree/kubernetes/serve/" + path)); }
  // A kubeconfig of the service account that the roles are for.
  void put_service_account() {
    const std::string token = testing_kube::account_token(*cluster_, {"weft", "weft-watch"});
    ASSERT_FALSE(token.empty());
    space_.put_kubeconfig("watch.kubeconfig", token);
  }
  [[nodiscard]] std::vector<std::string> watch_words() const {
    return {"serve",
            file("cluster.yaml"),
            "--state",
            file("state"),
            "--socket",
            file("s"),
            "--engine",
            "kubernetes",
            "--mode",
            "watch",
            "-v",
            "--kubeconfig",
            file("watch.kubeconfig"),
            "--enable",
            "quarantine",
            "--enable",
            "drain"};
  }
  int ill_ = 0;
};

TEST_F(EngineKubeDrain, EvictsPodsOfAFailedNodeAsTheBudgetAllows) {
  start_cluster("drain", true);
  if (IsSkipped() || HasFatalFailure()) return;
  const ProcessOutcome rendered =
      weft({"render", file("cluster.yaml"), "-o", file("tree"), "--target", "kubernetes/serve"});
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  for (const char* path : {"10-namespaces.yaml", "watch/10-read.yaml", "watch/20-quarantine.yaml"})
    ASSERT_NO_FATAL_FAILURE(apply(path)) << path;
  ASSERT_NO_FATAL_FAILURE(put_service_account());
  const ProcessOutcome refused = weft(watch_words());
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("missing verb `create` on `pods/eviction` cluster-wide"));
  std::vector<std::string> one_namespace = watch_words();
  one_namespace.insert(one_namespace.end(), {"--namespace", space()});
  EXPECT_THAT(weft(one_namespace).err, HasSubstr("needs the pods of all namespaces"));
  ASSERT_NO_FATAL_FAILURE(apply("watch/30-drain.yaml"));

  ASSERT_NO_FATAL_FAILURE(create_service());
  ASSERT_TRUE(wait_alive([&] { return running().size() == 2; })) << cluster_->logs();
  const auto [pod, place] = *running().begin();
  launch(watch_words());
  ASSERT_TRUE(wait_alive([&] {
    return view({"status", "-o", "json"}, "server").value("usable_nodes", 0) == 5;
  })) << log();
  for (int number = 1; number <= 5; ++number) ill_ = node(number) == place ? number : ill_;
  ASSERT_TRUE(wait_alive([&] { return log().find("blocked by a disruption budget") != std::string::npos; })) << log();
  EXPECT_THAT(log(), HasSubstr("pod " + space() + "/" + pod + " on " + place + " is not evicted yet"));
  EXPECT_THAT(log(), HasSubstr("budget all"));
  EXPECT_TRUE(running().contains(pod));

  // The server is killed meanwhile. A budget that allows it lets the pod go, and the scheduler chooses another node.
  stop_server(SIGKILL);
  launch(watch_words());
  ASSERT_TRUE(client().remove(kube::kDisruptionBudgetsV1Beta1, {space(), "all"}).ok());
  ASSERT_TRUE(wait_alive([&] {
    const auto now = running();
    return now.size() == 2 && !now.contains(pod);
  })) << log();
  for (const auto& [name, where] : running()) EXPECT_NE(where, place) << name;
  ASSERT_TRUE(wait_alive([&] { return log().find("would power cycle " + place) != std::string::npos; })) << log();
}

}  // namespace
}  // namespace weft
