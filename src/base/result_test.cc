#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weft {
namespace {

const Error kLost = {ErrorCode::not_found, "no such rack", "cluster.yaml:3:1"};

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  const Result<int> bad = kLost;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::not_found);
  EXPECT_EQ(bad.value_or(3), 3);
  EXPECT_EQ(good.value_or(3), 7);
}

TEST(Result, CarriesMoveOnlyTypes) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Error, TextIncludesTheLocationIfKnown) {
  EXPECT_EQ(kLost.text(), "cluster.yaml:3:1: no such rack");
  EXPECT_EQ((Error{ErrorCode::timeout, "too late", ""}).text(), "too late");
}

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  const Status status = kLost;
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no such rack");
}

TEST(ResultDeathTest, AbortsOnAMissingValue) {
  const Result<int> bad = kLost;
  const Result<int> good = 1;
  EXPECT_DEATH(static_cast<void>(bad.value()), "value\\(\\) of a failed Result");
  EXPECT_DEATH(static_cast<void>(good.error()), "error\\(\\) of a Result that succeeded");
  EXPECT_DEATH(static_cast<void>(Status().error()), "error\\(\\) of a Status that succeeded");
}

TEST(CheckDeathTest, PrintsTheConditionAndTheReason) {
  EXPECT_DEATH(CHECK(1 + 1 == 3, "sums must add up"), "sums must add up \\(1 \\+ 1 == 3\\)");
}

}  // namespace
}  // namespace weft
