// weft check, weft rules and weft explain.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/table_layout.h"
#include "base/utf8.h"
#include "base/wildcard.h"
#include "check/core/checker.h"
#include "cli/design/findings.h"
#include "cli/framework/context.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/terminal.h"
#include "oob/audit/audit.h"

namespace weft::cli {
namespace {

constexpr std::size_t kWrap = 96;

Severity severity_named(const std::string& name, Severity otherwise) {
  if (name == "error") return Severity::error;
  if (name == "warning") return Severity::warning;
  if (name == "note") return Severity::note;
  return otherwise;
}

// Unknown ids are errors: a misspelled one would silently check nothing.
bool ids_exist(Context& context, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    const bool area =
        std::any_of(check::rule_areas().begin(), check::rule_areas().end(), [&](const check::RuleArea& a) {
          return a.code.size() == id.size() && check::find_rule(std::string(a.code) + "001") != nullptr &&
                 std::equal(a.code.begin(), a.code.end(), id.begin(), [](char x, char y) { return x == (y & ~0x20); });
        });
    if (area || check::find_rule(id) != nullptr) continue;
    std::vector<std::string_view> names;
    for (const check::Rule& rule : check::all_rules()) names.push_back(rule.id);
    context.usage_error("unknown rule or area " + in_backticks(id),
                        {did_you_mean(id, names), "run `weft rules` for a list"});
    return false;
  }
  return true;
}

bool looks_like_a_day(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

bool read_options(Context& context, check::CheckOptions& options) {
  const Arguments& arguments = context.arguments();
  options.only = arguments.values("rule");
  options.skip = arguments.values("skip");
  if (!ids_exist(context, options.only) || !ids_exist(context, options.skip)) return false;
  options.lowest = severity_named(arguments.value("severity"), Severity::note);
  options.use_suppressions = !arguments.has("no-suppress");
  options.today = arguments.has("today") ? arguments.value("today") : context.today();
  if (arguments.has("today") && !looks_like_a_day(options.today)) {
    context.usage_error("--today takes a date such as 2027-03-31, not " + in_backticks(options.today));
    return false;
  }
  if (!arguments.has("baseline")) return true;
  Result<std::set<std::string>> known = read_baseline(arguments.value("baseline"));
  if (!known.ok()) {
    context.failed(known.error());
    return false;
  }
  options.baseline = std::move(known).value();
  return true;
}

std::string write_findings(const std::string& format, const FindingsContext& findings) {
  if (format == "lines") return findings_lines(findings);
  if (format == "json") return findings_json(findings);
  if (format == "sarif") return findings_sarif(findings);
  if (format == "junit") return findings_junit(findings);
  return findings_text(findings);
}

std::string what_was_checked(const std::string& cluster, std::size_t files) {
  if (files == 0) return cluster;
  const std::string counted = fmt::format("{} file{} of configuration", files, files == 1 ? "" : "s");
  return cluster.empty() ? counted : fmt::format("{} and {}", cluster, counted);
}

Exit run_check(Context& context) {
  const Arguments& arguments = context.arguments();
  check::CheckOptions options;
  if (!read_options(context, options)) return Exit::usage;
  const std::string path = arguments.word(0);
  std::vector<std::string> files = arguments.values("config");
  const std::vector<std::string>& live = arguments.values("live");
  files.insert(files.end(), live.begin(), live.end());
  if (path.empty() && files.empty()) {
    return context.usage_error("missing input: give CLUSTER or --config",
                               {usage_of(context.command()), std::string(kClusterHint)});
  }
  if (path.empty() && !live.empty()) {
    return context.usage_error("--live needs a cluster file to compare with",
                               {"usage: weft check CLUSTER --live PATH"});
  }
  const std::unique_ptr<model::Loaded> loaded = path.empty() ? context.open_catalog() : context.open_cluster(path);
  config::ConfigSet config;
  read_configs(files, *loaded, config);
  if (!context.report(*loaded)) return Exit::usage;

  const check::CheckInput input(loaded->cluster.get(), config, loaded->sources, !live.empty());
  const check::CheckResult result = check::run_checks(input, options);
  if (arguments.has("write-baseline")) {
    const Status written = write_file(arguments.value("write-baseline"), write_baseline(result));
    if (!written.ok()) return context.failed(written.error());
    context.note(fmt::format("wrote {}, {} findings", arguments.value("write-baseline"), result.findings.size()));
    return Exit::ok;
  }
  const Severity fail_on = severity_named(arguments.value("fail-on"), Severity::warning);
  const bool fails = std::any_of(result.findings.begin(), result.findings.end(),
                                 [&](const check::Finding& finding) { return finding.severity <= fail_on; });
  if (!live.empty()) {
    for (const std::string& note : input.comparison().notes()) context.note(note);
  }
  const FindingsContext findings{result,
                                 loaded->sources,
                                 what_was_checked(path, config.files.size()),
                                 context.colors_result(),
                                 context.quiet(),
                                 live.empty() ? nullptr : &input.comparison()};
  return context.deliver(write_findings(arguments.value("output"), findings), fails ? Exit::findings : Exit::ok);
}

const char* needs_text(check::RuleNeeds needs) {
  switch (needs) {
    case check::RuleNeeds::design:
      return "design";
    case check::RuleNeeds::config:
      return "configuration";
    case check::RuleNeeds::both:
      return "design and configuration";
    case check::RuleNeeds::live:
      return "design and live state";
  }
  return "";
}

Exit run_rules(Context& context) {
  const std::string area = context.arguments().word(0);
  TableSection table;
  table.key = "rules";
  table.title = "Rules";
  table.columns = {{.key = "rule", .title = "Rule"},
                   {.key = "severity", .title = "Severity"},
                   {.key = "needs", .title = "Needs"},
                   {.key = "title", .title = "Problem"},
                   {.key = "reason", .title = "Reason", .wide = true},
                   {.key = "fix", .title = "Fix", .wide = true},
                   {.key = "source", .title = "Source", .wide = true}};
  for (const check::Rule& rule : check::all_rules()) {
    if (!area.empty() && rule.id.substr(0, 2) != area) continue;
    table.rows.push_back({rule.id, severity_text(rule.severity), needs_text(rule.needs), rule.title, rule.reason,
                          rule.fix, rule.source});
  }
  for (const oob::AuditRule& rule : oob::audit_rules()) {
    if ((!area.empty() && rule.id.substr(0, 2) != area) || check::find_rule(rule.id) != nullptr) continue;
    table.rows.push_back({rule.id, severity_text(rule.severity), "live BMCs", rule.title,
                          "Only visible on the live BMC: see `weft oob audit`.", "shown by the audit with each finding",
                          "the section on the audit in docs/oob.md"});
  }
  Document document;
  document.kind = "rules";
  const std::size_t count = table.rows.size();
  document.sections.emplace_back(std::move(table));
  document.notes.push_back(fmt::format("{} rules; run `weft explain ID` for details of a rule.", count));
  return context.deliver(document);
}

// The text in lines of at most `width` columns, all but the first after `indent`.
std::string paragraph(std::string_view text, std::string_view indent, std::size_t width) {
  std::string out;
  for (const std::string& line : wrap_text(text, width - indent.size())) {
    out += out.empty() ? std::string() : std::string(indent);
    out += line + "\n";
  }
  return out;
}

std::string prefixed(std::string_view text, std::string_view prefix) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("    {} {}\n", prefix, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string explained(const check::Rule& rule, std::size_t width) {
  std::string out =
      paragraph(fmt::format("{} ({}): {}", rule.id, severity_text(rule.severity), rule.title), "  ", width) + "\n";
  out += "Why it matters\n  " + paragraph(rule.reason, "  ", width);
  out += "\nWhat to do\n  " + paragraph(rule.fix, "  ", width);
  if (!rule.example.file.empty()) {
    out += fmt::format("\nExample: this change to examples/{} triggers it\n", rule.example.file);
    out += prefixed(rule.example.from, "-") + prefixed(rule.example.to, "+");
  }
  out += fmt::format("\nNeeds: {}\n", needs_text(rule.needs));
  out += paragraph(fmt::format("Source: {}", rule.source), "        ", width);
  out += fmt::format(
      "\nTo accept it in a cluster file, with a reason:\n    suppress:\n"
      "      - {{rule: {}, subject: \"*\", reason: \"...\", until: 2027-12-31}}\n",
      rule.id);
  return out;
}

// Rules about live BMCs have no example file; null for other rules.
const oob::AuditRule* find_audit_rule(std::string_view id) {
  const std::vector<oob::AuditRule>& rules = oob::audit_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const oob::AuditRule& rule) {
    return wildcard_match(rule.id, id, LetterCase::ignored);
  });
  return found == rules.end() ? nullptr : &*found;
}

Exit run_explain(Context& context) {
  const std::string id = context.arguments().word(0);
  const check::Rule* rule = check::find_rule(id);
  const oob::AuditRule* audit = rule == nullptr ? find_audit_rule(id) : nullptr;
  if (audit != nullptr) {
    return context.deliver(
        fmt::format("{} ({}): {}\n\nFound on live BMCs by `weft oob audit`, which shows the fix with each finding.\n",
                    audit->id, severity_text(audit->severity), audit->title));
  }
  if (rule == nullptr) {
    ids_exist(context, {id.size() == 2 ? id + "?" : id});
    return Exit::usage;
  }
  return context.deliver(explained(*rule, std::min(kWrap, help_width(context.io()))));
}

std::vector<Choice> area_choices() {
  std::vector<Choice> choices;
  for (const check::RuleArea& area : check::rule_areas())
    choices.push_back({std::string(area.code), std::string(area.title)});
  return choices;
}

}  // namespace

