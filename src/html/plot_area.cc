#include "html/plot_area.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_format.h"

namespace weft::picture {

double tick_step(double span, int most) {
  const double raw = std::max(span, 1e-9) / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= raw * (1 - 1e-9)) return power * factor;
  }
  return power * 10;
}

std::string tick_text(double value) {
  return value >= 1000 ? group_digits(static_cast<std::uint64_t>(std::llround(value))) : fmt::format("{:g}", value);
}

Scale rounded_scale(double high, int ticks, bool whole) {
  Scale scale;
  scale.step = tick_step(high, ticks);
  if (whole) scale.step = std::max(1.0, scale.step);
  scale.high = std::max(scale.step, std::ceil(high / scale.step - 1e-9) * scale.step);
  return scale;
}

Scale scale_between(double low, double high, int ticks) {
  Scale scale;
  scale.step = tick_step(std::max(high - low, std::abs(high) * 0.02), ticks);
  scale.low = std::floor(low / scale.step + 1e-9) * scale.step;
  scale.high = std::max(scale.low + scale.step, std::ceil(high / scale.step - 1e-9) * scale.step);
  return scale;
}

void PlotArea::x_axis(const Scale& scale, std::string_view title, bool grid) {
  x_ = scale;
  for (int i = 0; scale.low + i * scale.step <= scale.high * (1 + 1e-9); ++i) {
    const double value = scale.low + i * scale.step;
    const double x = x_of(value);
    if (grid) svg_.line({x, area_.y}, {x, area_.bottom()}, {"none", kPlotGrid, 1, 1, "", 0});
    svg_.line({x, area_.bottom()}, {x, area_.bottom() + 4}, {"none", kPlotSoft, 1, 1, "", 0});
    svg_.text({x, area_.bottom() + 18}, tick_text(value), {12, kPlotSoft, Anchor::middle, false, 0});
  }
  base_line(title);
}

void PlotArea::y_axis(const Scale& scale, std::string_view title) {
  y_ = scale;
  for (int i = 0; scale.low + i * scale.step <= scale.high * (1 + 1e-9); ++i) {
    const double value = scale.low + i * scale.step;
    const double y = y_of(value);
    svg_.line({area_.x, y}, {area_.right(), y}, {"none", kPlotGrid, 1, 1, "", 0});
    svg_.text({area_.x - 6, y + 4}, tick_text(value), {12, kPlotSoft, Anchor::end, false, 0});
  }
  svg_.text({14, area_.center().y}, title, {12, kPlotSoft, Anchor::middle, false, -90});
}

void PlotArea::base_line(std::string_view title) {
  svg_.line({area_.x, area_.bottom()}, {area_.right(), area_.bottom()}, {"none", kPlotSoft, 1, 1, "", 0});
  svg_.text({area_.center().x, area_.bottom() + 38}, title, {12, kPlotSoft, Anchor::middle, false, 0});
}

void PlotArea::column(std::size_t index, std::size_t count, std::string_view name, double value, std::string_view color,
                      const std::string& label, const std::string& tooltip) {
  const double width = area_.width / real(count);
  const double x = area_.x + width * real(index);
  const double y = y_of(value);
  const double gap = std::min(4.0, width * 0.12);
  if (value > 0) {
    svg_.rect({x + gap, y, width - 2 * gap, area_.bottom() - y}, {color, "none", 1, 1, "", 1}, tooltip);
    svg_.text({x + width / 2, y - 4}, label, {11, kPlotInk, Anchor::middle, false, 0});
  }
  svg_.text({x + width / 2, area_.bottom() + 18}, name, {11.5, kPlotSoft, Anchor::middle, false, 0});
}

double PlotArea::y_of(double value) const {
  return area_.bottom() - std::clamp((value - y_.low) / (y_.high - y_.low), 0.0, 1.0) * area_.height;
}

}  // namespace weft::picture
