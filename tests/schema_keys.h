// The keys of a file format, as its JSON Schema lists them, and copies of a file in which one key has another value:
// for tests that every key has an effect.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "base/wildcard.h"
#include "base/yaml.h"
#include "cli/design/yaml_json.h"

namespace weft::schema_keys {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

// A key whose value is a scalar, or a list or table of scalars. The path has [] for the elements of a list and * for
// the free keys of a table: "pools[].bios.numa", "references.*.title".
struct Key {
  std::string path;
  Json type;  // its schema
};

inline Json parse(const std::string& yaml) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_yaml(sources, sources.add("text", yaml), diagnostics);
  EXPECT_TRUE(root.has_value()) << render_all(diagnostics, sources, false) << yaml;
  return root ? Json::parse(cli::yaml_to_json(*root, true)) : Json();
}

inline Json read_source(const std::string& path) { return parse(read_file(source_dir() + "/" + path).value_or("")); }

namespace internal {

inline const Json& follow(const Json& schema, const Json& type) {
  if (type.contains("allOf")) return follow(schema, type["allOf"][0]);
  return type.contains("$ref") ? schema.at(Pointer(type["$ref"].get<std::string>().substr(1))) : type;
}

inline void collect(const Json& schema, const Json& type, const std::string& path, std::vector<Key>& keys) {
  const Json& record = follow(schema, type);
  if (record.contains("properties")) {
    for (const auto& [name, property] : record["properties"].items())
      collect(schema, property, path.empty() ? name : path + "." + name, keys);
    return;
  }
  for (const auto& [elements, suffix] : {std::pair("items", "[]"), std::pair("additionalProperties", ".*")}) {
    if (!record.contains(elements) || !follow(schema, record[elements]).contains("properties")) continue;
    return collect(schema, record[elements], path + suffix, keys);
  }
  keys.push_back({path, record});
}

// Values of a text, by the unit that the schema describes.
inline std::vector<Json> quantities_of(const std::string& description) {
  static const std::vector<std::pair<std::string_view, std::vector<Json>>> kUnits = {
      {"a size such", {"1MB", "1GB", "1TB", "100TB"}},
      {"a rate such", {"100G", "200G", "400G", "800G"}},
      {"a time such", {"1ms", "1s", "10m", "5h"}},
      {"a power such", {"100W", "1kW", "20kW", "40kW"}},
      {"a length such", {"3m", "30m", "300m"}},
      {"a throughput such", {"1GB/s", "100GB/s"}},
      {"a ratio", {"1:1", "2:1", "4:1"}},
      {"a breakout", {"1x400G", "2x400G", "2x200G", "4x100G", "4x200G"}}};
  for (const auto& [unit, values] : kUnits) {
    if (description.find(unit) != std::string::npos) return values;
  }
  return {};
}

}  // namespace internal

// Every key of a format.
inline std::vector<Key> keys_of(const std::string& json_schema) {
  const Json schema = Json::parse(json_schema);
  std::vector<Key> keys;
  internal::collect(schema, schema, "", keys);
  return keys;
}

// Values that the schema allows; empty if it does not say enough about them.
inline std::vector<Json> values_of(const Json& type) {
  std::vector<Json> values;
  if (type.contains("enum")) {
    for (const Json& choice : type["enum"]) {
      if (choice.is_string()) values.push_back(choice);
    }
  } else if (type["type"] == "boolean") {
    values = {true, false};
  } else if (type["type"] == "integer") {
    for (const std::int64_t number : {1, 2, 4, 0, 3, 6, 16, 100, 1000, 10000}) {
      if (number >= type.value("minimum", INT64_MIN) && number <= type.value("maximum", INT64_MAX))
        values.emplace_back(number);
    }
  } else if (type["type"] == "array") {
    for (const Json& value : values_of(type["items"])) values.push_back(Json::array({value}));
  } else {
    values = internal::quantities_of(type.value("description", ""));
  }
  return values;
}

