#include "health/readers/exposition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace weft::health {
namespace {

using sched::Moment;

constexpr std::string_view kEnd = "# EOF";
constexpr std::int64_t kMaxNanoseconds = std::numeric_limits<std::int64_t>::max();

constexpr std::uint8_t kNameStart = 1;
constexpr std::uint8_t kNamePart = 2;
constexpr std::uint8_t kLabelStart = 4;
constexpr std::uint8_t kLabelPart = 8;
constexpr std::uint8_t kSpace = 16;
constexpr std::uint8_t kQuotedStop = 32;  // ends a run of plain bytes in quotes
constexpr std::uint8_t kTokenStop = 64;

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const char c = static_cast<char>(i);
    if (is_letter(c) || c == '_') classes[i] = kNameStart | kNamePart | kLabelStart | kLabelPart;
    if (is_digit(c)) classes[i] = kNamePart | kLabelPart;
    if (c == ':') classes[i] = kNameStart | kNamePart;
    if (c == ' ' || c == '\t') classes[i] = kSpace | kTokenStop;
    if (c == '\n') classes[i] = kQuotedStop | kTokenStop;
    if (c == '"' || c == '\\') classes[i] = kQuotedStop;
  }
  return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char c, std::uint8_t wanted) { return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0; }

const char* skip(const char* p, std::uint8_t wanted) {
  while (is(*p, wanted)) ++p;
  return p;
}

const char* skip_until(const char* p, std::uint8_t unwanted) {
  while (!is(*p, unwanted)) ++p;
  return p;
}

std::string_view token_at(const char* p) { return {p, static_cast<std::size_t>(skip_until(p, kTokenStop) - p)}; }

// Powers of ten that a double holds exactly.
constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr std::ptrdiff_t kExactDigits = 15;

// Most numbers: at most 15 digits, with or without a decimal point. One division of two exact numbers rounds correctly
// (W. Clinger, PLDI 1990). nullptr: it is another number, or none.
const char* parse_short_number(const char* p, double& value) {
  const bool negative = *p == '-';
  if (negative) ++p;
  std::uint64_t digits = 0;
  std::ptrdiff_t count = 0;
  const auto add_digits = [&] {
    for (; count <= kExactDigits && is_digit(*p); ++p, ++count) {
      digits = digits * 10 + static_cast<std::uint64_t>(*p - '0');
    }
  };
  add_digits();
  const std::ptrdiff_t whole_digits = count;
  if (count > 0 && *p == '.') {
    ++p;
    add_digits();
  }
  if (count == 0 || count > kExactDigits || !is(*p, kTokenStop)) return nullptr;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(digits));
  value = count == whole_digits ? whole : whole / kPowers[count - whole_digits];
  if (negative) value = -value;
  return p;
}

bool parse_word(std::string_view text, double& value) {
  const bool sign = text.front() == '+' || text.front() == '-';
  const std::string_view word = sign ? text.substr(1) : text;
  if (equals_ignoring_case(word, "inf") || equals_ignoring_case(word, "infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    value = text.front() == '-' ? -infinity : infinity;
    return true;
  }
  if (sign || !equals_ignoring_case(word, "nan")) return false;
  value = std::numeric_limits<double>::quiet_NaN();
  return true;
}

// Without its plus sign. Empty if no number follows it.
std::string_view without_plus(std::string_view text) {
  if (!text.starts_with('+')) return text;
  text.remove_prefix(1);
  return !text.empty() && (is_digit(text.front()) || text.front() == '.') ? text : std::string_view();
}

// A number of the general form; not hexadecimal, and not beyond the range of double.
bool parse_decimal(std::string_view text, double& value) {
  text = without_plus(text);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() <= first || !(is_digit(text[first]) || text[first] == '.')) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

// Behind the number, or nullptr.
const char* parse_number(const char* p, double& value) {
  if (const char* const stop = parse_short_number(p, value)) return stop;
  const std::string_view text = token_at(p);
  if (text.empty() || !(parse_decimal(text, value) || parse_word(text, value))) return nullptr;
  return text.data() + text.size();
}

std::optional<Moment> milliseconds(std::string_view text) {
  text = without_plus(text);
  std::int64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  constexpr std::int64_t kMost = kMaxNanoseconds / 1'000'000;
  if (count > kMost) return Moment(kMaxNanoseconds);
  if (count < -kMost) return Moment(-kMaxNanoseconds);
  return Moment(count * 1'000'000);
}

Moment saturated_seconds(double seconds) {
  constexpr double kMost = 9.2e9;
  if (seconds >= kMost) return Moment(kMaxNanoseconds);
  if (seconds <= -kMost) return Moment(-kMaxNanoseconds);
  return Moment(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

// Whole nanoseconds of a number without an exponent: a double has too few digits. Further digits are dropped.
std::optional<Moment> exact_seconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  std::int64_t whole = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + point, whole);
  if (error != std::errc() || stop != text.data() + point || whole < 0 || whole > 9'000'000'000) return std::nullopt;
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 100'000'000;
  for (std::size_t i = point + 1; i < text.size(); ++i, unit /= 10) {
    if (!is_digit(text[i])) return std::nullopt;
    nanoseconds += (text[i] - '0') * unit;
  }
  const std::int64_t count = whole * 1'000'000'000 + nanoseconds;
  return Moment(negative ? -count : count);
}

std::optional<Moment> seconds_of_text(std::string_view text) {
  if (const std::optional<Moment> exact = exact_seconds(text)) return exact;
  double seconds = 0;
  if (text.empty() || !parse_decimal(text, seconds)) return std::nullopt;
  return saturated_seconds(seconds);
}

}  // namespace

ExpositionFormat exposition_format(std::string_view content_type) {
  const std::string_view type = trim(content_type.substr(0, content_type.find(';')));
  return equals_ignoring_case(type, "application/openmetrics-text") ? ExpositionFormat::openmetrics
                                                                    : ExpositionFormat::prometheus;
}

ExpositionFormat guess_exposition_format(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool last = text.ends_with(kEnd) && (text.size() == kEnd.size() || text[text.size() - kEnd.size() - 1] == '\n');
  return last ? ExpositionFormat::openmetrics : ExpositionFormat::prometheus;
}

std::string_view MetricLabel::value(std::string& buffer) const {
  if (!escaped) return raw;
  buffer.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char next = raw[i] == '\\' && i + 1 < raw.size() ? raw[i + 1] : '\0';
    if (next == '\\' || next == '"' || next == 'n') {
      buffer += next == 'n' ? '\n' : next;
      ++i;
    } else {
      buffer += raw[i];
    }
  }
  return buffer;
}

