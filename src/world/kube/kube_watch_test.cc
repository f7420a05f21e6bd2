// Watch mode with an API server in memory that fails the test on every change that was not enabled.
#include "world/kube/kube_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "kube/api_status.h"
#include "kube/fake_transport.h"
#include "store/memory_store.h"
#include "world/core/control_loop.h"
#include "world/core/observed_wait.h"
#include "world/kube/guarded_transport.h"

namespace weft::world {
namespace {

using control::Health;
using control::Stage;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MemoryApi final : public kube::Transport {
 public:
  explicit MemoryApi(oob::ManualClock& clock) : clock_(clock) {}

  Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    if (down) return Error{ErrorCode::unavailable, "connection refused", {}};
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (request.method != "GET") {
      if (!allowed) ADD_FAILURE() << "a change was sent: " << request.method << " " << request.target;
      changes.push_back(request.method + " " + path);
      if (path.ends_with("/eviction")) return evict(split(path, '/')[6]);
      const std::string name = path.substr(path.rfind('/') + 1);
      nodes[name].merge_patch(json::parse(request.body));
      publish(name);
      return kube::ApiResponse{200, {}, nodes[name].dump()};
    }
    if (path == "/api/v1/nodes") return list("NodeList", nodes);
    if (path == "/api/v1/pods") return list("PodList", pods);
    if (path.ends_with("/pods")) return list("PodList", {});  // those of weft itself
    if (path == "/api/v1")
      return kube::ApiResponse{200, {}, R"({"resources": [{"name": "pods/eviction", "version": "v1"}]})"};
    if (const std::string pod(split(path, '/').back()); pods.contains(pod))
      return kube::ApiResponse{200, {}, pods[pod].dump()};
    if (path.starts_with("/api/v1/namespaces/team/pods/")) return kube::ApiResponse{404, {}, "{}"};
    if (path.starts_with("/api/v1/nodes/")) return kube::ApiResponse{200, {}, nodes[path.substr(14)].dump()};
    ADD_FAILURE() << "unexpected request: " << request.target;
    return Error{ErrorCode::unavailable, "unexpected", {}};
  }
  Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest& request) override {
    if (down) return Error{ErrorCode::unavailable, "connection refused", {}};
    const std::string path = request.target.substr(0, request.target.find('?'));
    return std::unique_ptr<kube::ResponseStream>(std::make_unique<Stream>(*this, path));
  }
  // The watches see the node as it is now.
  void publish(const std::string& node) { events.emplace_back("/api/v1/nodes", event("MODIFIED", nodes[node])); }
  // A pod whose budget allows no disruption stays.
  Result<kube::ApiResponse> evict(std::string_view name) {
    const std::string pod(name);
    if (protected_pods.contains(pod)) {
      const json cause = {{"reason", "DisruptionBudget"}, {"message", "The disruption budget b needs 1 healthy pods"}};
      json status = {{"kind", "Status"}, {"status", "Failure"}, {"reason", "TooManyRequests"}, {"code", 429}};
      status["message"] = "Cannot evict pod as it would violate the pod's disruption budget.";
      status["details"]["causes"] = json::array({cause});
      return kube::ApiResponse{429, {}, status.dump()};
    }
    events.emplace_back("/api/v1/pods", event("DELETED", pods[pod]));
    pods.erase(pod);
    return kube::ApiResponse{201, {}, R"({"kind": "Status", "status": "Success"})"};
  }

