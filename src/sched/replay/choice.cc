#include "sched/replay/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/human_format.h"
#include "base/text.h"

namespace weft::sched {
namespace {

constexpr double kRelative = 0.05;  // of the better value: smaller differences count as equal
constexpr double kWait = 60;        // seconds
constexpr double kShare = 0.01;     // of utilization
constexpr double kIndex = 0.03;     // of Jain's index
constexpr double kLost = 0.001;     // of the GPU-hours used
constexpr std::size_t kGroups = 3;  // classes of jobs and tenants named for and against a policy
constexpr std::size_t kTenants = 8;

// One figure of each run, NaN where a run has none.
struct Figure {
  std::string what;
  std::vector<double> values;
  bool higher = false;    // is better
  double least = 0;       // difference that counts, beside kRelative
  bool relative = true;   // whether kRelative applies
  bool of_group = false;  // of a class of jobs, not of all
  std::string (*text)(double) = span_text;

  // Better than `b` by more than counts.
  [[nodiscard]] bool better(double a, double b) const {
    const double gain = higher ? a - b : b - a;
    return gain > least && (!relative || gain > kRelative * std::min(std::abs(a), std::abs(b)));
  }
  [[nodiscard]] bool known() const {
    return std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  }
  [[nodiscard]] std::size_t best() const {
    const auto order = [&](double a, double b) { return higher ? a > b : a < b; };
    return static_cast<std::size_t>(std::min_element(values.begin(), values.end(), order) - values.begin());
  }
  [[nodiscard]] double worst() const {
    return higher ? *std::min_element(values.begin(), values.end()) : *std::max_element(values.begin(), values.end());
  }
  // The worst value as a multiple of the best.
  [[nodiscard]] double spread() const {
    const double best_value = values[best()];
    return std::max(worst(), best_value) / std::max(1e-9, std::min(worst(), best_value));
  }
};

std::string share_text(double share) { return format_percent(share, 1); }
std::string index_text(double value) { return fmt::format("{:.2f}", value); }

std::vector<double> values_of(const ReplayReport& report, double (*value)(const ReplayMetrics&)) {
  std::vector<double> values;
  for (const ReplayRun& run : report.runs) values.push_back(value(run.metrics));
  return values;
}

void add_groups(const ReplayReport& report, std::vector<WaitFigures> ReplayMetrics::*classes, std::size_t most,
                std::string (*name)(const std::string&), std::vector<Figure>& figures) {
  std::size_t count = 0;
  for (const WaitFigures& group : report.runs.front().metrics.*classes) {
    if (++count > most) return;
    Figure figure{name(group.name), {}, false, kWait, true, true, span_text};
    for (const ReplayRun& run : report.runs) {
      const std::vector<WaitFigures>& all = run.metrics.*classes;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const WaitFigures& w) { return w.name == group.name; });
      figure.values.push_back(found == all.end() ? std::nan("") : found->mean);
    }
    if (figure.known()) figures.push_back(std::move(figure));
  }
}

std::vector<Figure> figures_of(const ReplayReport& report) {
  using M = ReplayMetrics;
  std::vector<Figure> figures;
  const auto add = [&](std::string what, double (*value)(const M&), bool higher, double least, bool relative,
                       std::string (*text)(double)) {
    figures.push_back({std::move(what), values_of(report, value), higher, least, relative, false, text});
  };
  add(
      "mean wait", [](const M& m) { return m.all.mean; }, false, kWait, true, span_text);
  add(
      "wait of the slowest 1 % of jobs", [](const M& m) { return m.all.p99; }, false, kWait, true, span_text);
  add(
      "longest wait", [](const M& m) { return m.all.longest; }, false, kWait, true, span_text);
  add(
      "utilization while jobs arrive", [](const M& m) { return m.utilization_arriving; }, true, kShare, false,
      share_text);
  // An index of 0 means that no two tenants ever waited together.
  const auto fair = [](const M& m) { return m.fairness; };
  const std::vector<double> indexes = values_of(report, fair);
  if (std::all_of(indexes.begin(), indexes.end(), [](double value) { return value > 0; })) {
    add("fairness between tenants", fair, true, kIndex, false, index_text);
  }
  const auto lost = [](const M& m) { return m.used_gpu_hours > 0 ? m.lost_gpu_hours / m.used_gpu_hours : 0.0; };
  const std::vector<double> repeated = values_of(report, lost);
  if (std::any_of(repeated.begin(), repeated.end(), [](double value) { return value > 0; })) {
    add("work repeated, as a share of the GPU-hours used", lost, false, kLost, false, share_text);
  }
  add_groups(
      report, &M::by_size, SIZE_MAX, [](const std::string& name) { return "mean wait of jobs of " + name; }, figures);
  add_groups(
      report, &M::by_tenant, kTenants, [](const std::string& name) { return "mean wait of tenant " + name; }, figures);
  return figures;
}

