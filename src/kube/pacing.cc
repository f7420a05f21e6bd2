#include "kube/pacing.h"

#include <algorithm>

#include "base/check.h"

namespace weft::kube {

TokenBucket::TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {
  CHECK(per_second > 0 && burst >= 1, "a rate limit must let requests through");
}

Duration TokenBucket::take(Duration now) {
  if (used_ && now > last_) {
    tokens_ = std::min(burst_, tokens_ + static_cast<double>((now - last_).count()) * 1e-9 * per_second_);
  }
  if (!used_ || now > last_) last_ = now;
  used_ = true;
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration(0);
  return Duration(static_cast<std::int64_t>(-tokens_ / per_second_ * 1e9));
}

Duration Backoff::next() {
  std::int64_t wait = limits_.first.count();
  for (int i = 0; i < failures_ && wait < limits_.longest.count(); ++i) wait *= 2;
  wait = std::min(wait, limits_.longest.count());
  if (failures_ < 63) ++failures_;
  return Duration(wait - random_.between(0, wait / 2));
}

}  // namespace weft::kube
