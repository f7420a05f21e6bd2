// A YAML tree as JSON, for files that people want to read with jq.
#pragma once

#include <string>

#include "base/yaml.h"

namespace weft::cli {

// Plain scalars that are numbers, true, false or null become those; everything else is text.
[[nodiscard]] std::string yaml_to_json(const YamlNode& node, bool one_line);

}  // namespace weft::cli
