#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::uint64_t kThousand = 1000;
constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kBillion = 1'000'000'000;
constexpr std::uint64_t kTrillion = kBillion * 1000;
constexpr std::uint64_t kQuadrillion = kTrillion * 1000;
constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
// 27 digits times 10^27 stays far below 2^127, so no step of the arithmetic can overflow.
constexpr std::size_t kMaxDigits = 27;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// What a parser needs to know about one kind of quantity, and the texts of its error messages.
struct Grammar {
  const char* noun;        // "a rate"
  const char* whole;       // "bits per second": a fraction must come out to a whole number of these
  const char* examples;    // "100M, 400G or 1.6T"
  const char* units;       // the list shown to people; more spellings are accepted
  const char* needs_unit;  // "400G": example for a missing unit; null if the unit is optional
  std::span<const Unit> table;
};

constexpr Unit kByteUnits[] = {{"", 1},
                               {"B", 1},
                               {"K", kThousand},
                               {"KB", kThousand},
                               {"kB", kThousand},
                               {"M", kMillion},
                               {"MB", kMillion},
                               {"G", kBillion},
                               {"GB", kBillion},
                               {"T", kTrillion},
                               {"TB", kTrillion},
                               {"P", kQuadrillion},
                               {"PB", kQuadrillion},
                               {"Ki", 1ULL << 10},
                               {"KiB", 1ULL << 10},
                               {"Mi", 1ULL << 20},
                               {"MiB", 1ULL << 20},
                               {"Gi", 1ULL << 30},
                               {"GiB", 1ULL << 30},
                               {"Ti", 1ULL << 40},
                               {"TiB", 1ULL << 40},
                               {"Pi", 1ULL << 50},
                               {"PiB", 1ULL << 50}};
constexpr Unit kBitRateUnits[] = {{"bps", 1},
                                  {"b/s", 1},
                                  {"bit/s", 1},
                                  {"K", kThousand},
                                  {"k", kThousand},
                                  {"Kbps", kThousand},
                                  {"kbps", kThousand},
                                  {"Kb/s", kThousand},
                                  {"kb/s", kThousand},
                                  {"Kbit/s", kThousand},
                                  {"kbit/s", kThousand},
                                  {"M", kMillion},
                                  {"Mbps", kMillion},
                                  {"Mb/s", kMillion},
                                  {"Mbit/s", kMillion},
                                  {"G", kBillion},
                                  {"Gbps", kBillion},
                                  {"Gb/s", kBillion},
                                  {"Gbit/s", kBillion},
                                  {"T", kTrillion},
                                  {"Tbps", kTrillion},
                                  {"Tb/s", kTrillion},
                                  {"Tbit/s", kTrillion}};
constexpr Unit kByteRateUnits[] = {{"B/s", 1},
                                   {"KB/s", kThousand},
                                   {"kB/s", kThousand},
                                   {"MB/s", kMillion},
                                   {"GB/s", kBillion},
                                   {"TB/s", kTrillion},
                                   {"PB/s", kQuadrillion},
                                   {"KiB/s", 1ULL << 10},
                                   {"MiB/s", 1ULL << 20},
                                   {"GiB/s", 1ULL << 30},
                                   {"TiB/s", 1ULL << 40},
                                   {"PiB/s", 1ULL << 50},
                                   {"Bps", 1},
                                   {"KBps", kThousand},
                                   {"kBps", kThousand},
                                   {"MBps", kMillion},
                                   {"GBps", kBillion},
                                   {"TBps", kTrillion}};
