// Replays of one trace as a self-contained web page: no network access, no other files, no scripts. All names are
// escaped.
#pragma once

#include <string>

#include "sched/replay/view.h"

namespace weft::sched {

[[nodiscard]] std::string replay_page(const ReplayReport& report);

}  // namespace weft::sched
