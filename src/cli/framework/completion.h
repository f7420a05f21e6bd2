// Shell completion scripts, generated from the command tables. All three scripts work the same way: walk the words
// typed so far to find the command, the option that needs a value and the position, then offer candidates from the
// tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {

// Ids of the built-in catalog, by use.
struct CompletionValues {
  std::vector<std::string> gpus;
  std::vector<std::string> servers;  // GPU servers
  std::vector<std::string> switches;
  std::vector<std::string> items;
  std::vector<std::string> rules{};
};

[[nodiscard]] CompletionValues completion_values();

[[nodiscard]] std::string bash_completion(const CompletionValues& values);
[[nodiscard]] std::string zsh_completion(const CompletionValues& values);
[[nodiscard]] std::string fish_completion(const CompletionValues& values);

// Candidates for one value.
struct Candidates {
  std::vector<Choice> words;
  bool files = false;
};
[[nodiscard]] Candidates candidates_for(const Option& option, const CompletionValues& values);
[[nodiscard]] Candidates candidates_for(const Argument& argument, const CompletionValues& values);
// Options of all commands that take a value, each name once.
[[nodiscard]] std::vector<Option> options_with_value();
// The first words of a command line: commands, and each group once.
[[nodiscard]] std::vector<Choice> first_words();
[[nodiscard]] std::vector<std::string> group_names();
// "--output" and "-o", or one of them.
[[nodiscard]] std::vector<std::string> spellings(const Option& option);

}  // namespace weft::cli
