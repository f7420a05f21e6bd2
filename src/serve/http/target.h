// Parses the target of an HTTP request (RFC 9112, origin form) into a path and query parameters, percent-decoded, and
// writes one for a client. Strict: a path that two programs could read differently (`..`, `//`, an encoded slash) is an
// error. It knows nothing of routes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft::serve {

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

struct Target {
  std::string path = "/";  // begins with '/'; does not end with it, except the root
  QueryParameters query;   // in the order sent; a name may occur several times
};

inline constexpr std::size_t kMaxQueryParameters = 64;

// The query is form-encoded: '+' is a space. A '/' at the end of the path is dropped.
[[nodiscard]] Result<Target> parse_target(std::string_view text);

// Escapes everything but RFC 3986's unreserved characters: for one segment of a path, or one part of a query.
[[nodiscard]] std::string percent_encode(std::string_view text);
// parse_target() yields the same target again if path and query are valid.
[[nodiscard]] std::string format_target(const Target& target);

// Valid UTF-8 without control characters (C0, DEL, C1).
[[nodiscard]] bool is_valid_text(std::string_view text);

}  // namespace weft::serve
