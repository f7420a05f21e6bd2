// weft serve with engine kubernetes, as a user runs it, on a real API server (1.20.2). The kubelets are simulated: no
// container runs.
#include "engine_kube_fixture.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EngineKube : public testing_kube::EngineKubeTest {};

TEST_F(EngineKube, AGangRunsWhereWeftPlacesItAndIsRestarted) {
  start_cluster("engine_kube_gang");
  if (IsSkipped() || HasFatalFailure()) return;
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log() << cluster_->logs();
  EXPECT_EQ(job(number)["nodes"], space_.prefix() + "[001-002]");
  EXPECT_EQ(pods(), (std::set<std::pair<std::string, std::string>>{{"weft-1-1-0", node(1)}, {"weft-1-1-1", node(2)}}));

  kubelets_->finish("weft-1-1-1", 3);  // one container fails: the gang is stopped and restarted
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
  const auto second = pods();  // the one that failed stays, for its logs
  EXPECT_TRUE(second.contains({"weft-1-2-0", node(1)}) && second.contains({"weft-1-2-1", node(2)}));
  EXPECT_FALSE(second.contains({"weft-1-1-0", node(1)}));

  stop_server(SIGKILL);  // the pods run on, and the next weft finds them
  kubelets_->finish("weft-1-2-0", 0);
  (void)kubelets_->step();
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  EXPECT_EQ(job(number)["attempt"], 2);
  cluster_->kill_apiserver();  // it proves nothing
  ASSERT_EQ(cluster_->start_apiserver(), "");
  kubelets_->finish("weft-1-2-1", 0);
  ASSERT_TRUE(wait([&] { return job(number).value("state", "") == "done"; })) << log();
  EXPECT_EQ(job(number)["attempt"], 2);
}

TEST_F(EngineKube, WhatAnAdministratorDoesIsRespected) {
  start_cluster("engine_kube_admin");
  if (IsSkipped() || HasFatalFailure()) return;
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  // kubectl cordon, not by weft: nothing is placed there, and it stays.
  const Value cordon = Value::map({{"spec", Value::map({{"unschedulable", Value(true)}})}});
  ASSERT_TRUE(cluster_->admin().client.patch(kube::kNodes, {"", node(1)}, cordon).ok());
  ASSERT_TRUE(wait([&] { return view({"status", "-o", "json"}, "server").value("usable_nodes", 0) == 4; })) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  EXPECT_EQ(job(number)["nodes"], space_.prefix() + "[002-003]");
  // kubectl delete pod: the attempt has lost a part, and the next one runs.
  ASSERT_TRUE(cluster_->admin().client.remove(kube::kPods, {space(), "weft-1-1-0"}).ok());
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  ASSERT_TRUE(wait([&] { return job(number).value("state", "") == "canceled" && pods().empty(); })) << log();
  const Result<Value> cordoned = cluster_->admin().client.get(kube::kNodes, {"", node(1)});
  ASSERT_TRUE(cordoned.ok());
  EXPECT_THAT(write_json_line(*cordoned), HasSubstr("\"unschedulable\": true"));
}

TEST_F(EngineKube, StartsOnlyWithWhatItNeeds) {
  start_cluster("engine_kube_refusals");
  if (IsSkipped() || HasFatalFailure()) return;
  const auto serve = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"serve", file("cluster.yaml"), "--state", file("state"), "--socket", file("s")};
    words.insert(words.end(), more.begin(), more.end());
    return weft(words);
  };
  const std::string admin = cluster_->file("admin.kubeconfig");
  space_.folder().put("torn.kubeconfig", "apiVersion: v1\nclusters: [{name: c,");
  const ProcessOutcome torn =
      serve({"--engine", "kubernetes", "--kubeconfig", file("torn.kubeconfig"), "--image", "x"});
  EXPECT_EQ(torn.code, 2) << torn.err;
  EXPECT_THAT(torn.err, HasSubstr("torn.kubeconfig:2"));
  space_.put_kubeconfig("viewer.kubeconfig", "viewer-token");
  const ProcessOutcome viewer =
      serve({"--engine", "kubernetes", "--kubeconfig", file("viewer.kubeconfig"), "--image", "x"});
  EXPECT_EQ(viewer.code, 4) << viewer.err;
  EXPECT_THAT(viewer.err, HasSubstr("missing verb `list` on `nodes` cluster-wide"));
  EXPECT_THAT(viewer.err, HasSubstr("missing verb `create` on `pods/binding` in namespace `" + space() + "`"));
  ASSERT_TRUE(cluster_->admin().client.remove(kube::kNodes, {"", node(4)}).ok());
  const ProcessOutcome missing = serve({"--engine", "kubernetes", "--kubeconfig", admin, "--image", "x"});
  EXPECT_NE(missing.code, 0);
  EXPECT_THAT(missing.err, HasSubstr(node(4)));
}

}  // namespace
}  // namespace weft
