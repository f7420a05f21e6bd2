#include "cli/framework/man.h"

#include <fmt/format.h>

#include "cli/framework/command.h"
#include "cli/framework/help.h"

namespace weft::cli {
namespace {

// Text that roff prints literally: no escapes, no requests, dashes that can be copied to a shell.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      if (c == '.' && out.empty()) out += "\\&";
      out += c;
    }
  }
  return out;
}

// Prose: text in backticks is bold.
std::string prose(std::string_view text) {
  std::string out;
  bool code = false;
  while (!text.empty()) {
    const std::size_t tick = text.find('`');
    out += roff(text.substr(0, tick));
    if (tick == std::string_view::npos) break;
    out += code ? "\\fR" : "\\fB";
    code = !code;
    text.remove_prefix(tick + 1);
  }
  return out;
}

void append_option(std::string& out, const Option& option) {
  out += ".TP\n\\fB";
  if (option.letter != 0) out += fmt::format("\\-{}\\fR, \\fB", option.letter);
  out += "\\-\\-" + roff(option.name) + "\\fR";
  if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  out += "\n" + prose(option_text(option)) + "\n";
}

void append_entries(std::string& out, const std::vector<Choice>& entries) {
  for (const Choice& entry : entries) out += ".TP\n\\fB" + roff(entry.name) + "\\fR\n" + prose(entry.help) + "\n";
}

void append_examples(std::string& out, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    out += ".PP\n" + prose(example.meaning) + ":\n.PP\n.nf\n.RS\n" + roff(example.line) + "\n.RE\n.fi\n";
  }
}

void append_command(std::string& out, const Command& command) {
  out += ".SS \"weft " + roff(command.name) + (command.usage.empty() ? "" : " ") + roff(command.usage) + "\"\n";
  out += prose(command.summary) + ".\n";
  for (const std::string& paragraph : command.description) out += ".PP\n" + prose(paragraph) + "\n";
  if (command.name != "help") {  // its choices are the headings of this section
    for (const Argument& argument : command.arguments) {
      out += ".TP\n\\fI" + roff(argument.name) + "\\fR\n" + prose(argument.help) + "\n";
      if (argument.choices.empty() || argument.choices.front().help.empty()) continue;
      out += ".RS\n";
      append_entries(out, argument.choices);
      out += ".RE\n";
    }
  }
  for (const OptionSection& section : sections_of(command.options)) {
    if (section.title != "Options") out += ".PP\n\\fI" + roff(section.title) + "\\fR\n";
    for (const Option& option : section.options) append_option(out, option);
  }
}

void append_topic(std::string& out, const char* heading, std::string_view name) {
  for (const Topic& topic : all_topics()) {
    if (topic.name != name) continue;
    out += fmt::format(".SH {}\n", heading);
    append_entries(out, topic.entries);
    for (const std::string& remark : topic.notes) out += ".PP\n" + prose(remark) + "\n";
  }
}

}  // namespace

std::string man_page() {
  std::string out = ".TH WEFT 1 \"\" \"weft " WEFT_VERSION "\" \"User Commands\"\n";
  out += ".SH NAME\nweft \\- design AI clusters: one file, four networks\n";
  out += ".SH SYNOPSIS\n.B weft\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + prose(about_weft()) + "\n";
  out += ".SH COMMANDS\n";
  for (const Command& command : all_commands()) append_command(out, command);
  out += ".SH OPTIONS\nThese options apply to every command.\n";
  for (const Option& option : global_options()) append_option(out, option);
  append_topic(out, "\"OUTPUT FORMATS\"", "formats");
  append_topic(out, "\"EXIT STATUS\"", "exit-codes");
  append_topic(out, "ENVIRONMENT", "environment");
  out += ".SH EXAMPLES\nFrom a new design to a cable list, then examples per command.\n";
  append_examples(out, main_examples());
  for (const Command& command : all_commands()) append_examples(out, command.examples);
  return out;
}

}  // namespace weft::cli