  void add_node(const std::string& name) {
    nodes[name] = {{"apiVersion", "v1"},
                   {"kind", "Node"},
                   {"metadata", {{"name", name}, {"uid", "u-" + name}, {"resourceVersion", "1"}}},
                   {"spec", json::object()},
                   {"status",
                    {{"nodeInfo", {{"bootID", "boot-" + name}}},
                     {"capacity", {{"nvidia.com/gpu", "8"}, {"cpu", "64"}}},
                     {"allocatable", {{"nvidia.com/gpu", "8"}, {"cpu", "64"}}},
                     {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}}}};
  }
  json& add_pod(const std::string& name, const std::string& kind, const std::string& owner, const std::string& node) {
    json& pod = pods[name];
    pod = {{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata",
            {{"name", name},
             {"namespace", "team"},
             {"uid", "u-" + name},
             {"resourceVersion", "1"},
             {"creationTimestamp", "2026-11-17T12:00:00Z"},
             {"ownerReferences", {{{"kind", kind}, {"name", owner}, {"controller", true}}}}}},
           {"spec", {{"containers", {{{"name", "main"}, {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}}}}},
           {"status", {{"phase", node.empty() ? "Pending" : "Running"}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod;
  }

  std::map<std::string, json> nodes;
  std::map<std::string, json> pods;
  std::vector<std::string> changes;
  std::vector<std::pair<std::string, std::string>> events;  // path and line of a watch
  std::set<std::string> protected_pods;
  bool allowed = false;
  bool down = false;

 private:
  class Stream final : public kube::ResponseStream {
   public:
    Stream(MemoryApi& api, std::string path) : api_(api), path_(std::move(path)), at_(api.events.size()) {}
    [[nodiscard]] int status() const override { return 200; }
    [[nodiscard]] Result<kube::StreamBytes> read(Duration wait) override {
      kube::StreamBytes bytes;
      for (; at_ < api_.events.size(); ++at_) {
        if (api_.events[at_].first == path_) bytes.bytes += api_.events[at_].second;
      }
      if (bytes.bytes.empty()) (void)api_.clock_.sleep(wait);
      return bytes;
    }

   private:
    MemoryApi& api_;
    std::string path_;
    std::size_t at_;
  };
  std::string event(const char* type, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(10 + events.size());
    return json({{"type", type}, {"object", object}}).dump() + "\n";
  }
  static Result<kube::ApiResponse> list(const std::string& kind, const std::map<std::string, json>& objects) {
    json items = json::array();
    for (const auto& [name, object] : objects) items.push_back(object);
    const json answer = {
        {"kind", kind}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", items}};
    return kube::ApiResponse{200, {}, answer.dump()};
  }
  oob::ManualClock& clock_;
};

class KubeWatchTest : public ::testing::Test {
 protected:
  KubeWatchTest() {
    std::vector<sched::NodeShape> shapes;
    std::vector<sched::NodeLabels> labels;
    for (int i = 0; i < 4; ++i) {
      sched::NodeShape node;
      node.name = "n" + std::to_string(i);
      node.gpus = 8;
      node.cpu = 64'000;
      node.memory_mib = 1 << 20;
      node.model = 0;
      shapes.push_back(node);
      labels.push_back({{}, "r" + std::to_string(i), "l", "p"});
      options_.pods.nodes.push_back(node.name);
      api_.add_node(node.name);
    }
    machine_ = std::make_shared<const sched::Machine>(*sched::Machine::build(shapes, labels, {"gpu"}, {"train"}));
    options_.pods.engine = "lab";
    options_.pods.kube_namespace = "weft";
  }

  void open() {
    guard_ = std::make_unique<GuardedTransport>(
        api_, [this](const std::string& node) { return stages_.allows(Stage::quarantine, *machine_->find(node)); },
        [this](const std::string& node) { return stages_.allows(Stage::drain, *machine_->find(node)); });
    client_ = std::make_unique<kube::Client>(*guard_, clock_, RandomStream(1, "test"));
    world_ = std::make_unique<KubeWatch>(*client_, options_, "");
    control::ControllerOptions settings;
    settings.stages = stages_;
    auto loop = ControlLoop::open(machine_, settings, store_, *world_);
    ASSERT_TRUE(loop.ok()) << loop.error().text();
    loop_ = std::move(*loop);
    TurnResult result;
    ASSERT_TRUE(loop_->begin(now(), result).ok());
    turn(30);
  }
  sched::Moment now() { return sched::Moment(1'000'000'000'000'000 + clock_.now().count()); }
  void turn(int count) {
    for (; count > 0; --count) {
      clock_.sleep(sched::seconds(1));
      TurnResult result;
      ASSERT_TRUE(loop_->turn(now(), {}, true, result).ok());
      world_->work(Duration(0));
    }
  }
  [[nodiscard]] const control::Node& node(std::uint32_t id) const {
    return loop_->controller().state().node(sched::NodeId{id});
  }
  static json taint(const std::string& key) { return {{"key", key}, {"effect", "NoExecute"}}; }

  oob::ManualClock clock_;
  MemoryApi api_{clock_};
  KubeOptions options_;
  control::StageSet stages_ = control::StageSet::none(4);
  std::shared_ptr<const sched::Machine> machine_;
  store::MemoryStore store_;
  std::unique_ptr<GuardedTransport> guard_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<KubeWatch> world_;
  std::unique_ptr<ControlLoop> loop_;
};

TEST_F(KubeWatchTest, ShowsWorkloadsByTheirOwners) {
  api_.add_pod("train-0", "PyTorchJob", "train", "n0");
  api_.add_pod("train-1", "PyTorchJob", "train", "n1");
  api_.add_pod("exporter-x", "DaemonSet", "exporter", "n0");
  json& waiting = api_.add_pod("sweep-0", "Job", "sweep", "");
  waiting["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."}}};
  open();
  ASSERT_NE(world_->observation()->cluster, nullptr);
  const ObservedCluster& cluster = *world_->observation()->cluster;
  ASSERT_EQ(cluster.jobs.size(), 2U);
  const ObservedJob* train = cluster.find_job("team/train");
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->state, "running");
  EXPECT_EQ(train->account, "PyTorchJob");
  EXPECT_EQ(train->gpus, 16U);
  EXPECT_EQ(train->nodes, "n0,n1");
  const ObservedJob* sweep = cluster.find_job("team/sweep");
  ASSERT_NE(sweep, nullptr);
  EXPECT_EQ(sweep->phase, ObservedPhase::waiting);
  EXPECT_EQ(sweep->reason, "Unschedulable");
  const WaitFacts facts = explain_wait(cluster, *sweep);
  EXPECT_EQ(facts.sentence, "Kubernetes's reason is 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.");
  EXPECT_EQ(facts.candidates, 4U);
  EXPECT_EQ(facts.fitting, 2U);
  EXPECT_EQ(cluster.find_node("n0")->gpus_used, 16U) << "with those of the exporter";
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_TRUE(loop_->controller().is_usable(sched::NodeId{n})) << n;
}

TEST_F(KubeWatchTest, ProposesOnceAndSendsNothing) {
  api_.nodes["n2"]["spec"]["taints"] = json::array({taint("node.kubernetes.io/unreachable")});
  open();
  turn(200);
  ASSERT_TRUE(node(2).proposal.has_value());
  EXPECT_EQ(node(2).proposal->stage, Stage::quarantine);
  EXPECT_EQ(node(2).proposal->reason, "Kubernetes: unreachable");
  EXPECT_THAT(api_.changes, ElementsAre());
}

// The kubelet says itself that it cannot run pods: a restart of the container runtime passes, a broken network does
// not.
TEST_F(KubeWatchTest, AKubeletThatStaysNotReadyIsProposed) {
  json& ready = api_.nodes["n2"]["status"]["conditions"][0];
  ready = {{"type", "Ready"},
           {"status", "False"},
           {"reason", "KubeletNotReady"},
           {"message", "container runtime network not ready"}};
  open();
  turn(60);
  EXPECT_FALSE(node(2).proposal.has_value());
  turn(200);
  ASSERT_TRUE(node(2).proposal.has_value());
  EXPECT_EQ(node(2).proposal->stage, Stage::quarantine);
  EXPECT_EQ(node(2).proposal->reason, "Kubernetes: not ready: container runtime network not ready");
  EXPECT_THAT(api_.changes, ElementsAre());
}

TEST_F(KubeWatchTest, CordonsOfOthersAreLeftAlone) {
  api_.nodes["n1"]["spec"]["unschedulable"] = true;
  api_.nodes["n1"]["status"]["allocatable"]["nvidia.com/gpu"] = "7";
  stages_ = control::StageSet();
  api_.allowed = true;
  open();
  turn(200);
  EXPECT_EQ(node(1).health, Health::fatal);
  EXPECT_EQ(node(1).signal, "Kubernetes: 7 of 8 GPUs are allocatable");
  EXPECT_FALSE(node(1).proposal.has_value());
  EXPECT_THAT(api_.changes, ElementsAre());
}

TEST_F(KubeWatchTest, QuarantineIsSentWhereItIsEnabled) {
  api_.nodes["n2"]["spec"]["taints"] = json::array({taint("node.kubernetes.io/unreachable")});
  stages_.enable(Stage::quarantine, sched::NodeId{2});
  api_.allowed = true;
  open();
  turn(60);
  ASSERT_FALSE(api_.changes.empty());
  for (const std::string& change : api_.changes) EXPECT_EQ(change, "PATCH /api/v1/nodes/n2");
  EXPECT_THAT(api_.nodes["n2"].dump(), HasSubstr("lab.1"));
}

TEST_F(KubeWatchTest, TheGuardRefusesWhatWasNotEnabled) {
  open();
  kube::ApiRequest request;
  request.method = "PATCH";
  for (const char* target : {"/api/v1/nodes/n1", "/api/v1/namespaces/team/pods/x", "/api/v1/nodes/n1/status"}) {
    request.target = target;
    EXPECT_FALSE(guard_->send(request).ok()) << target;
  }
  request.method = "DELETE";
  EXPECT_FALSE(guard_->send(request).ok());
  EXPECT_FALSE(guard_->open(request).ok());
}

class KubeWatchDrain : public KubeWatchTest {
 protected:
  void open_with_drain() {
    stages_.enable(Stage::quarantine, sched::NodeId{2});
    stages_.enable(Stage::drain, sched::NodeId{2});
    api_.allowed = true;
    api_.nodes["n2"]["spec"]["taints"] = json::array({taint("node.kubernetes.io/unreachable")});
    open();
  }
  [[nodiscard]] std::vector<std::string> evictions() const {
    std::vector<std::string> found;
    for (const std::string& change : api_.changes) {
      if (change.ends_with("/eviction")) found.push_back(change);
    }
    return found;
  }
};

TEST_F(KubeWatchDrain, EvictsWhatAControllerMakesAgain) {
  api_.add_pod("train-0", "PyTorchJob", "train", "n2");
  api_.add_pod("train-1", "PyTorchJob", "train", "n1");
  api_.add_pod("exporter-x", "DaemonSet", "exporter", "n2");
  json& alone = api_.add_pod("alone", "Job", "x", "n2");
  alone["metadata"].erase("ownerReferences");
  json& ended = api_.add_pod("ended", "Job", "y", "n2");
  ended["status"]["phase"] = "Succeeded";
  open_with_drain();
  turn(60);
  EXPECT_THAT(evictions(), ElementsAre("POST /api/v1/namespaces/team/pods/train-0/eviction"));
  EXPECT_THAT(world_->take_notes(),
              ::testing::UnorderedElementsAre(
                  "pod team/train-0 on n2 is evicted",
                  "pod team/alone on n2 has no controller that would make another: it runs until its end"));
  ASSERT_TRUE(node(2).session.has_value());
  EXPECT_EQ(node(2).session->step, control::SessionStep::drain) << "the pod without a controller runs";
  (void)api_.evict("alone");  // it ends
  turn(60);
  EXPECT_EQ(node(2).session->step, control::SessionStep::person) << "a power cycle is not enabled";
}

TEST_F(KubeWatchDrain, AsksAgainUntilTheBudgetAllowsIt) {
  api_.add_pod("serve-0", "ReplicaSet", "serve", "n2");
  api_.protected_pods = {"serve-0"};
  open_with_drain();
  turn(200);
  const std::size_t asked = evictions().size();
  EXPECT_GT(asked, 20U);
  EXPECT_LE(asked, 46U) << "every five seconds of 230, not more often";
  EXPECT_THAT(world_->take_notes(), ElementsAre(HasSubstr("blocked by a disruption budget: Cannot evict pod")));
  // A restart forgets what was asked; the controller asks again.
  world_.reset();
  loop_.reset();
  open();
  ASSERT_TRUE(node(2).session.has_value());
  EXPECT_EQ(node(2).session->id, 1U) << "the repair goes on";
  api_.protected_pods.clear();
  turn(100);
  EXPECT_FALSE(api_.pods.contains("serve-0"));
}

TEST_F(KubeWatchDrain, APersonWhoRemovesTheTaintEndsIt) {
  api_.add_pod("serve-0", "ReplicaSet", "serve", "n2");
  api_.protected_pods = {"serve-0"};
  open_with_drain();
  turn(60);
  ASSERT_GT(evictions().size(), 0U);
  api_.nodes["n2"]["spec"]["taints"] = json::array({taint("node.kubernetes.io/unreachable")});
  api_.publish("n2");
  turn(1);
  const std::size_t asked = evictions().size();
  api_.protected_pods.clear();
  turn(4);
  EXPECT_EQ(evictions().size(), asked);
  EXPECT_TRUE(api_.pods.contains("serve-0"));
}

TEST_F(KubeWatchDrain, TheGuardAsksWhereThePodRuns) {
  stages_.enable(Stage::drain, sched::NodeId{2});
  api_.allowed = true;
  api_.add_pod("here", "Job", "a", "n2");
  api_.add_pod("elsewhere", "Job", "b", "n1");
  open();
  const auto sent = [&](const std::string& pod, const std::string& uid) {
    kube::ApiRequest request;
    request.method = "POST";
    request.target = "/api/v1/namespaces/team/pods/" + pod + "/eviction";
    request.body = R"({"deleteOptions": {"preconditions": {"uid": ")" + uid + R"("}}})";
    return guard_->send(request).ok();
  };
  EXPECT_FALSE(sent("elsewhere", "u-elsewhere"));
  EXPECT_FALSE(sent("absent", "u-absent"));
  EXPECT_FALSE(sent("here", "")) << "whichever pod has the name then";
  EXPECT_FALSE(sent("here", "u-before"));
  EXPECT_THAT(api_.changes, ElementsAre());
  EXPECT_TRUE(sent("here", "u-here"));
}

TEST_F(KubeWatchTest, AnUnreachableServerIsNotAnEmptyCluster) {
  api_.down = true;
  open();
  turn(200);
  EXPECT_EQ(world_->observation()->cluster, nullptr);
  EXPECT_NE(world_->observation()->problem, "");
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_FALSE(node(n).proposal.has_value()) << n;
}

}  // namespace
}  // namespace weft::world
