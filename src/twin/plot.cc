#include "twin/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/human_format.h"
#include "html/plot_area.h"
#include "twin/view.h"

namespace weft::twin {
namespace {

using picture::Anchor;
using picture::Box;
using picture::PlotArea;
using picture::Point;
using picture::real;
using picture::rounded_scale;
using picture::Svg;
using picture::tick_step;
using picture::tick_text;

constexpr std::string_view kInk = picture::kPlotInk;
constexpr std::string_view kSoft = picture::kPlotSoft;
constexpr std::string_view kGrid = picture::kPlotGrid;
// Okabe and Ito's palette and shades of it, with a contrast of at least 3 to white or to the dark background.
constexpr std::array<std::string_view, kUses> kColors = {"#009e73", "#8a9a2b", "#56b4e9", "#d55e00",
                                                         "#e69f00", "#a6761d", "#0072b2", "#8b949e",
                                                         "#9467bd", "#cc79a7", "#a5437a"};
constexpr std::string_view kOut = "#cc79a7";
constexpr double kWidth = 430;
constexpr double kHeight = 290;
constexpr std::size_t kMaxPoints = 240;  // over time

double hours_of(Duration duration) { return real(duration.count()) / 3.6e12; }

std::string hours_text(double hours) { return format_number(hours) + " GPU-hours"; }

// Time since the start of the run, in days or hours.
struct TimeUnit {
  double hours = 24;
  std::string_view title = "time (days)";
};
TimeUnit unit_of(const TwinResult& result) {
  return hours_of(result.length) > 72 ? TimeUnit{} : TimeUnit{1, "time (hours)"};
}
void time_axis(PlotArea& plot, const TwinResult& result) {
  const TimeUnit unit = unit_of(result);
  const double high = std::max(hours_of(result.length) / unit.hours, 1e-6);
  plot.x_axis({high, tick_step(high, 6)}, unit.title, false);
}

// One layer of the GPUs over time.
struct Layer {
  double TwinSample::*part;
  std::string_view color;
  std::string_view name;
};
constexpr std::array<Layer, 4> kLayers = {
    Layer{&TwinSample::computing, kColors[0], "computing"}, Layer{&TwinSample::overhead, "#e69f00", "overhead"},
    Layer{&TwinSample::idle, "#8b949e", "idle"}, Layer{&TwinSample::out, kOut, "out of service"}};

// Means over groups of samples.
std::vector<TwinSample> grouped_samples(const TwinResult& result, std::size_t group) {
  std::vector<TwinSample> groups;
  groups.reserve(result.samples.size() / group + 1);
  for (std::size_t first = 0; first < result.samples.size(); first += group) {
    const std::size_t last = std::min(result.samples.size(), first + group);
    TwinSample mean;
    for (const Layer& layer : kLayers) {
      for (std::size_t i = first; i < last; ++i) mean.*layer.part += result.samples[i].*layer.part;
      mean.*layer.part /= real(last - first);
    }
    groups.push_back(mean);
  }
  return groups;
}

TwinPlot gpus_over_time(const TwinResult& result) {
  TwinPlot plot{"GPUs over time", "", {}};
  Svg svg;
  PlotArea area(svg, {62, 12, kWidth - 80, kHeight - 60});
  area.y_axis({real(std::max<std::int64_t>(result.gpus, 1)), std::max(1.0, tick_step(real(result.gpus), 5))}, "GPUs");
  time_axis(area, result);
  const std::size_t group = std::max<std::size_t>(1, (result.samples.size() + kMaxPoints - 1) / kMaxPoints);
  const std::vector<TwinSample> samples = grouped_samples(result, group);
  const double unit = unit_of(result).hours;
  const double period = hours_of(result.sample_period) / unit;
  std::vector<double> below(samples.size(), 0);
  for (const Layer& layer : kLayers) {
    std::vector<Point> top;
    std::vector<Point> bottom;
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t last = std::min(result.samples.size(), (i + 1) * group);
      const double begin = area.x_of(period * real(i * group));
      const double end = area.x_of(period * real(last));
      const double above = below[i] + samples[i].*layer.part;
      sum += samples[i].*layer.part;
      for (const double x : {begin, end}) {
        bottom.push_back({x, area.y_of(below[i])});
        top.push_back({x, area.y_of(above)});
      }
      below[i] = above;
    }
    top.insert(top.end(), bottom.rbegin(), bottom.rend());
    plot.legend.emplace_back(layer.color, layer.name);
    if (sum <= 0) continue;
    svg.polyline(top, {layer.color, "none", 1, 1, "", 0},
                 fmt::format("{}: {} GPUs on average", layer.name, format_number(sum / real(samples.size()))));
  }
  plot.svg = svg.finish(kWidth, kHeight, "GPUs over time: computing, overhead, idle, out of service");
  return plot;
}

// Parts of the GPU-hours that a cause costs.
struct LossPart {
  std::string_view name;
  std::string_view color;
  double (*hours)(const CauseResult&);
};
constexpr std::array<LossPart, 6> kLosses = {
    LossPart{"work lost", "#d55e00", [](const CauseResult& cause) { return cause.hours(Use::lost); }},
    LossPart{"unnoticed", "#e69f00", [](const CauseResult& cause) { return cause.hours(Use::undetected); }},
    LossPart{"stop", "#a6761d", [](const CauseResult& cause) { return cause.hours(Use::stopping); }},
    LossPart{"restart", "#0072b2", [](const CauseResult& cause) { return cause.hours(Use::starting); }},
    LossPart{"node out", kOut, [](const CauseResult& cause) { return cause.node_out_hours(); }},
    LossPart{"slowed down", "#8a9a2b", [](const CauseResult& cause) { return cause.hours(Use::slow); }}};

std::vector<const CauseResult*> causes_by_loss(const TwinResult& result) {
  std::vector<const CauseResult*> causes;
  causes.reserve(result.causes.size());
  for (std::size_t c = 1; c < result.causes.size(); ++c) {
    if (result.causes[c].incidents > 0) causes.push_back(&result.causes[c]);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CauseResult* a, const CauseResult* b) { return a->lost_hours() > b->lost_hours(); });
  return causes;
}