constexpr Unit kDurationUnits[] = {{"ns", 1},
                                   {"us", kThousand},
                                   {"ms", kMillion},
                                   {"s", kBillion},
                                   {"m", 60 * kBillion},
                                   {"h", 3600 * kBillion},
                                   {"d", 86'400 * kBillion},
                                   {"w", 604'800 * kBillion}};
// No "mW": too easily confused with "MW".
constexpr Unit kPowerUnits[] = {{"W", kThousand}, {"kW", kMillion}, {"MW", kBillion}, {"GW", kTrillion}};
constexpr Unit kLengthUnits[] = {{"mm", 1}, {"cm", 10}, {"m", kThousand}, {"km", kMillion}};
constexpr Unit kFlopsUnits[] = {{"MF", 1},         {"MFLOPS", 1},         {"MFLOP/s", 1},         {"MOPS", 1},
                                {"GF", kThousand}, {"GFLOPS", kThousand}, {"GFLOP/s", kThousand}, {"GOPS", kThousand},
                                {"TF", kMillion},  {"TFLOPS", kMillion},  {"TFLOP/s", kMillion},  {"TOPS", kMillion},
                                {"PF", kBillion},  {"PFLOPS", kBillion},  {"PFLOP/s", kBillion},  {"POPS", kBillion},
                                {"EF", kTrillion}, {"EFLOPS", kTrillion}, {"EFLOP/s", kTrillion}, {"EOPS", kTrillion}};
constexpr Unit kMoneyUnits[] = {{"", 100}};

constexpr const char* kByteUnitList = "B, KB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB";
constexpr Grammar kBytes = {"a size", "bytes", "9000, 64KB, 2TB or 80GiB", kByteUnitList, nullptr, kByteUnits};
constexpr Grammar kBitRate = {"a rate", "bits per second", "100M, 400G or 1.6T", "K, M, G, T", "400G", kBitRateUnits};
constexpr Grammar kByteRate = {"a byte rate",
                               "bytes per second",
                               "900MB/s, 40GB/s or 1TB/s",
                               "B/s, KB/s, MB/s, GB/s, TB/s, PB/s, KiB/s, MiB/s, GiB/s, TiB/s, PiB/s",
                               "40GB/s",
                               kByteRateUnits};
constexpr Grammar kDuration = {"a duration", "nanoseconds", "200us, 100ms, 5m or 4h", "ns, us, ms, s, m, h, d, w",
                               "30s",        kDurationUnits};
constexpr Grammar kPower = {"a power", "milliwatts", "700W, 10.2kW or 1.2MW", "W, kW, MW, GW", "700W", kPowerUnits};
constexpr Grammar kLength = {"a length", "millimeters", "3m, 50cm or 2km", "mm, cm, m, km", "3m", kLengthUnits};
constexpr Grammar kFlops = {"a compute rate",     "MFLOP/s", "67TF, 989TF or 1.979PF",
                            "MF, GF, TF, PF, EF", "989TF",   kFlopsUnits};
constexpr Grammar kMoney = {"an amount", "cents", "1234, 1234.5 or 1234.56", "", nullptr, kMoneyUnits};

// Units for printing: ascending, one spelling each.
constexpr Unit kBytesPrinted[] = {{"", 1},
                                  {"KB", kThousand},
                                  {"KiB", 1ULL << 10},
                                  {"MB", kMillion},
                                  {"MiB", 1ULL << 20},
                                  {"GB", kBillion},
                                  {"GiB", 1ULL << 30},
                                  {"TB", kTrillion},
                                  {"TiB", 1ULL << 40},
                                  {"PB", kQuadrillion},
                                  {"PiB", 1ULL << 50}};
constexpr Unit kByteRatePrinted[] = {
    {"B/s", 1},           {"KB/s", kThousand},   {"KiB/s", 1ULL << 10}, {"MB/s", kMillion},    {"MiB/s", 1ULL << 20},
    {"GB/s", kBillion},   {"GiB/s", 1ULL << 30}, {"TB/s", kTrillion},   {"TiB/s", 1ULL << 40}, {"PB/s", kQuadrillion},
    {"PiB/s", 1ULL << 50}};
constexpr Unit kBitRatePrinted[] = {{"bps", 1}, {"K", kThousand}, {"M", kMillion}, {"G", kBillion}, {"T", kTrillion}};
constexpr Unit kFlopsPrinted[] = {{"MF", 1}, {"GF", kThousand}, {"TF", kMillion}, {"PF", kBillion}, {"EF", kTrillion}};
constexpr Unit kBytesRounded[] = {{"B", 1},         {"KB", kThousand}, {"MB", kMillion},
                                  {"GB", kBillion}, {"TB", kTrillion}, {"PB", kQuadrillion}};

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

std::size_t count_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return n;
}

Uint128 power_of_ten(std::size_t exponent) {
  Uint128 power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

Uint128 greatest_common_divisor(Uint128 a, Uint128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// A decimal number: mantissa / 10^scale.
struct Decimal {
  Uint128 mantissa = 0;
  std::size_t scale = 0;
  std::size_t length = 0;  // of its text
  bool too_long = false;   // more digits than are supported
};

// Parses digits, or digits, a point and digits, at the start of `text`.
std::optional<Decimal> scan_decimal(std::string_view text) {
  const std::size_t whole = count_digits(text);
  if (whole == 0) return std::nullopt;
  std::size_t fraction = 0;
  if (whole < text.size() && text[whole] == '.') {
    fraction = count_digits(text.substr(whole + 1));
    if (fraction == 0) return std::nullopt;
  }
  Decimal decimal;
  decimal.length = whole + (fraction == 0 ? 0 : fraction + 1);
  std::string_view fraction_digits = fraction == 0 ? std::string_view() : text.substr(whole + 1, fraction);
  while (!fraction_digits.empty() && fraction_digits.back() == '0') fraction_digits.remove_suffix(1);
  std::string_view whole_digits = text.substr(0, whole);
  while (!whole_digits.empty() && whole_digits.front() == '0') whole_digits.remove_prefix(1);
  decimal.too_long = whole_digits.size() + fraction_digits.size() > kMaxDigits;
  if (decimal.too_long) return decimal;
  for (const char c : whole_digits) decimal.mantissa = decimal.mantissa * 10 + static_cast<unsigned>(c - '0');
  for (const char c : fraction_digits) decimal.mantissa = decimal.mantissa * 10 + static_cast<unsigned>(c - '0');
  decimal.scale = fraction_digits.size();
  return decimal;
}

std::string expectation(const Grammar& grammar) {
  if (*grammar.units == '\0') return fmt::format("expected a number such as {}", grammar.examples);
  const char* what = grammar.needs_unit != nullptr ? "a number and a unit" : "a number, or a number and a unit";
  return fmt::format("expected {} such as {}; units are {}", what, grammar.examples, grammar.units);
}

Result<std::int64_t> parse_quantity(std::string_view text, const Grammar& grammar) {
  const std::string shown = in_backticks(text);
  if (!text.empty() && text[0] == '-' && scan_decimal(text.substr(1))) {
    return invalid(fmt::format("{} is not {}: it is negative", shown, grammar.noun));
  }
  const std::optional<Decimal> number = scan_decimal(text);
  if (!number) return invalid(fmt::format("{} is not {}: {}", shown, grammar.noun, expectation(grammar)));
  const std::string_view name = text.substr(number->length);
  if (name.empty() && grammar.needs_unit != nullptr) {
    return invalid(
        fmt::format("{} is not {}: {} needs a unit: {}", shown, grammar.noun, grammar.noun, grammar.needs_unit));
  }
  const Unit* unit = nullptr;
  for (const Unit& candidate : grammar.table) {
    if (candidate.name == name) unit = &candidate;
  }
  if (unit == nullptr) return invalid(fmt::format("{} is not {}: {}", shown, grammar.noun, expectation(grammar)));
  if (number->too_long) return invalid(fmt::format("{} is not {}: it has too many digits", shown, grammar.noun));

  const Uint128 divisor = power_of_ten(number->scale);
  const Uint128 common = greatest_common_divisor(unit->factor, divisor);
  const Uint128 reduced = divisor / common;
  if (number->mantissa % reduced != 0) {
    return invalid(fmt::format("{} is not a whole number of {}", shown, grammar.whole));
  }
  const Uint128 factor = unit->factor / common;
  const Uint128 count = number->mantissa / reduced;
  if (count > kMax / factor) return invalid(fmt::format("{} is too large for {}", shown, grammar.noun));
  return static_cast<std::int64_t>(count * factor);
}

template <class Q>
Result<Q> parse_as(std::string_view text, const Grammar& grammar) {
  const Result<std::int64_t> count = parse_quantity(text, grammar);
  if (!count.ok()) return count.error();
  return Q(*count);
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

// value / factor as a decimal number, or "" if it has no finite decimal form of reasonable length.
std::string exact_decimal(std::uint64_t value, std::uint64_t factor) {
  std::string text = std::to_string(value / factor);
  std::uint64_t rest = value % factor;
  if (rest == 0) return text;
  text += '.';
  for (std::size_t digits = 0; rest != 0; ++digits) {
    if (digits == 18) return {};
    const Uint128 scaled = static_cast<Uint128>(rest) * 10;
    text += static_cast<char>('0' + static_cast<int>(scaled / factor));
    rest = static_cast<std::uint64_t>(scaled % factor);
  }
  return text;
}

// The shortest text among all units in which the number is at least 1; ties go to the largest unit.
std::string shortest(std::int64_t count, std::span<const Unit> units, std::string_view zero) {
  if (count == 0) return std::string(zero);
  const std::uint64_t value = magnitude(count);
  std::string best;
  for (const Unit& unit : units) {
    const std::uint64_t factor = unit.factor;
    if (value < factor && !best.empty()) continue;
    const std::string number = exact_decimal(value, factor);
    if (number.empty()) continue;
    std::string text = number + std::string(unit.name);
    if (best.empty() || text.size() <= best.size()) best = std::move(text);
  }
  return count < 0 ? "-" + best : best;
}

// Three significant digits, without trailing zeros. Below the smallest unit the exact value is printed.
std::string rounded(std::int64_t count, std::span<const Unit> units) {
  const std::uint64_t value = magnitude(count);
  const std::uint64_t smallest = units[0].factor;
  const char* sign = count < 0 ? "-" : "";
  if (value < smallest) return fmt::format("{}{}{}", sign, exact_decimal(value, smallest), units[0].name);
  std::size_t at = 0;
  while (at + 1 < units.size() && value >= units[at + 1].factor) ++at;
  std::size_t decimals = 0;
  std::uint64_t scaled = 0;
  const auto round_to = [&](std::size_t places) {
    decimals = places;
    const Uint128 factor = units[at].factor;
    scaled =
        static_cast<std::uint64_t>((static_cast<Uint128>(value) * power_of_ten(places) * 2 + factor) / (factor * 2));
  };
  round_to(2);
  if (scaled >= 1000) round_to(1);
  if (scaled >= 1000) round_to(0);
  if (scaled >= 1000 && at + 1 < units.size()) {  // 999.7 GB is 1 TB
    ++at;
    round_to(2);
  }
  const std::string number = exact_decimal(scaled, static_cast<std::uint64_t>(power_of_ten(decimals)));
  return fmt::format("{}{}{}", sign, number, units[at].name);
}

Error bad_ratio(std::string_view text, const char* why) {
  return invalid(fmt::format("{} is not a ratio: {}", in_backticks(text), why));
}

constexpr const char* kRatioExamples = "expected one such as 1:1, 2:1, 4:3 or 1.5";

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) { return parse_as<Bytes>(text, kBytes); }
Result<BitRate> parse_bit_rate(std::string_view text) { return parse_as<BitRate>(text, kBitRate); }
Result<Bytes> parse_byte_rate(std::string_view text) { return parse_as<Bytes>(text, kByteRate); }
Result<Duration> parse_duration(std::string_view text) { return parse_as<Duration>(text, kDuration); }
Result<Power> parse_power(std::string_view text) { return parse_as<Power>(text, kPower); }
Result<Length> parse_length(std::string_view text) { return parse_as<Length>(text, kLength); }
Result<Flops> parse_flops(std::string_view text) { return parse_as<Flops>(text, kFlops); }
Result<Money> parse_money(std::string_view text) { return parse_as<Money>(text, kMoney); }

Result<Ratio> parse_ratio(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<Decimal> left = scan_decimal(text.substr(0, colon));
  if (!left || left->length != std::min(colon, text.size())) return bad_ratio(text, kRatioExamples);
  Uint128 numerator = left->mantissa;
  Uint128 denominator = power_of_ten(left->scale);
  bool too_long = left->too_long;
  if (colon != std::string_view::npos) {
    const std::string_view rest = text.substr(colon + 1);
    const std::optional<Decimal> right = scan_decimal(rest);
    const bool whole = text.find('.') == std::string_view::npos;
    if (!right || right->length != rest.size() || !whole) return bad_ratio(text, kRatioExamples);
    denominator = right->mantissa;
    too_long = too_long || right->too_long;
  }
  if (!too_long && (numerator == 0 || denominator == 0)) return bad_ratio(text, "neither part can be 0");
  const Uint128 common = too_long ? 1 : greatest_common_divisor(numerator, denominator);
  numerator /= common;
  denominator /= common;
  if (too_long || numerator > kMillion || denominator > kMillion) {
    return bad_ratio(text, "both parts, in lowest terms, must be between 1 and 1000000");
  }
  return Ratio{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

Result<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.substr(0, 1) == "-";
  const bool has_sign = negative || text.substr(0, 1) == "+";
  const std::string_view digits = text.substr(has_sign ? 1 : 0);
  if (digits.empty() || count_digits(digits) != digits.size()) {
    return invalid(fmt::format("{} is not a whole number", in_backticks(text)));
  }
  const Uint128 limit = static_cast<Uint128>(kMax) + (negative ? 1 : 0);
  Uint128 value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > limit) return invalid(fmt::format("{} is too large a number", in_backticks(text)));
  }
  const auto low = static_cast<std::uint64_t>(value);
  return static_cast<std::int64_t>(negative ? 0 - low : low);
}

// Small sizes are MTUs and buffers, which are usually written in bytes: 9000, not 9KB.
std::string to_text(Bytes value) {
  if (magnitude(value.count()) < 10'000) return std::to_string(value.count());
  return shortest(value.count(), kBytesPrinted, "0");
}

std::string to_text(BitRate value) { return shortest(value.count(), kBitRatePrinted, "0G"); }
std::string to_text(Duration value) { return shortest(value.count(), kDurationUnits, "0s"); }
std::string to_text(Power value) { return shortest(value.count(), kPowerUnits, "0W"); }
std::string to_text(Length value) { return shortest(value.count(), kLengthUnits, "0m"); }
std::string to_text(Flops value) { return shortest(value.count(), kFlopsPrinted, "0TF"); }
std::string to_text(Ratio value) { return fmt::format("{}:{}", value.numerator, value.denominator); }
std::string byte_rate_text(Bytes per_second) { return shortest(per_second.count(), kByteRatePrinted, "0B/s"); }

std::string to_text(Money value) {
  const std::uint64_t cents = magnitude(value.count());
  std::string text = (value.count() < 0 ? "-" : "") + group_digits(cents / 100);
  if (cents % 100 != 0) text += fmt::format(".{:02}", cents % 100);
  return text;
}

std::string about(Power value) { return rounded(value.count(), kPowerUnits); }
std::string about(Bytes value) { return rounded(value.count(), kBytesRounded); }

std::int64_t multiply_divide(std::int64_t a, std::int64_t b, std::int64_t c) {
  CHECK(c != 0, "division by zero");
  const bool negative = (a < 0) != (b < 0) ? c > 0 : c < 0;
  const Uint128 product = static_cast<Uint128>(magnitude(a)) * magnitude(b);
  const std::uint64_t divisor = magnitude(c);
  // For negative values, rounding down is away from zero.
  const Uint128 quotient = product / divisor + (negative && product % divisor != 0 ? 1 : 0);
  const Uint128 limit = static_cast<Uint128>(kMax) + (negative ? 1 : 0);
  const auto low = static_cast<std::uint64_t>(quotient > limit ? limit : quotient);
  return static_cast<std::int64_t>(negative ? 0 - low : low);
}

}  // namespace weft
