#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

// An open container and, for an object, the last key read.
struct Frame {
  YamlNode node;
  std::string key;
  SourceLocation key_place;
};

class JsonReader {
 public:
  // With a `fixed` location, the text is embedded in another file and every node gets that location.
  JsonReader(std::string_view text, const SourceLocation& start, bool fixed, Diagnostics& diagnostics,
             const YamlLimits& limits)
      : text_(text), start_(start), fixed_(fixed), diagnostics_(diagnostics), limits_(limits) {}

  std::optional<YamlNode> read() {
    if (text_.size() > limits_.bytes) {
      fail(0, fmt::format("the JSON text exceeds the limit of {} bytes", limits_.bytes));
      return std::nullopt;
    }
    skip_blanks();
    if (at_end()) {
      fail(offset_, "expected a JSON value, found empty text");
      return std::nullopt;
    }
    while (!done_ && !failed_) step();
    if (failed_) return std::nullopt;
    skip_blanks();
    if (!at_end()) {
      fail(offset_, "unexpected text after the end of the JSON value");
      return std::nullopt;
    }
    return std::move(root_);
  }

 private:
  enum class Expect : std::uint8_t { value, value_or_close, key, key_or_close, comma_or_close };

  void step() {
    skip_blanks();
    if (at_end()) return fail_at_end();
    const char c = text_[offset_];
    switch (expect_) {
      case Expect::value_or_close:
        if (c == ']') return close();
        return take_value(c);
      case Expect::value:
        return take_value(c);
      case Expect::key_or_close:
        if (c == '}') return close();
        return take_key(c);
      case Expect::key:
        return take_key(c);
      case Expect::comma_or_close:
        return take_separator(c);
    }
  }

  void take_value(char c) {
    if (c == '{') return open(YamlNode::Kind::mapping);
    if (c == '[') return open(YamlNode::Kind::sequence);
    YamlNode node;
    node.place = here();
    node.kind = YamlNode::Kind::scalar;
    if (c == '"') {
      node.quoted = true;
      if (!take_string(node.scalar)) return;
    } else if (c == '-' || is_digit(c)) {
      if (!take_number(node.scalar)) return;
    } else if (!take_word(node)) {
      return;
    }
    place_value(std::move(node));
  }

  void take_key(char c) {
    if (c == '}') return fail(offset_, "a comma before `}` is not allowed", "remove the comma");
    if (c != '"') return fail(offset_, "expected a key in double quotes");
    Frame& frame = stack_.back();
    frame.key_place = here();
    frame.key.clear();
    if (!take_string(frame.key)) return;
    skip_blanks();
    if (at_end()) return fail_at_end();
    if (text_[offset_] != ':') return fail(offset_, "expected a colon after the key");
    ++offset_;
    expect_ = Expect::value;
  }

  void take_separator(char c) {
    const bool mapping = stack_.back().node.kind == YamlNode::Kind::mapping;
    if (c == (mapping ? '}' : ']')) return close();
    if (c != ',') return fail(offset_, mapping ? "expected a comma or `}`" : "expected a comma or `]`");
    ++offset_;
    expect_ = mapping ? Expect::key : Expect::value;
  }

  void open(YamlNode::Kind kind) {
    if (stack_.size() >= limits_.depth) {
      return fail(offset_, fmt::format("nested more than {} levels deep", limits_.depth));
    }
    if (!count_node()) return;
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = here();
    stack_.push_back(std::move(frame));
    ++offset_;
    expect_ = kind == YamlNode::Kind::mapping ? Expect::key_or_close : Expect::value_or_close;
  }

  void close() {
    ++offset_;
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    if (node.kind == YamlNode::Kind::mapping) drop_duplicates(node);
    attach(std::move(node));
  }

  void place_value(YamlNode node) {
    if (count_node()) attach(std::move(node));
  }

