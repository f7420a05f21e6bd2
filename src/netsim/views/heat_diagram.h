// A small fabric as a diagram: switches by tier, a line for each direction of each cable in the color of its load.
// Large ones have no diagram: thousands of lines show nothing.
#pragma once

#include "base/svg.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

// 0 when the network is too large for one, or has no cables between switches.
[[nodiscard]] double heat_diagram_width(const Network& network);
// Gives the y below it; `y` itself where there is none.
double draw_heat_diagram(picture::Svg& svg, const Network& network, const SimResult& result, double y);

}  // namespace weft::netsim
