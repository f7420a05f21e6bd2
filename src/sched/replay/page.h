// Replays of one trace as one web page that needs nothing else: no network, no other file, no script. Every name is
// escaped.
#pragma once

#include <string>

#include "sched/replay/view.h"

namespace weft::sched {

[[nodiscard]] std::string replay_page(const ReplayReport& report);

}  // namespace weft::sched
