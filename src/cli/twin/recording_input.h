// A recording from one of its sources: the state directory of `weft serve`, a table of Slurm's accounting, or a file
// that `weft twin run --recording`, `weft twin record` or a person wrote. Shared by the commands that replay or write
// one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/sched/input.h"
#include "twin/recording.h"

namespace weft::cli {

struct RecordingInput {
  twin::RecordingSpec spec;        // not of a recording file
  twin::Recording recording;       // without machine
  std::vector<std::string> notes;  // what was assumed or left out
  bool is_file = false;            // SOURCE is a recording already
};

[[nodiscard]] std::vector<Option> recording_source_options();
// Reads SOURCE and reports problems. Returns the exit code if it cannot be used.
[[nodiscard]] std::optional<Exit> open_recording(Context& context, SchedInput& machine, const std::string& path,
                                                 RecordingInput& input);

}  // namespace weft::cli
