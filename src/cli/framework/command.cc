#include "cli/framework/command.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weft::cli {
namespace {

template <class Matches>
const Option* find_option_if(const Command& command, Matches matches) {
  for (const std::vector<Option>* options : {&command.options, &global_options()}) {
    const auto found = std::find_if(options->begin(), options->end(), matches);
    if (found != options->end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string_view Command::group() const {
  const std::size_t blank = name.find(' ');
  return blank == std::string::npos ? std::string_view() : std::string_view(name).substr(0, blank);
}

std::string_view Command::last_word() const {
  const std::size_t blank = name.rfind(' ');
  return blank == std::string::npos ? std::string_view(name) : std::string_view(name).substr(blank + 1);
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options = {
      {.name = "color",
       .value = "WHEN",
       .help = "when to use color",
       .fallback = "auto",
       .choices = choices_named({"auto", "always", "never"})},
      {.name = "no-pager", .help = "write long results to the terminal, not to a pager"},
      {.name = "quiet", .letter = 'q', .help = "print only the result and errors, no warnings or notes"},
      {.name = "verbose", .letter = 'v', .help = "print more details on standard error"},
      {.name = "help", .letter = 'h', .help = "print help and exit"},
      {.name = "version", .letter = 'V', .help = "print the version and exit"},
  };
  return options;
}

const Option* find_option(const Command& command, std::string_view name) {
  return find_option_if(command, [&](const Option& option) { return option.name == name; });
}

const Option* find_option(const Command& command, char letter) {
  return find_option_if(command, [&](const Option& option) { return option.letter == letter && letter != 0; });
}

std::vector<std::string> names_of(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const Choice& choice : choices) names.push_back(choice.name);
  return names;
}

std::vector<Choice> choices_named(const std::vector<std::string>& names) {
  std::vector<Choice> choices;
  choices.reserve(names.size());
  for (const std::string& name : names) choices.push_back({.name = name});
  return choices;
}

std::vector<OptionSection> sections_of(const std::vector<Option>& options) {
  std::vector<OptionSection> sections(1);
  sections.front().title = "Options";
  for (const Option& option : options) {
    const std::string& title = option.section.empty() ? sections.front().title : option.section;
    const auto known = std::find_if(sections.begin(), sections.end(),
                                    [&](const OptionSection& section) { return section.title == title; });
    if (known == sections.end()) {
      sections.push_back({title, {option}});
    } else {
      known->options.push_back(option);
    }
  }
  return sections;
}

std::string usage_of(const Command& command) {
  return "usage: weft " + command.name + (command.usage.empty() ? "" : " ") + command.usage;
}

std::string listed(const std::vector<std::string>& names) { return join(names, ", ", " or "); }

Option output_option() {
  return {.name = "output",
          .letter = 'o',
          .value = "FORMAT",
          .help = "output format (see `weft help formats`)",
          .fallback = "table",
          .choices = choices_named({"table", "wide", "json", "yaml", "ndjson", "csv"}),
          .synonyms = {"format"}};
}

Option stream_output_option() {
  Option option = output_option();
  option.help = "table for lines of text, json or ndjson for one JSON object per line";
  option.choices = choices_named({"table", "json", "ndjson"});
  return option;
}

Option file_option() {
  return {.name = "file",
          .letter = 'f',
          .value = "FILE",
          .help = "write the result to this file (atomically) instead of standard output",
          .hint = Hint::file};
}

Option slurm_conf_option() {
  return {.name = "slurm-conf",
          .value = "FILE",
          .help = "configuration file of Slurm",
          .fallback = "$SLURM_CONF, else Slurm's default",
          .hint = Hint::file};
}

Option partition_option() {
  return {.name = "partition",
          .value = "NAME",
          .help = "partition of Slurm to run jobs in",
          .fallback = "Slurm's default partition"};
}

Option catalog_option() {
  return {.name = "catalog",
          .value = "FILE",
          .help = "add the items of your own catalog file; may be repeated",
          .hint = Hint::file,
          .repeatable = true};
}

Argument cluster_argument() {
  return {.name = "CLUSTER",
          .help = "a cluster file, or - for standard input [default: see `weft help cluster-file`]",
          .hint = Hint::file,
          .from_default = true};
}

Argument cluster_argument_or(std::vector<std::string> options) {
  Argument cluster = cluster_argument();
  cluster.required = false;
  cluster.replaced_by = std::move(options);
  return cluster;
}

Argument optional_cluster_argument() {
  Argument cluster = cluster_argument();
  cluster.help = "a cluster file, or - for standard input";
  cluster.required = false;
  cluster.from_default = false;
  return cluster;
}

}  // namespace weft::cli
