// Checks that a rescue never depends on what it recovers: traces the path of every step from the jump hosts over the
// out-of-band switches to each device it touches, excluding everything that the runbook assumes down, that earlier
// steps powered off and that the step itself takes down. A device without such a path is a finding.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "oob/rescue/plan.h"

namespace weft::oob {

// `down`: fabrics ("backend") and host expressions. Fills findings and the `way` of each step.
void judge_rescue_paths(RescuePlan& plan, const RescueHosts& hosts, const std::vector<std::string>& down,
                        Diagnostics& diagnostics);

}  // namespace weft::oob
