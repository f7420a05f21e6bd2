// Options of `weft serve` for nodes that two engines share: first owners and the daily schedule.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/options.h"
#include "sched/machine/machine.h"

namespace weft::serve {

struct LeaseSettings {
  std::vector<lease::LeaseOwner> engines;  // two; the first runs the jobs that name none
  std::vector<std::string> gate_command;   // see world::GateCommandOptions
  std::vector<std::string> first_owners;   // ENGINE:GROUP
  std::vector<std::string> schedule;       // HH:MM=ENGINE:GROUP
  bool preempt = false;                    // scheduled moves stop the jobs of weft
};

// A pool, or a list of nodes; "": all nodes.
[[nodiscard]] Result<std::vector<sched::NodeId>> find_group(const std::string& group, const sched::Machine& machine);

// By NodeId; none: the first engine.
[[nodiscard]] Result<std::vector<lease::LeaseOwner>> parse_first_owners(const LeaseSettings& settings,
                                                                        const sched::Machine& machine);
// Each node in it has times for at least two engines: otherwise it would never return.
[[nodiscard]] Result<std::vector<control::ScheduledMove>> parse_schedule(const LeaseSettings& settings,
                                                                         const sched::Machine& machine);

}  // namespace weft::serve
