// Bytes as the running config returned by a switch: the first byte selects the OS, the rest is the text. Any input can
// be validated, normalized, masked and compared; these operations are idempotent; a text has no drift from itself, and
// the lines of a diff add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "oob/switches/drift_diff.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

std::size_t lines_in(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (text.empty() || text.back() == '\n' ? 0U : 1U);
}

void compare(std::string_view before, std::string_view after) {
  CHECK(unified_diff(before, before, "a", "a").empty(), "a text does not differ from itself");
  const TextDiff diff = unified_diff(before, after, "before", "after", 50);
  CHECK(lines_in(before) + diff.added == lines_in(after) + diff.removed, "lines that came and went add up");
  CHECK(diff.empty() == diff.text.empty(), "a difference is shown");
}

void run_switch_text(const SwitchSystem& system, const std::string& text) {
  const Status whole = plausible_config(system, text, std::nullopt);
  CHECK(whole.ok() || !whole.error().text().empty(), "what is no configuration says why");
  CHECK(plausible_config(system, text, text.size()).ok() == whole.ok(), "as long as the last is long enough");

  const std::string quiet = without_noise(system, text);
  const bool lines = system.shape == ConfigShape::lines || system.shape == ConfigShape::braces;
  if (lines) CHECK(without_noise(system, quiet) == quiet, "noise goes at once");
  const std::string plain = normalized(system, text);
  const std::vector<std::string> statements = statements_of(system, text);
  CHECK(std::is_sorted(statements.begin(), statements.end()), "statements are sorted");
  CHECK(std::adjacent_find(statements.begin(), statements.end()) == statements.end(), "each stands once");
  const std::string hidden = masked(text);
  CHECK(masked(hidden) == hidden, "what is hidden stays so");

  compare(text, quiet);
  compare(text, plain);
  compare(text.substr(0, text.size() / 2), text.substr(text.size() / 2));
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 16384) return 0;
  const std::vector<weft::oob::SwitchSystem>& systems = weft::oob::switch_systems();
  weft::oob::run_switch_text(systems[data[0] % systems.size()], std::string(data + 1, data + size));
  return 0;
}