void append_escaped_label(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

LabelReader::LabelReader(std::string_view labels) : rest_(labels) {
  if (rest_.starts_with('{')) rest_.remove_prefix(1);
}

bool LabelReader::next(MetricLabel& label) {
  const auto skip_spaces = [&] { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t,"), rest_.size())); };
  skip_spaces();
  std::size_t size = 0;
  while (size < rest_.size() && is(rest_[size], kLabelPart)) ++size;
  label.name = rest_.substr(0, size);
  rest_.remove_prefix(size);
  skip_spaces();
  if (label.name.empty() || !rest_.starts_with('=')) return false;
  rest_.remove_prefix(1);
  skip_spaces();
  if (!rest_.starts_with('"')) return false;
  rest_.remove_prefix(1);
  label.escaped = false;
  for (size = 0; size < rest_.size() && rest_[size] != '"'; ++size) {
    if (rest_[size] != '\\') continue;
    label.escaped = true;
    ++size;
  }
  if (size >= rest_.size()) return false;
  label.raw = rest_.substr(0, size);
  rest_.remove_prefix(size + 1);
  return true;
}

ExpositionReader::ExpositionReader(std::string_view text, ExpositionFormat format)
    : cursor_(text.data()), format_(format) {
  const std::size_t last = text.rfind('\n');
  const std::size_t whole = last == std::string_view::npos ? 0 : last + 1;
  end_ = text.data() + whole;
  unfinished_ = text.substr(whole);
}

void ExpositionReader::skip_line(const char* from) {
  // There is one: the text was cut behind its last line feed.
  cursor_ = static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(end_ - from))) + 1;
  ++line_;
}

void ExpositionReader::skip_comment() {
  const char* const first = cursor_;
  skip_line(first);
  const std::string_view comment(first, static_cast<std::size_t>(cursor_ - 1 - first));
  if (format_ == ExpositionFormat::openmetrics && comment == kEnd) ended_ = true;
}

// Moves to the first byte of the next sample. False: there is none.
bool ExpositionReader::find_sample() {
  while (cursor_ < end_ && !ended_) {
    if (is(*cursor_, kSpace)) cursor_ = skip(cursor_, kSpace);
    if (*cursor_ == '#') {
      skip_comment();
    } else if (*cursor_ == '\n') {
      ++cursor_;
      ++line_;
    } else {
      return true;
    }
  }
  return false;
}

ExpositionReader::Item ExpositionReader::end_of_text() {
  const std::string_view last = trim(unfinished_, kTabsAndSpaces);
  const bool surplus = ended_ && (cursor_ < end_ || !unfinished_.empty());
  const bool cut = !ended_ && !last.empty() && !last.starts_with('#');
  cursor_ = end_;
  unfinished_ = {};
  item_line_ = line_ + 1;
  if (surplus || cut) {
    problem_ = surplus ? "text after `# EOF`" : "the last line has no line feed: the text was cut off";
    ++damaged_;
    whole_ = false;
    return Item::damaged;
  }
  if (format_ == ExpositionFormat::openmetrics && last == kEnd) ended_ = true;
  complete_ = whole_ && (ended_ || format_ == ExpositionFormat::prometheus);
  return Item::end;
}

ExpositionReader::Item ExpositionReader::fail(const char* problem, const char* from) {
  problem_ = problem;
  ++damaged_;
  skip_line(from);
  return Item::damaged;
}

