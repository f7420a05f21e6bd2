#include "explore/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/human_format.h"
#include "explore/view.h"
#include "html/plot_area.h"

namespace weft::explore {
namespace {

using picture::Anchor;
using picture::PlotArea;
using picture::real;
using picture::Svg;

constexpr double kWidth = 430;
constexpr double kHeight = 300;
// Okabe and Ito's palette, with shades that have a contrast of at least 3 to white and to the dark background.
constexpr std::array<std::string_view, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#a6761d", "#e69f00", "#9467bd", "#8b949e"};
constexpr std::string_view kLimit = "#a5437a";

// GPUs with simulated designs, in the order of the platforms.
std::vector<std::string> gpus_of(const SearchResult& result) {
  std::vector<std::string> gpus;
  for (const Candidate& each : result.candidates) {
    if (each.simulated() && std::find(gpus.begin(), gpus.end(), each.choice.gpu) == gpus.end())
      gpus.push_back(each.choice.gpu);
  }
  return gpus;
}

std::string_view color_of(const std::vector<std::string>& gpus, const std::string& gpu) {
  const auto at = static_cast<std::size_t>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
  return kColors[std::min(at, kColors.size() - 1)];
}

// What is plotted over days.
struct Axis {
  std::string title;
  std::optional<double> limit;
  double (*value)(const Figures&);
};

double megawatts(const Figures& figures) { return real(figures.power.count()) / 1e9; }
double millions(const Figures& figures) { return figures.cost ? real(figures.cost->count()) / 1e8 : 0; }

struct Range {
  double low = 1e300;
  double high = -1e300;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// Writes the letter of a point beside it, where it covers no other letter.
class LabelPlacer {
 public:
  explicit LabelPlacer(Svg& svg) : svg_(svg) {}

  void place(const picture::Point& point, double size, const std::string& label) {
    const double far = size / 2 + 3;
    const Place places[] = {{{point.x + far, point.y - size / 2}, Anchor::start},
                            {{point.x - far, point.y + size}, Anchor::end},
                            {{point.x + far, point.y + size}, Anchor::start},
                            {{point.x - far, point.y - size / 2}, Anchor::end}};
    const auto* free = std::find_if(std::begin(places), std::end(places), [&](const Place& each) {
      return std::none_of(used_.begin(), used_.end(), [&](const picture::Point& other) {
        return std::abs(other.x - middle_of(each)) < kLetter && std::abs(other.y - each.at.y) < kLetter;
      });
    });
    const Place& chosen = free == std::end(places) ? places[0] : *free;
    used_.push_back({middle_of(chosen), chosen.at.y});
    svg_.text(chosen.at, label, {12.5, picture::kPlotInk, chosen.anchor, true, 0});
  }

 private:
  static constexpr double kLetter = 11;  // its width and height
  struct Place {
    picture::Point at;
    Anchor anchor;
  };
  static double middle_of(const Place& place) {
    return place.at.x + (place.anchor == Anchor::start ? kLetter / 2 : -kLetter / 2);
  }

  Svg& svg_;
  std::vector<picture::Point> used_;
};

FrontPlot plot_over_days(const SearchResult& result, const Axis& axis) {
  Range days;
  Range values;
  for (const Candidate& each : result.candidates) {
    if (!each.simulated() || !std::isfinite(each.mean_days().mean)) continue;
    days.add(each.mean_days().mean);
    values.add(axis.value(each.figures));
  }
  if (days.low > days.high) return {};
  days.add(result.deadline_days());
  if (axis.limit) values.add(*axis.limit);
  Svg svg;
  PlotArea area(svg, {64, 14, kWidth - 84, kHeight - 62});
  const double margin = (days.high - days.low) * 0.05;
  area.x_axis(picture::scale_between(std::max(0.0, days.low - margin), days.high + margin, 6), "days until trained",
              true);
  area.y_axis(picture::scale_between(std::max(0.0, values.low * 0.97), values.high * 1.03, 6), axis.title);
  const auto limit_line = [&](const picture::Point& from, const picture::Point& to, const std::string& tooltip) {
    svg.line(from, to, {"none", kLimit, 1.5, 1, "6 4", 0}, tooltip);
  };
  const picture::Box& box = area.area();
  const double deadline = area.x_of(result.deadline_days());
  limit_line({deadline, box.y}, {deadline, box.bottom()}, "deadline");
  svg.text({deadline - 5, box.y + 12}, "deadline", {11.5, picture::kPlotSoft, Anchor::end, false, 0});
  if (axis.limit) {
    const double y = area.y_of(*axis.limit);
    limit_line({box.x, y}, {box.right(), y}, "limit");
    svg.text({box.x + 5, y - 5}, "limit", {11.5, picture::kPlotSoft, Anchor::start, false, 0});
  }
  const std::vector<std::string> gpus = gpus_of(result);
  LabelPlacer labels(svg);
  const auto dot = [&](const Candidate& each, double size, double opacity, const std::string& label) {
    const picture::Point at{area.x_of(each.mean_days().mean), area.y_of(axis.value(each.figures))};
    svg.rect({at.x - size / 2, at.y - size / 2, size, size},
             {color_of(gpus, each.choice.gpu), label.empty() ? "none" : picture::kPlotInk, 1, opacity, "", size / 2},
             fmt::format("{}{} x {}, {}, {}: {}", label.empty() ? "" : label + ": ", each.choice.nodes, each.choice.gpu,
                         network_text(each.choice.network), format_power(each.figures.power),
                         format_days(each.mean_days().mean)));
    if (!label.empty()) labels.place(at, size, label);
  };
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& each = result.candidates[i];
    if (!each.simulated() || !std::isfinite(each.mean_days().mean)) continue;
    if (std::find(result.front.begin(), result.front.end(), i) == result.front.end()) dot(each, 6, 0.45, "");
  }
  for (std::size_t p = 0; p < result.front.size(); ++p) {
    const Candidate& each = result.candidates[result.front[p]];
    if (std::isfinite(each.mean_days().mean)) dot(each, 10, 1, SearchResult::label(p));
  }
  return {axis.title + " and days", svg.finish(kWidth, kHeight, axis.title + " of the simulated designs over days")};
}

}  // namespace

std::vector<FrontPlot> front_plots(const SearchResult& result) {
  std::vector<FrontPlot> plots;
  std::optional<double> limit;
  if (result.limits.power) limit = real(result.limits.power->count()) / 1e9;
  plots.push_back(plot_over_days(result, {"Power (MW)", limit, megawatts}));
  if (!result.currency.empty()) {
    limit.reset();
    if (result.limits.cost) limit = real(result.limits.cost->count()) / 1e8;
    plots.push_back(plot_over_days(result, {fmt::format("Cost (M {})", result.currency), limit, millions}));
  }
  std::erase_if(plots, [](const FrontPlot& plot) { return plot.svg.empty(); });
  return plots;
}

std::vector<std::pair<std::string_view, std::string>> plot_legend(const SearchResult& result) {
  std::vector<std::pair<std::string_view, std::string>> legend;
  const std::vector<std::string> gpus = gpus_of(result);
  legend.reserve(gpus.size());
  for (const std::string& gpu : gpus) legend.emplace_back(color_of(gpus, gpu), gpu);
  return legend;
}

}  // namespace weft::explore
