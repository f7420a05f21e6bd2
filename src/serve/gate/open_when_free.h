// Opens what is locked by one server at a time. The lock of a server that was killed may be held for a moment longer,
// by a process that it had just forked.
#pragma once

#include <chrono>
#include <thread>

#include "base/result.h"

namespace weft::serve {

// Calls `open` again while it answers `conflict`, for up to five seconds.
template <class Open>
[[nodiscard]] auto open_when_free(const Open& open) {
  constexpr int kTries = 100;
  for (int tried = 1;; ++tried) {
    auto opened = open();
    if (opened.ok() || opened.error().code != ErrorCode::conflict || tried == kTries) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace weft::serve
