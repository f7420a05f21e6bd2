#include "cli/framework/man.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/framework/help.h"
#include "cli/framework/roff.h"

namespace weft::cli {
namespace {

constexpr std::string_view kManual = "User Commands";

// "weft\-oob\-status(1)", in bold.
std::string reference_to(std::string_view command) { return ".BR " + roff(man_page_name(command)) + " (1)"; }

void append_option(std::string& out, const Option& option) {
  out += ".TP\n\\fB";
  if (option.letter != 0) out += fmt::format("\\-{}\\fR, \\fB", option.letter);
  out += "\\-\\-" + roff(option.name) + "\\fR";
  if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  out += "\n" + roff_prose(option_text(option)) + "\n";
}

void append_examples(std::string& out, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    if (!out.ends_with(".SH EXAMPLES\n")) out += ".PP\n";
    out += roff_prose(example.meaning) + ":\n.PP\n.nf\n.RS\n" + roff(example.line) + "\n.RE\n.fi\n";
  }
}

void append_topic(std::string& out, const char* heading, std::string_view name) {
  for (const Topic& topic : all_topics()) {
    if (topic.name != name) continue;
    out += fmt::format(".SH {}\n", heading) + roff_entries(topic.entries);
    for (const std::string& remark : topic.notes) out += ".PP\n" + roff_prose(remark) + "\n";
  }
}

void append_head(std::string& out, std::string_view page, std::string_view summary) {
  out += roff_title(page, 1, kManual) + ".SH NAME\n" + roff(page) + " \\- " + roff_prose(summary) + "\n";
}

void append_references(std::string& out, const std::vector<std::string>& references) {
  out += ".SH \"SEE ALSO\"\n";
  for (std::size_t i = 0; i < references.size(); ++i) {
    out += references[i] + (i + 1 < references.size() ? ",\n" : "\n");
  }
}

void append_arguments(std::string& out, const Command& command) {
  if (command.arguments.empty()) return;
  out += ".SH ARGUMENTS\n";
  for (const Argument& argument : command.arguments) {
    out += ".TP\n\\fI" + roff(argument.name) + "\\fR\n" + roff_prose(argument.help) + "\n";
    if (argument.choices.empty() || argument.choices.front().help.empty()) continue;
    out += ".RS\n" + roff_entries(argument.choices) + ".RE\n";
  }
}

void append_options(std::string& out, const Command& command) {
  out += ".SH OPTIONS\n";
  bool headed = false;
  for (const OptionSection& section : sections_of(command.options)) {
    headed = headed || section.title != "Options";
    if (section.title != "Options") out += ".SS \"" + roff(section.title) + "\"\n";
    for (const Option& option : section.options) append_option(out, option);
  }
  if (!command.options.empty()) out += ".SS \"Options of every command\"\n";
  for (const Option& option : global_options()) append_option(out, option);
}

void append_list(std::string& out, const std::vector<const Command*>& commands) {
  for (const Command* command : commands) {
    out += ".TP\n" + reference_to(command->name) + "\n" + roff_prose(command->summary) + ".\n";
  }
}

}  // namespace

std::string man_page_name(std::string_view command) { return "weft-" + replace_all(std::string(command), " ", "-"); }

std::string main_man_page(const std::vector<Choice>& formats) {
  std::string out;
  append_head(out, "weft", "design AI clusters: one file, four networks");
  out += ".SH SYNOPSIS\n.B weft\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + roff_prose(about_weft()) + "\n";
  out += ".SH COMMANDS\n" +
         roff_prose("Each command has a manual page: `man weft-oob-status` is about `weft oob status`.\n");
  for (const CommandSection& section : command_sections()) {
    out += ".SS \"" + roff(section.title) + "\"\n";
    append_list(out, section.commands);
  }
  out += ".SH OPTIONS\nThese options apply to every command.\n";
  for (const Option& option : global_options()) append_option(out, option);
  append_topic(out, "\"OUTPUT FORMATS\"", "formats");
  append_topic(out, "\"EXIT STATUS\"", "exit-codes");
  append_topic(out, "ENVIRONMENT", "environment");
  out += ".SH FILES\n" + roff_entries({{"/run/weft/weft.sock", "socket of a `weft serve` of this machine"},
                                       {"/var/lib/weft", "state of commands that run as root"},
                                       {"~/.local/state/weft", "state of commands of other users"},
                                       {"~/.config/weft/config.yaml", "servers of `weft login`"}});
  out += ".SH EXAMPLES\nFrom a new design to a cable list.\n";
  append_examples(out, main_examples());
  std::vector<std::string> references;
  references.reserve(formats.size());
  for (const Choice& format : formats) references.push_back(".BR " + roff(format.name) + " (5)");
  append_references(out, references);
  return out;
}

std::string command_man_page(const Command& command) {
  std::string out;
  append_head(out, man_page_name(command.name), command.summary);
  out += ".SH SYNOPSIS\n.B weft " + roff(command.name) + "\n" + roff(command.usage) + "\n";
  out += ".SH DESCRIPTION\n" + roff_prose(command.summary) + ".\n";
  for (const std::string& paragraph : command.description) out += ".PP\n" + roff_prose(paragraph) + "\n";
  append_arguments(out, command);
  append_options(out, command);
  for (const TermList& list : command.lists)
    out += fmt::format(".SH \"{}\"\n{}", roff(to_upper(list.title)), roff_entries(list.entries));
  out += ".SH \"EXIT STATUS\"\n0 on success; see \\fBweft\\fR(1) for the others.\n";
  if (!command.examples.empty()) out += ".SH EXAMPLES\n";
  append_examples(out, command.examples);
  std::vector<std::string> references = {".BR weft (1)"};
  if (!command.group().empty()) references.push_back(reference_to(command.group()));
  for (const Command* other : commands_of_group(command.group())) {
    if (other->name != command.name) references.push_back(reference_to(other->name));
  }
  append_references(out, references);
  return out;
}

std::string group_man_page(std::string_view group) {
  const std::vector<const Command*> commands = commands_of_group(group);
  std::vector<std::string> words;
  words.reserve(commands.size());
  for (const Command* command : commands) words.emplace_back(command->last_word());
  std::string out;
  append_head(out, man_page_name(group), fmt::format("commands of weft {}: {}", group, join(words, ", ")));
  out += ".SH SYNOPSIS\n.B weft " + roff(group) + "\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\nEach command has a manual page of its own.\n";
  append_list(out, commands);
  out += ".SH EXAMPLES\n";
  for (const Command* command : commands) {
    if (!command->examples.empty()) append_examples(out, {command->examples.front()});
  }
  append_references(out, {".BR weft (1)"});
  return out;
}

}  // namespace weft::cli
