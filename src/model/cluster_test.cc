#include "model/cluster.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::model {
namespace {

std::unique_ptr<Loaded> pod() { return load_cluster(source_dir() + "/examples/pod32.yaml", {}); }

// A compiled cluster is safe for concurrent readers: nothing in it is computed lazily.
TEST(Cluster, ConcurrentReadersSeeOneCluster) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const Cluster& cluster = *loaded->cluster;
  std::atomic<std::size_t> found{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&cluster, &found] {
      for (std::uint32_t i = 0; i < cluster.ports().size(); ++i) {
        const auto id = static_cast<PortId>(i);
        if (cluster.find_port(cluster.full_port_name(id)) == id) ++found;
        if (cluster.peer_of(cluster.peer_of(id)) == id) ++found;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(found.load(), 4 * 2 * cluster.ports().size());
}

TEST(Cluster, FindsTheSpecOfAFabric) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const Cluster& cluster = *loaded->cluster;
  const FabricsSpec& fabrics = *cluster.spec().fabrics;
  EXPECT_EQ(cluster.find_fabric_spec(FabricKind::backend), &*fabrics.backend);
  EXPECT_EQ(cluster.find_fabric_spec(FabricKind::storage), &*fabrics.storage);
  EXPECT_EQ(cluster.find_fabric_spec(FabricKind::frontend), &*fabrics.frontend);
  EXPECT_EQ(cluster.find_fabric_spec(FabricKind::oob), nullptr);
  EXPECT_EQ(&cluster.data_fabric_spec(FabricKind::storage), &*fabrics.storage);
}

// The fabric's system if the model supports it, else the model's first; none for devices that are not switches.
TEST(Cluster, SwitchesRunASystemOfTheirModel) {
  const auto loaded = load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: p\nsite: {rack_power: 100kW}\npools: [{name: train, server: hgx-h100, count: 8, unit: 4}]\n"
      "fabrics:\n  backend: {leaf: sn5600, spine: arista-7060x6-64pe, system: cumulus, tiers: 2}\n"
      "  frontend: {subnets: [10.20.0.0/16]}\n");
  ASSERT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
  int spines = 0;
  for (const DeviceGroup& group : loaded->cluster->groups()) {
    const std::string_view system = loaded->cluster->switch_os_of(group);
    EXPECT_EQ(system.empty(), group.kind != DeviceKind::network_switch) << group.name;
    if (group.count > 0) {
      EXPECT_EQ(loaded->cluster->switch_os_of(group.first), system);
    }
    if (group.kind != DeviceKind::network_switch || group.fabric != FabricKind::backend) continue;
    EXPECT_EQ(system, group.tier == Tier::spine ? "eos" : "cumulus") << group.name;
    spines += group.tier == Tier::spine ? 1 : 0;
  }
  EXPECT_EQ(spines, 1);
}

// The default address plan: rails A and B in 10.60/16 and 10.61/16, storage in 10.70/16, frontend in 10.20.50.0/24.
TEST(Cluster, DefaultSubnetsFollowThePlan) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const Cluster& cluster = *loaded->cluster;
  const auto address = [&](const char* port) { return to_text(cluster.port(cluster.find_port(port)).address); };
  EXPECT_EQ(address("train001:be1").substr(0, 6), "10.60.");
  EXPECT_EQ(address("train001:be2").substr(0, 6), "10.61.");
  EXPECT_EQ(address("train001:be8").substr(0, 6), "10.67.");
  EXPECT_EQ(address("train001:sto1").substr(0, 6), "10.70.");
  EXPECT_EQ(address("train001:sto2").substr(0, 6), "10.71.");
  EXPECT_EQ(address("train001:fe1").substr(0, 9), "10.20.50.");
  EXPECT_EQ(address("train001:fe2"), "0.0.0.0") << "bonded with fe1";
  // A host has the same number on every rail.
  EXPECT_EQ(address("train017:be1").substr(6), address("train017:be5").substr(6));
}

