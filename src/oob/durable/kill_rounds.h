// How often a test kills a writer: few times, so that the tests stay quick; WEFT_KILL_ROUNDS asks for more. For tests
// alone.
#pragma once

#include <cstdlib>

namespace weft::oob {

[[nodiscard]] inline int kill_rounds() {
  const char* asked = std::getenv("WEFT_KILL_ROUNDS");  // NOLINT(concurrency-mt-unsafe): before any thread
  return asked == nullptr ? 25 : std::atoi(asked);      // NOLINT(cert-err34-c)
}

}  // namespace weft::oob
