// Timestamps of the Kubernetes API: RFC 3339 in UTC, to and from milliseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// "2025-10-09T08:53:20.000000Z": the form of MicroTime, which metav1.Time reads too.
[[nodiscard]] std::string format_timestamp(std::int64_t milliseconds);
// RFC 3339 with or without a fraction; "Z" or a numeric offset. nullopt: not a timestamp of the years 1970 to 9999.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace weft::kube
