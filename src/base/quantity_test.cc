#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>

#include "base/random.h"

namespace weft {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// Units do not mix: checks at compile time that such expressions are ill-formed.
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Dividable = requires(A a, B b) {
  a / b;
};
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, BitRate>);
static_assert(!Addable<Bytes, std::int64_t>);
static_assert(!Addable<Power, Length>);
static_assert(Comparable<Duration, Duration>);
static_assert(!Comparable<Duration, Bytes>);
static_assert(Multipliable<Bytes, std::int64_t>);
static_assert(!Multipliable<Bytes, Bytes>);
static_assert(Dividable<Bytes, Bytes>);
static_assert(!Dividable<Bytes, BitRate>);
static_assert(!std::is_convertible_v<std::int64_t, Bytes>);
static_assert(!std::is_convertible_v<Bytes, std::int64_t>);
static_assert(!std::is_convertible_v<Bytes, BitRate>);
static_assert(sizeof(Bytes) == 8);

template <class Q>
std::int64_t count_of(const Result<Q>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? result->count() : -1;
}

template <class R>
std::string error_of(const R& result) {
  EXPECT_FALSE(result.ok());
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code, ErrorCode::invalid_input);
  return result.error().message;
}

struct Good {
  const char* text;
  std::int64_t count;
};

TEST(ParseBytes, ReadsDecimalAndBinaryUnits) {
  const Good cases[] = {{"0", 0},
                        {"9000", 9000},
                        {"9000B", 9000},
                        {"64KB", 64000},
                        {"64kB", 64000},
                        {"64K", 64000},
                        {"1.5MB", 1500000},
                        {"2TB", 2000000000000},
                        {"1P", 1000000000000000},
                        {"1KiB", 1024},
                        {"1Ki", 1024},
                        {"1MiB", 1048576},
                        {"80GiB", 85899345920},
                        {"10Ti", 10995116277760},
                        {"1PiB", 1125899906842624},
                        {"0.5KiB", 512},
                        {"0.0009765625KiB", 1},
                        {"007", 7},
                        {"1.000", 1},
                        {"9223372036854775807", kMax}};
  for (const Good& c : cases) EXPECT_EQ(count_of(parse_bytes(c.text)), c.count) << c.text;
}

TEST(ParseBytes, SaysWhatIsWrong) {
  const std::string units = "; units are B, KB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB";
  const std::string expected = "expected a number, or a number and a unit such as 9000, 64KB, 2TB or 80GiB" + units;
  for (const char* text : {"", "KB", "5XB", "5 KB", " 5", "5 ", "5kib", "5mB", ".5KB", "5.KB", "+5", "1,000", "1_000",
                           "1e3", "0x10", "5KBB", "--5", "-", "1.2.3"}) {
    EXPECT_EQ(error_of(parse_bytes(text)), "`" + std::string(text) + "` is not a size: " + expected) << text;
  }
  EXPECT_EQ(error_of(parse_bytes("-5KB")), "`-5KB` is not a size: it is negative");
  EXPECT_EQ(error_of(parse_bytes("0.5")), "`0.5` is not a whole number of bytes");
  EXPECT_EQ(error_of(parse_bytes("0.0001KB")), "`0.0001KB` is not a whole number of bytes");
  EXPECT_EQ(error_of(parse_bytes("9223372036854775808")), "`9223372036854775808` is too large for a size");
  EXPECT_EQ(error_of(parse_bytes("8192PiB")), "`8192PiB` is too large for a size");
  EXPECT_EQ(error_of(parse_bytes("99999999999999999999P")), "`99999999999999999999P` is too large for a size");
  EXPECT_EQ(error_of(parse_bytes(std::string(28, '9'))),
            "`9999999999999999999999999999` is not a size: it has too many digits");
}

TEST(ParseBytes, EscapesHostileTextInMessages) {
  const std::string message = error_of(parse_bytes("\x1b[2J\n" + std::string(1000, 'x')));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 300U);
}

