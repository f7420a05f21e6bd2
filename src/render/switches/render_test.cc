// Which OS a switch runs, how NVUE words are built, and the contents of a switch plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/value.h"
#include "model/load.h"
#include "render/core/memory_sink.h"
#include "render/switches/nvue_commands.h"
#include "render/switches/out_of_band.h"
#include "render/switches/sonic_tables.h"
#include "render/switches/switch_plan.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

using nvue_render::Commands;

std::shared_ptr<const model::Cluster> cluster_of(const std::string& fabrics) {
  const auto loaded = model::load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: small\npools:\n  - {name: train, role: training, server: hgx-h100, count: 4}\n"
      "  - {name: jump, role: jump, server: jump-1u, count: 2}\nfabrics:\n" +
          fabrics);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded->cluster;
}

const model::DeviceGroup* group_of(const model::Cluster& cluster, model::FabricKind fabric, model::Tier tier) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::network_switch && group.fabric == fabric && group.tier == tier) return &group;
  }
  return nullptr;
}

SwitchPort port_at(std::uint32_t cage, std::uint32_t lane, std::uint32_t lanes, std::uint32_t cage_lanes = 8) {
  SwitchPort port;
  port.cage = cage;
  port.lane = lane;
  port.lanes = lanes;
  port.cage_lanes = cage_lanes;
  port.first_lane = cage * cage_lanes;
  return port;
}

TEST(SwitchSystem, SpineThatCannotRunTheFabricsSystemRunsItsOwn) {
  const auto cluster = cluster_of(
      "  backend: {leaf: sn5600, spine: arista-7060x6-64pe, system: cumulus, tiers: 2}\n"
      "  oob: {leaf: sn2201, spine: nexus-9336c-fx2, system: sonic, uplinks: 2, spare_percent: 90}\n");
  ASSERT_NE(cluster, nullptr);
  const model::DeviceGroup* leaf = group_of(*cluster, model::FabricKind::backend, model::Tier::leaf);
  const model::DeviceGroup* spine = group_of(*cluster, model::FabricKind::backend, model::Tier::spine);
  ASSERT_NE(leaf, nullptr);
  ASSERT_NE(spine, nullptr);
  EXPECT_EQ(system_of(*cluster, leaf->first), "cumulus");
  EXPECT_EQ(system_of(*cluster, spine->first), "eos");
  const model::DeviceGroup* oob = group_of(*cluster, model::FabricKind::oob, model::Tier::leaf);
  const model::DeviceGroup* above = group_of(*cluster, model::FabricKind::oob, model::Tier::spine);
  ASSERT_NE(oob, nullptr);
  ASSERT_NE(above, nullptr);
  EXPECT_EQ(system_of(*cluster, *oob), "sonic");
  EXPECT_EQ(system_of(*cluster, *above), "nxos");
  EXPECT_TRUE(has_ethernet_switch_of(*cluster, "eos"));
  EXPECT_FALSE(has_ethernet_switch_of(*cluster, "junos"));
  for (const model::DeviceGroup& group : cluster->groups()) {
    if (group.kind != model::DeviceKind::network_switch) {
      EXPECT_EQ(system_of(*cluster, group), "");
    }
  }
}

TEST(NvueCommands, PortsFoldIntoOneWord) {
  const std::vector<SwitchPort> ports{port_at(0, 0, 2), port_at(0, 2, 2), port_at(1, 0, 2),
                                      port_at(1, 2, 2), port_at(2, 4, 4), port_at(3, 0, 8),
                                      port_at(4, 0, 8), port_at(9, 0, 4), port_at(10, 4, 4)};
  std::vector<const SwitchPort*> all;
  for (const SwitchPort& port : ports) all.push_back(&port);
  EXPECT_EQ(nvue_render::port_names(all), "swp1-2s0-1,swp3s1,swp4-5,swp10s0,swp11s1");
  EXPECT_EQ(nvue_render::port_names({}), "");
  EXPECT_EQ(nvue_render::number_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(NvueCommands, NothingBreaksOutOfAWord) {
  Commands commands;
  commands.set({"interface", "swp1", "description", "it's; reboot\n$(x) `y` \"z\""});
  EXPECT_EQ(commands.text(), "nv set interface swp1 description 'it'\\''s; reboot$(x) `y` \"z\"'\n");
  Commands notes;
  notes.comment("one\nnv set system hostname evil");
  EXPECT_EQ(notes.text(), "\n# one nv set system hostname evil\n");
}

TEST(SonicNames, PortsAreNamedByLaneAndVrfsFitTheKernel) {
  EXPECT_EQ(sonic_render::port_name(port_at(56, 4, 4)), "Ethernet452");
  EXPECT_EQ(sonic_render::port_name(port_at(3, 0, 1, 1)), "Ethernet3");
  const auto cluster = cluster_of("  backend: {leaf: sn5600, system: sonic, vrf: mgmt}\n");
  ASSERT_NE(cluster, nullptr);
  const RenderPlan plan(*cluster);
  const SwitchPlan leaf =
      SwitchPlanner(plan).plan(group_of(*cluster, model::FabricKind::backend, model::Tier::leaf)->first);
  EXPECT_EQ(leaf.vrf, "backend");  // `mgmt` is the VRF of the management port
  EXPECT_EQ(sonic_render::vrf_name(leaf), "Vrf_backend");
}

TEST(SwitchPlan, BondsHaveOneNumberOnBothSwitchesOfAPair) {
  const auto cluster = cluster_of("  frontend: {leaf: sn4600c}\n");
  ASSERT_NE(cluster, nullptr);
  const RenderPlan plan(*cluster);
  const model::DeviceGroup* leaves = group_of(*cluster, model::FabricKind::frontend, model::Tier::leaf);
  ASSERT_NE(leaves, nullptr);
  ASSERT_EQ(leaves->count, 2U);
  const SwitchPlanner planner(plan);
  const SwitchPlan a = planner.plan(leaves->first);
  const SwitchPlan b = planner.plan(static_cast<model::DeviceId>(model::index_of(leaves->first) + 1));
  EXPECT_EQ(a.pair, b.id);
  EXPECT_EQ(b.pair, a.id);
  EXPECT_NE(a.side, b.side);
  EXPECT_EQ(a.pair_number, b.pair_number);
  std::size_t bonded = 0;
  for (const SwitchPort& one : a.ports) {
    if (one.bond == 0) continue;
    ++bonded;
    const auto other =
        std::find_if(b.ports.begin(), b.ports.end(), [&](const SwitchPort& port) { return port.bond == one.bond; });
    ASSERT_NE(other, b.ports.end());
    EXPECT_EQ(other->peer, one.peer);
  }
  EXPECT_GE(bonded, 4U);
  // Kubernetes nodes peer with the switches' own addresses.
  const auto& peers = plan.frontend_peers();
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(a.vlans.front().gateways.front().own, peers[0].address);
  EXPECT_EQ(b.vlans.front().gateways.front().own, peers[1].address);
}

TEST(SwitchPlan, HostTextIsAnAddressOrAName) {
  for (const char* good : {"10.0.0.1", "2001:db8::1", "logs.example.org", "a", "x-1.y"})
    EXPECT_TRUE(is_host_text(good));
  for (const char* bad : {"", "-a", "a-.", ".a", "a..b", "a b", "10.0.0.1:514", "a\n", "http://x", "ü"}) {
    EXPECT_FALSE(is_host_text(bad)) << bad;
  }
}

}  // namespace
}  // namespace weft::render