Option config_option() {
  return {.name = "config",
          .value = "PATH",
          .help = "real configuration: a file, a directory, or DEVICE=FILE (* in DEVICE means any text)",
          .hint = Hint::file,
          .repeatable = true};
}

Command check_command() {
  Command command;
  command.name = "check";
  command.summary = "Check a design or a running cluster for problems";
  command.synonyms = {"validate", "verify", "lint"};
  command.usage = "[CLUSTER] [--config PATH]... [--live PATH]... [OPTIONS]";
  command.description = {
      "Runs every rule on the compiled cluster and on real configuration: SONiC config_db.json, NX-OS running configs, "
      "Cumulus NVUE commands, Kubernetes objects, sbatch scripts, slurm.conf, exports, sysctls. Files are recognized "
      "by content, switch configs by host name.",
      "--live compares the actual state with the design: host files of `weft discover`, LLDP neighbors (lldpcli -f "
      "json, SONiC, NX-OS), InfiniBand sweeps (ibnetdiscover, iblinkinfo).",
      "Exit code 1 if there are findings above note (see --fail-on), 2 if a file is invalid."};
  command.examples = {{"weft check cluster.yaml", "The design alone"},
                      {"weft check cluster.yaml --config configs/", "With the configuration of switches and jobs"},
                      {"weft check --config leaf.json --config nic.yaml", "Configuration alone, without a design"},
                      {"weft check cluster.yaml --live seen/ -o sarif -f weft.sarif",
                       "Actual state, as SARIF for a code-scanning service"},
                      {"weft check cluster.yaml --write-baseline known.json",
                       "Accept the current findings; use --baseline in later runs"}};
  command.arguments = {cluster_argument_or({"config"})};
  command.options = {
      config_option(),
      {.name = "live",
       .value = "PATH",
       .help = "actual state: a file, a directory, or DEVICE=FILE",
       .hint = Hint::file,
       .repeatable = true},
      {.name = "rule", .letter = 'r', .value = "ID", .help = "only this rule or area (QO)", .repeatable = true},
      {.name = "skip", .value = "ID", .help = "skip this rule or area", .repeatable = true},
      {.name = "severity",
       .value = "LEVEL",
       .help = "show findings of this severity or worse",
       .fallback = "note",
       .choices = choices_named({"error", "warning", "note"})},
      {.name = "fail-on",
       .value = "LEVEL",
       .help = "exit with code 1 if a finding is at least this severe",
       .fallback = "warning",
       .choices = choices_named({"error", "warning", "note"})},
      {.name = "baseline", .value = "FILE", .help = "omit the findings listed in this file", .hint = Hint::file},
      {.name = "write-baseline", .value = "FILE", .help = "write the findings as a baseline", .hint = Hint::file},
      {.name = "no-suppress", .help = "also show findings that the cluster file suppresses"},
      {.name = "today", .value = "DATE", .help = "date for expiring suppressions, YYYY-MM-DD"},
      {.name = "output",
       .letter = 'o',
       .value = "FORMAT",
       .help = "format of the findings",
       .fallback = "text",
       .choices = {{"text", "with the line and a caret"},
                   {"lines", "one line per finding, for editors"},
                   {"json", "everything, schema_version 1"},
                   {"sarif", "SARIF 2.1.0"},
                   {"junit", "JUnit XML, one test case per rule"}}},
      file_option(),
      catalog_option()};
  command.run = run_check;
  return command;
}

Command rules_command() {
  Command command;
  command.name = "rules";
  command.summary = "List the rules of `weft check`";
  command.usage = "[AREA] [OPTIONS]";
  command.examples = {{"weft rules", "All of them"}, {"weft rules QO -o wide", "One area, with reasons"}};
  command.arguments = {{.name = "AREA", .help = "only this area", .choices = area_choices(), .required = false}};
  command.options = {output_option(), file_option()};
  command.run = run_rules;
  return command;
}

Command explain_command() {
  Command command;
  command.name = "explain";
  command.summary = "Explain a rule of `weft check`";
  command.usage = "RULE";
  command.examples = {{"weft explain QO001", "Reason, fix and an example"}};
  command.arguments = {{.name = "RULE", .help = "id of the rule", .hint = Hint::rule}};
  command.options = {file_option()};
  command.run = run_explain;
  return command;
}

}  // namespace weft::cli
