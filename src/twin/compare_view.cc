// Comparisons as documents.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/human_format.h"
#include "base/text.h"
#include "twin/compare.h"

namespace weft::twin {
namespace {

using Align = Column::Align;

constexpr std::array<Measure, kMeasures> kAll = {Measure::ettr,          Measure::goodput,        Measure::availability,
                                                 Measure::interruptions, Measure::lost_gpu_hours, Measure::later_waits};

bool is_share(Measure measure) { return is_better_high(measure); }

std::string value_text(Measure measure, double value) {
  return is_share(measure) ? format_percent(value, 2) : format_number(value);
}
// With its sign; of shares, in points of a percentage.
std::string difference_text(Measure measure, double value) {
  const std::string size =
      is_share(measure) ? fmt::format("{:.2f}", std::abs(value) * 100) : format_number(std::abs(value));
  const bool is_zero = size.find_first_not_of("0.") == std::string::npos;
  return fmt::format("{}{}{}", is_zero ? "" : value < 0 ? "-" : "+", size, is_share(measure) ? " pp" : "");
}
std::string half_text(Measure measure, const Estimate& estimate) {
  if (!estimate.half) return "-";
  if (!is_share(measure)) return "± " + format_number(*estimate.half);
  return fmt::format("± {:.2f} pp", *estimate.half * 100);
}
Cell half_cell(Measure measure, const Estimate& estimate) {
  if (!estimate.half) return {};
  return {*estimate.half, half_text(measure, estimate)};
}

std::string runs_text(const Comparison& comparison, std::string_view title) {
  return fmt::format("{}: {} with each", title, plural(comparison.seeds.size(), "seed"));
}

// A value of an axis: a number where it is one.
Cell axis_cell(const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return {number, value};
  return {value};
}

// One row per measure and variant.
TableSection measures_table(const Comparison& comparison) {
  TableSection table{"measures",
                     runs_text(comparison, "Variants"),
                     {{"measure", "Measure", Align::left, false},
                      {"variant", "Variant", Align::left, false},
                      {"mean", "Mean", Align::right, false},
                      {"margin", "95 %", Align::right, false},
                      {"difference", "To the first", Align::right, false},
                      {"difference_margin", "95 %", Align::right, false},
                      {"distinguishable", "Distinguishable", Align::left, false}},
                     {}};
  for (const Measure measure : kAll) {
    for (std::size_t v = 0; v < comparison.names.size(); ++v) {
      const Estimate mean = comparison.mean(v, measure);
      std::vector<Cell> row = {Cell(std::string(key_of(measure)), std::string(v == 0 ? to_text(measure) : " ")),
                               Cell(comparison.names[v]), Cell(mean.mean, value_text(measure, mean.mean)),
                               half_cell(measure, mean)};
      if (v == 0) {
        row.insert(row.end(), {Cell(), Cell(), Cell()});
      } else {
        const Estimate difference = comparison.difference(v, 0, measure);
        row.emplace_back(difference.mean, difference_text(measure, difference.mean));
        row.push_back(half_cell(measure, difference));
        row.push_back(difference.half
                          ? Cell(difference.differs_from_zero(), difference.differs_from_zero() ? "yes" : "no")
                          : Cell());
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

// Every run, for programs.
TableSection runs_table(const Comparison& comparison) {
  TableSection table{"runs", "Runs", {{"variant", "Variant"}, {"seed", "Seed", Align::right}}, {}};
  for (const Measure measure : kAll) {
    table.columns.push_back({std::string(key_of(measure)), std::string(to_text(measure)), Align::right, false});
  }
  for (std::size_t v = 0; v < comparison.names.size(); ++v) {
    for (std::size_t s = 0; s < comparison.seeds.size(); ++s) {
      std::vector<Cell> row = {Cell(comparison.names[v]), Cell(comparison.seeds[s])};
      for (const double value : comparison.runs[v][s]) row.emplace_back(value);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void add_notes(const Comparison& comparison, Document& document) {
  if (comparison.seeds.size() < 2) document.notes.emplace_back("One run has no interval: give --seeds 2 or more.");
  document.notes.insert(document.notes.end(), comparison.notes.begin(), comparison.notes.end());
}

}  // namespace

Document compare_document(const Comparison& comparison, bool all) {
  Document document;
  document.kind = "twin_comparison";
  document.sections.emplace_back(measures_table(comparison));
  if (all) document.sections.emplace_back(runs_table(comparison));
  if (comparison.seeds.size() > 1) {
    document.notes.emplace_back(
        "Intervals have 95 % confidence (Student's t over the seeds). Differences are paired by seed: with one seed, "
        "the same faults happen in all variants of one cluster. Of many differences, one in twenty is called "
        "distinguishable by chance.");
  }
  add_notes(comparison, document);
  return document;
}

Document sweep_document(const Comparison& comparison, const std::vector<std::string>& axes, bool all) {
  Document document;
  document.kind = "twin_sweep";
  TableSection table{"points", runs_text(comparison, "Points"), {}, {}};
  for (const std::string& axis : axes) {
    table.columns.push_back({replace_all(axis, "-", "_"), axis, Align::right, false, 20});
  }
  constexpr std::array<Measure, 4> kShown = {Measure::ettr, Measure::goodput, Measure::interruptions,
                                             Measure::lost_gpu_hours};
  std::array<std::optional<std::size_t>, kShown.size()> best;
  for (std::size_t m = 0; m < kShown.size(); ++m) {
    best[m] = comparison.best(kShown[m]);
    const std::string key(key_of(kShown[m]));
    const bool wide = m >= 2;
    table.columns.push_back({key, std::string(to_text(kShown[m])), Align::right, wide, 10});
    table.columns.push_back({key + "_margin", "95 %", Align::right, wide, 5});
    table.columns.push_back({key + "_best", "", Align::left, wide, 5});
  }
  for (std::size_t v = 0; v < comparison.names.size(); ++v) {
    std::vector<Cell> row;
    for (const std::string& value : comparison.points[v]) row.push_back(axis_cell(value));
    for (std::size_t m = 0; m < kShown.size(); ++m) {
      const Estimate mean = comparison.mean(v, kShown[m]);
      row.emplace_back(mean.mean, value_text(kShown[m], mean.mean));
      row.push_back(half_cell(kShown[m], mean));
      row.emplace_back(best[m] == v, best[m] == v ? "best" : " ");
    }
    table.rows.push_back(std::move(row));
  }
  document.sections.emplace_back(std::move(table));
  if (all) document.sections.emplace_back(runs_table(comparison));
  if (comparison.seeds.size() > 1) {
    document.notes.emplace_back(
        "A point is marked as the best one only if its paired difference to the second best one is distinguishable "
        "from "
        "0 (95 % confidence, Student's t over the seeds).");
  }
  add_notes(comparison, document);
  return document;
}

}  // namespace weft::twin
