// Header lines of HTTP responses as libcurl passes them: name and value, and the values that more than one client
// reads. Lines come from the network and may be anything.
#pragma once

#include <optional>
#include <string_view>

namespace weft::http {

struct HeaderLine {
  std::string_view name;
  std::string_view value;  // without spaces around it
  // Names are compared without regard to case (RFC 9110, 5.1).
  [[nodiscard]] bool is(std::string_view known) const;
};
// nullopt: a status line, an empty line, or not a header.
[[nodiscard]] std::optional<HeaderLine> parse_header_line(std::string_view line);

// Retry-After in seconds, at most an hour; a date is not read.
[[nodiscard]] std::optional<int> parse_retry_after(std::string_view value);

}  // namespace weft::http
