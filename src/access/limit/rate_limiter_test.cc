#include "access/limit/rate_limiter.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace weft::access {
namespace {

Duration seconds(std::int64_t n) { return milliseconds(n * 1000); }

TEST(RateLimiterTest, AllowsABurstAndThenTheRate) {
  RateLimiter limiter({60, 5}, "seed");
  const Duration start = seconds(1000);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limiter.take("ada", start).allowed);
  const RateDecision refused = limiter.take("ada", start);
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.retry_after_s, 1);
  EXPECT_TRUE(limiter.take("bob", start).allowed);
  EXPECT_FALSE(limiter.take("ada", start + milliseconds(999)).allowed);
  EXPECT_TRUE(limiter.take("ada", start + seconds(1)).allowed);
  EXPECT_FALSE(limiter.take("ada", start + seconds(1)).allowed);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limiter.take("ada", start + seconds(60)).allowed);
  EXPECT_FALSE(limiter.take("ada", start + seconds(60)).allowed);
}

TEST(RateLimiterTest, SaysWhenToRetry) {
  RateLimiter limiter({4, 1}, "seed");
  EXPECT_TRUE(limiter.take("ada", seconds(0)).allowed);
  const RateDecision refused = limiter.take("ada", seconds(2));
  EXPECT_EQ(refused.retry_after_s, 13);
  EXPECT_TRUE(limiter.take("ada", seconds(2 + refused.retry_after_s)).allowed);
}

TEST(RateLimiterTest, PeeksWithoutTaking) {
  RateLimiter limiter({60, 1}, "seed");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.peek("ada", seconds(1)).allowed);
  EXPECT_EQ(limiter.size(), 0U);
  EXPECT_TRUE(limiter.take("ada", seconds(1)).allowed);
  EXPECT_FALSE(limiter.peek("ada", seconds(1)).allowed);
}

TEST(RateLimiterTest, AppliesANewLimit) {
  RateLimiter limiter({60, 1}, "seed");
  EXPECT_TRUE(limiter.take("ada", seconds(1)).allowed);
  EXPECT_FALSE(limiter.take("ada", seconds(1)).allowed);
  limiter.set_limit({60, 10});
  EXPECT_TRUE(limiter.take("ada", seconds(1)).allowed);
}

TEST(RateLimiterTest, ForgetsOnlyFullBuckets) {
  RateLimiter limiter({60, 60}, "seed", 100);
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(limiter.take("ada", seconds(1)).allowed);
  // Flooding with other keys neither grows the table nor resets the bucket.
  for (int i = 0; i < 10'000; ++i) (void)limiter.take("k" + std::to_string(i), seconds(1));
  EXPECT_EQ(limiter.size(), 100U);
  EXPECT_FALSE(limiter.take("ada", seconds(1)).allowed);
  // Idle ones disappear as others come.
  for (int i = 0; i < 200; ++i) (void)limiter.take("ada", seconds(300 + i));
  EXPECT_EQ(limiter.size(), 1U);
}

TEST(RateLimiterTest, LimitsKeysThatShareABucket) {
  RateLimiter limiter({60, 10}, "seed", 1);
  EXPECT_TRUE(limiter.take("first", seconds(1)).allowed);
  int allowed = 0;
  for (int i = 0; i < 100; ++i) allowed += limiter.take("ada", seconds(1)).allowed ? 1 : 0;
  EXPECT_EQ(allowed, 10);
  EXPECT_FALSE(limiter.peek("ada", seconds(1)).allowed);
  // With a bucket of its own again, what it took still counts.
  EXPECT_FALSE(limiter.take("ada", seconds(1) + milliseconds(999)).allowed);
  EXPECT_TRUE(limiter.take("ada", seconds(2)).allowed);
  EXPECT_FALSE(limiter.take("ada", seconds(2)).allowed);
}

// Compared with a plain token bucket, with random times and keys.
TEST(RateLimiterTest, NeverAllowsMoreThanATokenBucket) {
  RandomStream random(3, "limiter");
  RateLimiter limiter({120, 7}, "seed", 8);
  constexpr int kKeys = 6;
  double level[kKeys] = {7, 7, 7, 7, 7, 7};
  Duration now = seconds(1);
  for (int i = 0; i < 20'000; ++i) {
    const Duration step = milliseconds(static_cast<std::int64_t>(random.below(200)));
    now += step;
    for (double& each : level) each = std::min(7.0, each + 2.0 * static_cast<double>(step.count()) / 1e9);
    const std::size_t key = random.below(kKeys);
    const bool expected = level[key] >= 1.0 - 1e-6;
    ASSERT_EQ(limiter.take(std::to_string(key), now).allowed, expected) << i;
    if (expected) level[key] -= 1;
  }
}

TEST(SourceKeyTest, JoinsAddressesOfOneClient) {
  EXPECT_EQ(source_key("192.0.2.7"), "4 192.0.2.7");
  EXPECT_EQ(source_key("::ffff:192.0.2.7"), "4 192.0.2.7");
  EXPECT_EQ(source_key("2001:db8:1:2:3:4:5:6"), source_key("2001:db8:1:2::1"));
  EXPECT_NE(source_key("2001:db8:1:2::1"), source_key("2001:db8:1:3::1"));
  EXPECT_EQ(source_key("fe80::1%eth0"), source_key("fe80::2"));
  EXPECT_NE(source_key(""), source_key("::"));
  EXPECT_NE(source_key("x:y"), source_key("::"));
}

TEST(FailureLimiterTest, RefusesSourcesThatFailTooOften) {
  FailureLimiter limiter(3, "seed");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(limiter.check("2001:db8::1", seconds(1)).allowed);
    limiter.add_failure("2001:db8::" + std::to_string(i), seconds(1));
  }
  const RateDecision refused = limiter.check("2001:db8::9", seconds(1));
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.retry_after_s, 20);
  EXPECT_TRUE(limiter.check("2001:db8:0:1::9", seconds(1)).allowed);
  EXPECT_TRUE(limiter.check("2001:db8::9", seconds(21)).allowed);
}

}  // namespace
}  // namespace weft::access
