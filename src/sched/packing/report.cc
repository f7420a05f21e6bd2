#include "sched/packing/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "html/svg.h"

namespace weft::sched {
namespace {

template <class Of>
Spread over(const std::vector<PackRun>& runs, Of of) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const PackRun& run : runs) values.push_back(of(run));
  return spread_of(values);
}

Cell points(double value) { return {std::round(value * 1000) / 1000, fmt::format("{:.2f}", value)}; }

double percent_of(double milli, const PackWorkload& workload) {
  return workload.gpus > 0 ? milli / (static_cast<double>(workload.gpus) * kWholeGpu) * 100 : 0;
}

double mean_bound(const PackWorkload& workload, double PackBound::*which) {
  double sum = 0;
  for (const PackBound& bound : workload.bounds) sum += bound.*which;
  return percent_of(sum / static_cast<double>(workload.bounds.size()), workload);
}

std::vector<Cell> row_of(const PackWorkload& workload, const PackResult& result) {
  const Spread allocated = over(result.runs, [](const PackRun& run) { return run.allocated; });
  const bool full =
      std::all_of(result.runs.begin(), result.runs.end(), [](const PackRun& run) { return run.curve.size() > 100; });
  std::vector<Cell> row = {workload.name, to_text(result.policy), points(allocated.mean), points(allocated.deviation)};
  row.push_back(full ? points(over(result.runs, [](const PackRun& run) { return run.at(100); }).mean) : Cell());
  row.push_back(points(100 - allocated.mean));
  row.push_back(points(over(result.runs, [](const PackRun& run) { return run.fragmented; }).mean));
  if (workload.bounds.empty()) {
    row.insert(row.end(), 3, Cell());
  } else {
    const double bound = mean_bound(workload, &PackBound::conserving);
    row.push_back(points(bound));
    row.push_back(points(bound - allocated.mean));
    row.push_back(points(mean_bound(workload, &PackBound::any)));
  }
  row.push_back(points(over(result.runs, [](const PackRun& run) { return run.cpu; }).mean));
  row.push_back(points(over(result.runs, [](const PackRun& run) { return run.memory; }).mean));
  row.push_back(points(over(result.runs, [](const PackRun& run) { return static_cast<double>(run.placed); }).mean));
  row.push_back(points(over(result.runs, [](const PackRun& run) { return static_cast<double>(run.asked); }).mean));
  return row;
}

// The mean over runs of the GPUs not allocated at a percentage requested, in percent of all GPUs.
double missing(const PackResult& result, std::size_t percent) {
  double sum = 0;
  for (const PackRun& run : result.runs) sum += std::min(100.0, static_cast<double>(percent)) - run.at(percent);
  return sum / static_cast<double>(result.runs.size());
}

std::size_t last_percent(const PackResult& result) {
  std::size_t last = result.runs.empty() ? 0 : result.runs.front().curve.size();
  for (const PackRun& run : result.runs) last = std::min(last, run.curve.size());
  return last == 0 ? 0 : last - 1;
}

// Distinct in lightness too, for readers with color vision deficiency.
constexpr std::array<std::string_view, kPackPolicies> kColors = {"#9a9a9a", "#c08a00", "#0060a8",
                                                                 "#6aa5d8", "#5a3d8a", "#c02020"};
constexpr double kLeft = 60;
constexpr double kTop = 44;
constexpr double kPanelWidth = 380;
constexpr double kPanelHeight = 260;
constexpr double kPitch = kLeft + kPanelWidth + 30;
constexpr double kHeight = kTop + kPanelHeight + 56;

class Panel {
 public:
  Panel(picture::Svg& svg, const PackWorkload& workload, double x, double most_x, double most_y)
      : svg_(svg), workload_(workload), x_(x), most_x_(most_x), most_y_(most_y) {}

  void draw() {
    axes();
    bound();
    double legend = kTop + 14;
    for (const PackResult& result : workload_.results) {
      line(result);
      const std::size_t last = last_percent(result);
      const std::string_view color = kColors[static_cast<std::size_t>(result.policy)];
      svg_.line({x_ + 12, legend - 4}, {x_ + 34, legend - 4}, {.stroke = color, .stroke_width = 2});
      svg_.text({x_ + 40, legend}, fmt::format("{} {:.2f} %", to_text(result.policy), missing(result, last)),
                {.size = 11});
      legend += 15;
    }
  }

 private:
  [[nodiscard]] picture::Point at(double asked, double lost) const {
    return {x_ + asked / most_x_ * kPanelWidth,
            kTop + kPanelHeight - std::clamp(lost / most_y_, 0.0, 1.0) * kPanelHeight};
  }

