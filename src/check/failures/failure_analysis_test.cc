#include "check/failures/failure_analysis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>

#include "base/random.h"
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

// Labels of the switches of a fabric that reach each other without some devices and cables, found by spreading the
// lowest number until nothing changes.
std::map<std::uint32_t, std::uint32_t> labels(const model::Cluster& cluster, model::FabricKind fabric,
                                              const std::vector<model::DeviceId>& gone) {
  std::map<std::uint32_t, std::uint32_t> label;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const model::DeviceGroup& group = cluster.group_of(static_cast<model::DeviceId>(d));
    if (group.kind != model::DeviceKind::network_switch || group.fabric != fabric) continue;
    if (std::find(gone.begin(), gone.end(), static_cast<model::DeviceId>(d)) == gone.end()) label[d] = d;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const model::Cable& cable : cluster.cables()) {
      const auto a = label.find(model::index_of(cluster.port(cable.a).device));
      const auto b = label.find(model::index_of(cluster.port(cable.b).device));
      if (cable.fabric != fabric || a == label.end() || b == label.end() || a->second == b->second) continue;
      a->second = b->second = std::min(a->second, b->second);
      changed = true;
    }
  }
  return label;
}

// Servers still up that no link joins to the largest part (by hosts' cables) of what was one piece of the fabric.
std::int64_t cut_off(const model::Cluster& cluster, model::FabricKind fabric,
                     const std::vector<model::DeviceId>& gone) {
  const auto before = labels(cluster, fabric, {});
  const auto after = labels(cluster, fabric, gone);
  std::map<std::uint32_t, std::uint32_t> hosts;  // by part
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != fabric || cable.role != model::CableRole::host_leaf) continue;
    const auto leaf = after.find(model::index_of(cluster.port(cable.b).device));
    if (leaf != after.end()) ++hosts[leaf->second];
  }
  std::map<std::uint32_t, std::uint32_t> best;  // piece before -> part after
  for (const auto& [device, part] : after) {
    const std::uint32_t piece = before.at(device);
    if (best.count(piece) == 0 || hosts[part] > hosts[best[piece]]) best[piece] = part;
  }
  std::map<std::uint32_t, bool> joined;  // server -> has a link that counts
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != fabric || cable.role != model::CableRole::host_leaf) continue;
    const std::uint32_t server = model::index_of(cluster.port(cable.a).device);
    if (std::find(gone.begin(), gone.end(), static_cast<model::DeviceId>(server)) != gone.end()) continue;
    const std::uint32_t at = model::index_of(cluster.port(cable.b).device);
    const auto leaf = after.find(at);
    joined[server] = joined[server] || (leaf != after.end() && best[before.at(at)] == leaf->second);
  }
  std::int64_t cut = 0;
  for (const auto& [server, ok] : joined) {
    cut += !ok && cluster.group_of(static_cast<model::DeviceId>(server)).kind == model::DeviceKind::server ? 1 : 0;
  }
  return cut;
}

std::string random_cluster(RandomStream& random) {
  static constexpr const char* kWirings[] = {"rail-optimized", "tor", "dual-tor", "rail-only"};
  const std::uint64_t wiring = random.below(4);
  const std::string tiers = wiring == 3 ? "one" : random.chance(0.7) ? "2" : "auto";
  const std::uint64_t count = 4 + random.below(20);
  const std::uint64_t unit = 4 + random.below(5);
  const std::uint64_t frontend = 1 + random.below(2);
  const std::uint64_t storage = 1 + random.below(2);
  const std::uint64_t spines = 1 + random.below(3);
  return fmt::format(
      "weft: 1\nname: random\nsite: {{rack_power: 100kW}}\npools:\n"
      "  - {{name: train, server: hgx-h100, count: {}, unit: {}, per_rack: 4, links: {{frontend: {}, storage: {}}}}}\n"
      "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
      "fabrics:\n  backend: {{leaf: sn5600, wiring: {}{}}}\n  storage: {{leaf: sn5600}}\n"
      "  frontend: {{subnets: [10.20.0.0/16]}}\n",
      count, unit, frontend, storage, kWirings[wiring],
      tiers == "2" && wiring != 3 ? fmt::format(", tiers: 2, spines: {}", spines) : std::string());
}

