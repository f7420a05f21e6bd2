// Queries many BMCs: opens a session to each, sends the query, logs out, and returns the answers in device order,
// independent of completion order. A busy BMC (session limit reached) is retried a few times.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "oob/bmc/consolidate.h"
#include "oob/bmc/fan_out.h"
#include "oob/bmc/fleet.h"

namespace weft::oob {

inline constexpr int kBusyTries = 4;                         // in total; one full BMC must not block a fleet
inline constexpr Duration kBusyPause = milliseconds(1'000);  // linear backoff: 1, 2, 3 s

// Opens a session, with retries while the BMC is busy.
[[nodiscard]] Result<OpenBmc> open_patiently(const Fleet& fleet, std::uint32_t target);

// Calls ask(open, target) -> Result<T> for each device and take(target, T&&) for each answer. `take` is called from
// many threads at once. Returns the devices that did not answer, in the order of `targets`.
template <class Ask, class Take>
[[nodiscard]] std::vector<Unreached> ask_all(const Fleet& fleet, std::span<const std::uint32_t> targets, const Ask& ask,
                                             const Take& take) {
  std::vector<std::optional<Error>> errors(targets.size(),
                                           Error{ErrorCode::unavailable, "skipped: the command was stopped", {}});
  (void)fan_out_over(fleet, targets.size(), [&](std::uint32_t i) {
    Result<OpenBmc> open = open_patiently(fleet, targets[i]);
    if (!open.ok()) {
      errors[i] = open.error();
      return;
    }
    auto answer = ask(*open, targets[i]);
    open->bmc.reset();  // end the session before waiting for a lock
    if (!answer.ok()) {
      errors[i] = answer.error();
      return;
    }
    errors[i].reset();
    take(targets[i], std::move(answer).value());
  });
  std::vector<Unreached> unreached;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (errors[i]) unreached.push_back({targets[i], std::move(*errors[i])});
  }
  return unreached;
}

}  // namespace weft::oob