// Behind the closing brace. nullptr, with the problem, if it is damaged.
const char* ExpositionReader::parse_labels(const char* from) {
  const auto damaged = [&](const char* problem) {
    problem_ = problem;
    return nullptr;
  };
  const char* p = skip(from + 1, kSpace);
  while (*p != '}') {
    if (!is(*p, kLabelStart)) return damaged("a label has no valid name");
    p = skip(skip(p, kLabelPart), kSpace);
    if (*p != '=') return damaged("a label has no `=`");
    p = skip(p + 1, kSpace);
    if (*p != '"') return damaged("the value of a label is not in double quotes");
    p = skip_until(p + 1, kQuotedStop);
    while (*p != '"') {
      if (*p == '\n' || p[1] == '\n') return damaged("the value of a label has no closing quote");
      p = skip_until(p + 2, kQuotedStop);
    }
    p = skip(p + 1, kSpace);
    if (*p == '}') break;
    if (*p != ',') return damaged("there is no comma between two labels");
    p = skip(p + 1, kSpace);
  }
  return p + 1;
}

const char* ExpositionReader::parse_timestamp(const char* from, std::optional<Moment>& at) {
  const std::string_view text = token_at(from);
  at = format_ == ExpositionFormat::openmetrics ? seconds_of_text(text) : milliseconds(text);
  if (at) return text.data() + text.size();
  problem_ = "the timestamp is not a number";
  return nullptr;
}

// `# {labels} value [timestamp]`: checked and dropped.
const char* ExpositionReader::parse_exemplar(const char* from) {
  const char* p = skip(from + 1, kSpace);
  problem_ = "an exemplar has no labels";
  if (*p != '{') return nullptr;
  p = parse_labels(p);
  if (p == nullptr) return nullptr;
  problem_ = "the value of an exemplar is not a number";
  double value = 0;
  if (!is(*p, kSpace)) return nullptr;
  p = parse_number(skip(p, kSpace), value);
  if (p == nullptr) return nullptr;
  p = skip(p, kSpace);
  std::optional<Moment> at;
  return *p == '\n' ? p : parse_timestamp(p, at);
}

// The value and what follows it.
ExpositionReader::Item ExpositionReader::parse_rest(const char* from) {
  const char* p = skip(from, kSpace);
  if (p == from) return fail("there is no space before the value", p);
  const char* const number = p;
  p = parse_number(number, sample_.value);
  if (p == nullptr) return fail("the value is not a number", number);
  sample_.at.reset();
  if (*p != '\n') {
    const bool openmetrics = format_ == ExpositionFormat::openmetrics;
    const char* stop = skip(p, kSpace);
    if (*stop != '\n' && !(openmetrics && *stop == '#')) stop = parse_timestamp(stop, sample_.at);
    if (stop != nullptr) stop = skip(stop, kSpace);
    if (stop != nullptr && openmetrics && *stop == '#') stop = parse_exemplar(stop);
    if (stop == nullptr) return fail(problem_, p);
    p = skip(stop, kSpace);
    if (*p != '\n') return fail("there is text after the timestamp", p);
  }
  cursor_ = p + 1;
  ++line_;
  return Item::sample;
}

ExpositionReader::Item ExpositionReader::next() {
  if (!find_sample()) return end_of_text();
  item_line_ = line_ + 1;
  const char* const first = cursor_;
  if (!is(*first, kNameStart)) return fail("the line does not begin with the name of a metric", first);
  const char* p = skip(first, kNamePart);
  sample_.name = {first, static_cast<std::size_t>(p - first)};
  sample_.labels = {};
  const char* const labels = skip(p, kSpace);
  if (*labels == '{') {
    p = parse_labels(labels);
    if (p == nullptr) return fail(problem_, labels);
    sample_.labels = {labels, static_cast<std::size_t>(p - labels)};
  }
  return parse_rest(p);
}

ExpositionReader::Item ExpositionReader::next_if(std::string_view name, std::string_view labels) {
  if (!find_sample()) return Item::other;
  const std::size_t size = name.size() + labels.size();
  if (static_cast<std::size_t>(end_ - cursor_) <= size) return Item::other;
  const char* const stop = cursor_ + size;
  if (!is(*stop, kSpace) || std::memcmp(cursor_, name.data(), name.size()) != 0) return Item::other;
  if (!labels.empty() && std::memcmp(cursor_ + name.size(), labels.data(), labels.size()) != 0) return Item::other;
  if (labels.empty() && *skip(stop, kSpace) == '{') return Item::other;
  item_line_ = line_ + 1;
  sample_.name = {cursor_, name.size()};
  sample_.labels = {cursor_ + name.size(), labels.size()};
  return parse_rest(stop);
}

bool ExpositionReader::skip_if(std::string_view name) {
  if (!find_sample() || static_cast<std::size_t>(end_ - cursor_) <= name.size()) return false;
  const char* const stop = cursor_ + name.size();
  if (!(is(*stop, kSpace) || *stop == '{') || std::memcmp(cursor_, name.data(), name.size()) != 0) return false;
  item_line_ = line_ + 1;
  skip_line(stop);
  return true;
}

}  // namespace weft::health
