// Line of "key=value" fields separated by tabs: the text form of journal records and job specifications. Readable with
// any tool, fast to parse, and open to new fields: a reader skips none silently, but an absent field has its default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft::control {

class FieldWriter {
 public:
  FieldWriter() = default;
  // Continues a text, which take() returns: many lines are written without a copy of each.
  explicit FieldWriter(std::string text) : line_(std::move(text)), start_(line_.size()) {}
  void text(std::string_view key, std::string_view value);  // omitted if empty
  void list(std::string_view key, const std::vector<std::string>& values);
  // Omitted if equal to `fallback`.
  void number(std::string_view key, std::int64_t value, std::int64_t fallback = 0);
  [[nodiscard]] std::string take() { return std::move(line_); }

 private:
  void begin(std::string_view key);
  std::string line_;
  std::size_t start_ = 0;  // of the line
};

// Fields of one line, in order. The views point into the line.
class FieldReader {
 public:
  explicit FieldReader(std::string_view line) : rest_(line) {}
  // The next field; false at the end or if the line is malformed.
  bool next();
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string text() const;
  // False if the value is not a number in the range of `value`.
  template <class Integer>
  bool number(Integer& value) const {
    const std::optional<std::int64_t> parsed = parse();
    if (!parsed || !std::in_range<Integer>(*parsed)) return false;
    value = static_cast<Integer>(*parsed);
    return true;
  }
  bool unsigned_number(std::uint64_t& value) const;  // the whole range
  // An enumerator below `count`.
  template <class Enum>
  bool choice(Enum& value, std::underlying_type_t<Enum> count) const {
    std::underlying_type_t<Enum> number_read = 0;
    if (!number(number_read) || number_read >= count) return false;
    value = static_cast<Enum>(number_read);
    return true;
  }
  [[nodiscard]] std::string_view raw() const { return value_; }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  [[nodiscard]] std::optional<std::int64_t> parse() const;
  std::string_view rest_;
  std::string_view key_;
  std::string_view value_;
  bool malformed_ = false;
};

// Escapes backslash, tab, newline, carriage return and NUL.
void append_escaped(std::string& out, std::string_view text);
[[nodiscard]] std::string unescape(std::string_view text);

}  // namespace weft::control
