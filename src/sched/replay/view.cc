#include "sched/replay/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/quoting.h"

namespace weft::sched {
namespace {

using Align = Column::Align;

constexpr std::size_t kTenantsShown = 8;  // for people; programs get all

std::string hours_text(double hours) {
  return hours >= 100 ? fmt::format("{:.0f}", hours) : fmt::format("{:.1f}", hours);
}

enum class Unit { share, time, hours, count, ratio };

std::string shown(double value, Unit unit) {
  switch (unit) {
    case Unit::share:
      return format_percent(value, 1);
    case Unit::time:
      return span_text(value);
    case Unit::hours:
      return hours_text(value) + " GPU-h";
    case Unit::count:
      return fmt::format("{:.0f}", value);
    case Unit::ratio:
      return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
  }
  return {};
}

struct Measure {
  const char* key;
  const char* title;
  Unit unit;
  int better;  // 1: higher, -1: lower, 0: neither
  double (*value)(const ReplayMetrics&);
};

double as_double(std::uint64_t count) { return static_cast<double>(count); }

std::vector<Measure> measures() {
  using M = ReplayMetrics;
  return {
      {"utilisation",  // JSON key (words: allow)
       "Utilization", Unit::share, 1, [](const M& m) { return m.utilization; }},
      {"utilisation_arriving", "  while jobs arrive", Unit::share, 1,  // JSON key (words: allow)
       [](const M& m) { return m.utilization_arriving; }},
      {"makespan_s", "Makespan", Unit::time, -1, [](const M& m) { return m.makespan; }},
      {"wait_mean_s", "Wait, mean", Unit::time, -1, [](const M& m) { return m.all.mean; }},
      {"wait_median_s", "  median", Unit::time, -1, [](const M& m) { return m.all.median; }},
      {"wait_p90_s", "  p90", Unit::time, -1, [](const M& m) { return m.all.p90; }},
      {"wait_p99_s", "  p99", Unit::time, -1, [](const M& m) { return m.all.p99; }},
      {"wait_longest_s", "  longest", Unit::time, -1, [](const M& m) { return m.all.longest; }},
      {"slowdown_mean", "Bounded slowdown, mean", Unit::ratio, -1, [](const M& m) { return m.all.slowdown; }},
      {"slowdown_median", "  median", Unit::ratio, -1, [](const M& m) { return m.slowdown_median; }},
      {"slowdown_p99", "  p99", Unit::ratio, -1, [](const M& m) { return m.slowdown_p99; }},
      {"fairness", "Fairness between tenants (Jain)", Unit::ratio, 1, [](const M& m) { return m.fairness; }},
      {"waiting_share", "Time with work waiting", Unit::share, -1, [](const M& m) { return m.waiting_share; }},
      {"enough_share", "with enough idle GPUs for a waiting job", Unit::share, -1,
       [](const M& m) { return m.enough_share; }},
      {"oldest_enough_share", "with enough idle GPUs for the oldest one", Unit::share, -1,
       [](const M& m) { return m.oldest_enough_share; }},
      {"fragmentation", "Idle GPUs unusable for the oldest job", Unit::share, -1,
       [](const M& m) { return m.fragmentation; }},
      {"fragmentation_score", "  fragmentation at all levels", Unit::share, -1, [](const M& m) { return m.score; }},
      {"backfilled_starts", "Backfilled starts", Unit::share, 0, [](const M& m) { return m.backfilled_starts; }},
      {"backfilled_gpu_hours", "  share of GPU-hours", Unit::share, 0,
       [](const M& m) { return m.backfilled_gpu_hours; }},
      {"backfill_efficiency", "  share of the GPU time available to them", Unit::share, 1,
       [](const M& m) { return m.backfill_efficiency; }},
      {"lost_gpu_hours", "Work lost", Unit::hours, -1, [](const M& m) { return m.lost_gpu_hours; }},
      {"preemptions", "Preemptions", Unit::count, 0, [](const M& m) { return as_double(m.preemptions); }},
      {"failures", "Jobs set back by failures", Unit::count, -1, [](const M& m) { return as_double(m.failures); }},
      {"moves", "Moves", Unit::count, 0, [](const M& m) { return as_double(m.moves); }},
      {"resizes", "Resizes", Unit::count, 0, [](const M& m) { return as_double(m.resizes); }},
      {"killed", "Killed at the time limit", Unit::count, -1, [](const M& m) { return as_double(m.killed); }},
      {"never_started", "Never started", Unit::count, -1, [](const M& m) { return as_double(m.never_started); }},
  };
}

// Rows without information are hidden from people: all zero, and not among the first ones.
bool says_something(const Measure& measure, const ReplayReport& report) {
  const std::string_view key = measure.key;
  if (measure.unit == Unit::time || key.starts_with("utilisation")) return true;  // JSON key (words: allow)
  return std::any_of(report.runs.begin(), report.runs.end(),
                     [&](const ReplayRun& run) { return measure.value(run.metrics) != 0; });
}

TableSection comparison_for_people(const ReplayReport& report) {
  TableSection table{"policies", "Policies (* best)", {{"measure", "Measure", Align::left, false}}, {}};
  for (const ReplayRun& run : report.runs) {
    table.columns.push_back({run.metrics.policy, run.metrics.policy + "  ", Align::right, false});
  }
  for (const Measure& measure : measures()) {
    if (!says_something(measure, report)) continue;
    std::vector<std::string> texts;
    std::vector<double> values;
    for (const ReplayRun& run : report.runs) {
      values.push_back(measure.value(run.metrics));
      texts.push_back(shown(values.back(), measure.unit));
    }
    const auto order = [&](double a, double b) { return measure.better > 0 ? a > b : a < b; };
    const double best = *std::min_element(values.begin(), values.end(), order);
    const std::string best_text = shown(best, measure.unit);
    // If all are the same there is no best.
    const bool differ = std::any_of(texts.begin(), texts.end(), [&](const std::string& t) { return t != best_text; });
    std::vector<Cell> row = {Cell(measure.title)};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool marked = measure.better != 0 && differ && texts[i] == best_text;
      row.push_back(Cell(values[i], texts[i] + (marked ? " *" : "  ")));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableSection comparison_for_programs(const ReplayReport& report) {
  TableSection table{"policies", "Policies", {{"policy", "Policy", Align::left, false}}, {}};
  for (const Measure& measure : measures()) table.columns.push_back({measure.key, measure.key, Align::right, false});
  table.columns.push_back({"used_gpu_hours", "used_gpu_hours", Align::right, false});
  table.columns.push_back({"started", "Started", Align::right, false});
  table.columns.push_back({"decisions", "Decisions", Align::right, false});
  table.columns.push_back({"hash", "Hash", Align::right, false});
  for (const ReplayRun& run : report.runs) {
    std::vector<Cell> row = {Cell(run.metrics.policy)};
    for (const Measure& measure : measures()) {
      const double value = measure.value(run.metrics);
      row.push_back(measure.unit == Unit::count ? Cell(std::int64_t{std::llround(value)}) : Cell(value));
    }
    row.push_back(Cell(run.metrics.used_gpu_hours));
    row.push_back(Cell(run.metrics.started));
    row.push_back(Cell(run.metrics.decisions));
    row.push_back(Cell(fmt::format("{:016x}", run.metrics.hash)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Cell time_cell(double seconds) { return {seconds, span_text(seconds)}; }

// Grouped by class, with the policies of each class together for comparison.
TableSection waits_table(const ReplayReport& report, std::string key, std::string title, std::string what,
                         std::vector<WaitFigures> ReplayMetrics::*classes, std::size_t most) {
  TableSection table{std::move(key), std::move(title), {}, {}};
  std::string heading = what == "run_time" ? "run time" : what;
  heading.front() = static_cast<char>(heading.front() - 'a' + 'A');
  table.columns = {{what, heading, Align::left, false},
                   {"policy", "Policy", Align::left, false},
                   {"jobs", "Jobs", Align::right, false},
                   {"gpu_hours", "GPU-h", Align::right, false},
                   {"wait_mean_s", "Mean", Align::right, false},
                   {"wait_median_s", "Median", Align::right, false},
                   {"wait_p90_s", "P90", Align::right, false},
                   {"wait_p99_s", "P99", Align::right, false},
                   {"wait_longest_s", "Longest", Align::right, false},
                   {"slowdown_mean", "Slowdown", Align::right, false}};
  std::vector<std::string> names;
  for (const ReplayRun& run : report.runs) {
    for (const WaitFigures& each : run.metrics.*classes) {
      if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
    }
  }
  if (names.size() > most) names.resize(most);
  for (const std::string& name : names) {
    for (const ReplayRun& run : report.runs) {
      const std::vector<WaitFigures>& all = run.metrics.*classes;
      const auto found = std::find_if(all.begin(), all.end(), [&](const WaitFigures& w) { return w.name == name; });
      if (found == all.end()) continue;
      table.rows.push_back({Cell(name), Cell(run.metrics.policy), Cell(found->jobs),
                            Cell(found->gpu_hours, hours_text(found->gpu_hours)), time_cell(found->mean),
                            time_cell(found->median), time_cell(found->p90), time_cell(found->p99),
                            time_cell(found->longest), Cell(found->slowdown, shown(found->slowdown, Unit::ratio))});
    }
  }
  return table;
}

TableSection levels_table(const ReplayReport& report) {
  TableSection table{"spread", "Placement of multi-server jobs (last run of each)", {}, {}};
  table.columns = {{"policy", "Policy", Align::left, false},
                   {"level", "Within one", Align::left, false},
                   {"jobs", "Jobs", Align::right, false},
                   {"gpu_hours", "GPU-h", Align::right, false},
                   {"share", "Share of GPU-h", Align::right, false}};
  for (const ReplayRun& run : report.runs) {
    double sum = 0;
    for (const LevelFigures& each : run.metrics.levels) sum += each.gpu_hours;
    for (const LevelFigures& each : run.metrics.levels) {
      const double share = sum > 0 ? each.gpu_hours / sum : 0;
      table.rows.push_back({Cell(run.metrics.policy), Cell(to_text(each.level)), Cell(each.jobs),
                            Cell(each.gpu_hours, hours_text(each.gpu_hours)), Cell(share, format_percent(share, 1))});
    }
  }
  return table;
}

TableSection reasons_table(const ReplayReport& report) {
  TableSection table{"reasons", "Why jobs did not start immediately", {}, {}};
  table.columns = {{"policy", "Policy", Align::left, false},
                   {"reason", "Reason", Align::left, false},
                   {"jobs", "Jobs", Align::right, false},
                   {"waited_gpu_hours", "GPU-h waited", Align::right, false},
                   {"share", "Share", Align::right, false}};
  for (const ReplayRun& run : report.runs) {
    double sum = 0;
    for (const ReasonFigures& each : run.metrics.reasons) sum += each.waited_gpu_hours;
    for (const ReasonFigures& each : run.metrics.reasons) {
      const double share = sum > 0 ? each.waited_gpu_hours / sum : 0;
      table.rows.push_back({Cell(run.metrics.policy), Cell(to_text(each.reason)), Cell(each.jobs),
                            Cell(each.waited_gpu_hours, hours_text(each.waited_gpu_hours)),
                            Cell(share, format_percent(share, 1))});
    }
  }
  return table;
}

FactsSection facts_of(const ReplayReport& report) {
  FactsSection facts{"replay", "Replay", {}};
  facts.facts.push_back({"trace", "Trace", Cell(fmt::format("{} ({})", report.trace, report.format))});
  facts.facts.push_back({"jobs", "Jobs", Cell(static_cast<std::uint64_t>(report.jobs.size()))});
  facts.facts.push_back({"machine", "Machine", Cell(report.machine)});
  facts.facts.push_back({"nodes", "Servers", Cell(report.nodes)});
  facts.facts.push_back({"gpus", "GPUs", Cell(report.gpus)});
  if (!report.jobs.empty()) {
    const double span = seconds_of(report.jobs.back().submitted - report.jobs.front().submitted);
    facts.facts.push_back({"arrivals_s", "Jobs arrive during", Cell(span, span_text(span))});
  }
  const double load = offered_load(report);
  if (load > 0) facts.facts.push_back({"load", "Load", Cell(load, format_percent(load, 1) + " of the GPUs")});
  return facts;
}

}  // namespace

std::string span_text(double seconds) {
  if (seconds > 0 && seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5970) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 356'400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86'400);
}

double offered_load(const ReplayReport& report) {
  if (report.jobs.size() < 2 || report.gpus == 0) return 0;
  double work = 0;
  for (const Job& job : report.jobs) {
    if (job.run_time == kUnlimited) return 0;
    work += seconds_of(std::min(job.run_time, job.limit)) * static_cast<double>(job.gpu_milli()) / 1000.0;
  }
  const double span = seconds_of(report.jobs.back().submitted - report.jobs.front().submitted);
  return span > 0 ? work / (span * static_cast<double>(report.gpus)) : 0;
}

Document replay_document(const ReplayReport& report, bool by_policy) {
  Document document;
  document.kind = "sched_replay";
  document.sections.emplace_back(facts_of(report));
  document.sections.emplace_back(by_policy ? comparison_for_programs(report) : comparison_for_people(report));
  document.sections.emplace_back(
      waits_table(report, "waits_by_size", "Waits by size", "size", &ReplayMetrics::by_size, SIZE_MAX));
  document.sections.emplace_back(
      waits_table(report, "waits_by_run_time", "Waits by run time", "run_time", &ReplayMetrics::by_run_time, SIZE_MAX));
  const std::size_t tenants = report.runs.empty() ? 0 : report.runs.front().metrics.by_tenant.size();
  const bool cut = !by_policy && tenants > kTenantsShown;
  if (tenants > 1) {
    document.sections.emplace_back(
        waits_table(report, "waits_by_tenant",
                    cut ? fmt::format("Waits by tenant (the {} of {} with the most GPU-h)", kTenantsShown, tenants)
                        : std::string("Waits by tenant"),
                    "tenant", &ReplayMetrics::by_tenant, cut ? kTenantsShown : SIZE_MAX));
  }
  for (TableSection table : {levels_table(report), reasons_table(report)}) {
    if (!table.rows.empty() || by_policy) document.sections.emplace_back(std::move(table));
  }
  document.notes = replay_findings(report);
  document.notes.insert(document.notes.end(), report.notes.begin(), report.notes.end());
  return document;
}

bool write_jobs(const ReplayReport& report, const ReplayRun& run, const Machine& machine,
                const std::function<bool(std::string_view)>& write) {
  // Divides instead of multiplying: whole seconds stay exact.
  const auto seconds_text = [](std::int64_t nanoseconds) {
    return fmt::format("{}", static_cast<double>(nanoseconds) / 1e9);
  };
  const auto moment_text = [&](Moment at) { return at == kNever ? std::string("null") : seconds_text(at.count()); };
  std::string lines;
  for (std::size_t i = 0; i < report.jobs.size(); ++i) {
    const Job& job = report.jobs[i];
    const JobOutcome& outcome = run.result.jobs[i];
    std::vector<std::string> hosts;
    for (const NodeId node : outcome.nodes) hosts.push_back(machine.node(node).name);
    lines += fmt::format(
        "{{\"schema_version\":1,\"kind\":\"sched_job\",\"policy\":{},\"job\":{},\"tenant\":{},\"gpus\":{},\"tasks\":{},"
        "\"submit_s\":{},\"start_s\":{},\"end_s\":{},\"wait_s\":{},\"gpu_hours\":{},\"lost_gpu_hours\":{},"
        "\"preemptions\":{},\"failures\":{},\"backfilled\":{},\"killed\":{},\"reason\":{},\"level\":{},\"nodes\":{}}}"
        "\n",
        json_quote(run.metrics.policy), json_quote(job.name), json_quote(job.tenant),
        static_cast<double>(job.gpu_milli()) / 1000.0, outcome.tasks > 0 ? outcome.tasks : job.tasks,
        moment_text(outcome.submitted), moment_text(outcome.first_start), moment_text(outcome.end),
        seconds_text(outcome.waited.count()), outcome.gpu_seconds / 3600, outcome.lost_gpu_seconds / 3600,
        outcome.preemptions, outcome.failures, outcome.backfilled, outcome.killed,
        outcome.first_reason == Reason::none ? "null" : json_quote(to_text(outcome.first_reason)),
        outcome.first_start == kNever ? "null" : json_quote(to_text(outcome.level)), json_quote(fold_hosts(hosts)));
    if (lines.size() < (1U << 20U)) continue;
    if (!write(lines)) return false;
    lines.clear();
  }
  return write(lines);
}

}  // namespace weft::sched
