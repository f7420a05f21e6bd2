// Converts a YAML tree to JSON, for tools such as jq.
#pragma once

#include <string>

#include "base/yaml.h"

namespace weft::cli {

// Plain scalars that are numbers, true, false or null are converted; everything else is text.
[[nodiscard]] std::string yaml_to_json(const YamlNode& node, bool one_line);

}  // namespace weft::cli
