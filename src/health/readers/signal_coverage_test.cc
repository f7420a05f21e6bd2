// Every name that a reader or the judge emits has a rule of assets/health/rules.yaml, or is in the list of measurements
// that nothing judges, and every rule looks at names that are emitted. The names are those of the table of metrics, and
// the texts of the form "family:name" in the sources, so that a new one is seen without being listed here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "base/text.h"
#include "health/core/rules.h"
#include "health/readers/metric_names.h"

namespace weft::health {
namespace {

using Names = std::set<std::string>;

Names names_of(const std::vector<std::pair<std::string, std::string>>& families) {
  Names out;
  for (const auto& [family, all] : families) {
    for (const std::string_view each : split(all, ' ')) out.insert(fmt::format("{}:{}", family, each));
  }
  return out;
}

// The texts of a C++ source, without those in comments.
std::vector<std::string_view> read_literals(std::string_view source) {
  std::vector<std::string_view> out;
  for (std::string_view line : split(source, '\n')) {
    if (trim(line).starts_with("//")) continue;
    for (std::size_t open = line.find('"'); open != std::string_view::npos; open = line.find('"')) {
      line.remove_prefix(open + 1);
      std::size_t close = 0;
      while (close < line.size() && line[close] != '"') close += line[close] == '\\' ? 2 : 1;
      if (close >= line.size()) break;
      out.push_back(line.substr(0, close));
      line.remove_prefix(close + 1);
    }
  }
  return out;
}

bool is_word(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
  });
}

// "sel:leak" of "sel:leak"; of what is put together the family alone: "xid:" of "xid:" and "xid:{}".
std::string name_in(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_word(text.substr(0, colon))) return {};
  const std::string_view rest = text.substr(colon + 1);
  if (rest.empty() || rest == "{}") return std::string(text.substr(0, colon + 1));
  return is_word(rest) ? std::string(text) : std::string();
}

Names read_names(const std::string& path) {
  const Result<std::string> text = read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  Names out;
  if (!text.ok()) return out;
  for (const std::string_view literal : read_literals(*text)) {
    if (std::string name = name_in(literal); !name.empty()) out.insert(std::move(name));
  }
  return out;
}

const Names& names_in_sources() {
  static const Names names = [] {
    Names out;
    for (const char* folder : {"readers", "judge"}) {
      for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/src/health/" + folder)) {
        const std::string path = entry.path().string();
        if (path.ends_with(".cc") && !path.ends_with("_test.cc")) out.merge(read_names(path));
      }
    }
    return out;
  }();
  return names;
}

const Names& emitted_names() {
  static const Names names = [] {
    Names out;
    for (const std::string& name : names_in_sources()) {
      if (!name.ends_with(':')) out.insert(name);
    }
    for (const MetricMeaning& metric : known_metrics()) {
      if (!metric.is_event()) out.emplace(metric.signal);
    }
    out.merge(names_of({{"ghes", "corrected recoverable fatal"}, {"alert", "nodefilesystemfull"}, {"sxid", "20034"}}));
    return out;
  }();
  return names;
}

// Names that no reader has: of schedulers, of active checks, of the BMC that does not answer, of users.
const Names& names_of_others() {
  static const Names names = names_of({{"slurm", "down not_responding gpu_missing reboot_failed"},
                                       {"kube", "not_ready unreachable gpu_withdrawn kernel_deadlock fs_readonly"},
                                       {"bmc", "silent"},
                                       {"job", "check_failed"},
                                       {"webhook", "anything"}});
  return names;
}

// Measurements that nothing judges.
const Names& not_judged() {
  static const Names names = names_of({
      // Temperatures and their limits, which differ between models: the margin is judged.
      {"dcgm", "gpu_temp memory_temp slowdown_temp shutdown_temp gpu_max_op_temp memory_max_op_temp"},
      {"hgx", "gpu_temp memory_temp nvswitch_temp cpu_temp"},
      // What a slot must reach is not known to a rule: active checks.
      {"dcgm", "pcie_gen pcie_width pcie_max_gen pcie_max_width"},
      {"hgx", "pcie_lanes pcie_lanes_max"},
      // Utilization.
      {"dcgm", "gpu_util sm_active tensor_active"},
      // Bit errors before their correction: the effective rate is judged.
      {"dcgm", "nvlink_symbol_ber"},
      // The states beside ib:port_state and net:carrier.
      {"ib", "port_physical_state"},
      {"net", "up"},
      // When the node booted: the boundary of what is of the past.
      {"host", "boot_time"},
      // Steps of jobs, for the search of stragglers.
      {"job", "heartbeat"},
  });
  return names;
}

