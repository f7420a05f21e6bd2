// What a power operation came to, for people (folded by outcome) and for programs (one row a device).
#pragma once

#include "base/document.h"
#include "oob/power/run.h"
#include "oob/power/status_report.h"

namespace weft::oob {

[[nodiscard]] Document power_document(const Inventory& inventory, const PowerReport& report, StatusRows rows);
[[nodiscard]] Document open_power_document(const std::vector<OpenPower>& open);
// Without times, ids and states that something came after on the way, so that devices that went the same way read the
// same: "PowerCycle accepted, off seen, on seen".
[[nodiscard]] std::string evidence_summary(const std::vector<Evidence>& evidence);

}  // namespace weft::oob
