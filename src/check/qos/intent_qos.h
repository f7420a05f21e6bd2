// The QoS settings that the cluster file implies for a port, a NIC and a job, in the form of real configuration. If a
// device has no configuration file, traces and rules use these instead. Defaults are marked as such.
#pragma once

#include <array>
#include <string>

#include "config/host_config.h"
#include "config/port_qos.h"
#include "model/cluster.h"

namespace weft::check {

// "fabrics.backend.qos.dscp"
[[nodiscard]] std::string qos_path(model::FabricKind fabric, std::string_view key);
// The fabric is Ethernet, built, and asks for a lossless class.
[[nodiscard]] bool has_lossless_class(const model::Cluster& cluster, model::FabricKind fabric);

// A cabled switch port of a data fabric. Headroom follows the chip, the speed and the cable.
[[nodiscard]] config::PortQos intent_port_qos(const model::Cluster& cluster, model::PortId port);
[[nodiscard]] config::NicConfig intent_nic(const model::Cluster& cluster, model::FabricKind fabric);
// The traffic class (type of service byte) that jobs are given: `workload.environment`, or the one that belongs to the
// fabric's DSCP.
[[nodiscard]] config::Setting<int> intent_traffic_class(const model::Cluster& cluster, model::FabricKind fabric,
                                                        std::string_view variable);

template <class T, class From>
[[nodiscard]] config::Setting<T> setting_from(const model::Sourced<From>& given, T value, std::string path) {
  if (given.from_file()) return config::Setting<T>(std::move(value), given.place, std::move(path));
  return config::vendor_default(std::move(value), std::move(path));
}

}  // namespace weft::check
