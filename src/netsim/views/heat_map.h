// How busy every link was, as one self-contained SVG: for each pair of tiers a table of cells, the lower switch as row
// and the upper one as column, once for each direction. Small fabrics are drawn as a diagram as well; in large ones
// several links share a cell, which then shows the hottest of them, so that a hot spot never vanishes.
#pragma once

#include <string>
#include <string_view>

#include "netsim/sim/result.h"

namespace weft::netsim {

// `where` begins the line below the title.
[[nodiscard]] std::string heat_map_svg(const Network& network, const SimResult& result, std::string_view title,
                                       std::string_view where = {});

}  // namespace weft::netsim
