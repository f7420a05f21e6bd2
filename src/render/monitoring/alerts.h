// An alert as one value: the rule, the operator's response, and its test cases. The rules file, its promtool tests and
// the runbook are all generated from a list of these, so none can be missing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "render/monitoring/watch.h"

namespace weft::render::watch {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One input series of a promtool test: "up{job=\"node\"}" and values in promtool notation, one per minute.
struct TestSeries {
  std::string series;
  std::string values;
};

struct AlertCase {
  std::vector<TestSeries> series;
  std::string at;       // when the rule is evaluated: "40m"
  Labels labels{};      // of the alert that then fires, without those the rule adds; unused if it does not fire
  std::string value{};  // replaces {{ $value }} in its texts
  bool fires = true;
};

struct Alert {
  std::string name;
  std::string expr;
  std::string wait{};      // "for"
  std::string severity{};  // critical: page on-call; warning: handle today; info: dashboard only
  std::string fabric{};    // backend, storage, frontend, oob or host; "" if the series have the label already
  std::string summary{};   // may use {{ $labels.x }}
  std::string description{};
  std::string action{};  // for the runbook
  std::vector<AlertCase> cases{};
};

struct AlertGroup {
  std::string_view name;    // of the group and its file
  std::string_view source;  // source of the metric names and limits; lines of the file header
  std::vector<Alert> alerts;
};

struct RecordingRule {
  std::string name;
  std::string expr;
  Labels labels{};
};

[[nodiscard]] AlertGroup gpu_alerts(const Watch& watch);
[[nodiscard]] AlertGroup network_alerts(const Watch& watch);
[[nodiscard]] AlertGroup storage_alerts(const Watch& watch);
[[nodiscard]] AlertGroup host_alerts(const Watch& watch);
[[nodiscard]] AlertGroup scheduling_alerts(const Watch& watch);
[[nodiscard]] AlertGroup oob_alerts(const Watch& watch);
// Parts of network_alerts().
void add_pause_alerts(const Watch& watch, std::vector<Alert>& out);
void add_port_alerts(const Watch& watch, std::vector<Alert>& out);
void add_switch_alerts(const Watch& watch, std::vector<Alert>& out);

// Designed values, as series that alerts compare with.
[[nodiscard]] std::vector<RecordingRule> designed_rules(const Watch& watch);
[[nodiscard]] std::vector<RecordingRule> derived_rules(const Watch& watch);

[[nodiscard]] Value rules_document(const AlertGroup& group);
[[nodiscard]] Value tests_document(const AlertGroup& group);
[[nodiscard]] std::string runbooks_text(const Watch& watch, const std::vector<AlertGroup>& groups);

// A case in which the rule fires with these labels, and one in which it does not fire.
[[nodiscard]] AlertCase fires(std::vector<TestSeries> series, std::string at, Labels labels, std::string value = {});
[[nodiscard]] AlertCase silent(std::vector<TestSeries> series, std::string at);
// The "{a="1",b="2"}" part of a series.
[[nodiscard]] std::string selector(const Labels& labels);

}  // namespace weft::render::watch
