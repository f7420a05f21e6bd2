#include "netsim/views/picture_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::netsim {
namespace {

struct Color {
  double red, green, blue;
};
// ColorBrewer's YlOrRd (Brewer, 2003), seven classes, used as stops of a continuous scale.
constexpr std::array<Color, 7> kStops = {Color{255, 255, 204}, Color{254, 224, 139}, Color{254, 178, 76},
                                         Color{253, 141, 60},  Color{240, 59, 32},   Color{189, 0, 38},
                                         Color{110, 0, 32}};

}  // namespace

std::string heat_color(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(low);
  const auto mix = [&](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * part)); };
  const Color& a = kStops[low];
  const Color& b = kStops[low + 1];
  return fmt::format("#{:02x}{:02x}{:02x}", mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue));
}

// Black and white have the same contrast of 4.6 to the color between them. Not kPictureInk, which turns light where the
// reader prefers a dark theme: the cell keeps its color.
std::string_view heat_ink(double share) { return share > 0.714 ? "#ffffff" : "#000000"; }

TimeAxis time_axis(SimTime end) {
  TimeAxis axis;
  const auto length = static_cast<double>(std::max<std::int64_t>(end.count(), 1));
  if (length < 2e6) {
    axis.per_unit_ps = 1e3;
    axis.unit = "ns";
  } else if (length >= 2e12) {
    axis.per_unit_ps = 1e12;
    axis.unit = "s";
  } else if (length >= 2e9) {
    axis.per_unit_ps = 1e9;
    axis.unit = "ms";
  }
  const double units = length / axis.per_unit_ps;
  const double rough = units / 8;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double round : {5.0, 2.0, 1.0}) {
    if (rough <= power * round) step = power * round;
  }
  for (int i = 0; i * step <= units * 1.0001; ++i) axis.ticks.push_back({i * step, fmt::format("{:g}", i * step)});
  return axis;
}

double draw_picture_heading(picture::Svg& svg, double width, std::string_view title,
                            std::initializer_list<std::string_view> lines) {
  svg.text({24, 40}, picture::fit_text(title, 20, width - 48, true), {.size = 20, .fill = kPictureInk, .bold = true});
  double y = 44;
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    y += 17;
    svg.text({24, y}, picture::fit_text(line, 13, width - 48), {.size = 13, .fill = kPictureSoftInk});
  }
  return y + 19;
}

}  // namespace weft::netsim
