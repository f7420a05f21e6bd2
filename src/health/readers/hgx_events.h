// Messages of NVIDIA's GPU baseboards (HGX, GB200) in a BMC's log: Xid and SXid of the drivers, and errors of GPUs,
// NVLinks, switches and retimers (DMTF's ResourceEvent registry with NVIDIA's texts).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "health/core/signal.h"

namespace weft::health {

// "The resource property GPU_SXM_1 ThrottleReason has detected errors of type '...'": views into the message.
struct ResourceMessage {
  std::string_view part;      // "GPU_SXM_1"
  std::string_view property;  // "ThrottleReason"; "": only a part is named
  std::string_view error;
  bool is_end = false;  // "has corrected errors"
};
[[nodiscard]] std::optional<ResourceMessage> read_resource_message(std::string_view message);

// Whether the text is a line of the GPU's or the switch's driver: classify it by driver_signal() alone.
[[nodiscard]] bool is_driver_line(std::string_view message);
// xid:CODE, sxid:CODE, or hgx:nvswitch_error if the BMC lost digits of the SXid. nullopt: "server is online" (SXid 0),
// and the lines "Severity" and "Data" that follow the first one of an SXid.
[[nodiscard]] std::optional<Signal> driver_signal(std::string_view message);

// hgx:...; nullopt: no error of a device.
[[nodiscard]] std::optional<Signal> resource_signal(const ResourceMessage& message);

// hgx:power_brake, hgx:thermal_slowdown, ... of a throttle reason ("HWPowerBrakeSlowdown"); "": none.
[[nodiscard]] std::string_view throttle_signal(std::string_view reason);

}  // namespace weft::health
