// A YAML text with its layout: comments, blank lines, the style of each collection and scalar. For `weft fmt`, which
// changes the layout and keeps the meaning; everything else reads YAML with base/yaml.h. What cannot be written back
// faithfully is refused with its place: directives, an end marker, foreign line ends, block text with an indentation
// indicator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::model {

// On a line of its own.
struct YamlComment {
  std::string text;    // with its '#'
  bool blank = false;  // a blank line is above it
};

struct YamlLayoutEntry;

struct YamlLayout {
  enum class Kind { scalar, sequence, mapping };
  Kind kind = Kind::scalar;
  bool flow = false;               // [...] or {...}
  std::string text;                // of a scalar, on one line; "" for nothing; the header of block text, such as |-
  std::vector<std::string> block;  // lines of block text, without its indentation
  std::vector<YamlLayoutEntry> entries;  // of a collection; items have no key
  std::vector<YamlComment> foot;         // after the last entry
};

struct YamlLayoutEntry {
  std::string name;  // the key
  std::string key;   // as it is written
  std::vector<YamlComment> lead{};
  bool blank = false;      // a blank line is above the key, below its comments
  std::string trailing{};  // comment on the line of the key, or of a value on one line
  YamlLayout value{};
};

struct YamlDocument {
  std::vector<YamlComment> head;  // the first comment of the file, and all above a start marker
  bool explicit_start = false;    // ---
  bool blank_after_head = false;
  YamlLayout root;
};

// The file must have passed parse_yaml(). Reports what cannot be kept and returns nullopt.
[[nodiscard]] std::optional<YamlDocument> read_yaml_layout(const Sources& sources, FileId file,
                                                           Diagnostics& diagnostics);

// Two spaces per level, flow collections where they fit on a line and have no comments inside, trailing comments of
// neighboring lines in one column, at most one blank line in a row.
[[nodiscard]] std::string write_yaml_layout(YamlDocument document);

}  // namespace weft::model
