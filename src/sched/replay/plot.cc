#include "sched/replay/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::sched {
namespace {

using picture::Anchor;
using picture::Box;
using picture::Paint;
using picture::Point;
using picture::real;
using picture::Svg;

// Okabe and Ito's palette, distinguishable with any color vision; without yellow, which is too pale for a line on
// white.
constexpr std::array<std::string_view, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#e69f00", "#3a3a3a"};
constexpr std::array<std::string_view, 7> kDashes = {"", "6 3", "2 2", "8 3 2 3", "", "6 3", "2 2"};
constexpr std::string_view kInk = "#1a1a1a";
constexpr std::string_view kSoft = "#5a6472";
constexpr std::string_view kGrid = "#e2e6eb";
constexpr std::size_t kPoints = 480;  // per line

struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::string title{};
  std::vector<std::pair<double, std::string>> ticks{};

  [[nodiscard]] double part(double value) const {
    if (!logarithmic) return (value - low) / (high - low);
    return (std::log10(std::max(value, low)) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

// A step of 1, 2 or 5 times a power of ten that yields at most `most` ticks.
double tick_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= raw) return power * factor;
  }
  return power * 10;
}

Axis linear_axis(double high, std::string title, int most) {
  Axis axis;
  axis.title = std::move(title);
  const double step = tick_step(std::max(high, 1e-9), most);
  axis.high = std::max(step, std::ceil(high / step - 1e-9) * step);
  for (int i = 0; i * step <= axis.high * 1.0001; ++i) axis.ticks.emplace_back(i * step, fmt::format("{:g}", i * step));
  return axis;
}

Axis time_axis(const ReplayReport& report, const Box& box) {
  double seconds = 1;
  for (const ReplayRun& run : report.runs) seconds = std::max(seconds, seconds_of(run.result.end - run.result.begin));
  const bool days = seconds > 3 * 86'400;
  const bool hours = !days && seconds > 3 * 3600;
  const double unit = days ? 86'400 : hours ? 3600 : 60;
  Axis axis = linear_axis(seconds / unit,
                          days    ? "time (days)"
                          : hours ? "time (hours)"
                                  : "time (minutes)",
                          box.width > 800 ? 12 : 6);
  axis.high = seconds / unit;
  axis.ticks.erase(
      std::remove_if(axis.ticks.begin(), axis.ticks.end(), [&](const auto& tick) { return tick.first > axis.high; }),
      axis.ticks.end());
  for (auto& tick : axis.ticks) tick.first *= unit;
  axis.high *= unit;
  return axis;
}

class Frame {
 public:
  // Without a legend if `legend` is null: a page has one for all plots.
  Frame(Svg& svg, const Box& box, std::string_view title, Axis x, Axis y, const ReplayReport* legend)
      : svg_(svg), x_(std::move(x)), y_(std::move(y)), area_{box.x + 66, box.y + 34, box.width - 84, box.height - 84} {
    svg_.text({box.x, box.y + 16}, title, {15, kInk, Anchor::start, true, 0});
    if (legend != nullptr) draw_legend(box, *legend);
    for (const auto& [value, name] : y_.ticks) {
      const double down = at(x_.low, value).y;
      svg_.line({area_.x, down}, {area_.right(), down}, {"none", kGrid, 1, 1, "", 0});
      svg_.text({area_.x - 8, down + 4}, name, {11.5, kSoft, Anchor::end, false, 0});
    }
    for (const auto& [value, name] : x_.ticks) {
      const double along = at(value, y_.low).x;
      svg_.line({along, area_.bottom()}, {along, area_.bottom() + 5}, {"none", kSoft, 1, 1, "", 0});
      svg_.text({along, area_.bottom() + 19}, name, {11.5, kSoft, Anchor::middle, false, 0});
    }
    svg_.line({area_.x, area_.bottom()}, {area_.right(), area_.bottom()}, {"none", kSoft, 1, 1, "", 0});
    svg_.text({area_.center().x, area_.bottom() + 38}, x_.title, {12, kSoft, Anchor::middle, false, 0});
    svg_.text({box.x + 14, area_.center().y}, y_.title, {12, kSoft, Anchor::middle, false, -90});
  }

  [[nodiscard]] const Box& area() const { return area_; }
  [[nodiscard]] Point at(double x, double y) const {
    return {area_.x + x_.part(x) * area_.width, area_.bottom() - std::clamp(y_.part(y), 0.0, 1.0) * area_.height};
  }
  void curve(const std::vector<Point>& points, std::size_t policy) {
    const Paint paint = {"none", kColors[policy % kColors.size()], 1.6, 1, kDashes[policy % kDashes.size()], 0};
    svg_.polyline(points, paint);
  }

