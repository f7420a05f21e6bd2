// Which network operating system a switch runs, decided in one place for all renderers of switch configuration. The
// file names one for a fabric; a spine or core of another make that cannot run it runs its own model's first.
#pragma once

#include <string_view>

#include "model/cluster.h"
#include "render/core/file_sink.h"

namespace weft::render {

// The fabric's part of the file; none for the out-of-band network, which has a spec of its own.
[[nodiscard]] const model::FabricSpec* switch_fabric(const model::Cluster& cluster, model::FabricKind kind);

// The name as in the catalog ("sonic", "nxos", "eos", "cumulus", "junos"); "" for what is no switch. InfiniBand
// switches answer too ("mlnx-os").
[[nodiscard]] std::string_view system_of(const model::Cluster& cluster, const model::DeviceGroup& group);
[[nodiscard]] std::string_view system_of(const model::Cluster& cluster, model::DeviceId device);

// An Ethernet switch with this system.
[[nodiscard]] bool is_ethernet_switch_of(const model::Cluster& cluster, const model::DeviceGroup& group,
                                         std::string_view system);
[[nodiscard]] bool has_ethernet_switch_of(const model::Cluster& cluster, std::string_view system);

// When the switches of a fabric are configured, among everything that is rendered.
[[nodiscard]] Stage stage_of(model::FabricKind fabric);

}  // namespace weft::render
