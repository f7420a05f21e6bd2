// The Kubernetes client against a real control plane (1.20.2): what the API server does is the expected value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "kube/leader_election.h"
#include "kube/object.h"
#include "kube/reflector.h"
#include "kube_fixture.h"
#include "oob/redfish/json.h"

namespace weft {
namespace {

using kube::ObjectChange;
using kube::ObjectName;
using kube::Reflector;
using testing::HasSubstr;
using testing_kube::KubeLab;
using testing_kube::KubeUser;
using testing_lab::Lab;

Value running_status() {
  const Value ready = Value::map({{"type", Value("Ready")}, {"status", Value("True")}});
  return Value::map({{"status", Value::map({{"phase", Value("Running")}, {"conditions", Value::list({ready})}})}});
}

// Steps until a condition holds; false if it does not come true.
template <class Ready>
bool run_until(Reflector& reflector, std::vector<ObjectChange>& changes, Ready ready) {
  return Lab::wait(20, [&] {
    reflector.step(milliseconds(200), changes);
    return ready();
  });
}

class KubeCluster : public testing::Test {
 protected:
  void start(const char* name, bool controllers = false) {
    ASSERT_EQ(space_.open(name, controllers), "");
    cluster_ = &space_.cluster();
  }
  [[nodiscard]] const std::string& space() const { return space_.name(); }
  [[nodiscard]] Value config_map(const std::string& name, const std::string& value) const {
    Value object = Value::map();
    object["metadata"].set("name", Value(name)).set("namespace", Value(space()));
    object["data"].set("key", Value(value));
    return object;
  }
  [[nodiscard]] Value pod(const std::string& name) const {
    Value object = Value::map();
    object["metadata"].set("name", Value(name)).set("namespace", Value(space()));
    object["metadata"].set("labels", Value::map({{"app", Value("x")}}));
    object["spec"].set("nodeName", Value(node()));
    object["spec"].set("containers", Value::list({Value::map({{"name", Value("c")}, {"image", Value("i")}})}));
    return object;
  }
  [[nodiscard]] std::string node() const { return space_.prefix() + "1"; }
  kube::Client& client() { return cluster_->admin().client; }
  void make_maps(int count) {
    for (int i = 0; i < count; ++i) {
      const Result<kube::CreateOutcome> made =
          client().create(kube::kConfigMaps, config_map("m" + std::to_string(i), "1"));
      ASSERT_TRUE(made.ok()) << made.error().text();
    }
  }
  testing_kube::KubeSpace space_;
  KubeLab* cluster_ = nullptr;
};

TEST_F(KubeCluster, ListsWatchesAndWrites) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("list"));
  make_maps(25);

