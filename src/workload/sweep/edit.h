// One key of a YAML file set to another value: the file as a Value, a path of keys, and the file written again.
// Comments and layout are lost, which nobody sees: the text goes to the simulator.
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

// Plain scalars that are integers, true, false or null become those; everything else is text.
[[nodiscard]] Value value_of(const YamlNode& node);
// `path` is shown in the error, which quotes the place.
[[nodiscard]] Result<Value> read_value(const std::string& path, std::string_view text);

// A way into a file: keys of mappings and numbers of items.
struct PathStep {
  std::string key;
  std::optional<std::size_t> item;  // of a list; `key` is then only shown
  friend bool operator==(const PathStep& a, const PathStep& b) {
    return a.item == b.item && (a.item.has_value() || a.key == b.key);
  }
};
using Path = std::vector<PathStep>;

// A segment names a key of a mapping, or of a list the item with that `name`, or its number from 0. Keys that are not
// there lead into mappings yet to be made: whether a key is known is for the reader of the file to say. An error says
// which segment leads nowhere.
[[nodiscard]] Result<Path> find_path(const Value& root, std::span<const std::string> keys);

// A copy of `root` in which what `path` leads to is `value`. The path must have been found in `root`, or in one that
// differs from it only elsewhere.
[[nodiscard]] Value with_value(const Value& root, const Path& path, const Value& value);

}  // namespace weft::workload