  void attach(YamlNode node) {
    expect_ = Expect::comma_or_close;
    if (stack_.empty()) {
      root_ = std::move(node);
      done_ = true;
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::mapping) {
      frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
      frame.key.clear();
    } else {
      frame.node.items.push_back(std::move(node));
    }
  }

  // Keeps the last of duplicate keys, at its position.
  void drop_duplicates(YamlNode& node) {
    std::vector<YamlEntry>& entries = node.entries;
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return entries[a].key < entries[b].key; });
    std::vector<bool> dropped(entries.size(), false);
    bool any = false;
    for (std::size_t i = 1; i < order.size(); ++i) {
      const YamlEntry& entry = entries[order[i]];
      if (entries[order[i - 1]].key != entry.key) continue;
      any = dropped[order[i - 1]] = true;
      diagnostics_.warning(entry.key_place, fmt::format("duplicate key {}", in_backticks(entry.key)),
                           "the last one is used", entry.key.size() + 2);
    }
    if (!any) return;
    std::vector<YamlEntry> kept;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!dropped[i]) kept.push_back(std::move(entries[i]));
    }
    entries = std::move(kept);
  }

  bool take_string(std::string& out) {
    const std::size_t opened = offset_++;
    while (!at_end()) {
      const char c = text_[offset_];
      if (c == '"') {
        ++offset_;
        return true;
      }
      if (c == '\\') {
        if (!take_escape(out)) return false;
        continue;
      }
      const CodePoint point = decode_utf8(text_, offset_);
      if (!point.valid) return fail_string(offset_, "invalid UTF-8");
      if (point.value == '\n' || point.value == '\r')
        return fail_string(opened, "unterminated string: the closing quote must be on the same line");
      if (point.value < 0x20) return fail_string(offset_, "a control character in a string must be escaped as \\u00XX");
      out.append(text_, offset_, point.size);
      offset_ += point.size;
    }
    return fail_string(opened, "unterminated string");
  }

  // At a backslash.
  bool take_escape(std::string& out) {
    const std::size_t begin = offset_++;
    if (at_end()) return fail_string(begin, "unterminated string");
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    const char c = text_[offset_++];
    if (const std::size_t found = kLetters.find(c); found != std::string_view::npos) {
      out += kMeaning[found];
      return true;
    }
    if (c != 'u') return fail_string(begin, "invalid escape: JSON allows \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    std::uint32_t code = 0;
    if (!take_hex(code)) return fail_string(begin, "\\u needs four hexadecimal digits");
    if (code >= 0xDC00 && code <= 0xDFFF) return fail_string(begin, "a low surrogate without a high one before it");
    if (code >= 0xD800 && code <= 0xDBFF) {
      std::uint32_t low = 0;
      const bool escaped = text_.substr(offset_, 2) == "\\u";
      if (escaped) offset_ += 2;
      if (!escaped || !take_hex(low) || low < 0xDC00 || low > 0xDFFF) {
        return fail_string(begin, "a high surrogate without a low one after it");
      }
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_utf8(out, code);
    return true;
  }

  bool take_hex(std::uint32_t& code) {
    if (text_.size() - offset_ < 4) return false;
    for (int i = 0; i < 4; ++i) {
      const char c = text_[offset_];
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit(c) && !(lower >= 'a' && lower <= 'f')) return false;
      code = code * 16 + static_cast<std::uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
      ++offset_;
    }
    return true;
  }

  bool take_digits() {
    const std::size_t begin = offset_;
    while (!at_end() && is_digit(text_[offset_])) ++offset_;
    return offset_ > begin;
  }

  // number = [ minus ] int [ frac ] [ exp ], RFC 8259 section 6.
  bool take_number(std::string& out) {
    const std::size_t begin = offset_;
    const auto next_is = [&](std::string_view set) { return !at_end() && set.find(text_[offset_]) != set.npos; };
    if (next_is("-")) ++offset_;
    const std::size_t digits = offset_;
    bool good = take_digits() && !(text_[digits] == '0' && offset_ > digits + 1);
    if (next_is(".")) {
      ++offset_;
      good = take_digits() && good;
    }
    if (next_is("eE")) {
      ++offset_;
      if (next_is("+-")) ++offset_;
      good = take_digits() && good;
    }
    if (!good) return fail_string(begin, "invalid JSON number");
    out = text_.substr(begin, offset_ - begin);
    return true;
  }

  bool take_word(YamlNode& node) {
    const std::size_t begin = offset_;
    std::size_t end = begin;
    while (end < text_.size() && ((text_[end] >= 'a' && text_[end] <= 'z') || (text_[end] >= 'A' && text_[end] <= 'Z')))
      ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    if (word == "null") {
      node.kind = YamlNode::Kind::null;
    } else if (word == "true" || word == "false") {
      node.scalar = word;
    } else {
      fail_no_value(begin, word);
      return false;
    }
    offset_ = end;
    return true;
  }

  void fail_no_value(std::size_t at, std::string_view word) {
    const char c = text_[at];
    if (c == ']' || c == '}') return fail(at, fmt::format("a value is missing before `{}`", c));
    if (c == '/') return fail(at, "JSON has no comments");
    if (c == '\'') return fail(at, "JSON strings use double quotes");
    if (!word.empty()) return fail(at, fmt::format("{} is not a JSON value", in_backticks(word)), {}, word.size());
    fail(at, "expected a JSON value");
  }

  void skip_blanks() {
    for (; !at_end(); ++offset_) {
      const char c = text_[offset_];
      if (c == '\n') {
        ++line_;
        line_start_ = offset_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool count_node() {
    if (++nodes_ <= limits_.nodes) return true;
    fail(offset_, fmt::format("more than {} values, which is the limit", limits_.nodes));
    return false;
  }

  [[nodiscard]] bool at_end() const { return offset_ >= text_.size(); }
  [[nodiscard]] SourceLocation here() const { return place_of(offset_); }

  // For an offset on the current line: line ends occur only in white space between values.
  [[nodiscard]] SourceLocation place_of(std::size_t offset) const {
    if (fixed_) return start_;
    const std::size_t column = std::min<std::size_t>(offset - line_start_ + 1, 65535);
    return {start_.file, static_cast<std::uint16_t>(column), line_};
  }

  void fail(std::size_t offset, std::string message, std::string hint = {}, std::size_t length = 1) {
    if (fixed_) message += fmt::format(" (byte {} of the JSON text)", offset + 1);
    diagnostics_.error(place_of(offset), std::move(message), std::move(hint), fixed_ ? 1 : length);
    failed_ = true;
  }
  bool fail_string(std::size_t offset, std::string message) {
    fail(offset, std::move(message));
    return false;
  }

  void fail_at_end() {
    if (stack_.empty()) return fail(offset_, "the text ends where a value is expected");
    const bool mapping = stack_.back().node.kind == YamlNode::Kind::mapping;
    fail(offset_, fmt::format("the text ends inside {}: `{}` is missing", mapping ? "an object" : "a list",
                              mapping ? '}' : ']'));
  }

  std::string_view text_;
  SourceLocation start_;
  bool fixed_;
  Diagnostics& diagnostics_;
  const YamlLimits& limits_;
  std::size_t offset_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t nodes_ = 0;
  Expect expect_ = Expect::value;
  bool done_ = false;
  bool failed_ = false;
  std::vector<Frame> stack_;
  YamlNode root_;
};

}  // namespace

std::optional<YamlNode> parse_json(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                   const YamlLimits& limits) {
  return JsonReader(sources.text(file), {file, 0, 0}, false, diagnostics, limits).read();
}

std::optional<YamlNode> parse_json_text(std::string_view text, const SourceLocation& place, Diagnostics& diagnostics,
                                        const YamlLimits& limits) {
  return JsonReader(text, place, true, diagnostics, limits).read();
}

}  // namespace weft
