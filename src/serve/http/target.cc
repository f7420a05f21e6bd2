#include "serve/http/target.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

Error target_error(std::string_view what, std::string_view text) {
  return {ErrorCode::invalid_input, fmt::format("{} in the request target {}", what, in_backticks(text)), {}};
}

std::optional<unsigned> hex_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  const char lower = to_lower(c);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a') + 10U;
  return std::nullopt;
}

// Nullopt if an escape is invalid.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (text.size() - i < 3) return std::nullopt;
      const std::optional<unsigned> high = hex_value(text[i + 1]);
      const std::optional<unsigned> low = hex_value(text[i + 2]);
      if (!high || !low) return std::nullopt;
      out += static_cast<char>(*high * 16U + *low);
      i += 2;
    }
  }
  return out;
}

// `segment` is decoded; returns what is wrong with it, or "".
std::string_view segment_problem(std::string_view segment) {
  if (!is_valid_text(segment)) return "control character or invalid UTF-8";
  if (segment.empty()) return "empty path segment (`//`)";
  if (segment == "." || segment == "..") return "`.` or `..` segment";
  if (contains(segment, "/")) return "encoded slash";
  if (contains(segment, "\\")) return "backslash";
  return {};
}

Result<std::string> parse_path(std::string_view path, std::string_view whole) {
  if (path == "/") return std::string(path);
  if (path.ends_with('/')) path.remove_suffix(1);
  std::string out;
  out.reserve(path.size());
  // Segments are judged one by one after decoding: an escape can neither hide a `..` nor add a segment.
  for (const std::string_view part : split(path.substr(1), '/')) {
    const std::optional<std::string> segment = percent_decode(part, false);
    if (!segment) return target_error("invalid percent-escape", whole);
    if (const std::string_view problem = segment_problem(*segment); !problem.empty())
      return target_error(problem, whole);
    out += '/';
    out += *segment;
  }
  return out;
}

Result<QueryParameters> parse_query(std::string_view query, std::string_view whole) {
  QueryParameters out;
  for (const std::string_view part : split(query, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    std::optional<std::string> name = percent_decode(part.substr(0, equals), true);
    std::optional<std::string> value =
        percent_decode(equals < part.size() ? part.substr(equals + 1) : std::string_view(), true);
    if (!name || !value) return target_error("invalid percent-escape", whole);
    if (name->empty()) return target_error("query parameter without a name", whole);
    if (!is_valid_text(*name) || !is_valid_text(*value))
      return target_error("control character or invalid UTF-8", whole);
    if (out.size() == kMaxQueryParameters) return target_error("too many query parameters", whole);
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

}  // namespace

bool is_valid_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid || point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0)) return false;
    i += point.size;
  }
  return true;
}

Result<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/')) return target_error("no path that begins with `/`", text);
  if (contains(text, "#")) return target_error("fragment", text);
  const std::size_t mark = std::min(text.find('?'), text.size());
  Result<std::string> path = parse_path(text.substr(0, mark), text);
  if (!path.ok()) return path.error();
  Target target{std::move(*path), {}};
  if (mark == text.size()) return target;
  Result<QueryParameters> query = parse_query(text.substr(mark + 1), text);
  if (!query.ok()) return query.error();
  target.query = std::move(*query);
  return target;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_letter_or_digit(c) || contains("-._~", std::string_view(&c, 1))) {
      out += c;
    } else {
      append_format(out, "%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

std::string format_target(const Target& target) {
  std::string out;
  for (const std::string_view segment : split(target.path, '/')) {
    if (!segment.empty()) out += '/' + percent_encode(segment);
  }
  if (out.empty()) out = "/";
  char separator = '?';
  for (const auto& [name, value] : target.query) {
    out += separator;
    out += percent_encode(name);
    out += '=';
    out += percent_encode(value);
    separator = '&';
  }
  return out;
}

}  // namespace weft::serve
