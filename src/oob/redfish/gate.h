// Limits concurrent requests to one host and port across all clients of the process: several sessions to one BMC
// together must not overload it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "oob/durable/clock.h"

namespace weft::oob {

// BMCs have little CPU; NVIDIA's infra-controller settled on four requests at a time (issue 4751).
inline constexpr int kMaxInFlight = 4;
// How long a stop may go unnoticed. Thousands of clients wait at once, so polling is no faster than needed.
inline constexpr int kStopLatencyMs = 100;

class RequestGate {
 public:
  bool try_enter() {
    const std::lock_guard lock(mutex_);
    if (inside_ >= kMaxInFlight) return false;
    ++inside_;
    return true;
  }
  // Waits for a slot. False if `end` or the stop came first.
  bool enter(std::chrono::steady_clock::time_point end, const Clock* stop) {
    std::unique_lock lock(mutex_);
    while (inside_ >= kMaxInFlight) {
      if (std::chrono::steady_clock::now() >= end || (stop != nullptr && stop->stopped())) return false;
      left_.wait_for(lock, std::chrono::milliseconds(kStopLatencyMs));
    }
    ++inside_;
    return true;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      --inside_;
    }
    left_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
};

// The gate of "host:port". Shared; destroyed with its last owner.
[[nodiscard]] std::shared_ptr<RequestGate> request_gate(const std::string& authority);

}  // namespace weft::oob
