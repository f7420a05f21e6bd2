#include "netsim/readers/line_reader.h"

#include <gtest/gtest.h>

namespace weft::netsim {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  LineReader reader(std::string text, char comment = '#') {
    return {sources_, sources_.add("input", std::move(text)), diagnostics_, comment};
  }
  Sources sources_;
  Diagnostics diagnostics_;
};

TEST_F(LineReaderTest, WordsWithTheirLocations) {
  LineReader lines = reader("\n  one\ttwo # not this\r\n# nor this\n\nthree");
  ASSERT_TRUE(lines.next_line());
  Word word = lines.word();
  EXPECT_EQ(word.text, "one");
  EXPECT_EQ(word.line, 2U);
  EXPECT_EQ(word.column, 3U);
  word = lines.word();
  EXPECT_EQ(word.text, "two");
  EXPECT_EQ(word.column, 7U);
  EXPECT_TRUE(lines.word().text.empty());
  EXPECT_EQ(lines.word().column, 10U);
  ASSERT_TRUE(lines.next_line());
  word = lines.word();
  EXPECT_EQ(word.text, "three");
  EXPECT_EQ(word.line, 5U);
  EXPECT_FALSE(lines.next_line());
  EXPECT_FALSE(lines.failed());
}

TEST_F(LineReaderTest, CarriageReturnsAreIgnored) {
  LineReader lines = reader("1\r\n\r\n2\r\n", '\0');
  ASSERT_TRUE(lines.next_line());
  EXPECT_EQ(lines.word().text, "1");
  EXPECT_TRUE(lines.ends_here());
  ASSERT_TRUE(lines.next_line());
  EXPECT_EQ(lines.word().text, "2");
  EXPECT_FALSE(lines.next_line());
}

TEST_F(LineReaderTest, IntegersAndTheirErrors) {
  LineReader lines = reader("12 x 9223372036854775807 9223372036854775808 -3 1.5 0x10 +1 7");
  ASSERT_TRUE(lines.next_line());
  EXPECT_EQ(lines.integer("n", 0, 100), 12);
  EXPECT_FALSE(lines.integer("n", 0, 100));
  EXPECT_EQ(lines.integer("n", 0, INT64_MAX), INT64_MAX);
  EXPECT_FALSE(lines.integer("n", 0, INT64_MAX));
  EXPECT_FALSE(lines.integer("n", 0, 100));
  EXPECT_FALSE(lines.integer("n", 0, 100));
  EXPECT_FALSE(lines.integer("n", 0, 100));
  EXPECT_FALSE(lines.integer("n", 0, 100));
  EXPECT_EQ(lines.integer("n", 0, 7), 7);
  EXPECT_FALSE(lines.integer("n", 0, 7));
  const auto errors = diagnostics_.sorted();
  ASSERT_EQ(errors.size(), 7U);
  EXPECT_EQ(errors[0].message, "expected n, a whole number, not `x`");
  EXPECT_EQ(errors[0].place.column, 4);
  EXPECT_EQ(errors[1].message, "n is `9223372036854775808`; expected 0 to 9223372036854775807");
  EXPECT_EQ(errors[6].message, "expected n, a whole number, but the line ends here");
}

TEST_F(LineReaderTest, StopsAfterTwentyErrors) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "x\n";
  LineReader lines = reader(text);
  int read = 0;
  while (lines.next_line()) {
    ++read;
    EXPECT_FALSE(lines.integer("n", 0, 1));
  }
  EXPECT_EQ(read, 20);
  EXPECT_EQ(diagnostics_.error_count(), 21U);
  EXPECT_NE(diagnostics_.sorted().back().message.find("too many errors"), std::string::npos);
}

TEST_F(LineReaderTest, ALineThatIsTooLongEndsIt) {
  LineReader lines = reader("1\n" + std::string(LineReader::kMaxLineBytes + 1, ' ') + "2\n3\n");
  EXPECT_TRUE(lines.next_line());
  EXPECT_FALSE(lines.next_line());
  EXPECT_FALSE(lines.next_line());
  ASSERT_EQ(diagnostics_.error_count(), 1U);
  EXPECT_EQ(diagnostics_.sorted()[0].place.line, 2U);
  LineReader fits = reader(std::string(LineReader::kMaxLineBytes - 1, ' ') + "2\n");
  EXPECT_TRUE(fits.next_line());
}

TEST_F(LineReaderTest, EmptyFile) {
  LineReader lines = reader("");
  EXPECT_FALSE(lines.next_line());
  EXPECT_EQ(lines.line_end().line, 1U);
  LineReader blank = reader("\n \t\n#\n");
  EXPECT_FALSE(blank.next_line());
}

TEST(ScaledDecimal, IsExactIfRepresentable) {
  EXPECT_EQ(scaled_decimal("2", 12), 2'000'000'000'000);
  EXPECT_EQ(scaled_decimal("2.000001", 12), 2'000'001'000'000);
  EXPECT_EQ(scaled_decimal("0.1", 12), 100'000'000'000);
  EXPECT_EQ(scaled_decimal(".5", 0), 1);  // rounds to nearest, halves up
  EXPECT_EQ(scaled_decimal("0.4999", 0), 0);
  EXPECT_EQ(scaled_decimal("5.", 1), 50);
  EXPECT_EQ(scaled_decimal("1e-6", 12), 1'000'000);
  EXPECT_EQ(scaled_decimal("1.5E+3", 0), 1500);
  EXPECT_EQ(scaled_decimal("0.000000000000000000000001", 12), 0);
  EXPECT_EQ(scaled_decimal("123456789.123456789123456789", 9), 123'456'789'123'456'789);
  EXPECT_EQ(scaled_decimal("1e-999999999", 12), 0);
}

TEST(ScaledDecimal, SaturatesIfTooLarge) {
  EXPECT_EQ(scaled_decimal("9223372036854775807", 0), INT64_MAX);
  EXPECT_EQ(scaled_decimal("9223372036854775808", 0), INT64_MAX);
  EXPECT_EQ(scaled_decimal("99999999999999999999999999999999999999999999", 0), INT64_MAX);
  EXPECT_EQ(scaled_decimal("1e999999999", 0), INT64_MAX);
  EXPECT_EQ(scaled_decimal("0e999999999", 0), 0);
}

TEST(ScaledDecimal, RejectsNonNumbers) {
  for (const char* text : {"", ".", "-1", "+1", "1e", "1e+", "1x", "e5", "nan", "inf", "0x1", "1.2.3", "1,5", "1e5.5",
                           "1e99999999999999", "--1", " 1", "1e+-5"}) {
    EXPECT_FALSE(scaled_decimal(text, 3)) << text;
  }
}

}  // namespace
}  // namespace weft::netsim
