// Bytes as input from running devices: no parser may crash, and parsed facts are the same after writing and parsing
// them again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/live_facts.h"

namespace weft {
namespace {

void check_facts(const Sources& sources, FileId file) {
  Diagnostics diagnostics;
  const auto facts = config::read_host_facts(sources, file, diagnostics);
  if (!facts) {
    CHECK(diagnostics.has_errors(), "facts that cannot be read say why");
    return;
  }
  const std::string text = config::write_host_facts(*facts);
  Sources more;
  Diagnostics again;
  const auto same = config::read_host_facts(more, more.add("again.json", text), again);
  CHECK(same.has_value(), "facts can be read back");
  CHECK(config::write_host_facts(*same) == text, "facts stay the same");
}

void run_live_facts(std::string text) {
  Sources sources;
  const FileId file = sources.add("dir/leaf1.lldp", std::move(text));
  check_facts(sources, file);
  Diagnostics diagnostics;
  const auto lldp = config::read_lldp(sources, file, diagnostics);
  CHECK(lldp.has_value() || diagnostics.has_errors(), "a report that cannot be read says why");
  const auto discovered = config::read_ibnetdiscover(sources, file, diagnostics);
  const auto links = config::read_iblinkinfo(sources, file, diagnostics);
  for (const auto* fabric : {&discovered, &links}) {
    if (!*fabric) continue;
    for (const config::IbLink& link : (*fabric)->links) (void)config::ib_rate_mbps(link.width, link.speed);
  }
  (void)render_all(diagnostics, sources, false);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::run_live_facts(std::string(data, data + size));
  return 0;
}
