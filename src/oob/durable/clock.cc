#include "oob/durable/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace weft::oob {
namespace {

constexpr std::int64_t kStopLatency = 50'000'000;  // how long a stop may go unnoticed, in nanoseconds

}  // namespace

Duration SystemClock::now() {
  return Duration(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::int64_t SystemClock::wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool SystemClock::sleep(Duration time) {
  const std::int64_t end = now().count() + std::max<std::int64_t>(time.count(), 0);
  for (;;) {
    if (stopped()) return false;
    const std::int64_t left = end - now().count();
    if (left <= 0) return true;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kStopLatency)));
  }
}

}  // namespace weft::oob