// Names of measurements: an event rule would take each sample of them for an event.
const Names& measurements() {
  static const Names names = [] {
    Names out = read_names(source_dir() + "/src/health/readers/bmc_metrics.cc");
    for (const MetricMeaning& metric : known_metrics()) {
      if (!metric.is_event()) out.emplace(metric.signal);
    }
    return out;
  }();
  return names;
}

bool looks_at(const Rule& rule, const std::string& name) {
  return std::any_of(rule.signals.begin(), rule.signals.end(),
                     [&](const SignalPattern& pattern) { return pattern.matches(name); });
}

std::vector<const Rule*> rules_for(const std::string& name) {
  std::vector<const Rule*> out;
  for (const Rule& rule : default_rules().rules) {
    if (looks_at(rule, name)) out.push_back(&rule);
  }
  return out;
}

TEST(SignalCoverage, FindsTheNamesInTheSources) {
  const Names& names = emitted_names();
  EXPECT_GT(names.size(), 150U);
  for (const char* name : {"sel:leak", "hgx:reset_required", "hgx:power_brake_flag", "kernel:cgroup_oom",
                           "ib:link_downed", "job:straggler", "health:fatal", "nfs:ok", "link:down", "aer:fatal"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  // Those that are put together: list their names in emitted_names(), unless they are codes.
  Names families;
  for (const std::string& name : names_in_sources()) {
    if (name.ends_with(':')) families.insert(name);
  }
  EXPECT_EQ(families, (Names{"alert:", "ghes:", "status:", "sxid:", "xid:"}));
}

TEST(SignalCoverage, EverySignalHasARuleOrIsNotJudged) {
  for (const Names& names : {emitted_names(), names_of_others()}) {
    for (const std::string& name : names) {
      EXPECT_EQ(rules_for(name).empty(), not_judged().contains(name)) << name;
    }
  }
  for (const std::string& name : not_judged()) EXPECT_TRUE(emitted_names().contains(name)) << name;
}

TEST(SignalCoverage, RulesLookAtSignalsThatAreEmitted) {
  Names names = emitted_names();
  names.insert(names_of_others().begin(), names_of_others().end());
  for (const Rule& rule : default_rules().rules) {
    for (const SignalPattern& pattern : rule.signals) {
      if (pattern.family == "xid" || pattern.family == "sxid") continue;
      EXPECT_TRUE(
          std::any_of(names.begin(), names.end(), [&](const std::string& name) { return pattern.matches(name); }))
          << rule.id << ": " << pattern.family << ":" << pattern.name;
    }
  }
}

TEST(SignalCoverage, MeasurementsHaveConditionsAndEventsDoNot) {
  for (const Names& names : {emitted_names(), names_of_others()}) {
    for (const std::string& name : names) {
      const bool measured = measurements().contains(name);
      for (const Rule* rule : rules_for(name)) {
        EXPECT_EQ(rule->kind != ConditionKind::event, measured) << rule->id << ": " << name;
        // The judge does not test details of measurements.
        EXPECT_TRUE(!measured || rule->where.empty()) << rule->id;
      }
    }
  }
}

// A signal without details, as with those that readers add, has a rule: no name has rules for some reasons only.
TEST(SignalCoverage, RulesByDetailLeaveNothingOut) {
  const Names counted{"aer:corrected"};  // once per error: the line of the device
  const Names derived{"health:fatal", "health:repair"};
  for (const std::string& name : emitted_names()) {
    if (not_judged().contains(name) || counted.contains(name) || derived.contains(name)) continue;
    Signal signal;
    signal.name = name;
    const std::vector<const Rule*> rules = rules_for(name);
    EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [&](const Rule* rule) {
      return rule->at_least == 1 && rule->matches(signal);
    })) << name;
  }
}

}  // namespace
}  // namespace weft::health
