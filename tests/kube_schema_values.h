// Schema checks of a single value: its type, range, pattern and enum. For kube_schema.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace weft::kube_schema {

// How the YAML reader of Kubernetes (YAML 1.1, go-yaml 2) types a plain scalar.
enum class ScalarType { boolean, integer, number, text };
[[nodiscard]] ScalarType type_of(const YamlNode& scalar);

// One sentence per error. `name` is the component's; patterns that std::regex cannot parse are added to
// `not_understood`.
[[nodiscard]] std::vector<std::string> wrong_values(const YamlNode& node, const YamlNode& schema,
                                                    const std::string& name, std::vector<std::string>& not_understood);
// Closed sets of values that Kubernetes enforces in code: its OpenAPI files carry no enums.
[[nodiscard]] std::vector<std::string> wrong_choice(const YamlNode& node, std::string_view type,
                                                    std::string_view field);

}  // namespace weft::kube_schema
