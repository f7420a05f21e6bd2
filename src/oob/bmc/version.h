// Order of vendors' firmware versions. Versions have no common format: "1.20.05", "5.10.00.00", "U49 v2.62
// (03/09/2023)", "HGX-22.10-1-rc44", "97.00.6C.00.03", "MPK7625Q". Where the order of two versions is not known, that
// is the answer: a wrong "is newer" would hide a vulnerability.
#pragma once

#include <compare>
#include <optional>
#include <string_view>

namespace weft::oob {

// Natural order: "1.9.2" before "1.10", "v2.0-rc1" before "2.0", "1.0a" after "1.0", "97.00.6C" before "97.00.72"
// (fields of two hexadecimal digits). A date or a build after the version is a remark. Empty if the order is not known:
// no digits, words against numbers, a date against a version, versions of two products ("U30 v2.6" and "U49 v2.4"),
// and identifiers without separators ("MPK7625Q"), which are equal or not.
[[nodiscard]] std::optional<std::strong_ordering> compare_versions(std::string_view a, std::string_view b);

}  // namespace weft::oob
