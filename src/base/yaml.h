// The JSON-like core of YAML 1.2, read with libyaml into a tree in which every node keeps its place. Anchors, aliases,
// tags, merge keys and several documents in a file are refused: a cluster file has one meaning, and a reader of it
// never has to chase one. Duplicate keys are errors. Depth, size and node count are bounded.
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

  // Compiled once: a tree of these is copied and destroyed in most readers.
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

// Parses the file registered under `file`. An empty file is a null node. On error, reports it and gives nothing.
[[nodiscard]] std::optional<YamlNode> parse_yaml(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                 const YamlLimits& limits = {});

// For files of other programs: the documents of a stream, empty ones left out. Anchors and aliases are resolved by
// copying (within the limits of nodes and bytes), merge keys `<<` applied, tags passed over; of a key given twice the
// last counts, with a warning. On an error, what was read before it is still given.
[[nodiscard]] std::vector<YamlNode> parse_yaml_stream(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                      const YamlLimits& limits = {});

// "a mapping", "text", ...: how a message names what it found.
[[nodiscard]] const char* describe_kind(const YamlNode& node);

}  // namespace weft
