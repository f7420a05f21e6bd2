#include "health/core/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/text.h"

namespace weft::health {
namespace {

constexpr std::size_t kBriefSignals = 2;  // more are counted in a table for people

std::string name_of(const SignalPattern& pattern) {
  if (!pattern.name.empty()) return fmt::format("{}:{}", pattern.family, pattern.name);
  if (pattern.is_range()) return fmt::format("{}:{}-{}", pattern.family, pattern.from, pattern.to);
  return pattern.family + ":*";
}

std::string describe_tests(const Rule& rule) {
  std::string out;
  for (const DetailTest& test : rule.where) {
    if (!out.empty()) out += ", ";
    std::string bits;
    for (unsigned bit = 0; bit < 64; ++bit) {
      if ((test.bits >> bit & 1U) != 0) bits += fmt::format("{}{}", bits.empty() ? "" : ",", bit);
    }
    const std::string values = fmt::format("{}", fmt::join(test.values, " or "));
    out += test.values.empty() ? fmt::format("{} with a bit of {}", test.key, bits) : test.key + " " + values;
  }
  return out;
}

std::string_view meaning_of(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info: recorded, nothing else";
    case Severity::warning:
      return "warning: the node stays in service";
    case Severity::degraded:
      return "degraded: no new work, what runs there continues";
    case Severity::fatal:
      break;
  }
  return "fatal: the node is taken out of service";
}

std::string describe_actions(const Rule& rule) {
  if (rule.actions.size() == 1) return std::string(verb_of(rule.actions.front()));
  if (rule.actions.front() == Action::ignore)
    return fmt::format("nothing; {} if it persists", verb_of(rule.actions[1]));
  std::string out;
  for (std::size_t i = 0; i < rule.actions.size(); ++i) {
    out += fmt::format("{}{}. {}", i == 0 ? "" : ", ", i + 1, verb_of(rule.actions[i]));
  }
  return out;
}

std::string describe_end(const Rule& rule) {
  if (rule.severity == Severity::info) return {};
  if (rule.kind != ConditionKind::event) return "when the measurement no longer meets the condition";
  switch (rule.ends) {
    case Ends::repair:
      return "with a repair: a boot, a GPU reset or passed checks";
    case Ends::person:
      return "when an operator says so";
    case Ends::time:
      break;
  }
  return fmt::format("{} after the last event", format_duration(rule.clears_after));
}

FactsSection facts_of(const Rules& rules, const Rule& rule) {
  FactsSection section{"rule", rule.title, {}};
  const auto add = [&](const char* key, const char* title, std::string text) {
    if (!text.empty()) section.facts.push_back({key, title, std::move(text)});
  };
  add("id", "Rule", rule.id);
  add("signals", "Signals", describe_signals(rule));
  add("condition", "Condition", describe_condition(rule));
  add("severity", "Severity", std::string(meaning_of(rule.severity)));
  if (rule.category != Category::none && rule.severity >= Severity::warning) {
    add("score", "Score",
        fmt::format("-{} ({}); below {} the node is taken out of service",
                    rules.weights[static_cast<std::size_t>(rule.category)], model::text_of(rule.category),
                    rules.cordon_below));
  }
  add("scope", "Scope", std::string(model::text_of(rule.scope)));
  add("actions", "Actions", describe_actions(rule));
  add("ends", "Ends", describe_end(rule));
  add("maturity", "Maturity", std::string(model::text_of(rule.maturity)));
  add("source", "Source", rule.source);
  add("note", "Note", rule.note);
  return section;
}

}  // namespace

std::string_view verb_of(Action action) {
  switch (action) {
    case Action::ignore:
      return "nothing";
    case Action::restart_application:
      return "restart the application";
    case Action::check:
      return "run active checks";
    case Action::restart_service:
      return "restart the service";
    case Action::reset_gpu:
      return "reset the GPU";
    case Action::reboot:
      return "reboot";
    case Action::power_cycle:
      return "power cycle";
    case Action::replace_part:
      return "replace the part";
    case Action::ask_people:
      break;
  }
  return "ask an operator";
}

