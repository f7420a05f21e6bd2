#include "base/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

std::string rendered(std::string text, SourceLocation place, std::size_t length, std::string hint = {}) {
  Sources sources;
  place.file = sources.add("cluster.yaml", std::move(text));
  return format_diagnostic({Severity::error, "wrong", place, static_cast<std::uint16_t>(length), std::move(hint)},
                           sources, false);
}

TEST(Render, QuotesTheLineWithACaret) {
  EXPECT_EQ(rendered("a: 1\n    contt: 32\n", {1, 5, 2}, 5, "did you mean `count`?"),
            "cluster.yaml:2:5: error: wrong\n"
            "    2 |     contt: 32\n"
            "      |     ^~~~~\n"
            "      = help: did you mean `count`?\n");
}

TEST(Render, ShowsUnknownLocationsWithoutQuote) {
  const Sources sources;
  EXPECT_EQ(format_diagnostic({Severity::error, "no such rack", {}, 1, ""}, sources, false), "error: no such rack\n");
  EXPECT_EQ(format_diagnostic({Severity::note, "so", {}, 1, ""}, sources, false), "note: so\n");
}

TEST(Render, ShowsAFileWithoutLine) {
  Sources sources;
  const FileId file = sources.add("big.yaml", "x");
  EXPECT_EQ(format_diagnostic({Severity::warning, "too big", {file, 0, 0}, 1, "cut it"}, sources, false),
            "big.yaml: warning: too big\n"
            "      = help: cut it\n");
}

TEST(Render, ShowsTabsAsOneSpace) {
  EXPECT_EQ(rendered("\tkey:\tx", {1, 7, 1}, 1),
            "cluster.yaml:1:7: error: wrong\n"
            "    1 |  key: x\n"
            "      |       ^\n");
}

TEST(Render, ShowsControlsAndBadBytesAsQuestionMarks) {
  EXPECT_EQ(rendered("a\x1b[31m\xFF: b", {1, 9, 1}, 1),
            "cluster.yaml:1:9: error: wrong\n"
            "    1 | a?[31m?: b\n"
            "      |         ^\n");
}

TEST(Render, CountsColumnsOfWideAndCombiningCharacters) {
  // Two wide characters, then e with a combining accent: more than seven bytes, five columns before the key.
  EXPECT_EQ(rendered("\xE6\x97\xA5\xE6\x9C\xAC"
                     "e\xCC\x81: x",
                     {1, 10, 1}, 1),
            "cluster.yaml:1:10: error: wrong\n"
            "    1 | \xE6\x97\xA5\xE6\x9C\xAC"
            "e\xCC\x81: x\n"
            "      |      ^\n");
}

TEST(Render, KeepsTheUnderlineInsideTheLine) {
  EXPECT_EQ(rendered("abc\ndef", {1, 2, 1}, 500),
            "cluster.yaml:1:2: error: wrong\n"
            "    1 | abc\n"
            "      |  ^~\n");
  EXPECT_EQ(rendered("abc\ndef", {1, 4, 1}, 2),
            "cluster.yaml:1:4: error: wrong\n"
            "    1 | abc\n"
            "      |    ^\n");
}

TEST(Render, PutsACaretPastTheEndAtTheEnd) {
  EXPECT_EQ(rendered("abc", {1, 900, 1}, 1),
            "cluster.yaml:1:900: error: wrong\n"
            "    1 | abc\n"
            "      |    ^\n");
}

TEST(Render, WidensTheGutterForLongFiles) {
  const std::string text = rendered(std::string(12344, '\n') + "key: 1", {1, 1, 12345}, 3, "h");
  EXPECT_EQ(text,
            "cluster.yaml:12345:1: error: wrong\n"
            " 12345 | key: 1\n"
            "       | ^~~\n"
            "       = help: h\n");
}

TEST(Render, DoesNotQuoteAnEmptyLine) { EXPECT_EQ(rendered("", {1, 1, 1}, 1), "cluster.yaml:1:1: error: wrong\n"); }

