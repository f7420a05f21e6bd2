// Journal records as events for clients: a JSON object with names instead of numbers, and one sentence. Followers who
// do not see everything get the records of their tenants' jobs, and those of nodes and reservations without what
// people, engines and devices wrote: the sequence numbers of what they get have gaps.
#pragma once

#include <string>

#include "access/identity/access.h"
#include "base/value.h"
#include "control/record.h"
#include "control/state.h"
#include "sched/machine/machine.h"

namespace weft::serve {

// Whether the event may be sent. A record of a job that was forgotten, whose tenant is not known anymore, is for those
// who see everything.
[[nodiscard]] bool may_see_event(const control::Record& record, const control::ControlState& state,
                                 const access::Access& access);
// The record with what the follower may read, of those that it may see.
[[nodiscard]] control::Record reduce_record(control::Record record, const access::Access& access);

// "job 7: attempt 2 runs on gpu-003"
[[nodiscard]] std::string event_sentence(const control::Record& record, const sched::Machine& machine);
// {"sequence": 12, "time": ..., "kind": "part_running", "job": 7, "attempt": 2, "node": "gpu-003", "text": ...}
[[nodiscard]] Value event_value(const control::Record& record, std::uint64_t sequence, const sched::Machine& machine);

}  // namespace weft::serve
