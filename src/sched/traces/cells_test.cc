#include <gtest/gtest.h>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

TEST(TraceCells, Decimals) {
  EXPECT_EQ(parse_decimal("12", 0), 12);
  EXPECT_EQ(parse_decimal("-12", 3), -12'000);
  EXPECT_EQ(parse_decimal("1.5", 3), 1500);
  EXPECT_EQ(parse_decimal("0.0019", 3), 1);
  EXPECT_EQ(parse_decimal(".25", 3), 250);
  EXPECT_EQ(parse_decimal("3.", 3), 3000);
  EXPECT_EQ(parse_decimal("000000000000000000000000007", 0), 7);
  EXPECT_EQ(parse_decimal("999999999999999999", 0), 999'999'999'999'999'999);
  for (const char* text : {"", "-", ".", "1e3", "1,5", " 1", "0x1", "1.2.3", "1000000000000000000", "inf", "--1"}) {
    EXPECT_EQ(parse_decimal(text, 0), std::nullopt) << text;
  }
  EXPECT_EQ(parse_decimal("1000000000000000", 3), std::nullopt);  // 19 digits including the thousandths
}

// Seconds since 1970, as computed by Python's datetime.
TEST(TraceCells, Times) {
  constexpr std::int64_t second = 1'000'000'000;
  EXPECT_EQ(parse_time("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_time("2017-09-04 10:30:41"), 1'504'521'041 * second);
  EXPECT_EQ(parse_time("2020-06-09T18:41:01Z"), 1'591'728'061 * second);
  EXPECT_EQ(parse_time("2023-03-01 00:18:22+08:00"), 1'677'601'102 * second);
  EXPECT_EQ(parse_time("2023-05-17 11:00:58+0000"), 1'684'321'258 * second);
  EXPECT_EQ(parse_time("2000-02-29 23:59:59"), 951'868'799 * second);
  EXPECT_EQ(parse_time("2100-03-01"), 4'107'542'400 * second);
  EXPECT_EQ(parse_time("1970-01-01 00:01"), 60 * second);
  EXPECT_EQ(parse_time("1970-01-01 00:00:00.25-01:30"), 5'400 * second + second / 4);
  for (const char* text : {"", "2017", "2017-9-4", "2017-02-29 00:00:00", "2100-02-29", "2017-13-01", "2017-00-01",
                           "2017-01-00", "2017-01-01 24:00:00", "2017-01-01 00:60:00", "2017-01-01 00:00:61",
                           "2017-01-01 00:00:00.", "2017-01-01 00:00:00+", "2017-01-01 00:00:00+15:00",
                           "2017-01-01 00:00:00 x", "2017-01-01 ", "1969-12-31", "2201-01-01", "2017/01/01"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(TraceCells, EveryDayFollowsTheOneBefore) {
  constexpr std::int64_t day = 86'400LL * 1'000'000'000;
  std::int64_t expected = 0;
  for (int year = 1970; year <= 2200; ++year) {
    for (int month = 1; month <= 12; ++month) {
      for (int of_month = 1; of_month <= 31; ++of_month) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, of_month);
        const std::optional<std::int64_t> time = parse_time(text);
        if (!time) continue;
        ASSERT_EQ(*time, expected) << text;
        expected += day;
      }
    }
  }
  EXPECT_EQ(expected / day, 84'371);  // 231 years, 56 of them leap years (1972 to 2196 by four, less 2100 and 2200)
}

TEST(TraceCells, SplitsGpusIntoEqualTasks) {
  const auto split = [](std::int32_t gpus, std::int32_t node) {
    const Split found = split_gpus(gpus, node);
    return std::pair(found.tasks, found.gpus);
  };
  EXPECT_EQ(split(5, 8), std::pair(1, 5));
  EXPECT_EQ(split(8, 8), std::pair(1, 8));
  EXPECT_EQ(split(16, 8), std::pair(2, 8));
  EXPECT_EQ(split(12, 8), std::pair(2, 6));
  EXPECT_EQ(split(11, 8), std::pair(11, 1));
  EXPECT_EQ(split(12, 4), std::pair(3, 4));
  for (std::int32_t gpus = 1; gpus < 300; ++gpus) {
    for (std::int32_t node = 1; node <= kMaxGpus; ++node) {
      const auto [tasks, each] = split(gpus, node);
      EXPECT_EQ(tasks * each, gpus);
      EXPECT_LE(each, node);
      for (std::int32_t more = each + 1; more <= node; ++more) EXPECT_NE(gpus % more, 0) << gpus << " on " << node;
    }
  }
}

}  // namespace
}  // namespace weft::sched
