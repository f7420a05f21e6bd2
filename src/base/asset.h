// Assets: scripts, playbooks, style sheets and other texts of the folder assets/, which the build embeds
// (cmake/Embed.cmake), and templates of them. Each is a file of its own language, so that its tools read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weft {

// A path as a template argument.
template <std::size_t size>
struct AssetPath {
  consteval AssetPath(const char (&path)[size]) { std::copy_n(path, size, text); }
  char text[size] = {};
};

// The text of assets/<path>: asset<"cli/completion.fish">(). A path without a file is an undefined reference when the
// executable is linked; tests/assets_test.py names it.
template <AssetPath path>
[[nodiscard]] std::string_view asset();

struct Placeholder {
  std::string_view name;
  std::string_view value;
};

// `text` with the value of each placeholder where @NAME@ stands (upper-case letters, digits and '_', a letter first).
// One that is alone on its line stands for any number of lines. Values are taken as they are, and not searched for
// placeholders. A placeholder of the text without a value and a
// value without a placeholder are mistakes of ours.
[[nodiscard]] std::string fill_template(std::string_view text, std::initializer_list<Placeholder> values);

}  // namespace weft
