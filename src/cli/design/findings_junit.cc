#include <fmt/format.h>

#include <map>

#include "base/utf8.h"
#include "cli/design/findings.h"

namespace weft::cli {
namespace {

// XML 1.0 allows no control characters except tab and line ends, not even escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

// One test case per rule; a rule with findings other than notes fails, with all of them in its text.
std::string findings_junit(const FindingsContext& context) {
  std::map<std::string_view, std::vector<const check::Finding*>> by_rule;
  for (const check::Finding& finding : context.result.findings) by_rule[finding.rule->id].push_back(&finding);
  std::string cases;
  std::size_t failures = 0;
  for (const check::Rule& rule : check::all_rules()) {
    cases += fmt::format("    <testcase classname=\"weft.{}\" name=\"{} {}\"", rule.id.substr(0, 2), rule.id,
                         escaped(rule.title));
    const auto found = by_rule.find(rule.id);
    if (found == by_rule.end()) {
      cases += "/>\n";
      continue;
    }
    std::string text;
    for (const check::Finding* finding : found->second) {
      const std::string where = finding->place.known() ? context.sources.describe(finding->place) : finding->subject;
      text += fmt::format("{}: {}\n", escaped(where), escaped(finding->message));
    }
    const bool failed = found->second.front()->severity != Severity::note;
    failures += failed ? 1 : 0;
    const char* element = failed ? "failure" : "system-out";
    const std::string attributes =
        failed ? fmt::format(" type=\"{}\" message=\"{}\"", severity_text(found->second.front()->severity),
                             escaped(found->second.front()->message))
               : std::string();
    cases += fmt::format(">\n      <{}{}>{}</{}>\n    </testcase>\n", element, attributes, text, element);
  }
  const std::size_t tests = check::all_rules().size();
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"weft check\" tests=\"{0}\" failures=\"{1}\">\n"
      "  <testsuite name=\"weft check\" tests=\"{0}\" failures=\"{1}\" errors=\"0\" skipped=\"0\">\n{2}"
      "  </testsuite>\n</testsuites>\n",
      tests, failures, cases);
}

}  // namespace weft::cli
