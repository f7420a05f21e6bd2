#include "explore/view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/human_format.h"

namespace weft::explore {
namespace {

using Align = Column::Align;

Cell days_cell(double days) { return {days, format_days(days)}; }
Cell power_cell(Power power) { return {static_cast<double>(power.count()) / 1e3, format_power(power)}; }

// Days, hours or minutes; "0" below a minute.
std::string difference_text(double days) {
  if (days >= 1) return format_days(days);
  const double minutes = days * 1'440;
  if (minutes >= 60) return format_number(minutes / 60) + " h";
  return minutes >= 1 ? fmt::format("{} min", std::llround(minutes)) : "0";
}

Cell signed_cell(double value, const std::string& shown) {
  if (value == 0 || shown == "0") return {value, "0"};
  return {value, (value < 0 ? "-" : "+") + shown};
}

FactsSection facts_of(const SearchResult& result) {
  FactsSection facts{"goal", to_text(result.goal), {}};
  const auto add = [&](std::string key, std::string title, Cell value) {
    facts.facts.push_back({std::move(key), std::move(title), std::move(value)});
  };
  add("met", "Result", Cell(result.met, headline(result)));
  add("model", "Model",
      Cell(result.model, fmt::format("{}, {} parameters", result.model, format_count(result.parameters))));
  add("tokens", "Tokens", Cell(result.goal.tokens, format_tokens(result.goal.tokens)));
  add("deadline_d", "Deadline", days_cell(result.deadline_days()));
  if (result.limits.power) add("max_power_w", "Power limit", power_cell(*result.limits.power));
  if (result.limits.cost) {
    add("max_cost", "Cost limit",
        Cell(static_cast<double>(result.limits.cost->count()) / 100, cost_text(result, *result.limits.cost)));
  }
  add("batch_tokens", "Tokens per step", Cell(result.batch_tokens, format_tokens(result.batch_tokens)));
  const SearchCounts& counts = result.counts;
  add("considered", "Designs considered", Cell(counts.considered, group_digits(counts.considered)));
  add("unbuildable", "  cannot be built", Cell(counts.unbuildable, group_digits(counts.unbuildable)));
  add("over_limits", "  over a limit", Cell(counts.over_limits, group_digits(counts.over_limits)));
  add("late", "  late at best", Cell(counts.late, group_digits(counts.late)));
  add("dominated", "  not better at best", Cell(counts.dominated, group_digits(counts.dominated)));
  add("simulated", "Designs simulated",
      Cell(counts.simulated, fmt::format("{}, of them {} to refine the front; {}", counts.simulated, counts.refined,
                                         plural(counts.runs, "run"))));
  return facts;
}

std::vector<Column> design_columns(const SearchResult& result) {
  std::vector<Column> columns = {{"point", "", Align::left, false},
                                 {"gpu", "GPU", Align::left, false, 90},
                                 {"servers", "Servers", Align::right, false, 90},
                                 {"spares", "Spares", Align::right, false, 60},
                                 {"network", "Network", Align::left, false, 50},
                                 {"oversubscription", "Leaves", Align::right, false, 40},
                                 {"storage", "Storage", Align::left, false, 40},
                                 {"interval_s", "Checkpoint", Align::right, false, 50},
                                 {"days", "Days", Align::right, false, 100},
                                 {"days_margin", "95 %", Align::right, false, 30},
                                 {"power_w", "Power", Align::right, false, 100}};
  if (!result.currency.empty()) columns.push_back({"cost", "Cost", Align::right, false, 100});
  const std::vector<Column> more = {{"ettr", "Effective", Align::right, false, 70},
                                    {"gpus", "GPUs", Align::right, true},
                                    {"racks", "Racks", Align::right, true},
                                    {"step_s", "Step", Align::right, true},
                                    {"steps", "Steps", Align::right, true},
                                    {"mfu", "MFU", Align::right, true},
                                    {"layout", "Layout", Align::left, true},
                                    {"interruptions_per_day", "Interruptions per day", Align::right, true},
                                    {"extrapolated", "Extrapolated", Align::left, true}};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

std::string layout_text(const Layout& layout) {
  std::string text = fmt::format("tensor {} x pipeline {}", layout.tensor, layout.pipeline);
  if (layout.interleave > 1) text += fmt::format(" (interleave {})", layout.interleave);
  if (layout.context > 1) text += fmt::format(" x context {}", layout.context);
  if (layout.expert > 1) text += fmt::format(" x expert {}", layout.expert);
  text += fmt::format(", micro-batch {}, batch {}", layout.micro_batch, layout.global_batch);
  if (layout.sharding == model::Sharding::parameters) text += ", FSDP";
  if (layout.recompute != model::Recompute::none)
    text += fmt::format(", recompute {}", model::text_of(layout.recompute));
  return text;
}

std::vector<Cell> design_row(const SearchResult& result, const Candidate& candidate, const std::string& label) {
  const Choice& choice = candidate.choice;
  const Figures& figures = candidate.figures;
  const twin::Estimate days = candidate.mean_days();
  std::vector<Cell> row = {Cell(label),
                           Cell(choice.gpu),
                           Cell(choice.nodes),
                           Cell(choice.spares),
                           Cell(std::string(model::text_of(choice.network)), network_text(choice.network)),
                           Cell(to_text(choice.oversubscription)),
                           Cell(std::string(model::text_of(choice.data))),
                           Cell(static_cast<double>(choice.interval.count()) / 1e9, interval_text(choice.interval)),
                           candidate.simulated() ? days_cell(days.mean) : days_cell(figures.optimistic_days),
                           candidate.simulated() && days.half && std::isfinite(*days.half)
                               ? Cell(*days.half, "±" + format_number(*days.half))
                               : Cell(),
                           power_cell(figures.power)};
  if (!result.currency.empty()) {
    row.push_back(figures.cost
                      ? Cell(static_cast<double>(figures.cost->count()) / 100, cost_text(result, *figures.cost))
                      : Cell());
  }
  const bool extrapolated = candidate.simulated() && candidate.runs.front().extrapolated;
  const std::vector<Cell> more = {
      candidate.simulated() ? Cell(candidate.mean(&Run::ettr), format_percent(candidate.mean(&Run::ettr))) : Cell(),
      Cell(figures.gpus, group_digits(static_cast<std::uint64_t>(figures.gpus))),
      Cell(figures.racks),
      Cell(static_cast<double>(figures.step) / 1e12, format_picoseconds(static_cast<double>(figures.step))),
      Cell(figures.steps, group_digits(static_cast<std::uint64_t>(figures.steps))),
      Cell(figures.mfu, format_percent(figures.mfu)),
      Cell(layout_text(candidate.layout)),
      candidate.simulated() ? Cell(candidate.mean(&Run::interruptions)) : Cell(),
      candidate.simulated() ? Cell(extrapolated, extrapolated ? "yes" : "no") : Cell()};
  row.insert(row.end(), more.begin(), more.end());
  return row;
}

TableSection front_table(const SearchResult& result) {
  TableSection table{
      "front", result.met ? "Designs that meet the goal" : "Nearest designs", design_columns(result), {}};
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    table.rows.push_back(design_row(result, result.candidates[result.front[i]], SearchResult::label(i)));
  }
  return table;
}

// The first, the middle and the last design; programs get all.
bool is_shown(const SearchResult& result, std::size_t point, bool all) {
  const std::size_t count = result.front.size();
  return all || count <= 3 || point == 0 || point == count / 2 || point + 1 == count;
}

TableSection alternatives_table(const SearchResult& result, bool all) {
  TableSection table{"alternatives",
                     "What one change would do",
                     {{"point", "", Align::left, false},
                      {"change", "Instead", Align::left, false},
                      {"days", "Days", Align::right, false},
                      {"power_w", "Power", Align::right, false}},
                     {}};
  if (!result.currency.empty()) table.columns.push_back({"cost", "Cost", Align::right, false});
  table.columns.push_back({"basis", "By", Align::left, false});
  for (const Alternative& each : alternatives(result)) {
    if (!is_shown(result, each.point, all)) continue;
    std::vector<Cell> row = {Cell(SearchResult::label(each.point)), Cell(each.change),
                             signed_cell(each.days, difference_text(std::abs(each.days))),
                             signed_cell(each.power, format_power(Power(std::llround(std::abs(each.power) * 1e3))))};
    if (!result.currency.empty()) {
      row.push_back(each.cost
                        ? signed_cell(*each.cost, cost_text(result, Money(std::llround(std::abs(*each.cost) * 100))))
                        : Cell());
    }
    row.emplace_back(each.simulated ? "simulation" : "lower bound");
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableSection platforms_table(const SearchResult& result) {
  TableSection table{"platforms",
                     "Platforms",
                     {{"gpu", "GPU", Align::left, false},
                      {"network", "Network", Align::left, false},
                      {"server", "Server", Align::left, false, -10},
                      {"verdict", "Designs, or why none", Align::left, false}},
                     {}};
  for (const PlatformResult& platform : result.platforms) {
    table.rows.push_back({Cell(platform.gpu),
                          Cell(std::string(model::text_of(platform.network)), network_text(platform.network)),
                          Cell(platform.server), Cell(platform_verdict(result, platform))});
  }
  return table;
}

TableSection candidates_table(const SearchResult& result) {
  TableSection table{"candidates", "Designs built", design_columns(result), {}};
  for (const Candidate& each : result.candidates) table.rows.push_back(design_row(result, each, ""));
  return table;
}

}  // namespace

TableSection jobs_table(const SearchResult& result) {
  TableSection table{"jobs",
                     "Jobs of these designs",
                     {{"point", "", Align::left, false},
                      {"gpus", "GPUs", Align::right, false},
                      {"step_s", "Step", Align::right, false},
                      {"mfu", "MFU", Align::right, false},
                      {"layout", "Layout", Align::left, false}},
                     {}};
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    const Candidate& each = result.candidates[result.front[i]];
    const auto step = static_cast<double>(each.figures.step);
    table.rows.push_back({Cell(SearchResult::label(i)),
                          Cell(each.figures.gpus, group_digits(static_cast<std::uint64_t>(each.figures.gpus))),
                          Cell(step / 1e12, format_picoseconds(step)),
                          Cell(each.figures.mfu, format_percent(each.figures.mfu)), Cell(layout_text(each.layout))});
  }
  return table;
}

Document search_document(const SearchResult& result, bool all) {
  Document document;
  document.kind = "design_search";
  document.sections.emplace_back(facts_of(result));
  if (!result.front.empty() || all) {
    document.sections.emplace_back(front_table(result));
    document.sections.emplace_back(alternatives_table(result, all));
  }
  document.sections.emplace_back(platforms_table(result));
  if (all) document.sections.emplace_back(candidates_table(result));
  document.notes = front_reasons(result);
  document.notes.insert(document.notes.end(), result.notes.begin(), result.notes.end());
  return document;
}

}  // namespace weft::explore
