// Runs the rules on an input, applies suppressions and a baseline, and returns the findings sorted for reading.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "check/core/rule.h"

namespace weft::check {

struct CheckOptions {
  std::vector<std::string> only;  // rule ids or areas; empty: all rules
  std::vector<std::string> skip;
  Severity lowest = Severity::note;  // drop findings below this
  bool use_suppressions = true;
  std::string today;               // YYYY-MM-DD; decides which suppressions have expired
  std::set<std::string> baseline;  // fingerprints of known findings
};

struct CheckResult {
  std::vector<Finding> findings;    // sorted by location, rule, subject
  std::vector<Finding> suppressed;  // with the reason in `fix`
  std::size_t known = 0;            // omitted because they are in the baseline
  std::size_t rules_run = 0;
  std::size_t rules_passed_over = 0;  // skipped: the cluster, configuration or live data they need is missing

  [[nodiscard]] std::size_t count(Severity severity) const;
};

[[nodiscard]] CheckResult run_checks(const CheckInput& input, const CheckOptions& options);

}  // namespace weft::check
