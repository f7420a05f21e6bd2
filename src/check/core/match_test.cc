#include "check/core/match.h"

#include <gtest/gtest.h>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::check {
namespace {

std::unique_ptr<model::Loaded> pod() { return model::load_cluster(source_dir() + "/examples/pod16.yaml", {}); }

config::SwitchConfig named_config(const std::string& hostname, FileId file) {
  config::SwitchConfig config;
  config.file = file;
  if (!hostname.empty())
    config.hostname = config::Setting<std::string>(hostname, SourceLocation{file, 1, 1}, "hostname");
  return config;
}

config::InterfaceConfig front(std::string name, int cage, int part, int parts) {
  config::InterfaceConfig interface;
  interface.name = std::move(name);
  interface.kind = config::InterfaceConfig::Kind::front_panel;
  interface.cage = cage;
  interface.part = part;
  interface.parts = parts;
  return interface;
}

// Each system's name for weft's port p2/2 on a switch with 64 cages of 8 lanes, with the cage split in two.
TEST(PortNamed, MapsEachDialectsNameOfASplitCage) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const model::DeviceId sonic = cluster.find_device("be-train-u001-leaf1");
  const model::PortId expected = cluster.find_port("be-train-u001-leaf1:p2/2");
  ASSERT_NE(expected, model::kNone<model::PortId>);
  for (const char* name : {"p2/2", "Ethernet12", "etp2b", "swp2s1", "Ethernet1/2/2", "Eth1/2/2", "et-0/0/1:1"}) {
    EXPECT_EQ(port_named(cluster, sonic, name), expected) << name;
  }
  const model::PortId first = cluster.find_port("be-train-u001-leaf1:p2/1");
  for (const char* name : {"Ethernet8", "etp2a", "etp2", "swp2s0", "Ethernet1/2/1", "Ethernet1/2"}) {
    EXPECT_EQ(port_named(cluster, sonic, name), first) << name;
  }
  for (const char* name :
       {"Ethernet10", "etp2c", "swp2s2", "swp0", "swp2", "Ethernet1/2/0", "Ethernet99999", "ens1f0", "", "Ethernet",
        "Ethernet1/", "swp2s", "Ethernet1/2/3/4", "etp", "Ethernet999999999999999999"}) {
    EXPECT_EQ(port_named(cluster, sonic, name), model::kNone<model::PortId>) << name;
  }
  EXPECT_EQ(port_named(cluster, model::kNone<model::DeviceId>, "p1"), model::kNone<model::PortId>);
}

TEST(PortNamed, CountsTwoLanesPerPortOfAFourWaySplit) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const model::DeviceId leaf = cluster.find_device("sto-train-u001-leaf1");
  EXPECT_EQ(port_named(cluster, leaf, "swp3s3"), cluster.find_port("sto-train-u001-leaf1:p3/4"));
  EXPECT_EQ(port_named(cluster, leaf, "etp3d"), cluster.find_port("sto-train-u001-leaf1:p3/4"));
}

TEST(PortNamed, MapsWholeCagesManagementAndServerPorts) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const model::DeviceId oob = cluster.find_device("oob-leaf001");
  EXPECT_EQ(port_named(cluster, oob, "Ethernet1/12"), cluster.find_port("oob-leaf001:p12"));
  const model::DeviceId leaf = cluster.find_device("be-train-u001-leaf1");
  EXPECT_NE(cluster.find_port("be-train-u001-leaf1:mgmt"), model::kNone<model::PortId>);
  for (const char* name : {"eth0", "mgmt0", "mgmt"}) {
    EXPECT_EQ(port_named(cluster, leaf, name), cluster.find_port("be-train-u001-leaf1:mgmt")) << name;
  }
  const model::DeviceId server = cluster.find_device("train001");
  EXPECT_EQ(port_named(cluster, server, "be3"), cluster.find_port("train001:be3"));
  EXPECT_EQ(port_named(cluster, server, "ens1f0np0"), model::kNone<model::PortId>);
}

