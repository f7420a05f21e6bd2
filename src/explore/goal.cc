#include "explore/goal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::explore {
namespace {

constexpr std::int64_t kMinTokens = 1'000'000;
constexpr std::int64_t kMaxTokens = 10'000'000'000'000'000;
constexpr Duration kMaxDeadline = Duration(std::int64_t{3660} * 86'400 * 1'000'000'000);
constexpr std::string_view kExample = "for example: \"train llama-3.1-405b on 15T tokens in 60 days\"";

Error invalid(std::string message) { return {ErrorCode::invalid_input, fmt::format("{}; {}", message, kExample), {}}; }

struct Scale {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Scale, 9> kScales = {{{"", 1},
                                           {"k", 1'000},
                                           {"m", 1'000'000},
                                           {"b", 1'000'000'000},
                                           {"g", 1'000'000'000},
                                           {"t", 1'000'000'000'000},
                                           {"million", 1'000'000},
                                           {"billion", 1'000'000'000},
                                           {"trillion", 1'000'000'000'000}}};

std::optional<std::int64_t> factor_of(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const Scale& scale : kScales) {
    if (scale.name == lower) return scale.factor;
  }
  return std::nullopt;
}

// A decimal number times a factor, exactly; none if it is not a number or too large.
std::optional<std::int64_t> scaled(std::string_view number, std::int64_t factor) {
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
  if (whole.empty() || part.size() > 9 || (point != std::string_view::npos && part.empty())) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error != std::errc() || end != whole.data() + whole.size() || value < 0 || value > kMaxTokens / factor) {
    return std::nullopt;
  }
  std::int64_t total = value * factor;
  for (const char digit : part) {
    if (!is_digit(digit)) return std::nullopt;
    factor /= 10;
    total += (digit - '0') * factor;
  }
  return total;
}

// The words of a goal, read from left to right.
class Words {
 public:
  explicit Words(std::string_view text) : words_(split_at_spaces(text)) {}

  [[nodiscard]] bool done() const { return next_ >= words_.size(); }
  [[nodiscard]] std::string_view peek() const { return done() ? std::string_view() : words_[next_]; }
  std::string_view take() { return done() ? std::string_view() : words_[next_++]; }
  bool take_if(std::string_view word) {
    if (!equals_ignoring_case(peek(), word)) return false;
    ++next_;
    return true;
  }

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

// "15T", "15 T", "1.4 trillion"; the word "tokens" may follow.
Result<std::int64_t> read_tokens(Words& words) {
  const std::string_view first = words.take();
  const std::size_t digits = std::min(first.find_first_not_of("0123456789."), first.size());
  std::string_view unit = first.substr(digits);
  if (unit.empty() && factor_of(words.peek()) && !words.done()) unit = words.take();
  const std::optional<std::int64_t> factor = factor_of(unit);
  const std::optional<std::int64_t> tokens = factor ? scaled(first.substr(0, digits), *factor) : std::nullopt;
  if (!tokens) return invalid(fmt::format("{} is not a number of tokens such as 300B or 15T", in_backticks(first)));
  if (*tokens < kMinTokens || *tokens > kMaxTokens) {
    return invalid(fmt::format("{} tokens: must be between 1M and 10,000T", format_tokens(*tokens)));
  }
  words.take_if("tokens");
  return *tokens;
}

// "60 days", "8 weeks", "60d".
Result<Duration> read_deadline(Words& words) {
  std::string text(words.take());
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos) {
    const std::string unit = to_lower(words.take());
    if (unit.rfind("month", 0) == 0 || unit.rfind("year", 0) == 0) {
      return invalid(fmt::format("{} have no fixed length: give days or weeks", in_backticks(unit)));
    }
    const bool known = unit == "hour" || unit == "hours" || unit == "day" || unit == "days" || unit == "week" ||
                       unit == "weeks" || unit == "h" || unit == "d" || unit == "w";
    if (!known) return invalid(fmt::format("{} is not a unit of time such as days", in_backticks(unit)));
    text += unit.front();
  }
  const Result<Duration> duration = parse_duration(text);
  if (!duration.ok()) return invalid(fmt::format("{} is not a time such as 60 days", in_backticks(text)));
  if (duration->count() < 3'600'000'000'000 || *duration > kMaxDeadline) {
    return invalid(fmt::format("{}: must be between 1 hour and 3,660 days", in_backticks(text)));
  }
  return *duration;
}

}  // namespace

Result<Goal> parse_goal(std::string_view text) {
  Words words(text);
  Goal goal;
  if (!words.take_if("train") && !words.take_if("pretrain")) {
    return invalid(words.done() ? "the goal is empty"
                                : fmt::format("{}: a goal begins with `train`", in_backticks(words.peek())));
  }
  goal.model = std::string(words.take());
  if (goal.model.empty()) return invalid("the goal names no model");
  while (!words.done()) {
    const std::string_view word = words.take();
    if (equals_ignoring_case(word, "on") || equals_ignoring_case(word, "with")) {
      if (goal.tokens > 0) return invalid("the goal has two numbers of tokens");
      const Result<std::int64_t> tokens = read_tokens(words);
      if (!tokens.ok()) return tokens.error();
      goal.tokens = *tokens;
    } else if (equals_ignoring_case(word, "in") || equals_ignoring_case(word, "within")) {
      if (goal.deadline.count() > 0) return invalid("the goal has two deadlines");
      const Result<Duration> deadline = read_deadline(words);
      if (!deadline.ok()) return deadline.error();
      goal.deadline = *deadline;
    } else {
      return invalid(fmt::format("{} is not understood: expected `on TOKENS` or `in TIME`", in_backticks(word)));
    }
  }
  if (goal.tokens == 0) return invalid("the goal has no number of tokens");
  if (goal.deadline.count() == 0) return invalid("the goal has no deadline");
  return goal;
}

std::string format_tokens(std::int64_t tokens) {
  for (const auto& [unit, name] : {std::pair<std::int64_t, std::string_view>{1'000'000'000'000, "T"},
                                   {1'000'000'000, "B"},
                                   {1'000'000, "M"},
                                   {1'000, "K"}}) {
    if (tokens < unit) continue;
    return fmt::format("{}{}", format_fine_number(static_cast<double>(tokens) / static_cast<double>(unit)), name);
  }
  return std::to_string(tokens);
}

std::string format_days(double days) { return std::isfinite(days) ? format_number(days) + " d" : "never"; }

std::string to_text(const Goal& goal) {
  return fmt::format("train {} on {} tokens in {}", goal.model, format_tokens(goal.tokens),
                     format_days(static_cast<double>(goal.deadline.count()) / 86'400e9));
}

}  // namespace weft::explore
