// Order in which a power verb is applied to many devices. Powering on is staggered: no feed or PDU is loaded above its
// share of the rating, and the number of devices that start at once per feed is limited, because supplies draw an
// inrush of several times their current. Devices below a powered-off source are refused with the required first step; a
// device and its power source cannot be powered on by one command, because the startup time of the source is unknown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/power/hierarchy.h"
#include "oob/power/loop.h"

namespace weft::oob {

struct PlanLimits {
  // Share of a rating that may be drawn. The catalog's ratings are the continuous load of a PDU: already 80 % of its
  // overcurrent device (NEC 210.20(A) and 215.3, the inverse of the 125 % factor).
  int percent = 100;
  std::uint32_t starts = 64;              // devices that may start at the same time on one feed
  Duration settle = milliseconds(2'000);  // after a wave is on and before the next: inrush is over in well under 1 s
  bool stagger = true;
};

struct PowerWave {
  std::vector<std::uint32_t> targets{};
  Power draw{};  // maximum, of the devices that start
};

enum class PlanProblem : std::uint8_t { dark, budget };
struct PlanRefusal {
  std::uint32_t target = 0;
  PlanProblem problem = PlanProblem::dark;
  std::string reason{};
  std::string next{};
};

// A feed, or a PDU of known rating, on which devices are started.
struct SourceLoad {
  std::string name{};
  Power rating{};
  Power allowed{};
  Power running{};   // before: the maximum draw of devices that are or may be on
  Power starting{};  // of the devices that the plan starts
};

struct PowerPlan {
  PowerVerb verb = PowerVerb::on;
  std::vector<PowerWave> waves{};
  std::vector<PlanRefusal> refused{};
  std::vector<std::uint32_t> dependents{};  // off, soft, cycle: not named, but affected with those that are
  std::vector<SourceLoad> sources{};        // on only
};

// `states`: of all targets, as far as known. A device in an unknown state counts as running, at its maximum draw, and
// in full on each of two feeds: if one fails, the other carries everything. Error (refused): a device is named together
// with one of its power sources.
[[nodiscard]] Result<PowerPlan> plan_power(const Inventory& inventory, PowerVerb verb,
                                           std::span<const std::uint32_t> targets, const PowerStates& states,
                                           const PlanLimits& limits = {});

[[nodiscard]] Document plan_document(const Inventory& inventory, const PowerPlan& plan);

}  // namespace weft::oob