// "easy 47.8 h, fifo 50 h": the others in the order of the runs, or only those that `wanted` holds for.
template <class Wanted>
std::string others(const ReplayReport& report, const Figure& figure, Wanted wanted) {
  std::string text;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (!wanted(i)) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", report.runs[i].metrics.policy, figure.text(figure.values[i]));
  }
  return text;
}

// All figures of the whole replay, then the groups of jobs that differ most between the policies.
std::vector<const Figure*> most_different(std::vector<const Figure*> figures) {
  std::stable_sort(figures.begin(), figures.end(), [](const Figure* a, const Figure* b) {
    if (a->of_group != b->of_group) return b->of_group;
    return a->of_group && a->spread() > b->spread();
  });
  std::size_t groups = 0;
  const auto surplus = [&](const Figure* figure) { return figure->of_group && ++groups > kGroups; };
  figures.erase(std::find_if(figures.begin(), figures.end(), surplus), figures.end());
  return figures;
}

PolicyChoice choice_of(const ReplayReport& report, const std::vector<Figure>& figures, std::size_t run) {
  PolicyChoice choice{report.runs[run].metrics.policy, {}, {}};
  std::vector<const Figure*> won;
  std::vector<const Figure*> paid;
  for (const Figure& figure : figures) {
    const bool first = !figure.better(figure.values[figure.best()], figure.values[run]);
    if (!first) paid.push_back(&figure);
    if (first && figure.better(figure.values[run], figure.worst())) won.push_back(&figure);
  }
  for (const Figure* figure : most_different(std::move(won))) {
    const auto beaten = [&](std::size_t i) { return figure->better(figure->values[run], figure->values[i]); };
    choice.wins.push_back(
        fmt::format("{}: {} ({})", figure->what, figure->text(figure->values[run]), others(report, *figure, beaten)));
  }
  for (const Figure* figure : most_different(std::move(paid))) {
    const std::size_t best = figure->best();
    choice.pays.push_back(fmt::format("{}: {} instead of {} under {}", figure->what, figure->text(figure->values[run]),
                                      figure->text(figure->values[best]), report.runs[best].metrics.policy));
  }
  const ReplayMetrics& m = report.runs[run].metrics;
  if (m.preemptions > 0) {
    choice.pays.push_back(fmt::format("{}, with {:.0f} GPU-hours of work repeated",
                                      grouped_plural(m.preemptions, "preemption", "preemptions"), m.lost_gpu_hours));
  }
  if (m.killed > 0) {
    choice.pays.push_back(grouped_plural(m.killed, "job", "jobs") + " killed at the time limit");
  }
  return choice;
}

}  // namespace

std::vector<PolicyChoice> policy_choices(const ReplayReport& report) {
  std::vector<PolicyChoice> choices;
  if (report.runs.size() < 2) return choices;
  const std::vector<Figure> figures = figures_of(report);
  for (std::size_t i = 0; i < report.runs.size(); ++i) choices.push_back(choice_of(report, figures, i));
  return choices;
}

std::string choice_summary(const ReplayReport& report) {
  if (report.runs.size() < 2) return {};
  const std::vector<Figure> figures = figures_of(report);
  const Figure& wait = figures.front();
  const std::size_t best = wait.best();
  const std::string& name = report.runs[best].metrics.policy;
  const auto behind = [&](std::size_t i) { return wait.better(wait.values[best], wait.values[i]); };
  const std::string slower = others(report, wait, behind);
  std::string text;
  if (slower.empty()) {
    text = fmt::format("Jobs wait equally long under all policies, {} on average.", wait.text(wait.values[best]));
  } else {
    text = fmt::format("Under {} jobs wait {} on average; {}.", name, wait.text(wait.values[best]), slower);
    const PolicyChoice choice = choice_of(report, figures, best);
    text += choice.pays.empty() ? std::string(" No figure of this replay is worse under it.")
                                : " What it costs: " + choice.pays.front() + ".";
  }
  std::vector<std::string> same;
  for (const Figure& figure : figures) {
    if (figure.of_group || &figure == &wait) continue;
    const double top = figure.values[figure.best()];
    const bool equal = std::none_of(figure.values.begin(), figure.values.end(),
                                    [&](double value) { return figure.better(top, value); });
    if (equal) same.push_back(fmt::format("{} ({})", figure.what, figure.text(top)));
  }
  if (!same.empty()) text += fmt::format(" Equal under all: {}.", fmt::join(same, ", "));
  return text;
}

}  // namespace weft::sched
