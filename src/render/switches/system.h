// Which network operating system a switch runs, determined in one place for all switch renderers. The file names one
// per fabric; a spine or core of another vendor that cannot run it uses the first one of its model.
#pragma once

#include <string_view>

#include "model/cluster.h"
#include "render/core/file_sink.h"

namespace weft::render {

// The fabric's section of the file; none for the out-of-band network, which has its own spec.
[[nodiscard]] const model::FabricSpec* switch_fabric(const model::Cluster& cluster, model::FabricKind kind);

// The name as in the catalog ("sonic", "nxos", "eos", "cumulus", "junos"); "" if the device is not a switch. InfiniBand
// switches return a name too ("mlnx-os").
[[nodiscard]] std::string_view system_of(const model::Cluster& cluster, const model::DeviceGroup& group);
[[nodiscard]] std::string_view system_of(const model::Cluster& cluster, model::DeviceId device);

// An Ethernet switch with this OS.
[[nodiscard]] bool is_ethernet_switch_of(const model::Cluster& cluster, const model::DeviceGroup& group,
                                         std::string_view system);
[[nodiscard]] bool has_ethernet_switch_of(const model::Cluster& cluster, std::string_view system);

// The stage in which the switches of a fabric are configured.
[[nodiscard]] Stage stage_of(model::FabricKind fabric);

}  // namespace weft::render
