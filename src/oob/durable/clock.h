// Clocks for the out-of-band code: a steady clock for measuring, wall-clock time for output and journals, and a sleep
// that ends early when the operator stops the command. Injected, so tests simulate hours in microseconds.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/quantity.h"

namespace weft::oob {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // Since an arbitrary epoch; monotonic.
  [[nodiscard]] virtual Duration now() = 0;
  // Milliseconds since 1970 UTC. May jump: never used to measure durations.
  [[nodiscard]] virtual std::int64_t wall_ms() = 0;
  // Sleeps for `time`. Returns false if stop() was called before or during the sleep: the caller then cleans up (logs
  // out, records what is unverified) and starts nothing new.
  virtual bool sleep(Duration time) = 0;
  [[nodiscard]] virtual bool stopped() const = 0;
};

// The system clock. `stop` may be called from a signal handler.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Duration now() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  bool sleep(Duration time) override;
  [[nodiscard]] bool stopped() const override { return stopped_.load(); }
  void stop() { stopped_.store(true); }

 private:
  std::atomic<bool> stopped_{false};
};

// For tests: time advances only by sleeping.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Duration now() override { return Duration(now_.load()); }
  [[nodiscard]] std::int64_t wall_ms() override { return kStartMs + now_.load() / 1'000'000; }
  bool sleep(Duration time) override {
    now_ += time.count();
    return !stopped_.load();
  }
  [[nodiscard]] bool stopped() const override { return stopped_.load(); }
  void stop() { stopped_.store(true); }

  static constexpr std::int64_t kStartMs = 1'760'000'000'000;  // 2025-10-09T08:53:20Z

 private:
  std::atomic<std::int64_t> now_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace weft::oob
