// Quantities are types: an int64 with a unit that cannot be mixed with another by accident. Text forms are those used
// in cluster files ("400G", "9000", "100ms", "2TB", "700W", "3m", "2:1"). Multiplication uses 128-bit intermediates.
// Rates are never stored as "picoseconds per byte".
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// Unsigned: clang 14 has no run-time support for overflow-checked signed 128-bit multiplication.
__extension__ using Uint128 = unsigned __int128;

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count_ + b.count_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count_ - b.count_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.count_ * n); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return a * n; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t n) { return Quantity(a.count_ / n); }
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.count_ / b.count_; }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
  constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }

 private:
  std::int64_t count_ = 0;
};

using Bytes = Quantity<struct BytesTag>;        // bytes
using BitRate = Quantity<struct BitRateTag>;    // bits per second
using Duration = Quantity<struct DurationTag>;  // nanoseconds
using Power = Quantity<struct PowerTag>;        // milliwatts
using Length = Quantity<struct LengthTag>;      // millimeters
using Money = Quantity<struct MoneyTag>;        // cents of the price file's currency
using Flops = Quantity<struct FlopsTag>;        // floating-point operations per second, in units of 10^6 (MFLOP/s)

constexpr BitRate gigabits(std::int64_t n) { return BitRate(n * 1'000'000'000); }
constexpr Bytes gigabytes(std::int64_t n) { return Bytes(n * 1'000'000'000); }
constexpr Power watts(std::int64_t n) { return Power(n * 1000); }
constexpr Length meters(std::int64_t n) { return Length(n * 1000); }
constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }

// "2:1" = two down per one up. Always in lowest terms, both parts 1..10^6. A plain number n means n:1; "1.5" is 3:2.
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  friend bool operator==(const Ratio&, const Ratio&) = default;
};

// Parsers accept exactly one quantity, without surrounding spaces; a decimal fraction is accepted if the result is
// exact in the unit. Negative values, overflow and unknown units are rejected; the error lists the known units.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);        // 9000, 64KB, 2TB, 80GiB, 10Ti (Kubernetes)
[[nodiscard]] Result<BitRate> parse_bit_rate(std::string_view text);   // 400G, 1.6T, 100M, 400Gbps, 400Gb/s
[[nodiscard]] Result<Bytes> parse_byte_rate(std::string_view text);    // per second: 40GB/s, 1TB/s
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);  // 100ms, 200us, 1s, 5m, 4h, 2d, 12w
[[nodiscard]] Result<Power> parse_power(std::string_view text);        // 700W, 10.2kW, 1.2MW
[[nodiscard]] Result<Length> parse_length(std::string_view text);      // 3m, 50cm, 600mm, 2km
[[nodiscard]] Result<Flops> parse_flops(std::string_view text);        // 989TF, 1.979PF, 67TFLOPS (also TFLOP/s, TOPS)
[[nodiscard]] Result<Ratio> parse_ratio(std::string_view text);        // 1:1, 2:1, 4:3, 1.5
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text);  // optional sign, digits; "_" not allowed
[[nodiscard]] Result<Money> parse_money(std::string_view text);           // 1234, 1234.5, 1234.56

// Printers return the shortest exact form that parses back to the same value ("400G", "9000", "2TB", "1.5s").
[[nodiscard]] std::string to_text(Bytes value);
[[nodiscard]] std::string to_text(BitRate value);
[[nodiscard]] std::string to_text(Duration value);
[[nodiscard]] std::string to_text(Power value);
[[nodiscard]] std::string to_text(Length value);
[[nodiscard]] std::string to_text(Flops value);
[[nodiscard]] std::string to_text(Ratio value);
[[nodiscard]] std::string byte_rate_text(Bytes per_second);
// With thousands separators and no currency: "1,234,567" (cents only when not zero).
[[nodiscard]] std::string to_text(Money value);
// Rounded for people, three significant digits: "1.23MW", "640GB/s".
[[nodiscard]] std::string about(Power value);
[[nodiscard]] std::string about(Bytes value);

// a * b / c in 128 bits, rounded down; saturates at the int64 range.
[[nodiscard]] std::int64_t multiply_divide(std::int64_t a, std::int64_t b, std::int64_t c);

}  // namespace weft
