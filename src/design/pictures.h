// Pictures of a cluster as self-contained SVG: racks as they stand, and each fabric as a diagram. Readable at 32 nodes,
// where every device is drawn, and at 2,000, where equal parts are drawn once with their count.
#pragma once

#include <string>

#include "model/cluster.h"

namespace weft::design {

[[nodiscard]] std::string racks_svg(const model::Cluster& cluster);
[[nodiscard]] std::string fabric_svg(const model::Cluster& cluster, model::FabricKind fabric);

}  // namespace weft::design
