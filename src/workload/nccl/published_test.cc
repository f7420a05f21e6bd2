// Compares the model with published measurements; the tables, their sources and their error limits are in
// nccl/published_collectives.h. All figures are printed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "workload/nccl/published_collectives.h"

namespace weft::workload {
namespace {

TEST(NcclPublished, EveryTableWithinItsBar) {
  const CollectiveTables tables = read_published_collectives();
  ASSERT_GE(tables.all.size(), 50U);
  std::map<std::string, CollectiveErrors> groups;
  for (const auto& [table, bars] : tables.all) {
    groups[table.group].add(table);
    fmt::print("{}\n", table.name);
    for (const CollectiveRow& row : table.rows) {
      const CollectiveResult result = model_of(table, row);
      fmt::print("  {:>12.0f} B {:>10.2f} measured {:>10.2f} model {:>+6.1f} % of time  {} {} x{}\n", row.bytes,
                 row.value, result.value, 100 * (std::exp(result.off) - 1), to_text(result.choice.algorithm),
                 to_text(result.choice.protocol), result.choice.channels);
    }
  }
  for (const auto& [table, bars] : tables.all) {
    const CollectiveErrors& errors = groups[table.group];
    EXPECT_TRUE(bars.below < kNoBar || bars.above < kNoBar || bars.worst < kNoBar) << table.name;
    EXPECT_LE(errors.below(), bars.below) << table.name;
    EXPECT_LE(errors.above(), bars.above) << table.name;
    EXPECT_LE(errors.worst(), bars.worst) << table.name;
  }
}

}  // namespace
}  // namespace weft::workload
