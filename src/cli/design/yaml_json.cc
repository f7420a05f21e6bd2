#include "cli/design/yaml_json.h"

#include <nlohmann/json.hpp>

#include "base/quantity.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

Json scalar_json(const YamlNode& node) {
  if (node.quoted) return node.scalar;
  if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
  const Result<std::int64_t> number = parse_integer(node.scalar);
  // "007" stays text: JSON has no such number.
  if (number.ok() && std::to_string(number.value()) == node.scalar) return number.value();
  return node.scalar;
}

Json to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      break;
    case YamlNode::Kind::scalar:
      return scalar_json(node);
    case YamlNode::Kind::sequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case YamlNode::Kind::mapping: {
      Json object = Json::object();
      for (const YamlEntry& entry : node.entries) object[entry.key] = to_json(entry.value);
      return object;
    }
  }
  return nullptr;
}

}  // namespace

std::string yaml_to_json(const YamlNode& node, bool one_line) {
  return to_json(node).dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::cli
