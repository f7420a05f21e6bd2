// The switch model that all switch targets render from, and facts that must be the same in each of them.
#include "render/switches/switch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "model/load.h"
#include "render/core/memory_sink.h"
#include "render/core/targets.h"
#include "render/switches/out_of_band.h"

namespace weft::render {
namespace {

struct Vendor {
  const char* system;
  const char* data_leaf;
  const char* frontend_leaf;
  const char* oob_leaf;
  const char* oob_spine;
  void (*render)(const RenderInput& input, FileSink& sink);
};

constexpr Vendor kVendors[] = {
    {"sonic", "sn5600", "sn4600c", "sn2201", "sn4600c", render_sonic},
    {"cumulus", "sn5600", "sn4600c", "sn2201", "sn4600c", render_nvue},
    {"nxos", "nexus-9364d-gx2a", "nexus-9336c-fx2", "nexus-9348gc-fx3", "nexus-9336c-fx2", render_nxos},
    {"eos", "arista-7060x6-64pe", "arista-7060dx5-64s", "arista-7010tx-48", "arista-7060dx5-64s", render_eos},
};

// Additions to the parts of a cluster file in which every switch runs one system.
struct Wanted {
  std::string backend;
  std::string frontend;
  std::string oob;
  std::string pools;
  bool jump = true;
};

std::string text_of(const Vendor& vendor, const Wanted& wanted) {
  const std::string system = std::string(", system: ") + vendor.system;
  std::string text =
      "weft: 1\nname: lab\npools:\n  - {name: train, role: training, server: hgx-h100, count: 4, unit: 4}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n" +
      wanted.pools;
  if (wanted.jump) text += "  - {name: jump, role: jump, server: jump-1u, count: 2}\n";
  return text + "fabrics:\n  backend: {leaf: " + vendor.data_leaf + system + ", speed: 400G" + wanted.backend +
         "}\n  storage: {leaf: " + vendor.data_leaf + system + "}\n  frontend: {leaf: " + vendor.frontend_leaf +
         system + wanted.frontend + "}\n  oob: {leaf: " + vendor.oob_leaf + ", spine: " + vendor.oob_spine + system +
         ", spare_percent: 90, services: {dns: oob, dhcp: oob, time: oob}" + wanted.oob +
         "}\ncontrol_plane: {kind: both, pool: infra}\n";
}

struct Lab {
  std::unique_ptr<model::Loaded> loaded;
  std::unique_ptr<RenderPlan> render_plan;
  std::unique_ptr<SwitchPlanner> planner;
  MemorySink sink;

  [[nodiscard]] SwitchPlan plan(std::string_view device) const {
    return planner->plan(loaded->cluster->find_device(device));
  }
  // The file of a device, regardless of its name.
  [[nodiscard]] std::string file_of(std::string_view device) const {
    for (const auto& [path, file] : sink.files) {
      if (file.device == device) return file.content;
    }
    return {};
  }
};

Lab make(const Vendor& vendor, const Wanted& wanted) {
  Lab lab;
  lab.loaded = model::load_cluster_text("cluster.yaml", text_of(vendor, wanted));
  EXPECT_NE(lab.loaded->cluster, nullptr) << render_all(lab.loaded->diagnostics, lab.loaded->sources, false);
  if (lab.loaded->cluster == nullptr) return lab;
  lab.render_plan = std::make_unique<RenderPlan>(*lab.loaded->cluster);
  lab.planner = std::make_unique<SwitchPlanner>(*lab.render_plan);
  const RenderOptions options;
  vendor.render(RenderInput{*lab.loaded->cluster, *lab.render_plan, options, {}}, lab.sink);
  return lab;
}

// Kubernetes nodes peer with it, so it must exist whether or not the two leaves share the gateway.
TEST(SwitchPlan, EveryFrontendLeafHasAnAddressOfItsOwn) {
  for (const Vendor& vendor : kVendors) {
    for (const char* links : {"", ", peer_links: 0"}) {
      const Lab lab = make(vendor, {.frontend = links});
      ASSERT_NE(lab.planner, nullptr);
      for (const RenderPlan::Peer& peer : lab.render_plan->frontend_peers()) {
        const std::string name = lab.loaded->cluster->name_of(peer.leaf);
        const SwitchPlan plan = lab.plan(name);
        EXPECT_EQ(plan.has_pair(), *links == '\0');
        EXPECT_EQ(plan.vlans.front().gateways.front().own, peer.address);
        EXPECT_NE(lab.file_of(name).find(to_text(peer.address) + "/24"), std::string::npos)
            << vendor.system << " " << name << links;
      }
    }
  }
}

// The subnet has space for the addresses of four pairs; later pairs reuse the fourth's.
TEST(SwitchPlan, PairsAfterTheFourthHaveTheFourthsAddresses) {
  const Lab lab = make(kVendors[2], {.frontend = ", tiers: 2, uplinks: 24, subnets: [10.20.0.0/16]",
                                     .pools = "  - {name: login, role: login, server: login-1u, count: 60}\n"});
  ASSERT_NE(lab.planner, nullptr);
  const auto own = [&](std::string_view name) { return to_text(lab.plan(name).vlans.front().gateways.front().own); };
  EXPECT_EQ(own("fe-leaf001a"), "10.20.0.2");
  EXPECT_EQ(own("fe-leaf004b"), "10.20.0.9");
  EXPECT_EQ(own("fe-leaf005a"), "10.20.0.8");
  EXPECT_EQ(own("fe-leaf005b"), "10.20.0.9");
  EXPECT_TRUE(lab.plan("fe-leaf001a").is_stretched());
}

// Two leaves without links between them share a subnet: each announces its own hosts.
TEST(SwitchPlan, LeavesWithoutPeerLinksAnnounceTheirHosts) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.frontend = ", peer_links: 0"});
    ASSERT_NE(lab.planner, nullptr);
    const SwitchPlan plan = lab.plan("fe-leaf001a");
    EXPECT_TRUE(plan.is_stretched());
    ASSERT_FALSE(plan.vlans.front().gateways.front().hosts.empty());
    const std::string host = to_text(plan.vlans.front().gateways.front().hosts.front()) + "/32";
    EXPECT_NE(lab.file_of("fe-leaf001a").find(host), std::string::npos) << vendor.system;
  }
}

