#include <fmt/format.h>

#include "base/asset.h"
#include "base/text.h"
#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// __weft_words prints the words typed so far that are neither options nor their values; __weft_at checks whether they
// begin with a command and how many more follow.
std::string start() {
  std::vector<std::string> options;
  for (const Option& option : options_with_value()) {
    for (const std::string& spelling : spellings(option)) options.push_back(spelling);
  }
  return fill_template(asset<"cli/completion.fish">(), {{"OPTIONS", join(options, " ")}});
}

std::string condition(std::string_view position, std::string_view command) {
  const std::string text = fmt::format("__weft_at {}{}{}", position, command.empty() ? "" : " ", command);
  return "-n " + shell_word(text);
}

void append_words(std::string& out, const std::string& when, const std::vector<Choice>& words) {
  for (const Choice& choice : words) {
    out += fmt::format("complete -c weft {} -a {}", when, shell_word(choice.name));
    if (!choice.help.empty()) out += " -d " + shell_word(choice.help);
    out += '\n';
  }
}

void append_option(std::string& out, const std::string& when, const Option& option, const CompletionValues& values) {
  out += "complete -c weft";
  if (!when.empty()) out += " " + when;
  out += " -l " + option.name;
  if (option.letter != 0) out += fmt::format(" -s {}", option.letter);
  const Candidates candidates = candidates_for(option, values);
  if (!option.value.empty()) out += candidates.files ? " -r -F" : " -x";
  if (!candidates.words.empty()) out += " -a " + shell_word(join(names_of(candidates.words), " "));
  out += " -d " + shell_word(option.help) + "\n";
}

void append_command(std::string& out, const Command& command, const CompletionValues& values) {
  for (const Option& option : command.options) append_option(out, condition("'*'", command.name), option, values);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const Argument& argument = command.arguments[i];
    const std::string when = condition(argument.repeatable ? "'*'" : std::to_string(i), command.name);
    const Candidates candidates = candidates_for(argument, values);
    append_words(out, when, candidates.words);
    if (candidates.files) out += fmt::format("complete -c weft {} -F\n", when);
  }
}

}  // namespace

std::string fish_completion(const CompletionValues& values) {
  std::string out = start();
  for (const Option& option : global_options()) append_option(out, {}, option, values);
  append_words(out, condition("0", ""), first_words());
  for (const std::string& group : group_names()) {
    std::vector<Choice> words;
    for (const Command* command : commands_of_group(group)) {
      words.push_back({std::string(command->last_word()), command->summary});
    }
    append_words(out, condition("0", group), words);
  }
  for (const Command& command : all_commands()) append_command(out, command, values);
  return out;
}

}  // namespace weft::cli