 private:
  void draw_legend(const Box& box, const ReplayReport& report) {
    double right = box.right() - 18;
    for (std::size_t i = report.runs.size(); i-- > 0;) {
      const std::string& name = report.runs[i].metrics.policy;
      right -= picture::text_width(name, 12);
      svg_.text({right, box.y + 16}, name, {12, kInk, Anchor::start, false, 0});
      svg_.line({right - 32, box.y + 12}, {right - 6, box.y + 12},
                {"none", kColors[i % kColors.size()], 2.5, 1, kDashes[i % kDashes.size()], 0});
      right -= 50;
    }
  }

  Svg& svg_;
  Axis x_;
  Axis y_;
  Box area_;
};

// Means over equal intervals of the samples, so a line over a hundred days has only as many points as pixels.
template <class Value>
void over_time(Frame& frame, const ReplayReport& report, Value value) {
  for (std::size_t policy = 0; policy < report.runs.size(); ++policy) {
    const ReplayResult& result = report.runs[policy].result;
    const std::vector<Sample>& samples = result.samples;
    const std::size_t group = std::max<std::size_t>(1, samples.size() / kPoints);
    std::vector<Point> points;
    for (std::size_t first = 0; first < samples.size(); first += group) {
      const std::size_t last = std::min(samples.size(), first + group);
      double sum = 0;
      for (std::size_t i = first; i < last; ++i) sum += value(samples[i]);
      const Moment middle = samples[first + (last - first) / 2].at;
      if (middle > result.end) break;
      points.push_back(frame.at(seconds_of(middle - result.begin), sum / real(last - first)));
    }
    frame.curve(points, policy);
  }
}

std::string span_name(double seconds) {
  if (seconds < 60) return fmt::format("{:g} s", seconds);
  if (seconds < 3600) return fmt::format("{:g} min", seconds / 60);
  if (seconds < 86'400) return fmt::format("{:g} h", seconds / 3600);
  return fmt::format("{:g} d", seconds / 86'400);
}

double longest_wait(const ReplayReport& report) {
  double longest = 60;
  for (const ReplayRun& run : report.runs) longest = std::max(longest, run.metrics.all.longest);
  return longest;
}

// Ticks at common durations; a wait below the first counts as zero.
Axis wait_axis(const ReplayReport& report, std::string title) {
  Axis axis;
  axis.title = std::move(title);
  axis.logarithmic = true;
  axis.low = 1;
  axis.high = longest_wait(report) * 1.1;
  for (const double tick :
       {1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86'400.0, 7 * 86'400.0, 30 * 86'400.0, 365 * 86'400.0}) {
    if (tick <= axis.high) axis.ticks.emplace_back(tick, span_name(tick));
  }
  return axis;
}

}  // namespace

void draw_utilization(Svg& svg, const Box& box, const ReplayReport& report, bool legend) {
  Axis y = linear_axis(100, "GPUs in use (% of those up)", 5);
  Frame frame(svg, box, "Utilization", time_axis(report, box), std::move(y), legend ? &report : nullptr);
  over_time(frame, report, [](const Sample& sample) {
    return sample.up_gpu_milli > 0 ? 100.0 * real(sample.used_gpu_milli) / real(sample.up_gpu_milli) : 0.0;
  });
}

void draw_waiting(Svg& svg, const Box& box, const ReplayReport& report, bool legend) {
  double most = 1;
  for (const ReplayRun& run : report.runs) {
    for (const Sample& sample : run.result.samples) most = std::max(most, real(sample.waiting_gpu_milli) / 1000.0);
  }
  Frame frame(svg, box, "GPUs that waiting jobs request", time_axis(report, box), linear_axis(most, "GPUs", 5),
              legend ? &report : nullptr);
  over_time(frame, report, [](const Sample& sample) { return real(sample.waiting_gpu_milli) / 1000.0; });
}

void draw_wait_distribution(Svg& svg, const Box& box, const ReplayReport& report, bool legend) {
  Frame frame(svg, box, "Share of jobs by wait", wait_axis(report, "wait of at most (logarithmic)"),
              linear_axis(100, "jobs (%)", 5), legend ? &report : nullptr);
  for (std::size_t policy = 0; policy < report.runs.size(); ++policy) {
    std::vector<double> waits;
    for (const JobOutcome& outcome : report.runs[policy].result.jobs) {
      if (outcome.first_start != kNever) waits.push_back(seconds_of(outcome.waited));
    }
    if (waits.empty()) continue;
    std::sort(waits.begin(), waits.end());
    const double longest = longest_wait(report);
    std::vector<Point> points;
    const auto below = [&](double wait) {
      return 100.0 * real(std::upper_bound(waits.begin(), waits.end(), wait) - waits.begin()) / real(waits.size());
    };
    for (std::size_t i = 0; i <= kPoints; ++i) {
      const double wait = std::pow(longest, real(i) / real(kPoints));
      points.push_back(frame.at(wait, below(wait)));
    }
    frame.curve(points, policy);
  }
}

void draw_wait_by_size(Svg& svg, const Box& box, const ReplayReport& report, bool legend) {
  std::vector<std::string> classes;
  for (const std::string_view name : kSizeNames) {
    for (const ReplayRun& run : report.runs) {
      const auto is = [&](const WaitFigures& each) { return each.name == name; };
      if (std::none_of(run.metrics.by_size.begin(), run.metrics.by_size.end(), is)) continue;
      classes.emplace_back(name);
      break;
    }
  }
  Axis x;
  x.high = std::max(1.0, real(classes.size()));
  x.title = "GPUs that the job requests";
  for (std::size_t i = 0; i < classes.size(); ++i) x.ticks.emplace_back(real(i) + 0.5, classes[i]);
  Frame frame(svg, box, "Mean wait by size", std::move(x), wait_axis(report, "mean wait (logarithmic)"),
              legend ? &report : nullptr);
  const double bar = 0.8 / std::max(1.0, real(report.runs.size()));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (std::size_t policy = 0; policy < report.runs.size(); ++policy) {
      const ReplayMetrics& metrics = report.runs[policy].metrics;
      for (const WaitFigures& each : metrics.by_size) {
        if (each.name != classes[i]) continue;
        const Point top = frame.at(real(i) + 0.1 + bar * real(policy), each.mean);
        const double width = frame.at(bar, 1).x - frame.at(0, 1).x;
        const double height = std::max(1.0, frame.area().bottom() - top.y);
        svg.rect(
            {top.x + 1, frame.area().bottom() - height, width - 2, height},
            {kColors[policy % kColors.size()], "none", 1, 0.9, "", 1},
            fmt::format("{}, {}: {} mean wait of {} jobs", each.name, metrics.policy, span_text(each.mean), each.jobs));
      }
    }
  }
}

