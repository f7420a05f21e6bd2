#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/utf8.h"
#include "cli/design/findings.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxRelated = 8;

Diagnostic as_diagnostic(const check::Finding& finding) {
  Diagnostic diagnostic;
  diagnostic.severity = finding.severity;
  diagnostic.message = finding.message;
  diagnostic.place = finding.place;
  diagnostic.length = finding.length;
  diagnostic.hint = finding.fix.empty() ? std::string(finding.rule->fix) : finding.fix;
  return diagnostic;
}

std::vector<std::string> notes_of(const check::Finding& finding, const Sources& sources) {
  std::vector<std::string> notes;
  for (const check::Finding::Related& related : finding.related) {
    if (notes.size() == kMaxRelated) {
      notes.push_back(fmt::format("... and {} more", finding.related.size() - kMaxRelated));
      break;
    }
    notes.push_back(related.place.known() ? sources.describe(related.place) + ": " + related.text : related.text);
  }
  return notes;
}

// How much was seen: without it, a folder with little in it looks like a correct cluster.
std::string cable_line(const check::CableCount& cables) {
  return fmt::format("{}: {} as planned ({} seen from both ends), {} different, {} missing, {} not reported\n",
                     grouped_plural(cables.planned, "planned cable", "planned cables"), group_digits(cables.matching),
                     group_digits(cables.certain), group_digits(cables.differing), group_digits(cables.missing),
                     group_digits(cables.not_reported));
}

std::string closing_line(const FindingsContext& context) {
  const check::CheckResult& result = context.result;
  std::string counts;
  const auto add = [&](Severity severity, const char* noun) {
    const std::size_t n = result.count(severity);
    if (n > 0) counts += (counts.empty() ? "" : ", ") + plural(n, noun);
  };
  add(Severity::error, "error");
  add(Severity::warning, "warning");
  add(Severity::note, "note");
  std::string line = counts.empty() ? "no findings" : counts;
  line += fmt::format(" in {}; ", context.checked);
  if (result.rules_passed_over > 0) {
    line += fmt::format("{} of {} ran, the others need more input", result.rules_run,
                        plural(result.rules_run + result.rules_passed_over, "rule"));
  } else {
    line += plural(result.rules_run, "rule") + " ran";
  }
  if (!result.suppressed.empty()) line += fmt::format(", {} suppressed", result.suppressed.size());
  if (result.known > 0) line += fmt::format(", {} in the baseline", result.known);
  return line + "\n";
}

}  // namespace

std::string_view severity_text(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "note";
}

std::string findings_text(const FindingsContext& context) {
  std::string out;
  for (const check::Finding& finding : context.result.findings) {
    out += format_diagnostic(as_diagnostic(finding), finding.rule->id, notes_of(finding, context.sources),
                             context.sources, context.color);
  }
  if (!context.brief) {
    if (!out.empty()) out += "\n";
    if (context.live != nullptr) out += cable_line(context.live->cables());
    out += closing_line(context);
    if (!context.result.findings.empty()) {
      out += fmt::format("run `weft explain {}` for the reason and the fix of a rule\n",
                         context.result.findings.front().rule->id);
    }
  }
  return out;
}

std::string findings_lines(const FindingsContext& context) {
  std::string out;
  for (const check::Finding& finding : context.result.findings) {
    const std::string where = finding.place.known() ? context.sources.describe(finding.place) : finding.subject;
    out += fmt::format("{}: {}: {} [{}]\n", printable(where), severity_text(finding.severity),
                       printable(finding.message), finding.rule->id);
  }
  return out;
}

}  // namespace weft::cli