TEST(ParseBitRate, ReadsEverySpelling) {
  for (const char* text : {"400G", "400Gbps", "400Gb/s", "400Gbit/s", "0.4T", "400000M", "400000000K"}) {
    EXPECT_EQ(count_of(parse_bit_rate(text)), 400000000000) << text;
  }
  EXPECT_EQ(count_of(parse_bit_rate("1.6T")), 1600000000000);
  EXPECT_EQ(count_of(parse_bit_rate("100M")), 100000000);
  EXPECT_EQ(count_of(parse_bit_rate("9600bps")), 9600);
  EXPECT_EQ(count_of(parse_bit_rate("0G")), 0);
  EXPECT_EQ(gigabits(400), *parse_bit_rate("400G"));
}

TEST(ParseBitRate, SaysWhatIsWrong) {
  const std::string expected = "expected a number and a unit such as 100M, 400G or 1.6T; units are K, M, G, T";
  for (const char* text : {"4OOG", "", "G", "400GB", "400GB/s", "400g", "400Gi", "400 G"}) {
    EXPECT_EQ(error_of(parse_bit_rate(text)), "`" + std::string(text) + "` is not a rate: " + expected) << text;
  }
  EXPECT_EQ(error_of(parse_bit_rate("400")), "`400` is not a rate: a rate needs a unit: 400G");
  EXPECT_EQ(error_of(parse_bit_rate("0")), "`0` is not a rate: a rate needs a unit: 400G");
  EXPECT_EQ(error_of(parse_bit_rate("-1G")), "`-1G` is not a rate: it is negative");
  EXPECT_EQ(error_of(parse_bit_rate("0.5bps")), "`0.5bps` is not a whole number of bits per second");
  EXPECT_EQ(error_of(parse_bit_rate("9223373T")), "`9223373T` is too large for a rate");
}

TEST(ParseOthers, ParseTheirUnits) {
  EXPECT_EQ(count_of(parse_byte_rate("40GB/s")), 40000000000);
  EXPECT_EQ(count_of(parse_byte_rate("1TB/s")), 1000000000000);
  EXPECT_EQ(count_of(parse_byte_rate("1GiB/s")), 1073741824);
  EXPECT_EQ(count_of(parse_duration("7ns")), 7);
  EXPECT_EQ(count_of(parse_duration("200us")), 200000);
  EXPECT_EQ(count_of(parse_duration("100ms")), 100000000);
  EXPECT_EQ(count_of(parse_duration("1.5s")), 1500000000);
  EXPECT_EQ(count_of(parse_duration("5m")), 300000000000);
  EXPECT_EQ(count_of(parse_duration("4h")), 14400000000000);
  EXPECT_EQ(count_of(parse_duration("2d")), 172800000000000);
  EXPECT_EQ(count_of(parse_duration("12w")), 7257600000000000);
  EXPECT_EQ(count_of(parse_power("700W")), 700000);
  EXPECT_EQ(count_of(parse_power("10.2kW")), 10200000);
  EXPECT_EQ(count_of(parse_power("1.2MW")), 1200000000);
  EXPECT_EQ(count_of(parse_power("0.001W")), 1);
  EXPECT_EQ(count_of(parse_length("3m")), 3000);
  EXPECT_EQ(count_of(parse_length("50cm")), 500);
  EXPECT_EQ(count_of(parse_length("600mm")), 600);
  EXPECT_EQ(count_of(parse_length("2km")), 2000000);
  for (const char* text : {"67TF", "67TFLOPS", "67TFLOP/s", "67TOPS", "0.067PF", "67000GF"}) {
    EXPECT_EQ(count_of(parse_flops(text)), 67000000) << text;
  }
  EXPECT_EQ(count_of(parse_flops("1.979PF")), 1979000000);
}

TEST(ParseOthers, RequireAUnit) {
  EXPECT_EQ(error_of(parse_byte_rate("40")), "`40` is not a byte rate: a byte rate needs a unit: 40GB/s");
  EXPECT_EQ(error_of(parse_duration("100")), "`100` is not a duration: a duration needs a unit: 30s");
  EXPECT_EQ(error_of(parse_power("700")), "`700` is not a power: a power needs a unit: 700W");
  EXPECT_EQ(error_of(parse_length("3")), "`3` is not a length: a length needs a unit: 3m");
  EXPECT_EQ(error_of(parse_flops("989")), "`989` is not a compute rate: a compute rate needs a unit: 989TF");
}

