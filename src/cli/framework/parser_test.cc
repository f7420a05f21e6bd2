#include "cli/framework/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/process.h"
#include "base/random.h"
#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParserTest, FindsCommandAmongOptions) {
  const ParsedLine line = parse_line({"-o", "json", "--color=never", "show", "racks", "c.yaml"});
  ASSERT_NE(line.command, nullptr);
  EXPECT_EQ(line.problem, "");
  EXPECT_EQ(line.command->name, "show");
  EXPECT_EQ(line.arguments.value("output"), "json");
  EXPECT_EQ(line.arguments.value("color"), "never");
  EXPECT_THAT(line.arguments.words(), ElementsAre("racks", "c.yaml"));
}

TEST(ParserTest, AcceptsEverySyntaxOfAValue) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"show", "c", "--output", "csv"},
                                             {"show", "c", "--output=csv"},
                                             {"show", "c", "-o", "csv"},
                                             {"show", "c", "-ocsv"},
                                             {"show", "c", "-o=csv"},
                                             {"show", "-qvo", "csv", "c"},
                                             {"show", "-o", "json", "c", "-o", "csv"}}) {
    const ParsedLine line = parse_line(words);
    EXPECT_EQ(line.problem, "");
    EXPECT_EQ(line.arguments.value("output"), "csv");
    EXPECT_THAT(line.arguments.words(), ElementsAre("c"));
  }
}

TEST(ParserTest, KeepsRepeatedValuesInOrder) {
  const ParsedLine line = parse_line({"show", "--catalog", "a.yaml", "c.yaml", "--catalog=b.yaml"});
  EXPECT_THAT(line.arguments.values("catalog"), ElementsAre("a.yaml", "b.yaml"));
}

TEST(ParserTest, TwoDashesEndTheOptions) {
  const ParsedLine line = parse_line({"show", "--", "--quiet"});
  EXPECT_EQ(line.problem, "");
  EXPECT_FALSE(line.arguments.has("quiet"));
  EXPECT_THAT(line.arguments.words(), ElementsAre("--quiet"));
}

TEST(ParserTest, SingleDashIsAnArgument) { EXPECT_THAT(parse_line({"show", "-"}).arguments.words(), ElementsAre("-")); }

TEST(ParserTest, ValueMayLookLikeANumberButNotLikeAnOption) {
  EXPECT_EQ(parse_line({"design", "--gpus", "-5"}).arguments.value("gpus"), "-5");
  EXPECT_EQ(parse_line({"design", "--gpus", "--servers", "3"}).problem, "--gpus needs a value, N");
  EXPECT_EQ(parse_line({"design", "--gpus"}).problem, "--gpus needs a value, N");
  EXPECT_EQ(parse_line({"design", "-f", "-q"}).problem, "-f needs a value, FILE");
}

TEST(ParserTest, SwitchesTakeNoValue) {
  EXPECT_EQ(parse_line({"version", "--quiet=yes"}).problem, "--quiet takes no value");
}

TEST(ParserTest, SuggestsCommandsAndOptions) {
  EXPECT_THAT(parse_line({"desing"}).hints, ElementsAre("did you mean `design`?", "`weft help` lists the commands"));
  EXPECT_THAT(parse_line({"show", "c", "--ouptut", "json"}).hints, ElementsAre("did you mean `--output`?"));
  EXPECT_THAT(parse_line({"design", "-gpus", "8"}).hints, ElementsAre("did you mean `--gpus`?"));
  EXPECT_THAT(parse_line({"design", "-o", "c.yaml"}).hints, ElementsAre("to write the result to a file: -f FILE"));
  EXPECT_THAT(parse_line({"show", "c", "-o", "c.csv"}).hints, ElementsAre("to write the result to a file: -f FILE"));
  EXPECT_THAT(parse_line({"./c.yaml"}).hints, ElementsAre(HasSubstr("weft show ./c.yaml"), testing::_));
  EXPECT_THAT(parse_line({"xyzzy"}).hints, ElementsAre("`weft help` lists the commands"));
}

TEST(ParserTest, GroupsNeedOneOfTheirCommands) {
  EXPECT_EQ(parse_line({"catalog", "show", "h100-sxm"}).command->name, "catalog show");
  EXPECT_EQ(parse_line({"catalog", "-o", "json"}).command->name, "catalog list");
  EXPECT_EQ(parse_line({"catalog", "lst"}).problem, "`catalog` has no subcommand `lst`");
}

TEST(ParserTest, CountsArguments) {
  EXPECT_EQ(parse_line({"checklist"}).problem, "missing CLUSTER");
  EXPECT_EQ(parse_line({"checklist", "a", "b"}).problem, "unexpected argument `b`");
  EXPECT_EQ(parse_line({"catalog", "check", "a", "b", "c"}).problem, "");
}

TEST(ParserTest, HelpTakesPrecedenceOverMistakes) {
  EXPECT_TRUE(parse_line({"show", "--bogus", "--help"}).wants_help);
  EXPECT_TRUE(parse_line({"show", "-qh"}).wants_help);
  EXPECT_FALSE(parse_line({"show", "--", "--help"}).wants_help);
}

TEST(ParserTest, HostileWordsArePrintedSafely) {
  const ParsedLine line = parse_line({"\x1b[31mred\nline"});
  EXPECT_EQ(line.problem.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.problem.find('\n'), std::string::npos);
}

