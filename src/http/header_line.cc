#include "http/header_line.h"

#include <strings.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace weft::http {
namespace {

constexpr int kMaxRetryAfter = 3600;

}  // namespace

bool HeaderLine::is(std::string_view known) const {
  return name.size() == known.size() && strncasecmp(name.data(), known.data(), known.size()) == 0;
}

std::optional<HeaderLine> parse_header_line(std::string_view line) {
  if (line.starts_with("HTTP/")) return std::nullopt;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return HeaderLine{line.substr(0, colon), trim(line.substr(colon + 1))};
}

std::optional<int> parse_retry_after(std::string_view value) {
  if (value.empty() || value.size() > 6 || value.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return std::min(std::stoi(std::string(value)), kMaxRetryAfter);
}

}  // namespace weft::http
