#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

struct Case {
  const char* bytes;
  std::uint32_t value;
  std::size_t size;
};

TEST(Utf8, DecodesTheFirstAndLastOfEachLength) {
  const Case cases[] = {{"\x01", 0x1, 1},
                        {"\x7F", 0x7F, 1},
                        {"\xC2\x80", 0x80, 2},
                        {"\xDF\xBF", 0x7FF, 2},
                        {"\xE0\xA0\x80", 0x800, 3},
                        {"\xEF\xBF\xBF", 0xFFFF, 3},
                        {"\xED\x9F\xBF", 0xD7FF, 3},
                        {"\xF0\x90\x80\x80", 0x10000, 4},
                        {"\xF4\x8F\xBF\xBF", 0x10FFFF, 4}};
  for (const Case& c : cases) {
    const CodePoint point = decode_utf8(c.bytes, 0);
    EXPECT_TRUE(point.valid);
    EXPECT_EQ(point.value, c.value);
    EXPECT_EQ(point.size, c.size);
  }
}

// Table 3-7 of the Unicode standard: everything outside it is ill-formed.
TEST(Utf8, RejectsIllFormedSequences) {
  const char* cases[] = {"\x80",
                         "\xBF",
                         "\xC0\x80",
                         "\xC1\xBF",
                         "\xC2",
                         "\xC2\x41",
                         "\xE0\x9F\xBF",
                         "\xED\xA0\x80",
                         "\xED\xBF\xBF",
                         "\xE2\x82",
                         "\xF0\x8F\xBF\xBF",
                         "\xF4\x90\x80\x80",
                         "\xF5\x80\x80\x80",
                         "\xFF",
                         "\xF0\x9F\x98"};
  for (const char* bytes : cases) {
    const CodePoint point = decode_utf8(bytes, 0);
    EXPECT_FALSE(point.valid) << testing::PrintToString(bytes);
    EXPECT_EQ(point.size, 1U);
    EXPECT_EQ(point.value, 0xFFFDU);
  }
}

TEST(Utf8, PrintableTextIsOneLineWithoutControls) {
  EXPECT_EQ(printable("a\tb\nc\x1b[31m\x7F"), "a b?c?[31m?");
  EXPECT_EQ(printable("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(printable("\xC2\x9B"), "?");  // CSI, one byte in ISO 8859-1
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a?b");  // right-to-left override
  EXPECT_EQ(printable("\xFF\xFE"), "??");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace weft