std::string describe_signals(const Rule& rule) {
  std::string out;
  for (const SignalPattern& pattern : rule.signals) out += (out.empty() ? "" : ", ") + name_of(pattern);
  return out;
}

std::string describe_condition(const Rule& rule) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() || text.empty() ? "" : "; ") + text; };
  add(describe_tests(rule));
  switch (rule.kind) {
    case ConditionKind::event:
      add(rule.at_least > 1
              ? fmt::format("{} on one part within {}", plural(rule.at_least, "event"), format_duration(rule.within))
              : std::string(rule.where.empty() ? "every event" : ""));
      break;
    case ConditionKind::above:
      add(fmt::format("above {:g}", rule.limit));
      break;
    case ConditionKind::below:
      add(fmt::format("below {:g}", rule.limit));
      break;
    case ConditionKind::mask:
      add(fmt::format("a bit of {:#x} is set", rule.mask));
      break;
    case ConditionKind::rise:
      add(rule.per.count() > 0 ? fmt::format("grows by more than {:g} within {}", rule.limit, format_duration(rule.per))
                               : fmt::format("grows by more than {:g} between two samples", rule.limit));
      break;
  }
  if (rule.samples > 1) add(fmt::format("{} in a row", plural(rule.samples, "sample")));
  if (rule.alone) add("nothing else above info in the same incident");
  return out;
}

std::string signal_meant(std::string_view words) {
  std::string text = to_lower(trim(words));
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 9 && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (is_number(text)) return "xid:" + text;
  for (const std::string_view family : {"sxid", "xid"}) {
    if (!text.starts_with(family)) continue;
    const std::size_t digits = text.find_first_not_of(" :", family.size());
    const std::string_view code = digits == std::string::npos ? "" : std::string_view(text).substr(digits);
    if (is_number(code)) return fmt::format("{}:{}", family, code);
  }
  const auto pattern = parse_pattern(text);
  return pattern && !pattern->name.empty() ? text : std::string();
}

std::vector<const Rule*> find_rules(const Rules& rules, std::string_view query) {
  if (const Rule* rule = rules.find(query)) return {rule};
  const std::string signal = signal_meant(query);
  std::vector<const Rule*> found;
  if (signal.empty()) return found;
  for (const Rule& rule : rules.rules) {
    const auto matches = [&](const SignalPattern& pattern) { return pattern.matches(signal); };
    if (std::any_of(rule.signals.begin(), rule.signals.end(), matches)) found.push_back(&rule);
  }
  return found;
}

Document explain_rules(const Rules& rules, const std::vector<const Rule*>& selected) {
  Document document;
  document.kind = "health-rules";
  for (const Rule* rule : selected) document.sections.emplace_back(facts_of(rules, *rule));
  return document;
}

Document list_rules(const std::vector<const Rule*>& selected) {
  TableSection table{"rules", "", {}, {}};
  table.columns = {{"id", "Rule"},
                   {"signals", "Signals", Column::Align::left, false, 2},
                   {"title", "Meaning", Column::Align::left, false, 4},
                   {"condition", "Condition", Column::Align::left, true, 1},
                   {"severity", "Severity", Column::Align::left, false, 5},
                   {"scope", "Scope", Column::Align::left, true, 0},
                   {"actions", "Actions", Column::Align::left, false, 3},
                   {"maturity", "Maturity", Column::Align::left, true, 0},
                   {"source", "Source", Column::Align::left, true, 0},
                   {"note", "Note", Column::Align::left, true, -1}};
  for (const Rule* rule : selected) {
    Cell signals = describe_signals(*rule);
    if (rule->signals.size() > kBriefSignals)
      signals.brief = fmt::format("{}, {} more", name_of(rule->signals.front()), rule->signals.size() - 1);
    table.rows.push_back({rule->id, std::move(signals), rule->title, describe_condition(*rule),
                          std::string(model::text_of(rule->severity)), std::string(model::text_of(rule->scope)),
                          describe_actions(*rule), std::string(model::text_of(rule->maturity)), rule->source,
                          rule->note});
  }
  Document document;
  document.kind = "health-rules";
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::health
