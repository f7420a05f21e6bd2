#include "cli/framework/command.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weft::cli {
namespace {

std::vector<Command> make_commands() {
  std::vector<Command> commands;
  commands.push_back(design_command());
  commands.push_back(show_command());
  commands.push_back(check_command());
  commands.push_back(render_command());
  commands.push_back(diff_command());
  commands.push_back(rules_command());
  commands.push_back(explain_command());
  for (Command& command : trace_commands()) commands.push_back(std::move(command));
  commands.push_back(failures_command());
  commands.push_back(discover_command());
  commands.push_back(sim_traffic_command());
  commands.push_back(sim_collective_command());
  commands.push_back(sim_workload_command());
  commands.push_back(sim_life_command());
  commands.push_back(sim_compare_command());
  commands.push_back(sim_sweep_command());
  commands.push_back(sim_models_command());
  commands.push_back(sim_nccl_command());
  commands.push_back(sched_replay_command());
  commands.push_back(sched_explain_command());
  commands.push_back(sched_status_command());
  commands.push_back(sched_pack_command());
  commands.push_back(serve_command());
  commands.push_back(status_command());
  for (Command& command : job_commands()) commands.push_back(std::move(command));
  for (Command& command : node_commands()) commands.push_back(std::move(command));
  for (Command& command : lease_commands()) commands.push_back(std::move(command));
  for (Command& command : gate_commands()) commands.push_back(std::move(command));
  for (Command& command : accounts_commands()) commands.push_back(std::move(command));
  for (Command& command : pipeline_commands()) commands.push_back(std::move(command));
  for (Command& command : namespace_commands()) commands.push_back(std::move(command));
  commands.push_back(queue_command());
  commands.push_back(watch_command());
  commands.push_back(drill_command());
  commands.push_back(oob_sim_command());
  commands.push_back(oob_status_command());
  commands.push_back(oob_power_command());
  for (Command& command : oob_device_commands()) commands.push_back(std::move(command));
  commands.push_back(oob_console_command());
  commands.push_back(oob_backup_command());
  commands.push_back(oob_drift_command());
  commands.push_back(oob_restore_command());
  commands.push_back(rescue_command());
  commands.push_back(oob_rotate_command());
  commands.push_back(oob_journal_command());
  commands.push_back(checklist_command());
  for (Command& command : catalog_commands()) commands.push_back(std::move(command));
  commands.push_back(schema_command());
  for (Command& command : about_commands()) commands.push_back(std::move(command));
  // `help` accepts the names of all commands, and each group once.
  std::vector<Choice> pages;
  for (const Command& command : commands) {
    const std::string word(command.group().empty() ? command.name : command.group());
    if (pages.empty() || pages.back().name != word) pages.push_back({word, command.summary});
  }
  for (const Topic& topic : all_topics()) pages.push_back({topic.name, topic.summary});
  for (Command& command : commands) {
    if (command.name == "help") command.arguments.front().choices = pages;
  }
  return commands;
}

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

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = make_commands();
  return commands;
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options = {
      {.name = "color",
       .value = "WHEN",
       .help = "when to use color",
       .fallback = "auto",
       .choices = choices_named({"auto", "always", "never"})},
      {.name = "quiet", .letter = 'q', .help = "print only the result and errors, no warnings or notes"},
      {.name = "verbose", .letter = 'v', .help = "print more details on standard error"},
      {.name = "help", .letter = 'h', .help = "print help and exit"},
      {.name = "version", .letter = 'V', .help = "print the version and exit"},
  };
  return options;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<const Command*> commands_of_group(std::string_view group) {
  std::vector<const Command*> found;
  for (const Command& command : all_commands()) {
    if (!group.empty() && command.group() == group) found.push_back(&command);
  }
  return found;
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
          .choices = choices_named({"table", "wide", "json", "yaml", "ndjson", "csv"})};
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
  return {.name = "CLUSTER", .help = "a cluster file, or - for standard input", .hint = Hint::file};
}

}  // namespace weft::cli
