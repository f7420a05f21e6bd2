// How many rounds a randomized test does: as many as asked for in a plain build, a twentieth of them under a
// sanitizer, where each takes some ten times as long. For tests alone.
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