TEST(Cluster, SuppliesAreSpreadOverFeeds) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const Cluster& cluster = *loaded->cluster;
  const DeviceId server = cluster.find_device("train001");
  EXPECT_EQ(cluster.feed_of_psu(server, 0), 0);
  EXPECT_EQ(cluster.feed_of_psu(server, 1), 1);
  EXPECT_EQ(cluster.feed_of_psu(server, 2), 0);
  // Members of the quorum are in different racks.
  EXPECT_NE(cluster.device(cluster.find_device("infra001")).rack, cluster.device(cluster.find_device("infra002")).rack);
  EXPECT_NE(cluster.device(cluster.find_device("infra002")).rack, cluster.device(cluster.find_device("infra003")).rack);
}

TEST(Cluster, OverridesMoveCablesAndAddresses) {
  const char* text =
      "weft: 1\nname: odd\nsite: {rack_power: 100kW}\npools:\n"
      "  - name: train\n    server: hgx-h100\n    count: 16\n    unit: 8\n    per_rack: 4\n"
      "    overrides:\n"
      "      - {hosts: train003, addresses: {be1: 10.60.0.14}, labels: {repair: \"true\"}}\n"
      "      - {hosts: train005, server: hgx-h200, rack: train-r001}\n"
      "fabrics: {backend: {leaf: sn5600}, frontend: {subnets: [10.20.0.0/16]}}\n"
      "cables:\n  - {from: \"train001:be1\", to: \"be-train-u001-leaf1:p2/2\", length: 20m}\n";
  const auto loaded = load_cluster_text("odd.yaml", text);
  ASSERT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
  const Cluster& cluster = *loaded->cluster;
  const PortId moved = cluster.find_port("train001:be1");
  EXPECT_EQ(cluster.full_port_name(cluster.peer_of(moved)), "be-train-u001-leaf1:p2/2");
  EXPECT_GE(cluster.cable(cluster.cable_of(moved)).length_mm, 20000U);
  // The cable that was there has been swapped with it.
  EXPECT_EQ(cluster.full_port_name(cluster.peer_of(cluster.find_port("train004:be1"))), "be-train-u001-leaf1:p1/1");
  EXPECT_EQ(to_text(cluster.port(cluster.find_port("train003:be1")).address), "10.60.0.14");
  EXPECT_EQ(cluster.server_of(cluster.find_device("train005")).id->text, "hgx-h200");
  EXPECT_EQ(cluster.rack(cluster.device(cluster.find_device("train005")).rack).name, "train-r001");
}

// Split connects GPU servers to the backend only, converged to all fabrics; every device is on out-of-band.
TEST(Cluster, ProfilesDecideMembership) {
  for (const bool split : {true, false}) {
    const std::string text = std::string("weft: 1\nname: p\nprofile: ") + (split ? "split" : "converged") +
                             "\npools:\n  - {name: train, server: hgx-h100, count: 8}\n"
                             "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
                             "  - {name: store, role: storage, server: storage-nvme-2u, count: 4}\n"
                             "fabrics: {frontend: {subnets: [10.20.0.0/16]}}\n";
    const auto loaded = load_cluster_text("p.yaml", text);
    ASSERT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
    const Cluster& cluster = *loaded->cluster;
    const auto on = [&](const char* host, FabricKind fabric) {
      for (const PortId id : cluster.ports_of(cluster.find_device(host))) {
        if (cluster.port(id).fabric == fabric) return true;
      }
      return false;
    };
    EXPECT_TRUE(on("train001", FabricKind::backend));
    EXPECT_EQ(on("train001", FabricKind::storage), !split);
    EXPECT_EQ(on("train001", FabricKind::frontend), !split);
    EXPECT_TRUE(on("infra001", FabricKind::frontend));
    EXPECT_EQ(on("infra001", FabricKind::storage), split);
    EXPECT_TRUE(on("store001", FabricKind::storage));
    EXPECT_FALSE(on("store001", FabricKind::frontend));
    EXPECT_FALSE(on("store001", FabricKind::backend));
    for (const char* host : {"train001", "infra001", "store001"}) EXPECT_TRUE(on(host, FabricKind::oob)) << host;
  }
}

}  // namespace
}  // namespace weft::model
