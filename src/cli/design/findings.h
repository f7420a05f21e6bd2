// Output formats of the findings of `weft check`: for people, for editors and scripts, for code-scanning services
// (SARIF 2.1.0) and for test reports (JUnit).
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "check/core/checker.h"
#include "check/live/comparison.h"

namespace weft::cli {

struct FindingsContext {
  const check::CheckResult& result;
  const Sources& sources;
  std::string checked;  // what was checked, for the closing line: "pod16.yaml and 12 files"
  bool color = false;
  bool brief = false;                           // without the closing line
  const check::LiveComparison* live = nullptr;  // with --live
};

[[nodiscard]] std::string findings_text(const FindingsContext& context);
// path:line:column: severity: message [ID], one line each, as editors parse it.
[[nodiscard]] std::string findings_lines(const FindingsContext& context);
[[nodiscard]] std::string findings_json(const FindingsContext& context);
[[nodiscard]] std::string findings_sarif(const FindingsContext& context);
[[nodiscard]] std::string findings_junit(const FindingsContext& context);

// A baseline is a file of known findings, written by `weft check --write-baseline`.
[[nodiscard]] std::string write_baseline(const check::CheckResult& result);
[[nodiscard]] Result<std::set<std::string>> read_baseline(const std::string& path);

[[nodiscard]] std::string_view severity_text(Severity severity);

}  // namespace weft::cli
