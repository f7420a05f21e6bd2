// In which order a power verb goes over many devices. Switching on is staggered: no feed and no PDU is asked for more
// than its share of the rating, and only so many devices start on a feed at a time, because supplies draw an inrush of
// several times their current. What hangs on something that is off is refused with what to do first; a device and what
// it gets its power from are not switched on by one command, because nobody can tell how long the upper one takes.
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
  // Of a rating that may be drawn. The catalog's ratings are what a PDU carries for hours: 80 % of its overcurrent
  // device already (NEC 210.20(A) and 215.3, the factor of 125 % turned round).
  int percent = 100;
  std::uint32_t starts = 64;              // devices that start at the same time on one feed
  Duration settle = milliseconds(2'000);  // after a wave is on and before the next: inrush is over in well under 1 s
  bool stagger = true;
};

struct PowerWave {
  std::vector<std::uint32_t> targets{};
  Power draw{};  // of those that start, at most
};

enum class PlanProblem : std::uint8_t { dark, budget };
struct PlanRefusal {
  std::uint32_t target = 0;
  PlanProblem problem = PlanProblem::dark;
  std::string reason{};
  std::string next{};
};

// A feed, or a PDU of a known rating, that devices are to be started on.
struct SourceLoad {
  std::string name{};
  Power rating{};
  Power allowed{};
  Power running{};   // before: the greatest draw of what is on or may be
  Power starting{};  // of the devices that the plan starts
};

struct PowerPlan {
  PowerVerb verb = PowerVerb::on;
  std::vector<PowerWave> waves{};
  std::vector<PlanRefusal> refused{};
  std::vector<std::uint32_t> dependents{};  // off, soft, cycle: not named, but hit with those that are
  std::vector<SourceLoad> sources{};        // on only
};

// `states`: of all targets, as far as they are known. A device whose state is not known counts as running, at its
// greatest draw, and in full on each of two feeds: when one fails, the other carries everything.
// Error (refused): a device is named together with one that it gets its power from.
[[nodiscard]] Result<PowerPlan> plan_power(const Inventory& inventory, PowerVerb verb,
                                           std::span<const std::uint32_t> targets, const PowerStates& states,
                                           const PlanLimits& limits = {});

[[nodiscard]] Document plan_document(const Inventory& inventory, const PowerPlan& plan);

}  // namespace weft::oob
