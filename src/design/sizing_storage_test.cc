#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/sizing.h"
#include "model/load.h"

namespace weft::design {
namespace {

const ThroughputNeed& rule(const std::vector<ThroughputNeed>& needs, std::string_view part) {
  for (const ThroughputNeed& need : needs) {
    if (need.rule.find(part) != std::string::npos) return need;
  }
  ADD_FAILURE() << "no rule " << part;
  return needs.front();
}

Bytes gb(double value) { return Bytes(static_cast<std::int64_t>(value * 1e9)); }

// The table of the throughput equation: 8, 64 and 256 GPUs.
TEST(StorageNeeds, FieldGuideRows) {
  struct Row {
    std::int64_t gpus;
    double minimum;
    double recommended;
  };
  for (const Row& row : {Row{8, 80, 120}, Row{64, 640, 1000}, Row{256, 2500, 4000}}) {
    const auto needs = storage_needs(row.gpus, row.gpus / 8, model::DataClass::better);
    EXPECT_EQ(rule(needs, "throughput equation, minimum").read, gb(row.minimum)) << row.gpus;
    EXPECT_EQ(rule(needs, "throughput equation, recommended").read, gb(row.recommended)) << row.gpus;
  }
  // Beyond the table proportional to its last row; below it to its first: 10 and 15 GB/s per GPU.
  EXPECT_EQ(rule(storage_needs(1024, 128, model::DataClass::good), "minimum").read, gb(10'000));
  EXPECT_EQ(rule(storage_needs(1024, 128, model::DataClass::good), "recommended").read, gb(16'000));
  EXPECT_EQ(rule(storage_needs(4, 1, model::DataClass::good), "minimum").read, gb(40));
}

// NVIDIA DGX SuperPOD H100 RA-11333-001 V11, table 6.
TEST(StorageNeeds, SuperPodTableSix) {
  struct Row {
    model::DataClass data;
    std::int64_t nodes;
    double read;
    double write;
  };
  for (const Row& row : {Row{model::DataClass::good, 1, 4, 2}, Row{model::DataClass::good, 32, 15, 7},
                         Row{model::DataClass::good, 128, 60, 30}, Row{model::DataClass::better, 1, 8, 4},
                         Row{model::DataClass::better, 32, 40, 20}, Row{model::DataClass::better, 128, 160, 80},
                         Row{model::DataClass::best, 1, 40, 20}, Row{model::DataClass::best, 32, 125, 62},
                         Row{model::DataClass::best, 128, 500, 250}}) {
    const auto needs = storage_needs(row.nodes * 8, row.nodes, row.data);
    EXPECT_EQ(rule(needs, "SuperPOD").read, gb(row.read)) << row.nodes;
    EXPECT_EQ(rule(needs, "SuperPOD").write, gb(row.write)) << row.nodes;
  }
  // Halfway between 1 and 4 SU, and twice 4 SU.
  EXPECT_EQ(rule(storage_needs(640, 80, model::DataClass::better), "SuperPOD").read, gb(100));
  EXPECT_EQ(rule(storage_needs(2048, 256, model::DataClass::best), "SuperPOD").write, gb(500));
}

TEST(StorageNeeds, PosixRuleIsTwoToThreeGigabytesPerNode) {
  const auto needs = storage_needs(1024, 128, model::DataClass::better);
  EXPECT_EQ(rule(needs, "POSIX, lower").read, gb(256));
  EXPECT_EQ(rule(needs, "POSIX, upper").read, gb(384));
}

// batch x record / computation time at the AU threshold: 2859, 184 and 566 MB/s for one H100.
TEST(StorageNeeds, MlperfPerAccelerator) {
  const auto needs = storage_needs(1, 1, model::DataClass::better);
  EXPECT_EQ(rule(needs, "unet3d").read.count() / 1'000'000, 2859);
  EXPECT_EQ(rule(needs, "resnet50").read.count() / 1'000'000, 184);
  EXPECT_EQ(rule(needs, "cosmoflow").read.count() / 1'000'000, 565);
  EXPECT_NEAR(static_cast<double>(rule(needs, "cosmoflow").read.count()), 2828486.0 / 0.0035 * 0.70, 1.0);
  EXPECT_EQ(rule(storage_needs(1000, 125, model::DataClass::better), "unet3d").read, rule(needs, "unet3d").read * 1000);
}

// A 1T checkpoint (18 TB on 1024 GPUs) in 90 s needs 200 GB/s.
TEST(StorageNeeds, CheckpointsOfPublishedModels) {
  EXPECT_EQ(rule(storage_needs(1024, 128, model::DataClass::better), "checkpoint").write, gb(200));
  EXPECT_EQ(rule(storage_needs(64, 8, model::DataClass::better), "checkpoint").write, Bytes(912'000'000'000 / 90));
  EXPECT_EQ(rule(storage_needs(16'384, 2048, model::DataClass::better), "checkpoint").write,
            gb(200));  // no larger model
}

TEST(StorageNeeds, EveryRuleNamesItsSource) {
  const auto needs = storage_needs(8, 1, model::DataClass::good);
  ASSERT_FALSE(needs.empty());
  for (const ThroughputNeed& need : needs) {
    EXPECT_FALSE(need.rule.empty());
    EXPECT_FALSE(need.source.empty());
    EXPECT_GT(need.read.count() + need.write.count(), 0);
  }
}

const TableSection* find_table(const Document& document, std::string_view key) {
  for (const auto& section : document.sections) {
    const auto* table = std::get_if<TableSection>(&section);
    if (table != nullptr && table->key == key) return table;
  }
  return nullptr;
}

const Cell* find_cell(const TableSection& table, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == column) return &table.rows.at(row).at(i);
  }
  ADD_FAILURE() << "no column " << column;
  return nullptr;
}

std::string cluster_text(int storage_servers, const std::string& more) {
  return "weft: 1\nname: t\npools:\n"
         "  - {name: train, server: hgx-h100, count: 32}\n"
         "  - {name: sto, role: storage, server: storage-nvme-2u, count: " +
         std::to_string(storage_servers) +
         "}\n"
         "fabrics: {storage: {storage_breakout: 2x200G}}\n"
         "storage:\n"
         "  - {name: data, kind: lustre, pool: sto}\n" +
         more;
}

// 32 nodes of class "better" need 40 GB/s read and 20 GB/s write. One storage-nvme-2u reads 80 and writes 40.
TEST(StorageView, BoundByServersWhenLinksAreAmple) {
  const auto loaded =
      model::load_cluster_text("t.yaml", cluster_text(1, "workload: {checkpoint: 5.4TB, working_set: 40TB}\n"));
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const Document view = storage_view(*loaded->cluster);
  const TableSection* systems = find_table(view, "systems");
  ASSERT_NE(systems, nullptr);
  EXPECT_EQ(std::get<std::int64_t>(find_cell(*systems, 0, "read_bytes_per_s")->value), 80'000'000'000);
  EXPECT_EQ(std::get<std::string>(find_cell(*systems, 0, "read_bound")->value), "servers");
  // 4 x 200G = 100 GB/s on one server; 32 nodes x 2 x 200G = 1.6 TB/s at the clients.
  EXPECT_EQ(std::get<std::int64_t>(find_cell(*systems, 0, "server_links_bytes_per_s")->value), 100'000'000'000);
  EXPECT_EQ(std::get<std::int64_t>(find_cell(*systems, 0, "client_links_bytes_per_s")->value), 1'600'000'000'000);
  // 5.4 TB in 90 s is 60 GB/s; 40 are delivered: one more server of 40 GB/s.
  EXPECT_THAT(view.notes, testing::Contains(testing::AllOf(testing::HasSubstr("Write: 40GB/s delivered of 60GB/s"),
                                                           testing::HasSubstr("add 1 storage-nvme-2u"))));
  EXPECT_THAT(view.notes, testing::Not(testing::Contains(testing::HasSubstr("Read: "))));
  // 30.72 TB of NVMe for a working set of 40 TB.
  EXPECT_THAT(view.notes, testing::Contains(testing::HasSubstr("9.28TB per node smaller than the working set")));
  // 10 GB/s x 8 GPUs = 80 GB/s per node over 2 x 200G = 50 GB/s.
  EXPECT_THAT(view.notes, testing::Contains(testing::AllOf(testing::HasSubstr("80GB/s per node of train"),
                                                           testing::HasSubstr("links carry 50GB/s"))));
}

TEST(StorageView, BoundByServerLinksWhenTheStatedRateIsHigher) {
  const auto stated = model::load_cluster_text("t.yaml",
                                               "weft: 1\nname: t\npools:\n"
                                               "  - {name: train, server: hgx-h100, count: 32}\n"
                                               "  - {name: sto, role: storage, server: storage-nvme-2u, count: 1}\n"
                                               "fabrics: {storage: {storage_breakout: 2x200G}}\n"
                                               "storage: [{name: data, pool: sto, read: 400GB/s, write: 1GB/s}]\n");
  ASSERT_NE(stated->cluster, nullptr) << render_all(stated->diagnostics, stated->sources, false);
  const Document view = storage_view(*stated->cluster);
  const TableSection* systems = find_table(view, "systems");
  ASSERT_NE(systems, nullptr);
  EXPECT_EQ(std::get<std::int64_t>(find_cell(*systems, 0, "read_bytes_per_s")->value), 100'000'000'000);
  EXPECT_EQ(std::get<std::string>(find_cell(*systems, 0, "read_bound")->value), "server links");
  EXPECT_EQ(std::get<std::string>(find_cell(*systems, 0, "write_bound")->value), "stated figure");
}

TEST(StorageView, ReportsWhenNoStorageFeedsTheGpus) {
  const auto loaded =
      model::load_cluster_text("t.yaml", "weft: 1\nname: t\npools:\n  - {name: train, server: hgx-h100, count: 2}\n");
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const Document view = storage_view(*loaded->cluster);
  EXPECT_THAT(view.notes, testing::Contains(testing::HasSubstr("No storage system of this cluster serves the GPUs")));
  EXPECT_EQ(find_table(view, "systems"), nullptr);
}

}  // namespace
}  // namespace weft::design
