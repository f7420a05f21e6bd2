#include "oob/bmc/yaml_mapping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace weft::oob {

bool check_mapping(const YamlNode& node, const std::vector<std::string_view>& keys, Diagnostics& diagnostics) {
  if (node.kind != YamlNode::Kind::mapping) {
    diagnostics.error(node.place, fmt::format("a mapping was expected, not {}", describe_kind(node)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    diagnostics.error(entry.key_place, "unknown key " + in_backticks(entry.key), did_you_mean(entry.key, keys),
                      entry.key.size());
  }
  return true;
}

}  // namespace weft::oob