TEST(ParseOthers, ListTheKnownUnits) {
  EXPECT_EQ(
      error_of(parse_byte_rate("40Gb/s")),
      "`40Gb/s` is not a byte rate: expected a number and a unit such as 900MB/s, 40GB/s or 1TB/s; units are B/s, "
      "KB/s, MB/s, GB/s, TB/s, PB/s, KiB/s, MiB/s, GiB/s, TiB/s, PiB/s");
  EXPECT_EQ(
      error_of(parse_duration("1y")),
      "`1y` is not a duration: expected a number and a unit such as 200us, 100ms, 5m or 4h; units are ns, us, ms, "
      "s, m, h, d, w");
  EXPECT_EQ(
      error_of(parse_power("1mW")),
      "`1mW` is not a power: expected a number and a unit such as 700W, 10.2kW or 1.2MW; units are W, kW, MW, GW");
  EXPECT_EQ(error_of(parse_length("1ft")),
            "`1ft` is not a length: expected a number and a unit such as 3m, 50cm or 2km; units are mm, cm, m, km");
  EXPECT_EQ(
      error_of(parse_flops("1T")),
      "`1T` is not a compute rate: expected a number and a unit such as 67TF, 989TF or 1.979PF; units are MF, GF, "
      "TF, PF, EF");
  EXPECT_EQ(error_of(parse_power("0.0001W")), "`0.0001W` is not a whole number of milliwatts");
  EXPECT_EQ(error_of(parse_length("0.5mm")), "`0.5mm` is not a whole number of millimeters");
}

TEST(ParseRatio, ReducesToLowestTerms) {
  EXPECT_EQ(*parse_ratio("1:1"), (Ratio{1, 1}));
  EXPECT_EQ(*parse_ratio("2:1"), (Ratio{2, 1}));
  EXPECT_EQ(*parse_ratio("8:6"), (Ratio{4, 3}));
  EXPECT_EQ(*parse_ratio("1.5"), (Ratio{3, 2}));
  EXPECT_EQ(*parse_ratio("3"), (Ratio{3, 1}));
  EXPECT_EQ(*parse_ratio("0.125"), (Ratio{1, 8}));
  EXPECT_EQ(*parse_ratio("1000000:1"), (Ratio{1000000, 1}));
  EXPECT_EQ(*parse_ratio("2000000:2"), (Ratio{1000000, 1}));
  EXPECT_EQ(*parse_ratio("0.000001"), (Ratio{1, 1000000}));
}

TEST(ParseRatio, SaysWhatIsWrong) {
  for (const char* text : {"", ":", "1:", ":1", "a", "1:b", "1:1:1", "1.5:1", "2:1.5", "-1:1", "1/2", "2 : 1"}) {
    EXPECT_EQ(error_of(parse_ratio(text)),
              "`" + std::string(text) + "` is not a ratio: expected one such as 1:1, 2:1, 4:3 or 1.5");
  }
  for (const char* text : {"0:1", "1:0", "0", "0.0"}) {
    EXPECT_EQ(error_of(parse_ratio(text)), "`" + std::string(text) + "` is not a ratio: neither part can be 0");
  }
  for (const char* text : {"1000001:1", "1:1000001", "0.0000001", "99999999999999999999999999999:1"}) {
    EXPECT_EQ(error_of(parse_ratio(text)), "`" + std::string(text) +
                                               "` is not a ratio: both parts, in lowest terms, must be between 1 and "
                                               "1000000");
  }
}

