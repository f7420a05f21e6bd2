// Assets: scripts, playbooks, style sheets and other texts of the folder assets/, which the build embeds
// (cmake/Embed.cmake), and templates made of them. Each is a file in its own language, so the usual tools can check it.
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

// The text of assets/<path>: asset<"cli/completion.fish">(). A path without a file is an undefined reference at link
// time; tests/assets_test.py names the path.
template <AssetPath path>
[[nodiscard]] std::string_view asset();

struct Placeholder {
  std::string_view name;
  std::string_view value;
};

// Replaces each placeholder @NAME@ of `text` by its value (upper-case letters, digits and '_', starting with a letter).
// A placeholder alone on its line may expand to any number of lines. Values are inserted unchanged and are not searched
// for placeholders. A placeholder without a value, or a value without a placeholder, is a programming error.
[[nodiscard]] std::string fill_template(std::string_view text, std::initializer_list<Placeholder> values);

}  // namespace weft
