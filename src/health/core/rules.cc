#include "health/core/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

#include "base/asset.h"
#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::health {
namespace {

// "bits 21,22"
std::optional<std::uint64_t> read_bits(std::string_view text) {
  std::uint64_t bits = 0;
  for (const std::string_view each : split(text, ',')) {
    const std::string_view word = trim(each);
    unsigned bit = 64;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), bit);
    if (error != std::errc() || stop != word.data() + word.size() || bit > 63) return std::nullopt;
    bits |= std::uint64_t{1} << bit;
  }
  return bits;
}

void read_tests(const RuleSpec& spec, Rule& rule, Diagnostics& diagnostics) {
  for (const auto& [key, value] : spec.where.value) {
    DetailTest test{key, {}, 0};
    if (value.value.starts_with("bits ")) {
      const auto bits = read_bits(std::string_view(value.value).substr(5));
      if (!bits) diagnostics.error(value.place, "expected bit numbers from 0 to 63, such as `bits 21,22`");
      test.bits = bits.value_or(0);
    } else {
      for (const std::string_view each : split(value.value, ',')) test.values.emplace_back(trim(each));
    }
    rule.where.push_back(std::move(test));
  }
}

double read_limit(const model::Sourced<std::string>& given, Diagnostics& diagnostics) {
  const std::string& text = given.value;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) {
    diagnostics.error(given.place, "expected a number such as 30.7 or 1e-12", {}, text.size());
  }
  return value;
}

// At most one of the conditions on measurements.
void read_condition(const RuleSpec& spec, Rule& rule, Diagnostics& diagnostics) {
  int given = 0;
  const auto set = [&](const auto& member, ConditionKind kind) {
    if (!member.from_file()) return;
    ++given;
    rule.kind = kind;
    if constexpr (std::is_same_v<decltype(member.value), std::string>) rule.limit = read_limit(member, diagnostics);
  };
  set(spec.above, ConditionKind::above);
  set(spec.below, ConditionKind::below);
  set(spec.mask, ConditionKind::mask);
  set(spec.rise, ConditionKind::rise);
  if (given > 1) diagnostics.error(spec.place, "only one of `above`, `below`, `mask` and `rise` is possible");
  rule.mask = static_cast<std::uint64_t>(spec.mask.value);
  rule.per = spec.per.value;
  if (spec.per.from_file() && (rule.kind != ConditionKind::rise || rule.per.count() <= 0)) {
    diagnostics.error(spec.per.place, "`per` belongs to `rise`, and is longer than zero");
  }
  rule.samples = spec.samples.from_file() ? static_cast<std::uint32_t>(spec.samples.value) : 1;
  rule.at_least = spec.at_least.from_file() ? static_cast<std::uint32_t>(spec.at_least.value) : 1;
  rule.within = spec.within.value;
  if (rule.at_least > 1 && rule.within.count() <= 0) {
    diagnostics.error(spec.place, "`at_least` needs `within`: the time in which the events must occur");
  }
  if (rule.samples > 1 && rule.kind == ConditionKind::event) {
    diagnostics.error(spec.samples.place, "`samples` is for conditions on measurements", "use `at_least` for events");
  }
}

void read_end(const RuleSpec& spec, Rule& rule, Diagnostics& diagnostics) {
  rule.ends = spec.ends.value;
  rule.clears_after = spec.clears_after.value;
  if (rule.ends == Ends::time && rule.clears_after.count() <= 0) {
    diagnostics.error(spec.place, "`ends: time` needs `clears_after`");
  }
  if (rule.ends != Ends::time && spec.clears_after.from_file()) {
    diagnostics.error(spec.clears_after.place, "`clears_after` needs `ends: time`");
  }
}

Rule rule_of(const RuleSpec& spec, Diagnostics& diagnostics) {
  Rule rule;
  rule.id = spec.id.value.text;
  rule.title = spec.title.value;
  for (const std::string& text : spec.signals.value) {
    auto pattern = parse_pattern(text);
    if (pattern) {
      rule.signals.push_back(*std::move(pattern));
    } else {
      diagnostics.error(spec.signals.place, fmt::format("{} is not a signal", in_backticks(text)),
                        "write FAMILY:NAME in lower case, such as xid:79, xid:126-135 or xid:*");
    }
  }
  if (spec.signals.value.empty()) diagnostics.error(spec.signals.place, "a rule needs at least one signal");
  if (spec.actions.value.empty()) diagnostics.error(spec.actions.place, "a rule needs at least one action");
  read_tests(spec, rule, diagnostics);
  read_condition(spec, rule, diagnostics);
  read_end(spec, rule, diagnostics);
  rule.alone = spec.alone.value;
  rule.severity = spec.severity.value;
  rule.category = spec.category.value;
  rule.scope = spec.scope.value;
  rule.actions = spec.actions.value;
  rule.maturity = spec.maturity.value;
  rule.source = spec.source.value;
  rule.note = spec.note.value;
  return rule;
}

}  // namespace

const Rule* Rules::find(std::string_view id) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

std::optional<Rules> rules_of(const RulesSpec& spec, Diagnostics& diagnostics) {
  Rules out;
  std::set<std::string> ids;
  for (const RuleSpec& each : spec.rules.value) {
    if (!ids.insert(each.id.value.text).second) {
      diagnostics.error(each.id.place, fmt::format("rule {} is listed twice", in_backticks(each.id.value.text)));
    }
    out.rules.push_back(rule_of(each, diagnostics));
  }
  if (out.rules.empty()) diagnostics.error(spec.rules.place, "a rules file needs at least one rule");
  out.burst = spec.burst.value;
  out.stale_after = spec.stale_after.value;
  if (out.burst.count() <= 0) diagnostics.error(spec.burst.place, "`burst` must be longer than zero");
  if (out.stale_after.count() <= 0) diagnostics.error(spec.stale_after.place, "`stale_after` must be longer than zero");
  const ScoreSpec& score = spec.score.value;
  out.cordon_below = static_cast<int>(score.cordon_below.value);
  out.weights[static_cast<int>(Category::thermal)] = static_cast<int>(score.thermal.value);
  out.weights[static_cast<int>(Category::memory)] = static_cast<int>(score.memory.value);
  out.weights[static_cast<int>(Category::power)] = static_cast<int>(score.power.value);
  if (diagnostics.has_errors()) return std::nullopt;
  return out;
}

std::optional<Rules> read_rules(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  RulesSpec spec;
  if (!model::Codec<RulesSpec>::read(*root, diagnostics, spec) || diagnostics.has_errors()) return std::nullopt;
  return rules_of(spec, diagnostics);
}

const Rules& default_rules() {
  static const Rules rules = [] {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("rules.yaml", std::string(asset<"health/rules.yaml">()));
    std::optional<Rules> read = read_rules(sources, file, diagnostics);
    CHECK(read.has_value(), "assets/health/rules.yaml is invalid");
    return *std::move(read);
  }();
  return rules;
}

}  // namespace weft::health
