#include "design/checklist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/load.h"

namespace weft::design {
namespace {

using testing::HasSubstr;

std::unique_ptr<model::Loaded> load(const std::string& text) {
  auto loaded = model::load_cluster_text("t.yaml", "weft: 1\nname: t\n" + text);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

ChecklistItem item(const model::Cluster& cluster, std::string_view id) {
  for (const ChecklistItem& candidate : checklist(cluster)) {
    if (candidate.id == id) return candidate;
  }
  ADD_FAILURE() << "no item " << id;
  return {};
}

const std::string kBare = "pools:\n  - {name: train, server: hgx-h100, count: 4}\n";
const std::string kComplete = R"(pools:
  - {name: train, server: hgx-h100, count: 4, taints: [nvidia.com/gpu=training:NoSchedule]}
  - {name: infer, role: inference, server: hgx-h100, count: 2, taints: [nvidia.com/gpu=inference:NoSchedule],
     mig: {1g.10gb: 7}}
  - {name: infra, role: infrastructure, server: control-1u, count: 3, per_rack: 1}
  - {name: sto, role: storage, server: storage-400g-2u, count: 4}
fabrics: {backend: {network: ethernet}}
storage: [{name: data, pool: sto}]
workload: {training_percent: 70, inference_percent: 30}
tenants: [{name: a, quota: {gpus: 16}}, {name: b, quota: {gpus: 8}}]
services: [{name: chat, pool: infer, mig: 1g.10gb, min_replicas: 2, max_replicas: 14}]
)";

// 6, 5, 5, 8 and 5 items in five phases.
TEST(Checklist, HasFivePhases) {
  const auto loaded = load(kBare);
  ASSERT_NE(loaded->cluster, nullptr);
  std::map<std::string, int> phases;
  std::set<std::string> ids;
  for (const ChecklistItem& entry : checklist(*loaded->cluster)) {
    ++phases[entry.phase];
    EXPECT_TRUE(ids.insert(entry.id).second) << entry.id;
    EXPECT_EQ(entry.id.rfind(entry.phase + ".", 0), 0U) << entry.id;
    EXPECT_FALSE(entry.why.empty()) << entry.id;
  }
  const std::map<std::string, int> expected = {
      {"design", 6}, {"procurement", 5}, {"infrastructure", 5}, {"platform", 8}, {"observability", 5}};
  EXPECT_EQ(phases, expected);
  EXPECT_EQ(checklist_ids().size(), 29U);
}

TEST(Checklist, ReportsOpenItemsOfAMinimalFile) {
  const auto loaded = load(kBare);
  ASSERT_NE(loaded->cluster, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  EXPECT_EQ(item(cluster, "design.workload-ratio").state, ItemState::unknown);
  EXPECT_EQ(item(cluster, "design.backend-sized").state, ItemState::done);
  EXPECT_EQ(item(cluster, "design.rdma-choice").state, ItemState::unknown);
  EXPECT_EQ(item(cluster, "design.storage-sized").state, ItemState::not_done);
  EXPECT_EQ(item(cluster, "design.topology").state, ItemState::not_done);
  EXPECT_EQ(item(cluster, "platform.taints").state, ItemState::not_done);
  EXPECT_THAT(item(cluster, "platform.taints").why, HasSubstr("train"));
  EXPECT_EQ(item(cluster, "platform.quotas").state, ItemState::not_done);
  EXPECT_EQ(item(cluster, "procurement.switches").state, ItemState::unknown);
  EXPECT_THAT(item(cluster, "procurement.switches").why, HasSubstr("checklist: {procurement.switches: done}"));
}

TEST(Checklist, ReportsDoneItemsOfACompleteFile) {
  const auto loaded = load(kComplete);
  ASSERT_NE(loaded->cluster, nullptr);
  for (const char* id : {"design.workload-ratio", "design.backend-sized", "design.rdma-choice", "design.storage-sized",
                         "design.topology", "design.gpu-sharing", "platform.taints", "platform.mig", "platform.quotas",
                         "platform.autoscaling"}) {
    const ChecklistItem found = item(*loaded->cluster, id);
    EXPECT_EQ(found.state, ItemState::done) << id << ": " << found.why;
  }
}

TEST(Checklist, DetectsMistakesInThePlan) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: train, server: hgx-h100, count: 4}\n"
      "  - {name: infer, role: inference, server: hgx-h100, count: 2}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3, per_rack: 3}\n"
      "fabrics: {backend: {qos: {pfc_watchdog: false}}}\n"
      "control_plane: {node_feature_discovery: false}\n"
      "workload: {training_percent: 70, inference_percent: 20}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  EXPECT_EQ(item(cluster, "design.workload-ratio").state, ItemState::not_done);
  EXPECT_THAT(item(cluster, "design.topology").why, HasSubstr("3 control-plane members are in 1 racks"));
  EXPECT_THAT(item(cluster, "design.gpu-sharing").why, HasSubstr("one replica per GPU"));
  EXPECT_THAT(item(cluster, "infrastructure.qos").why, HasSubstr("watchdog of the backend is off"));
  EXPECT_EQ(item(cluster, "platform.nfd").state, ItemState::not_done);
  EXPECT_EQ(item(cluster, "platform.autoscaling").state, ItemState::not_done);
}

TEST(Checklist, AcceptsStatementsForItemsTheFileCannotShow) {
  const auto loaded = load(kBare +
                           "checklist:\n"
                           "  procurement.servers: done\n"
                           "  infrastructure.racked: done\n"
                           "  observability.alerts: not-done\n"
                           "  design.backend-sized: not-done\n"
                           "  platform.quotas: done\n"
                           "  observability.alert: done\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  EXPECT_EQ(item(cluster, "procurement.servers").state, ItemState::done);
  EXPECT_EQ(item(cluster, "infrastructure.racked").state, ItemState::done);
  EXPECT_EQ(item(cluster, "observability.alerts").state, ItemState::not_done);
  EXPECT_EQ(item(cluster, "design.backend-sized").state, ItemState::not_done);
  // A statement does not override evidence in the file.
  EXPECT_EQ(item(cluster, "platform.quotas").state, ItemState::not_done);
  EXPECT_THAT(item(cluster, "platform.quotas").why, HasSubstr("set to done in the cluster file, but"));
  EXPECT_THAT(checklist_view(cluster).notes,
              testing::ElementsAre(testing::AllOf(HasSubstr("`observability.alert`"), HasSubstr("did you mean"))));
}

// A common mistake: GPUs ordered before the network.
TEST(Checklist, OrderingServersBeforeSwitchesIsAMistake) {
  const auto loaded = load(kBare + "checklist: {procurement.gpus: done}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  for (const char* id : {"procurement.switches", "procurement.storage", "procurement.servers"}) {
    EXPECT_EQ(item(*loaded->cluster, id).state, ItemState::not_done) << id;
  }
  EXPECT_EQ(item(*loaded->cluster, "procurement.gpus").state, ItemState::done);
  EXPECT_EQ(item(*loaded->cluster, "procurement.cabling").state, ItemState::unknown);
}

}  // namespace
}  // namespace weft::design
