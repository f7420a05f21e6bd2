// The health of a node, from the findings that hold.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "health/judge/incident.h"

namespace weft::health {
namespace {

// The worst first; of equals the first that was found.
const Finding* find_worst(const std::vector<const Finding*>& findings) {
  const Finding* worst = nullptr;
  for (const Finding* each : findings) {
    if (worst == nullptr || each->rule->severity > worst->rule->severity) worst = each;
  }
  return worst;
}

int score_of(const Rules& rules, const std::vector<const Finding*>& findings) {
  std::array<bool, kCategories> counted{};
  for (const Finding* each : findings) {
    if (each->rule->severity >= Severity::warning) counted[static_cast<std::size_t>(each->rule->category)] = true;
  }
  int score = 100;
  for (std::size_t i = 1; i < counted.size(); ++i) score -= counted[i] ? rules.weights[i] : 0;
  return std::max(0, score);
}

const DriverAdvice* find_advice(const std::vector<DriverAdvice>& advice, const Finding& finding) {
  if (finding.rule->scope != Scope::gpu) return nullptr;
  const auto found = std::find_if(advice.begin(), advice.end(), [&](const DriverAdvice& each) {
    return each.part == finding.part && each.code != 0 && driver_action(each.code);
  });
  return found == advice.end() ? nullptr : &*found;
}

// The plan of several findings begins with the action that disturbs most among their first ones, since a lesser one
// cannot repair all of them; then follow all greater ones.
void make_plan(const std::vector<const Finding*>& findings, const std::vector<DriverAdvice>& advice,
               NodeHealth& health) {
  Action first = Action::ignore;
  std::set<Action> actions;
  for (const Finding* each : findings) {
    Action begin = each->rule->actions.front();
    if (const DriverAdvice* driver = find_advice(advice, *each)) {
      begin = *driver_action(driver->code);
      health.driver_decides = true;
      actions.insert(begin);
    }
    first = std::max(first, begin);
    actions.insert(each->rule->actions.begin(), each->rule->actions.end());
  }
  for (const Action action : actions) {
    if (action >= first && action != Action::ignore) health.plan.push_back(action);
  }
}

std::vector<const Finding*> select(const std::vector<const Finding*>& findings, Severity severity) {
  std::vector<const Finding*> out;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(out),
               [&](const Finding* each) { return each->rule->severity == severity; });
  return out;
}

std::vector<const Finding*> select_counted(const std::vector<const Finding*>& findings) {
  std::vector<const Finding*> out;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(out), [](const Finding* each) {
    return each->rule->severity >= Severity::warning && each->rule->category != Category::none;
  });
  return out;
}

}  // namespace

std::string_view to_text(HealthState state) {
  switch (state) {
    case HealthState::unknown:
      return "unknown";
    case HealthState::healthy:
      return "healthy";
    case HealthState::degraded:
      return "degraded";
    case HealthState::fatal:
      break;
  }
  return "fatal";
}

std::optional<Action> driver_action(std::uint64_t code) {
  constexpr std::array<Action, 8> actions{Action::ignore,    Action::reset_gpu,       Action::reboot, Action::reset_gpu,
                                          Action::reset_gpu, Action::restart_service, Action::reboot, Action::reboot};
  if (code >= actions.size()) return std::nullopt;
  return actions[code];
}

std::string describe(const Finding& finding) {
  std::string out = finding.part.empty() ? "" : finding.part + ": ";
  out += finding.rule->title;
  if (finding.rule->kind != ConditionKind::event && finding.value) out += fmt::format(" ({:g})", *finding.value);
  if (finding.count > 1) out += fmt::format(", {} times", finding.count);
  return out;
}

NodeHealth judge(const Rules& rules, const std::vector<Finding>& findings, const std::vector<DriverAdvice>& advice,
                 std::string_view silent) {
  std::vector<const Finding*> holding;
  for (const Finding& each : findings) {
    if (each.holds) holding.push_back(&each);
  }
  NodeHealth health;
  health.score = score_of(rules, holding);
  const Finding* worst = find_worst(holding);
  const Severity severity = worst == nullptr ? Severity::info : worst->rule->severity;
  health.by_score = health.score < rules.cordon_below && severity != Severity::fatal;
  if (worst != nullptr && severity >= Severity::warning) health.reason = describe(*worst);
  if (severity == Severity::fatal) {
    health.state = HealthState::fatal;
    make_plan(select(holding, Severity::fatal), advice, health);
  } else if (health.by_score) {
    health.state = HealthState::fatal;
    const std::vector<const Finding*> counted = select_counted(holding);
    health.reason = fmt::format("score {} below {}: {}", health.score, rules.cordon_below, describe(*counted.front()));
    make_plan(counted, advice, health);
  } else if (!silent.empty()) {
    health.state = HealthState::unknown;
    health.reason = silent;
  } else if (severity == Severity::degraded) {
    health.state = HealthState::degraded;
    make_plan(select(holding, Severity::degraded), advice, health);
  } else {
    health.state = HealthState::healthy;
  }
  return health;
}

}  // namespace weft::health
