// A plan as text and tables.
#include <fmt/format.h>

#include "base/host_range.h"
#include "base/quoting.h"
#include "base/utf8.h"
#include "oob/rescue/plan.h"

namespace weft::oob {
namespace {

constexpr std::size_t kWidestHosts = 40;  // columns for host names in a table

std::string hosts_text(const std::vector<std::string>& hosts, Wording wording) {
  if (hosts.empty()) return "no device";
  std::string names = fold_hosts(hosts);
  if (wording == Wording::full || names.size() <= kWidestHosts) return names;
  return fmt::format("{} devices", hosts.size());
}

// Rounded up to minutes: "1 h 44 min".
std::string long_time(Duration time) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  const std::int64_t minutes = (time.count() + kMinute - 1) / kMinute;
  return minutes < 60 ? fmt::format("{} min", minutes) : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_of(" \t'\"\\$`|&;<>()*?#~") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : shell_quote_always(word));
  }
  return printable(text);
}

std::string share_text(const RescueCheck& check) {
  return check.share == 100 ? std::string() : fmt::format(" ({} % of them)", check.share);
}

std::string console_text(const RescueCheck& check) {
  const std::string what = fmt::format("console of `{}` shows `{}`", check.step, check.matches);
  if (check.most < 0) return check.least == 1 ? what : fmt::format("{} at least {} times", what, check.least);
  if (check.least == check.most) return fmt::format("{} {} times", what, check.most);
  return fmt::format("{} {} to {} times", what, check.least, check.most);
}

std::string command_text(const RescueCheck& check) {
  std::string text = fmt::format("`{}` {}", words_text(check.words),
                                 check.code == kAnyExit ? std::string("ends") : fmt::format("exits {}", check.code));
  if (!check.matches.empty()) text += fmt::format(" and prints `{}`", check.matches);
  if (!check.lacks.empty()) text += fmt::format(" and prints no `{}`", check.lacks);
  return text;
}

