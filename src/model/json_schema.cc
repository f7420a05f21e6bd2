#include <nlohmann/json.hpp>
#include <set>

#include "model/schema.h"

namespace weft::model {
namespace {

using Json = nlohmann::ordered_json;

Json describe_type(const ValueType& type, std::set<const Schema*>& used) {
  Json out;
  switch (type.shape) {
    case ValueType::Shape::text:
      // YAML parses quantities without a unit (9000) as numbers.
      out["type"] = type.pattern.empty() ? Json("string") : Json({"string", "number"});
      if (!type.pattern.empty()) out["pattern"] = type.pattern;
      if (!type.name.empty()) out["description"] = type.name;
      break;
    case ValueType::Shape::integer:
      out["type"] = "integer";
      if (type.minimum != INT64_MIN) out["minimum"] = type.minimum;
      if (type.maximum != INT64_MAX) out["maximum"] = type.maximum;
      break;
    case ValueType::Shape::boolean:
      out["type"] = "boolean";
      break;
    case ValueType::Shape::choice: {
      // "1" and "2" are written without quotes: editors parse them as numbers.
      Json values = Json::array();
      for (const std::string& choice : type.choices) {
        values.push_back(choice);
        auto number = parse_integer(choice);
        if (number.ok()) values.push_back(number.value());
      }
      out["enum"] = values;
      break;
    }
    case ValueType::Shape::list:
      out["type"] = "array";
      out["items"] = describe_type(*type.element, used);
      break;
    case ValueType::Shape::table:
      out["type"] = "object";
      out["additionalProperties"] = describe_type(*type.element, used);
      break;
    case ValueType::Shape::record:
      used.insert(type.record);
      out["$ref"] = "#/$defs/" + std::string(type.record->name());
      break;
  }
  return out;
}

Json describe_record(const Schema& schema, std::set<const Schema*>& used) {
  Json out;
  out["type"] = "object";
  out["description"] = std::string(schema.help());
  out["additionalProperties"] = false;
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : schema.fields()) {
    Json property = describe_type(field.type, used);
    const std::string help(field.help);
    if (property.contains("$ref")) {
      property = Json{{"allOf", Json::array({property})}, {"description", help}};
    } else {
      property["description"] =
          property.contains("description") ? help + " (" + property["description"].get<std::string>() + ")" : help;
    }
    properties[std::string(field.key)] = property;
    if (field.required) required.push_back(std::string(field.key));
  }
  out["properties"] = properties;
  if (!required.empty()) out["required"] = required;
  return out;
}

}  // namespace

std::string json_schema(const Schema& root, std::string_view title) {
  std::set<const Schema*> used;
  Json out;
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["title"] = std::string(title);
  const Json body = describe_record(root, used);
  for (const auto& [key, value] : body.items()) out[key] = value;
  // Describing a record may add further records: repeat until there are no new ones.
  std::set<std::string> done;
  Json definitions = Json::object();
  for (bool grown = true; grown;) {
    grown = false;
    for (const Schema* schema : std::set<const Schema*>(used)) {
      if (!done.insert(std::string(schema->name())).second) continue;
      definitions[std::string(schema->name())] = describe_record(*schema, used);
      grown = true;
    }
  }
  // Sorted by name: pointer order differs between runs.
  Json sorted = Json::object();
  for (const std::string& name : done) sorted[name] = definitions[name];
  if (!sorted.empty()) out["$defs"] = sorted;
  return out.dump(2) + "\n";
}

}  // namespace weft::model
