// The power state of many devices, asked at once: who is on, who is off, and who does not answer, and why. One look at
// each, and a second one at those that did not answer. Changes nothing.
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
  bool identity = false;  // ask for maker, model, serial and firmware too
  int retries = 1;
  Duration retry_wait = milliseconds(500);  // half of it at random
  std::uint64_t seed = 1;
};

struct DeviceStatus {
  std::uint32_t target = 0;
  bool asked = false;     // false: it has no controller we can speak to, or the operator stopped us before
  bool answered = false;  // told its power state
  PowerReading power{};
  std::optional<BmcIdentity> identity{};
  std::optional<Error> error{};       // the last
  std::vector<std::uint32_t> dark{};  // ancestors that are off: so is this one, whatever it says
  Duration latency{};                 // login, look and logout, of the last attempt
  Duration spent{};                   // in all attempts, without the waits between them
  int attempts = 0;

  // With the hierarchy: off when an ancestor is.
  [[nodiscard]] PowerState state() const { return dark.empty() ? power.state : PowerState::off; }
};

struct StatusReport {
  std::vector<DeviceStatus> devices{};  // as asked
  std::uint32_t answered = 0;
  std::uint32_t silent = 0;  // asked, no answer, and not dark
  Duration took{};
  int threads = 0;
  Duration mean{};   // latency of those that answered
  Duration half{};   // P50
  Duration worst{};  // P99
  bool stopped = false;

  // What a sweep takes by the model N * L / F, all attempts counted.
  Duration model{};
  [[nodiscard]] double hosts_per_second() const {
    return took.count() > 0 ? static_cast<double>(devices.size()) * 1e9 / static_cast<double>(took.count()) : 0;
  }
};

// `progress` is told how many devices are finished. Ancestors of silent devices are looked at too.
[[nodiscard]] StatusReport sweep_status(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                        const StatusOptions& options = {},
                                        const std::function<void(std::uint32_t)>& progress = nullptr);

// Puts what was seen into `states`.
void take_states(const StatusReport& report, PowerStates& states);

}  // namespace weft::oob
