#include "serve/submit/shell_scan.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace weft::serve {
namespace {

// "a b; c" as lines of words joined with spaces.
std::string commands(std::string_view text) {
  std::string out;
  for (const ShellCommand& command : scan_shell(text, 1).commands) {
    std::vector<std::string> words;
    for (const ShellWord& word : command.words) words.push_back(word.text);
    out += join(words, " ") + "\n";
  }
  return out;
}

TEST(ShellScan, FindsSimpleCommands) {
  EXPECT_EQ(commands("a b; c && d | e &\nf"), "a b\nc\nd\ne\nf\n");
  EXPECT_EQ(commands("a \\\n  b # comment\n# c"), "a b\n");
  EXPECT_EQ(commands("if srun a; then echo b; else c; fi"), "srun a\necho b\nc\nfi\n");
  EXPECT_EQ(commands("for i in 1 2; do srun a; done"), "for i in 1 2\nsrun a\ndone\n");
  EXPECT_EQ(commands("(cd x && srun a)\n{ b; }"), "cd x\nsrun a\nb\n");
  EXPECT_EQ(commands("f() {\n  srun a\n}"), "f\nsrun a\n");
}

TEST(ShellScan, RemovesQuotesAndRedirections) {
  EXPECT_EQ(commands("a 'b  c' \"d;e\" f\\ g"), "a b  c d;e f g\n");
  EXPECT_EQ(commands("a >out 2>&1 <in b &>all"), "a b\n");
  EXPECT_EQ(commands("a 2> /dev/null b"), "a b\n");
  EXPECT_EQ(commands("bash -c 'srun a\nsrun b'"), "bash -c srun a\nsrun b\n");
  EXPECT_EQ(commands("a <<< \"text\" b"), "a b\n");
}

TEST(ShellScan, LooksIntoSubstitutions) {
  EXPECT_EQ(commands("x=$(srun -N1 hostname)"), "srun -N1 hostname\nx=$()\n");
  EXPECT_EQ(commands("echo \"at $(date +%s) and `pwd`\" z"), "date +%s\npwd\necho at $() and ` z\n");
  EXPECT_EQ(commands("a $((1 << 2)) ${b:-c;d}"), "a $(()) ${b:-c;d}\n");
  EXPECT_EQ(commands("((i = 1 << 2))\nb"), "b\n");
  EXPECT_EQ(commands("a $(b $(c \"d)\") e) f"), "c d)\nb $() e\na $() f\n");
  EXPECT_EQ(commands("a $'it\\'s' b"), "a $it's b\n");
}

TEST(ShellScan, SkipsHereDocuments) {
  EXPECT_EQ(commands("cat > a.py <<'EOF'\nsrun x\nit's\nEOF\nb"), "cat\nb\n");
  EXPECT_EQ(commands("cat <<-END | c\n\tsrun x\n\tEND\nb"), "cat\nc\nb\n");
  EXPECT_EQ(commands("cat <<A <<B\n1\nA\n2\nB\nd"), "cat\nd\n");
  EXPECT_EQ(commands("cat <<EOF\nnever ends"), "cat\n");
}

TEST(ShellScan, ReportsUnterminatedQuotes) {
  const ShellScan single = scan_shell("a\nb 'c\nd", 1);
  ASSERT_EQ(single.unterminated.size(), 1U);
  EXPECT_EQ(single.unterminated[0].line, 2U);
  EXPECT_EQ(single.unterminated[0].column, 3U);
  EXPECT_EQ(scan_shell("a \"b $(c", 1).unterminated.size(), 1U);
  EXPECT_TRUE(scan_shell("echo it\\'s # don't", 1).unterminated.empty());
}

TEST(ShellScan, SurvivesDeepNesting) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "$(`\"";
  EXPECT_FALSE(scan_shell(text, 1).commands.empty());
}

TEST(ShellScan, SkipsAssignments) {
  const ShellScan scan = scan_shell("A=1 B+=2 srun x=1\nA=1\n1A=2 b", 1);
  ASSERT_EQ(scan.commands.size(), 3U);
  EXPECT_EQ(skip_assignments(scan.commands[0]), 2U);
  EXPECT_EQ(skip_assignments(scan.commands[1]), 1U);
  EXPECT_EQ(skip_assignments(scan.commands[2]), 0U);
}

}  // namespace
}  // namespace weft::serve
