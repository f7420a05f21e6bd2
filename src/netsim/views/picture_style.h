// Style of the heat map and the storm tree: colors, a color scale for shares, an axis with round numbers, a heading.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "html/svg.h"
#include "netsim/network/sim_time.h"

namespace weft::netsim {

inline constexpr std::string_view kPictureInk = "#1a1a1a";
inline constexpr std::string_view kPictureSoftInk = "#555b61";
inline constexpr std::string_view kPictureFrame = "#c4c9ce";
inline constexpr std::string_view kPictureIdle = "#eef0f2";
inline constexpr std::string_view kPicturePaused =
    "#0072b2";  // Okabe and Ito's blue, far from every color of the heat scale

// From pale yellow over orange to dark red, also by lightness, so it is readable in grayscale. `share` is clamped to
// 0..1.
[[nodiscard]] std::string heat_color(double share);
// Text color with enough contrast on it.
[[nodiscard]] std::string_view heat_ink(double share);

struct AxisTick {
  double at = 0;  // in the axis's unit
  std::string text;
};
struct TimeAxis {
  double per_unit_ps = 1e6;
  std::string_view unit = "us";
  std::vector<AxisTick> ticks;  // round numbers from 0 to `end`, 5 to 10 of them
};
[[nodiscard]] TimeAxis time_axis(SimTime end);

// Title and softer lines below it, skipping empty ones; returns the y below.
double draw_picture_heading(picture::Svg& svg, double width, std::string_view title,
                            std::initializer_list<std::string_view> lines);

}  // namespace weft::netsim