TEST(ParserTest, RandomLinesAreHandled) {
  const std::vector<std::string> vocabulary = {
      "show", "catalog", "list", "design", "-",  "--",       "---",    "-o",  "json", "-ojson", "--gpus",    "8",
      "-8",   "",        "--=",  "-=",     "-q", "--quiet=", "--help", "-hV", "help", "a\xff",  "--output=", "-of"};
  RandomStream random(1, "parser");
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> words(random.below(6));
    for (std::string& word : words) word = vocabulary[random.below(vocabulary.size())];
    const ParsedLine line = parse_line(words);
    EXPECT_TRUE(line.command != nullptr || !line.problem.empty() || line.arguments.words().empty());
  }
}

// The parser finds the command before it knows its options; completion scripts have one list.
TEST(CommandTableTest, OptionsHaveTheSameMeaningInEveryCommand) {
  std::map<std::string, Option> seen;
  std::map<char, std::string> letters;
  const auto check = [&](const Option& option) {
    const auto [found, inserted] = seen.emplace(option.name, option);
    // A tree is rendered into a folder; a job is a file, or the number of one that was submitted; packets go to a
    // place, nodes to an engine; a server is a model of the catalog, or the one whose API is asked; a design gives
    // tenants GPUs, a token is for one; groups are of nodes, or of a user; operations have a name, and each run of one
    // an id.
    static const std::set<std::string, std::less<>> kSeveralMeanings = {"output", "job",    "to",       "server",
                                                                        "tenant", "groups", "operation"};
    if (!kSeveralMeanings.contains(option.name)) {
      EXPECT_EQ(found->second.value, option.value) << option.name;
    }
    EXPECT_EQ(found->second.letter, option.letter) << option.name;
    // Findings have their own formats: SARIF and JUnit instead of tables.
    if (option.name != "output") {
      EXPECT_EQ(names_of(found->second.choices), names_of(option.choices)) << option.name;
    }
    if (option.letter != 0) {
      EXPECT_EQ(letters.emplace(option.letter, option.name).first->second, option.name);
    }
  };
  for (const Command& command : all_commands()) {
    for (const Option& option : command.options) check(option);
  }
  for (const Option& option : global_options()) check(option);
}

// A command is looked up in the tables of its first word alone.
TEST(CommandTableTest, EveryCommandIsFoundByItsWords) {
  std::map<std::string, std::size_t> sizes;
  for (const Command& command : all_commands()) {
    const Command* found = find_command(command.name);
    ASSERT_NE(found, nullptr) << command.name;
    EXPECT_EQ(found->name, command.name);
    EXPECT_EQ(found->run, command.run) << command.name;
    if (!command.group().empty()) ++sizes[std::string(command.group())];
  }
  for (const auto& [group, size] : sizes) EXPECT_EQ(commands_of_group(group).size(), size) << group;
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command("no such"), nullptr);
  EXPECT_TRUE(commands_of_group("").empty());
  EXPECT_TRUE(commands_of_group("show").empty());
  EXPECT_FALSE(find_command("help")->arguments.front().choices.empty());
}

TEST(CommandTableTest, CommandsAreComplete) {
  std::set<std::string> names;
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_NE(command.run, nullptr) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_FALSE(command.summary.ends_with('.')) << command.name;
    EXPECT_LE(command.summary.size(), 60U) << command.name;
    for (std::size_t i = 0; i + 1 < command.arguments.size(); ++i) EXPECT_FALSE(command.arguments[i].repeatable);
  }
  EXPECT_GE(names.size(), 20U);
}

// Examples in help must work.
TEST(CommandTableTest, ExamplesParse) {
  for (const Command& command : all_commands()) {
    for (const Example& example : command.examples) {
      const Result<std::vector<std::string>> split =
          split_words(example.line.substr(0, example.line.find_first_of("|>")));
      ASSERT_TRUE(split.ok()) << example.line;
      std::vector<std::string> words = *split;
      ASSERT_EQ(words.front(), "weft");
      words.erase(words.begin());
      const ParsedLine line = parse_line(words);
      EXPECT_EQ(line.problem, "") << example.line;
      ASSERT_NE(line.command, nullptr) << example.line;
      EXPECT_EQ(line.command->name, command.name) << example.line;
    }
  }
}

TEST(CommandTableTest, ListsReadAsEnglish) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a or b");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b or c");
}

TEST(CompletionTest, ScriptsNameEveryCommandAndOption) {
  const CompletionValues values{{"h100-sxm"}, {"dgx-h100"}, {"sn5600"}, {"h100-sxm", "dgx-h100", "sn5600"}, {}};
  for (const std::string& script : {bash_completion(values), zsh_completion(values), fish_completion(values)}) {
    for (const Command& command : all_commands()) {
      EXPECT_THAT(script, HasSubstr(std::string(command.last_word())));
      for (const Option& option : command.options) EXPECT_THAT(script, HasSubstr(option.name));
    }
    EXPECT_THAT(script, HasSubstr("h100-sxm"));
    EXPECT_THAT(script, HasSubstr("sn5600"));
    EXPECT_THAT(script, testing::AllOf(Not(HasSubstr("@OPTIONS@")), Not(HasSubstr("@GROUPS@"))));
  }
}

}  // namespace
}  // namespace weft::cli
