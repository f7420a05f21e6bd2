#include "netsim/readers/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::netsim {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The digits of a decimal number, without its point, as mantissa x 10^exponent. Digits beyond what 64 bits hold only
// raise the exponent: they are below any resolution needed here.
struct Decimal {
  std::uint64_t mantissa = 0;
  std::int64_t exponent = 0;
};

const char* read_digits(const char* at, const char* end, bool fraction, Decimal& value) {
  constexpr std::uint64_t kRoom = (UINT64_MAX - 9) / 10;
  for (; at != end && is_digit(*at); ++at) {
    if (value.mantissa <= kRoom) {
      value.mantissa = value.mantissa * 10 + static_cast<std::uint64_t>(*at - '0');
      value.exponent -= fraction ? 1 : 0;
    } else if (!fraction) {
      ++value.exponent;
    }
  }
  return at;
}

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal value;
  const char* const end = text.data() + text.size();
  const char* const whole = text.data();
  const char* at = read_digits(whole, end, false, value);
  std::ptrdiff_t digits = at - whole;
  if (at != end && *at == '.') {
    const char* const fraction = ++at;
    at = read_digits(fraction, end, true, value);
    digits += at - fraction;
  }
  if (digits == 0) return std::nullopt;
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && *at == '+' && at + 1 != end && is_digit(at[1])) ++at;
    int power = 0;
    const auto [behind, problem] = std::from_chars(at, end, power);
    if (problem != std::errc()) return std::nullopt;
    at = behind;
    value.exponent += power;
  }
  if (at != end) return std::nullopt;
  return value;
}

}  // namespace

std::string quoted(std::string_view text) { return fmt::format("`{}`", printable(text, 40)); }

std::optional<std::int64_t> scaled_decimal(std::string_view text, int scale) {
  std::optional<Decimal> value = read_decimal(text);
  if (!value) return std::nullopt;
  constexpr auto kMax = static_cast<Uint128>(INT64_MAX);
  Uint128 number = value->mantissa;
  std::int64_t power = value->exponent + scale;
  for (; power > 0 && number != 0 && number <= kMax; --power) number *= 10;
  if (power < -25) return 0;  // less than 0.5, for a mantissa below 2 x 10^19
  if (power < 0) {
    Uint128 divisor = 1;
    for (; power < 0; ++power) divisor *= 10;
    number = (number + divisor / 2) / divisor;
  }
  return static_cast<std::int64_t>(std::min(number, kMax));
}

LineReader::LineReader(const Sources& sources, FileId file, Diagnostics& diagnostics, char comment)
    : diagnostics_(diagnostics), file_(file), comment_(comment) {
  const std::string_view text = sources.text(file);
  next_ = text.data();
  end_ = text.data() + text.size();
}

bool LineReader::next_line() {
  while (!stopped_ && next_ != end_) {
    const auto left = static_cast<std::size_t>(end_ - next_);
    const auto* const newline = static_cast<const char*>(std::memchr(next_, '\n', left));
    line_begin_ = at_ = next_;
    line_end_ = newline == nullptr ? end_ : newline;
    next_ = newline == nullptr ? end_ : newline + 1;
    ++line_;
    if (static_cast<std::size_t>(line_end_ - line_begin_) > kMaxLineBytes) {
      error({{}, line_, 1}, "the line is longer than 1 MiB");
      stopped_ = true;
      return false;
    }
    finish_line();
    if (!peek().text.empty()) return true;
  }
  return false;
}

// Removes a comment and a trailing carriage return.
void LineReader::finish_line() {
  const auto size = static_cast<std::size_t>(line_end_ - line_begin_);
  if (comment_ != '\0' && size > 0) {
    const auto* const found = static_cast<const char*>(std::memchr(line_begin_, comment_, size));
    if (found != nullptr) line_end_ = found;
  }
  if (line_end_ != line_begin_ && line_end_[-1] == '\r') --line_end_;
}

Word LineReader::peek() const {
  const char* begin = at_;
  while (begin != line_end_ && is_blank(*begin)) ++begin;
  if (begin == line_end_) return line_end();
  const char* end = begin;
  while (end != line_end_ && !is_blank(*end)) ++end;
  return {std::string_view(begin, static_cast<std::size_t>(end - begin)), line_,
          static_cast<std::uint32_t>(begin - line_begin_ + 1)};
}

Word LineReader::word() {
  const Word found = peek();
  at_ = found.text.empty() ? line_end_ : found.text.data() + found.text.size();
  return found;
}

Word LineReader::line_end() const {
  const char* end = line_end_;
  while (end != line_begin_ && is_blank(end[-1])) --end;
  return {{}, std::max(line_, 1U), static_cast<std::uint32_t>(end - line_begin_ + 1)};
}

void LineReader::error(const Word& word, std::string message, std::string hint) {
  if (stopped_) return;
  const auto column = static_cast<std::uint16_t>(std::min(word.column, 65'535U));
  const SourceLocation place{file_, column, word.line};
  diagnostics_.error(place, std::move(message), std::move(hint), std::max<std::size_t>(word.text.size(), 1));
  if (++errors_ < kMaxErrors) return;
  stopped_ = true;
  diagnostics_.error(place, "too many errors: the rest of the file was not read");
}

void LineReader::warning(const Word& word, std::string message, std::string hint) {
  const auto column = static_cast<std::uint16_t>(std::min(word.column, 65'535U));
  diagnostics_.warning({file_, column, word.line}, std::move(message), std::move(hint),
                       std::max<std::size_t>(word.text.size(), 1));
}

void LineReader::expected(std::string_view what, const Word& found, std::string hint) {
  error(found,
        found.text.empty() ? fmt::format("expected {}, but the line ends here", what)
                           : fmt::format("expected {}, not {}", what, quoted(found.text)),
        std::move(hint));
}

std::optional<std::int64_t> LineReader::integer(const Word& word, std::string_view what, std::int64_t least,
                                                std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = word.text.data() + word.text.size();
  const auto [behind, problem] = std::from_chars(word.text.data(), end, value);
  if (word.text.empty() || behind != end || problem == std::errc::invalid_argument) {
    expected(fmt::format("{}, a whole number", what), word);
    return std::nullopt;
  }
  if (problem != std::errc() || value < least || value > most) {
    error(word, fmt::format("{} is {}; expected {} to {}", what, quoted(word.text), least, most));
    return std::nullopt;
  }
  return value;
}

bool LineReader::ends_here() {
  const Word extra = peek();
  if (extra.text.empty()) return true;
  expected("the line to end here", extra);
  return false;
}

std::optional<std::int64_t> LineReader::decimal(const Word& word, std::string_view what, int scale, std::int64_t most) {
  const std::optional<std::int64_t> value = scaled_decimal(word.text, scale);
  if (!value) {
    expected(fmt::format("{}, a decimal number of at least 0", what), word);
  } else if (*value > most) {
    error(word, fmt::format("{} is {}, which is too large", what, quoted(word.text)));
    return std::nullopt;
  }
  return value;
}

}  // namespace weft::netsim