  // Lists in pages, then follows every kind of change.
  kube::ReflectorOptions options{kube::kConfigMaps, {space(), {}, {}}};
  options.page_limit = 7;
  Reflector reflector(client(), options);
  std::vector<ObjectChange> changes;
  ASSERT_TRUE(run_until(reflector, changes, [&] { return reflector.is_watching(); })) << reflector.problem();
  EXPECT_EQ(reflector.store().objects().size(), 25U);
  changes.clear();
  ASSERT_TRUE(client().create(kube::kConfigMaps, config_map("new", "1")).ok());
  ASSERT_TRUE(client()
                  .patch(kube::kConfigMaps, {space(), "m3"}, Value::map({{"data", Value::map({{"key", Value("2")}})}}))
                  .ok());
  const Result<kube::DeleteOutcome> removed = client().remove(kube::kConfigMaps, {space(), "m4"});
  ASSERT_TRUE(removed.ok() && *removed == kube::DeleteOutcome::accepted);
  ASSERT_TRUE(run_until(reflector, changes, [&] { return changes.size() >= 3; }));
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name.name, "new");
  EXPECT_EQ(changes[1].kind, kube::ChangeKind::updated);
  EXPECT_EQ(changes[2].kind, kube::ChangeKind::removed);
  EXPECT_EQ(reflector.lists(), 1U);

  // A name that exists; a version that is old; a uid that is another object's.
  const Result<kube::CreateOutcome> again = client().create(kube::kConfigMaps, config_map("m1", "9"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(oob::raw_text(again->object, {"data", "key"}), "1");
  Value stale = again->object;
  ASSERT_TRUE(client()
                  .patch(kube::kConfigMaps, {space(), "m1"}, Value::map({{"data", Value::map({{"key", Value("3")}})}}))
                  .ok());
  const Result<Value> replaced = client().replace(kube::kConfigMaps, stale);
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().code, ErrorCode::conflict);
  Result<kube::DeleteOutcome> other =
      client().remove(kube::kConfigMaps, {space(), "m1"}, {{}, "00000000-0000-0000-0000-000000000000", {}, {}});
  ASSERT_TRUE(other.ok()) << other.error().text();
  EXPECT_EQ(*other, kube::DeleteOutcome::precondition);
  other = client().remove(kube::kConfigMaps, {space(), "none"});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(*other, kube::DeleteOutcome::gone);
  const Result<Value> missing = client().get(kube::kConfigMaps, {space(), "none"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(KubeCluster, ApplyNamesTheOtherOwner) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("apply"));
  kube::ClientOptions other_options;
  other_options.field_manager = "another-operator";
  const std::unique_ptr<KubeUser> other = cluster_->make_user(cluster_->access(), other_options);
  ASSERT_TRUE(other->client.apply(kube::kConfigMaps, config_map("shared", "theirs")).ok());
  const Result<Value> refused = client().apply(kube::kConfigMaps, config_map("shared", "ours"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("another-operator"));
  EXPECT_THAT(refused.error().message, HasSubstr(".data.key"));
  EXPECT_EQ(oob::raw_text(*client().get(kube::kConfigMaps, {space(), "shared"}), {"data", "key"}), "theirs");
  const Result<Value> forced = client().apply(kube::kConfigMaps, config_map("shared", "ours"), true);
  ASSERT_TRUE(forced.ok()) << forced.error().text();
  EXPECT_EQ(oob::raw_text(*forced, {"data", "key"}), "ours");
  const Result<Value> lost = other->client.apply(kube::kConfigMaps, config_map("shared", "theirs"));
  ASSERT_FALSE(lost.ok());
  EXPECT_THAT(lost.error().message, HasSubstr("weft"));
  // Applying the same again changes nothing.
  const Result<Value> same = client().apply(kube::kConfigMaps, config_map("shared", "ours"));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(oob::raw_text(*same, {"metadata", "resourceVersion"}),
            oob::raw_text(*forced, {"metadata", "resourceVersion"}));
}

TEST_F(KubeCluster, EvictionRespectsBudgets) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("evict", true));
  ASSERT_TRUE(client().create(kube::kNodes, Value::map({{"metadata", Value::map({{"name", Value(node())}})}})).ok());
  for (const char* name : {"a", "b"}) {
    const Result<kube::CreateOutcome> made = client().create(kube::kPods, pod(name));
    ASSERT_TRUE(made.ok()) << made.error().text();
    ASSERT_TRUE(client().patch(kube::kPods, {space(), name}, running_status(), "status").ok());
  }
  const auto make_budget = [&](const std::string& name) {
    Value budget = Value::map();
    budget["metadata"].set("name", Value(name)).set("namespace", Value(space()));
    budget["spec"].set("minAvailable", Value(1));
    budget["spec"]["selector"].set("matchLabels", Value::map({{"app", Value("x")}}));
    return client().create(kube::kDisruptionBudgetsV1Beta1, budget).ok();
  };
  ASSERT_TRUE(make_budget("one"));
  ASSERT_TRUE(Lab::wait(20, [&] {
    const Result<Value> budget = client().get(kube::kDisruptionBudgetsV1Beta1, {space(), "one"});
    return budget.ok() && oob::number(*budget, {"status", "disruptionsAllowed"}) == 1;
  })) << cluster_->logs();

  const std::string uid = oob::raw_text(*client().get(kube::kPods, {space(), "a"}), {"metadata", "uid"});
  Result<kube::EvictionOutcome> outcome = client().evict({space(), "a"}, uid, 30);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->state, kube::EvictionState::accepted) << outcome->text;
  // Accepted is not gone: no kubelet has ended it.
  const Result<Value> ending = client().get(kube::kPods, {space(), "a"});
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_TRUE(kube::read_meta(*ending)->deleting);

  outcome = client().evict({space(), "b"});
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->state, kube::EvictionState::budget) << outcome->text;
  EXPECT_THAT(outcome->text, HasSubstr("budget one needs 1 healthy pods"));
  EXPECT_FALSE(kube::read_meta(*client().get(kube::kPods, {space(), "b"}))->deleting);

  outcome = client().evict({space(), "none"});
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->state, kube::EvictionState::gone) << outcome->text;
  outcome = client().evict({space(), "b"}, "00000000-0000-0000-0000-000000000000");
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_NE(outcome->state, kube::EvictionState::accepted) << outcome->text;

  // Two budgets on one pod: the server refuses to choose.
  ASSERT_TRUE(make_budget("two"));
  outcome = client().evict({space(), "b"});
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->state, kube::EvictionState::ambiguous) << outcome->text;
  EXPECT_THAT(outcome->text, HasSubstr("more than one"));

  // Deleted for certain, by uid.
  const Result<kube::DeleteOutcome> removed = client().remove(kube::kPods, {space(), "a"}, {0, uid, {}, {}});
  ASSERT_TRUE(removed.ok() && *removed == kube::DeleteOutcome::accepted);
  EXPECT_EQ(client().get(kube::kPods, {space(), "a"}).error().code, ErrorCode::not_found);
}

