#include "cli/framework/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/table_layout.h"
#include "cli/framework/build_info.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxHeading = 26;  // wider headings get a line of their own

// Headings on the left, their texts on the right from `column` on, or further if a heading is wider.
void append_entries(std::string& out, const std::vector<Choice>& entries, std::size_t width, std::size_t column = 0) {
  const std::size_t max_heading = std::min(kMaxHeading, width / 3);
  for (const Choice& entry : entries) {
    if (entry.name.size() <= max_heading) column = std::max(column, entry.name.size());
  }
  const std::size_t indent = column + 4;
  for (const Choice& entry : entries) {
    out += "  " + entry.name;
    std::size_t at = entry.name.size() + 2;
    for (const std::string& line : wrap_text(entry.help, width - indent)) {
      if (line.empty()) continue;
      if (at + 2 > indent) {
        out += '\n';
        at = 0;
      }
      out.append(indent - at, ' ');
      out += line;
      at = indent + width;  // the next text begins a new line
    }
    out += '\n';
  }
}

void append_section(std::string& out, std::string_view title, const std::vector<Choice>& entries, std::size_t width,
                    std::size_t column = 0) {
  if (entries.empty()) return;
  out += "\n";
  out += title;
  out += ":\n";
  append_entries(out, entries, width, column);
}

void append_paragraph(std::string& out, std::string_view text, std::size_t width) {
  out += '\n';
  for (const std::string& line : wrap_text(text, width)) out += line + "\n";
}

void append_examples(std::string& out, const std::vector<Example>& examples) {
  out += "Examples:\n";
  for (const Example& example : examples) {
    out += "  # " + example.meaning + "\n";
    out += "  " + example.line + "\n";
  }
}

std::vector<Choice> option_entries(const std::vector<Option>& options) {
  std::vector<Choice> entries;
  entries.reserve(options.size());
  for (const Option& option : options) entries.push_back({option_heading(option), option_text(option)});
  return entries;
}

std::vector<Choice> argument_entries(const Command& command) {
  std::vector<Choice> entries;
  for (const Argument& argument : command.arguments) entries.push_back({argument.name, argument.help});
  return entries;
}

std::vector<Choice> command_entries(const std::vector<const Command*>& commands) {
  std::vector<Choice> entries;
  entries.reserve(commands.size());
  for (const Command* command : commands) entries.push_back({command->name, command->summary});
  return entries;
}

// Examples and summaries of some of the commands.
std::string commands_help(const std::vector<const Command*>& commands, std::size_t width) {
  std::string out;
  std::vector<Example> examples;
  for (const Command* command : commands) {
    if (!command->examples.empty()) examples.push_back(command->examples.front());
  }
  append_examples(out, examples);
  append_section(out, "Commands", command_entries(commands), width);
  return out;
}

}  // namespace

std::string option_heading(const Option& option) {
  std::string text = option.letter != 0 ? std::string{'-', option.letter, ',', ' '} : std::string("    ");
  text += "--" + option.name;
  return option.value.empty() ? text : text + " " + option.value;
}

std::string option_text(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += ": " + listed(names_of(option.choices));
  if (!option.fallback.empty()) text += " [default: " + option.fallback + "]";
  return text;
}

const std::string& about_weft() {
  static const std::string about =
      "weft designs AI clusters. One cluster file describes servers, storage and four physically separate networks "
      "(backend, storage, frontend, out-of-band); weft computes every switch, port, cable, address and rack.";
  return about;
}

const std::vector<Example>& main_examples() {
  static const std::vector<Example> examples = {
      {"weft design --gpus 256 --gpu h100-sxm -f cluster.yaml", "Size a cluster of 256 GPUs and write its file"},
      {"weft show cluster.yaml", "Show a summary"},
      {"weft show cables cluster.yaml -o csv -f cables.csv", "Export the cable list for the cabling crew"},
      {"weft checklist cluster.yaml", "Show what is not done yet"},
  };
  return examples;
}

std::string main_help(std::size_t width) {
  std::string out;
  append_examples(out, main_examples());
  append_paragraph(out, about_weft(), width);
  out += "\nUsage: weft COMMAND [ARGUMENTS] [OPTIONS]\n";
  std::size_t column = 0;
  for (const Command& command : all_commands()) column = std::max(column, command.name.size());
  for (const CommandSection& section : command_sections())
    append_section(out, section.title, command_entries(section.commands), width, column);
  append_section(out, "Options of every command", option_entries(global_options()), width);
  std::vector<Choice> topics;
  for (const Topic& topic : all_topics()) topics.push_back({topic.name, topic.summary});
  append_section(out, "Topics", topics, width);
  append_paragraph(
      out, "Run `weft help COMMAND` or `weft help TOPIC` for details, and `weft help oob` for the commands of a group.",
      width);
  return out;
}

std::string command_help(const Command& command, std::size_t width) {
  std::string out;
  append_examples(out, command.examples);
  std::string usage = usage_of(command);
  usage[0] = 'U';
  append_paragraph(out, usage, width);
  append_paragraph(out, command.summary + ".", width);
  for (const std::string& paragraph : command.description) append_paragraph(out, paragraph, width);
  append_section(out, "Arguments", argument_entries(command), width);
  for (const Argument& argument : command.arguments) {
    const bool explained = std::any_of(argument.choices.begin(), argument.choices.end(),
                                       [](const Choice& choice) { return !choice.help.empty(); });
    if (explained) append_section(out, argument.name, argument.choices, width);
  }
  for (const OptionSection& section : sections_of(command.options)) {
    append_section(out, section.title, option_entries(section.options), width);
  }
  for (const TermList& list : command.lists) append_section(out, list.title, list.entries, width);
  append_section(out, "Options of every command", option_entries(global_options()), width);
  return out;
}

std::string group_help(std::string_view group, std::size_t width) {
  return commands_help(commands_of_group(group), width);
}

std::string section_help(const CommandSection& section, std::size_t width) {
  return commands_help(section.commands, width);
}

std::string topic_help(const Topic& topic, std::size_t width) {
  std::string out = topic.summary + ":\n";
  append_entries(out, topic.entries, width);
  for (const std::string& remark : topic.notes) append_paragraph(out, remark, width);
  return out;
}

std::string version_text() {
  const BuildInfo& build = build_info();
  constexpr std::size_t kShortCommit = 12;
  std::string text = fmt::format("weft {}", build.version);
  if (build.commit != "unknown")
    text += fmt::format(" ({}{})", build.commit.substr(0, kShortCommit), build.modified ? ", modified" : "");
  return text + "\n";
}

}  // namespace weft::cli
