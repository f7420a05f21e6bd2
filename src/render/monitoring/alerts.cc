#include "render/monitoring/alerts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kRunbook = "runbooks.md#";

// The expansion of an annotation by Prometheus, for the templates that alerts here use.
std::string expanded(std::string text, const AlertCase& which) {
  for (const auto& [name, value] : which.labels) {
    std::string label = "{{ $labels.";
    label += name;
    label += " }}";
    text = replace_all(std::move(text), label, value);
  }
  for (std::size_t at = text.find("{{ "); at != std::string::npos; at = text.find("{{ ", at)) {
    const std::size_t end = text.find("}}", at);
    const bool value = text.find("$value", at) < end;
    text.replace(at, end + 2 - at, value ? which.value : "");
    at += value ? which.value.size() : 0;
  }
  return text;
}

Value label_map(const Labels& labels) {
  Value map = Value::map();
  for (const auto& [name, value] : labels) map[name] = value;
  return map;
}

Value annotations_of(const Alert& alert) {
  return Value::map({{"summary", alert.summary},
                     {"description", alert.description},
                     {"runbook", std::string(kRunbook) + to_lower(alert.name)}});
}

Value rule_of(const Alert& alert) {
  Value labels = Value::map({{"severity", alert.severity}});
  if (!alert.fabric.empty()) labels["fabric"] = alert.fabric;
  return Value::map({{"alert", alert.name},
                     {"expr", alert.expr},
                     {"for", alert.wait},
                     {"labels", std::move(labels)},
                     {"annotations", annotations_of(alert)}});
}

Value expectation(const Alert& alert, const AlertCase& which) {
  Value labels = label_map(which.labels);
  labels["severity"] = alert.severity;
  if (!alert.fabric.empty()) labels["fabric"] = alert.fabric;
  Value annotations = Value::map();
  const Value given = annotations_of(alert);
  for (const Value::Entry& entry : given.entries()) annotations[entry.key] = expanded(entry.value.text(), which);
  return Value::map({{"exp_labels", std::move(labels)}, {"exp_annotations", std::move(annotations)}});
}

Value test_of(const Alert& alert, const AlertCase& which) {
  Value series = Value::list();
  for (const TestSeries& one : which.series) {
    series.add(Value::map({{"series", one.series}, {"values", one.values}}));
  }
  Value expected = Value::list();
  if (which.fires) expected.add(expectation(alert, which));
  return Value::map(
      {{"name", fmt::format("{} {}", alert.name, which.fires ? "fires" : "is silent")},
       {"interval", "1m"},
       {"input_series", std::move(series)},
       {"alert_rule_test",
        Value::list(
            {Value::map({{"eval_time", which.at}, {"alertname", alert.name}, {"exp_alerts", std::move(expected)}})})}});
}

}  // namespace

AlertCase fires(std::vector<TestSeries> series, std::string at, Labels labels, std::string value) {
  return {std::move(series), std::move(at), std::move(labels), std::move(value), true};
}

AlertCase silent(std::vector<TestSeries> series, std::string at) {
  return {std::move(series), std::move(at), {}, {}, false};
}

std::string selector(const Labels& labels) {
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    out += name + "=\"";
    for (const char c : value) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    out += '"';
  }
  return out + "}";
}

Value rules_document(const AlertGroup& group) {
  Value rules = Value::list();
  for (const Alert& alert : group.alerts) rules.add(rule_of(alert));
  return Value::map({{"groups", Value::list({Value::map({{"name", group.name}, {"rules", std::move(rules)}})})}});
}

Value tests_document(const AlertGroup& group) {
  Value tests = Value::list();
  for (const Alert& alert : group.alerts) {
    for (const AlertCase& which : alert.cases) tests.add(test_of(alert, which));
  }
  return Value::map(
      {{"rule_files", Value::list({"../rules/recording.yml", fmt::format("../rules/{}.yml", group.name)})},
       {"evaluation_interval", "1m"},
       {"tests", std::move(tests)}});
}

std::string runbooks_text(const Watch& watch, const std::vector<AlertGroup>& groups) {
  std::string out = fmt::format(
      "# Runbooks of {}\n\nOne section per alert, with the anchor that its `runbook` annotation links to.\n",
      watch.cluster().name());
  for (const AlertGroup& group : groups) {
    for (const Alert& alert : group.alerts) {
      out += fmt::format("\n## {}\n\nGroup {}, severity {}, after {}.\n\n```\n{}\n```\n\n{}\n", alert.name, group.name,
                         alert.severity, alert.wait, alert.expr, alert.action);
    }
  }
  return out;
}

}  // namespace weft::render::watch
