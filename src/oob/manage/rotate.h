// New passwords for many BMCs, so that a crash at any moment locks nobody out. A password is in the store, synced,
// before its BMC hears of it, and the old one stays there until a new session was opened with the new one. Whoever runs
// this next finishes what was left in between. It changes the password of the account that weft itself logs in with;
// it makes no accounts and judges no passwords.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fleet.h"

namespace weft::oob {

enum class RotateResult : std::uint8_t {
  done,      // the new password is proven and kept
  not_done,  // the old one is in force
  unknown    // a person has to look; every password it can be is kept
};

struct RotateOutcome {
  std::uint32_t target = 0;
  RotateResult result = RotateResult::not_done;
  bool reached = false;  // it answered
  std::string text{};    // how it ended; the same words for the same end, so that devices can be folded by it
};

struct RotateOptions {
  std::string reason{};
  std::string user{};   // only where the store logs in with this account; empty: whatever it is
  bool resume = false;  // only finish what an earlier rotation left
  std::function<void(std::uint32_t)> progress{};  // number of devices finished
};

struct RotateReport {
  std::string operation{};
  std::vector<RotateOutcome> outcomes{};  // in the order of the targets; with `resume` only those that were left
  [[nodiscard]] std::uint32_t count(RotateResult result) const;
  [[nodiscard]] bool none_reached() const;  // and there were some to reach
};

// Devices whose store entry holds a password that was never proven.
[[nodiscard]] std::vector<std::uint32_t> pending_targets(const Fleet& fleet, const std::vector<std::uint32_t>& targets);

// An error only when nothing was begun: the store cannot be written, another process rotates, no journal.
[[nodiscard]] Result<RotateReport> rotate(Fleet& fleet, const std::vector<std::uint32_t>& targets,
                                          const RotateOptions& options);

[[nodiscard]] std::string_view to_text(RotateResult result);

}  // namespace weft::oob
