#include "oob/rescue/runbook_pattern.h"

#include <gtest/gtest.h>

namespace weft::oob {
namespace {

std::size_t count(std::string_view pattern, std::string_view text) {
  const Result<RunbookPattern> made = RunbookPattern::make(pattern);
  EXPECT_TRUE(made.ok()) << pattern << ": " << (made.ok() ? "" : made.error().message);
  return made.ok() ? made->count(text) : 0;
}

// Counts like grep -E -c.
TEST(RunbookPattern, CountsLinesLikeGrep) {
  EXPECT_EQ(count("login:", "GRUB\nfoo login: \nlogin\n"), 1U);
  EXPECT_EQ(count("^GRUB", "GRUB\r\nGRUB\r\n GRUB\n"), 2U);
  EXPECT_EQ(count("login:$", "leaf1 login:\r\n"), 1U);
  EXPECT_EQ(count("(ONIE|GRUB) [0-9]+", "GRUB 2\nONIE x\nONIE 17"), 2U);
  EXPECT_EQ(count("x", ""), 0U);
  EXPECT_EQ(count("a.b", std::string("a\0b\na-b", 7)), 1U);
}

TEST(RunbookPattern, RefusesExpensivePatterns) {
  for (const char* bad : {"", "(", "[a", "*a(", "(a)\\1", "a{300}", "((a{20}){20})", "a\nb"})
    EXPECT_FALSE(RunbookPattern::make(bad).ok()) << bad;
  EXPECT_FALSE(RunbookPattern::make(std::string(257, 'a')).ok());
  EXPECT_TRUE(RunbookPattern::make("a{16}b{16}").ok());
}

TEST(RunbookPattern, QuotedTextMatchesItself) {
  const std::string odd = "a.b[c]{2}(d)*+?^$|\\e";
  EXPECT_EQ(count(RunbookPattern::quote(odd), odd), 1U);
  EXPECT_EQ(count(RunbookPattern::quote("10.0.0.1"), "10x0y0z1"), 0U);
}

TEST(RunbookPattern, LongLinesAreCutAndHarmless) {
  std::string text(1U << 20U, 'a');
  EXPECT_EQ(count("(a|aa)+$", text), 1U);
  EXPECT_EQ(count("b", text + "b"), 0U);
}

}  // namespace
}  // namespace weft::oob
