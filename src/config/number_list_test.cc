#include "config/number_list.h"

#include <gtest/gtest.h>

namespace weft::config {
namespace {

TEST(NumberList, ReadsRangesAndLists) {
  EXPECT_EQ(*parse_number_list("3", 0, 7), (std::vector<int>{3}));
  EXPECT_EQ(*parse_number_list("3-4", 0, 7), (std::vector<int>{3, 4}));
  EXPECT_EQ(*parse_number_list("6, 1-3,2", 0, 7), (std::vector<int>{1, 2, 3, 6}));
}

TEST(NumberList, RejectsOtherText) {
  for (const std::string_view bad : {"", "8", "4-3", "a", "1,", "-1", "1-", "0x1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_number_list(bad, 0, 7).has_value()) << bad;
  }
}

TEST(NumberList, SplitsAtASeparator) {
  EXPECT_EQ(split_text(" a | b||c ", '|'), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split_text("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split_text("a,b,c", ',', 2), (std::vector<std::string_view>{"a", "b,c"}));
}

}  // namespace
}  // namespace weft::config