// The out-of-band VLAN of an uplink may have a lower number than the frontend's.
TEST(SwitchPlan, NodesPeerRegardlessOfOtherVlanNumbers) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.oob = ", uplink_to_frontend: true, vlan: 5"});
    ASSERT_NE(lab.planner, nullptr);
    const SwitchPlan plan = lab.plan("fe-leaf001a");
    EXPECT_EQ(plan.vlans.front().id, 5);
    EXPECT_NE(plan.nodes.asn, 0U);
    EXPECT_EQ(to_text(plan.nodes.services), "10.20.50.224/27");
    EXPECT_NE(lab.file_of("fe-leaf001a").find("10.20.50.224/27"), std::string::npos) << vendor.system;
  }
}

TEST(SwitchPlan, FabricVrfIsNotNamedLikeTheManagementVrf) {
  for (const char* taken : {"default", "mgmt", "management"}) {
    for (const Vendor& vendor : kVendors) {
      const Lab lab = make(vendor, {.backend = std::string(", vrf: ") + taken});
      ASSERT_NE(lab.planner, nullptr);
      EXPECT_EQ(lab.plan("be-train-u001-leaf1").vrf, "backend") << taken;
    }
  }
  const Lab lab = make(kVendors[3], {.backend = ", vrf: the-network-between-the-gpus"});
  ASSERT_NE(lab.planner, nullptr);
  EXPECT_EQ(lab.plan("be-train-u001-leaf1").vrf, "the-network-between-the-gpus");
  EXPECT_EQ(lab.plan("be-train-u001-leaf1").kernel_vrf(), "backend");
}

TEST(SwitchPlan, OutOfBandMtuIsFromTheFile) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.oob = ", mtu: 9000"});
    ASSERT_NE(lab.planner, nullptr);
    EXPECT_EQ(lab.plan("oob-leaf001").mtu, 9000);
    EXPECT_NE(lab.file_of("oob-leaf001").find("9000"), std::string::npos) << vendor.system;
  }
}

// If the file names no server, logs go to the address that the out-of-band network reserves for it.
TEST(SwitchPlan, EverySwitchLogs) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {});
    ASSERT_NE(lab.planner, nullptr);
    const std::string server = switch_services(*lab.loaded->cluster).syslog;
    for (const char* device : {"be-train-u001-leaf1", "oob-leaf001"})
      EXPECT_NE(lab.file_of(device).find(server), std::string::npos) << vendor.system << " " << device;
  }
}

// A fabric manager has no address in the plan: it is in the VLAN of the rail whose leaf it is on.
TEST(SwitchPlan, ManagersAreInTheVlanOfTheirLeafsRail) {
  const Lab lab = make(kVendors[3], {.backend = ", wiring: rail-optimized, managers: [{name: mgr, server: "
                                                "ufm-appliance-ndr, count: 2, ports: 2, speed: 200G}]"});
  ASSERT_NE(lab.planner, nullptr);
  const model::Cluster& cluster = *lab.loaded->cluster;
  std::size_t found = 0;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != model::FabricKind::backend) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const SwitchPlan plan = lab.planner->plan(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      for (const SwitchPort& port : plan.ports) {
        if (port.use != SwitchPort::Use::host || port.peer_name.rfind("mgr", 0) != 0) continue;
        ++found;
        EXPECT_EQ(port.vlan, plan.fabric->vlan.value + plan.device->rail) << plan.name;
        EXPECT_TRUE(std::any_of(plan.vlans.begin(), plan.vlans.end(),
                                [&](const SwitchVlan& vlan) { return vlan.id == port.vlan; }));
      }
    }
  }
  EXPECT_EQ(found, 4U);
}

