// Bytes as a baseline of firmware versions, judged against components whose fields are cut from the same bytes. Any
// input must parse or be rejected with diagnostics.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "oob/firmware/baseline.h"

namespace weft::oob {
namespace {

void run_firmware(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("firmware.yaml", text);
  const std::optional<FirmwareBaseline> baseline = read_baseline(sources, file, diagnostics);
  CHECK(baseline.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, true);
  if (!baseline) return;
  const std::size_t third = text.size() / 3;
  FirmwareItem item;
  item.id = text.substr(0, third);
  item.name = "BMC";
  item.component = component_of(item.id, item.name);
  for (const std::string& version : {text.substr(third, third), std::string("01.03.19")}) {
    item.version = version;
    (void)judge_firmware(*baseline, {"Supermicro", "X13SEM-F", "S", "U", "", ""}, "hgx-h100", item);
    item.previous = true;
    CHECK(judge_firmware(*baseline, {}, {}, item).empty(), "a stored image is not judged");
    item.previous = false;
  }
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::oob::run_firmware(std::string(data, data + size));
  return 0;
}
