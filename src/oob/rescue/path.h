// Never through the thing it recovers (row C6): follows the way of every step from the jump hosts over the out-of-band
// switches to each device it touches, with all that the runbook assumes down, all that earlier steps switched off and
// all that the step itself takes away left out. What cannot be reached so is a finding.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "oob/rescue/plan.h"

namespace weft::oob {

// `down`: fabrics ("backend") and expressions of hosts. Fills findings and the `way` of each step.
void judge_rescue_paths(RescuePlan& plan, const RescueHosts& hosts, const std::vector<std::string>& down,
                        Diagnostics& diagnostics);

}  // namespace weft::oob
