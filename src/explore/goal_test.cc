#include "explore/goal.h"

#include <gtest/gtest.h>

namespace weft::explore {
namespace {

constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000'000;

TEST(GoalTest, ReadsTheSentence) {
  const Result<Goal> goal = parse_goal("train llama-3.1-405b on 15T tokens in 60 days");
  ASSERT_TRUE(goal.ok()) << goal.error().message;
  EXPECT_EQ(goal->model, "llama-3.1-405b");
  EXPECT_EQ(goal->tokens, 15'000'000'000'000);
  EXPECT_EQ(goal->deadline.count(), 60 * kDay);
  EXPECT_EQ(to_text(*goal), "train llama-3.1-405b on 15T tokens in 60 d");
}

TEST(GoalTest, ReadsOtherWordings) {
  for (const char* text : {"Train m on 1.4T tokens within 8 weeks", "pretrain m in 56d on 1400B tokens",
                           "train m with 1.4 trillion tokens in 8w", "train  m  on 1400000000000 in 1344 hours",
                           "train m in 56 Days on 1.4 T TOKENS"}) {
    const Result<Goal> goal = parse_goal(text);
    ASSERT_TRUE(goal.ok()) << text << ": " << goal.error().message;
    EXPECT_EQ(goal->tokens, 1'400'000'000'000) << text;
    EXPECT_EQ(goal->deadline.count(), 56 * kDay) << text;
  }
}

TEST(GoalTest, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "empty"},
      {"serve m", "begins with `train`"},
      {"train", "names no model"},
      {"train m", "no number of tokens"},
      {"train m on 15T tokens", "no deadline"},
      {"train m in 60 days", "no number of tokens"},
      {"train m on many tokens in 60 days", "`many` is not a number of tokens"},
      {"train m on 15X tokens in 60 days", "`15X` is not a number"},
      {"train m on 1..5T tokens in 60 days", "is not a number"},
      {"train m on -5T tokens in 60 days", "is not a number"},
      {"train m on 99999999999999999999T tokens in 60 days", "is not a number"},
      {"train m on 1K tokens in 60 days", "between 1M and"},
      {"train m on 15T tokens in 2 months", "no fixed length"},
      {"train m on 15T tokens in 60 lightyears", "is not a unit of time"},
      {"train m on 15T tokens in soon", "`soon` is not a time"},
      {"train m on 15T tokens in 1 hours extra", "`extra` is not understood"},
      {"train m on 15T tokens in 0 days", "between 1 hour"},
      {"train m on 15T tokens on 3T tokens in 9 days", "two numbers"},
      {"train m on 15T tokens in 9 days in 8 days", "two deadlines"},
  };
  for (const auto& [text, why] : wrong) {
    const Result<Goal> goal = parse_goal(text);
    ASSERT_FALSE(goal.ok()) << text;
    EXPECT_NE(goal.error().message.find(why), std::string::npos) << text << ": " << goal.error().message;
  }
}

}  // namespace
}  // namespace weft::explore
