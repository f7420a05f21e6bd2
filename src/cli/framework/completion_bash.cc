#include <fmt/format.h>

#include "base/asset.h"
#include "base/text.h"
#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

// The body of a case: offers the candidates and returns.
std::string offer(const Candidates& candidates) {
  std::string text;
  if (!candidates.words.empty()) {
    text += fmt::format("_weft_offer '{}' \"$cur\"; ", join(names_of(candidates.words), " "));
  }
  if (candidates.files) text += "_weft_files \"$cur\"; ";
  return text;
}

std::string options_pattern() {
  std::vector<std::string> options;
  for (const Option& option : options_with_value()) {
    for (const std::string& spelling : spellings(option)) options.push_back(spelling);
  }
  return join(options, " | ");
}

std::string group_cases() {
  std::string groups;
  for (const std::string& group : group_names()) {
    groups += fmt::format("          {}) command+=\" $word\" ;;\n", group);
  }
  return groups;
}

std::string values_of_options(const CompletionValues& values) {
  std::string text;
  for (const Option& option : options_with_value()) {
    const std::string body = offer(candidates_for(option, values));
    if (!body.empty()) text += fmt::format("    {}) {}return ;;\n", join(spellings(option), " | "), body);
  }
  return text;
}

std::string option_words(const std::vector<Option>& options) {
  std::vector<std::string> words;
  for (const Option& option : options) {
    for (const std::string& spelling : spellings(option)) words.push_back(spelling);
  }
  return join(words, " ");
}

std::string command_options() {
  std::string text;
  for (const Command& command : all_commands()) {
    if (command.options.empty()) continue;
    const std::string also = command.group_default ? std::string(command.group()) + " | " : std::string();
    text += fmt::format("      {}'{}') options+=' {}' ;;\n", also, command.name, option_words(command.options));
  }
  return text;
}

std::string arguments(const CompletionValues& values) {
  std::string text;
  text += fmt::format("    :*) {};;\n", offer({first_words(), false}));
  for (const std::string& group : group_names()) {
    std::vector<Choice> words;
    for (const Command* command : commands_of_group(group)) words.push_back({std::string(command->last_word()), ""});
    text += fmt::format("    {}:*) {};;\n", group, offer({words, false}));
  }
  for (const Command& command : all_commands()) {
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const std::string body = offer(candidates_for(command.arguments[i], values));
      const std::string position = command.arguments[i].repeatable ? "*" : std::to_string(i);
      if (!body.empty()) text += fmt::format("    '{}':{}) {};;\n", command.name, position, body);
    }
  }
  return text;
}

}  // namespace

// COMP_WORDBREAKS contains '=': --output=json arrives as three words.
std::string bash_completion(const CompletionValues& values) {
  return fill_template(asset<"cli/completion.bash">(), {{"OPTIONS", options_pattern()},
                                                        {"GROUPS", group_cases()},
                                                        {"VALUES", values_of_options(values)},
                                                        {"GLOBAL_OPTIONS", option_words(global_options())},
                                                        {"COMMAND_OPTIONS", command_options()},
                                                        {"ARGUMENTS", arguments(values)}});
}

}  // namespace weft::cli
