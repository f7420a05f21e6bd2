#include "design/loss_meter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "model/load.h"

namespace weft::design {
namespace {

// Labels of the switches of a fabric that can reach each other without some devices and cables, found by propagating
// the lowest number until nothing changes.
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

// Servers still up without a link to the largest part (by host cables) of a formerly connected fabric.
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
  std::map<std::uint32_t, std::uint32_t> best;  // component before -> part after
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

TEST(LossMeter, AgreesWithTakingThingsAway) {
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
      EXPECT_EQ(meter.measure_loss(gone).beyond, cut_off(cluster, fabric, gone))
          << text << cluster.name_of(gone.front());
    }
  }
  EXPECT_GT(compiled, 20);
}

TEST(FabricGraph, CutSwitchesReallyCut) {
  RandomStream random(9, "cut switches");
  int found = 0;
  for (int round = 0; round < 30; ++round) {
    const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("random.yaml", random_cluster(random));
    if (loaded->cluster == nullptr) continue;
    const model::Cluster& cluster = *loaded->cluster;
    const FabricGraph graph(cluster, model::FabricKind::backend);
    const auto pieces = [&](const std::vector<model::DeviceId>& gone) {
      std::size_t count = 0;
      for (const auto& [device, label] : labels(cluster, model::FabricKind::backend, gone))
        count += device == label ? 1U : 0U;
      return count;
    };
    const std::size_t whole = pieces({});
    for (std::uint32_t node = 0; node < graph.graph().nodes(); ++node) {
      const model::DeviceId id = graph.switches()[node];
      EXPECT_EQ(graph.cuts().nodes[node], pieces({id}) > whole) << cluster.name_of(id);
      found += graph.cuts().nodes[node] ? 1 : 0;
    }
  }
  EXPECT_GT(found, 0);
}

// Without the only spine each leaf is a separate part. The first remains the fabric, so its unit keeps one rail.
TEST(LossMeter, LossOfTheOnlySpineDisconnectsTheOtherUnits) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: p\nsite: {rack_power: 100kW}\npools: [{name: train, server: hgx-h100, count: 12, unit: 4}]\n"
      "fabrics: {backend: {leaf: sn5600, tiers: 2, spines: 1}, frontend: {subnets: [10.20.0.0/16]}}\n");
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  LossMeter meter(*loaded->cluster);
  const FabricGraph& graph = meter.graph(model::FabricKind::backend);
  const auto spine = std::find_if(graph.switches().begin(), graph.switches().end(), [&](model::DeviceId id) {
    return loaded->cluster->group_of(id).tier == model::Tier::spine;
  });
  ASSERT_NE(spine, graph.switches().end());
  const Loss loss = meter.measure_loss(std::vector{*spine});
  EXPECT_EQ(loss.servers, 8);
  EXPECT_EQ(loss.beyond, 8);
  EXPECT_EQ(loss.gpus, 64);
  EXPECT_EQ(loss.degraded, 4);
  EXPECT_EQ(meter.lost().size(), 8U);
  EXPECT_DOUBLE_EQ(loss.lost_of(model::FabricKind::backend), 100.0);
  EXPECT_DOUBLE_EQ(loss.left_of(model::FabricKind::backend), 0.0);
  EXPECT_DOUBLE_EQ(loss.lost_of(model::FabricKind::frontend), 0.0);
}

}  // namespace
}  // namespace weft::design
