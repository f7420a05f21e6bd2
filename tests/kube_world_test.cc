// Engine `kubernetes` against a real API server (1.20.2) with simulated kubelets.
#include "world/kube/kube_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/random.h"
#include "kube_fixture.h"
#include "kubelet_sim.h"

namespace weft {
namespace {

using control::AttemptName;
using control::CommandReply;
using control::CordonReport;
using control::Event;
using control::Health;
using control::Inventory;
using control::NodeReport;
using control::PartPhase;
using control::PartReport;
using control::ReplyKind;
using testing::HasSubstr;
using testing_kube::KubeLab;
using testing_kube::KubeletSim;
using testing_kube::KubeUser;
using testing_lab::Lab;

constexpr sched::NodeId kFirst{0};
constexpr sched::NodeId kSecond{1};

class KubeClusterWorld : public testing::Test {
 protected:
  void start(const char* name, bool controllers = false) {
    ASSERT_EQ(space_.open(name, controllers), "");
    cluster_ = &space_.cluster();
    kubelets_ = std::make_unique<KubeletSim>(cluster_->admin().client, space());
    ASSERT_EQ(kubelets_->add_node(node(1), "boot-1"), "");
    ASSERT_EQ(kubelets_->add_node(node(2), "boot-2"), "");
    kube::ClientOptions options;
    options.max_tries = 2;
    user_ = cluster_->make_user(cluster_->access(), options);
    make_world();
  }
  // As after a restart of weft.
  void make_world(Duration keep_ended = sched::seconds(3600)) {
    world::KubeOptions options;
    options.pods = {"test", space(), {node(1), node(2)}, "busybox"};
    options.orphan_margin = milliseconds(1'500);
    options.node_report_interval = milliseconds(500);
    options.keep_ended = keep_ended;
    options.cleanup_interval = milliseconds(200);
    world_ = std::make_unique<world::KubeWorld>(user_->client, options);
  }
  kube::Client& client() { return cluster_->admin().client; }
  [[nodiscard]] const std::string& space() const { return space_.name(); }
  [[nodiscard]] std::string node(int number) const { return space_.prefix() + std::to_string(number); }
  static control::BootId boot(const char* text) { return hash64(text); }

  sched::Moment now() { return sched::Moment(user_->clock.now().count()); }
  void round() {
    if (kubelets_run_) (void)kubelets_->step();
    world_->work(milliseconds(50));
    world_->poll(now(), events_);
  }
  template <class Kind>
  const Kind* find(const std::function<bool(const Kind&)>& wanted) const {
    for (const Event& event : events_) {
      const Kind* one = std::get_if<Kind>(&event);
      if (one != nullptr && wanted(*one)) return one;
    }
    return nullptr;
  }
  template <class Kind>
  bool wait(const std::function<bool(const Kind&)>& wanted, int seconds = 20) {
    return Lab::wait(seconds, [&] {
      round();
      return find<Kind>(wanted) != nullptr;
    });
  }
  CommandReply reply_to(const control::Command& command, control::OperationId operation) {
    world_->send(command, now());
    const auto ours = [&](const CommandReply& reply) { return reply.operation == operation; };
    if (!wait<CommandReply>(ours)) return {operation, ReplyKind::ambiguous, "no reply: " + world_->problem()};
    const CommandReply reply = *find<CommandReply>(ours);
    std::erase_if(events_, [&](const Event& event) {
      const CommandReply* one = std::get_if<CommandReply>(&event);
      return one != nullptr && one->operation == operation;
    });
    return reply;
  }
  static bool is_sealed(const PartReport& report, const AttemptName& name, sched::NodeId node) {
    return report.name == name && report.node == node && report.sealed;
  }
  bool sealed(const AttemptName& name, sched::NodeId node) {
    return find<PartReport>([&](const PartReport& one) { return is_sealed(one, name, node); }) != nullptr;
  }
  bool wait_sealed(const AttemptName& name, sched::NodeId node) {
    return wait<PartReport>([&](const PartReport& one) { return is_sealed(one, name, node); });
  }
  bool wait_running(const AttemptName& name, sched::NodeId node) {
    return wait<PartReport>(
        [&](const PartReport& one) { return one.name == name && one.node == node && one.phase == PartPhase::running; });
  }
  void run_for(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) round();
  }
  static control::StartAttempt make_start(const AttemptName& name, control::OperationId operation) {
    auto spec = std::make_shared<control::JobSpec>();
    spec->command = {"train", "--price", "$(HOME) costs $5"};
    spec->environment = {{"A", "b"}};
    spec->uid = 1000;
    spec->gid = 1000;
    control::StartAttempt start;
    start.operation = operation;
    start.name = name;
    start.spec = spec;
    start.slots = {{kFirst, 0, {}}, {kSecond, 0, {}}};
    start.boots = {boot("boot-1"), boot("boot-2")};
    return start;
  }
  std::string pod_field(const std::string& pod, std::initializer_list<std::string_view> path) {
    const Result<Value> found = client().get(kube::kPods, {space(), pod});
    return found.ok() ? kube::raw_text(*found, path) : found.error().text();
  }
  std::vector<std::string> taints(const std::string& node) {
    std::vector<std::string> keys;
    const Result<Value> found = client().get(kube::kNodes, {"", node});
    if (!found.ok()) return {found.error().text()};
    for (const Value& taint : kube::list(*found, {"spec", "taints"})) {
      keys.push_back(kube::raw_text(taint, {"key"}) + "=" + kube::raw_text(taint, {"value"}));
    }
    return keys;
  }

