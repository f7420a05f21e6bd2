// Pictures of a cluster as self-contained SVG: rack elevations, and a diagram of each fabric. Readable at 32 nodes,
// with every device drawn, and at 2,000, with equal parts drawn once with their count.
#pragma once

#include <string>

#include "model/cluster.h"

namespace weft::design {

[[nodiscard]] std::string racks_svg(const model::Cluster& cluster);
[[nodiscard]] std::string fabric_svg(const model::Cluster& cluster, model::FabricKind fabric);

}  // namespace weft::design