constexpr double kRow = 21;
constexpr double kNames = 202;  // of causes, before their rows
void row_name(Svg& svg, double y, const std::string& name) {
  svg.text({kNames - 8, y + kRow / 2 + 4}, picture::fit_text(name, 12, kNames - 14), {12, kInk, Anchor::end, false, 0});
}

TwinPlot losses(const std::vector<const CauseResult*>& causes) {
  TwinPlot plot{"Lost GPU-hours by cause", "", {}};
  Svg svg;
  const double height = kRow * real(causes.size());
  PlotArea area(svg, {kNames, 8, kWidth - kNames - 66, height});
  double most = 0;
  for (const CauseResult* cause : causes) most = std::max(most, cause->lost_hours());
  area.x_axis(rounded_scale(most, 4, false), "lost GPU-hours", true);
  std::array<bool, kLosses.size()> used{};
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const double y = 8 + kRow * real(i);
    row_name(svg, y, causes[i]->title);
    double sum = 0;
    for (std::size_t p = 0; p < kLosses.size(); ++p) {
      const double hours = kLosses[p].hours(*causes[i]);
      if (hours <= 0) continue;
      used[p] = true;
      const double x = area.x_of(sum);
      svg.rect({x, y + 3, area.x_of(sum + hours) - x, kRow - 6}, {kLosses[p].color, "none", 1, 1, "", 0},
               fmt::format("{}, {}: {}", causes[i]->title, kLosses[p].name, hours_text(hours)));
      sum += hours;
    }
    svg.text({area.x_of(sum) + 5, y + kRow / 2 + 4}, format_number(causes[i]->lost_hours()),
             {11.5, kInk, Anchor::start, false, 0});
  }
  for (std::size_t p = 0; p < kLosses.size(); ++p) {
    if (used[p]) plot.legend.emplace_back(kLosses[p].color, kLosses[p].name);
  }
  plot.svg = svg.finish(kWidth, height + 54, "Lost GPU-hours by cause");
  return plot;
}

constexpr std::string_view kInterrupting = "#d55e00";
constexpr std::string_view kHarmless = "#8b949e";

TwinPlot incidents(const TwinResult& result, const std::vector<const CauseResult*>& causes) {
  TwinPlot plot{
      "Incidents over time", "", {{kInterrupting, "interrupts a job"}, {kHarmless, "does not interrupt a job"}}};
  Svg svg;
  const double height = kRow * real(causes.size());
  PlotArea area(svg, {kNames, 8, kWidth - kNames - 44, height});
  const double unit = unit_of(result).hours;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const double y = 8 + kRow * real(i);
    row_name(svg, y, causes[i]->title);
    svg.line({area.area().x, y + kRow / 2}, {area.area().right(), y + kRow / 2}, {"none", kGrid, 1, 1, "", 0});
    for (const bool interrupting : {false, true}) {  // the more important ones on top
      for (const IncidentCourse& course : result.courses) {
        if (&result.causes[course.incident.cause + 1] != causes[i] || (course.jobs > 0) != interrupting) continue;
        const double at = hours_of(course.incident.at) / unit;
        const double x = area.x_of(0) + at / (hours_of(result.length) / unit) * area.area().width;
        const double tall = interrupting ? kRow - 6 : kRow - 11;
        svg.rect({x - 1, y + (kRow - tall) / 2, 2, tall},
                 {interrupting ? kInterrupting : kHarmless, "none", 1, 1, "", 0},
                 fmt::format("{}, {} {}", causes[i]->title, unit == 24 ? "day" : "hour", format_number(at)));
      }
    }
    svg.text({area.area().right() + 6, y + kRow / 2 + 4}, group_digits(causes[i]->incidents),
             {11.5, kInk, Anchor::start, false, 0});
  }
  time_axis(area, result);
  plot.svg = svg.finish(kWidth, height + 54, "Incidents over time, one row per cause");
  return plot;
}

