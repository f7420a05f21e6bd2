// The views of `weft show`: each turns a compiled cluster into a Document. Views only count, sort and format the
// contents of the Cluster.
#pragma once

#include <optional>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::design {

[[nodiscard]] Document summary_view(const model::Cluster& cluster);
[[nodiscard]] Document racks_view(const model::Cluster& cluster);
[[nodiscard]] Document nodes_view(const model::Cluster& cluster);
[[nodiscard]] Document switches_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric);
// One row per cable, for a cabling crew: label, both ends with rack, unit and port, type, length, speed.
[[nodiscard]] Document cables_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric);
[[nodiscard]] Document ports_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric);
[[nodiscard]] Document addresses_view(const model::Cluster& cluster, std::optional<model::FabricKind> fabric);
[[nodiscard]] Document subnets_view(const model::Cluster& cluster);
[[nodiscard]] Document failure_domains_view(const model::Cluster& cluster);

}  // namespace weft::design
