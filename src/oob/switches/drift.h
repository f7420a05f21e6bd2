// Config drift of a switch, in three-way comparison: the running config, the last config marked good, and the design
// rendered by `weft render`. The first two are compared as texts; the design's statements are searched in the running
// config, because it contains much that no design states (defaults, accounts).
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
  unknown              // the config could not be fetched
};

struct DriftRequest {
  bool offline = false;    // use the latest backup as the running config
  std::string rendered{};  // folder of `weft render`; empty: do not compare with the design
  bool strict = false;     // statements that are not in the design are drift, too
};

struct DriftResult {
  std::string device{};
  std::string system{};
  DriftState state = DriftState::unknown;
  std::string running{};    // name of the version that was compared; empty if it is not stored
  std::string good{};       // name of the version it was compared with
  bool marked_good = true;  // false: no version is marked good, the latest backup was used
  std::size_t removed = 0;  // lines of the good version that are gone
  std::size_t added = 0;
  std::optional<std::size_t> missing{};  // statements of the design missing in the running config; none: no design
  std::size_t extra = 0;                 // statements of the running config that are not in the design
  std::string diff{};                    // unified, secrets hidden
  std::vector<std::string> missing_statements{};
  std::vector<std::string> extra_statements{};
  std::string message{};
};

// Compares texts without contacting a switch. `good` and `design` may be absent.
[[nodiscard]] DriftResult compare_configs(const SwitchDevice& device, std::string_view running,
                                          const std::optional<std::string>& good,
                                          const std::optional<std::string>& design, bool strict);
// One result per device, in their order. Fetched configs are not stored as backups.
[[nodiscard]] std::vector<DriftResult> find_drift(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                  const DriftRequest& request);

// Path of the switch's file in the folder of `weft render`; empty if that OS is not rendered.
[[nodiscard]] std::string rendered_path(const SwitchDevice& device);
[[nodiscard]] std::string_view to_text(DriftState state);

}  // namespace weft::oob
