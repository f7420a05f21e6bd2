// What the search says about its designs: headline, gains along the front, single changes, other platforms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_format.h"
#include "base/text.h"
#include "explore/view.h"

namespace weft::explore {
namespace {

double watts_of(Power power) { return static_cast<double>(power.count()) / 1e3; }

const Candidate& at(const SearchResult& result, std::size_t position) {
  return result.candidates[result.front[position]];
}

std::string more_power(double watts) {
  return fmt::format("{} {}", format_power(Power(std::llround(std::abs(watts) * 1e3))), watts < 0 ? "less" : "more");
}

// What the goal misses: "16.2 d late", "3.1 MW over".
std::string misses(const SearchResult& result, const Candidate& candidate) {
  std::vector<std::string> parts;
  const double late = candidate.mean_days().mean - result.deadline_days();
  if (late > 0) parts.push_back(format_days(late) + " late");
  if (result.limits.power && candidate.figures.power > *result.limits.power) {
    parts.push_back(format_power(candidate.figures.power - *result.limits.power) + " over");
  }
  if (result.limits.cost && candidate.figures.cost && *candidate.figures.cost > *result.limits.cost) {
    parts.push_back(cost_text(result, *candidate.figures.cost - *result.limits.cost) + " over");
  }
  return join(parts, ", ");
}

bool is_same_build(const Choice& a, const Choice& b) {
  return a.gpu == b.gpu && a.nodes == b.nodes && a.network == b.network && a.oversubscription == b.oversubscription &&
         a.data == b.data;
}

// The one part of what is built in which `other` differs, as text; "" if there is none or more than one, or if the
// servers differ.
std::string build_change(const Choice& choice, const Choice& other) {
  if (choice.gpu != other.gpu || choice.nodes != other.nodes || choice.spares != other.spares) return "";
  std::vector<std::string> changes;
  if (choice.network != other.network) changes.push_back(network_text(other.network));
  if (choice.oversubscription != other.oversubscription)
    changes.push_back(to_text(other.oversubscription) + " oversubscription");
  if (choice.data != other.data) changes.push_back(fmt::format("storage class {}", model::text_of(other.data)));
  return changes.size() == 1 ? changes.front() : "";
}

// The same for what is operated: spares, or the interval between checkpoints.
std::string operation_change(const Choice& choice, const Choice& other) {
  if (!is_same_build(choice, other) || (choice.spares != other.spares) == (choice.interval != other.interval))
    return "";
  return choice.spares != other.spares ? plural(other.spares, "spare")
                                       : "checkpoint every " + interval_text(other.interval);
}

// What changes from `from` to `to`.
Alternative change_between(std::size_t point, std::string change, const Candidate& from, const Candidate& to) {
  Alternative each;
  each.point = point;
  each.change = std::move(change);
  each.simulated = from.simulated() && to.simulated();
  each.days = each.simulated ? to.mean_days().mean - from.mean_days().mean
                             : to.figures.optimistic_days - from.figures.optimistic_days;
  each.power = watts_of(to.figures.power) - watts_of(from.figures.power);
  if (to.figures.cost && from.figures.cost) {
    each.cost = static_cast<double>((*to.figures.cost - *from.figures.cost).count()) / 100;
  }
  return each;
}

// Adds it unless the same change is known from simulations.
void add_alternative(std::vector<Alternative>& all, Alternative each) {
  if (!std::isfinite(each.days)) return;
  const auto same = std::find_if(all.begin(), all.end(), [&](const Alternative& known) {
    return known.point == each.point && known.change == each.change;
  });
  if (same == all.end()) {
    all.push_back(std::move(each));
  } else if (each.simulated && !same->simulated) {
    *same = std::move(each);
  }
}

}  // namespace

std::string cost_text(const SearchResult& result, Money cost) {
  const double value = static_cast<double>(cost.count()) / 100;
  if (std::abs(value) >= 1e6) return fmt::format("{} M {}", format_number(value / 1e6), result.currency);
  return fmt::format("{} {}", group_digits(static_cast<std::uint64_t>(std::llround(std::abs(value)))), result.currency);
}

std::string interval_text(Duration interval) { return format_duration(interval); }

std::string network_text(model::NetworkKind network) {
  return network == model::NetworkKind::infiniband ? "InfiniBand" : "RoCE";
}

std::string headline(const SearchResult& result) {
  if (result.met) {
    return fmt::format("{} on the Pareto front of {}", plural(result.front.size(), "design"),
                       result.currency.empty() ? "days and power" : "days, power and cost");
  }
  if (result.front.empty()) return "No design can train the model";
  const Candidate* fastest = nullptr;
  const Candidate* smallest = nullptr;
  for (const std::size_t i : result.front) {
    const Candidate& each = result.candidates[i];
    if (result.limits.allow(each.figures)) {
      if (fastest == nullptr || each.mean_days().mean < fastest->mean_days().mean) fastest = &each;
    } else if (result.in_time(each) && (smallest == nullptr || each.figures.power < smallest->figures.power)) {
      smallest = &each;
    }
  }
  std::string text = "No design meets the goal";
  if (fastest != nullptr)
    text += fmt::format("; the fastest within the limits takes {}", format_days(fastest->mean_days().mean));
  if (smallest != nullptr) {
    text += fmt::format("; {} needs {}", format_days(result.deadline_days()), format_power(smallest->figures.power));
    if (result.limits.cost && smallest->figures.cost)
      text += fmt::format(" and {}", cost_text(result, *smallest->figures.cost));
  }
  return text;
}

std::vector<std::string> front_reasons(const SearchResult& result) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Candidate& candidate = at(result, i);
    std::string text = SearchResult::label(i) + ": ";
    if (!result.met) {
      reasons.push_back(text + misses(result, candidate));
      continue;
    }
    if (i == 0) {
      text += "least power";
    } else {
      const Candidate& before = at(result, i - 1);
      const double sooner = before.mean_days().mean - candidate.mean_days().mean;
      text += fmt::format("{} {} than {} for {}", format_days(std::abs(sooner)), sooner < 0 ? "later" : "sooner",
                          SearchResult::label(i - 1),
                          more_power(watts_of(candidate.figures.power) - watts_of(before.figures.power)));
      if (candidate.figures.cost && before.figures.cost) {
        const Money more = *candidate.figures.cost - *before.figures.cost;
        text += fmt::format(" and {} {}", cost_text(result, more.count() < 0 ? Money(-more.count()) : more),
                            more.count() < 0 ? "less" : "more");
      }
    }
    text += fmt::format("; {} of its time is effective", format_percent(candidate.mean(&Run::ettr)));
    const std::pair<const char*, double Run::*> losses[] = {{"restarts", &Run::restarts},
                                                            {"lost work", &Run::lost},
                                                            {"checkpoints", &Run::checkpoints},
                                                            {"failures not noticed yet", &Run::unnoticed},
                                                            {"waiting for nodes", &Run::waits}};
    const auto* worst = std::max_element(std::begin(losses), std::end(losses), [&](const auto& a, const auto& b) {
      return candidate.mean(a.second) < candidate.mean(b.second);
    });
    text += fmt::format(", most of the rest is {} ({}); the step is bounded by {}", worst->first,
                        format_percent(candidate.mean(worst->second)), candidate.figures.bound_by);
    reasons.push_back(std::move(text));
  }
  return reasons;
}

