// Check rules: a table of data and functions. The meaning of an id never changes and an id is never reused. `weft
// explain`, the reference page, SARIF and the tests are all generated from these tables. A rule's example is one edit
// to a good file that triggers this rule and no other; users see it and the tests run it.
#pragma once

#include <string_view>
#include <vector>

#include "check/core/check_input.h"
#include "check/core/finding.h"

namespace weft::check {

enum class RuleNeeds : std::uint8_t {
  design,  // a compiled cluster
  config,  // actual configuration; the cluster file, if given, is the desired state
  both,
  live,  // data from the running cluster, and the cluster file
};

struct RuleExample {
  std::string_view file;  // below examples/: "pod32.yaml", "running/be-leaf.json"
  std::string_view from;  // text that occurs exactly once in it; "" to append `to` at the end
  std::string_view to;
};

struct Rule {
  std::string_view id;  // area and number: QO012
  Severity severity = Severity::warning;
  RuleNeeds needs = RuleNeeds::design;
  std::string_view title;   // what is wrong, one line, lower case start, no full stop
  std::string_view reason;  // why it is a problem, in a few sentences
  std::string_view source;  // reference: standard, paper, vendor page, issue
  std::string_view fix;     // what to do, imperative
  RuleExample example;
  void (*run)(const CheckInput& input, Report& report) = nullptr;
};

struct RuleArea {
  std::string_view code;
  std::string_view title;
};
[[nodiscard]] const std::vector<RuleArea>& rule_areas();

// All rules, sorted by id.
[[nodiscard]] const std::vector<Rule>& all_rules();
[[nodiscard]] const Rule* find_rule(std::string_view id);  // case-insensitive

// The table of each file of check/rules.
[[nodiscard]] std::vector<Rule> backend_rules();     // BE
[[nodiscard]] std::vector<Rule> storage_rules();     // ST
[[nodiscard]] std::vector<Rule> frontend_rules();    // FE
[[nodiscard]] std::vector<Rule> hardware_rules();    // HW
[[nodiscard]] std::vector<Rule> qos_rules();         // QO
[[nodiscard]] std::vector<Rule> isolation_rules();   // IS
[[nodiscard]] std::vector<Rule> resilience_rules();  // RE
[[nodiscard]] std::vector<Rule> oob_rules();         // OB
[[nodiscard]] std::vector<Rule> scheduling_rules();  // SC
[[nodiscard]] std::vector<Rule> security_rules();    // SE
[[nodiscard]] std::vector<Rule> operations_rules();  // OP
[[nodiscard]] std::vector<Rule> host_rules();        // HO: hosts, pods, jobs as configured
[[nodiscard]] std::vector<Rule> rendered_rules();    // RN: rendered trees compared with a new rendering
[[nodiscard]] std::vector<Rule> live_rules();        // LV: actual state compared with the design

}  // namespace weft::check
