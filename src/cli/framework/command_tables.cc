// The list of all commands. The tables of a word are built when a command line names it: most runs need one of them,
// and building all takes some 140 page faults.
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {
namespace {

void append(std::vector<Command>& commands, Command command) { commands.push_back(std::move(command)); }
void append(std::vector<Command>& commands, std::vector<Command> more) {
  for (Command& command : more) commands.push_back(std::move(command));
}

template <auto... make>
const std::vector<Command>& build() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> made;
    (append(made, make()), ...);
    return made;
  }();
  return commands;
}

struct CommandTable {
  std::string_view word;  // the first of every command in it; empty: several words, found through all_commands()
  const std::vector<Command>& (*commands)() = nullptr;
};

// The sections of help, and within each the order of its commands. A word may have several tables.
constexpr CommandTable kDesign[] = {
    {"init", build<init_command>},           {"design", build<design_command>},     {"fmt", build<fmt_command>},
    {"show", build<show_command>},           {"describe", build<describe_command>}, {"find", build<find_text_command>},
    {"checklist", build<checklist_command>},
};
constexpr CommandTable kCheck[] = {
    {"check", build<check_command>},  {"rules", build<rules_command>},       {"explain", build<explain_command>},
    {"trace", build<trace_commands>}, {"failures", build<failures_command>}, {"discover", build<discover_command>},
};
constexpr CommandTable kRender[] = {
    {"render", build<render_command>},
    {"diff", build<diff_command>},
};
constexpr CommandTable kSimulate[] = {
    {"sim", build<sim_traffic_command, sim_collective_command, sim_workload_command, sim_life_command,
                  sim_compare_command, sim_sweep_command, sim_models_command, sim_nccl_command>},
    {"twin",
     build<twin_run_command, twin_compare_command, twin_sweep_command, twin_record_command, twin_replay_command>},
};
constexpr CommandTable kSchedule[] = {
    {"sched", build<sched_replay_command, sched_explain_command, sched_status_command, sched_pack_command>},
};
constexpr CommandTable kOperate[] = {
    {"serve", build<serve_command>},
    {"status", build<status_command>},
    {"job", build<job_commands>},
    {"queue", build<queue_command>},
    {"watch", build<watch_command>},
    {"drill", build<drill_command>},
    {"node", build<node_commands>},
    {"lease", build<lease_commands>},
    {"gate", build<gate_commands>},
    {"accounts", build<accounts_commands>},
    {"pipeline", build<pipeline_commands>},
    {"namespace", build<namespace_commands>},
    {"health", build<health_rule_commands, health_check_command>},
};
constexpr CommandTable kAccess[] = {
    {"login", build<login_command>},      {"logout", build<logout_command>}, {"whoami", build<whoami_command>},
    {"context", build<context_commands>}, {"token", build<token_commands>},  {"approval", build<approval_commands>},
    {"audit", build<audit_commands>},
};
constexpr CommandTable kOutOfBand[] = {
    {"oob", build<oob_sim_command, oob_status_command, oob_power_command, oob_device_commands, oob_console_command,
                  oob_backup_command, oob_drift_command, oob_restore_command, oob_rotate_command, oob_trust_command,
                  oob_journal_command, oob_operation_command>},
    {"rescue", build<rescue_command>},
};
constexpr CommandTable kReference[] = {
    {"catalog", build<catalog_commands>},
    {"schema", build<schema_command>},
    {"", build<about_commands>},
};

struct SectionTable {
  std::string_view title;
  std::span<const CommandTable> tables{};
};

constexpr SectionTable kSections[] = {
    {"Design", kDesign},     {"Check", kCheck},           {"Render", kRender},
    {"Simulate", kSimulate}, {"Schedule", kSchedule},     {"Operate", kOperate},
    {"Access", kAccess},     {"Out of band", kOutOfBand}, {"Catalog, formats and help", kReference},
};

std::vector<Command> build_all() {
  std::vector<Command> commands;
  for (const SectionTable& section : kSections) {
    for (const CommandTable& table : section.tables) append(commands, table.commands());
  }
  // `help` and `man` accept the names of all commands, and each group once.
  std::vector<Choice> pages;
  for (const Command& command : commands) {
    const std::string word(command.group().empty() ? command.name : command.group());
    if (pages.empty() || pages.back().name != word) pages.push_back({word, command.summary});
  }
  for (Command& command : commands) {
    if (command.name != "man") continue;
    std::vector<Choice>& choices = command.arguments.front().choices;  // so far the pages of section 5
    choices.insert(choices.begin(), pages.begin(), pages.end());
  }
  for (const Topic& topic : all_topics()) pages.push_back({topic.name, topic.summary});
  for (Command& command : commands) {
    if (command.name == "help") command.arguments.front().choices = pages;
  }
  return commands;
}

std::string_view first_word(std::string_view name) { return name.substr(0, name.find(' ')); }

std::vector<const Command*> commands_of_word(std::string_view word) {
  std::vector<const Command*> found;
  for (const SectionTable& section : kSections) {
    for (const CommandTable& table : section.tables) {
      if (word.empty() || table.word != word) continue;
      for (const Command& command : table.commands()) found.push_back(&command);
    }
  }
  if (!found.empty()) return found;
  for (const Command& command : all_commands()) {
    if (first_word(command.name) == word) found.push_back(&command);
  }
  return found;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = build_all();
  return commands;
}

std::vector<CommandSection> command_sections() {
  std::vector<CommandSection> sections;
  sections.reserve(std::size(kSections));
  std::size_t first = 0;  // all_commands() has them in the same order
  for (const SectionTable& table : kSections) {
    CommandSection& section = sections.emplace_back(CommandSection{std::string(table.title), {}});
    std::size_t count = 0;
    for (const CommandTable& words : table.tables) count += words.commands().size();
    section.commands.reserve(count);
    for (std::size_t i = 0; i < count; ++i) section.commands.push_back(&all_commands()[first++]);
  }
  return sections;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : commands_of_word(first_word(name))) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::vector<const Command*> commands_of_group(std::string_view group) {
  std::vector<const Command*> found;
  for (const Command* command : commands_of_word(group)) {
    if (command->group() == group && !group.empty()) found.push_back(command);
  }
  return found;
}

}  // namespace weft::cli
