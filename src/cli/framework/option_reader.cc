#include "cli/framework/option_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace weft::cli {
namespace {

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_share(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::optional<double> above = parse_real(text.substr(0, slash));
    const std::optional<double> below = parse_real(text.substr(slash + 1));
    if (!above || !below || *below == 0.0) return std::nullopt;
    const double value = *above / *below;
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> value = parse_real(text);
  return value && percent ? std::optional(*value / 100) : value;
}

std::optional<std::int64_t> OptionReader::integer(std::string_view option, std::int64_t low, std::int64_t high) {
  if (!arguments_.has(option)) return std::nullopt;
  const std::string given = arguments_.value(option);
  const Result<std::int64_t> number = parse_integer(given);
  if (number.ok() && number.value() >= low && number.value() <= high) return number.value();
  bad(option, fmt::format("{} is not an integer between {} and {}", in_backticks(given), low, high));
  return std::nullopt;
}

std::optional<std::uint64_t> OptionReader::seed(std::string_view option) {
  if (!arguments_.has(option)) return std::nullopt;
  const std::string given = arguments_.value(option);
  std::uint64_t value = 0;
  const std::from_chars_result read = std::from_chars(given.data(), given.data() + given.size(), value);
  if (read.ec == std::errc() && read.ptr == given.data() + given.size()) return value;
  bad(option, fmt::format("{} is not an integer below 2^64", in_backticks(given)));
  return std::nullopt;
}

std::optional<double> OptionReader::real(std::string_view option, double low, double high) {
  if (!arguments_.has(option)) return std::nullopt;
  const std::string given = arguments_.value(option);
  const std::optional<double> value = parse_share(given);
  if (value && *value >= low && *value <= high) return value;
  bad(option, fmt::format("{} is not a number between {:g} and {:g}", in_backticks(given), low, high));
  return std::nullopt;
}

std::optional<Bytes> OptionReader::bytes(std::string_view option, std::int64_t low, std::int64_t high) {
  if (!arguments_.has(option)) return std::nullopt;
  const Result<Bytes> value = parse_bytes(arguments_.value(option));
  if (!value.ok()) {
    bad(option, value.error().message);
  } else if (value.value().count() < low || value.value().count() > high) {
    bad(option, fmt::format("{} is not between {} and {}", in_backticks(arguments_.value(option)), to_text(Bytes(low)),
                            to_text(Bytes(high))));
  } else {
    return value.value();
  }
  return std::nullopt;
}

std::optional<Duration> OptionReader::time(std::string_view option) {
  if (!arguments_.has(option)) return std::nullopt;
  const Result<Duration> value = parse_duration(arguments_.value(option));
  if (value.ok()) return value.value();
  bad(option, value.error().message);
  return std::nullopt;
}

std::optional<BitRate> OptionReader::rate(std::string_view option, bool or_zero) {
  if (!arguments_.has(option)) return std::nullopt;
  if (or_zero && arguments_.value(option) == "0") return BitRate(0);
  const Result<BitRate> value = parse_bit_rate(arguments_.value(option));
  if (value.ok() && value.value().count() > (or_zero ? -1 : 0)) return value.value();
  bad(option, value.ok() ? "must be greater than 0" : value.error().message);
  return std::nullopt;
}

void OptionReader::bad(std::string_view option, std::string_view why, std::string hint) {
  fail(fmt::format("--{}: {}", option, why), std::move(hint));
}

void OptionReader::fail(std::string problem, std::string hint) {
  if (!problem_.empty()) return;
  problem_ = std::move(problem);
  hint_ = std::move(hint);
}

}  // namespace weft::cli
