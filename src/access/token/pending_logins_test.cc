#include "access/token/pending_logins.h"

#include <gtest/gtest.h>

#include <string>

#include "access/secret/test_support.h"

namespace weft::access {
namespace {

constexpr std::int64_t kNow = 1'760'000'000'000;
using Kind = DevicePoll::Kind;

TEST(PendingItemsTest, BelongsToItsKeyAndExpires) {
  PendingItems<int> items;
  const SecretHash key{oob::Secret(std::string("state"))};
  const SecretHash other{oob::Secret(std::string("other"))};
  EXPECT_TRUE(items.add(key, 7, "192.0.2.1", kNow + 10, kNow));
  EXPECT_EQ(items.find(other, kNow), nullptr);
  ASSERT_NE(items.find(key, kNow + 9), nullptr);
  EXPECT_EQ(*items.find(key, kNow + 9), 7);
  EXPECT_EQ(items.find(key, kNow + 10), nullptr);
  EXPECT_TRUE(items.erase(key));
  EXPECT_FALSE(items.erase(key));
}

TEST(PendingItemsTest, IsBounded) {
  PendingItems<int> items;
  std::size_t count = 0;
  const auto add = [&](const std::string& source, std::int64_t now) {
    return items.add(SecretHash(oob::Secret(std::to_string(++count))), 1, source, now + kBrowserLoginMs, now);
  };
  for (std::size_t i = 0; i < kMaxPendingPerSource; ++i) ASSERT_TRUE(add("192.0.2.1", kNow));
  EXPECT_FALSE(add("192.0.2.1", kNow));
  ASSERT_TRUE(add("192.0.2.2", kNow));
  const SecretHash second{oob::Secret(std::to_string(count))};
  for (int source = 3; items.size() < kMaxPendingLogins; ++source) {
    for (std::size_t i = 0; i < kMaxPendingPerSource && items.size() < kMaxPendingLogins; ++i)
      ASSERT_TRUE(add("192.0.2." + std::to_string(source), kNow));
  }
  // The oldest make place.
  EXPECT_TRUE(add("192.0.2.99", kNow));
  EXPECT_EQ(items.size(), kMaxPendingLogins);
  EXPECT_NE(items.find(second, kNow), nullptr);
  EXPECT_TRUE(add("192.0.2.1", kNow + kBrowserLoginMs));
  EXPECT_EQ(items.size(), 1U);
}

TEST(PendingDeviceLoginsTest, PollsAtTheInterval) {
  PendingDeviceLogins logins(make_test_random());
  const std::string handle = logins.begin(oob::Secret(std::string("code")), 5, 600, "192.0.2.1", kNow)->reveal();
  EXPECT_EQ(logins.poll(handle, kNow + 4999).kind, Kind::too_soon);
  const DevicePoll poll = logins.poll(handle, kNow + 5000);
  EXPECT_EQ(poll.kind, Kind::ready);
  EXPECT_EQ(poll.device_code.reveal(), "code");
  // 10 s, since the first poll was too soon.
  EXPECT_EQ(logins.poll(handle, kNow + 15'000).kind, Kind::ready);
  logins.slow_down(handle, kNow + 15'000);
  EXPECT_EQ(logins.poll(handle, kNow + 29'999).kind, Kind::too_soon);
  EXPECT_EQ(logins.poll("x", kNow).kind, Kind::unknown);
  EXPECT_TRUE(logins.finish(handle));
  EXPECT_FALSE(logins.finish(handle));
  EXPECT_EQ(logins.poll(handle, kNow + 60'000).kind, Kind::unknown);
}

TEST(PendingDeviceLoginsTest, ExpiresWithTheCode) {
  PendingDeviceLogins logins(make_test_random());
  const auto begin = [&](std::int64_t interval, std::int64_t life) {
    return logins.begin(oob::Secret(std::string("code")), interval, life, "192.0.2.1", kNow)->reveal();
  };
  const std::string brief = begin(1, 10);
  EXPECT_EQ(logins.poll(brief, kNow + 9999).kind, Kind::ready);
  EXPECT_EQ(logins.poll(brief, kNow + 10'000).kind, Kind::unknown);
  const std::string endless = begin(-7, INT64_MAX);
  EXPECT_EQ(logins.poll(endless, kNow + kDeviceLoginMs - 1).kind, Kind::ready);
  EXPECT_EQ(logins.poll(endless, kNow + kDeviceLoginMs).kind, Kind::unknown);
  EXPECT_EQ(logins.poll(begin(INT64_MAX, 600), kNow + 60'000).kind, Kind::ready);
  EXPECT_EQ(logins.poll(begin(5, -1), kNow).kind, Kind::unknown);
}

}  // namespace
}  // namespace weft::access
