#include <fmt/format.h>

#include "base/asset.h"
#include "base/quoting.h"
#include "base/text.h"
#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

// 'name:description', the format of _describe: a colon in the name would end it.
std::string described(const Choice& choice) {
  std::string name;
  for (const char c : choice.name) name += c == ':' ? std::string("\\:") : std::string(1, c);
  return shell_quote_always(choice.help.empty() ? name : name + ":" + choice.help);
}

std::string offer(const std::string& tag, const Candidates& candidates) {
  std::string text;
  if (!candidates.words.empty()) {
    text += "offers=(";
    for (const Choice& choice : candidates.words) text += described(choice) + " ";
    text.back() = ')';
    text += fmt::format("; _describe -t {0} {0} offers; ", tag);
  }
  if (candidates.files) text += "_files; ";
  return text;
}

std::string options_pattern() {
  std::vector<std::string> options;
  for (const Option& option : options_with_value()) {
    for (const std::string& spelling : spellings(option)) options.push_back(spelling);
  }
  return join(options, "|");
}

std::string group_cases() {
  std::string groups;
  for (const std::string& group : group_names()) {
    groups += fmt::format("          ({}) command+=\" $word\" ;;\n", group);
  }
  return groups;
}

std::string values_of_options(const CompletionValues& values) {
  std::string text;
  for (const Option& option : options_with_value()) {
    const std::string body = offer("values", candidates_for(option, values));
    if (!body.empty()) text += fmt::format("    ({}) {}return ;;\n", join(spellings(option), "|"), body);
  }
  return text;
}

std::string option_offers(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    for (const std::string& spelling : spellings(option)) text += " " + described({spelling, option.help});
  }
  return text;
}

std::string command_options() {
  std::string text;
  for (const Command& command : all_commands()) {
    if (command.options.empty()) continue;
    const std::string also = command.group_default ? std::string(command.group()) + "|" : std::string();
    text += fmt::format("      ({}'{}') offers+=({}) ;;\n", also, command.name, option_offers(command.options));
  }
  return text;
}

std::string arguments(const CompletionValues& values) {
  std::string text;
  text += fmt::format("    (:*) {};;\n", offer("commands", {first_words(), false}));
  for (const std::string& group : group_names()) {
    std::vector<Choice> words;
    for (const Command* command : commands_of_group(group)) {
      words.push_back({std::string(command->last_word()), command->summary});
    }
    text += fmt::format("    ({}:*) {};;\n", group, offer("commands", {words, false}));
  }
  for (const Command& command : all_commands()) {
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const std::string body = offer("arguments", candidates_for(command.arguments[i], values));
      const std::string position = command.arguments[i].repeatable ? "*" : std::to_string(i);
      if (!body.empty()) text += fmt::format("    ('{}':{}) {};;\n", command.name, position, body);
    }
  }
  return text;
}

}  // namespace

// The file works with `source` and in a folder of $fpath, where the whole file is the function's body.
std::string zsh_completion(const CompletionValues& values) {
  return fill_template(asset<"cli/completion.zsh">(), {{"OPTIONS", options_pattern()},
                                                       {"GROUPS", group_cases()},
                                                       {"VALUES", values_of_options(values)},
                                                       {"GLOBAL_OPTIONS", option_offers(global_options())},
                                                       {"COMMAND_OPTIONS", command_options()},
                                                       {"ARGUMENTS", arguments(values)}});
}

}  // namespace weft::cli