FactsSection plan_facts(const RescuePlan& plan, const RescueHosts& hosts) {
  FactsSection facts{.key = "rescue", .title = "Rescue", .facts = {}};
  facts.facts.push_back({"runbook", "Runbook", plan.runbook});
  facts.facts.push_back({"title", "Purpose", plan.title});
  facts.facts.push_back({"cluster", "Cluster", plan.cluster});
  for (const auto& [name, value] : plan.parameters)
    facts.facts.push_back({"parameter_" + name, name, printable(value)});
  facts.facts.push_back(
      {"longest_s", "Takes at most", Cell(plan.longest.count() / 1'000'000'000, long_time(plan.longest))});
  if (plan.people > 0)
    facts.facts.push_back(
        {"people", "Waits for the operator", Cell(plan.people, fmt::format("{} times", plan.people))});
  facts.facts.push_back({"hit", "Interrupts", plan.hit.empty() ? std::string("nothing") : hosts.fold(plan.hit)});
  facts.facts.push_back({"felt", "Affects",
                         plan.felt.empty() ? std::string("no server")
                                           : fmt::format("{} servers: {}", plan.felt.size(), hosts.fold(plan.felt))});
  facts.facts.push_back({"digest", "Digest", plan.digest});
  return facts;
}

}  // namespace

std::string describe(const RescueAction& action, Wording wording) {
  switch (action.kind) {
    case RunbookDo::power:
      return fmt::format("power {} {}", to_text(action.verb), hosts_text(action.hosts, wording));
    case RunbookDo::console:
      return fmt::format("listen to the console of {} for {}{}", hosts_text(action.hosts, wording),
                         weft::to_text(action.time),
                         action.until.empty() ? std::string() : fmt::format(", until `{}`", action.until));
    case RunbookDo::run:
      return fmt::format("run {}", words_text(action.words));
    case RunbookDo::wait:
      return fmt::format("wait {}", weft::to_text(action.time));
    case RunbookDo::confirm:
      return fmt::format("ask the operator: {}", action.text);
    case RunbookDo::backup:
      return fmt::format("back up the configs of {}", hosts_text(action.hosts, wording));
    case RunbookDo::restore:
      return fmt::format("restore the config of {} from `{}`", hosts_text(action.hosts, wording), action.from);
    case RunbookDo::reach:
      return fmt::format("query every BMC of {}", hosts_text(action.hosts, wording));
    case RunbookDo::note:
      break;
  }
  return action.text;
}

std::string describe(const RescueCheck& check, Wording wording) {
  switch (check.kind) {
    case RunbookSee::power:
      return fmt::format("{} {}{}", hosts_text(check.hosts, wording), check.on ? "on" : "off", share_text(check));
    case RunbookSee::reachable:
      return fmt::format("BMC of {} responds{}", hosts_text(check.hosts, wording), share_text(check));
    case RunbookSee::command:
      return command_text(check);
    case RunbookSee::console:
      return console_text(check);
    case RunbookSee::port:
      return fmt::format("port {} of {}{} responds{}", check.port, hosts_text(check.hosts, wording),
                         check.at.empty() ? "" : " (" + check.at + ")", share_text(check));
    case RunbookSee::ping:
      return fmt::format("{}{} responds to ping{}", hosts_text(check.hosts, wording),
                         check.at.empty() ? "" : " (" + check.at + ")", share_text(check));
    case RunbookSee::since:
      return fmt::format("{} since `{}`", weft::to_text(check.time), check.step);
    case RunbookSee::lines_kept:
      return fmt::format("every line of `{}` is in `{}`", check.step, check.later);
    case RunbookSee::config:
      break;
  }
  return fmt::format("config of {} is that of `{}`{}", hosts_text(check.hosts, wording), check.from, share_text(check));
}

std::string describe(const std::vector<RescueCheck>& checks, Wording wording) {
  std::string text;
  for (const RescueCheck& check : checks) text += (text.empty() ? "" : "; ") + describe(check, wording);
  return text;
}

std::string describe(const std::vector<RescueBack>& back, Wording wording) {
  std::string text;
  for (const RescueBack& part : back)
    text += (text.empty() ? "" : "; ") + (part.action ? describe(*part.action, wording) : part.tell);
  return text;
}

Document rescue_plan_document(const RescuePlan& plan, const RescueHosts& hosts) {
  constexpr Wording kBrief = Wording::brief;
  Document document;
  document.kind = "rescue-plan";
  document.sections.emplace_back(plan_facts(plan, hosts));
  TableSection table{.key = "steps", .title = "Steps", .columns = {}, .rows = {}};
  table.columns = {{"number", "#", Column::Align::right},
                   {"step", "Step"},
                   {"title", "Purpose", Column::Align::left, true},
                   {"needs", "Needs"},
                   {"skip_if", "Not needed if", Column::Align::left, true},
                   {"does", "Does"},
                   {"hosts", "Hosts", Column::Align::left, true},
                   {"way", "Path"},
                   {"expect", "Evidence"},
                   {"within_s", "Within", Column::Align::right},
                   {"on_failure", "Or else"},
                   {"back", "Way back"},
                   {"danger", "Danger", Column::Align::left, true},
                   {"repeat_safe", "Safe to repeat", Column::Align::left, true}};
  int number = 0;
  for (const RescueStep& step : plan.steps) {
    std::string needs = fmt::format("{}", fmt::join(step.after, ", "));
    if (!step.needs.empty()) needs += (needs.empty() ? "" : "; ") + describe(step.needs, kBrief);
    table.rows.push_back(
        {++number, step.id, step.title, needs, describe(step.skip_if, kBrief),
         step.absent ? std::string("nothing: this cluster has no such device") : describe(step.action, kBrief),
         step.action.hosts.empty() ? std::string() : fold_hosts(step.action.hosts), step.way,
         describe(step.expect, kBrief),
         step.within.count() == 0 ? Cell() : Cell(step.within.count() / 1'000'000'000, weft::to_text(step.within)),
         std::string(to_text(step.on_failure)), describe(step.back, kBrief), step.danger, step.repeat_safe});
  }
  document.sections.emplace_back(std::move(table));
  if (!plan.findings.empty()) {
    TableSection findings{.key = "findings", .title = "Findings", .columns = {}, .rows = {}};
    findings.columns = {{"severity", "Severity"}, {"step", "Step"}, {"finding", "Finding"}};
    for (const RescueFinding& finding : plan.findings)
      findings.rows.push_back({finding.severity == RescueSeverity::error ? "error" : "warning",
                               finding.step.empty() ? std::string("-") : finding.step, finding.text});
    document.sections.emplace_back(std::move(findings));
  }
  if (plan.refused()) document.notes.emplace_back("This plan depends on what it recovers: it is refused.");
  return document;
}

}  // namespace weft::oob
