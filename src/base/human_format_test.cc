#include "base/human_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft {
namespace {

TEST(HumanFormat, Utc) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_utc(1'760'000'000'567), "2025-10-09T08:53:20.567Z");  // date -u -d @1760000000
  EXPECT_EQ(format_utc_seconds(1'760'000'000'567), "2025-10-09T08:53:20Z");
  EXPECT_EQ(format_utc(-1), "1969-12-31T23:59:59.999Z");
}

TEST(HumanFormat, GroupsDigitsByThree) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1'000), "1,000");
  EXPECT_EQ(group_digits(1'234'567), "1,234,567");
  EXPECT_EQ(group_digits(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(HumanFormat, Plural) {
  EXPECT_EQ(plural(0, "rack"), "0 racks");
  EXPECT_EQ(plural(1, "rack"), "1 rack");
  EXPECT_EQ(plural(std::size_t{3000}, "rack"), "3000 racks");
  EXPECT_EQ(plural(1, "switch", "switches"), "1 switch");
  EXPECT_EQ(plural(std::int64_t{2}, "switch", "switches"), "2 switches");
  EXPECT_EQ(grouped_plural(1, "link", "links"), "1 link");
  EXPECT_EQ(grouped_plural(1000, "link", "links"), "1,000 links");
}

TEST(HumanFormat, NumbersHaveThreeDigits) {
  EXPECT_EQ(format_number(1.456), "1.46");
  EXPECT_EQ(format_number(12.34), "12.3");
  EXPECT_EQ(format_number(9.996), "10");
  EXPECT_EQ(format_number(123.4), "123");
  EXPECT_EQ(format_number(999.4), "999");
  EXPECT_EQ(format_number(999.7), "1,000");
  EXPECT_EQ(format_number(1'234'567), "1,234,567");
  EXPECT_EQ(format_number(-1234.5), "-1,235");
  EXPECT_EQ(format_number(0.01234), "0.0123");
  EXPECT_EQ(format_number(-2.5), "-2.50");
  EXPECT_EQ(format_number(15), "15");
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(std::nan("")), "-");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "-");
}

TEST(HumanFormat, FineNumbersHaveFourDigits) {
  EXPECT_EQ(format_fine_number(0), "0");
  EXPECT_EQ(format_fine_number(3.14159), "3.142");
  EXPECT_EQ(format_fine_number(12.5), "12.5");
  EXPECT_EQ(format_fine_number(812), "812");
  EXPECT_EQ(format_fine_number(820.123), "820.1");
  EXPECT_EQ(format_fine_number(12'345), "12345");
  EXPECT_EQ(format_fine_number(0.64), "0.64");
}

TEST(HumanFormat, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(1234), "1,234");
  EXPECT_EQ(format_count(2.5e6), "2.50 million");
  EXPECT_EQ(format_count(70.6e9), "70.6 billion");
  EXPECT_EQ(format_count(1e12), "1 trillion");
}

TEST(HumanFormat, Percentages) {
  EXPECT_EQ(format_percent(0.545, 0), "55 %");
  EXPECT_EQ(format_percent(0.545, 2), "54.50 %");
  EXPECT_EQ(format_percent(0.545), "54.5 %");
  EXPECT_EQ(format_percent(0.0001), "<0.1 %");
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(-0.0001), "0 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(12.5), "1,250 %");
  EXPECT_EQ(format_percent(std::nan("")), "-");
  EXPECT_EQ(format_signed_percent(0.104), "+10.4 %");
  EXPECT_EQ(format_signed_percent(-0.02), "-2.0 %");
  EXPECT_EQ(format_signed_percent(0.0001), "<0.1 %");
  EXPECT_EQ(format_signed_percent(0), "0 %");
  EXPECT_EQ(format_short_percent(0.9749), "97 %");
  EXPECT_EQ(format_short_percent(0.004), "0.4 %");
  EXPECT_EQ(format_short_percent(0.0994), "9.9 %");
  EXPECT_EQ(format_short_percent(0), "0 %");
}

TEST(HumanFormat, DurationsHaveTwoUnits) {
  const auto seconds = [](std::int64_t count) { return Duration(count * 1'000'000'000); };
  EXPECT_EQ(format_duration(Duration()), "0 s");
  EXPECT_EQ(format_duration(Duration(999'999'999)), "under 1 s");
  EXPECT_EQ(format_duration(seconds(59)), "59 s");
  EXPECT_EQ(format_duration(seconds(60)), "1 min");
  EXPECT_EQ(format_duration(seconds(14 * 60 + 5)), "14 min 5 s");
  EXPECT_EQ(format_duration(seconds(2 * 3600 + 14 * 60 + 59)), "2 h 14 min");
  EXPECT_EQ(format_duration(seconds(2 * 3600 + 59)), "2 h");
  EXPECT_EQ(format_duration(seconds(3 * 86'400 + 4 * 3600)), "3 d 4 h");
}

TEST(HumanFormat, TimesHaveThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(format_picoseconds(0), "0 s");
  EXPECT_EQ(format_picoseconds(640), "0.640 ns");
  EXPECT_EQ(format_picoseconds(812e3), "812 ns");
  EXPECT_EQ(format_picoseconds(999'960'000), "1 ms");
  EXPECT_EQ(format_picoseconds(1.46e12), "1.46 s");
  EXPECT_EQ(format_picoseconds(-1.46e12), "-1.46 s");
  EXPECT_EQ(format_picoseconds(195e12), "3.25 min");
  EXPECT_EQ(format_picoseconds(3600e12), "1 h");
  EXPECT_EQ(format_picoseconds(12 * 86'400e12), "12 days");
  EXPECT_EQ(format_picoseconds(1'461 * 86'400e12), "4 years");
}

TEST(HumanFormat, FineTimesHaveFourDigits) {
  EXPECT_EQ(format_fine_picoseconds(0), "0 ns");
  EXPECT_EQ(format_fine_picoseconds(640), "0.64 ns");
  EXPECT_EQ(format_fine_picoseconds(820'123e3), "820.1 us");
  EXPECT_EQ(format_fine_picoseconds(3142e6), "3.142 ms");
  EXPECT_EQ(format_fine_picoseconds(999'999'999), "1 ms");
  EXPECT_EQ(format_fine_picoseconds(7200e12), "7200 s");
}

TEST(HumanFormat, SizesAndRates) {
  EXPECT_EQ(format_bytes(0.0), "0");
  EXPECT_EQ(format_bytes(Bytes(512)), "512 B");
  EXPECT_EQ(format_bytes(Bytes(12'345'678'901)), "12.3 GB");
  EXPECT_EQ(format_bytes(2.5e15), "2.50 PB");
  EXPECT_EQ(format_bit_rate(0), "0 b/s");
  EXPECT_EQ(format_bit_rate(400e9), "400 Gb/s");
  EXPECT_EQ(format_bit_rate(48.25e12), "48.25 Tb/s");
  EXPECT_EQ(format_power(Power(0)), "0 W");
  EXPECT_EQ(format_power(watts(369'400)), "369 kW");
  EXPECT_EQ(format_power(watts(11'240'000)), "11.2 MW");
}

}  // namespace
}  // namespace weft
