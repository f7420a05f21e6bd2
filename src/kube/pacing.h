// When the next request may be sent: a token bucket (the client's own rate limit) and exponential back-off with jitter.
// Neither reads a clock or sleeps; time and random numbers are passed in.
#pragma once

#include <cstdint>

#include "base/quantity.h"
#include "base/random.h"

namespace weft::kube {

class TokenBucket {
 public:
  // `per_second` > 0 tokens are added up to `burst` >= 1; it starts full.
  TokenBucket(double per_second, double burst);
  // Takes one token and returns how long to wait before using it: 0 if there was one. Tokens are handed out in the
  // order of the calls.
  [[nodiscard]] Duration take(Duration now);

 private:
  double per_second_;
  double burst_;
  double tokens_;
  Duration last_{};
  bool used_ = false;
};

struct BackoffLimits {
  Duration first = milliseconds(500);
  Duration longest = milliseconds(30'000);
};
class Backoff {
 public:
  Backoff(const BackoffLimits& limits, RandomStream random) : limits_(limits), random_(random) {}
  // Doubles with every call up to the longest; between half of it and all of it, so that clients that failed together
  // do not come back together.
  [[nodiscard]] Duration next();
  void reset() { failures_ = 0; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  BackoffLimits limits_;
  RandomStream random_;
  int failures_ = 0;
};

}  // namespace weft::kube
