// How the findings of `weft check` are written: for people, for editors and scripts, for code-scanning services (SARIF
// 2.1.0) and for test reports (JUnit). What is found is check's business.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "check/core/checker.h"

namespace weft::cli {

struct FindingsContext {
  const check::CheckResult& result;
  const Sources& sources;
  std::string checked;  // what was looked at, for the closing line: "pod16.yaml and 12 files"
  bool color = false;
  bool brief = false;  // without the closing line
};

[[nodiscard]] std::string findings_text(const FindingsContext& context);
// path:line:column: severity: message [ID], one line each, as editors read it.
[[nodiscard]] std::string findings_lines(const FindingsContext& context);
[[nodiscard]] std::string findings_json(const FindingsContext& context);
[[nodiscard]] std::string findings_sarif(const FindingsContext& context);
[[nodiscard]] std::string findings_junit(const FindingsContext& context);

// A baseline is a file of findings that are known: what `weft check --write-baseline` wrote.
[[nodiscard]] std::string write_baseline(const check::CheckResult& result);
[[nodiscard]] Result<std::set<std::string>> read_baseline(const std::string& path);

[[nodiscard]] std::string_view severity_text(Severity severity);

}  // namespace weft::cli
