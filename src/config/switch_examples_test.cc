// The configurations below examples/ are read completely and match the cluster file beside them.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/test_places.h"
#include "config/switch_config.h"

namespace weft::config {
namespace {

using Reading = std::optional<SwitchConfig> (*)(const Sources&, FileId, Diagnostics&);

SwitchConfig read_example(const std::string& name, Reading reading) {
  std::ifstream in(source_dir() + "/examples/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(name, std::string(std::istreambuf_iterator<char>(in), {}));
  const auto config = reading(sources, file, diagnostics);
  EXPECT_EQ(diagnostics.error_count() + diagnostics.warning_count(), 0U) << render_all(diagnostics, sources, false);
  EXPECT_TRUE(config.has_value()) << name;
  return config.value_or(SwitchConfig());
}

// One class is lossless from marking to pause, another carries the notifications, the rest is best effort.
struct Intent {
  int dscp;
  int priority;
  std::int64_t ecn_min;
  std::int64_t ecn_max;
};

void expect_class(const SwitchConfig& config, const InterfaceConfig& port, const Intent& intent) {
  const PortQos& qos = config.qos[port.qos];
  const auto data = static_cast<std::size_t>(intent.priority);
  ASSERT_EQ(*qos.dscp_to_class[static_cast<std::size_t>(intent.dscp)], intent.priority) << port.name;
  EXPECT_EQ(*qos.dscp_to_class[48], 6) << port.name;
  EXPECT_EQ(*qos.dscp_to_class[0], 0) << port.name;
  EXPECT_EQ(*qos.class_to_group[data], intent.priority);
  EXPECT_EQ(*qos.class_to_queue[data], intent.priority);
  EXPECT_EQ(*qos.class_to_queue[6], 6);
  for (std::size_t i = 0; i < kClasses; ++i) EXPECT_EQ(*qos.pfc[i], i == data) << port.name << " " << i;
  for (std::size_t i = 0; i < kClasses; ++i) EXPECT_EQ(*qos.groups[i].lossless, i == data) << port.name << " " << i;
  const QueueQos& queue = qos.queues[data];
  EXPECT_TRUE(*queue.ecn);
  EXPECT_EQ(queue.ecn_min.value.count(), intent.ecn_min);
  EXPECT_EQ(queue.ecn_max.value.count(), intent.ecn_max);
  EXPECT_EQ(*queue.ecn_percent, 20);
  EXPECT_EQ(*queue.weight, 60);
  EXPECT_EQ(*qos.queues[6].scheduling, Scheduling::strict);
  EXPECT_TRUE(*qos.watchdog.on) << port.name;
  EXPECT_EQ(qos.watchdog.detection.value, milliseconds(400));
  EXPECT_EQ(*qos.watchdog.action, model::WatchdogAction::drop);
  EXPECT_EQ(*port.mtu, 9216);
  EXPECT_TRUE(*port.enabled);
}

std::size_t expect_ports(const SwitchConfig& config, const Intent& intent, BitRate speed) {
  std::size_t ports = 0;
  for (const InterfaceConfig& port : config.interfaces) {
    if (port.kind != InterfaceConfig::Kind::front_panel || !port.speed.known()) continue;
    ++ports;
    EXPECT_EQ(port.speed.value, speed) << port.name;
    expect_class(config, port, intent);
  }
  return ports;
}

TEST(SwitchExamples, SonicLeafAndSpine) {
  for (const std::string name : {"be-train-u001-leaf1", "be-spine001"}) {
    const SwitchConfig config = read_example("running/" + name + ".json", read_sonic);
    EXPECT_EQ(*config.hostname, name);
    EXPECT_EQ(expect_ports(config, {26, 3, 800'000, 3'200'000}, gigabits(400)), 32U);
    EXPECT_EQ(config.management.syslog.size(), 1U);
    for (const NeighborConfig& neighbor : config.neighbors) EXPECT_TRUE(*neighbor.bfd);
  }
  const SwitchConfig leaf = read_example("running/be-train-u001-leaf1.json", read_sonic);
  EXPECT_EQ(leaf.neighbors.size(), 16U);
  EXPECT_EQ(*leaf.asn, 4200100001);
  const InterfaceConfig* port = leaf.find("Ethernet60");  // p8/2
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->cage, 8);
  EXPECT_EQ(port->part, 1);
  EXPECT_EQ(*port->access_vlan, 600);
  EXPECT_EQ(*leaf.find("eth0")->vrf, "mgmt");
}

TEST(SwitchExamples, CumulusStorageLeaf) {
  const SwitchConfig config = read_example("running/sto-train-u001-leaf1.nvue", read_nvue);
  EXPECT_EQ(*config.hostname, "sto-train-u001-leaf1");
  EXPECT_GT(expect_ports(config, {34, 4, 400'000, 1'600'000}, gigabits(200)), 40U);
  EXPECT_EQ(*config.find("swp1s3")->access_vlan, 700);
  EXPECT_EQ(*config.find("vlan700")->vrf, "storage");
}

TEST(SwitchExamples, NexusLeaf) {
  const SwitchConfig config = read_example("running-nexus/be-train-u001-leaf1.cfg", read_nxos);
  EXPECT_EQ(*config.hostname, "be-train-u001-leaf1");
  EXPECT_EQ(expect_ports(config, {26, 3, 800'000, 3'200'000}, gigabits(400)), 16U);
  ASSERT_EQ(config.neighbors.size(), 8U);
  EXPECT_EQ(config.neighbors[0].vrf, "backend");
  EXPECT_TRUE(*config.neighbors[7].bfd);
  EXPECT_EQ(*config.qos[config.find("Ethernet1/1")->qos].pfc_mode, model::PfcMode::on);
}

TEST(SwitchExamples, OutOfBandLeaf) {
  const SwitchConfig config = read_example("running/oob-leaf001.cfg", read_nxos);
  EXPECT_EQ(*config.hostname, "oob-leaf001");
  ASSERT_EQ(config.acls.size(), 1U);
  EXPECT_EQ(config.acls[0].rules.size(), 5U);
  EXPECT_FALSE(config.acls[0].rules.back().permit);
  EXPECT_EQ(*config.find("Vlan999")->acl_in, "JUMP-ONLY");
  EXPECT_EQ(*config.find("Ethernet1/1")->acl_in, "JUMP-ONLY");
  EXPECT_EQ(*config.find("Ethernet1/1")->access_vlan, 999);
  EXPECT_EQ(config.find("Ethernet1/53")->tagged_vlans.at(0).value, 999);
  EXPECT_TRUE(config.routes.empty());
  EXPECT_TRUE(config.management.default_users.empty());
  EXPECT_EQ(*config.management.aaa_methods.at(0), "local");
}

}  // namespace
}  // namespace weft::config
