// Commands as data. One table defines the name, arguments and function of each command; parsing, --help, shell
// completion and the manual page are generated from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/io.h"

namespace weft::cli {

class Context;

// What shell completion offers for a value without fixed choices.
enum class Hint { none, file, gpu, server, network_switch, item, rule };

struct Choice {
  std::string name{};
  std::string help{};
  std::vector<std::string> synonyms{};  // other words for it, which are not accepted but lead to it
};

struct Option {
  std::string name{};   // without dashes
  char letter = 0;      // of the short form; 0 for none
  std::string value{};  // name of its value in help; empty for a switch, which has none
  std::string help{};
  std::string fallback{};  // the default, for help
  std::vector<Choice> choices{};
  Hint hint = Hint::none;
  bool repeatable = false;
  std::string section{};                // its heading in help; options without one come first
  std::vector<std::string> synonyms{};  // other words for it, which are not accepted but lead to it
};

struct Argument {
  std::string name{};
  std::string help{};
  std::vector<Choice> choices{};
  Hint hint = Hint::none;
  bool required = true;
  bool repeatable = false;
  bool open = false;                       // other values than the choices are accepted: the command checks them itself
  bool local = false;                      // left out with --server, --context or --socket
  bool from_default = false;               // the default cluster file (default_cluster.h) where no file is given...
  std::vector<std::string> replaced_by{};  // ...and none of these options, which replace it
};

// A list in help, after the options: terms that a value of an option consists of.
struct TermList {
  std::string title{};
  std::vector<Choice> entries{};
};

struct Example {
  std::string line{};
  std::string meaning{};
};

struct Command {
  std::string name{};                      // "show", or two words where commands form a group: "catalog show"
  std::string summary{};                   // one line, a verb first, no full stop
  std::string usage{};                     // what follows the name in the usage line
  std::vector<std::string> description{};  // paragraphs
  std::vector<Example> examples{};
  std::vector<Argument> arguments{};
  std::vector<Option> options{};  // without the global ones
  std::vector<TermList> lists{};
  Exit (*run)(Context&) = nullptr;
  Exit (*run_on_server)(Context&) = nullptr;  // with --server, --context or --socket; null: `run` does both
  bool group_default = false;                 // runs when only the group's name is given
  std::vector<std::string> synonyms{};        // other words for it, which are not accepted but lead to it

  // "catalog" for "catalog show"; "" for a command without a group.
  [[nodiscard]] std::string_view group() const;
  [[nodiscard]] std::string_view last_word() const;
};

// A page of `weft help` that is not about a command.
struct Topic {
  std::string name{};
  std::string summary{};
  std::vector<Choice> entries{};  // a term and its meaning
  std::vector<std::string> notes{};
};

// The commands under each heading of `weft help`, in the order of all_commands().
struct CommandSection {
  std::string title;  // "Out of band"
  std::vector<const Command*> commands;
};

[[nodiscard]] const std::vector<Command>& all_commands();
[[nodiscard]] std::vector<CommandSection> command_sections();
[[nodiscard]] const std::vector<Option>& global_options();
[[nodiscard]] const std::vector<Topic>& all_topics();

[[nodiscard]] const Command* find_command(std::string_view name);
// The commands of a group, in table order; empty if there is no such group.
[[nodiscard]] std::vector<const Command*> commands_of_group(std::string_view group);
// The option of the command, or the global one.
[[nodiscard]] const Option* find_option(const Command& command, std::string_view name);
[[nodiscard]] const Option* find_option(const Command& command, char letter);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Choice>& choices);
[[nodiscard]] std::vector<Choice> choices_named(const std::vector<std::string>& names);
// The options under each heading, headings in the order in which they first appear, "Options" for those without one.
struct OptionSection {
  std::string title;
  std::vector<Option> options;
};
[[nodiscard]] std::vector<OptionSection> sections_of(const std::vector<Option>& options);
// "usage: weft show [VIEW] CLUSTER [OPTIONS]"
[[nodiscard]] std::string usage_of(const Command& command);
// "a, b or c"
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

