// --enable STAGE[:GROUP] of `weft serve --mode watch`: which stages of repair are enabled on which nodes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/stages.h"
#include "sched/machine/machine.h"

namespace weft::serve {

// GROUP is a pool of the cluster file or a list of nodes such as train[001-008]; without it, all nodes. An error if a
// stage or group is unknown, or if a stage is enabled where the one before it is not.
[[nodiscard]] Result<control::StageSet> parse_stages(const std::vector<std::string>& words,
                                                     const sched::Machine& machine);

}  // namespace weft::serve
