// The number of rounds of a randomized test: as requested in a plain build, a twentieth of that under a sanitizer,
// where each round takes about ten times as long. For tests only.
#pragma once

#include <cstdint>

namespace weft {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED 1
#endif
#endif

[[nodiscard]] constexpr std::uint64_t rounds(std::uint64_t plain) {
#ifdef WEFT_SANITIZED
  return (plain + 19) / 20;
#else
  return plain;
#endif
}

}  // namespace weft
