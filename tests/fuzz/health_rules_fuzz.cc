// Rules files: whatever is accepted can be listed and explained.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "health/core/explain.h"

namespace weft::health {
namespace {

void run_rules(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("rules.yaml", std::move(text));
  const auto rules = read_rules(sources, file, diagnostics);
  CHECK(rules.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  if (!rules) return;
  std::vector<const Rule*> all;
  for (const Rule& rule : rules->rules) all.push_back(&rule);
  static_cast<void>(write(explain_rules(*rules, all), {OutputFormat::table, false, 100}));
  static_cast<void>(write(list_rules(all), {OutputFormat::json, false, 0}));
}

}  // namespace
}  // namespace weft::health

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::health::run_rules(std::string(data, data + size));
  return 0;
}