  void axes() {
    svg_.text({x_, kTop - 14}, workload_.name, {.size = 13, .bold = true});
    for (double lost = 0; lost <= most_y_; lost += most_y_ > 10 ? 2 : 1) {
      svg_.line(at(0, lost), at(most_x_, lost), {.stroke = "#dddddd"});
      svg_.text({x_ - 6, at(0, lost).y + 4}, fmt::format("{:.0f}", lost), {.size = 10, .anchor = picture::Anchor::end});
    }
    for (double asked = 0; asked <= most_x_; asked += 20) {
      svg_.line(at(asked, 0), {at(asked, 0).x, at(asked, 0).y + 4}, {.stroke = "#444444"});
      svg_.text({at(asked, 0).x, at(asked, 0).y + 16}, fmt::format("{:.0f}", asked),
                {.size = 10, .anchor = picture::Anchor::middle});
    }
    svg_.line(at(0, 0), at(most_x_, 0), {.stroke = "#444444"});
    svg_.line(at(0, 0), at(0, most_y_), {.stroke = "#444444"});
    svg_.text({x_ + kPanelWidth / 2, kTop + kPanelHeight + 34}, "GPUs requested, % of all",
              {.size = 11, .anchor = picture::Anchor::middle});
    svg_.text({x_ - 34, kTop + kPanelHeight / 2}, "GPUs lost to imperfect packing, %",
              {.size = 11, .anchor = picture::Anchor::middle, .angle = -90});
  }

  void bound() {
    if (workload_.bounds.empty() || most_x_ < 100) return;
    const double lost = 100 - mean_bound(workload_, &PackBound::conserving);
    svg_.line(at(100, lost), at(most_x_, lost), {.stroke = "#208040", .stroke_width = 1.5, .dash = "4 3"},
              "lower bound for any policy");
    svg_.text({at(most_x_, lost).x, at(0, lost).y + 12}, fmt::format("bound {:.2f} %", lost),
              {.size = 10, .fill = "#208040", .anchor = picture::Anchor::end});
  }

  void line(const PackResult& result) {
    const std::string_view color = kColors[static_cast<std::size_t>(result.policy)];
    for (std::size_t k = 1; k <= last_percent(result); ++k) {
      svg_.line(at(static_cast<double>(k - 1), missing(result, k - 1)), at(static_cast<double>(k), missing(result, k)),
                {.stroke = color, .stroke_width = result.policy == PackPolicy::weft ? 2.5 : 1.5});
    }
  }

  picture::Svg& svg_;
  const PackWorkload& workload_;
  double x_;
  double most_x_;
  double most_y_;
};

}  // namespace

Document pack_document(const std::vector<PackWorkload>& workloads, double demand) {
  Document document;
  document.kind = "packing";
  TableSection table;
  table.key = "packing";
  using Align = Column::Align;
  table.columns = {{"workload", "Workload"},
                   {"policy", "Policy"},
                   {"allocated_percent", "Allocated %", Align::right},
                   {"deviation_percent", "+-", Align::right},
                   {"allocated_at_100_percent", "At 100 % load", Align::right},
                   {"unallocated_percent", "Unallocated %", Align::right},
                   {"fragmented_percent", "Fragmented %", Align::right},
                   {"bound_percent", "Bound %", Align::right},
                   {"gap_percent", "Gap", Align::right},
                   {"bound_any_percent", "Bound, any policy %", Align::right, true},
                   {"cpu_percent", "CPU %", Align::right, true},
                   {"memory_percent", "Memory %", Align::right, true},
                   {"placed", "Placed", Align::right, true},
                   {"asked", "Asked", Align::right, true}};
  std::size_t seeds = 0;
  for (const PackWorkload& workload : workloads) {
    for (const PackResult& result : workload.results) {
      table.rows.push_back(row_of(workload, result));
      seeds = std::max(seeds, result.runs.size());
    }
  }
  document.sections.emplace_back(std::move(table));
  document.notes.push_back(fmt::format(
      "Tasks arrive until they have requested {:.0f} % of the GPUs, none ends, and a task that fits nowhere is "
      "dropped; mean and standard deviation over {} of arrival, the same for every policy.",
      demand * 100, seeds == 1 ? "1 order" : fmt::format("{} orders", seeds)));
  if (!workloads.empty() && !workloads.front().bounds.empty()) {
    document.notes.emplace_back(
        "No policy that places every task that fits can exceed the bound (weak duality of a linear program; memory is "
        "left out); Gap is the distance to it.");
  }
  return document;
}

std::string pack_plot(const std::vector<PackWorkload>& workloads) {
  double most_x = 1;
  double most_y = 1;
  for (const PackWorkload& workload : workloads) {
    for (const PackResult& result : workload.results) {
      const std::size_t last = last_percent(result);
      most_x = std::max(most_x, static_cast<double>(last));
      for (std::size_t k = 0; k <= last && !result.runs.empty(); ++k) most_y = std::max(most_y, missing(result, k));
    }
  }
  picture::Svg svg;
  double x = kLeft;
  for (const PackWorkload& workload : workloads) {
    Panel(svg, workload, x, most_x, std::ceil(most_y)).draw();
    x += kPitch;
  }
  return svg.finish(x - kLeft + 20, kHeight, "GPUs left unallocated by packing");
}

}  // namespace weft::sched
