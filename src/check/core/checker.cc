#include "check/core/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/wildcard.h"
#include "check/core/match.h"

namespace weft::check {
namespace {

bool selects(const std::string& word, const Rule& rule) {
  const auto same = [](char a, char b) { return a == b || (a ^ b) == 0x20; };  // ids are letters and digits
  return word.size() <= rule.id.size() && !word.empty() &&
         std::equal(word.begin(), word.end(), rule.id.begin(), same) &&
         (word.size() == rule.id.size() || word.size() == 2);
}

bool is_selected(const Rule& rule, const CheckOptions& options) {
  const auto hit = [&](const std::string& word) { return selects(word, rule); };
  if (!options.only.empty() && std::none_of(options.only.begin(), options.only.end(), hit)) return false;
  return std::none_of(options.skip.begin(), options.skip.end(), hit);
}

// Whether any of it may hold what rules about configuration read: neighbors and sweeps are for the live rules alone.
bool has_configuration(const config::ConfigSet& config) {
  using config::ConfigKind;
  const auto is_configuration = [](const config::ConfigSet::File& file) {
    return file.kind != ConfigKind::lldp && file.kind != ConfigKind::ibnetdiscover &&
           file.kind != ConfigKind::iblinkinfo;
  };
  return !config.trees.empty() || config.problems.error_count() + config.problems.warning_count() > 0 ||
         std::any_of(config.files.begin(), config.files.end(), is_configuration);
}

bool can_run(const Rule& rule, const CheckInput& input, bool has_configuration) {
  switch (rule.needs) {
    case RuleNeeds::design:
      return input.has_cluster();
    case RuleNeeds::config:
      return has_configuration;
    case RuleNeeds::both:
      return input.has_cluster() && has_configuration;
    case RuleNeeds::live:
      return input.has_cluster() && !input.config().empty();
  }
  return false;
}

// Findings without a location come last.
void sort_findings(std::vector<Finding>& findings) {
  const auto key = [](const Finding& f) {
    return std::tuple(!f.place.known(), f.place.file, f.place.line, f.place.column, f.rule->id,
                      std::string_view(f.subject), std::string_view(f.message));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
}

constexpr std::string_view kUnused = "OP001";
constexpr std::string_view kExpired = "OP002";
constexpr std::string_view kNoSuchRule = "OP003";

// Removes the findings that the file suppresses, and reports invalid suppressions.
class Suppressor {
 public:
  Suppressor(const CheckInput& input, const CheckOptions& options, CheckResult& result)
      : options_(options), result_(result), entries_(input.spec().suppress.value), used_(entries_.size(), false) {}

  void apply(std::vector<Finding> findings) {
    for (Finding& finding : findings) {
      const int match = find(finding);
      if (match < 0) {
        result_.findings.push_back(std::move(finding));
      } else {
        used_[static_cast<std::size_t>(match)] = true;
        finding.fix = entries_[static_cast<std::size_t>(match)].reason.value;
        result_.suppressed.push_back(std::move(finding));
      }
    }
  }

  void report_stale_suppressions() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const model::SuppressionSpec& entry = entries_[i];
      if (find_rule(entry.rule.value) == nullptr) {
        add(kNoSuchRule, entry, fmt::format("suppression of unknown rule `{}`", entry.rule.value));
      } else if (is_expired(entry)) {
        add(kExpired, entry, fmt::format("the suppression of {} expired on {}", entry.rule.value, entry.until.value));
      } else if (!used_[i]) {
        add(kUnused, entry, fmt::format("the suppression of {} matches no finding", entry.rule.value));
      }
    }
  }

 private:
  // Dates in this format sort as text.
  [[nodiscard]] bool is_expired(const model::SuppressionSpec& entry) const {
    return entry.until.has_value() && !options_.today.empty() && entry.until.value < options_.today;
  }
  [[nodiscard]] int find(const Finding& finding) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const model::SuppressionSpec& entry = entries_[i];
      if (find_rule(entry.rule.value) != finding.rule || is_expired(entry)) continue;
      if (entry.subject.has_value() && !wildcard_match(entry.subject.value, finding.subject)) continue;
      return static_cast<int>(i);
    }
    return -1;
  }
  void add(std::string_view id, const model::SuppressionSpec& entry, std::string message) {
    const Rule* rule = find_rule(id);
    if (rule == nullptr || !is_selected(*rule, options_)) return;
    Finding finding;
    finding.rule = rule;
    finding.severity = rule->severity;
    finding.message = std::move(message);
    finding.subject = entry.rule.value;
    finding.place = entry.rule.place;
    finding.length = static_cast<std::uint16_t>(std::min<std::size_t>(entry.rule->size(), 200));
    result_.findings.push_back(std::move(finding));
  }

  const CheckOptions& options_;
  CheckResult& result_;
  const std::vector<model::SuppressionSpec>& entries_;
  std::vector<bool> used_;
};

void drop_known(CheckResult& result, const CheckOptions& options) {
  const auto known = [&](const Finding& finding) { return options.baseline.count(fingerprint(finding)) > 0; };
  const auto low = [&](const Finding& finding) { return finding.severity > options.lowest; };
  auto& findings = result.findings;
  findings.erase(std::remove_if(findings.begin(), findings.end(), low), findings.end());
  const auto end = std::remove_if(findings.begin(), findings.end(), known);
  result.known = static_cast<std::size_t>(findings.end() - end);
  findings.erase(end, findings.end());
}

}  // namespace

std::size_t CheckResult::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == severity; }));
}

CheckResult run_checks(const CheckInput& input, const CheckOptions& options) {
  CheckResult result;
  Report report;
  const bool configured = has_configuration(input.config());
  for (const Rule& rule : all_rules()) {
    if (!is_selected(rule, options)) continue;
    if (rule.run == nullptr) continue;  // handled below, with the suppressions
    if (!can_run(rule, input, configured)) {
      ++result.rules_passed_over;
      continue;
    }
    ++result.rules_run;
    report.begin(rule);
    rule.run(input, report);
  }
  if (input.has_cluster() && options.use_suppressions) {
    Suppressor suppressor(input, options, result);
    suppressor.apply(std::move(report.findings()));
    if (options.only.empty() && options.skip.empty()) suppressor.report_stale_suppressions();
  } else {
    result.findings = std::move(report.findings());
  }
  drop_known(result, options);
  sort_findings(result.findings);
  sort_findings(result.suppressed);
  return result;
}

}  // namespace weft::check
