// A mapping of a list of advisories or of a firmware baseline, checked against the keys it may have.
#pragma once

#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/yaml.h"

namespace weft::oob {

// Reports a node that is not a mapping (and returns false), and each key that is not one of `keys`.
[[nodiscard]] bool check_mapping(const YamlNode& node, const std::vector<std::string_view>& keys,
                                 Diagnostics& diagnostics);

}  // namespace weft::oob
