// weft's counts compared with published component tables, all four fabrics.
#include "published.h"

#include <gtest/gtest.h>

#include "base/test_places.h"

namespace weft::published {
namespace {

void expect_equal(const std::vector<Row>& rows, std::size_t at_least) {
  EXPECT_GE(rows.size(), at_least);
  for (const Row& row : rows)
    EXPECT_EQ(row.found, row.expected) << row.source << ": " << row.design << ": " << row.quantity;
}

TEST(Published, SuperPodTable3) {
  std::vector<Row> rows;
  superpod_scale(rows);
  expect_equal(rows, 88);
}
TEST(Published, SuperPodTable4) {
  std::vector<Row> rows;
  superpod_managers(rows);
  expect_equal(rows, 20);
}
TEST(Published, SuperPodB300TwinPlanes) {
  std::vector<Row> rows;
  superpod_b300(rows);
  expect_equal(rows, 25);
}
TEST(Published, JuniperStripes) {
  std::vector<Row> rows;
  juniper_stripes(rows);
  expect_equal(rows, 9);
}
TEST(Published, SuperPodBillOfMaterials) {
  std::vector<Row> rows;
  superpod_bom(rows, source_dir());
  expect_equal(rows, 31);
}

}  // namespace
}  // namespace weft::published
