// Input shared by the commands of the twin: the cluster, its jobs (a training job, a trace, or one job on all nodes),
// the faults and the settings of the controller.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "cli/sched/input.h"
#include "cli/sched/pace.h"
#include "twin/twin.h"

namespace weft::cli {

struct TwinInput {
  SchedInput sched;  // machine, trace
  SchedPace pace;
  twin::TwinPlan plan;
};

[[nodiscard]] std::vector<Argument> twin_arguments();
[[nodiscard]] std::vector<Option> twin_input_options();
// Reads everything and reports problems. Returns the exit code if the input cannot be used.
[[nodiscard]] std::optional<Exit> open_twin(Context& context, TwinInput& input);

}  // namespace weft::cli
