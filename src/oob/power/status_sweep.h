// Reads the power state of many devices in parallel: which are on, off or unreachable, and why. One read per device,
// and one retry for those that did not answer. Changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "oob/bmc/fleet.h"
#include "oob/power/hierarchy.h"

namespace weft::oob {

struct StatusOptions {
  bool identity = false;  // also read maker, model, serial and firmware
  int retries = 1;
  Duration retry_wait = milliseconds(500);  // half of it is random jitter
  std::uint64_t seed = 1;
};

struct DeviceStatus {
  std::uint32_t target = 0;
  bool asked = false;     // false: no supported controller, or the operator stopped the sweep before
  bool answered = false;  // reported its power state
  PowerReading power{};
  std::optional<BmcIdentity> identity{};
  std::optional<Error> error{};       // the last
  std::vector<std::uint32_t> dark{};  // ancestors that are off: then this device is off, too, regardless of its report
  Duration latency{};                 // login, read and logout, of the last attempt
  Duration spent{};                   // in all attempts, without the waits between them
  int attempts = 0;

  // With the hierarchy: off when an ancestor is.
  [[nodiscard]] PowerState state() const { return dark.empty() ? power.state : PowerState::off; }
};

struct StatusReport {
  std::vector<DeviceStatus> devices{};  // in the order requested
  std::uint32_t answered = 0;
  std::uint32_t silent = 0;  // contacted, no response, and no ancestor off
  Duration took{};
  int threads = 0;
  Duration mean{};   // latency of those that answered
  Duration half{};   // P50
  Duration worst{};  // P99
  bool stopped = false;

  // Duration of a sweep by the model: the time of all attempts over the fan-out, or that of the slowest device.
  Duration model{};
  [[nodiscard]] double hosts_per_second() const {
    return took.count() > 0 ? static_cast<double>(devices.size()) * 1e9 / static_cast<double>(took.count()) : 0;
  }
};

// `progress` is called with the number of finished devices. Ancestors of silent devices are read as well.
[[nodiscard]] StatusReport sweep_status(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                        const StatusOptions& options = {},
                                        const std::function<void(std::uint32_t)>& progress = nullptr);

// Copies the observed states into `states`.
void take_states(const StatusReport& report, PowerStates& states);

}  // namespace weft::oob