TEST_F(KubeCluster, ACrashedServerIsNotAnEmptyCluster) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("crash"));
  make_maps(5);
  Reflector reflector(client(), {kube::kConfigMaps, {space(), {}, {}}});
  std::vector<ObjectChange> changes;
  ASSERT_TRUE(run_until(reflector, changes, [&] { return reflector.is_watching(); })) << reflector.problem();
  changes.clear();
  cluster_->kill_apiserver();
  ASSERT_TRUE(run_until(reflector, changes, [&] { return !reflector.is_watching() && !reflector.problem().empty(); }));
  for (int i = 0; i < 20; ++i) reflector.step(milliseconds(50), changes);
  EXPECT_TRUE(changes.empty());
  EXPECT_EQ(reflector.store().objects().size(), 5U);
  // Nothing was sent: the outcome is certain.
  kube::ClientOptions once;
  once.max_tries = 1;
  const std::unique_ptr<KubeUser> other = cluster_->make_user(cluster_->access(), once);
  const Result<kube::CreateOutcome> refused = other->client.create(kube::kConfigMaps, config_map("down", "1"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().text();

  ASSERT_EQ(cluster_->start_apiserver(), "");
  ASSERT_TRUE(other->client.create(kube::kConfigMaps, config_map("after", "1")).ok());
  const Result<kube::DeleteOutcome> removed = other->client.remove(kube::kConfigMaps, {space(), "m2"});
  ASSERT_TRUE(removed.ok());
  ASSERT_TRUE(run_until(reflector, changes, [&] { return changes.size() >= 2; })) << reflector.problem();
  EXPECT_EQ(changes.size(), 2U);
  EXPECT_EQ(reflector.store().objects().size(), 5U);
  EXPECT_EQ(reflector.store().find({space(), "m2"}), nullptr);
  EXPECT_NE(reflector.store().find({space(), "after"}), nullptr);
}

TEST_F(KubeCluster, AnExpiredVersionLeadsToAList) {
  WEFT_NEEDS_KUBERNETES();
  // Without a watch cache for this kind the server reads the history from etcd, as it does after a restart.
  ASSERT_NO_FATAL_FAILURE(start("gone"));
  make_maps(10);
  Reflector reflector(client(), {kube::kConfigMaps, {space(), {}, {}}});
  std::vector<ObjectChange> changes;
  ASSERT_TRUE(run_until(reflector, changes, [&] { return reflector.synced(); })) << reflector.problem();
  const Result<kube::PageOutcome> first = client().list_page(kube::kConfigMaps, {space(), {}, {}}, {3, {}});
  ASSERT_TRUE(first.ok() && !first->page.continue_token.empty());
  changes.clear();

  // History between the list and the watch is removed.
  ASSERT_TRUE(client().remove(kube::kConfigMaps, {space(), "m1"}).ok());
  ASSERT_TRUE(client().create(kube::kConfigMaps, config_map("late", "1")).ok());
  ASSERT_EQ(cluster_->compact(), "");
  ASSERT_TRUE(run_until(reflector, changes, [&] { return reflector.lists() == 2; })) << reflector.problem();
  EXPECT_EQ(changes.size(), 2U);
  EXPECT_EQ(reflector.store().find({space(), "m1"}), nullptr);
  EXPECT_NE(reflector.store().find({space(), "late"}), nullptr);
  EXPECT_EQ(reflector.store().objects().size(), 10U);

  // The second page of a list whose moment is gone.
  const Result<kube::PageOutcome> second =
      client().list_page(kube::kConfigMaps, {space(), {}, {}}, {3, first->page.continue_token});
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_TRUE(second->expired);
}

// The server is real; the time of the candidates is simulated.
TEST_F(KubeCluster, TwoCandidatesHaveOneLeader) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("lead"));
  const std::unique_ptr<KubeUser> user = cluster_->make_user(cluster_->access());
  oob::ManualClock clock;
  kube::Client one(user->transport, clock, RandomStream(1));
  kube::Client two(user->transport, clock, RandomStream(2));
  kube::ElectionOptions options{{space(), "weft"}, "one"};
  kube::LeaderElection first(one, options);
  options.identity = "two";
  kube::LeaderElection second(two, options);
  const auto pass = [&](int rounds, bool with_first) {
    for (int i = 0; i < rounds; ++i) {
      if (with_first) first.step();
      second.step();
      EXPECT_FALSE(first.is_leader() && second.is_leader());
      clock.sleep(options.retry_period);
    }
  };
  pass(20, true);  // 40 s
  EXPECT_TRUE(first.is_leader()) << first.problem();
  EXPECT_EQ(second.holder(), "one");
  EXPECT_TRUE(second.is_renewed());  // the holder is alive
  EXPECT_FALSE(first.is_renewed());
  EXPECT_GT(first.leads_until(), clock.now());
  // The first one hangs: it stops by itself before the second one takes over.
  pass(5, false);
  EXPECT_FALSE(first.is_leader());
  EXPECT_FALSE(second.is_leader());
  pass(5, false);
  EXPECT_TRUE(second.is_leader()) << second.problem();
  EXPECT_EQ(second.transitions(), 2);
  const Status released = second.release();
  ASSERT_TRUE(released.ok()) << released.error().text();
  first.step();
  EXPECT_TRUE(first.is_leader()) << first.problem();
  EXPECT_EQ(first.transitions(), 3);
}

