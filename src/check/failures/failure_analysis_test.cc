#include "check/failures/failure_analysis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::check {
namespace {

std::unique_ptr<model::Loaded> load(const std::string& text) {
  std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("cluster.yaml", text);
  EXPECT_NE(loaded->cluster, nullptr) << text << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

std::unique_ptr<model::Loaded> example(const char* name) {
  return model::load_cluster(source_dir() + "/examples/" + name, {});
}

// A fabric's only spine is a cut switch; with two spines, neither is.
TEST(FailureAnalysis, TheOnlySpineIsACutSwitch) {
  for (const int spines : {1, 2}) {
    const auto loaded = load(fmt::format(
        "weft: 1\nname: p\nsite: {{rack_power: 100kW}}\npools: [{{name: train, server: hgx-h100, count: 8, unit: 4}}]\n"
        "fabrics: {{backend: {{leaf: sn5600, tiers: 2, spines: {}}}, frontend: {{subnets: [10.20.0.0/16]}}}}\n",
        spines));
    const FailureAnalysis analysis(*loaded->cluster);
    EXPECT_EQ(loaded->cluster->fabric(model::FabricKind::backend).spines, static_cast<std::uint32_t>(spines));
    const std::vector<model::DeviceId>& cut = analysis.weakness(model::FabricKind::backend).cut_switches;
    ASSERT_EQ(cut.size(), spines == 1 ? 1U : 0U);
    if (spines == 1) {
      EXPECT_EQ(loaded->cluster->group_of(cut.front()).tier, model::Tier::spine);
    }
  }
}

// Four spines with equal trunks: a quarter of the uplinks each. Eight rails on eight leaves: an eighth each.
TEST(FailureAnalysis, UplinkAndRailSharesOfARegularFabric) {
  const std::unique_ptr<model::Loaded> loaded = example("pod16.yaml");
  ASSERT_NE(loaded->cluster, nullptr);
  const FailureAnalysis analysis(*loaded->cluster);
  const Failure* spine = analysis.find("spine", model::FabricKind::backend);
  ASSERT_NE(spine, nullptr);
  EXPECT_EQ(spine->count, 4U);
  EXPECT_DOUBLE_EQ(spine->loss.levels[0][1].left_percent(), 75.0);
  EXPECT_DOUBLE_EQ(spine->loss.levels[0][0].left_percent(), 100.0);
  EXPECT_DOUBLE_EQ(analysis.weakness(model::FabricKind::backend).uplink_share, 25.0);
  const Failure* leaf = analysis.find("leaf", model::FabricKind::backend);
  ASSERT_NE(leaf, nullptr);
  EXPECT_DOUBLE_EQ(leaf->loss.left_of(model::FabricKind::backend), 87.5);
  EXPECT_EQ(leaf->loss.servers, 0);
  EXPECT_EQ(leaf->loss.degraded, 16);
  for (const Failure& failure : analysis.failures()) EXPECT_FALSE(failure.single_point()) << failure.kind;
}

// Six supplies on two feeds are three per feed; a server that needs four goes down with either feed.
TEST(FailureAnalysis, FeedLossLeavesTooFewSupplies) {
  const std::string text =
      "weft: 1\nname: p\nsite: {{feeds: {}, pdus_per_rack: {}, rack_power: 100kW}}\n"
      "pools: [{{name: train, server: hgx-h100, count: 6, per_rack: 2}}]\n"
      "fabrics: {{backend: {{leaf: sn5600}}, frontend: {{subnets: [10.20.0.0/16]}}}}\n";
  const auto two = load(fmt::format(fmt::runtime(text), 2, 2));
  const FailureAnalysis weak(*two->cluster);
  ASSERT_EQ(weak.power().weak.size(), 1U);
  EXPECT_EQ(weak.power().weak.front().lost.size(), 6U);
  EXPECT_EQ(weak.power().weak.front().on_feed, 3);
  EXPECT_EQ(weak.find("power feed")->loss.servers, 6);
  EXPECT_EQ(weak.find("power feed")->loss.gpus, 48);
  EXPECT_TRUE(weak.find("power feed")->single_point());
  const auto three = load(fmt::format(fmt::runtime(text), 3, 3));
  const FailureAnalysis strong(*three->cluster);
  EXPECT_TRUE(strong.power().weak.empty());
  EXPECT_EQ(strong.find("power feed")->loss.servers, 0);
  EXPECT_FALSE(strong.find("power feed")->single_point());
}

TEST(FailureAnalysis, QuorumNeedsMoreThanHalf) {
  for (const int members : {1, 3, 5}) {
    const auto loaded = load(fmt::format(
        "weft: 1\nname: p\nsite: {{rack_power: 100kW}}\npools:\n  - {{name: train, server: hgx-h100, count: 4}}\n"
        "  - {{name: infra, role: infrastructure, server: control-1u, count: 5}}\n"
        "control_plane: {{pool: infra, etcd_members: {}}}\nfabrics: {{frontend: {{subnets: [10.20.0.0/16]}}}}\n",
        members));
    const FailureAnalysis analysis(*loaded->cluster);
    EXPECT_EQ(analysis.control().members.size(), static_cast<std::size_t>(members));
    EXPECT_EQ(analysis.control().quorum, static_cast<std::size_t>(members / 2 + 1));
    EXPECT_EQ(analysis.find("etcd member")->quorum, members > 1);
    EXPECT_EQ(analysis.find("etcd member")->single_point(), members == 1);
    EXPECT_FALSE(analysis.find("leaf pair", model::FabricKind::frontend)->quorum) << "all members hang on the one pair";
  }
}

std::string state_of(const std::string& text, std::size_t row) {
  const auto loaded = load(text);
  const FailureAnalysis analysis(*loaded->cluster);
  const Document matrix = resiliency_matrix(*loaded->cluster, config::ConfigSet{}, analysis);
  const auto& table = std::get<TableSection>(matrix.sections.front());
  EXPECT_EQ(table.rows.size(), 13U);
  return std::get<std::string>(table.rows[row][4].value);
}

TEST(ResiliencyMatrix, FollowsTheClusterFile) {
  const std::string base =
      "weft: 1\nname: p\nsite: {rack_power: 100kW}\npools:\n"
      "  - {name: train, server: hgx-h100, count: 8, unit: 8}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: store, role: storage, server: storage-nvme-2u, count: 4}\n"
      "fabrics: {backend: {leaf: sn5600, tiers: 2, spines: 2}, frontend: {subnets: [10.20.0.0/16]}}\n";
  EXPECT_EQ(state_of(base, 0), "covered");
  EXPECT_EQ(state_of(base + "control_plane: {ingress_replicas: 1}\n", 0), "missing");
  EXPECT_EQ(state_of(base, 1), "not described");
  EXPECT_EQ(state_of(base, 3), "not described") << "no dataset volume";
  EXPECT_EQ(state_of(base + "storage: [{name: a, pool: store, volumes: [{name: d, size: 1TB, snapshots: 4h}]}]\n", 3),
            "partly");
  EXPECT_EQ(
      state_of(base + "storage: [{name: a, pool: store, volumes: [{name: c, purpose: checkpoint, size: 1TB}]}]\n", 4),
      "missing");
  EXPECT_EQ(state_of(base, 5), "partly") << "two spines on a lossless fabric";
  EXPECT_EQ(state_of(base, 6), "covered");
  EXPECT_EQ(state_of(base + "workload: {elastic: false}\n", 8), "partly");
  EXPECT_EQ(state_of(base, 9), "partly") << "no spare";
  EXPECT_EQ(state_of(base, 10), "partly") << "two feeds for 4+2 supplies";
  EXPECT_EQ(state_of(base, 11), "covered");
  EXPECT_EQ(state_of(base + "control_plane: {etcd_members: 1}\n", 11), "missing");
  EXPECT_EQ(state_of(base + "control_plane: {api_limits: false}\n", 12), "partly");
}

TEST(FailureAnalysis, AHundredThousandGpus) {
  const auto loaded = load(
      "weft: 1\nname: large\nsite: {switches: row, row_length: 24, rack_power: 60kW}\npools:\n"
      "  - {name: train, server: hgx-h100, count: 12500, per_rack: 4}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: store, role: storage, server: storage-400g-2u, count: 625, per_rack: 16}\n"
      "fabrics:\n  backend: {leaf: sn5600}\n  storage: {leaf: sn5600, oversubscription: 2:1}\n"
      "  frontend: {leaf: sn5400, subnets: [10.20.0.0/16]}\n  oob: {spine: nexus-9364c-gx}\n");
  const auto start = std::chrono::steady_clock::now();
  const FailureAnalysis analysis(*loaded->cluster);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("single failures of %zu cables in %.0f ms\n", loaded->cluster->cables().size(), took.count());
  EXPECT_EQ(analysis.find("server")->count, 13128U);
  EXPECT_EQ(analysis.find("host cable", model::FabricKind::backend)->count, 100000U);
  EXPECT_FALSE(failures_document(*loaded->cluster, analysis).sections.empty());
}

}  // namespace
}  // namespace weft::check
