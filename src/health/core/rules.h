// Rules: what signals mean, and what is done. Read from a rules file (YAML); the default is assets/health/rules.yaml,
// which users may replace or extend. A rule compares signals with a condition; judge/ keeps the state that this needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "health/core/signal.h"
#include "model/schema.h"

namespace weft::health {

enum class Severity : std::uint8_t {
  info,      // recorded, nothing else
  warning,   // lowers the score of the node, if the rule has a category
  degraded,  // the node gets no new work; what runs there continues
  fatal      // the node is taken out of service, whatever its score is
};
[[nodiscard]] const std::vector<std::pair<std::string_view, Severity>>& choices_of(Severity);

// What a score counts, each category once.
enum class Category : std::uint8_t { none, thermal, memory, power };
inline constexpr std::uint8_t kCategories = 4;
[[nodiscard]] const std::vector<std::pair<std::string_view, Category>>& choices_of(Category);

// What the condition is about: what a repair must take out of service.
enum class Scope : std::uint8_t { gpu, node, link, rack, job };
[[nodiscard]] const std::vector<std::pair<std::string_view, Scope>>& choices_of(Scope);

// Steps of a repair, in the order of how much they disturb.
enum class Action : std::uint8_t {
  ignore,
  restart_application,  // the node is left alone; the job restarts
  check,                // active checks decide
  restart_service,      // a service of the node: fabric manager, driver daemon
  reset_gpu,
  reboot,
  power_cycle,
  replace_part,  // people, with the collected evidence
  ask_people     // an operator decides
};
inline constexpr std::uint8_t kActions = 9;
[[nodiscard]] const std::vector<std::pair<std::string_view, Action>>& choices_of(Action);

// What makes an event a matter of the past. Conditions on measurements end when the measurement does.
enum class Ends : std::uint8_t {
  repair,  // a boot, a reset of that GPU, or active checks that passed
  person,  // an operator who says so
  time     // `clears_after` without another one
};
[[nodiscard]] const std::vector<std::pair<std::string_view, Ends>>& choices_of(Ends);

enum class Maturity : std::uint8_t {
  established,  // a vendor's table or documented threshold
  practice,     // used by operators in production
  estimate      // ours
};
[[nodiscard]] const std::vector<std::pair<std::string_view, Maturity>>& choices_of(Maturity);

// One rule as the file has it.
struct RuleSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<model::Name> id;
  model::Sourced<std::string> title;
  model::Sourced<std::vector<std::string>> signals;
  model::Sourced<model::NamedValues<std::string>> where;
  model::Sourced<std::string> above;  // a number such as 30.7 or 1e-12
  model::Sourced<std::string> below;
  model::Sourced<std::int64_t> mask;
  model::Sourced<std::string> rise;
  model::Sourced<Duration> per;
  model::Sourced<std::int64_t> samples;
  model::Sourced<std::int64_t> at_least;
  model::Sourced<Duration> within;
  model::Sourced<bool> alone;
  model::Sourced<Severity> severity;
  model::Sourced<Category> category;
  model::Sourced<Scope> scope;
  model::Sourced<std::vector<Action>> actions;
  model::Sourced<Ends> ends;
  model::Sourced<Duration> clears_after;
  model::Sourced<Maturity> maturity;
  model::Sourced<std::string> source;
  model::Sourced<std::string> note;
};

struct ScoreSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> cordon_below;
  model::Sourced<std::int64_t> thermal;
  model::Sourced<std::int64_t> memory;
  model::Sourced<std::int64_t> power;
};

struct RulesSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> health;
  model::Sourced<Duration> burst;
  model::Sourced<Duration> stale_after;
  model::Sourced<ScoreSpec> score;
  model::Sourced<std::vector<RuleSpec>> rules;
};

// A signal name of a rule: exact, or a range of codes ("xid:126-135"), or every one of a family ("xid:*").
struct SignalPattern {
  std::string family;  // "xid"
  std::string name;    // "79"; "": by number or all
  std::int64_t from = 0;
  std::int64_t to = -1;  // with from <= to: a range of codes
  [[nodiscard]] bool matches(std::string_view signal) const;
  [[nodiscard]] bool is_range() const { return from <= to; }
};

// A test of a detail: `where: {unit: "RLW,TLW", reg0: "bits 21,22"}`.
struct DetailTest {
  std::string key;
  std::vector<std::string> values;  // one of them; empty: by bits
  std::uint64_t bits = 0;           // at least one of them is set in the number
  [[nodiscard]] bool matches(const Signal& signal) const;
};

enum class ConditionKind : std::uint8_t { event, above, below, mask, rise };

struct Rule {
  std::string id;
  std::string title;
  std::vector<SignalPattern> signals;
  std::vector<DetailTest> where;
  ConditionKind kind = ConditionKind::event;
  double limit = 0;            // of above, below, rise
  std::uint64_t mask = 0;      // of mask: at least one of these bits is set
  Duration per{};              // of rise: increase over this time; 0: between two samples
  std::uint32_t samples = 1;   // in a row until the condition holds
  std::uint32_t at_least = 1;  // events within `within` on one part
  Duration within{};
  bool alone = false;  // only if no other rule of the same incident is above `info`
  Severity severity = Severity::info;
  Category category = Category::none;
  Scope scope = Scope::node;
  std::vector<Action> actions;  // in the order in which they are tried
  Ends ends = Ends::repair;
  Duration clears_after{};
  Maturity maturity = Maturity::estimate;
  std::string source;
  std::string note;
  [[nodiscard]] bool matches(const Signal& signal) const;  // its name and details; not the condition
};

struct Rules {
  std::vector<Rule> rules;
  Duration burst{};        // signals of a node with no longer silence between them are one incident
  Duration stale_after{};  // a source that is silent for longer says nothing about the node
  int cordon_below = 60;
  int weights[kCategories] = {0, 50, 30, 20};

  [[nodiscard]] const Rule* find(std::string_view id) const;
};

// The rules that weft ships.
[[nodiscard]] const Rules& default_rules();
// Reports every error at its place. None if there were errors.
[[nodiscard]] std::optional<Rules> read_rules(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<Rules> rules_of(const RulesSpec& spec, Diagnostics& diagnostics);
// nullopt if it is no signal name or pattern.
[[nodiscard]] std::optional<SignalPattern> parse_pattern(std::string_view text);

}  // namespace weft::health

namespace weft::model {
template <>
const Schema& schema_of<health::RuleSpec>();
template <>
const Schema& schema_of<health::ScoreSpec>();
template <>
const Schema& schema_of<health::RulesSpec>();
}  // namespace weft::model