TEST_F(KubeCluster, RightsAndIdentities) {
  WEFT_NEEDS_KUBERNETES();
  ASSERT_NO_FATAL_FAILURE(start("rbac"));
  const std::unique_ptr<KubeUser> viewer = cluster_->make_user(cluster_->viewer_access());
  const Result<kube::ObjectList> forbidden = viewer->client.list(kube::kPods, {space(), {}, {}});
  ASSERT_FALSE(forbidden.ok());
  EXPECT_EQ(forbidden.error().code, ErrorCode::refused);
  EXPECT_THAT(forbidden.error().message,
              HasSubstr("needs the verb `list` on `pods` in API group `` in namespace `" + space() + "`"));
  EXPECT_THAT(forbidden.error().message, HasSubstr("viewer"));
  // A watch that is forbidden keeps the store as it is, and says why.
  Reflector reflector(viewer->client, {kube::kNodes});
  std::vector<ObjectChange> changes;
  reflector.step(milliseconds(100), changes);
  EXPECT_FALSE(reflector.synced());
  EXPECT_THAT(reflector.problem(), HasSubstr("`nodes`"));
  EXPECT_THAT(reflector.problem(), HasSubstr("cluster-wide"));

  kube::ClusterAccess access = cluster_->viewer_access();
  access.token = kube::Secret("wrong");
  Result<Value> refused = cluster_->make_user(access)->client.get(kube::kPods, {space(), "x"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_THAT(refused.error().message, HasSubstr("credentials"));

  // The server's certificate: of an unknown CA, for another name, and for a name that is given.
  access = cluster_->access();
  access.ca.file = cluster_->file("admin.crt");
  refused = cluster_->make_user(access)->client.get(kube::kNamespaces, {"", "default"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused) << refused.error().text();
  access = cluster_->access();
  access.tls_server_name = "other.weft.test";
  refused = cluster_->make_user(access)->client.get(kube::kNamespaces, {"", "default"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused) << refused.error().text();
  access.tls_server_name = "api.weft.test";
  const Result<Value> named = cluster_->make_user(access)->client.get(kube::kNamespaces, {"", "default"});
  EXPECT_TRUE(named.ok()) << named.error().text();

  // A plug-in whose first token is rejected is asked again.
  space_.folder().put("plugin",
                      "#!/bin/sh\ncd \"$(dirname \"$0\")\"\ntoken=viewer-token\n[ -e asked ] || token=old\n: > asked\n"
                      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\","
                      "\"status\":{\"token\":\"%s\"}}' \"$token\"\n");
  ASSERT_EQ(::chmod(space_.file("plugin").c_str(), 0700), 0);
  access = cluster_->viewer_access();
  access.token = kube::Secret();
  access.exec = kube::ExecPlugin{};
  access.exec->api_version = "client.authentication.k8s.io/v1beta1";
  access.exec->command = {space_.file("plugin")};
  const Result<Value> by_plugin = cluster_->make_user(access)->client.get(kube::kPods, {space(), "x"});
  ASSERT_FALSE(by_plugin.ok());
  EXPECT_THAT(by_plugin.error().message, HasSubstr("needs the verb `get`"));  // authenticated, not authorized
}

}  // namespace
}  // namespace weft