struct OutClass {
  double hours;  // at most
  std::string_view name;
};
constexpr std::array<OutClass, 8> kOutClasses = {
    OutClass{0.5, "30 min"}, {1, "1 h"}, {4, "4 h"}, {12, "12 h"}, {24, "1 d"}, {48, "2 d"}, {96, "4 d"},
    {1e12, "more"}};

TwinPlot times_out(const TwinResult& result) {
  TwinPlot plot{"Time out of service", "", {}};
  std::array<std::uint64_t, kOutClasses.size()> counts{};
  for (const IncidentCourse& course : result.courses) {
    const std::optional<Duration> out = out_time(course);
    if (!out) continue;
    std::size_t c = 0;
    while (c + 1 < kOutClasses.size() && hours_of(*out) > kOutClasses[c].hours) ++c;
    ++counts[c];
  }
  const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
  if (most == 0) return plot;
  Svg svg;
  PlotArea area(svg, {50, 20, kWidth - 62, kHeight - 68});
  area.y_axis(rounded_scale(real(most), 5, true), "incidents");
  area.base_line("from the incident until the node is in service, at most");
  for (std::size_t c = 0; c < counts.size(); ++c) {
    area.column(c, counts.size(), kOutClasses[c].name, real(counts[c]), kOut, group_digits(counts[c]),
                fmt::format("{}{}: {}", c + 1 < counts.size() ? "at most " : "", kOutClasses[c].name,
                            grouped_plural(counts[c], "incident", "incidents")));
  }
  plot.svg = svg.finish(kWidth, kHeight, "Histogram of the time out of service");
  return plot;
}

TwinPlot jobs_by_size(const TwinResult& result) {
  TwinPlot plot{"Effective training time ratio by job size", "", {}};
  const std::vector<SizeClass> classes = by_size(result);
  if (result.jobs.size() < 2 || classes.empty()) return plot;
  Svg svg;
  PlotArea area(svg, {50, 20, kWidth - 62, kHeight - 68});
  area.y_axis({100, 20}, "ETTR (%)");
  area.base_line("GPUs of the job, at most");
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const SizeClass& size = classes[c];
    const std::string name = tick_text(real(size.gpus));
    area.column(c, classes.size(), name, size.ettr * 100, kColors[0], fmt::format("{:.0f}", size.ettr * 100),
                fmt::format("at most {} GPUs: ETTR {}, {}, {}", name, format_percent(size.ettr, 2),
                            grouped_plural(size.jobs, "job", "jobs"),
                            grouped_plural(size.interruptions, "interruption", "interruptions")));
  }
  plot.svg = svg.finish(kWidth, kHeight, "Effective training time ratio by job size");
  return plot;
}

// One bar of GPU time, of the uses for which `has` holds.
template <class Has>
void draw_bar(Svg& svg, const Box& box, const TwinResult& result, double all, Has has) {
  double x = box.x;
  for (std::size_t u = 0; u < kUses; ++u) {
    const auto use = static_cast<Use>(u);
    if (!has(use) || result.time[u] == 0) continue;
    const double width = box.width * result.share(use) / all;
    svg.rect({x, box.y, width > 4 ? width - 1.5 : width, box.height}, {kColors[u], "none", 1, 1, "", 0},
             fmt::format("{}: {}, {}", to_text(use), format_percent(result.share(use), 2),
                         hours_text(gpu_hours(result.time[u]))));
    x += width;
  }
}

}  // namespace

std::string_view use_color(Use use) { return kColors[static_cast<std::size_t>(use)]; }

std::string time_bar(const TwinResult& result) {
  constexpr double kBarWidth = 900;
  constexpr double kBar = 40;
  Svg svg;
  const auto wasted = [](Use use) { return use != Use::productive; };
  draw_bar(svg, {0, 0, kBarWidth, kBar}, result, 1, [](Use) { return true; });
  const double rest = 1 - result.goodput();
  if (result.total() == 0 || rest <= 0) return svg.finish(kBarWidth, kBar, "Where the GPU time went");
  const double from = kBarWidth * result.goodput();
  constexpr double kLower = kBar + 40;
  svg.line({from, kBar}, {0, kLower}, {"none", kSoft, 1, 1, "4 3", 0});
  svg.line({kBarWidth, kBar}, {kBarWidth, kLower}, {"none", kSoft, 1, 1, "4 3", 0});
  draw_bar(svg, {0, kLower, kBarWidth, kBar}, result, rest, wasted);
  return svg.finish(kBarWidth, kLower + kBar,
                    "Where the GPU time went; below, enlarged, the part that was not productive");
}

std::vector<TwinPlot> twin_plots(const TwinResult& result) {
  std::vector<TwinPlot> plots;
  plots.push_back(gpus_over_time(result));
  const std::vector<const CauseResult*> causes = causes_by_loss(result);
  if (!causes.empty()) {
    plots.push_back(losses(causes));
    plots.push_back(incidents(result, causes));
  }
  plots.push_back(times_out(result));
  plots.push_back(jobs_by_size(result));
  std::erase_if(plots, [](const TwinPlot& plot) { return plot.svg.empty(); });
  return plots;
}

}  // namespace weft::twin
