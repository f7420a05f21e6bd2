#include "cli/twin/shell_words.h"

#include <gtest/gtest.h>

#include "base/quoting.h"

namespace weft::cli {
namespace {

using Words = std::vector<std::string>;

// POSIX.1-2017, Shell Command Language, 2.2 Quoting.
TEST(ShellWords, QuotesKeepSpaces) {
  EXPECT_EQ(*split_shell_words(""), Words());
  EXPECT_EQ(*split_shell_words(" \t\n"), Words());
  EXPECT_EQ(*split_shell_words("--spares 4  --interval=10m "), Words({"--spares", "4", "--interval=10m"}));
  EXPECT_EQ(*split_shell_words("--faults 'my file.yaml'"), Words({"--faults", "my file.yaml"}));
  EXPECT_EQ(*split_shell_words("a\"b c\"d'e f'"), Words({"ab cde f"}));
  EXPECT_EQ(*split_shell_words("a\\ b \\'"), Words({"a b", "'"}));
  EXPECT_EQ(*split_shell_words("'' \"\""), Words({"", ""}));
  EXPECT_EQ(*split_shell_words("'\\n' \"\\n\" \"\\\"\" \"\\\\\""), Words({"\\n", "\\n", "\"", "\\"}));
}

TEST(ShellWords, WhatIsNotClosedIsAnError) {
  EXPECT_FALSE(split_shell_words("a 'b").ok());
  EXPECT_FALSE(split_shell_words("a \"b'").ok());
  EXPECT_FALSE(split_shell_words("a\\").ok());
}

TEST(ShellWords, ReadsWhatShellQuoteWrites) {
  const Words words = {"", "a b", "it's", "\"", "\\", "$x `y`", "a\nb", "plain"};
  std::string line;
  for (const std::string& word : words) line += shell_quote(word) + " ";
  EXPECT_EQ(*split_shell_words(line), words);
}

}  // namespace
}  // namespace weft::cli
