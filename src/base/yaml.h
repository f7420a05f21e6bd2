// The JSON-like core of YAML 1.2, parsed with libyaml into a tree in which every node keeps its location. Anchors,
// aliases, tags, merge keys and multiple documents per file are rejected, so that each part of a cluster file can be
// read on its own. Duplicate keys are errors. Depth, size and node count are bounded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft {

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };

  // Defined out of line, compiled once: most readers copy and destroy such trees.
  YamlNode();
  YamlNode(const YamlNode& other);
  YamlNode(YamlNode&& other) noexcept;
  YamlNode& operator=(const YamlNode& other);
  YamlNode& operator=(YamlNode&& other) noexcept;
  ~YamlNode();

  Kind kind = Kind::null;
  bool quoted = false;  // '...', "...", | or >: always text, never a number or a boolean
  SourceLocation place;
  std::string scalar;
  std::vector<YamlNode> items;     // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, in file order

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  SourceLocation key_place;
  YamlNode value;
};

struct YamlLimits {
  std::size_t bytes = 64U << 20U;
  std::size_t nodes = 4'000'000;
  std::size_t depth = 64;
};

// Parses the file registered under `file`. An empty file is a null node. Reports an error and returns nullopt.
[[nodiscard]] std::optional<YamlNode> parse_yaml(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                 const YamlLimits& limits = {});

// For files of other programs: the documents of a stream, without empty ones. Anchors and aliases are resolved by
// copying (within the limits on nodes and bytes), merge keys `<<` are applied, tags are ignored; the last of duplicate
// keys wins, with a warning. After an error, the documents read before it are still returned.
[[nodiscard]] std::vector<YamlNode> parse_yaml_stream(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                      const YamlLimits& limits = {});

// "a mapping", "text", ...: the kind of a node, for messages.
[[nodiscard]] const char* describe_kind(const YamlNode& node);

}  // namespace weft
