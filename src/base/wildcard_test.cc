#include "base/wildcard.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  return wildcard_match(pattern, text, LetterCase::ignored);
}

TEST(WildcardMatch, MatchesTheWholeTextCaseSensitively) {
  EXPECT_TRUE(wildcard_match("be-*-leaf?", "be-train-u001-leaf8"));
  EXPECT_TRUE(wildcard_match("*", ""));
  EXPECT_TRUE(wildcard_match("a*b*c", "axxbyybzzc"));
  EXPECT_TRUE(wildcard_match("", ""));
  EXPECT_FALSE(wildcard_match("", "a"));
  EXPECT_FALSE(wildcard_match("be-*-leaf?", "be-train-u001-leaf12"));
  EXPECT_FALSE(wildcard_match("leaf1", "LEAF1"));
  EXPECT_FALSE(wildcard_match("leaf", "leaf1"));
  EXPECT_FALSE(wildcard_match("?", ""));
  // Many stars over a long text must not take exponential time.
  EXPECT_FALSE(wildcard_match(std::string(40, '*') + "b", std::string(5000, 'a')));
}

TEST(WildcardMatch, CanIgnoreLetterCase) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("super*micro*", "Super Micro Computer, Inc."));
  EXPECT_TRUE(matches("X1?-F", "x13-f"));
  EXPECT_FALSE(matches("X1?-F", "X1-F"));
  EXPECT_FALSE(matches("Dell", "Dell Inc."));
  // Exponential in a backtracking matcher.
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace weft
