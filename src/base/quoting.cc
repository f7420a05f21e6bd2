#include "base/quoting.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

enum class InvalidBytes { replace, keep };

void append_escaped(std::string& out, std::uint32_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (unsigned shift = 16; shift > 0; shift -= 4) out += kHex[(code >> (shift - 4)) & 15U];
}

void append_string(std::string& out, std::string_view text, InvalidBytes invalid) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid && invalid == InvalidBytes::replace) {
      out += "\xEF\xBF\xBD";
    } else if (point.value == '"' || point.value == '\\') {
      out += '\\';
      out += text[i];
    } else if (point.value == '\n') {
      out += "\\n";
    } else if (point.value == '\r') {
      out += "\\r";
    } else if (point.value == '\t') {
      out += "\\t";
    } else if (!is_printable(point.value)) {
      append_escaped(out, point.value);
    } else {
      out.append(text, i, point.size);
    }
    i += point.size;
  }
  out += '"';
}

std::size_t skip_digits(std::string_view text, std::size_t i) {
  while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
  return i;
}

// A decimal number, with the "_" of YAML 1.1: 12, -1.5, .5, 1e3, 1_000.
bool is_decimal(std::string_view text) {
  std::size_t i = skip_digits(text, 0);
  std::size_t digits = i;
  if (i < text.size() && text[i] == '.') {
    const std::size_t fraction = skip_digits(text, i + 1);
    digits += fraction - i - 1;
    i = fraction;
  }
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    const std::size_t exponent = skip_digits(text, i);
    if (exponent == i) return false;
    i = exponent;
  }
  return i == text.size();
}

// 0x1F, 0o17, 0b1, and (not distinguished) anything else of that form.
bool is_radix_number(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  if (text[1] != 'x' && text[1] != 'o' && text[1] != 'b') return false;
  return text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
}

// 2:1 and 12:30:45 are base-60 numbers in YAML 1.1.
bool is_base_sixty(std::string_view text) {
  if (text.empty() || !is_digit(text[0]) || text.find(':') == std::string_view::npos) return false;
  return text.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

// 2026-01-31, with or without a time.
bool is_date(std::string_view text) {
  const std::size_t year = skip_digits(text, 0);
  return year == 4 && text.size() >= 8 && text[4] == '-' && is_digit(text[5]) &&
         text.find('-', 6) != std::string_view::npos;
}

// Words that a YAML 1.1 or 1.2 parser could read as something other than text.
bool is_reserved_word(std::string_view text) {
  if (text.size() > 5) return false;
  static constexpr std::string_view kWords[] = {"~", "null", "true", "false", "yes", "no",
                                                "y", "n",    "on",   "off",   "=",   "<<"};
  const std::string word = to_lower(text);
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

bool is_all_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid || !is_printable(point.value)) return false;
    i += point.size;
  }
  return true;
}

// 10.60.0.1, 10.60.0.0/16, 10Ti, 300s: begin with a digit, and no parser reads them as numbers.
bool is_plain_quantity(std::string_view text) {
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots == 3) {
    return text.back() != '.' &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.' || c == '/'; });
  }
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const std::string_view unit = text.substr(digits);
  return !unit.empty() && unit.size() <= 3 && unit.front() != 'e' && unit.front() != 'E' &&
         std::all_of(unit.begin(), unit.end(), is_letter);
}

bool is_safe_in_shell(char c) { return is_letter_or_digit(c) || contains("-_./:,+@%=", {&c, 1}); }

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out;
  append_json_quoted(out, text);
  return out;
}

void append_json_quoted(std::string& out, std::string_view text) {
  // Most texts are plain and are copied unchanged.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
  });
  if (!plain) {
    append_string(out, text, InvalidBytes::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

std::string json_quote_secret(std::string_view text) {
  std::string out;
  out.reserve(6 * text.size() + 2);  // the longest escape of a byte is \u0000
  append_string(out, text, InvalidBytes::keep);
  return out;
}

bool is_yaml_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (is_decimal(text) || is_radix_number(text) || is_base_sixty(text)) return true;
  const std::string word = to_lower(text);
  return word == ".inf" || word == ".nan";
}

bool is_plain_yaml_text(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return false;
  // Commas and brackets would be fine in block style; quoting them allows the text in a flow list too.
  if (text.find_first_of(",[]{}") != std::string_view::npos) return false;
  for (const char* pair : {": ", " #", ":?"}) {  // libyaml rejects the last in a flow list
    if (text.find(pair) != std::string_view::npos) return false;
  }
  if (text.substr(0, 3) == "...") return false;
  if (is_reserved_word(text) || is_yaml_number(text) || is_date(text)) return false;
  return is_all_printable(text);
}

bool is_simple_yaml_text(std::string_view text) {
  if (text.size() > 200 || !is_plain_yaml_text(text)) return false;
  const char first = text.front();
  if (is_digit(first)) return is_plain_quantity(text);
  if (!is_letter(first) && first != '/' && first != '_') return false;
  constexpr std::string_view kOthers = "_./@+=-()*$%^~;<>|&?! :";
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || is_digit(c) || kOthers.find(c) != std::string_view::npos; });
}

std::string yaml_quote(std::string_view text) {
  // A JSON string, with json_quote's escapes, is a double-quoted YAML string.
  return is_plain_yaml_text(text) ? std::string(text) : json_quote(text);
}

std::string shell_quote(std::string_view text) {
  const bool bare = !text.empty() && text.front() != '=' && std::all_of(text.begin(), text.end(), is_safe_in_shell);
  return bare ? std::string(text) : shell_quote_always(text);
}

std::string shell_quote_always(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c != '\0') {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace weft
