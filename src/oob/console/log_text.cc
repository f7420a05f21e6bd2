#include "oob/console/log_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/utf8.h"

namespace weft::oob {
namespace {

constexpr Duration kPartialWait = milliseconds(1'000);
constexpr std::size_t kMaxPattern = 256;  // bytes
constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

// The end of the escape sequence that begins at `at` (ECMA-48, 5.4 and 8.3; OSC ends with BEL or ST).
std::size_t after_escape(std::string_view bytes, std::size_t at) {
  std::size_t i = at + 1;
  if (i >= bytes.size()) return i;
  if (bytes[i] == '[') {
    for (++i; i < bytes.size(); ++i) {
      if (const auto byte = static_cast<unsigned char>(bytes[i]); byte >= 0x40 && byte <= 0x7E) return i + 1;
    }
    return i;
  }
  if (bytes[i] == ']' || bytes[i] == 'P') {
    for (++i; i < bytes.size(); ++i) {
      if (bytes[i] == kBell) return i + 1;
      if (bytes[i] == kEscape) return std::min(i + 2, bytes.size());
    }
    return i;
  }
  while (i < bytes.size() && bytes[i] >= ' ' && bytes[i] <= '/') ++i;  // intermediate bytes: ESC ( B
  return std::min(i + 1, bytes.size());
}

}  // namespace

std::string visible_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint point = decode_utf8(bytes, i);
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (!point.valid) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (point.value == '\t' || is_printable(point.value)) {
      out.append(bytes, i, point.size);
    } else if (point.value < 0x20) {
      out += '^';
      out += static_cast<char>(byte + 0x40);
    } else if (point.value == 0x7F) {
      out += "^?";
    } else {
      out += fmt::format("\\u{{{:x}}}", point.value);
    }
    i += point.size;
  }
  return out;
}

std::string plain_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const char c = bytes[i];
    if (c == kEscape) {
      i = after_escape(bytes, i);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    const bool control = (byte < 0x20 && c != '\t') || byte == 0x7F;
    if (!control) out += c;
    ++i;
  }
  return out;
}

std::string log_line(std::int64_t wall_ms, LineMark mark, std::string_view text) {
  return fmt::format("{} {} {}", format_utc(wall_ms), static_cast<char>(mark), text);
}

void ConsoleLines::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (line_.empty()) {
      began_ms_ = clock_.wall_ms();
      began_ = clock_.now();
    }
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::size_t room = kMaxConsoleLine - line_.size();
    const std::size_t taken = std::min(end, room);
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (taken == end && !bytes.empty()) {
      bytes.remove_prefix(1);
      give_out(true);
    } else if (line_.size() >= kMaxConsoleLine) {
      give_out(false);
    }
  }
}

void ConsoleLines::tick() {
  if (!line_.empty() && clock_.now() - began_ >= kPartialWait) give_out(false);
}

void ConsoleLines::flush() {
  if (!line_.empty()) give_out(false);
}

void ConsoleLines::give_out(bool ended) {
  // Serial lines end in CR LF, some in CR CR LF.
  while (ended && !line_.empty() && line_.back() == '\r') line_.pop_back();
  // An unfinished line that was already emitted needs no empty continuation.
  if (!(goes_on_ && ended && line_.empty()))
    emit_(log_line(began_ms_, goes_on_ ? LineMark::goes_on : LineMark::line, visible_text(line_)));
  line_.clear();
  goes_on_ = !ended;
}

Result<ConsoleMatcher> ConsoleMatcher::make(const std::string& pattern) {
  if (pattern.empty() || pattern.size() > kMaxPattern)
    return Error{ErrorCode::invalid_input, fmt::format("a pattern has 1 to {} bytes", kMaxPattern), {}};
  ConsoleMatcher matcher;
  try {
    // libstdc++'s breadth-first matcher: no back-references, no exponential time, no deep recursion.
    matcher.pattern_.assign(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error& problem) {
    return Error{ErrorCode::invalid_input, fmt::format("not a regular expression: {}", problem.what()),
                 in_backticks(pattern)};
  }
  return matcher;
}

bool ConsoleMatcher::feed(std::string_view bytes) {
  while (!seen_ && !bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    line_ += bytes.substr(0, end);
    if (line_.size() > kMaxConsoleLine) line_.erase(0, line_.size() - kMaxConsoleLine);
    const bool ended = end < bytes.size();
    bytes.remove_prefix(ended ? end + 1 : end);
    if (test()) return true;
    if (ended) line_.clear();
  }
  return seen_;
}

bool ConsoleMatcher::test() {
  const std::string plain = plain_text(line_);
  try {
    seen_ = std::regex_search(plain, pattern_);
  } catch (const std::regex_error&) {
    seen_ = false;  // too complex for this line
  }
  if (seen_) found_ = printable(plain, kMaxConsoleLine);
  return seen_;
}

}  // namespace weft::oob
