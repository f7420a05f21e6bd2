// QoS settings that the cluster file implies for a port, a NIC and a job, in the same form as parsed configuration.
// Traces and rules use them for devices without a configuration file. Defaults are marked as defaults.
#pragma once

#include <array>
#include <string>

#include "config/host_config.h"
#include "config/port_qos.h"
#include "model/cluster.h"

namespace weft::check {

// "fabrics.backend.qos.dscp"
[[nodiscard]] std::string qos_path(model::FabricKind fabric, std::string_view key);
// Whether the fabric is built, Ethernet, and has a lossless class in the cluster file.
[[nodiscard]] bool has_lossless_class(const model::Cluster& cluster, model::FabricKind fabric);

// For a cabled switch port of a data fabric. Headroom depends on the chip, the speed and the cable.
[[nodiscard]] config::PortQos intent_port_qos(const model::Cluster& cluster, model::PortId port);
[[nodiscard]] config::NicConfig intent_nic(const model::Cluster& cluster, model::FabricKind fabric);
// The traffic class (type of service byte) set for jobs: from `workload.environment`, else from the fabric's DSCP.
[[nodiscard]] config::Setting<int> intent_traffic_class(const model::Cluster& cluster, model::FabricKind fabric,
                                                        std::string_view variable);

template <class T, class From>
[[nodiscard]] config::Setting<T> setting_from(const model::Sourced<From>& given, T value, std::string path) {
  if (given.from_file()) return config::Setting<T>(std::move(value), given.place, std::move(path));
  return config::vendor_default(std::move(value), std::move(path));
}

}  // namespace weft::check