TEST(PortOf, MatchesCageAndBreakoutPortBothWays) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const model::DeviceId leaf = cluster.find_device("be-train-u001-leaf1");
  config::SwitchConfig config;
  config.interfaces.push_back(front("Ethernet8", 2, 0, 2));
  config.interfaces.push_back(front("Ethernet12", 2, 1, 2));
  config::InterfaceConfig vlan;
  vlan.name = "Vlan2";
  vlan.kind = config::InterfaceConfig::Kind::svi;
  config.interfaces.push_back(vlan);
  config::InterfaceConfig management;
  management.name = "eth0";
  management.kind = config::InterfaceConfig::Kind::management;
  config.interfaces.push_back(management);

  const model::PortId second = cluster.find_port("be-train-u001-leaf1:p2/2");
  EXPECT_EQ(port_of(cluster, leaf, config.interfaces[1]), second);
  EXPECT_EQ(port_of(cluster, leaf, vlan), model::kNone<model::PortId>);
  EXPECT_EQ(port_of(cluster, leaf, management), cluster.find_port("be-train-u001-leaf1:mgmt"));
  EXPECT_EQ(port_of(cluster, leaf, front("Ethernet16", 0, 0, 1)), cluster.find_port("be-train-u001-leaf1:p3/1"));
  EXPECT_EQ(port_of(cluster, leaf, front("swp70", 70, 0, 1)), model::kNone<model::PortId>);
  EXPECT_EQ(port_of(cluster, leaf, front("swp3", 3, 0, 2)), model::kNone<model::PortId>) << "the cage is split";
  EXPECT_EQ(interface_of(cluster, leaf, config, second), &config.interfaces[1]);
  EXPECT_EQ(interface_of(cluster, leaf, config, cluster.find_port("be-train-u001-leaf1:p3/1")), nullptr);
  EXPECT_EQ(interface_of(cluster, leaf, config, model::kNone<model::PortId>), nullptr);
}

// Every cabled port of every switch is found by its Cumulus or NX-OS name.
TEST(PortOf, FindsEveryPortOfTheModel) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  std::size_t seen = 0;
  for (std::uint32_t i = 0; i < cluster.ports().size(); ++i) {
    const auto id = static_cast<model::PortId>(i);
    const model::Port& port = cluster.port(id);
    if (cluster.group_of(port.device).kind != model::DeviceKind::network_switch || cluster.port_name(id) == "mgmt")
      continue;
    ++seen;
    const int piece = port.lane / port.lanes;
    EXPECT_EQ(port_of(cluster, port.device, front("x", port.cage + 1, piece, 1)), id);
    const std::string cumulus = "swp" + std::to_string(port.cage + 1) + "s" + std::to_string(piece);
    EXPECT_EQ(port_named(cluster, port.device, cumulus), id) << cluster.full_port_name(id);
  }
  EXPECT_GT(seen, 500U);
}

TEST(DevicesOf, PrefersTheArgumentThenTheHostnameThenTheFileName) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  config::ConfigSet set;
  set.files.push_back({1, config::ConfigKind::sonic, "be-*-leaf?", "template.json"});
  set.files.push_back({2, config::ConfigKind::sonic, "", "anything.json"});
  set.files.push_back({3, config::ConfigKind::sonic, "", "configs/be-spine002.running.json"});
  set.files.push_back({4, config::ConfigKind::sonic, "be-spine001", "x.json"});
  set.files.push_back({5, config::ConfigKind::sonic, "", "train001.json"});
  EXPECT_EQ(devices_of(cluster, set, named_config("be-spine001", 1)).size(), 8U);
  EXPECT_EQ(devices_of(cluster, set, named_config("be-spine001", 2)),
            std::vector<model::DeviceId>{cluster.find_device("be-spine001")});
  EXPECT_EQ(devices_of(cluster, set, named_config("sonic", 3)),
            std::vector<model::DeviceId>{cluster.find_device("be-spine002")});
  EXPECT_EQ(devices_of(cluster, set, named_config("", 4)),
            std::vector<model::DeviceId>{cluster.find_device("be-spine001")});
  EXPECT_TRUE(devices_of(cluster, set, named_config("train001", 5)).empty()) << "a server is no switch";
}

}  // namespace
}  // namespace weft::check