  testing_kube::KubeSpace space_;
  KubeLab* cluster_ = nullptr;
  std::unique_ptr<KubeletSim> kubelets_;
  std::unique_ptr<KubeUser> user_;
  std::unique_ptr<world::KubeWorld> world_;
  std::vector<Event> events_;
  bool kubelets_run_ = true;
};

TEST_F(KubeClusterWorld, RunsStopsAndSealsAttempts) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("world"));
  ASSERT_TRUE(wait<NodeReport>([&](const NodeReport& one) {
    return one.node == kSecond && one.boot == boot("boot-2") && one.health == Health::healthy;
  })) << world_->problem();

  // A gang of two runs, each pod on the node that weft chose.
  CommandReply reply = reply_to(make_start({7, 1}, 1), 1);
  ASSERT_EQ(reply.kind, ReplyKind::accepted) << reply.text;
  EXPECT_TRUE(wait_running({7, 1}, kFirst) && wait_running({7, 1}, kSecond));
  EXPECT_EQ(pod_field("weft-7-1-0", {"spec", "nodeName"}), node(1));
  EXPECT_EQ(pod_field("weft-7-1-1", {"spec", "nodeName"}), node(2));
  EXPECT_EQ(kube::raw_text(*client().get(kube::kServices, {space(), "weft-7-1"}), {"spec", "clusterIP"}), "None");

  // The same command again starts nothing twice.
  const std::string uid = pod_field("weft-7-1-0", {"metadata", "uid"});
  EXPECT_EQ(reply_to(make_start({7, 1}, 2), 2).kind, ReplyKind::accepted);
  EXPECT_EQ(pod_field("weft-7-1-0", {"metadata", "uid"}), uid);

  // Exit statuses arrive; the first non-zero one counts.
  kubelets_->finish("weft-7-1-0", 0);
  kubelets_->finish("weft-7-1-1", 3);
  ASSERT_TRUE(wait_sealed({7, 1}, kFirst) && wait_sealed({7, 1}, kSecond));
  EXPECT_EQ(find<PartReport>([&](const PartReport& one) { return is_sealed(one, {7, 1}, kFirst); })->code, 0);
  EXPECT_EQ(find<PartReport>([&](const PartReport& one) { return is_sealed(one, {7, 1}, kSecond); })->code, 3);

