// Rotates the passwords of many BMCs without a lockout, even if weft crashes at any moment. A new password is synced to
// the store before it is sent to the BMC, and the old one is kept until a new session was opened with the new one. The
// next run finishes an interrupted rotation. Changes only the password of the account that weft logs in with; does not
// create accounts or check password strength.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fleet.h"

namespace weft::oob {

enum class RotateResult : std::uint8_t {
  done,      // the new password is verified and stored
  not_done,  // the old one is in force
  unknown    // check manually; every password that may be in force is stored
};

struct RotateOutcome {
  std::uint32_t target = 0;
  RotateResult result = RotateResult::not_done;
  bool reached = false;  // it answered
  std::string text{};    // how it ended; equal texts for equal results, so devices can be folded by it
};

struct RotateOptions {
  std::string reason{};
  std::string user{};                             // only if the store logs in with this account; empty: any account
  bool resume = false;                            // only finish an interrupted rotation
  std::function<void(std::uint32_t)> progress{};  // number of devices finished
};

struct RotateReport {
  std::string operation{};
  std::vector<RotateOutcome> outcomes{};  // in the order of the targets; with `resume` only unfinished ones
  [[nodiscard]] std::uint32_t count(RotateResult result) const;
  [[nodiscard]] bool none_reached() const;  // false if there were none to reach
};

// Devices whose store entry has an unverified password.
[[nodiscard]] std::vector<std::uint32_t> pending_targets(const Fleet& fleet, const std::vector<std::uint32_t>& targets);

// An error only if nothing was started: the store is not writable, another rotation is running, no journal.
[[nodiscard]] Result<RotateReport> rotate(Fleet& fleet, const std::vector<std::uint32_t>& targets,
                                          const RotateOptions& options);

[[nodiscard]] std::string_view to_text(RotateResult result);

}  // namespace weft::oob