// The quoted line, without gutter, and the column of the caret in it.
std::pair<std::string, std::size_t> quoted(const std::string& line, std::size_t column) {
  const std::string text = rendered(line, {1, static_cast<std::uint16_t>(column), 1}, 1);
  const std::size_t start = text.find("    1 | ") + 8;
  const std::size_t end = text.find('\n', start);
  const std::size_t caret = text.find('^');
  return {text.substr(start, end - start), caret - text.find("      | ") - 8};
}

TEST(Render, ClipsLongLinesAroundTheCaret) {
  std::string line(1000, 'a');
  for (const std::size_t column : {1U, 2U, 79U, 80U, 500U, 920U, 999U, 1000U}) {
    line[column - 1] = 'X';
    const auto [shown, caret] = quoted(line, column);
    EXPECT_LE(shown.size(), 160U) << column;
    EXPECT_GE(shown.size(), 157U) << column;
    EXPECT_EQ(shown[caret], 'X') << column;
    EXPECT_EQ(shown.substr(0, 3) == "...", column > 78) << column;
    line[column - 1] = 'a';
  }
}

TEST(Render, DoesNotClipALineOf160Columns) {
  EXPECT_EQ(quoted(std::string(160, 'a'), 80).first, std::string(160, 'a'));
  EXPECT_NE(quoted(std::string(161, 'a'), 80).first, std::string(161, 'a'));
}

TEST(Render, HandlesMegabyteLinesQuickly) {
  Sources sources;
  const FileId file = sources.add("one-line.json", std::string(32U << 20U, '['));
  Diagnostics diagnostics;
  for (std::uint16_t i = 0; i < 200; ++i) diagnostics.error({file, i, 1}, "wrong");
  EXPECT_LT(render_all(diagnostics, sources, false).size(), 200U * 500U);
}

TEST(Render, KeepsMessagesOnOneLine) {
  const Sources sources;
  EXPECT_EQ(format_diagnostic({Severity::error, "bad \x1b[2J\n name", {}, 1, "a\nb"}, sources, false),
            "error: bad ?[2J? name\n      = help: a?b\n");
}

TEST(Render, ColorsOnlyOnRequest) {
  Sources sources;
  const FileId file = sources.add("a.yaml", "abc");
  const auto text = [&](Severity severity, bool color) {
    return format_diagnostic({severity, "m", {file, 1, 1}, 2, "h"}, sources, color);
  };
  EXPECT_EQ(text(Severity::error, false).find('\x1b'), std::string::npos);
  EXPECT_EQ(text(Severity::error, true),
            "\x1b[1ma.yaml:1:1:\x1b[0m \x1b[1;31merror:\x1b[0m m\n"
            "    1 | abc\n"
            "      | \x1b[1;31m^~\x1b[0m\n"
            "      = help: h\n");
  EXPECT_NE(text(Severity::warning, true).find("\x1b[1;33mwarning:"), std::string::npos);
  EXPECT_NE(text(Severity::note, true).find("\x1b[1;36mnote:"), std::string::npos);
}

TEST(Diagnostics, RendersInReadingOrderWithASummary) {
  Sources sources;
  const FileId file = sources.add("a.yaml", "x\ny\nz\n");
  Diagnostics diagnostics;
  diagnostics.error({file, 1, 3}, "third");
  diagnostics.warning({file, 1, 1}, "first");
  diagnostics.error({file, 1, 2}, "second");
  diagnostics.error({file, 1, 2}, "second again");
  EXPECT_EQ(render_all(diagnostics, sources, false),
            "a.yaml:1:1: warning: first\n    1 | x\n      | ^\n"
            "a.yaml:2:1: error: second\n    2 | y\n      | ^\n"
            "a.yaml:2:1: error: second again\n    2 | y\n      | ^\n"
            "a.yaml:3:1: error: third\n    3 | z\n      | ^\n"
            "3 errors, 1 warning\n");
}

TEST(Diagnostics, RendersNothingWithoutDiagnostics) { EXPECT_EQ(render_all({}, {}, false), ""); }

