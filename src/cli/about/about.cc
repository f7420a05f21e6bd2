// weft completion and help: shell completion and help.
#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/framework/completion.h"
#include "cli/framework/context.h"
#include "cli/framework/help.h"
#include "cli/framework/suggestions.h"
#include "cli/framework/terminal.h"

namespace weft::cli {
namespace {

Exit run_completion(Context& context) {
  const CompletionValues values = completion_values();
  const std::string shell = context.arguments().word(0);
  if (shell == "zsh") return context.deliver(zsh_completion(values));
  if (shell == "fish") return context.deliver(fish_completion(values));
  return context.deliver(bash_completion(values));
}

Exit run_help(Context& context) {
  const std::vector<std::string>& words = context.arguments().words();
  const std::size_t width = help_width(context.io());
  if (words.empty()) return context.deliver(main_help(width));
  std::string name = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) name += " " + words[i];
  if (const Command* command = find_command(name)) return context.deliver(command_help(*command, width));
  if (!commands_of_group(name).empty()) return context.deliver(group_help(name, width));
  const std::vector<CommandSection> sections = command_sections();
  std::vector<std::string_view> known;
  for (const CommandSection& section : sections) {
    if (to_lower(section.title) == to_lower(name)) return context.deliver(section_help(section, width));
    known.push_back(section.title);
  }
  for (const Topic& topic : all_topics()) {
    if (topic.name == name) return context.deliver(topic_help(topic, width));
    known.push_back(topic.name);
  }
  for (const Command& command : all_commands()) known.push_back(command.name);
  const std::string near = did_you_mean(name, known);
  return context.usage_error("no command or topic is named " + in_backticks(name),
                             {near.empty() ? suggest_command(name) : near, "run `weft help` for a list"});
}

Command help_command() {
  Command command;
  command.name = "help";
  command.summary = "Show help for weft, a command or a topic";
  command.usage = "[COMMAND | TOPIC]";
  command.examples = {{"weft help show", "Help for a command"},
                      {"weft help oob", "The commands of a group"},
                      {"weft help exit-codes", "What exit codes mean"}};
  command.arguments = {{.name = "COMMAND",
                        .help = "a command, a group (oob), a heading of `weft help` (operate), or a topic (exit-codes)",
                        .required = false,
                        .repeatable = true,
                        .open = true}};
  command.run = run_help;
  return command;
}

}  // namespace

std::vector<Command> about_commands() {
  Command completion;
  completion.name = "completion";
  completion.summary = "Print a completion script for a shell";
  completion.usage = "SHELL";
  completion.examples = {
      {"weft completion bash > ~/.local/share/bash-completion/completions/weft", "For bash"},
      {"weft completion zsh > \"${fpath[1]}/_weft\"", "For zsh"},
      {"weft completion fish > ~/.config/fish/completions/weft.fish", "For fish"},
  };
  completion.arguments = {
      {.name = "SHELL", .help = "bash, zsh or fish", .choices = choices_named({"bash", "zsh", "fish"})}};
  completion.options = {file_option()};
  completion.run = run_completion;

  return {completion, man_command(), help_command(), version_command()};
}

}  // namespace weft::cli
