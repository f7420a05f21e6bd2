// Engine kubernetes when things break: a killed kubelet, a node that is created again, two wefts, preemption. The API
// server is real (1.20.2); the kubelets are simulated.
#include "engine_kube_fixture.h"
#include "kube/json_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EngineKubeFaults : public testing_kube::EngineKubeTest {
 protected:
  kube::Client& client() { return cluster_->admin().client; }
};

// A silent kubelet proves nothing: the job waits for a person, and runs elsewhere once the node is known to be off.
TEST_F(EngineKubeFaults, AKilledKubeletRequeuesOnceTheNodeIsOff) {
  start_cluster("kubelet");
  if (IsSkipped() || HasFatalFailure()) return;
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  kubelets_->silence(node(1));
  ASSERT_EQ(kubelets_->report_node(node(1), "Unknown"), "");  // as the node controller does after its grace period
  ASSERT_TRUE(wait([&] { return view({"status", "-o", "json"}, "server").value("usable_nodes", 0) == 4; })) << log();
  kubelets_->finish("weft-" + number + "-1-1", 1);  // the other rank lost its peer
  ASSERT_TRUE(wait([&] { return job(number).value("state", "") == "stopping"; })) << log();
  EXPECT_EQ(job(number)["attempt"], 1);
  const Result<Value> pod = client().get(kube::kPods, {space(), "weft-" + number + "-1-0"});
  EXPECT_TRUE(pod.ok()) << "the pod of the silent node was removed";
  const ProcessOutcome confirmed = weft({"node", "confirm-off", node(1), "--reason", "unplugged"});
  EXPECT_EQ(confirmed.code, 0) << confirmed.err;
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
  const auto now = pods();
  EXPECT_FALSE(now.contains({"weft-" + number + "-2-0", node(1)})) << "it runs on the node that is off";
}

// The same name, another machine or another boot: what ran there before has ended.
TEST_F(EngineKubeFaults, ANodeThatIsCreatedAgain) {
  start_cluster("again");
  if (IsSkipped() || HasFatalFailure()) return;
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  const std::string uid = kube::raw_text(*client().get(kube::kNodes, {"", node(1)}), {"metadata", "uid"});
  kubelets_->silence(node(1));
  ASSERT_TRUE(client().remove(kube::kNodes, {"", node(1)}).ok());
  // The pod collector deletes pods of nodes that do not exist, by force.
  ASSERT_TRUE(client().remove(kube::kPods, {space(), "weft-" + number + "-1-0"}, {0, {}, {}, {}}).ok());
  ASSERT_TRUE(wait([&] { return view({"status", "-o", "json"}, "server").value("usable_nodes", 0) == 4; })) << log();
  EXPECT_EQ(job(number)["attempt"], 1) << "a node that is gone is not a node that is off";
  ASSERT_EQ(kubelets_->add_node(node(1), "another-boot"), "");
  kubelets_->revive(node(1));
  EXPECT_NE(kube::raw_text(*client().get(kube::kNodes, {"", node(1)}), {"metadata", "uid"}), uid);
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
}

TEST_F(EngineKubeFaults, ASecondWeftIsRefused) {
  start_cluster("second");
  if (IsSkipped() || HasFatalFailure()) return;
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  std::vector<std::string> words = serve_words(admin_options(), "other-state");
  words[5] = file("other-socket");
  const ProcessOutcome second = weft(words);
  EXPECT_EQ(second.code, 4) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another weft serve controls these jobs"));
  EXPECT_THAT(second.err, HasSubstr(space() + "/weft-lab5"));
  EXPECT_EQ(job(number)["attempt"], 1);
  // The next one takes over once the first has ended, and finds the job.
  stop_server(SIGTERM);
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
}

TEST_F(EngineKubeFaults, AHigherPriorityPreempts) {
  start_cluster("preempt");
  if (IsSkipped() || HasFatalFailure()) return;
  const std::string cluster = testing_program::contents(file("cluster.yaml"));
  space_.folder().put("cluster.yaml", cluster + "priorities: [{name: low, value: 10}, {name: high, value: 100}]\n");
  const auto put = [&](const std::string& name, const std::string& priority) {
    space_.folder().put(name, "job: 1\nname: " + priority + "\nnodes: 4\npriority: " + priority +
                                  "\ncommand: [train]\nrestart: {backoff: 100ms}\n");
  };
  put("low.yaml", "low");
  put("high.yaml", "high");
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string low = submit("low.yaml");
  ASSERT_TRUE(wait_state(low, "running", 1)) << log();
  const std::string high = submit("high.yaml");
  ASSERT_TRUE(wait_state(high, "running", 1)) << log();
  EXPECT_NE(job(low)["state"], "running");
  for (int i = 0; i < 4; ++i) kubelets_->finish("weft-" + high + "-1-" + std::to_string(i), 0);
  ASSERT_TRUE(wait_state(low, "running", 2)) << log();
}

}  // namespace
}  // namespace weft
