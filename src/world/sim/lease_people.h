// People of the simulation who move nodes between engines: at random while there are faults, and afterwards so that
// every job finds nodes of its engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/controller.h"
#include "world/sim/choices.h"

namespace weft::world {

[[nodiscard]] control::Request draw_move(Choices& choices, const control::ControllerOptions& options,
                                         std::uint32_t nodes);
// Moves every node to the engine of the first job that waits; none: no job waits for that.
[[nodiscard]] std::optional<control::Request> move_for_waiting_job(const control::Controller& controller);
// Whether the controller may start a job on a node by what it has journaled: "" or the problem.
[[nodiscard]] std::string problem_of_lease(const control::Controller& controller, sched::NodeId node,
                                           control::JobNumber number, sched::Moment now);
// Moves that have ended.
[[nodiscard]] std::uint64_t count_moves(const control::ControlState& state);

}  // namespace weft::world
