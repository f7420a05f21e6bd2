// JSON bodies of requests: one object with text members. Strict: an unknown member, another type or bytes after the
// object are an error that names the place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::serve {

using BodyFields = std::map<std::string, std::string, std::less<>>;

// An empty body is an empty object. Members that are absent or null are absent from the result.
[[nodiscard]] Result<BodyFields> read_body(std::string_view body, const std::vector<std::string_view>& members);

}  // namespace weft::serve
