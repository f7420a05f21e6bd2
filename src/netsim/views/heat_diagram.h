// A small fabric as a diagram: switches by tier, one line per direction of each cable in the color of its load. Large
// fabrics have no diagram: thousands of lines are unreadable.
#pragma once

#include "html/svg.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

// 0 if the network is too large for one, or has no cables between switches.
[[nodiscard]] double heat_diagram_width(const Network& network);
// Returns the y below it; `y` itself if there is none.
double draw_heat_diagram(picture::Svg& svg, const Network& network, const SimResult& result, double y);

}  // namespace weft::netsim
