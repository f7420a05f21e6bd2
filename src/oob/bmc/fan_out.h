// Runs one blocking task per device for N devices, at most F at a time. A sweep of N BMCs with latency L takes N * L /
// F; F mostly idle threads cost little and keep the code for one device sequential.
#pragma once

#include <cstdint>
#include <functional>

#include "oob/durable/clock.h"

namespace weft::oob {

inline constexpr int kDefaultFanOut = 256;
inline constexpr int kMaxFanOut = 4096;

struct FanOutResult {
  std::uint32_t finished = 0;  // tasks that ran; fewer than requested if the clock was stopped
  int threads = 0;
};

// Calls task(i) for i in 0..count-1 in approximately that order. Once the clock is stopped no further task starts;
// running ones are waited for. `progress`, if given, is called from one thread at a time with the number finished.
FanOutResult fan_out(std::uint32_t count, int width, Clock& clock, const std::function<void(std::uint32_t)>& task,
                     const std::function<void(std::uint32_t)>& progress = nullptr);

}  // namespace weft::oob
