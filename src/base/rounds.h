// How many rounds a randomized test does: as many as asked for in a plain build, an eighth of them under a sanitizer,
// where each takes some ten times as long. For tests alone.
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
  return (plain + 7) / 8;
#else
  return plain;
#endif
}

}  // namespace weft
