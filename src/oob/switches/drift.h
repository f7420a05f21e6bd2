// Whether a switch still is what it should be, three ways: what runs now, the last configuration that was called good,
// and the design as `weft render` wrote it. The first two are compared as texts; the design is looked for in what runs,
// statement by statement, because a switch tells much that no design states (defaults, accounts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/switches/backup.h"

namespace weft::oob {

enum class DriftState : std::uint8_t {
  none,
  drifted,
  nothing_to_compare,  // no backup and no rendered file
  unknown              // it could not be fetched
};

struct DriftRequest {
  bool offline = false;    // the latest backup stands for what runs
  std::string rendered{};  // folder of `weft render`; empty: leave the design out
  bool strict = false;     // statements that the design does not have are drift too
};

struct DriftResult {
  std::string device{};
  std::string system{};
  DriftState state = DriftState::unknown;
  std::string running{};    // name of the version that was compared; empty when it is not kept
  std::string good{};       // name of the version it was compared with
  bool marked_good = true;  // false: nobody marked one, the latest backup was taken
  std::size_t removed = 0;  // lines of the good version that are gone
  std::size_t added = 0;
  std::optional<std::size_t> missing{};  // statements of the design that do not run; none: no design
  std::size_t extra = 0;                 // statements that run without being in the design
  std::string diff{};                    // unified, secrets hidden
  std::vector<std::string> missing_statements{};
  std::vector<std::string> extra_statements{};
  std::string message{};
};

// Compares texts; asks no switch. `good` and `design` may be absent.
[[nodiscard]] DriftResult compare_configs(const SwitchDevice& device, std::string_view running,
                                          const std::optional<std::string>& good,
                                          const std::optional<std::string>& design, bool strict);
// One result for each device, in their order. What is fetched is not kept: a drift is no backup.
[[nodiscard]] std::vector<DriftResult> find_drift(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                  const DriftRequest& request);

// Where `weft render` puts the switch's file under its folder; empty when it writes none for that system.
[[nodiscard]] std::string rendered_path(const SwitchDevice& device);
[[nodiscard]] std::string_view to_text(DriftState state);

}  // namespace weft::oob
