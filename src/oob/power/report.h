// Results of a power operation, for people (folded by outcome) and for programs (one row per device).
#pragma once

#include "base/document.h"
#include "oob/power/run.h"
#include "oob/power/status_report.h"

namespace weft::oob {

[[nodiscard]] Document power_document(const Inventory& inventory, const PowerReport& report, StatusRows rows);
[[nodiscard]] Document open_power_document(const std::vector<OpenPower>& open);
// Without times, ids and transient states, so equal sequences give equal text: "PowerCycle accepted, off seen, on
// seen".
[[nodiscard]] std::string evidence_summary(const std::vector<Evidence>& evidence);

}  // namespace weft::oob
