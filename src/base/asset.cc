#include "base/asset.h"

#include <vector>

#include "base/check.h"

namespace weft {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::string fill_template(std::string_view text, std::initializer_list<Placeholder> values) {
  std::string out;
  std::vector<bool> used(values.size());
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    const std::size_t end = text.find('@', at + 1);
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : text.substr(at + 1, end - at - 1);
    if (!is_name(name)) {
      out += text.substr(0, at + 1);
      text.remove_prefix(at + 1);
      continue;
    }
    const auto* found =
        std::find_if(values.begin(), values.end(), [&](const Placeholder& value) { return value.name == name; });
    CHECK(found != values.end(), "a placeholder of an asset has no value");
    used[static_cast<std::size_t>(found - values.begin())] = true;
    out += text.substr(0, at);
    text.remove_prefix(end + 1);
    if ((out.empty() || out.back() == '\n') && text.starts_with('\n')) {
      CHECK(found->value.empty() || found->value.back() == '\n', "a placeholder on a line of its own stands for lines");
      text.remove_prefix(1);
    }
    out += found->value;
  }
  CHECK(std::find(used.begin(), used.end(), false) == used.end(), "an asset does not have a placeholder of this name");
  return out.append(text);
}

}  // namespace weft