TEST(ParseInteger, ReadsTheWholeRange) {
  EXPECT_EQ(*parse_integer("0"), 0);
  EXPECT_EQ(*parse_integer("-0"), 0);
  EXPECT_EQ(*parse_integer("+7"), 7);
  EXPECT_EQ(*parse_integer("9223372036854775807"), kMax);
  EXPECT_EQ(*parse_integer("-9223372036854775808"), kMin);
  EXPECT_EQ(error_of(parse_integer("9223372036854775808")), "`9223372036854775808` is too large a number");
  EXPECT_EQ(error_of(parse_integer("-9223372036854775809")), "`-9223372036854775809` is too large a number");
  EXPECT_EQ(error_of(parse_integer(std::string(500, '9'))), "`" + std::string(60, '9') + "...` is too large a number");
  for (const char* text : {"", "-", "+", "1.0", "1_000", " 1", "1 ", "0x1", "--1", "1e3"}) {
    EXPECT_EQ(error_of(parse_integer(text)), "`" + std::string(text) + "` is not a whole number");
  }
}

TEST(ParseMoney, ReadsCents) {
  EXPECT_EQ(count_of(parse_money("1234")), 123400);
  EXPECT_EQ(count_of(parse_money("1234.5")), 123450);
  EXPECT_EQ(count_of(parse_money("1234.56")), 123456);
  EXPECT_EQ(error_of(parse_money("1.234")), "`1.234` is not a whole number of cents");
  EXPECT_EQ(error_of(parse_money("1,234")),
            "`1,234` is not an amount: expected a number such as 1234, 1234.5 or 1234.56");
  EXPECT_EQ(error_of(parse_money("-1")), "`-1` is not an amount: it is negative");
}

TEST(ToText, ReturnsTheShortestExactForm) {
  EXPECT_EQ(to_text(Bytes(0)), "0");
  EXPECT_EQ(to_text(Bytes(9000)), "9000");
  EXPECT_EQ(to_text(Bytes(64000)), "64KB");
  EXPECT_EQ(to_text(Bytes(65536)), "64KiB");
  EXPECT_EQ(to_text(Bytes(2000000000000)), "2TB");
  EXPECT_EQ(to_text(Bytes(85899345920)), "80GiB");
  EXPECT_EQ(to_text(Bytes(1500000000000)), "1.5TB");
  EXPECT_EQ(to_text(Bytes(12345678)), "12345678");
  EXPECT_EQ(to_text(gigabits(400)), "400G");
  EXPECT_EQ(to_text(gigabits(100)), "100G");
  EXPECT_EQ(to_text(gigabits(1600)), "1.6T");
  EXPECT_EQ(to_text(BitRate(7)), "7bps");
  EXPECT_EQ(to_text(BitRate(0)), "0G");
  EXPECT_EQ(to_text(Duration(1500000000)), "1.5s");
  EXPECT_EQ(to_text(milliseconds(100)), "100ms");
  EXPECT_EQ(to_text(Duration(90000000000)), "90s");
  EXPECT_EQ(to_text(Duration(300000000000)), "5m");
  EXPECT_EQ(to_text(Duration(86400000000000)), "1d");
  EXPECT_EQ(to_text(Duration(604800000000000)), "1w");
  EXPECT_EQ(to_text(Duration(0)), "0s");
  EXPECT_EQ(to_text(watts(700)), "700W");
  EXPECT_EQ(to_text(watts(10200)), "10.2kW");
  EXPECT_EQ(to_text(Power(1)), "0.001W");
  EXPECT_EQ(to_text(meters(3)), "3m");
  EXPECT_EQ(to_text(Length(500)), "50cm");
  EXPECT_EQ(to_text(Length(2000000)), "2km");
  EXPECT_EQ(to_text(Flops(989000000)), "989TF");
  EXPECT_EQ(to_text(Flops(1979000000)), "1979TF");
  EXPECT_EQ(to_text(Flops(2000000000)), "2PF");
  EXPECT_EQ(to_text(Ratio{3, 2}), "3:2");
  EXPECT_EQ(byte_rate_text(gigabytes(40)), "40GB/s");
  EXPECT_EQ(byte_rate_text(Bytes(0)), "0B/s");
}

TEST(ToText, PrintsNegativeDifferences) {
  EXPECT_EQ(to_text(gigabits(-400)), "-400G");
  EXPECT_EQ(to_text(Bytes(-9000)), "-9000");
  EXPECT_EQ(to_text(Bytes(kMin)), "-8192PiB");
}

