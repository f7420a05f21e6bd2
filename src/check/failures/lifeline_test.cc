#include "check/failures/lifeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "model/load.h"

namespace weft::check {
namespace {

// A pod in which the settings relevant to the lifeline are parameters.
std::unique_ptr<model::Loaded> pod(const std::string& oob, const std::string& jump = "count: 2") {
  std::unique_ptr<model::Loaded> loaded = model::load_cluster_text(
      "pod.yaml",
      fmt::format("weft: 1\nname: p\nsite: {{rack_power: 100kW}}\npools:\n"
                  "  - {{name: train, server: hgx-h100, count: 40, per_rack: 4}}\n"
                  "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
                  "{}"
                  "fabrics:\n  backend: {{leaf: sn5600}}\n  frontend: {{subnets: [10.20.0.0/16]}}\n"
                  "  oob: {{spare_percent: 10{}}}\n",
                  jump.empty() ? "" : "  - {name: jump, role: jump, server: jump-1u, " + jump + "}\n", oob));
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

TEST(Lifeline, EveryDeviceIsReachedWithTheDataFabricsDown) {
  const auto loaded = pod("");
  const model::Cluster& cluster = *loaded->cluster;
  const Lifeline lifeline(cluster);
  EXPECT_EQ(lifeline.unreachable().size(), 0U);
  EXPECT_TRUE(lifeline.cycles().empty());
  std::uint64_t devices = 0;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (cluster.group_of(id).kind == model::DeviceKind::external) continue;
    ++devices;
    const RecoveryPath path = lifeline.path_to(id);
    ASSERT_TRUE(path.exists) << cluster.name_of(id) << ": " << path.obstacle;
    // Each hop is cabled to the next, and none belongs to a data fabric.
    for (std::size_t i = 0; i < path.switches.size(); ++i) {
      EXPECT_EQ(cluster.group_of(path.switches[i]).fabric, model::FabricKind::oob);
      if (i == 0) continue;
      bool joined = false;
      for (const model::PortId port : cluster.ports_of(path.switches[i])) {
        joined = joined || cluster.port(cluster.peer_of(port)).device == path.switches[i - 1];
      }
      EXPECT_TRUE(joined) << cluster.name_of(path.switches[i]);
    }
    if (path.port != model::kNone<model::PortId>) {
      EXPECT_EQ(cluster.port(cluster.peer_of(path.port)).device, path.switches.back());
    }
    EXPECT_NE(path.jump, id) << "a jump host is not recovered through itself";
  }
  EXPECT_EQ(lifeline.reachable(), devices);
}

TEST(Lifeline, NoPathThroughTheFrontend) {
  const auto loaded = pod(", uplink_to_frontend: true");
  const Lifeline lifeline(*loaded->cluster);
  const LifelineCycle* cycle = lifeline.cycle_of("fabrics.oob.uplink_to_frontend");
  ASSERT_NE(cycle, nullptr);
  EXPECT_EQ(cycle->text(), "frontend switches -> out-of-band network -> frontend switches");
  EXPECT_TRUE(cycle->place.known());
  // Devices on the jump host's leaf are still reachable, all others are not.
  EXPECT_GT(lifeline.unreachable().size(), 0U);
}

struct Trap {
  const char* oob;
  const char* key;
  const char* path;
};

TEST(Lifeline, EachSettingThatDependsOnTheFrontendIsACycle) {
  const Trap traps[] = {
      {", entry: frontend", "fabrics.oob.entry",
       "frontend switches -> jump hosts -> entry (frontend) -> frontend switches"},
      {", gateway: frontend", "fabrics.oob.gateway",
       "frontend switches -> jump hosts -> entry (vpn) -> frontend switches"},
      {", services: {dns: frontend}", "fabrics.oob.services.dns",
       "frontend switches -> jump hosts -> DNS service (frontend) -> frontend switches"},
      {", services: {dhcp: frontend}", "fabrics.oob.services.dhcp",
       "frontend switches -> out-of-band network -> DHCP service (frontend) -> frontend switches"},
      {", services: {directory: frontend}", "fabrics.oob.services.directory",
       "frontend switches -> jump hosts -> directory (frontend) -> frontend switches"},
      {", services: {time: frontend}", "fabrics.oob.services.time",
       "frontend switches -> jump hosts -> time service (frontend) -> frontend switches"},
      {", credentials: \"k8s:bmc\"", "fabrics.oob.credentials",
       "frontend switches -> jump hosts -> credentials in Kubernetes -> frontend switches"},
  };
  for (const Trap& trap : traps) {
    SCOPED_TRACE(trap.key);
    const auto loaded = pod(trap.oob);
    const Lifeline lifeline(*loaded->cluster);
    ASSERT_EQ(lifeline.cycles().size(), 1U);
    EXPECT_EQ(lifeline.cycles().front().key, trap.key);
    // A cycle may include the servers that run a service; it starts and ends at the frontend either way.
    const std::string text = lifeline.cycles().front().text();
    EXPECT_EQ(text.substr(0, 17), "frontend switches") << text;
    EXPECT_EQ(text.substr(text.size() - 17), "frontend switches") << text;
    EXPECT_EQ(text, trap.path);
  }
  for (const char* harmless : {", entry: cellular", ", services: {directory: oob}", ", services: {directory: site}",
                               ", credentials: \"vault:bmc\"", ", gateway: site"}) {
    EXPECT_TRUE(Lifeline(*pod(harmless)->cluster).cycles().empty()) << harmless;
  }
}

TEST(Lifeline, JumpHosts) {
  const auto without = pod("", "");
  EXPECT_EQ(Lifeline(*without->cluster).reachable(), 0U) << "BMCs accept jump hosts only";
  const auto open = pod(", jump_only: false", "");
  EXPECT_EQ(Lifeline(*open->cluster).unreachable().size(), 0U);
  const auto in_band = pod("", "count: 2, links: {oob: 1}");
  const Lifeline blind(*in_band->cluster);
  EXPECT_EQ(blind.reachable(), 0U);
  EXPECT_NE(blind.cycle_of("pools.links.oob"), nullptr);
  const auto one = pod("", "count: 1");
  const Lifeline single(*one->cluster);
  const model::DeviceId jump = one->cluster->find_device("jump001");
  EXPECT_FALSE(single.path_to(jump).exists) << "nothing but itself";
  EXPECT_FALSE(single.path_to(one->cluster->find_device("train001"), jump).exists);
}

// The loss of a leaf cuts off its own ports; the loss of the only jump host's leaf cuts off all.
TEST(Lifeline, LossOfASwitch) {
  const auto loaded = pod("", "count: 1");
  const model::Cluster& cluster = *loaded->cluster;
  const Lifeline lifeline(cluster);
  const model::DeviceId home = lifeline.leaf_of_jump(cluster.find_device("jump001"));
  std::uint64_t ports = 0;
  for (const model::Cable& cable : cluster.cables()) {
    ports += cable.fabric == model::FabricKind::oob && cable.role == model::CableRole::host_leaf ? 1U : 0U;
  }
  ASSERT_GT(ports, 0U);
  bool seen_home = false;
  for (const LifelineLoss& loss : lifeline.losses()) {
    seen_home = seen_home || loss.device == home;
    std::uint64_t own = 0;
    for (const model::PortId port : cluster.ports_of(loss.device)) {
      own += cluster.cable(cluster.cable_of(port)).role == model::CableRole::host_leaf ? 1U : 0U;
    }
    EXPECT_EQ(loss.devices, loss.device == home ? ports : own) << cluster.name_of(loss.device);
  }
  EXPECT_TRUE(seen_home);
  EXPECT_GT(lifeline.losses().size(), 1U);
}

TEST(Lifeline, DocumentNamesEveryHop) {
  const auto loaded = pod("");
  const model::Cluster& cluster = *loaded->cluster;
  const Lifeline lifeline(cluster);
  const model::DeviceId target = cluster.find_device("train001");
  const RecoveryPath path = lifeline.path_to(target);
  const Document document = recovery_document(cluster, lifeline, target);
  ASSERT_EQ(document.sections.size(), 2U);
  const auto& hops = std::get<TableSection>(document.sections[1]);
  ASSERT_EQ(hops.rows.size(), path.switches.size() + 3);  // entry, jump host, BMC
  EXPECT_EQ(std::get<std::string>(hops.rows[1][2].value), cluster.name_of(path.jump));
  EXPECT_EQ(std::get<std::string>(hops.rows.back()[2].value), "train001");
  const auto lost = pod("", "");
  const Lifeline none(*lost->cluster);
  EXPECT_EQ(recovery_document(*lost->cluster, none, lost->cluster->find_device("train001")).sections.size(), 1U);
}

TEST(Lifeline, AHundredThousandGpus) {
  const auto loaded =
      model::load_cluster_text("large.yaml",
                               "weft: 1\nname: large\nsite: {switches: row, row_length: 24, rack_power: 60kW}\npools:\n"
                               "  - {name: train, server: hgx-h100, count: 12500, per_rack: 4}\n"
                               "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
                               "  - {name: jump, role: jump, server: jump-1u, count: 4}\n"
                               "fabrics:\n  backend: {leaf: sn5600}\n  storage: {leaf: sn5600, oversubscription: 2:1}\n"
                               "  frontend: {leaf: sn5400, subnets: [10.20.0.0/16]}\n  oob: {spine: nexus-9364c-gx}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const auto start = std::chrono::steady_clock::now();
  const Lifeline lifeline(*loaded->cluster);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("paths to %zu devices in %.0f ms\n", static_cast<std::size_t>(lifeline.reachable()), took.count());
  EXPECT_EQ(lifeline.unreachable().size(), 0U);
}

}  // namespace
}  // namespace weft::check
