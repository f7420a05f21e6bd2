#include "kube/pacing.h"

#include <gtest/gtest.h>

namespace weft::kube {
namespace {

TEST(KubePacing, ABurstPassesAndThenTheRateHolds) {
  TokenBucket bucket(5, 10);  // client-go's default
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bucket.take(Duration(0)).count(), 0);
  EXPECT_EQ(bucket.take(Duration(0)), milliseconds(200));
  EXPECT_EQ(bucket.take(Duration(0)), milliseconds(400));
  // 750 more requests of a drain of 750 nodes: 150 s later.
  Duration last{};
  for (int i = 0; i < 750; ++i) last = bucket.take(Duration(0));
  EXPECT_EQ(last / milliseconds(1), 150'400);
}

TEST(KubePacing, IdleTimeRefillsUpToTheBurst) {
  TokenBucket bucket(1, 2);
  (void)bucket.take(Duration(0));
  (void)bucket.take(Duration(0));
  const Duration later = milliseconds(100'000);
  EXPECT_EQ(bucket.take(later).count(), 0);
  EXPECT_EQ(bucket.take(later).count(), 0);
  EXPECT_EQ(bucket.take(later), milliseconds(1'000));
}

TEST(KubePacing, AClockThatStandsStillOrGoesBackGivesNothing) {
  TokenBucket bucket(1, 1);
  (void)bucket.take(milliseconds(5'000));
  EXPECT_EQ(bucket.take(milliseconds(1'000)), milliseconds(1'000));
}

TEST(KubePacing, BackoffDoublesWithJitterAndIsCapped) {
  Backoff backoff({milliseconds(100), milliseconds(1'000)}, RandomStream(7));
  std::int64_t whole = 100;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t wait = backoff.next() / milliseconds(1);
    EXPECT_GE(wait, whole / 2 - 1);
    EXPECT_LE(wait, whole);
    whole = std::min<std::int64_t>(whole * 2, 1'000);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(100));
  Backoff other({milliseconds(100), milliseconds(1'000)}, RandomStream(8));
  Backoff same({milliseconds(100), milliseconds(1'000)}, RandomStream(8));
  const Duration first = other.next();
  EXPECT_EQ(first, same.next());
  EXPECT_NE(first, Backoff({milliseconds(100), milliseconds(1'000)}, RandomStream(9)).next());
}

}  // namespace
}  // namespace weft::kube
