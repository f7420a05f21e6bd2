// Check rules as data plus a function. An id never changes its meaning and is never reused. `weft explain`, the
// reference page, SARIF and the tests are all made from these tables. The example of a rule is one edit to a good file
// that triggers this rule and no other: it is shown to users and run by the tests.
#pragma once

#include <string_view>
#include <vector>

#include "check/core/check_input.h"
#include "check/core/finding.h"

namespace weft::check {

enum class RuleNeeds : std::uint8_t {
  design,  // a compiled cluster
  config,  // actual configuration; the cluster, if there is one, is the desired state
  both,
  live,  // data from the running cluster, and the cluster file
};

struct RuleExample {
  std::string_view file;  // below examples/: "pod32.yaml", "running/be-leaf.json"
  std::string_view from;  // text that occurs there exactly once; "" to append `to` at the end
  std::string_view to;
};

struct Rule {
  std::string_view id;  // area and number: QO012
  Severity severity = Severity::warning;
  RuleNeeds needs = RuleNeeds::design;
  std::string_view title;   // what is wrong, one line, lower case start, no full stop
  std::string_view reason;  // why it is a problem: one sentence or a few
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

// Every rule, by id.
[[nodiscard]] const std::vector<Rule>& all_rules();
[[nodiscard]] const Rule* find_rule(std::string_view id);  // any case

// The tables of each rules_*.cc.
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
[[nodiscard]] std::vector<Rule> rendered_rules();    // RN: rendered trees against what would be rendered now
[[nodiscard]] std::vector<Rule> live_rules();        // LV: what runs against what was designed

}  // namespace weft::check