// Where a path is in a file: one place per element of the lists and tables on the way, which the file must have;
// mappings and the key itself may be absent.
inline std::vector<Pointer> places_of(const Json& file, std::string_view path) {
  std::vector<Pointer> places{Pointer()};
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    std::string name(path.substr(start, end - start));
    start = end + 1;
    const bool list = name.ends_with("[]");
    if (list) name.resize(name.size() - 2);
    std::vector<Pointer> next;
    for (const Pointer& place : places) {
      const Pointer inner = name == "*" ? place : place / name;
      if (!list && name != "*") {
        next.push_back(inner);
      } else if (file.contains(inner)) {
        for (const auto& [element, value] : file.at(inner).items())
          next.push_back(list ? inner / std::stoul(element) : inner / element);
      }
    }
    places = std::move(next);
  }
  return places;
}

// What a key needs to have an effect, where the values that its schema allows are not enough in the usual files.
struct Case {
  std::string_view keys;     // paths, with * as a wildcard
  std::string values;        // a YAML list; "" for those that the schema allows
  std::string edits = "{}";  // of the file: new values by JSON pointer, null to remove a key
  std::string file{};        // name of the file; "" for the usual one
};

inline const Case* find_case(std::span<const Case> cases, std::string_view path) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& each) { return wildcard_match(each.keys, path); });
  return found == cases.end() ? nullptr : &*found;
}

inline std::vector<Json> values_of(const Case& given, const Key& key) {
  if (given.values.empty()) return values_of(key.type);
  return parse(given.values).get<std::vector<Json>>();
}

inline Json apply_edits(Json file, const std::string& edits) {
  const Json changes = parse(edits);
  for (const auto& [where, value] : changes.items()) {
    const Pointer place(where);
    if (value.is_null()) {
      file.at(place.parent_pointer()).erase(place.back());
    } else {
      file[place] = value;
    }
  }
  return file;
}

// What a file gives, in the order of cost, computed when it is asked for; empty if the file is refused.
using Output = std::function<std::string()>;
using Outputs = std::function<std::vector<Output>(const Json& file)>;

namespace internal {

// Outputs that are computed once.
class Remembered {
 public:
  explicit Remembered(std::vector<Output> outputs) : outputs_(std::move(outputs)), texts_(outputs_.size()) {}
  [[nodiscard]] bool empty() const { return outputs_.empty(); }
  bool differs_from(Remembered& other) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (text(i) != other.text(i)) return true;
    }
    return false;
  }

 private:
  const std::string& text(std::size_t i) {
    if (!texts_[i]) texts_[i] = outputs_[i]();
    return *texts_[i];
  }
  std::vector<Output> outputs_;
  std::vector<std::optional<std::string>> texts_;
};

// A single accepted value is compared with the file as it is; several are compared with each other, since a key whose
// presence alone counts would not need a value.
inline bool has_effect_at(const Json& file, const Pointer& place, const std::vector<Json>& values,
                          const Outputs& outputs) {
  std::optional<Remembered> first;
  bool several = false;
  for (const Json& value : values) {
    Json changed = file;
    changed[place] = value;
    Remembered given(outputs(changed));
    if (given.empty()) continue;
    if (first && given.differs_from(*first)) return true;
    several = several || first;
    if (!first) first.emplace(std::move(given));
  }
  if (!first || several) return false;
  Remembered unchanged(outputs(file));
  return !unchanged.empty() && first->differs_from(unchanged);
}

}  // namespace internal

// Whether values of the key at one of its places give different outputs; refused values do not count.
inline bool has_effect(const Json& file, std::string_view path, const std::vector<Json>& values,
                       const Outputs& outputs) {
  const std::vector<Pointer> places = places_of(file, path);
  return std::any_of(places.begin(), places.end(),
                     [&](const Pointer& place) { return internal::has_effect_at(file, place, values, outputs); });
}

}  // namespace weft::schema_keys