// Options that several commands share.
[[nodiscard]] Option output_option();
[[nodiscard]] Option stream_output_option();  // for results without an end: lines of text or of JSON
[[nodiscard]] Option file_option();
[[nodiscard]] Option catalog_option();
[[nodiscard]] Option slurm_conf_option();
[[nodiscard]] Option partition_option();
[[nodiscard]] Option config_option();
[[nodiscard]] Argument cluster_argument();           // where left out, the default cluster file
[[nodiscard]] Argument optional_cluster_argument();  // the command decides what its absence means
[[nodiscard]] Argument cluster_argument_or(std::vector<std::string> options);  // options that replace the file

// The tables of each command_*.cc.
[[nodiscard]] Command design_command();
[[nodiscard]] Command fmt_command();
[[nodiscard]] Command init_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command checklist_command();
[[nodiscard]] Command describe_command();
[[nodiscard]] Command find_text_command();
[[nodiscard]] Command check_command();
[[nodiscard]] Command render_command();
[[nodiscard]] Command diff_command();
[[nodiscard]] Command rules_command();
[[nodiscard]] Command explain_command();
[[nodiscard]] std::vector<Command> trace_commands();
[[nodiscard]] Command failures_command();
[[nodiscard]] Command discover_command();
[[nodiscard]] Command sim_traffic_command();
[[nodiscard]] Command sim_collective_command();
[[nodiscard]] Command sim_life_command();
[[nodiscard]] Command sim_models_command();
[[nodiscard]] Command sim_nccl_command();
[[nodiscard]] Command sched_pack_command();
[[nodiscard]] Command sim_compare_command();
[[nodiscard]] Command sim_sweep_command();
[[nodiscard]] Command sim_workload_command();
[[nodiscard]] Command sched_replay_command();
[[nodiscard]] std::vector<Command> health_rule_commands();
[[nodiscard]] Command health_check_command();
[[nodiscard]] Command twin_record_command();
[[nodiscard]] Command twin_replay_command();
[[nodiscard]] Command twin_run_command();
[[nodiscard]] Command twin_compare_command();
[[nodiscard]] Command twin_sweep_command();
[[nodiscard]] Command sched_explain_command();
[[nodiscard]] Command sched_status_command();
[[nodiscard]] Command serve_command();
[[nodiscard]] std::vector<Command> job_commands();
[[nodiscard]] Command job_submit_command();
[[nodiscard]] Command job_logs_command();
[[nodiscard]] Command job_wait_command();
[[nodiscard]] std::vector<Command> node_commands();
[[nodiscard]] std::vector<Command> reservation_commands();
[[nodiscard]] std::vector<Command> gate_commands();
[[nodiscard]] std::vector<Command> lease_commands();
[[nodiscard]] std::vector<Command> accounts_commands();
[[nodiscard]] std::vector<Command> pipeline_commands();
[[nodiscard]] std::vector<Command> namespace_commands();
[[nodiscard]] Command login_command();
[[nodiscard]] Command logout_command();
[[nodiscard]] Command whoami_command();
[[nodiscard]] std::vector<Command> context_commands();
[[nodiscard]] std::vector<Command> token_commands();
[[nodiscard]] std::vector<Command> approval_commands();
[[nodiscard]] std::vector<Command> audit_commands();
[[nodiscard]] Command queue_command();
[[nodiscard]] Command status_command();
[[nodiscard]] Command watch_command();
[[nodiscard]] Command drill_command();
[[nodiscard]] Command oob_sim_command();
[[nodiscard]] Command oob_status_command();
[[nodiscard]] Command oob_power_command();
[[nodiscard]] Command rescue_command();
[[nodiscard]] std::vector<Command> oob_device_commands();  // inventory, sensors, events, users, ..., firmware
[[nodiscard]] Command oob_console_command();
[[nodiscard]] Command oob_backup_command();
[[nodiscard]] Command oob_drift_command();
[[nodiscard]] Command oob_restore_command();
[[nodiscard]] Command oob_rotate_command();
[[nodiscard]] Command oob_journal_command();
[[nodiscard]] Command oob_trust_command();
[[nodiscard]] Command oob_operation_command();
[[nodiscard]] std::vector<Command> catalog_commands();
[[nodiscard]] Command schema_command();
[[nodiscard]] Command man_command();
[[nodiscard]] Command version_command();
[[nodiscard]] std::vector<Command> about_commands();  // completion, man, help, version

}  // namespace weft::cli
