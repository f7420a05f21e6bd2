#include "base/table_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/document.h"
#include "base/random.h"

namespace weft {
namespace {

using Lines = std::vector<std::string>;

TEST(WrapTextTest, BreaksAtSpaces) {
  EXPECT_EQ(wrap_text("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap_text("one two three", 100), (Lines{"one two three"}));
  EXPECT_EQ(wrap_text("", 5), (Lines{""}));
}

TEST(WrapTextTest, BreaksLongListsAfterCommas) {
  EXPECT_EQ(wrap_text("train[001-004],login1,store9", 16), (Lines{"train[001-004],", "login1,store9"}));
}

TEST(WrapTextTest, BreaksAWordThatHasNoOtherPlace) {
  EXPECT_EQ(wrap_text("abcdefghij", 4), (Lines{"abcd", "efgh", "ij"}));
}

TEST(WrapTextTest, KeepsACommandInBackticksTogether) {
  EXPECT_EQ(wrap_text("run `weft show x` now", 14), (Lines{"run", "`weft show x`", "now"}));
}

TEST(WrapTextTest, CountsColumnsNotBytes) {
  EXPECT_EQ(wrap_text("äöü äöü", 3), (Lines{"äöü", "äöü"}));
  EXPECT_EQ(wrap_text("日本語", 4), (Lines{"日本", "語"}));
}

// No line is wider than asked for, and no character but spaces is lost.
TEST(WrapTextTest, LosesNothing) {
  RandomStream random(7, "wrap");
  const std::string alphabet = "abc ,;/|:`ä";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t n = random.below(60); n > 0; --n) text += alphabet[random.below(alphabet.size() - 2)];
    const std::size_t width = 1 + random.below(20);
    std::string joined;
    for (const std::string& line : wrap_text(text, width)) {
      EXPECT_LE(display_width(line), width) << text;
      joined += line;
    }
    std::erase(joined, ' ');
    std::erase(text, ' ');
    EXPECT_EQ(joined, text);
  }
}

TEST(FitColumnsTest, NarrowColumnsKeepTheirWidth) {
  const TableLayout layout = fit_columns({{10, 5, 0}, {200, 12, 0}, {8, 8, 0}}, 80, 2);
  EXPECT_EQ(layout.widths, (std::vector<std::size_t>{10, 58, 8}));
  EXPECT_TRUE(layout.complete);
}

TEST(FitColumnsTest, LeavesOutTheLowestPriorityThenTheRightmost) {
  EXPECT_EQ(fit_columns({{30, 30, 0}, {30, 30, 0}, {30, 30, 0}}, 70, 2).widths, (std::vector<std::size_t>{30, 30, 0}));
  EXPECT_EQ(fit_columns({{30, 30, 0}, {30, 30, 0}, {30, 30, 1}}, 70, 2).widths, (std::vector<std::size_t>{30, 0, 30}));
  EXPECT_EQ(fit_columns({{90, 90, -1}, {30, 30, 0}}, 70, 2).widths.front(), 90U) << "the first column always stays";
}

// A column with a wide least width takes from the share of others, which must not be given away before.
TEST(FitColumnsTest, WideLeastWidthsComeFirst) {
  const TableLayout layout = fit_columns({{10, 1, 0}, {30, 19, 0}}, 22, 2);
  EXPECT_EQ(layout.widths, (std::vector<std::size_t>{1, 19}));
}

TEST(FitColumnsTest, AlwaysFitsWhereTheLeastWidthsDo) {
  RandomStream random(11, "fit");
  for (int round = 0; round < 5000; ++round) {
    std::vector<ColumnWidths> columns(1 + random.below(9));
    for (ColumnWidths& column : columns) {
      column.natural = 1 + random.below(100);
      column.least = 1 + random.below(column.natural);
      column.priority = static_cast<int>(random.below(3));
    }
    const std::size_t width = 40 + random.below(100);
    const TableLayout layout = fit_columns(columns, width, 2);
    ASSERT_EQ(layout.widths.size(), columns.size());
    const auto shown = static_cast<std::size_t>(
        std::count_if(layout.widths.begin(), layout.widths.end(), [](std::size_t each) { return each > 0; }));
    ASSERT_GE(shown, 1U);
    if (shown > 1) EXPECT_LE(std::accumulate(layout.widths.begin(), layout.widths.end(), (shown - 1) * 2), width);
    EXPECT_EQ(layout.complete, shown == columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (layout.widths[i] == 0) continue;
      EXPECT_LE(layout.widths[i], std::max(columns[i].natural, columns[i].least));
      EXPECT_GE(layout.widths[i], columns[i].least);
    }
  }
}

TEST(LeastWidthTest, IsTheLongestPartWithinReason) {
  EXPECT_EQ(least_width("one three"), 5U);
  EXPECT_EQ(least_width("train001:be1 - be-train-u001-leaf1:p1/1"), 20U);  // with its colon
  EXPECT_EQ(least_width("0123456789012345678901234567890123456789"), 24U);
  EXPECT_EQ(least_width(""), 0U);
}

// The tables of documents: the same cells, fitted.
TEST(FittedDocumentTest, TableFitsAndSaysWhatIsMissing) {
  Document document;
  TableSection table;
  table.columns = {{"host", "Host"}, {"cause", "Cause"}, {"bytes", "Bytes", Column::Align::right}, {"more", "More"}};
  table.columns[3].priority = -1;
  table.rows = {
      {"train001", "the certificate is not trusted, and the clock is wrong", 123456789012345678, "abcdefghijklmnop"}};
  document.sections = {table};
  const std::string text = write(document, {OutputFormat::table, false, 44});
  EXPECT_EQ(text,
            "Host      Cause                        Bytes\n"
            "train001  the             123456789012345678\n"
            "          certificate is\n"
            "          not trusted,\n"
            "          and the clock\n"
            "          is wrong\n"
            "\n"
            "Not shown in this width: More; `-o wide`\n"
            "shows all.\n");
  EXPECT_THAT(write(document, {OutputFormat::wide, false, 44}), testing::HasSubstr("abcdefghijklmnop"));
}

}  // namespace
}  // namespace weft
