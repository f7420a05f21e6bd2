// Utilization of every link, as one self-contained SVG: per pair of tiers a table of cells, the lower switch as row and
// the upper one as column, once per direction. Small fabrics are also drawn as a diagram; in large ones several links
// share a cell, which shows the hottest of them, so a hot spot is never hidden.
#pragma once

#include <string>
#include <string_view>

#include "netsim/sim/result.h"

namespace weft::netsim {

// `where` is the start of the line below the title.
[[nodiscard]] std::string heat_map_svg(const Network& network, const SimResult& result, std::string_view title,
                                       std::string_view where = {});

}  // namespace weft::netsim
