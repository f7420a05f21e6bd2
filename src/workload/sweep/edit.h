// Sets one key of a YAML file to another value: the file as a Value, a path of keys, and the file written back.
// Comments and layout are lost, which is fine: only the simulator reads the text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "base/yaml.h"

namespace weft::workload {

// Plain scalars that are integers, true, false or null are converted; everything else is text.
[[nodiscard]] Value value_of(const YamlNode& node);
// `path` is shown in the error, which quotes the source location.
[[nodiscard]] Result<Value> read_value(const std::string& path, std::string_view text);

// A path into a file: mapping keys and item indices.
struct PathStep {
  std::string key;
  std::optional<std::size_t> item;  // index into a list; `key` is then for display only
  friend bool operator==(const PathStep& a, const PathStep& b) {
    return a.item == b.item && (a.item.has_value() || a.key == b.key);
  }
};
using Path = std::vector<PathStep>;

// A segment names a key of a mapping, or an item of a list by its `name` or its index from 0. Missing keys lead to
// mappings that are created later: the reader of the file checks whether a key is known. The error names the segment
// that was not found.
[[nodiscard]] Result<Path> find_path(const Value& root, std::span<const std::string> keys);

// Returns a copy of `root` with the value at `path` replaced. The path must come from `root`, or from a tree that
// differs from it only elsewhere.
[[nodiscard]] Value with_value(const Value& root, const Path& path, const Value& value);

}  // namespace weft::workload
