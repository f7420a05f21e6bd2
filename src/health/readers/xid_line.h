// Xid lines of the NVIDIA driver: "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
#pragma once

#include <optional>
#include <string_view>

#include "health/core/signal.h"

namespace weft::health {

// `text` begins after "NVRM: Xid ". nullopt: it is not of this form, or the code is absurd.
[[nodiscard]] std::optional<Signal> read_xid(std::string_view text);

}  // namespace weft::health
