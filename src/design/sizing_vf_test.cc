#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/sizing.h"
#include "model/load.h"

namespace weft::design {
namespace {

using testing::Contains;
using testing::HasSubstr;

const TableSection& table(const Document& document, std::string_view key) {
  static const TableSection kNone;
  for (const auto& section : document.sections) {
    const auto* found = std::get_if<TableSection>(&section);
    if (found != nullptr && found->key == key) return *found;
  }
  ADD_FAILURE() << "no table " << key;
  return kNone;
}

std::int64_t number(const TableSection& section, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < section.columns.size(); ++i) {
    if (section.columns[i].key == column) return std::get<std::int64_t>(section.rows.at(row).at(i).value);
  }
  ADD_FAILURE() << "no column " << column;
  return -1;
}

std::unique_ptr<model::Loaded> load(const std::string& pools) {
  auto loaded = model::load_cluster_text(
      "t.yaml", "weft: 1\nname: t\nfabrics: {frontend: {subnets: [10.20.0.0/16]}}\npools:\n" + pools);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

// The appendix's example: 256 nodes of eight GPUs, two backend and two storage rails, one training pod per node.
TEST(VirtualFunctions, TwoBackendAndTwoStorageForOnePodPerNode) {
  const auto loaded = load("  - {name: train, server: dell-xe9680, count: 256, links: {backend: 2, storage: 2}}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = vf_view(*loaded->cluster);
  const TableSection& pools = table(view, "pools");
  EXPECT_EQ(number(pools, 0, "pods"), 256);
  EXPECT_EQ(number(pools, 0, "gpus_per_pod"), 8);
  EXPECT_EQ(number(pools, 0, "backend_vfs_per_pod"), 2);
  EXPECT_EQ(number(pools, 0, "storage_vfs_per_pod"), 2);
  EXPECT_EQ(number(pools, 0, "vfs_per_node"), 4);
  EXPECT_EQ(number(pools, 0, "vfs"), 1024);
  // Fewer rails than GPUs: every pod of 2 x 4 and 8 x 1 gets its own functions on both rails.
  const TableSection& ways = table(view, "alternatives");
  ASSERT_EQ(ways.rows.size(), 3U);
  EXPECT_EQ(number(ways, 1, "pods"), 512);
  EXPECT_EQ(number(ways, 1, "vfs_per_pod"), 4);
  EXPECT_EQ(number(ways, 1, "backend_vfs_per_port"), 2);
  EXPECT_EQ(number(ways, 2, "pods"), 2048);
  EXPECT_EQ(number(ways, 2, "vfs_per_node"), 32);
  EXPECT_EQ(number(ways, 2, "storage_vfs_per_port"), 8);
  EXPECT_EQ(number(ways, 2, "addresses"), 32 * 256);
}

TEST(VirtualFunctions, PodUsesTheRailsOfItsOwnGpus) {
  const auto loaded = load("  - {name: train, server: hgx-h100, count: 4, pods_per_node: 2}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = vf_view(*loaded->cluster);
  EXPECT_EQ(number(table(view, "pools"), 0, "backend_vfs_per_pod"), 4);
  const TableSection& ways = table(view, "alternatives");
  EXPECT_EQ(number(ways, 0, "vfs_per_pod"), 8 + 2);
  EXPECT_EQ(number(ways, 2, "vfs_per_pod"), 1 + 2);
  EXPECT_EQ(number(ways, 2, "backend_vfs_per_port"), 1);
  EXPECT_EQ(number(ways, 2, "storage_vfs_per_port"), 8);
}

TEST(VirtualFunctions, CountsAddressesOnEachRail) {
  const auto loaded = load("  - {name: train, server: hgx-h100, count: 4}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = vf_view(*loaded->cluster);
  const TableSection& rails = table(view, "addresses");
  ASSERT_EQ(rails.rows.size(), 8U + 2U);
  for (std::size_t rail = 0; rail < 10; ++rail) {
    EXPECT_EQ(number(rails, rail, "ports"), 4) << rail;
    EXPECT_EQ(number(rails, rail, "vfs"), 4) << rail;
    EXPECT_EQ(number(rails, rail, "free"), 65'536 - 8) << rail;
  }
}

TEST(VirtualFunctions, InferenceReplicasUseNone) {
  const auto loaded = load("  - {name: infer, role: inference, server: hgx-h100, count: 2, mig: {1g.10gb: 7}}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = vf_view(*loaded->cluster);
  EXPECT_EQ(number(table(view, "pools"), 0, "pods"), 2 * 8 * 7);
  EXPECT_EQ(number(table(view, "pools"), 0, "vfs"), 0);
  EXPECT_THAT(view.notes, Contains(HasSubstr("and no virtual functions")));
}

TEST(VirtualFunctions, ReportsPodsThatDoNotDivideTheGpus) {
  const auto loaded = load("  - {name: train, server: hgx-h100, count: 2, pods_per_node: 3}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  EXPECT_THAT(vf_view(*loaded->cluster).notes, Contains(HasSubstr("3 pods per node do not divide 8 GPUs")));
}

TEST(VirtualFunctions, ClusterWithoutGpusGetsANote) {
  const auto loaded = load("  - {name: cpu, role: cpu, server: cpu-2u, count: 2}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  EXPECT_THAT(vf_view(*loaded->cluster).notes, Contains(HasSubstr("has GPUs")));
}

}  // namespace
}  // namespace weft::design