TEST(ToText, SeparatesThousandsOfMoney) {
  EXPECT_EQ(to_text(Money(0)), "0");
  EXPECT_EQ(to_text(Money(99900)), "999");
  EXPECT_EQ(to_text(Money(100000)), "1,000");
  EXPECT_EQ(to_text(Money(123456700)), "1,234,567");
  EXPECT_EQ(to_text(Money(123450)), "1,234.50");
  EXPECT_EQ(to_text(Money(-105)), "-1.05");
}

template <class Q, class Parse, class Print>
void expect_round_trip(std::int64_t count, Parse parse, Print print) {
  const std::string text = print(Q(count));
  const Result<Q> again = parse(text);
  ASSERT_TRUE(again.ok()) << text << ": " << again.error().message;
  ASSERT_EQ(again->count(), count) << text;
}

TEST(ToText, ParsesBackToTheSameValue) {
  RandomStream random(3, "quantity");
  const auto print = [](auto value) { return to_text(value); };
  for (int i = 0; i < 20000; ++i) {
    // Few significant digits at all magnitudes, and all digits too.
    std::int64_t count = random.between(0, kMax) >> random.below(63);
    if (i % 2 == 0) {
      count = random.between(0, 9999);
      for (std::uint64_t zeros = random.below(15); zeros > 0; --zeros) count *= 10;
    } else if (i % 5 == 0) {
      count = random.between(0, 4095) << random.below(51);
    }
    expect_round_trip<Bytes>(count, parse_bytes, print);
    expect_round_trip<BitRate>(count, parse_bit_rate, print);
    expect_round_trip<Duration>(count, parse_duration, print);
    expect_round_trip<Power>(count, parse_power, print);
    expect_round_trip<Length>(count, parse_length, print);
    expect_round_trip<Flops>(count, parse_flops, print);
    expect_round_trip<Bytes>(count, parse_byte_rate, byte_rate_text);
    if (HasFatalFailure()) return;
  }
}

TEST(About, RoundsToThreeDigits) {
  EXPECT_EQ(about(Power(1234567890)), "1.23MW");
  EXPECT_EQ(about(watts(700)), "700W");
  EXPECT_EQ(about(watts(0)), "0W");
  EXPECT_EQ(about(Power(500)), "0.5W");
  EXPECT_EQ(about(watts(10250)), "10.3kW");
  EXPECT_EQ(about(watts(999499)), "999kW");
  EXPECT_EQ(about(watts(999500)), "1MW");
  EXPECT_EQ(about(watts(-1500)), "-1.5kW");
  EXPECT_EQ(about(Bytes(640000000000)), "640GB");
  EXPECT_EQ(about(Bytes(999)), "999B");
  EXPECT_EQ(about(Bytes(9995)), "10KB");
  EXPECT_EQ(about(Bytes(9994)), "9.99KB");
  EXPECT_EQ(about(Bytes(0)), "0B");
  EXPECT_EQ(about(Bytes(kMax)), "9223PB");
}

TEST(MultiplyDivide, RoundsDownThrough128Bits) {
  EXPECT_EQ(multiply_divide(kMax, kMax, kMax), kMax);
  EXPECT_EQ(multiply_divide(7, 3, 2), 10);
  EXPECT_EQ(multiply_divide(-7, 3, 2), -11);
  EXPECT_EQ(multiply_divide(7, -3, 2), -11);
  EXPECT_EQ(multiply_divide(7, 3, -2), -11);
  EXPECT_EQ(multiply_divide(-7, -3, 2), 10);
  EXPECT_EQ(multiply_divide(0, 5, 3), 0);
}

TEST(MultiplyDivide, Saturates) {
  EXPECT_EQ(multiply_divide(kMax, 2, 1), kMax);
  EXPECT_EQ(multiply_divide(kMin, 2, 1), kMin);
  EXPECT_EQ(multiply_divide(kMin, kMin, -1), kMin);
  EXPECT_EQ(multiply_divide(kMin, 1, -1), kMax);
}

TEST(MultiplyDivideDeathTest, RejectsDivisionByZero) {
  EXPECT_DEATH(static_cast<void>(multiply_divide(1, 1, 0)), "division by zero");
}

}  // namespace
}  // namespace weft
