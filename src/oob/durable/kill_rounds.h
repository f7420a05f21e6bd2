// How often a test kills a writer: a few times by default, to keep the tests fast; WEFT_KILL_ROUNDS sets more. For
// tests only.
#pragma once

#include <cstdlib>

namespace weft::oob {

[[nodiscard]] inline int kill_rounds() {
  const char* asked = std::getenv("WEFT_KILL_ROUNDS");  // NOLINT(concurrency-mt-unsafe): before any thread
  return asked == nullptr ? 25 : std::atoi(asked);      // NOLINT(cert-err34-c)
}

}  // namespace weft::oob
