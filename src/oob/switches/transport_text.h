// Switch configs as text: removes noise, splits into statements, hides secrets, and checks whether a text is a
// plausible config. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/switches/transport_systems.h"

namespace weft::oob {

// Without lines that only hold the time of the request or of the last save. Texts that still differ are two versions.
[[nodiscard]] std::string without_noise(const SwitchSystem& system, std::string_view text);

// Normalized for the drift comparison: without noise, comments, blank lines and certificates (which a switch renews by
// itself). JSON and NVUE become one sorted line per value, so order does not matter.
[[nodiscard]] std::string normalized(const SwitchSystem& system, std::string_view text);

// The statements of a config, each prefixed with its enclosing blocks ("interface Ethernet1/1 / mtu 9216"), sorted and
// unique. The same format for a running config and for the output of `weft render`, so one can be searched in the
// other.
[[nodiscard]] std::vector<std::string> statements_of(const SwitchSystem& system, std::string_view text);

// The text with passwords, communities and keys replaced by "<hidden>": for display and logs.
[[nodiscard]] std::string masked(std::string_view text);

// An error if this cannot be a complete config: empty, an error message, truncated, or ten times shorter than the last
// one (`last_bytes`).
[[nodiscard]] Status plausible_config(const SwitchSystem& system, std::string_view text,
                                      std::optional<std::size_t> last_bytes);

}  // namespace weft::oob