  // Stop: sealed only when the kubelet has ended the pod, not when the deletion was accepted.
  ASSERT_EQ(reply_to(make_start({8, 1}, 3), 3).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_running({8, 1}, kFirst) && wait_running({8, 1}, kSecond));
  kubelets_->silence(node(1));
  control::StopAttempt stop{4, {8, 1}, {kFirst, kSecond}, sched::seconds(30), false};
  ASSERT_EQ(reply_to(stop, 4).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_sealed({8, 1}, kSecond));
  EXPECT_EQ(find<PartReport>([&](const PartReport& one) { return is_sealed(one, {8, 1}, kSecond); })->code, 143);
  run_for(2'500);
  EXPECT_FALSE(sealed({8, 1}, kFirst)) << "accepted is not ended";
  kubelets_->revive(node(1));
  ASSERT_TRUE(wait_sealed({8, 1}, kFirst));

  // A start after the seal, of another boot, of an old term; a stop of what never ran.
  reply = reply_to(make_start({8, 1}, 5), 5);
  EXPECT_EQ(reply.kind, ReplyKind::permanent);
  EXPECT_THAT(reply.text, HasSubstr("sealed"));
  control::StartAttempt rebooted = make_start({9, 1}, 6);
  rebooted.boots[0] = 5;
  reply = reply_to(rebooted, 6);
  EXPECT_EQ(reply.kind, ReplyKind::permanent);
  EXPECT_THAT(reply.text, HasSubstr("rebooted"));
  world_->send(control::QueryInventory{3}, now());
  ASSERT_TRUE(wait<Inventory>([](const Inventory& one) { return one.nodes.size() == 2 && one.nodes[0].term == 3; }));
  EXPECT_THAT(reply_to(make_start({9, 1}, 7), 7).text, HasSubstr("term"));

  // A pod of that name that is not ours is neither adopted nor deleted, and nothing of the gang runs.
  Value foreign = Value::map();
  foreign["metadata"].set("name", Value("weft-10-1-1")).set("namespace", Value(space()));
  foreign["spec"].set("containers", Value::list({Value::map({{"name", Value("c")}, {"image", Value("i")}})}));
  foreign["spec"].set("schedulerName", Value("other"));
  ASSERT_TRUE(client().create(kube::kPods, foreign).ok());
  control::StartAttempt blocked = make_start({10, 1}, 8);
  blocked.term = 3;
  reply = reply_to(blocked, 8);
  EXPECT_EQ(reply.kind, ReplyKind::permanent) << reply.text;
  EXPECT_THAT(reply.text, HasSubstr("weft-10-1-1"));
  EXPECT_EQ(client().get(kube::kPods, {space(), "weft-10-1-0"}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(client().get(kube::kPods, {space(), "weft-10-1-1"}).ok());
  stop = {9, {10, 1}, {kFirst, kSecond}, sched::seconds(5), false};
  ASSERT_EQ(reply_to(stop, 9).kind, ReplyKind::accepted);
  EXPECT_TRUE(wait_sealed({10, 1}, kFirst) && wait_sealed({10, 1}, kSecond));
  EXPECT_TRUE(client().get(kube::kPods, {space(), "weft-10-1-1"}).ok());

  // What ended attempts leave behind is removed; what runs, and what is not ours, stays.
  control::StartAttempt last = make_start({11, 1}, 10);
  last.term = 3;
  ASSERT_EQ(reply_to(last, 10).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_running({11, 1}, kFirst) && wait_running({11, 1}, kSecond));
  make_world(milliseconds(500));
  ASSERT_TRUE(Lab::wait(20, [&] {
    round();
    return !client().get(kube::kServices, {space(), "weft-7-1"}).ok() &&
           !client().get(kube::kServices, {space(), "weft-8-1"}).ok();
  }));
  EXPECT_EQ(client().get(kube::kPods, {space(), "weft-7-1-0"}).error().code, ErrorCode::not_found);
  run_for(1'500);
  EXPECT_TRUE(client().get(kube::kServices, {space(), "weft-11-1"}).ok());
  EXPECT_EQ(pod_field("weft-11-1-0", {"status", "phase"}), "Running");
  EXPECT_TRUE(client().get(kube::kPods, {space(), "weft-10-1-1"}).ok());
}

TEST_F(KubeClusterWorld, SilenceProvesNothing) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("silence"));
  ASSERT_EQ(reply_to(make_start({7, 1}, 1), 1).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_running({7, 1}, kFirst) && wait_running({7, 1}, kSecond));

  // A silent node whose pod is deleted by force: the process may still run.
  kubelets_->silence(node(1));
  ASSERT_EQ(kubelets_->report_node(node(1), "Unknown"), "");
  ASSERT_TRUE(
      wait<NodeReport>([](const NodeReport& one) { return one.node == kFirst && one.health == Health::unknown; }));
  ASSERT_TRUE(client().remove(kube::kPods, {space(), "weft-7-1-0"}, {0, {}, {}, {}}).ok());
  run_for(3'000);
  EXPECT_FALSE(sealed({7, 1}, kFirst));
  // Its kubelet is back and has been heard for a while.
  ASSERT_EQ(kubelets_->report_node(node(1), "True"), "");
  kubelets_->revive(node(1));
  ASSERT_TRUE(wait_sealed({7, 1}, kFirst));
  EXPECT_LT(find<PartReport>([&](const PartReport& one) { return is_sealed(one, {7, 1}, kFirst); })->code, 0);
  EXPECT_FALSE(sealed({7, 1}, kSecond));

  // The API server dies: no reports about nodes or parts, and commands do not pretend.
  events_.clear();
  kubelets_run_ = false;
  cluster_->kill_apiserver();
  ASSERT_TRUE(Lab::wait(20, [&] {
    round();
    return !world_->problem().empty();
  }));
  events_.clear();
  run_for(2'000);
  EXPECT_TRUE(events_.empty()) << events_.size();
  control::StopAttempt stop{2, {7, 1}, {kSecond}, sched::seconds(5), false};
  const CommandReply down = reply_to(stop, 2);
  EXPECT_EQ(down.kind, ReplyKind::transient) << down.text;
  EXPECT_FALSE(sealed({7, 1}, kSecond));
  ASSERT_EQ(cluster_->start_apiserver(), "");
  kubelets_run_ = true;
  stop.operation = 3;
  ASSERT_EQ(reply_to(stop, 3).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_sealed({7, 1}, kSecond));

  // After a restart of weft it finds what runs; what it never knew is sealed only after the kubelet was heard.
  ASSERT_EQ(reply_to(make_start({8, 1}, 4), 4).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_running({8, 1}, kFirst));
  events_.clear();
  make_world();
  ASSERT_TRUE(wait_running({8, 1}, kFirst));
  world_->send(control::QueryInventory{9}, now());
  ASSERT_TRUE(wait<Inventory>([](const Inventory& one) {
    return one.nodes.size() == 2 && one.nodes[0].running == std::vector<AttemptName>{{8, 1}};
  }));
  stop = {5, {99, 1}, {kFirst}, sched::seconds(5), false};
  ASSERT_EQ(reply_to(stop, 5).kind, ReplyKind::accepted);
  EXPECT_FALSE(sealed({99, 1}, kFirst));
  ASSERT_TRUE(wait_sealed({99, 1}, kFirst));
}

// With the real node controller, which writes Unknown for a kubelet that it does not hear, and taints the node.
TEST_F(KubeClusterWorld, PodsOfASilentNodeStay) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("lost", true));
  ASSERT_EQ(reply_to(make_start({7, 1}, 1), 1).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_running({7, 1}, kFirst) && wait_running({7, 1}, kSecond));
  events_.clear();
  kubelets_->silence(node(1));
  ASSERT_TRUE(wait<NodeReport>(
      [](const NodeReport& one) { return one.node == kFirst && one.health == Health::unknown && one.boot == 0; }, 30))
      << cluster_->logs();
  ASSERT_TRUE(Lab::wait(20, [&] {
    round();
    const std::vector<std::string> found = taints(node(1));
    return std::find(found.begin(), found.end(), "node.kubernetes.io/unreachable=") != found.end();
  }));
  run_for(3'000);
  EXPECT_FALSE(sealed({7, 1}, kFirst));
  const Result<Value> pod = client().get(kube::kPods, {space(), "weft-7-1-0"});
  ASSERT_TRUE(pod.ok()) << pod.error().text();
  EXPECT_FALSE(kube::read_meta(*pod)->deleting);
  for (const Value& toleration : kube::list(*pod, {"spec", "tolerations"})) {
    EXPECT_EQ(kube::member(toleration, {"tolerationSeconds"}), nullptr);  // none was added by the server
  }
}

TEST_F(KubeClusterWorld, CordonsWithATaintOfItsOwn) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("cordon"));
  const Value other = Value::map({{"key", Value("team/x")}, {"value", Value("1")}, {"effect", Value("NoSchedule")}});
  ASSERT_TRUE(
      client()
          .patch(kube::kNodes, {"", node(1)}, Value::map({{"spec", Value::map({{"taints", Value::list({other})}})}}))
          .ok());
  ASSERT_EQ(reply_to(control::CordonNode{1, 12, kFirst, true}, 1).kind, ReplyKind::accepted);
  EXPECT_THAT(taints(node(1)), testing::UnorderedElementsAre("team/x=1", "weft/session=test.12"));
  EXPECT_NE(find<CordonReport>([](const CordonReport& one) { return one.cordoned && one.owner == "weft:12"; }),
            nullptr);
  // Twice is once; another session's mark stays.
  ASSERT_EQ(reply_to(control::CordonNode{2, 12, kFirst, true}, 2).kind, ReplyKind::accepted);
  ASSERT_EQ(reply_to(control::CordonNode{3, 13, kFirst, true}, 3).kind, ReplyKind::accepted);
  ASSERT_EQ(reply_to(control::CordonNode{4, 13, kFirst, false}, 4).kind, ReplyKind::accepted);
  EXPECT_THAT(taints(node(1)), testing::UnorderedElementsAre("team/x=1", "weft/session=test.12"));
  ASSERT_EQ(reply_to(control::CordonNode{5, 12, kFirst, false}, 5).kind, ReplyKind::accepted);
  EXPECT_THAT(taints(node(1)), testing::ElementsAre("team/x=1"));
  // An operator's cordon is reported as not ours, and stays.
  events_.clear();
  ASSERT_TRUE(
      client()
          .patch(kube::kNodes, {"", node(2)}, Value::map({{"spec", Value::map({{"unschedulable", Value(true)}})}}))
          .ok());
  ASSERT_TRUE(wait<CordonReport>(
      [](const CordonReport& one) { return one.node == kSecond && one.cordoned && one.owner == "kubernetes"; }));
  ASSERT_EQ(reply_to(control::CordonNode{6, 14, kSecond, true}, 6).kind, ReplyKind::accepted);
  ASSERT_EQ(reply_to(control::CordonNode{7, 14, kSecond, false}, 7).kind, ReplyKind::accepted);
  const Result<Value> cordoned = client().get(kube::kNodes, {"", node(2)});
  EXPECT_EQ(kube::truth(*cordoned, {"spec", "unschedulable"}), true);
}

}  // namespace
}  // namespace weft