TEST(Diagnostics, UsesSingularForOneError) {
  Diagnostics diagnostics;
  diagnostics.warning({}, "w");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(render_all(diagnostics, {}, false), "warning: w\n1 warning\n");
}

TEST(Diagnostics, KeepsABoundedNumberAndReportsTheRest) {
  Diagnostics diagnostics;
  for (int i = 0; i < 237; ++i) diagnostics.error({}, "e");
  EXPECT_EQ(diagnostics.error_count(), 237U);
  EXPECT_EQ(diagnostics.sorted().size(), Diagnostics::kMaxKept);
  const std::string text = render_all(diagnostics, {}, false);
  EXPECT_NE(text.find("... and 37 more errors not shown\n237 errors\n"), std::string::npos);
}

TEST(Diagnostics, WarningsDoNotHideErrors) {
  Diagnostics diagnostics;
  for (int i = 0; i < 1000; ++i) diagnostics.warning({}, "w");
  for (int i = 0; i < 1000; ++i) diagnostics.add({Severity::note, "n", {}, 1, ""});
  diagnostics.error({}, "the one that matters");
  EXPECT_NE(render_all(diagnostics, {}, false).find("the one that matters"), std::string::npos);
}

TEST(Nearest, HandlesInsertionDeletionSubstitutionAndTransposition) {
  const std::vector<std::string_view> keys = {"count", "model", "racks", "speed"};
  EXPECT_EQ(nearest("conut", keys), "count");
  EXPECT_EQ(nearest("coun", keys), "count");
  EXPECT_EQ(nearest("countt", keys), "count");
  EXPECT_EQ(nearest("cownt", keys), "count");
  EXPECT_EQ(nearest("count", keys), "count");
}

TEST(Nearest, ToleratesAThirdOfTheLengthAndAtLeastOne) {
  const std::vector<std::string_view> keys = {"abcdef"};
  EXPECT_EQ(nearest("abcdxy", keys), "abcdef");  // 2 of 6
  EXPECT_EQ(nearest("abcxyz", keys), "");        // 3 of 6
  EXPECT_EQ(nearest("a", {"ab"}), "ab");
  EXPECT_EQ(nearest("ab", {"xy"}), "");
  EXPECT_EQ(nearest("contt", {"count"}), "count");  // 2 of 5
  EXPECT_EQ(nearest("abcd", {"abxy"}), "");         // 2 of 4
}

TEST(Nearest, PrefersTheNearestThenTheFirst) {
  EXPECT_EQ(nearest("leaves", {"leavxx", "leafes", "leaved"}), "leafes");
  EXPECT_EQ(nearest("leaves", {"leavxx", "leavesx"}), "leavesx");
}

TEST(Nearest, ReturnsNothingForEmptyInput) {
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(nearest("a", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), {"a"}), "");
}

TEST(Nearest, IgnoresLetterCase) {
  EXPECT_EQ(nearest("re01", {"BE001", "RE001"}), "RE001");
  EXPECT_EQ(nearest("Count", {"count"}), "count");
}

TEST(NearWords, OffersLongerWordsOnlyWhenNoneIsNear) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(near_words("h100", {"h100-sxm", "a100-sxm", "H100-pcie"}), ElementsAre("h100-sxm", "H100-pcie"));
  EXPECT_THAT(near_words("h100-sx", {"h100-sxm", "h100-sxm-94"}), ElementsAre("h100-sxm"));
  EXPECT_THAT(near_words("h", {"h100-sxm"}), IsEmpty());
  EXPECT_THAT(near_words("tr", {"train1", "train2", "train3", "train4", "train5", "train6"}), IsEmpty());
}

TEST(DidYouMean, FormatsASuggestion) {
  EXPECT_EQ(did_you_mean("h100", {"h100-sxm", "b", "h100-pcie", "h100-nvl"}),
            "did you mean `h100-sxm`, `h100-pcie` or `h100-nvl`?");
  EXPECT_EQ(did_you_mean("contt", {"count"}), "did you mean `count`?");
  EXPECT_EQ(did_you_mean("zebra", {"count"}), "");
}

}  // namespace
}  // namespace weft
