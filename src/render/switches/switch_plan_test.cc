// The model of a switch that all dialects render from, and facts that must come out the same in each of them.
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
  // The file of a device, whatever its name.
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

// Kubernetes nodes peer with it, so that it must be there whether or not the two leaves share the gateway.
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

// The subnet has room for the addresses of four pairs; those after them have the fourth's again.
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

// Two leaves without links between them are two homes of one subnet: each announces its own hosts.
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
TEST(SwitchPlan, NodesPeerWhateverTheNumberOfOtherVlans) {
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

TEST(SwitchPlan, NamesOfManagementVrfsAreNotAFabrics) {
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

TEST(SwitchPlan, MtuOfTheOutOfBandNetworkIsTheFiles) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {.oob = ", mtu: 9000"});
    ASSERT_NE(lab.planner, nullptr);
    EXPECT_EQ(lab.plan("oob-leaf001").mtu, 9000);
    EXPECT_NE(lab.file_of("oob-leaf001").find("9000"), std::string::npos) << vendor.system;
  }
}

// Where the file names no server, logs go to the address that the out-of-band network keeps for it.
TEST(SwitchPlan, EverySwitchLogs) {
  for (const Vendor& vendor : kVendors) {
    const Lab lab = make(vendor, {});
    ASSERT_NE(lab.planner, nullptr);
    const std::string server = switch_services(*lab.loaded->cluster).syslog;
    for (const char* device : {"be-train-u001-leaf1", "oob-leaf001"})
      EXPECT_NE(lab.file_of(device).find(server), std::string::npos) << vendor.system << " " << device;
  }
}

// A fabric manager has no address of the plan: it is in the VLAN of the rail whose leaf it is on.
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

}  // namespace
}  // namespace weft::render
