// Rate limits: a token bucket per key (an identity, or a source address) in bounded memory, O(1) per request. Time is
// monotonic and passed in. Used by one thread.
//
// Memory: a bucket that has filled up again is the same as none, and is dropped. If more keys than `max_keys` are
// active, new keys share a few buckets, so that flooding the limiter with keys neither grows it nor resets any bucket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/quantity.h"

namespace weft::access {

struct RateLimit {
  std::int64_t per_minute = 600;
  std::int64_t burst = 600;  // requests at once, after a pause
};

struct RateDecision {
  bool allowed = true;
  std::int64_t retry_after_s = 0;  // whole seconds for the header Retry-After; at least 1 if refused
};

class RateLimiter {
 public:
  // `seed` is random and secret: without it, clients cannot choose keys that share a bucket with others.
  RateLimiter(RateLimit limit, std::string_view seed, std::size_t max_keys = 65'536);

  // Takes one token from the key's bucket. A refused request takes none.
  [[nodiscard]] RateDecision take(std::string_view key, Duration now);
  // The same question without taking it.
  [[nodiscard]] RateDecision peek(std::string_view key, Duration now) const;
  // After a reload of the configuration; buckets keep their level.
  void set_limit(RateLimit limit);
  [[nodiscard]] std::size_t size() const { return buckets_.size(); }

 private:
  struct Digest {
    std::array<std::uint64_t, 2> words{};
    friend bool operator==(const Digest&, const Digest&) = default;
  };
  struct HashDigest {
    std::size_t operator()(const Digest& digest) const { return static_cast<std::size_t>(digest.words[0]); }
  };
  // A bucket is when it will be full again (the generic cell rate algorithm, ITU-T I.371): full if that is in the past.
  struct Bucket {
    Duration full_at;
    std::list<Digest>::iterator recent;
  };

  [[nodiscard]] Digest digest_of(std::string_view key) const;
  [[nodiscard]] RateDecision decide(Duration full_at, Duration now) const;
  [[nodiscard]] const Duration& shared_bucket(const Digest& digest) const;
  void drop_full(Duration now);

  std::string seed_;
  std::size_t max_keys_;
  Duration interval_;  // in which one token is added
  Duration capacity_;  // interval times burst
  std::unordered_map<Digest, Bucket, HashDigest> buckets_;
  std::list<Digest> recent_;  // least recently used first
  std::vector<Duration> shared_;
};

// The key of an address: an IPv4 address, or the first 64 bits of an IPv6 address, of which one client has them all.
// IPv4-mapped IPv6 addresses are IPv4. "": the Unix socket.
[[nodiscard]] std::string source_key(std::string_view address);

// Failed authentications per source: a source that fails too often is refused before its credential is checked.
class FailureLimiter {
 public:
  FailureLimiter(std::int64_t per_minute, std::string_view seed) : limiter_({per_minute, per_minute}, seed) {}

  [[nodiscard]] RateDecision check(std::string_view address, Duration now) const {
    return limiter_.peek(source_key(address), now);
  }
  void add_failure(std::string_view address, Duration now) { (void)limiter_.take(source_key(address), now); }
  void set_limit(std::int64_t per_minute) { limiter_.set_limit({per_minute, per_minute}); }

 private:
  RateLimiter limiter_;
};

}  // namespace weft::access