std::vector<std::string> replay_plots(const ReplayReport& report) {
  constexpr double kWidth = 460;
  constexpr double kHeight = 300;
  std::vector<std::string> plots;
  struct Plot {
    void (*draw)(Svg&, const Box&, const ReplayReport&, bool);
    std::string_view title;
  };
  constexpr std::array<Plot, 4> kPlots = {Plot{draw_utilization, "Utilization"}, Plot{draw_waiting, "Waiting jobs"},
                                          Plot{draw_wait_distribution, "Share of jobs by wait"},
                                          Plot{draw_wait_by_size, "Mean wait by size"}};
  for (const auto& [draw, title] : kPlots) {
    Svg svg;
    draw(svg, {8, 4, kWidth - 8, kHeight - 8}, report, false);
    plots.push_back(svg.finish(kWidth, kHeight, title));
  }
  return plots;
}

std::string line_sample(std::size_t policy) {
  const std::string_view dash = kDashes[policy % kDashes.size()];
  return fmt::format(
      "<svg class=\"weft-picture\" width=\"34\" height=\"10\" viewBox=\"0 0 34 10\" aria-hidden=\"true\"><line "
      "x1=\"1\" "
      "y1=\"5\" x2=\"33\" y2=\"5\" stroke=\"{}\" stroke-width=\"2.5\"{}/></svg>",
      kColors[policy % kColors.size()], dash.empty() ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string replay_picture(const ReplayReport& report) {
  constexpr double kWidth = 1160;
  constexpr double kHeight = 300;
  constexpr double kMargin = 20;
  Svg svg;
  double y = kMargin;
  for (const auto draw : {draw_utilization, draw_waiting}) {
    draw(svg, {kMargin, y, kWidth, kHeight}, report, true);
    y += kHeight + kMargin;
  }
  const double half = (kWidth - kMargin) / 2;
  draw_wait_distribution(svg, {kMargin, y, half, kHeight + 40}, report, true);
  draw_wait_by_size(svg, {kMargin + half + kMargin, y, half, kHeight + 40}, report, true);
  y += kHeight + 40 + kMargin;
  return svg.finish(kWidth + 2 * kMargin, y, fmt::format("Replay of {} on {}", report.trace, report.machine));
}

}  // namespace weft::sched
