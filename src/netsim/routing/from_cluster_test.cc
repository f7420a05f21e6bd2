#include "netsim/network/from_cluster.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/test_places.h"
#include "model/load.h"
#include "netsim/routing/routing.h"

namespace weft::netsim {
namespace {

std::unique_ptr<model::Loaded> example(const std::string& name) {
  return model::load_cluster(source_dir() + "/examples/" + name, {});
}

Network network_or_fail(const model::Cluster& cluster, model::FabricKind fabric, bool scale_up = true) {
  ClusterNetworkOptions options;
  options.fabric = fabric;
  options.scale_up = scale_up;
  Result<Network> network = network_of(cluster, options);
  EXPECT_TRUE(network.ok()) << (network.ok() ? "" : network.error().text());
  return network.ok() ? std::move(network).value() : Network();
}

std::map<int, std::uint32_t> switches_by_tier(const Network& network) {
  std::map<int, std::uint32_t> count;
  for (const Node& node : network.nodes()) {
    if (node.kind == NodeKind::network_switch && !node.scale_up) ++count[node.tier];
  }
  return count;
}

// The network matches the plan: switches by tier, cables by role.
TEST(NetworkFromCluster, CountsMatchThePlan) {
  for (const char* file : {"pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml"}) {
    const auto loaded = example(file);
    ASSERT_TRUE(loaded->cluster) << file;
    for (const model::FabricKind kind :
         {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend}) {
      const model::FabricPlan& plan = loaded->cluster->fabric(kind);
      ASSERT_TRUE(plan.present);
      const Network network = network_or_fail(*loaded->cluster, kind, false);
      std::map<int, std::uint32_t> tiers;
      if (plan.leaves > 0) tiers[1] = plan.leaves;
      if (plan.spines > 0) tiers[2] = plan.spines;
      if (plan.cores > 0) tiers[3] = plan.cores;
      EXPECT_EQ(switches_by_tier(network), tiers) << file << " " << model::to_text(kind);
      EXPECT_EQ(network.links().size(),
                2U * (plan.host_links + plan.leaf_spine_links + plan.spine_core_links + plan.peer_links))
          << file << " " << model::to_text(kind);
      for (const Link& link : network.links()) {
        ASSERT_NE(link.port, model::kNone<model::PortId>);
        ASSERT_GT(link.rate.count(), 0);
      }
    }
  }
}

// 127 systems of 8 GPUs; rails of 400 Gb/s to Quantum-2 leaves; NVLink of 900 GB/s in both directions together.
TEST(NetworkFromCluster, SuperPodBackendHasAnEndpointForEveryGpu) {
  const auto loaded = example("superpod-h100-4su.yaml");
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const Network network = network_or_fail(cluster, model::FabricKind::backend);
  ASSERT_EQ(network.endpoints().size(), 127U * 8U);
  EXPECT_EQ(network.name_of(network.endpoints()[0]), "dgx001:gpu0");
  EXPECT_EQ(network.name_of(network.endpoints()[8 * 126 + 7]), "dgx127:gpu7");
  EXPECT_EQ(network.node(network.endpoints()[17]).group, 2U);
  EXPECT_EQ(network.node(network.endpoints()[17]).device, cluster.find_device("dgx003"));

  const NodeId gpu3 = network.find_node("dgx001:gpu3");
  ASSERT_EQ(network.out_links(gpu3).size(), 2U);
  for (const LinkId id : network.out_links(gpu3)) {
    const Link& link = network.link(id);
    const Node& next = network.node(link.to);
    if (next.scale_up) {
      EXPECT_EQ(link.rate, gigabits(3600));
      EXPECT_EQ(network.name_of(link.to), "dgx001:nvlink");
      EXPECT_EQ(network.out_links(link.to).size(), 8U);
      continue;
    }
    EXPECT_EQ(link.rate, gigabits(400));
    EXPECT_EQ(cluster.full_port_name(link.port), "dgx001:be4") << "ports count from 1, GPUs from 0";
    EXPECT_EQ(cluster.device(next.device).rail, 3U);
    EXPECT_EQ(next.tier, 1U);
    const model::Cable& cable = cluster.cable(cluster.cable_of(link.port));
    // 198,000 km/s on the cable, then 130 ns through a Quantum switch, or 600 ns into a NIC.
    const double on_cable = cable.length_mm / 198'000'000'000.0 * 1e12;
    EXPECT_NEAR(static_cast<double>(link.delay.count()), on_cable + 130e3, 1);
    EXPECT_NEAR(static_cast<double>(network.link(link.reverse).delay.count()), on_cable + 600e3, 1);
    EXPECT_EQ(network.buffer_of(link.to).total, cluster.catalog().switch_model("qm9700")->buffer.value);
  }
}

// Same rail under one leaf group: two links. Same host: NVLink. Another rail of another host: through a spine.
TEST(NetworkFromCluster, PathsMatchARailOptimizedFabric) {
  const auto loaded = example("superpod-h100-4su.yaml");
  ASSERT_TRUE(loaded->cluster);
  const Network network = network_or_fail(*loaded->cluster, model::FabricKind::backend);
  Routes routes(network, {});
  const auto hops = [&](const char* from, const char* to) {
    std::vector<LinkId> path;
    routes.path(flow_key(network, network.find_node(from), network.find_node(to), 0, 1), path);
    return path.size();
  };
  EXPECT_EQ(hops("dgx001:gpu0", "dgx001:gpu5"), 2U);
  EXPECT_EQ(hops("dgx001:gpu0", "dgx002:gpu0"), 2U);
  EXPECT_EQ(hops("dgx001:gpu0", "dgx002:gpu1"), 4U);
  EXPECT_EQ(hops("dgx001:gpu0", "dgx127:gpu0"), 4U);
}

TEST(NetworkFromCluster, OtherFabricsHaveAnEndpointForEveryServer) {
  const auto loaded = example("pod16.yaml");
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const Network network = network_or_fail(cluster, model::FabricKind::storage);
  const NodeId server = network.find_node("train001");
  ASSERT_NE(server, model::kNone<NodeId>);
  std::size_t ports = 0;
  for (const model::PortId port : cluster.ports_of(cluster.find_device("train001"))) {
    ports += cluster.port(port).fabric == model::FabricKind::storage ? 1U : 0U;
  }
  EXPECT_GT(ports, 1U);
  EXPECT_EQ(network.out_links(server).size(), ports);
  EXPECT_NE(network.find_node("flash001"), model::kNone<NodeId>);
  for (const Node& node : network.nodes()) EXPECT_FALSE(node.scale_up);
}

// Inference servers without backend links have no endpoints there.
TEST(NetworkFromCluster, ServersWithoutPortsOnTheFabricAreNotOnIt) {
  const auto loaded = example("pod16.yaml");
  ASSERT_TRUE(loaded->cluster);
  const Network network = network_or_fail(*loaded->cluster, model::FabricKind::backend);
  EXPECT_EQ(network.endpoints().size(), 16U * 8U);
  EXPECT_EQ(network.find_node("infer001:gpu0"), model::kNone<NodeId>);
}

TEST(NetworkFromCluster, EveryPairOfEveryFabricHasAPath) {
  const auto loaded = example("pod32.yaml");
  ASSERT_TRUE(loaded->cluster);
  for (const model::FabricKind kind :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob}) {
    const Network network = network_or_fail(*loaded->cluster, kind);
    ASSERT_GT(network.endpoints().size(), 1U);
    const Routes routes(network, {});
    for (const NodeId a : network.endpoints()) {
      for (const NodeId b : network.endpoints()) {
        if (a == b) continue;
        ASSERT_FALSE(routes.next_links(a, b).empty()) << network.name_of(a) << " to " << network.name_of(b);
      }
    }
  }
}

std::unique_ptr<model::Loaded> cluster_of(const std::string& server, int count, const std::string& pool_more,
                                          const std::string& backend) {
  return model::load_cluster_text(
      "test.yaml", "weft: 1\nname: test\nprofile: converged\npools:\n  - {name: train, role: training, server: " +
                       server + ", count: " + std::to_string(count) + pool_more +
                       "}\n  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
                       "fabrics:\n  backend: {" +
                       backend + "}\n");
}

std::string problems_of(const model::Loaded& loaded) {
  std::string text;
  for (const Diagnostic& d : loaded.diagnostics.sorted()) text += d.message + "\n";
  return text;
}

// Two planes: each 400G cage is split, and its two halves go to leaves of different planes.
TEST(NetworkFromCluster, PlanesGiveAGpuTwoLinks) {
  const auto loaded = cluster_of("dgx-b300", 8, "", "planes: 2");
  ASSERT_TRUE(loaded->cluster) << problems_of(*loaded);
  const Network network = network_or_fail(*loaded->cluster, model::FabricKind::backend, false);
  ASSERT_EQ(network.endpoints().size(), 64U);
  std::set<std::uint16_t> planes;
  for (const LinkId link : network.out_links(network.endpoints()[9])) {
    planes.insert(loaded->cluster->device(network.node(network.link(link).to).device).plane);
  }
  EXPECT_EQ(planes.size(), 2U);
  Routes routes(network, {});
  EXPECT_EQ(routes.next_links(network.endpoints()[0], network.endpoints()[60]).size(), 2U);
}

// Half of the ports cabled: two GPUs per NIC, which is between them and the leaf.
TEST(NetworkFromCluster, GpusWithoutAPortShareANeighborsPort) {
  const auto loaded = cluster_of("hgx-h100", 4, ", links: {backend: 4}", "");
  ASSERT_TRUE(loaded->cluster) << problems_of(*loaded);
  const Network network = network_or_fail(*loaded->cluster, model::FabricKind::backend, false);
  ASSERT_EQ(network.endpoints().size(), 32U);
  std::uint32_t nics = 0;
  for (const Node& node : network.nodes()) nics += node.kind == NodeKind::network_switch && node.tier == 0 ? 1U : 0U;
  EXPECT_EQ(nics, 16U);
  Routes routes(network, {});
  std::vector<LinkId> path;
  ASSERT_TRUE(routes.path(flow_key(network, network.endpoints()[0], network.endpoints()[31], 0, 1), path));
  EXPECT_EQ(network.name_of(network.link(path.front()).to), "train001:be1:nic");
  EXPECT_EQ(network.link(path.front()).rate.count(), 32'000'000'000LL * 16 / 130 * 128) << "PCIe 5.0 x16";
}

// NVL72: eighteen servers of four GPUs form one NVLink domain.
TEST(NetworkFromCluster, AnNvlinkDomainMaySpanServers) {
  const auto loaded = cluster_of("gb200-nvl72-tray", 36, ", per_rack: 18", "");
  ASSERT_TRUE(loaded->cluster) << problems_of(*loaded);
  const Network network = network_or_fail(*loaded->cluster, model::FabricKind::backend);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    if (network.nodes()[i].scale_up) sizes.push_back(network.out_links(static_cast<NodeId>(i)).size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{72, 72}));
}

TEST(NetworkFromCluster, MissingFabricIsAnError) {
  const auto loaded = cluster_of("hgx-h100", 4, ", links: {backend: 0}", "");
  ASSERT_TRUE(loaded->cluster) << problems_of(*loaded);
  const Result<Network> network = network_of(*loaded->cluster, {});
  ASSERT_FALSE(network.ok());
  EXPECT_NE(network.error().message.find("backend"), std::string::npos);
}

}  // namespace
}  // namespace weft::netsim
