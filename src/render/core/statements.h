// A configuration file as the statements it makes, so that two of them can be compared by meaning: keys of a JSON or
// YAML tree, commands with the section they stand in, lines of anything else. Order and layout do not count, except
// where they are all that there is (plain text).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::render {

enum class TextForm : std::uint8_t { json, yaml, commands, lines };

// By the file's name and first characters.
[[nodiscard]] TextForm form_of(std::string_view path, std::string_view text);

struct Statement {
  std::string key;         // "PORT.Ethernet0.mtu", "interface Ethernet1/1 > mtu 9216", the line itself
  std::string value;       // of JSON and YAML; "" of commands and lines
  std::uint32_t line = 0;  // where it stands, from 1; 0 when unknown
};

// The statements of a text, sorted by key; of equal keys in the order of the file. Comments and blank lines are left
// out. A text that its form cannot be read as comes as lines.
[[nodiscard]] std::vector<Statement> statements_of(TextForm form, std::string_view path, std::string_view text);

}  // namespace weft::render
