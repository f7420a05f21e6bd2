// The area of a plot in SVG with linear axes: ticks at 1, 2 or 5 times a power of ten, grid lines, titles, columns.
// What is drawn in it is the caller's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "html/svg.h"

namespace weft::picture {

inline constexpr std::string_view kPlotInk = "#1a1a1a";
inline constexpr std::string_view kPlotSoft = "#5a6472";
inline constexpr std::string_view kPlotGrid = "#e2e6eb";

// A step of 1, 2 or 5 times a power of ten that yields at most `most` ticks.
[[nodiscard]] double tick_step(double span, int most);
[[nodiscard]] std::string tick_text(double value);

// The scale of a linear axis.
struct Scale {
  double high = 1;
  double step = 1;
  double low = 0;
};
// From 0 up to a tick that is not below `high`; with `whole`, ticks are whole numbers.
[[nodiscard]] Scale rounded_scale(double high, int ticks, bool whole);
// From a tick that is not above `low` up to one that is not below `high`.
[[nodiscard]] Scale scale_between(double low, double high, int ticks);

class PlotArea {
 public:
  PlotArea(Svg& svg, const Box& area) : svg_(svg), area_(area) {}

  void x_axis(const Scale& scale, std::string_view title, bool grid);
  void y_axis(const Scale& scale, std::string_view title);
  // The line below the area, for plots whose horizontal axis has names instead of numbers.
  void base_line(std::string_view title);
  // A column among `count`, with its name below.
  void column(std::size_t index, std::size_t count, std::string_view name, double value, std::string_view color,
              const std::string& label, const std::string& tooltip);

  [[nodiscard]] double x_of(double value) const {
    return area_.x + (value - x_.low) / (x_.high - x_.low) * area_.width;
  }
  [[nodiscard]] double y_of(double value) const;
  [[nodiscard]] const Box& area() const { return area_; }

 private:
  Svg& svg_;
  Box area_;
  Scale x_;
  Scale y_;
};

}  // namespace weft::picture
