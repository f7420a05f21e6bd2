#include "control/fields.h"

#include <algorithm>
#include <charconv>

namespace weft::control {
namespace {

constexpr std::string_view kSpecial("\\\t\n\r\0", 5);
constexpr std::string_view kLetters = "\\tnr0";

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  const bool plain =
      std::none_of(text.begin(), text.end(), [](char c) { return c == '\\' || static_cast<unsigned char>(c) < ' '; });
  if (plain) {  // almost always
    out += text;
    return;
  }
  for (;;) {
    const std::size_t at = text.find_first_of(kSpecial);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return;
    out += '\\';
    out += kLetters[kSpecial.find(text[at])];
    text.remove_prefix(at + 1);
  }
}

std::string unescape(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t letter =
        text[i] == '\\' && i + 1 < text.size() ? kLetters.find(text[i + 1]) : std::string_view::npos;
    if (letter == std::string_view::npos) {
      out += text[i];
    } else {
      out += kSpecial[letter];
      ++i;
    }
  }
  return out;
}

void FieldWriter::begin(std::string_view key) {
  if (line_.size() != start_) line_ += '\t';
  line_ += key;
  line_ += '=';
}

void FieldWriter::text(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  begin(key);
  append_escaped(line_, value);
}

void FieldWriter::list(std::string_view key, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    begin(key);
    append_escaped(line_, value);
  }
}

void FieldWriter::number(std::string_view key, std::int64_t value, std::int64_t fallback) {
  if (value == fallback) return;
  begin(key);
  char digits[24];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  line_.append(digits, written.ptr);
}

bool FieldReader::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\t');
  const std::string_view field = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  const std::size_t equals = field.find('=');
  malformed_ = equals == std::string_view::npos || equals == 0;
  if (malformed_) return false;
  key_ = field.substr(0, equals);
  value_ = field.substr(equals + 1);
  return true;
}

std::string FieldReader::text() const { return unescape(value_); }

std::optional<std::int64_t> FieldReader::parse() const {
  std::int64_t value = 0;
  const char* const end = value_.data() + value_.size();
  const auto [stop, error] = std::from_chars(value_.data(), end, value);
  if (error != std::errc() || stop != end || value_.empty()) return std::nullopt;
  return value;
}

bool FieldReader::unsigned_number(std::uint64_t& value) const {
  const char* const end = value_.data() + value_.size();
  const auto [stop, error] = std::from_chars(value_.data(), end, value);
  return error == std::errc() && stop == end && !value_.empty();
}

}  // namespace weft::control
