// Configurations as texts: what of them changes by itself, what they state line by line, what must not be shown, and
// whether a text can be a configuration at all. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/switches/transport_systems.h"

namespace weft::oob {

// Without the lines that only say when it was asked for or saved: two texts that differ here are two versions.
[[nodiscard]] std::string without_noise(const SwitchSystem& system, std::string_view text);

// What is compared for drift: without noise, comments, blank lines and certificates (which a switch renews by itself).
// JSON and NVUE become one line a value, sorted, so that order means nothing.
[[nodiscard]] std::string normalized(const SwitchSystem& system, std::string_view text);

// The statements of a configuration, each with the blocks it stands in before it ("interface Ethernet1/1 / mtu 9216"),
// sorted, each once. The same for what a switch tells and for what `weft render` writes, so that one can be looked for
// in the other.
[[nodiscard]] std::vector<std::string> statements_of(const SwitchSystem& system, std::string_view text);

// The text with passwords, communities and keys as "<hidden>": for people's eyes and logs.
[[nodiscard]] std::string masked(std::string_view text);

// An error says why this cannot be a whole configuration: empty, an error message, cut short, or ten times shorter than
// the last (`last_bytes`).
[[nodiscard]] Status plausible_config(const SwitchSystem& system, std::string_view text,
                                      std::optional<std::size_t> last_bytes);

}  // namespace weft::oob
