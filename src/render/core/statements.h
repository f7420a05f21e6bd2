// A configuration file as a list of statements, so that two files can be compared by meaning: keys of a JSON or YAML
// tree, commands with their section, or lines of anything else. Order and layout are ignored, except in plain text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::render {

enum class TextForm : std::uint8_t { json, yaml, commands, lines };

// Detected from the file's name and first characters.
[[nodiscard]] TextForm form_of(std::string_view path, std::string_view text);

struct Statement {
  std::string key;         // "PORT.Ethernet0.mtu", "interface Ethernet1/1 > mtu 9216", the line itself
  std::string value;       // for JSON and YAML; "" for commands and lines
  std::uint32_t line = 0;  // line number, from 1; 0 if unknown
};

// The statements of a text, sorted by key; statements with equal keys keep the order of the file. Comments and empty
// lines are omitted. A text that does not parse in its format is returned as lines.
[[nodiscard]] std::vector<Statement> statements_of(TextForm form, std::string_view path, std::string_view text);

}  // namespace weft::render
