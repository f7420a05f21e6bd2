// Patterns of signal names, and tests of the details of a signal.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "health/core/rules.h"

namespace weft::health {
namespace {

std::optional<std::uint64_t> read_code(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

}  // namespace

std::string_view Signal::detail(std::string_view key) const {
  for (const SignalDetail& each : details) {
    if (each.key == key) return each.value;
  }
  return {};
}

std::optional<SignalPattern> parse_pattern(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  SignalPattern pattern;
  pattern.family = text.substr(0, colon);
  const std::string_view name = text.substr(colon + 1);
  if (!is_name(pattern.family)) return std::nullopt;
  if (name == "*") return pattern;
  if (!is_name(name)) return std::nullopt;
  const std::size_t dash = name.find('-');
  if (dash != std::string_view::npos) {
    const auto from = read_code(name.substr(0, dash));
    const auto to = read_code(name.substr(dash + 1));
    if (from && to) {
      if (*from > *to || *to > 1'000'000'000) return std::nullopt;
      pattern.from = static_cast<std::int64_t>(*from);
      pattern.to = static_cast<std::int64_t>(*to);
      return pattern;
    }
  }
  pattern.name = name;
  return pattern;
}

bool SignalPattern::matches(std::string_view signal) const {
  if (signal.size() <= family.size() || !signal.starts_with(family) || signal[family.size()] != ':') return false;
  const std::string_view rest = signal.substr(family.size() + 1);
  if (!name.empty()) return rest == name;
  if (!is_range()) return true;
  const auto code = read_code(rest);
  return code && *code >= static_cast<std::uint64_t>(from) && *code <= static_cast<std::uint64_t>(to);
}

bool DetailTest::matches(const Signal& signal) const {
  const std::string_view value = signal.detail(key);
  if (values.empty()) {
    const auto number = read_code(value);
    return number && (*number & bits) != 0;
  }
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool Rule::matches(const Signal& signal) const {
  const auto named = [&](const SignalPattern& pattern) { return pattern.matches(signal.name); };
  const auto holds = [&](const DetailTest& test) { return test.matches(signal); };
  return std::any_of(signals.begin(), signals.end(), named) && std::all_of(where.begin(), where.end(), holds);
}

}  // namespace weft::health