TEST(FailureAnalysis, LossesAgreeWithTakingThingsAway) {
  RandomStream random(5, "failures");
  int compiled = 0;
  for (int round = 0; round < 30; ++round) {
    const std::string text = random_cluster(random);
    const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("random.yaml", text);
    if (loaded->cluster == nullptr) continue;
    ++compiled;
    const model::Cluster& cluster = *loaded->cluster;
    LossMeter meter(cluster);
    std::vector<model::DeviceId> switches;
    for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
      const model::DeviceGroup& group = cluster.group_of(static_cast<model::DeviceId>(d));
      if (group.kind == model::DeviceKind::network_switch && group.fabric != model::FabricKind::oob) {
        switches.push_back(static_cast<model::DeviceId>(d));
      }
    }
    std::vector<std::vector<model::DeviceId>> sets;
    for (const model::DeviceId id : switches) sets.push_back({id});
    for (int extra = 0; extra < 10; ++extra) {
      const model::FabricKind fabric = cluster.group_of(switches[random.below(switches.size())]).fabric;
      std::vector<model::DeviceId> set;
      for (const model::DeviceId id : switches) {
        if (cluster.group_of(id).fabric == fabric && random.chance(0.3)) set.push_back(id);
      }
      sets.push_back(set);
    }
    for (const std::vector<model::DeviceId>& gone : sets) {
      if (gone.empty()) continue;
      const model::FabricKind fabric = cluster.group_of(gone.front()).fabric;
      EXPECT_EQ(meter.of(gone).beyond, cut_off(cluster, fabric, gone)) << text << cluster.name_of(gone.front());
    }
  }
  EXPECT_GT(compiled, 20);
}

TEST(FailureAnalysis, CutSwitchesReallyCut) {
  RandomStream random(9, "cut switches");
  int found = 0;
  for (int round = 0; round < 30; ++round) {
    const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("random.yaml", random_cluster(random));
    if (loaded->cluster == nullptr) continue;
    const model::Cluster& cluster = *loaded->cluster;
    const FailureAnalysis analysis(cluster);
    const auto pieces = [&](const std::vector<model::DeviceId>& gone) {
      std::size_t count = 0;
      for (const auto& [device, label] : labels(cluster, model::FabricKind::backend, gone))
        count += device == label ? 1U : 0U;
      return count;
    };
    const std::vector<model::DeviceId>& cut = analysis.weakness(model::FabricKind::backend).cut_switches;
    for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceGroup& group = cluster.group_of(id);
      if (group.kind != model::DeviceKind::network_switch || group.fabric != model::FabricKind::backend ||
          group.tier == model::Tier::leaf) {
        continue;
      }
      const bool cuts = std::find(cut.begin(), cut.end(), id) != cut.end();
      EXPECT_EQ(cuts, pieces({id}) > pieces({})) << cluster.name_of(id);
      found += cuts ? 1 : 0;
    }
  }
  EXPECT_GT(found, 0);
}

// Four spines with equal trunks: a quarter each. Eight rails on eight leaves: an eighth each.
TEST(FailureAnalysis, SharesOfARegularFabric) {
  const std::unique_ptr<model::Loaded> loaded = example("pod16.yaml");
  ASSERT_NE(loaded->cluster, nullptr);
  const FailureAnalysis analysis(*loaded->cluster);
  const Failure* spine = analysis.find("spine", model::FabricKind::backend);
  ASSERT_NE(spine, nullptr);
  EXPECT_EQ(spine->count, 4U);
  EXPECT_DOUBLE_EQ(spine->loss.left[0][1], 75.0);
  EXPECT_DOUBLE_EQ(spine->loss.left[0][0], 100.0);
  EXPECT_DOUBLE_EQ(analysis.weakness(model::FabricKind::backend).uplink_share, 25.0);
  const Failure* leaf = analysis.find("leaf", model::FabricKind::backend);
  ASSERT_NE(leaf, nullptr);
  EXPECT_DOUBLE_EQ(leaf->loss.left_of(model::FabricKind::backend), 87.5);
  EXPECT_EQ(leaf->loss.servers, 0);
  EXPECT_EQ(leaf->loss.degraded, 16);
  for (const Failure& failure : analysis.failures()) EXPECT_FALSE(failure.single_point()) << failure.kind;
}

// Six supplies on two feeds are three a feed; a server that needs four goes down with either.
TEST(FailureAnalysis, SuppliesAgainstFeeds) {
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

TEST(FailureAnalysis, AQuorumIsMoreThanHalf) {
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

TEST(ResiliencyMatrix, FollowsTheFile) {
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
