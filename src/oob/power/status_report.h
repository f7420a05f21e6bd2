// Results of a status sweep, for people (folded by state) and for programs (one row per device).
#pragma once

#include "base/document.h"
#include "oob/power/status_sweep.h"

namespace weft::oob {

enum class StatusRows : std::uint8_t {
  folded,       // one row for all devices with the same state
  both,         // and one per device
  each_device,  // one row per device only
};

enum class StatusFigures : std::uint8_t { shown, hidden };  // latencies and the time of the sweep

[[nodiscard]] Document status_document(const Inventory& inventory, const StatusReport& report, StatusRows rows,
                                       StatusFigures figures = StatusFigures::shown);
// Seconds for people: "0.153 s".
[[nodiscard]] std::string seconds_text(Duration time);

}  // namespace weft::oob
