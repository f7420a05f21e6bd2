// Journal records as events for clients: a JSON object with names instead of numbers, and one sentence.
#pragma once

#include <string>

#include "base/value.h"
#include "control/record.h"
#include "sched/machine/machine.h"

namespace weft::serve {

// "job 7: attempt 2 runs on gpu-003"
[[nodiscard]] std::string event_sentence(const control::Record& record, const sched::Machine& machine);
// {"sequence": 12, "time": ..., "kind": "part_running", "job": 7, "attempt": 2, "node": "gpu-003", "text": ...}
[[nodiscard]] Value event_value(const control::Record& record, std::uint64_t sequence, const sched::Machine& machine);

}  // namespace weft::serve