// Unclassified traffic must not be paused along with the data.
TEST(SwitchPlan, BestEffortIsNotPaused) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.backend = ", qos: {priority: 3, dscp: 26, pfc_priorities: [0, 1, 3]}"});
    ASSERT_NE(lab.planner, nullptr);
    const ClassPlan classes = plan_classes(*lab.loaded->cluster, lab.plan("be-train-u001-leaf1"));
    EXPECT_EQ(classes.best_effort, 2);
    EXPECT_TRUE(classes.is_paused(0));
    EXPECT_FALSE(classes.is_paused(2));
  }
  const Lab eos = make(kVendors[3], {.backend = ", qos: {priority: 3, dscp: 26, pfc_priorities: [0, 1, 2, 3]}"});
  EXPECT_NE(eos.file_of("be-train-u001-leaf1").find(" 63 to traffic-class 4\n"), std::string::npos);
}

// The first switch of the top tier is the root and the second the backup, regardless of their OS.
TEST(SwitchPlan, SpanningTreeHasOneRoot) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.oob = ", uplinks: 2"});
    ASSERT_NE(lab.planner, nullptr);
    EXPECT_EQ(lab.plan("oob-leaf001").spanning_tree_priority(), 0);
    EXPECT_EQ(lab.plan("oob-spine001").spanning_tree_priority(), 12288);
    EXPECT_EQ(lab.plan("oob-spine002").spanning_tree_priority(), 16384);
    EXPECT_NE(lab.file_of("oob-spine001").find("12288"), std::string::npos) << vendor.system;
    EXPECT_NE(lab.file_of("oob-spine002").find("16384"), std::string::npos) << vendor.system;
    const Lab above = make(vendor, {.oob = ", uplink_to_frontend: true"});
    ASSERT_NE(above.planner, nullptr);
    for (const char* leaf : {"fe-leaf001a", "fe-leaf001b"})
      EXPECT_NE(above.file_of(leaf).find("12288"), std::string::npos) << vendor.system;
  }
}

bool has_rule(const std::vector<GuardRule>& rules, GuardRule::Protocol protocol, int from, int to) {
  return std::any_of(rules.begin(), rules.end(), [&](const GuardRule& rule) {
    return rule.protocol == protocol && rule.source_port == from && rule.destination_port == to;
  });
}

TEST(OutOfBandGuard, LetsServicesLeasesAndKeepalivesPass) {
  using Protocol = GuardRule::Protocol;
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {});
    ASSERT_NE(lab.planner, nullptr);
    const model::Cluster& cluster = *lab.loaded->cluster;
    const std::vector<GuardRule> rules = guard_rules(*lab.render_plan, lab.plan("oob-leaf001"));
    for (const int port : {514, 123, 53}) {
      EXPECT_TRUE(has_rule(rules, Protocol::udp, 0, port)) << port;
      EXPECT_TRUE(has_rule(rules, Protocol::udp, port, 0)) << port;
    }
    EXPECT_TRUE(has_rule(rules, Protocol::tcp, 0, 53));
    EXPECT_TRUE(has_rule(rules, Protocol::udp, 68, 67));
    // Each leaf of the pair reaches the other through the switch that its management port is on.
    const std::string here = to_text(cluster.oob_address(cluster.find_device("fe-leaf001a")));
    std::string lists;
    for (const auto& [path, file] : lab.sink.files) {
      if (file.device.rfind("oob-leaf", 0) == 0) lists += file.content;
    }
    const std::string expected = std::string(vendor.system) == "sonic"     ? "\"SRC_IP\": \"" + here + "/32\""
                                 : std::string(vendor.system) == "cumulus" ? "source-ip " + here + "/32\n"
                                                                           : "permit ip host " + here + " host ";
    EXPECT_NE(lists.find(expected), std::string::npos) << vendor.system;
  }
}

TEST(OutOfBandGuard, WithoutAJumpHostOnlyLocalTrafficPasses) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.jump = false});
    ASSERT_NE(lab.planner, nullptr);
    const std::vector<GuardRule> rules = guard_rules(*lab.render_plan, lab.plan("oob-leaf001"));
    ASSERT_FALSE(rules.empty());
    EXPECT_EQ(rules.front().source, rules.front().destination);
    EXPECT_EQ(rules.front().protocol, GuardRule::Protocol::any);
    const Lab open = make(vendor, {.oob = ", jump_only: false"});
    ASSERT_NE(open.planner, nullptr);
    EXPECT_TRUE(guard_rules(*open.render_plan, open.plan("oob-leaf001")).empty());
    EXPECT_TRUE(guard_rules(*lab.render_plan, lab.plan("fe-leaf001a")).empty());
  }
}

}  // namespace
}  // namespace weft::render
