// Bytes as the target of an HTTP request: what is accepted is a normalized path and valid text, and survives formatting
// and parsing again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "serve/http/target.h"

namespace weft::serve {
namespace {

void check_path(const std::string& path) {
  CHECK(path.starts_with('/') && is_valid_text(path) && !contains(path, "\\"), "an absolute path");
  if (path == "/") return;
  for (const std::string_view segment : split(std::string_view(path).substr(1), '/')) {
    CHECK(!segment.empty() && segment != "." && segment != "..", "a normalized path");
  }
}

}  // namespace
}  // namespace weft::serve

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::serve;
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  const weft::Result<Target> target = parse_target(text);
  if (target.ok()) {
    check_path(target->path);
    for (const auto& [name, value] : target->query) {
      CHECK(!name.empty() && is_valid_text(name) && is_valid_text(value), "valid parameters");
    }
    const weft::Result<Target> again = parse_target(format_target(*target));
    CHECK(again.ok() && again->path == target->path && again->query == target->query, "the same again");
  }
  // Any valid text can be a segment of a path, with two exceptions, and the value of a parameter.
  if (text.empty() || !is_valid_text(text)) return 0;
  const weft::Result<Target> encoded = parse_target("/" + percent_encode(text) + "?q=" + percent_encode(text));
  const bool is_segment = text != "." && text != ".." && text.find_first_of("/\\") == std::string::npos;
  CHECK(encoded.ok() == is_segment, "encoding decides nothing");
  if (is_segment) CHECK(encoded->path == "/" + text && encoded->query[0].second == text, "decoded once");
  return 0;
}
