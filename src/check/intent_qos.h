// What the cluster file means for a port, a NIC and a job, in the same form as real configuration. Where a device has
// no file of its own, traces and rules look at this instead. Defaults are marked as such; nothing here judges.
#pragma once

#include <array>
#include <string>

#include "config/host_config.h"
#include "config/port_qos.h"
#include "model/cluster.h"

namespace weft {

// Of a data fabric; null for out-of-band.
[[nodiscard]] const FabricSpec* fabric_spec(const Cluster& cluster, FabricKind fabric);
// "fabrics.backend.qos.dscp"
[[nodiscard]] std::string qos_path(FabricKind fabric, std::string_view key);
// The fabric is Ethernet, built, and asks for a lossless class.
[[nodiscard]] bool wants_lossless(const Cluster& cluster, FabricKind fabric);

// A cabled switch port of a data fabric. Headroom follows the chip, the speed and the cable.
[[nodiscard]] PortQos intent_port_qos(const Cluster& cluster, PortId port);
[[nodiscard]] NicConfig intent_nic(const Cluster& cluster, FabricKind fabric);
// The traffic class (type of service byte) that jobs are given: `workload.environment`, or the one that belongs to the
// fabric's DSCP.
[[nodiscard]] Setting<int> intent_traffic_class(const Cluster& cluster, FabricKind fabric, std::string_view variable);

template <class T, class From>
[[nodiscard]] Setting<T> setting_from(const Given<From>& given, T value, std::string path) {
  if (given.from_file()) return Setting<T>(std::move(value), given.place, std::move(path));
  return vendor_default(std::move(value), std::move(path));
}

}  // namespace weft