std::vector<Alternative> alternatives(const SearchResult& result) {
  std::vector<Alternative> out;
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Candidate& candidate = at(result, i);
    for (const Candidate& other : result.candidates) {
      if (std::string change = operation_change(candidate.choice, other.choice); !change.empty() && other.simulated())
        add_alternative(out, change_between(i, std::move(change), candidate, other));
    }
    // Spares and interval of the design may be refined: what is built is compared with those that it began with.
    for (const Candidate& base : result.candidates) {
      if (!is_same_build(base.choice, candidate.choice)) continue;
      for (const Candidate& other : result.candidates) {
        if (std::string change = build_change(base.choice, other.choice); !change.empty())
          add_alternative(out, change_between(i, std::move(change), base, other));
      }
    }
  }
  return out;
}

std::string platform_verdict(const SearchResult& result, const PlatformResult& platform) {
  std::string points;
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Choice& choice = at(result, i).choice;
    if (choice.gpu != platform.gpu || choice.network != platform.network) continue;
    points += (points.empty() ? "" : ", ") + SearchResult::label(i);
  }
  if (!points.empty()) return points;
  if (!platform.excluded.empty()) return platform.excluded;
  const Candidate* fastest = nullptr;   // within the limits
  const Candidate* smallest = nullptr;  // in time
  const auto days_of = [](const Candidate& each) {
    return each.simulated() ? each.mean_days().mean : each.figures.optimistic_days;
  };
  for (const Candidate& each : result.candidates) {
    if (each.choice.gpu != platform.gpu || each.choice.network != platform.network) continue;
    if (result.limits.allow(each.figures) && (fastest == nullptr || days_of(each) < days_of(*fastest))) fastest = &each;
    if (days_of(each) <= result.deadline_days() &&
        (smallest == nullptr || each.figures.power < smallest->figures.power))
      smallest = &each;
  }
  if (fastest == nullptr && smallest == nullptr) {
    return platform.first_problem.empty() ? "no size was found that could be built" : platform.first_problem;
  }
  if (smallest == nullptr || !result.limits.allow(smallest->figures)) {
    const std::string late =
        fastest == nullptr ? "" : fmt::format("{} at best within the limits", format_days(days_of(*fastest)));
    if (smallest == nullptr) return late.empty() ? "over the limits" : late;
    return fmt::format("{}{} needs at least {}", late.empty() ? "" : late + ", ", format_days(result.deadline_days()),
                       format_power(smallest->figures.power));
  }
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Candidate& better = at(result, i);
    if (is_no_larger(better.figures, smallest->figures, kFrontSlack) &&
        days_of(better) <= days_of(*smallest) * (1 + kFrontSlack)) {
      return fmt::format("in time with {}; {} is as fast with {}", format_power(smallest->figures.power),
                         SearchResult::label(i), format_power(better.figures.power));
    }
  }
  return fmt::format("in time with {}", format_power(smallest->figures.power));
}

}  // namespace weft::explore
