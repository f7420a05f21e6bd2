#include <gtest/gtest.h>

#include <vector>

#include "base/process.h"
#include "base/quoting.h"
#include "base/random.h"

namespace weft {
namespace {

// The arguments that a shell parses from the quoted texts.
std::vector<std::string> read_back(const std::vector<std::string>& texts, std::string (*quote)(std::string_view)) {
  std::string script = "printf '%s\\0'";
  for (const std::string& text : texts) script += " " + quote(text);
  const Result<ProcessOutcome> outcome = run_process({.words = {"sh"}, .input = script + "\n"});
  EXPECT_TRUE(outcome.ok());
  if (!outcome.ok()) return {};
  EXPECT_EQ(outcome->code, 0) << outcome->err;
  std::vector<std::string> words(1);
  for (const char c : outcome->out) {
    if (c == '\0') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  words.pop_back();
  return words;
}

std::vector<std::string> random_texts(std::string_view bytes) {
  RandomStream random(20, "shell quote");
  std::vector<std::string> texts = {""};
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (std::uint64_t left = random.below(12); left > 0; --left) text += bytes[random.below(bytes.size())];
    texts.push_back(text);
  }
  return texts;
}

TEST(ShellQuote, SafeWordsAreNotQuoted) {
  EXPECT_EQ(shell_quote("--traddr=10.0.0.1"), "--traddr=10.0.0.1");
  EXPECT_EQ(shell_quote("a-z_A.Z/0:9,+@%=x"), "a-z_A.Z/0:9,+@%=x");
}

TEST(ShellQuote, EverythingElseIsInSingleQuotes) {
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("n[1-4]"), "'n[1-4]'");
  EXPECT_EQ(shell_quote("~"), "'~'");
  EXPECT_EQ(shell_quote("=ls"), "'=ls'");
  EXPECT_EQ(shell_quote("a\nb\tc\x7f"), "'a\nb\tc\x7f'");
  EXPECT_EQ(shell_quote("gr\xC3\xBC\xC3\x9F"), "'gr\xC3\xBC\xC3\x9F'");
}

TEST(ShellQuote, NulIsDropped) { EXPECT_EQ(shell_quote(std::string_view("a\0b", 3)), "'ab'"); }

TEST(ShellQuote, AlwaysQuotesOnRequest) {
  EXPECT_EQ(shell_quote_always("8972"), "'8972'");
  EXPECT_EQ(shell_quote_always(""), "''");
  EXPECT_EQ(shell_quote_always("'"), "''\\'''");
}

TEST(ShellQuote, ShellReadsBackTheSameBytes) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  std::vector<std::string> texts = random_texts(all);
  texts.push_back(all);
  for (const char c : all) texts.emplace_back(1, c);
  EXPECT_EQ(read_back(texts, shell_quote), texts);
  EXPECT_EQ(read_back(texts, shell_quote_always), texts);
}

TEST(ShellQuote, ShellExpandsNothing) {
  const std::vector<std::string> texts = random_texts("a1-_./:,+@%='\"\\$`~*?[]{}()<>|&;!#^ \t\n\r");
  EXPECT_EQ(read_back(texts, shell_quote), texts);
}

}  // namespace
}  // namespace weft
