// Bytes as a file for `weft fmt`: what is accepted keeps its values and comments, which format_file() checks itself,
// and formatting the result changes nothing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "model/format.h"

namespace weft {
namespace {

std::optional<std::string> format_text(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("input.yaml", std::move(text));
  std::optional<std::string> out = model::format_file(sources, file, diagnostics);
  CHECK(out.has_value() != diagnostics.has_errors(), "a file that cannot be formatted says why");
  (void)render_all(diagnostics, sources, false);
  return out;
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::optional<std::string> once = weft::format_text(std::string(data, data + size));
  if (once) CHECK(weft::format_text(*once) == once, "a formatted file stays as it is");
  return 0;
}
