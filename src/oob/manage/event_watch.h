// Follows the events of many BMCs: where a service sends events, they are reported as they arrive, and its logs are
// read now and then for what was not sent; elsewhere the logs are read at an interval. A device that does not answer is
// dialed again, with growing pauses; one that refuses the login is given up, so that its account is not locked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fleet.h"

namespace weft::oob {

enum class WatchState : std::uint8_t { connecting, streaming, polling, unreachable, given_up };
[[nodiscard]] std::string_view to_text(WatchState state);

struct WatchOptions {
  Duration interval = milliseconds(30'000);  // of reading the logs of a BMC that sends no events
  Duration length{};                         // zero: until the clock is stopped
  std::optional<std::int64_t> since_ms{};    // also report what the logs have since then
};
// Where a BMC sends events, its logs are read once per so many intervals.
inline constexpr int kRecheck = 10;

// Called from one thread at a time.
struct WatchSink {
  std::function<void(std::uint32_t target, const std::vector<LogEvent>& events)> events;
  // Once per change; `why` is empty for streaming and polling.
  std::function<void(std::uint32_t target, WatchState state, const std::string& why)> state;
  // Once per log that could not be read, until it was read.
  std::function<void(std::uint32_t target, const UnreadLog& log)> unread;
};

// Returns the last state of each target, in their order. One thread per target.
[[nodiscard]] std::vector<WatchState> watch_events(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                   const WatchOptions& options, const WatchSink& sink);

}  // namespace weft::oob
