#include "workload/sweep/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/quantity.h"

namespace weft::workload {
namespace {

Value scalar_value(const YamlNode& node) {
  if (node.quoted) return node.scalar;
  if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
  const Result<std::int64_t> number = parse_integer(node.scalar);
  // "007" and "+1" would not be written back unchanged.
  if (number.ok() && std::to_string(number.value()) == node.scalar) return number.value();
  return node.scalar;
}

Error nowhere(std::span<const std::string> keys, std::size_t at, std::string_view why) {
  std::string path;
  for (std::size_t i = 0; i <= at && i < keys.size(); ++i) path += (i == 0 ? "" : ".") + keys[i];
  return {ErrorCode::invalid_input, fmt::format("`{}`: {}", path, why), {}};
}

std::string_view name_of(const Value& item) {
  const Value* name = item.is_map() ? item.find("name") : nullptr;
  return name != nullptr && name->is_text() ? std::string_view(name->text()) : std::string_view();
}

// By the item's name, else by its index.
Result<std::size_t> item_of(const Value::List& items, std::span<const std::string> keys, std::size_t at) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (name_of(items[i]) == keys[at]) return i;
  }
  const Result<std::int64_t> number = parse_integer(keys[at]);
  if (number.ok() && number.value() >= 0 && static_cast<std::size_t>(number.value()) < items.size()) {
    return static_cast<std::size_t>(number.value());
  }
  std::string known;
  for (const Value& item : items) {
    if (!name_of(item).empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(item));
  }
  return nowhere(keys, at,
                 known.empty() ? fmt::format("the list has {} items, numbered from 0", items.size())
                               : fmt::format("the list has {}", known));
}

Value edited(const Value& node, const Path& path, std::size_t at, const Value& value) {
  if (at == path.size()) return value;
  const PathStep& step = path[at];
  if (step.item.has_value()) {
    CHECK(node.is_list() && *step.item < node.items().size(), "the path was found in another file");
    Value::List items = node.items();
    items[*step.item] = edited(items[*step.item], path, at + 1, value);
    return {std::move(items)};
  }
  CHECK(node.is_null() || node.is_map(), "the path was found in another file");
  const Value* inner = node.is_map() ? node.find(step.key) : nullptr;
  Value map = node;
  map[step.key] = edited(inner == nullptr ? Value() : *inner, path, at + 1, value);
  return map;
}

}  // namespace

Value value_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      break;
    case YamlNode::Kind::scalar:
      return scalar_value(node);
    case YamlNode::Kind::sequence: {
      Value::List items;
      for (const YamlNode& item : node.items) items.push_back(value_of(item));
      return Value(std::move(items));
    }
    case YamlNode::Kind::mapping: {
      Value map(Value::Map{});
      for (const YamlEntry& entry : node.entries) map.put(entry.key, value_of(entry.value));
      return map;
    }
  }
  return {};
}

Result<Value> read_value(const std::string& path, std::string_view text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, std::string(text));
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (root.has_value()) return value_of(*root);
  const std::vector<Diagnostic> found = diagnostics.sorted();
  if (found.empty()) return Error{ErrorCode::invalid_input, "invalid YAML", path};
  return Error{ErrorCode::invalid_input, found.front().message, sources.describe(found.front().place)};
}

Result<Path> find_path(const Value& root, std::span<const std::string> keys) {
  Path path;
  const Value* node = &root;
  for (std::size_t at = 0; at < keys.size(); ++at) {
    if (node != nullptr && node->is_list()) {
      const Result<std::size_t> index = item_of(node->items(), keys, at);
      if (!index.ok()) return index.error();
      path.push_back({keys[at], *index});
      node = &node->items()[*index];
      continue;
    }
    if (node != nullptr && !node->is_null() && !node->is_map()) {
      return nowhere(keys, at, "its parent is not a mapping");
    }
    path.push_back({keys[at], std::nullopt});
    node = node != nullptr && node->is_map() ? node->find(keys[at]) : nullptr;
  }
  return path;
}

Value with_value(const Value& root, const Path& path, const Value& value) { return edited(root, path, 0, value); }

}  // namespace weft::workload
