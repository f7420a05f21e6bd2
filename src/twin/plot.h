// Plots of a run of the twin as SVG, each an image of its own that is readable on a narrow screen: axes have names and
// units, every shape a tooltip. Legends are HTML, so that they wrap.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "html/svg.h"
#include "twin/result.h"

namespace weft::twin {

struct TwinPlot {
  std::string title;
  std::string svg;
  std::vector<std::pair<std::string_view, std::string_view>> legend;  // color, meaning
};

[[nodiscard]] std::string_view use_color(Use use);

// Shares of the GPU time as one bar, and what was not productive as a second one, enlarged.
[[nodiscard]] std::string time_bar(const TwinResult& result);
// All others, in the order of the page; those without anything to show are left out.
[[nodiscard]] std::vector<TwinPlot> twin_plots(const TwinResult& result);

}  // namespace weft::twin
