// Bytes as the manifest of a rendered tree, and as a file that is compared with another: any input must yield a
// manifest or an error, and a list of changes; a text compared with itself has none.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/folder.h"
#include "render/core/compare.h"
#include "render/core/manifest.h"

namespace weft {
namespace {

void run_rendered(std::string_view text) {
  const Result<render::Manifest> manifest = render::read_manifest(text, "manifest.json");
  if (manifest.ok()) {
    const Result<render::Manifest> again = render::read_manifest(render::write_manifest(*manifest), "manifest.json");
    CHECK(again.ok() && render::write_manifest(*again) == render::write_manifest(*manifest),
          "a manifest can be read back");
    for (const render::ManifestEntry& entry : manifest->files)
      CHECK(is_safe_relative_path(entry.path), "paths stay inside");
  }
  const std::size_t half = text.size() / 2;
  for (const char* path : {"sonic/a/config_db.json", "kubernetes/a.yaml", "nxos/a.cfg", "slurm/slurm.conf"}) {
    const std::string_view target = std::string_view(path).substr(0, std::string_view(path).find('/'));
    CHECK(render::compare_texts(target, path, text, text, render::Risk::none).empty(), "a text is equal to itself");
    (void)render::compare_texts(target, path, text.substr(0, half), text.substr(half), render::Risk::traffic,
                                {.running = true});
  }
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 32768) return 0;
  const std::string text(data, data + size);
  weft::run_rendered(text);
  return 0;
}
