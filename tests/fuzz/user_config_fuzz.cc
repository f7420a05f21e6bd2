// Bytes as the user's configuration file. Any input must yield a configuration or diagnostics; a valid one can be
// written, and reads back as the same one.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cli/framework/user_config.h"

namespace weft::cli {
namespace {

std::optional<UserConfig> read(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<UserConfig> config =
      read_user_config(sources, sources.add("config.yaml", std::move(text)), diagnostics);
  CHECK(config.has_value() != diagnostics.has_errors(), "a file that is refused says why");
  (void)render_all(diagnostics, sources, true);
  return config;
}

void run_user_config(std::string text) {
  const std::optional<UserConfig> config = read(std::move(text));
  if (!config) return;
  const std::string written = write_user_config(*config, "a heading");
  const std::optional<UserConfig> again = read(written);
  CHECK(again && write_user_config(*again, "a heading") == written, "what is written reads back");
}

}  // namespace
}  // namespace weft::cli

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::cli::run_user_config(std::string(data, data + size));
  return 0;
}
