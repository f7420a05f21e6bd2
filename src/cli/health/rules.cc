// weft health explain and weft health rules: what signals of nodes mean.
#include <fmt/format.h>

#include <algorithm>

#include "base/asset.h"
#include "base/utf8.h"
#include "cli/health/rules_file.h"
#include "health/core/explain.h"
#include "health/readers/kernel_log.h"

namespace weft::cli {
namespace {

using RuleList = std::vector<const health::Rule*>;

// A line of a log is a question too: the rules that its signal matches.
RuleList find_rules_of_line(const health::Rules& rules, const std::string& line) {
  auto signal = health::read_kernel_line(line, {});
  if (!signal) signal = health::read_kernel_line("[    0.000000] " + line, {});  // copied without its time
  RuleList found;
  if (!signal) return found;
  for (const health::Rule& rule : rules.rules) {
    if (rule.matches(*signal)) found.push_back(&rule);
  }
  return found;
}

Exit run_explain(Context& context) {
  std::shared_ptr<const health::Rules> rules;
  if (const auto exit = read_health_rules(context, rules)) return *exit;
  std::string query;
  for (const std::string& word : context.arguments().words()) query += (query.empty() ? "" : " ") + word;
  RuleList found = health::find_rules(*rules, query);
  if (found.empty()) found = find_rules_of_line(*rules, query);
  if (found.empty()) {
    const std::string signal = health::signal_meant(query);
    if (!signal.empty()) return context.failed({ErrorCode::not_found, fmt::format("no rule looks at {}", signal), {}});
    return context.usage_error(fmt::format("{} is neither a rule nor a signal", in_backticks(query)),
                               {"write an Xid (79), a signal (sel:psu_lost), the id of a rule, or a line of the "
                                "kernel's log; `weft health rules` lists them"});
  }
  return context.deliver(health::explain_rules(*rules, found));
}

Exit run_rules(Context& context) {
  std::shared_ptr<const health::Rules> rules;
  if (const auto exit = read_health_rules(context, rules)) return *exit;
  if (context.arguments().has("print")) {
    if (context.arguments().has("rules") || !context.arguments().words().empty())
      return context.usage_error("--print writes the built-in rules file: leave out --rules and SEVERITY");
    return context.deliver(asset<"health/rules.yaml">());
  }
  const std::vector<std::string> severities = context.arguments().words();
  RuleList selected;
  for (const health::Rule& rule : rules->rules) {
    const std::string severity(model::text_of(rule.severity));
    if (severities.empty() || std::find(severities.begin(), severities.end(), severity) != severities.end())
      selected.push_back(&rule);
  }
  return context.deliver(health::list_rules(selected));
}

Command explain_rule_command() {
  Command command;
  command.name = "health explain";
  command.summary = "Explain an Xid, another signal or a line of the kernel's log";
  command.usage = "SIGNAL [OPTIONS]";
  command.description = {
      "Says what the signal means, how serious it is, what weft does about it and in which order, and on whose "
      "authority. Where vendors and operators disagree, the note says which one weft follows and why."};
  command.examples = {
      {"weft health explain 79", "Xid 79"},
      {"weft health explain sel:psu_lost", "A signal by its name"},
      {"weft health explain 'NVRM: Xid (PCI:0000:3b:00): 74, pid=0, NVLink: fatal error detected'", "A line of a log"}};
  command.arguments = {{.name = "SIGNAL", .help = "Xid, signal, rule or line of a log", .repeatable = true}};
  command.options = {health_rules_option(), output_option(), file_option()};
  command.run = run_explain;
  return command;
}

Command list_rules_command() {
  Command command;
  command.name = "health rules";
  command.summary = "List the rules over health signals, or verify a rules file";
  command.usage = "[SEVERITY...] [OPTIONS]";
  command.description = {
      "A rules file replaces the built-in rules. To change some, write the built-in ones to a file with --print, edit "
      "it, and verify it with --rules."};
  command.examples = {{"weft health rules fatal", "What takes a node out of service"},
                      {"weft health rules --print -f rules.yaml", "The built-in rules as a file"},
                      {"weft health rules --rules rules.yaml", "Verify and list a rules file"}};
  command.arguments = {{.name = "SEVERITY",
                        .help = "only rules of these severities",
                        .choices = choices_named({"info", "warning", "degraded", "fatal"}),
                        .required = false,
                        .repeatable = true}};
  command.options = {health_rules_option(),
                     {.name = "print", .help = "print the built-in rules file"},
                     output_option(),
                     file_option()};
  command.run = run_rules;
  return command;
}

}  // namespace

std::vector<Command> health_rule_commands() { return {explain_rule_command(), list_rules_command()}; }

}  // namespace weft::cli
