#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, CharacterClassesAreAscii) {
  int digits = 0;
  int letters = 0;
  int controls = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    digits += is_digit(c) ? 1 : 0;
    letters += is_letter(c) ? 1 : 0;
    controls += is_control(c) ? 1 : 0;
    EXPECT_EQ(is_letter_or_digit(c), is_letter(c) || is_digit(c));
  }
  EXPECT_EQ(digits, 10);
  EXPECT_EQ(letters, 52);
  EXPECT_EQ(controls, 33);
  for (const char c : std::string_view("/:@[`{\x80\xFF ")) EXPECT_FALSE(is_letter_or_digit(c)) << c;
  EXPECT_TRUE(is_control('\x7F'));
  EXPECT_FALSE(is_control('\x80'));
}

TEST(Text, LetterCase) {
  EXPECT_EQ(to_lower("AZaz@[09\xC3\x84"), "azaz@[09\xC3\x84");
  EXPECT_EQ(to_upper("AZaz`{09\xC3\xA4"), "AZAZ`{09\xC3\xA4");
  EXPECT_EQ(to_lower('Q'), 'q');
  EXPECT_EQ(to_upper('q'), 'Q');
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_TRUE(equals_ignoring_case("Mellanox", "mELLANOX"));
  EXPECT_FALSE(equals_ignoring_case("abc", "ab"));
  EXPECT_FALSE(equals_ignoring_case("ab", "abc"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));  // they differ by 32, like 'A' and 'a'
}

TEST(Text, Contains) {
  EXPECT_TRUE(contains("abc", "bc"));
  EXPECT_TRUE(contains("abc", ""));
  EXPECT_FALSE(contains("abc", "ac"));
}

TEST(Text, TrimRemovesOnlyTheGivenSpaces) {
  EXPECT_EQ(trim(" \t\r\na b\n "), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim("\va\f"), "\va\f");
  EXPECT_EQ(trim(" \ta\n ", kTabsAndSpaces), "a\n");
  EXPECT_EQ(trim("\t a ", " "), "\t a");
  EXPECT_EQ(trim_end("  a \r\n"), "  a");
  EXPECT_EQ(trim_end("   "), "");
  EXPECT_EQ(trim_end("a\n\r ", kLineSpaces), "a\n");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,b,c", ','), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",a,, b,", ','), ElementsAre("", "a", "", " b", ""));
}

TEST(Text, SplitOutsideBrackets) {
  EXPECT_THAT(split_outside_brackets("a[1,2-4], b ,c"), ElementsAre("a[1,2-4]", "b", "c"));
  EXPECT_THAT(split_outside_brackets(""), ElementsAre(""));
  EXPECT_THAT(split_outside_brackets("a,,b,"), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split_outside_brackets("a[1,b"), ElementsAre("a[1,b"));
  EXPECT_THAT(split_outside_brackets("a],b"), ElementsAre("a]", "b"));
}

TEST(Text, SplitAtSpacesHasNoEmptyWords) {
  EXPECT_THAT(split_at_spaces("  a\tbc \r\n d"), ElementsAre("a", "bc", "d"));
  EXPECT_THAT(split_at_spaces("a b"), ElementsAre("a", "b"));
  EXPECT_THAT(split_at_spaces(""), IsEmpty());
  EXPECT_THAT(split_at_spaces(" \t"), IsEmpty());
  EXPECT_THAT(split_at_spaces("a\r b", kTabsAndSpaces), ElementsAre("a\r", "b"));
}

TEST(Text, SplitLinesSplitsAtNewlines) {
  EXPECT_THAT(split_lines("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(split_lines("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(split_lines("\n\na\r\n"), ElementsAre("", "", "a\r"));
  EXPECT_THAT(split_lines(""), IsEmpty());
}

TEST(Text, Join) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(join(Words{}, ", "), "");
  EXPECT_EQ(join(Words{"a"}, ", "), "a");
  EXPECT_EQ(join(Words{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join(Words{"", "a", ""}, ","), ",a,");
  EXPECT_EQ(join(std::array<std::string_view, 2>{"x", "y"}, ""), "xy");
  EXPECT_EQ(join(Words{}, ", ", " or "), "");
  EXPECT_EQ(join(Words{"a"}, ", ", " or "), "a");
  EXPECT_EQ(join(Words{"a", "b"}, ", ", " or "), "a or b");
  EXPECT_EQ(join(Words{"a", "b", "c"}, ", ", " or "), "a, b or c");
}

TEST(Text, ReplaceAllDoesNotSearchReplacements) {
  EXPECT_EQ(replace_all("a-b-c", "-", "--"), "a--b--c");
  EXPECT_EQ(replace_all("aaa", "aa", "b"), "ba");
  EXPECT_EQ(replace_all("abc", "x", "y"), "abc");
  EXPECT_EQ(replace_all("abab", "ab", ""), "");
  EXPECT_EQ(replace_all("abc", "", "x"), "abc");
}

TEST(AppendFormat, KeepsExistingText) {
  std::string text = "a";
  append_format(text, "{}:{:03}", "b", 7);
  append_format(text, " {:.2f}", 0.125);
  EXPECT_EQ(text, "ab:007 0.12");
}

TEST(AppendFormat, AppendsLongTexts) {
  std::string text;
  for (int i = 0; i < 1000; ++i) append_format(text, "{:>10}", i);
  EXPECT_EQ(text.size(), 10'000U);
  EXPECT_EQ(text.substr(9'990), "       999");
}

}  // namespace
}  // namespace weft
