#include "health/readers/text_table.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::health {
namespace {

TEST(TextTable, NumbersTextsInTheirOrder) {
  TextTable table;
  EXPECT_EQ(table.find("a"), std::nullopt);
  EXPECT_EQ(table.add("a"), 0U);
  EXPECT_EQ(table.add(""), 1U);
  EXPECT_EQ(table.add("a"), 0U);
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.bytes(), 1U);
  EXPECT_EQ(table.find(""), 1U);
  EXPECT_EQ(table.at(0), "a");
  EXPECT_EQ(table.at(1), "");
}

TEST(TextTable, FindsManyTextsAgain) {
  TextTable table;
  for (std::uint32_t i = 0; i < 10'000; ++i) EXPECT_EQ(table.add(std::to_string(i * 7)), i);
  table.shrink_to_fit();
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    EXPECT_EQ(table.find(std::to_string(i * 7)), i);
    EXPECT_EQ(table.at(i), std::to_string(i * 7));
  }
  EXPECT_EQ(table.find("8"), std::nullopt);
}

}  // namespace
}  // namespace weft::health
