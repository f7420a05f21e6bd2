#include "world/kube/kube_leases.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/fake_transport.h"

namespace weft::world {
namespace {

using nlohmann::json;
using sched::NodeId;

// Nodes and pods in memory.
class FakeCluster final : public kube::Transport {
 public:
  Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path == "/api/v1/nodes") return list("NodeList", nodes);
    if (path == "/api/v1/pods") {
      if (forbidden)
        return kube::ApiResponse{403, {}, R"({"kind":"Status","message":"cannot list resource \"pods\"","code":403})"};
      return list("PodList", pods);
    }
    json& node = nodes[path.substr(path.rfind('/') + 1)];
    if (request.method == "PATCH") node.merge_patch(json::parse(request.body));
    return kube::ApiResponse{200, {}, node.dump()};
  }
  Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest& /*request*/) override {
    return Error{ErrorCode::unavailable, "no watch is needed", {}};
  }
  void add_pod(const std::string& name, const std::string& node, const std::string& phase, const json& resources) {
    pods[name] = {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", name}, {"namespace", "ml"}, {"uid", name}, {"resourceVersion", "1"}}},
                  {"spec", {{"nodeName", node}, {"containers", {{{"name", "c"}, {"resources", resources}}}}}},
                  {"status", {{"phase", phase}}}};
  }

  std::map<std::string, json> nodes;
  std::map<std::string, json> pods;
  bool forbidden = false;

 private:
  static kube::ApiResponse list(const char* kind, const std::map<std::string, json>& objects) {
    json items = json::array();
    for (const auto& [name, object] : objects) items.push_back(object);
    const json body = {
        {"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"resourceVersion", "1"}}}, {"items", std::move(items)}};
    return {200, {}, body.dump()};
  }
};

class KubeLeasesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"n0", "n1"}) {
      cluster_.nodes[name] = {{"apiVersion", "v1"},
                              {"kind", "Node"},
                              {"metadata", {{"name", name}, {"uid", name}, {"resourceVersion", "1"}}},
                              {"spec", {{"taints", {{{"key", "a/b"}, {"value", "c"}, {"effect", "NoSchedule"}}}}}}};
    }
  }
  FakeCluster cluster_;
  oob::ManualClock clock_;
  kube::Client client_{cluster_, clock_, RandomStream(1, "leases")};
  KubeLeases leases_{{"n0", "n1", "missing"}, client_, [] {}};
};

TEST_F(KubeLeasesTest, PodsWithGpusAreOnTheirNodes) {
  const json gpu = {{"limits", {{"nvidia.com/gpu", "1"}}}};
  cluster_.add_pod("a", "n0", "Running", gpu);
  cluster_.add_pod("b", "n0", "Pending", {{"requests", {{"nvidia.com/mig-1g.10gb", "1"}}}});
  cluster_.add_pod("done", "n0", "Succeeded", gpu);
  cluster_.add_pod("cni", "n1", "Running", {{"limits", {{"cpu", "1"}}}});
  cluster_.add_pod("lost", "n1", "Unknown", {{"limits", {{"amd.com/gpu", "1"}}}});
  cluster_.add_pod("other", "n9", "Running", gpu);
  const Result<std::vector<control::NodeUse>> uses = leases_.list();
  ASSERT_TRUE(uses.ok()) << uses.error().text();
  ASSERT_EQ(uses->size(), 2U) << "a node that is not listed is not known to be free";
  EXPECT_EQ((*uses)[0].jobs, 2U);
  EXPECT_EQ((*uses)[0].text, "pod ml/a");
  EXPECT_EQ((*uses)[1].jobs, 1U) << "a pod in an unknown phase may run; one of the node itself does not count";
  cluster_.forbidden = true;
  EXPECT_FALSE(leases_.list().ok()) << "a list that is refused is not an empty one";
}

TEST_F(KubeLeasesTest, TheMarkIsATaintBesideOthers) {
  ASSERT_TRUE(leases_.mark(NodeId{0}, true).ok());
  EXPECT_TRUE((*leases_.list())[0].cordoned);
  EXPECT_FALSE((*leases_.list())[1].cordoned);
  EXPECT_EQ(cluster_.nodes["n0"]["spec"]["taints"].size(), 2U);
  EXPECT_EQ(cluster_.nodes["n0"]["spec"]["taints"][1]["effect"], "NoSchedule");
  ASSERT_TRUE(leases_.mark(NodeId{0}, false).ok());
  ASSERT_EQ(cluster_.nodes["n0"]["spec"]["taints"].size(), 1U);
  EXPECT_EQ(cluster_.nodes["n0"]["spec"]["taints"][0]["key"], "a/b");
}

}  // namespace
}  // namespace weft::world
