#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/load.h"

namespace weft::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Number of backend, storage, frontend and out-of-band ports of the only pool in the file.
std::vector<std::int64_t> links(const std::string& profile, const std::string& role, const std::string& server,
                                const std::string& more = {}) {
  const auto loaded = load_cluster_text(
      "cluster.yaml", fmt::format("weft: 1\nname: demo\nprofile: {}\npools:\n  - {{name: p, role: {}, server: {}, "
                                  "count: 2, unit: 2{}}}\n",
                                  profile, role, server, more));
  EXPECT_TRUE(loaded->spec) << render_all(loaded->diagnostics, loaded->sources, false);
  if (!loaded->spec) return {};
  const LinksSpec& used = loaded->spec->pools->front().links.value;
  return {used.backend.value, used.storage.value, used.frontend.value, used.oob.value};
}

// Split: GPU servers on the backend only, head nodes on frontend and storage, storage servers on storage only.
// Converged: GPU workers on frontend, 2 to 8 backend rails and 2 storage rails. Every device is on out-of-band.
TEST(Membership, OfTheSplitProfile) {
  EXPECT_THAT(links("split", "training", "hgx-h100"), ElementsAre(8, 0, 0, 1));
  EXPECT_THAT(links("split", "inference", "hgx-h100"), ElementsAre(8, 0, 0, 1));
  EXPECT_THAT(links("split", "training", "gb200-nvl72-tray"), ElementsAre(4, 0, 0, 1));
  EXPECT_THAT(links("split", "infrastructure", "login-1u"), ElementsAre(0, 2, 2, 1)) << "a head node mounts storage";
  EXPECT_THAT(links("split", "login", "login-1u"), ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(links("split", "storage", "storage-nvme-2u"), ElementsAre(0, 4, 0, 1));
}

TEST(Membership, OfTheConvergedProfile) {
  EXPECT_THAT(links("converged", "training", "hgx-h100"), ElementsAre(8, 2, 2, 1));
  EXPECT_THAT(links("converged", "inference", "dgx-h100"), ElementsAre(8, 2, 2, 1));
  EXPECT_THAT(links("converged", "training", "gb200-nvl72-tray"), ElementsAre(4, 2, 2, 1));
  EXPECT_THAT(links("converged", "infrastructure", "login-1u"), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(links("converged", "login", "login-1u"), ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(links("converged", "cpu", "cpu-2u"), ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(links("converged", "management", "control-1u"), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(links("converged", "storage", "storage-nvme-2u"), ElementsAre(0, 4, 0, 1));
}

TEST(Membership, OfAJumpHostIsOutOfBandOnly) {
  for (const char* profile : {"split", "converged"}) {
    const auto used = links(profile, "jump", "jump-1u");
    ASSERT_EQ(used.size(), 4U);
    EXPECT_EQ(used[0] + used[1] + used[2], 0);
    EXPECT_GE(used[3], 1);
  }
}

TEST(Membership, CanBeOverriddenInTheFile) {
  EXPECT_THAT(links("split", "training", "hgx-h100", ", links: {backend: 4, frontend: 1}"), ElementsAre(4, 0, 1, 1));
}

// The same as cabled: which pools are cabled to which fabric.
TEST(Membership, MatchesTheCabling) {
  for (const bool split : {true, false}) {
    const auto loaded = load_cluster_text("cluster.yaml", fmt::format(R"(
weft: 1
name: demo
profile: {}
pools:
  - {{name: gpu, server: hgx-h100, count: 4}}
  - {{name: head, role: infrastructure, server: login-1u, count: 3}}
  - {{name: store, role: storage, server: storage-nvme-2u, count: 2}}
  - {{name: jump, role: jump, server: jump-1u, count: 1}}
)",
                                                                      split ? "split" : "converged"));
    ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
    const Cluster& cluster = *loaded->cluster;
    const auto fabrics_of = [&](const char* host) {
      std::string out;
      for (const FabricKind kind : {FabricKind::backend, FabricKind::storage, FabricKind::frontend, FabricKind::oob}) {
        bool on = false;
        for (const PortId id : cluster.ports_of(cluster.find_device(host))) on = on || cluster.port(id).fabric == kind;
        out += on ? "bsfo"[static_cast<std::size_t>(kind)] : '-';
      }
      return out;
    };
    EXPECT_EQ(fabrics_of("gpu001"), split ? "b--o" : "bsfo");
    EXPECT_EQ(fabrics_of("head001"), split ? "-sfo" : "--fo");
    EXPECT_EQ(fabrics_of("store001"), "-s-o");
    EXPECT_EQ(fabrics_of("jump001"), "---o");
    for (std::size_t d = 0; d < cluster.devices().size(); ++d) {
      const auto id = static_cast<DeviceId>(d);
      const DeviceGroup& group = cluster.group_of(id);
      if (group.kind == DeviceKind::external) continue;
      EXPECT_NE(cluster.oob_address(id).bits, 0U) << cluster.name_of(id) << " is not on the out-of-band network";
      if (group.kind != DeviceKind::network_switch) continue;
      for (const PortId port : cluster.ports_of(id)) {
        const FabricKind fabric = cluster.port(port).fabric;
        EXPECT_TRUE(fabric == group.fabric || fabric == FabricKind::oob)
            << cluster.full_port_name(port) << " carries another fabric";
      }
    }
  }
}

const Spec& resolved(const Loaded& loaded) {
  EXPECT_TRUE(loaded.spec) << render_all(loaded.diagnostics, loaded.sources, false);
  static const Spec nothing;
  return loaded.spec ? *loaded.spec : nothing;
}

constexpr const char* kMinimal = "weft: 1\nname: demo\npools:\n  - {name: train, server: hgx-h100, count: 4}\n";

// The default subnets, MTUs and the VLAN.
TEST(Defaults, AreTheDocumentedValues) {
  const auto loaded = load_cluster_text("cluster.yaml", kMinimal);
  const FabricsSpec& fabrics = resolved(*loaded).fabrics.value;
  ASSERT_GE(fabrics.backend->subnets->size(), 2U);
  EXPECT_EQ(to_text(fabrics.backend->subnets.value[0]), "10.60.0.0/16");
  EXPECT_EQ(to_text(fabrics.backend->subnets.value[1]), "10.61.0.0/16");
  EXPECT_EQ(fabrics.backend->mtu.value, 9000);
  ASSERT_EQ(fabrics.storage->subnets->size(), 2U);
  EXPECT_EQ(to_text(fabrics.storage->subnets.value[0]), "10.70.0.0/16");
  EXPECT_EQ(to_text(fabrics.storage->subnets.value[1]), "10.71.0.0/16");
  EXPECT_EQ(fabrics.storage->mtu.value, 9000);
  ASSERT_EQ(fabrics.frontend->subnets->size(), 1U);
  EXPECT_EQ(to_text(fabrics.frontend->subnets->front()), "10.20.50.0/24");
  EXPECT_EQ(fabrics.frontend->mtu.value, 1500);
  EXPECT_FALSE(fabrics.frontend->qos->lossless.value);
  EXPECT_EQ(fabrics.oob->vlan.value, 999);
  EXPECT_TRUE(fabrics.backend->qos->lossless.value);
  EXPECT_NE(fabrics.backend->qos->priority.value, fabrics.storage->qos->priority.value) << "own lossless class";
}

TEST(Defaults, OfInfiniBandAreItsOwnSwitchAndMtu) {
  const auto loaded =
      load_cluster_text("cluster.yaml", std::string(kMinimal) + "fabrics: {backend: {network: infiniband}}\n");
  const FabricSpec& backend = resolved(*loaded).fabrics->backend.value;
  EXPECT_EQ(backend.leaf.value, "qm9700");
  EXPECT_EQ(backend.mtu.value, 4096);
}

// Three priority classes; separate pools for training and inference.
TEST(Defaults, OfScheduling) {
  const auto loaded = load_cluster_text(
      "cluster.yaml", std::string(kMinimal) + "  - {name: serve, role: inference, server: hgx-h100, count: 2}\n");
  const Spec& spec = resolved(*loaded);
  ASSERT_EQ(spec.priorities->size(), 3U);
  EXPECT_FALSE(spec.priorities->front().preemptible.value) << "inference is never preempted";
  ASSERT_EQ(spec.partitions->size(), 2U);
  EXPECT_EQ(spec.partitions.value[1].name->text, "serve");
  EXPECT_THAT(spec.partitions.value[1].pools.value, ElementsAre("serve"));
}

TEST(Defaults, OfStorageComeFromItsServers) {
  const auto loaded = load_cluster_text(
      "cluster.yaml",
      std::string(kMinimal) +
          "  - {name: store, role: storage, server: storage-nvme-2u, count: 3}\nstorage: [{name: fs, pool: store}]\n");
  const StorageSpec& fs = resolved(*loaded).storage->front();
  const ServerModel& server = *loaded->catalog->server("storage-nvme-2u");
  EXPECT_EQ(fs.targets.value, 3);
  EXPECT_EQ(fs.capacity.value, server.capacity.value * 3);
  EXPECT_EQ(fs.read->per_second, server.read->per_second * 3);
  EXPECT_EQ(fs.capacity.origin, Origin::derived);
}

TEST(Resolve, KeepsValuesOfTheUser) {
  const auto loaded = load_cluster_text(
      "cluster.yaml", std::string(kMinimal) + "fabrics: {backend: {mtu: 4200, vlan: 77, spine: th5-64x800}}\n");
  const FabricSpec& backend = resolved(*loaded).fabrics->backend.value;
  EXPECT_EQ(backend.mtu.value, 4200);
  EXPECT_EQ(backend.mtu.origin, Origin::file);
  EXPECT_EQ(backend.vlan.value, 77);
  EXPECT_EQ(backend.leaf.origin, Origin::derived);
  EXPECT_EQ(backend.core.value, "th5-64x800") << "the core follows the spine";
}

TEST(Resolve, FindsTheControlPlane) {
  const auto loaded =
      load_cluster_text("cluster.yaml", std::string(kMinimal) +
                                            "  - {name: heads, role: infrastructure, server: control-1u, count: 3}\n"
                                            "control_plane: {kind: both}\n");
  const ControlPlaneSpec& control = resolved(*loaded).control_plane.value;
  EXPECT_EQ(control.pool.value, "heads");
  EXPECT_EQ(control.allocator.value, Allocator::slurm) << "one source of truth when both schedule";
}

TEST(Resolve, ReportsDifferentErrorsInOneRun) {
  const auto loaded = load_cluster_text("cluster.yaml",
                                        "weft: 1\nname: demo\npools:\n  - {name: a, server: nope, count: 4}\n"
                                        "storage: [{name: fs, pool: b}]\ncontrol_plane: {etcd_members: 2}\n");
  EXPECT_FALSE(loaded->spec);
  const std::string all = render_all(loaded->diagnostics, loaded->sources, false);
  EXPECT_THAT(all, HasSubstr("unknown server `nope`"));
  EXPECT_THAT(all, HasSubstr("unknown pool `b`"));
  EXPECT_THAT(all, HasSubstr("2 etcd members"));
}

}  // namespace
}  // namespace weft::model
